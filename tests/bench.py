"""Measure the main jobs against a bare read of the same file, in one run.

Each job runs in a process of its own, in turn with the others, so that a busy machine
slows all of them alike: ratios hold where seconds do not. Run it by ``make bench``.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROUNDS = 5
MIB = 1 / 1024  # ru_maxrss counts KiB


@dataclass(frozen=True)
class Limit:
    """How much more than the bare read a job may take."""

    time: float
    memory: float


Job = Callable[[str], object]


def bare_read() -> Job:
    """Read the trace as one would without this project."""
    import pandas as pd

    return lambda path: pd.read_csv(path, parse_dates=["submit_time", "start_time", "end_time"])


def pool_statistics() -> Job:
    """Load, select the pool and compute its statistics, without the bootstrap."""
    from aidc.catalog import open_trace
    from aidc.observed.arrivals import hourly_arrivals
    from aidc.observed.concentration import user_concentration
    from aidc.observed.funnel import select_pool
    from aidc.observed.intervals import IntervalSettings
    from aidc.observed.stats import duration_ecdf, duration_quantiles, queue_times, shares

    no_bootstrap = IntervalSettings(resamples=0)

    def job(path: str) -> None:
        pool = select_pool(open_trace(path))
        duration_quantiles(pool, settings=no_bootstrap)
        duration_ecdf(pool)
        hourly_arrivals(pool, settings=no_bootstrap)
        for column in ("gpu_num", "type", "state"):
            shares(pool, (column,))
        user_concentration(pool)
        queue_times(pool)

    return job


BASE = bare_read
JOBS: dict[Callable[[], Job], Limit] = {pool_statistics: Limit(time=2.5, memory=2.0)}


def measure(prepare: Callable[[], Job], path: Path) -> tuple[float, float]:
    """Return seconds and peak MiB of a job in a new process; imports take no time."""
    command = [sys.executable, "-m", "tests.bench", prepare.__name__, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, mib = ended.stdout.split()
    return float(seconds), float(mib)


def timed(name: str, path: str) -> None:
    """Run one job in this process and print its seconds and peak MiB."""
    job = next(prepare for prepare in (BASE, *JOBS) if prepare.__name__ == name)()
    with Path(path).open("rb") as file:  # the file is in the system's cache for every job
        while file.read(1 << 20):
            pass
    start = time.perf_counter()
    job(path)
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MIB)


def main() -> int:
    """Print one row a job; the exit status says whether every ratio is within its limit."""
    from aidc.standin.trace import cached

    path = cached()
    rounds = [{job: measure(job, path) for job in (BASE, *JOBS)} for _ in range(ROUNDS)]
    table = Table(title=f"{path.name}, median of {ROUNDS} rounds")
    for column in ("job", "s", "MiB", "time ratio", "limit", "memory ratio", "limit"):
        table.add_column(column, justify="left" if column == "job" else "right")
    within = True
    for job in (BASE, *JOBS):
        seconds, mib = (statistics.median(r[job][k] for r in rounds) for k in (0, 1))
        row = [job.__name__, f"{seconds:.2f}", f"{mib:.0f}"]
        if job in JOBS:
            limit = JOBS[job]
            slower = statistics.median(r[job][0] / r[BASE][0] for r in rounds)
            larger = statistics.median(r[job][1] / r[BASE][1] for r in rounds)
            row += [f"{slower:.2f}", f"{limit.time}", f"{larger:.2f}", f"{limit.memory}"]
            within &= slower <= limit.time and larger <= limit.memory
        table.add_row(*row)
    Console(width=100).print(table)
    return 0 if within else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        timed(*sys.argv[1:])
    else:
        sys.exit(main())
