"""Measure the audit against a bare read of the same file (to be called by ``tests.bench``).

Each job runs in a process of its own, in turn with the others, so that a busy machine
slows all of them alike: ratios hold where seconds do not.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROUNDS = 5
FAULTY_SHARE = 0.01
MIB = 1 / 1024  # ru_maxrss counts KiB

Job = Callable[[str], object]


def bare_read() -> Job:
    """Read the trace as one would without this project, times as text."""
    import pandas as pd

    return pd.read_csv


def bare_read_with_times() -> Job:
    """Read the trace as one would without this project, times as times."""
    import pandas as pd

    return lambda path: pd.read_csv(path, parse_dates=["submit_time", "start_time", "end_time"])


def full_audit() -> Job:
    """Load the trace, find out its origin, and audit it."""
    from aidc.catalog import open_trace
    from aidc.observed.audit import audit_trace

    return lambda path: audit_trace(open_trace(path))


PREPARE = {job.__name__: job for job in (bare_read, bare_read_with_times, full_audit)}


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


def measure(job: str, path: Path) -> tuple[float, float]:
    """Return seconds and peak MiB of a job in a new process; imports take no time."""
    command = [sys.executable, "-m", "tests.bench_audit", job, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, mib = ended.stdout.split()
    return float(seconds), float(mib)


def timed(name: str, path: str) -> None:
    """Run one job in this process and print its seconds and peak MiB."""
    job = PREPARE[name]()
    with Path(path).open("rb") as file:  # the file is in the system's cache for every job
        while file.read(1 << 20):
            pass
    start = time.perf_counter()
    job(path)
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MIB)


def ratios(clean: Path, faulty: Path) -> Iterator[str]:
    """Yield a line for each comparison: median seconds, MiB and their ratios."""
    runs: dict[tuple[str, Path], list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        for name in PREPARE:
            runs.setdefault((name, clean), []).append(measure(name, clean))
        runs.setdefault(("full_audit", faulty), []).append(measure("full_audit", faulty))
    for (name, path), measured in runs.items():
        seconds, mib = (statistics.median(run[k] for run in measured) for k in (0, 1))
        line = f"{name} {'faulty' if path == faulty else 'clean'}: {seconds:.2f} s, {mib:.0f} MiB"
        for base in ("bare_read", "bare_read_with_times"):
            pairs = list(zip(measured, runs[base, clean], strict=True))
            slower, larger = (statistics.median(a[k] / b[k] for a, b in pairs) for k in (0, 1))
            line += f"; against {base}: time {slower:.2f}, memory {larger:.2f}"
        yield line


def main() -> None:
    """Print the ratios on the full stand-in."""
    import tempfile

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
    if len(sys.argv) > 1:
        timed(*sys.argv[1:])
    else:
        main()
