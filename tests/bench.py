"""Measure the main jobs against a bare read of the same file. Run it by ``make bench``."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.bench_harness import ROUNDS, Job, Prepare, in_turn


@dataclass(frozen=True)
class Limit:
    """How much more than the bare read a job may take."""

    time: float
    memory: float


def bare_read() -> Job:
    """Read the trace as one would without this project."""
    import pandas as pd

    return lambda path: pd.read_csv(path, parse_dates=["submit_time", "start_time", "end_time"])


def pool_statistics() -> Job:
    """Load, select the pool and compute its statistics, without the bootstrap."""
    from aidc.catalog.trace import open_trace
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


JOBS: dict[Prepare, Limit] = {pool_statistics: Limit(time=2.5, memory=2.0)}


def main() -> int:
    """Print one row a job; the exit status says whether every ratio is within its limit."""
    from aidc.standin.trace import cached

    path = cached()
    found = in_turn({job.__name__: (job, [path]) for job in (bare_read, *JOBS)})
    base = found[bare_read.__name__]
    table = Table(title=f"{path.name}, median of {ROUNDS} rounds")
    for column in ("job", "s", "MiB", "time ratio", "limit", "memory ratio", "limit"):
        table.add_column(column, justify="left" if column == "job" else "right")
    table.add_row(bare_read.__name__, f"{base.seconds:.2f}", f"{base.mib:.0f}")
    within = True
    for job, limit in JOBS.items():
        runs = found[job.__name__]
        slower, larger = runs.slower(base), runs.larger(base)
        row = [job.__name__, f"{runs.seconds:.2f}", f"{runs.mib:.0f}"]
        row += [f"{slower:.2f}", f"{limit.time}", f"{larger:.2f}", f"{limit.memory}"]
        within &= slower <= limit.time and larger <= limit.memory
        table.add_row(*row)
    Console(width=100).print(table)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
