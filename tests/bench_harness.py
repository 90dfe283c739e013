"""Measure jobs, each in a process of its own, in turn with the others.

A busy machine then slows all of them alike: ratios hold where seconds do not. A job is a
function of a module that imports what it needs and returns what is timed, which takes the
paths of its files.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
MIB = 1 / 1024  # ru_maxrss counts KiB

Job = Callable[..., object]
Prepare = Callable[[], Job]


@dataclass(frozen=True)
class Measured:
    """Seconds and peak MiB of a job, and what it returned as text."""

    seconds: float
    mib: float
    said: str


@dataclass(frozen=True)
class Runs:
    """Several runs of one job."""

    runs: Sequence[Measured]

    @property
    def seconds(self) -> float:
        """Median of the seconds."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def mib(self) -> float:
        """Median of the peak MiB."""
        return statistics.median(run.mib for run in self.runs)

    def slower(self, base: Runs) -> float:
        """Median, over the rounds, of the time against that of another job."""
        pairs = zip(self.runs, base.runs, strict=True)
        return statistics.median(own.seconds / other.seconds for own, other in pairs)

    def larger(self, base: Runs) -> float:
        """Median, over the rounds, of the memory against that of another job."""
        pairs = zip(self.runs, base.runs, strict=True)
        return statistics.median(own.mib / other.mib for own, other in pairs)


def measure(prepare: Prepare, *paths: Path) -> Measured:
    """Measure a job in a new process; imports take no time.

    Raises
    ------
    RuntimeError
        If it fails, with the last line that it wrote.
    """
    module = prepare.__module__
    if module == "__main__":  # the bench that is being run
        module = str(sys.modules["__main__"].__spec__.name)  # type: ignore[union-attr]
    command = [
        sys.executable,
        "-m",
        "tests.bench_harness",
        module,
        prepare.__name__,
        *map(str, paths),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip().splitlines()[-1])
    return Measured(**json.loads(ended.stdout.splitlines()[-1]))


def in_turn(
    jobs: Mapping[str, tuple[Prepare, Sequence[Path]]], rounds: int = ROUNDS
) -> dict[str, Runs]:
    """Measure jobs by name, each with its files, one after the other in every round."""
    found: dict[str, list[Measured]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, (prepare, paths) in jobs.items():
            found[name].append(measure(prepare, *paths))
    return {name: Runs(runs) for name, runs in found.items()}


def main(module: str, name: str, *paths: str) -> None:
    """Run one job in this process and print what was measured."""
    job = getattr(importlib.import_module(module), name)()
    for path in paths:
        with Path(path).open("rb") as file:  # the file is in the system's cache for every job
            while file.read(1 << 20):
                pass
    start = time.perf_counter()
    said = job(*paths)
    seconds = time.perf_counter() - start
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MIB
    text = said if isinstance(said, str) else ""
    print(json.dumps({"seconds": seconds, "mib": mib, "said": text}))


if __name__ == "__main__":
    main(*sys.argv[1:])
