"""Measure the audit against a bare read of the same file, sound and faulty."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.bench import bare_read as bare_read_with_times
from tests.bench_harness import Job, in_turn

FAULTY_SHARE = 0.01


def bare_read() -> Job:
    """Read the trace as one would without this project, times as text."""
    import pandas as pd

    return pd.read_csv


def full_audit() -> Job:
    """Load the trace, find out its origin, and audit it."""
    from aidc.catalog.trace import open_trace
    from aidc.observed.audit import audit_trace

    return lambda path: audit_trace(open_trace(path))


def write_faulty(source: Path, target: Path, seed: int = 1) -> None:
    """Write a copy of a trace of which one row in a hundred has one of five faults."""
    header, *lines = source.read_text(encoding="utf-8").splitlines()
    rng = np.random.default_rng(seed)
    faulty = rng.choice(len(lines), int(len(lines) * FAULTY_SHARE), replace=False)
    for number, at in enumerate(faulty.tolist()):
        lines[at] = _broken(lines[at], number % 5)
    target.write_text("\n".join([header, *lines, ""]), encoding="utf-8")


def _broken(line: str, fault: int) -> str:
    cells = line.split(",")
    if fault == 0:
        cells.pop()  # too few fields
    elif fault == 1:
        cells[10] = "-5"  # duration
    elif fault == 2:
        cells[7] = cells[7][:19]  # submit_time without an offset
    elif fault == 3:
        cells[3] = "eight"  # gpu_num
    else:
        cells[8] = cells[8].replace("+08:00", "+07:00")  # start_time, another offset
    return ",".join(cells)


def ratios(clean: Path, faulty: Path) -> Iterator[str]:
    """Yield a line for each comparison: median seconds, MiB and their ratios."""
    bases = {"bare_read": bare_read, "bare_read_with_times": bare_read_with_times}
    found = in_turn(
        {name: (job, [clean]) for name, job in bases.items()}
        | {"full_audit": (full_audit, [clean]), "full_audit, faulty": (full_audit, [faulty])}
    )
    for name, runs in found.items():
        line = f"{name}: {runs.seconds:.2f} s, {runs.mib:.0f} MiB"
        for base in bases:
            slower, larger = runs.slower(found[base]), runs.larger(found[base])
            line += f"; against {base}: time {slower:.2f}, memory {larger:.2f}"
        yield line


def main() -> None:
    """Print the ratios on the full stand-in."""
    from aidc.standin.trace import cached

    with tempfile.TemporaryDirectory() as folder:
        faulty = Path(folder) / "faulty.csv"
        # In a process of its own: a child's peak memory starts from its parent's.
        writer = multiprocessing.get_context("spawn").Process(
            target=write_faulty, args=(cached(), faulty)
        )
        writer.start()
        writer.join()
        for line in ratios(cached(), faulty):
            print(line)


if __name__ == "__main__":
    main()
