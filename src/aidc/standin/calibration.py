"""Solve the tables that the stand-in trace is drawn from.

``python -m aidc.standin.calibration`` rebuilds ``seren_cells.csv`` and
``seren_hours.csv`` in ``data/calibration`` from the published targets. Both are
committed, so a run of the book never solves them again.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from aidc.standin import hours, targets
from aidc.standin.program import NearestCounts
from aidc.standin.targets import FOUR_TYPES, GPU_TYPES, TYPES, curve, size, target

# Free choices: how the jobs of <= 1 s and those beyond the last threshold are split.
ZERO_SHARE: Final = 0.25
TAIL_DECAY: Final = 0.5


@dataclass(frozen=True)
class Cell:
    """Jobs of one type with ``lower < duration <= upper`` (whole seconds)."""

    type: str
    lower: int
    upper: int
    jobs: float
    completed: float

    @property
    def weight(self) -> float:
        """Share of a log-uniform density, up to a factor."""
        return float(np.log((self.upper + 1) / max(self.lower + 1, 0.5)))

    @property
    def mean(self) -> float:
        """Mean of whole seconds drawn log-uniformly, in s."""
        width = self.upper - self.lower
        return self.upper if width == 1 else width / self.weight - 0.5


def _pins(kind: str) -> set[int]:
    """Return the durations around which a type's cells are cut, in s."""
    if kind == "CPU":
        values = [target("cpu.duration_s.p50")]
    else:
        values = [target(f"pool.duration_s.{q}") for q in ("p50", "p90", "p95")]
        if kind in FOUR_TYPES:
            values += [target(f"four.{kind}.duration_s.{q}") for q in ("p50", "p95")]
    cuts: set[int] = set()
    for value in values:
        cuts |= {int(np.floor(value)) - 1, int(np.floor(value)), int(np.ceil(value))}
    return cuts


def _completed_share(kind: str, lower: int) -> float:
    """Return the expected share of completed jobs above a duration, from the quantiles."""
    jobs = curve(kind, "duration")
    if kind == "CPU":
        return target("rows.completed_cpu") / size(kind)
    four = sum(size(name) for name in FOUR_TYPES)
    if kind not in FOUR_TYPES:
        rest = target("rows.completed_gpu") - target("four.completed")
        return rest / sum(size(name) for name in GPU_TYPES if name not in FOUR_TYPES)
    edges = np.array([0, *jobs])
    counts = np.array([0, *jobs.values()])

    def below(duration: float) -> float:
        return float(np.interp(np.log1p(duration), np.log1p(edges), counts))

    middle = target(f"four.{kind}.duration_s.p50")
    high = target(f"four.{kind}.duration_s.p95")
    completed = size(kind) * target("four.completed") / four
    if lower < middle:
        share = 0.5 * completed / below(middle)
    elif lower < high:
        share = 0.45 * completed / (below(high) - below(middle))
    else:
        share = 0.05 * completed / (size(kind) - below(high))
    return min(share, 0.95)


def expected_cells(kind: str) -> list[Cell]:
    """Return the cells of a type with log-uniform expectations.

    Cells are cut at zero, at every published threshold, at both sides of every pinned
    quantile, and end at the longest published run time.
    """
    longest = int(target("rows.duration_s.max"))
    jobs = {-1: 0, **curve(kind, "duration")}
    last = max(jobs)
    if last < longest:  # the figure ends early: continue by octaves
        octaves = [last * 2**k for k in range(1, 12) if last * 2**k < longest] + [longest]
        shares = np.cumsum(TAIL_DECAY ** np.arange(len(octaves)))
        tail = (size(kind) - jobs[last]) * shares / shares[-1]
        published = jobs | {o: jobs[last] + t for o, t in zip(octaves, tail, strict=True)}
    else:
        published = jobs
    cells: list[Cell] = []
    for (low, before), (high, upto) in itertools.pairwise(published.items()):
        top = min(high, longest)
        inner = {cut for cut in _pins(kind) | {0} if low < cut < top}
        bounds = sorted({low, top} | inner)
        parts = [Cell(kind, a, b, 0.0, 0.0) for a, b in itertools.pairwise(bounds)]
        weights = np.array([part.weight for part in parts])
        if low == -1:
            weights = np.array([ZERO_SHARE, 1 - ZERO_SHARE])
        for part, weight in zip(parts, weights / weights.sum(), strict=True):
            number = (upto - before) * weight
            share = _completed_share(kind, part.lower)
            if part.upper == 0 and kind != "CPU":
                share = target("pool.zero_duration") / (
                    ZERO_SHARE * curve("ALL_GPU", "duration")[1]
                )
            cells.append(Cell(kind, part.lower, part.upper, number, number * share))
    return cells


class _CellProgramme:
    """The integer programme over all cells: margins, totals and quantiles."""

    def __init__(self) -> None:
        self.cells = [cell for kind in TYPES for cell in expected_cells(kind)]
        self.programme = NearestCounts()
        self.jobs = [self.programme.count(cell.jobs) for cell in self.cells]
        self.completed = [self.programme.count(cell.completed) for cell in self.cells]
        for total, done in zip(self.jobs, self.completed, strict=True):
            self.programme.require({total: 1.0, done: -1.0}, 0, np.inf)

    def among(
        self, kinds: tuple[str, ...], low: int, high: float, completed: bool = True
    ) -> set[int]:
        """Return the variables of the cells within ``low < duration <= high``."""
        variables = self.completed if completed else self.jobs
        return {
            variables[i]
            for i, cell in enumerate(self.cells)
            if cell.type in kinds and cell.lower >= low and cell.upper <= high
        }

    def total(self, variables: set[int], value: float) -> None:
        """Require that variables sum to a value."""
        self.programme.require(dict.fromkeys(variables, 1.0), value, value)

    def quantile(
        self, kinds: tuple[str, ...], q: float, value: float, everything: bool = False
    ) -> None:
        """Require the type-7 quantile ``q`` of completed, positive durations to be ``value``.

        With n jobs its position is h = (n - 1) q; both order statistics around h are
        put on ``value``. A value between two integers (the median of an even number)
        takes one from each side. ``everything`` takes all jobs and durations.
        """
        start = -1 if everything else 0
        whole = self.among(kinds, start, np.inf, not everything)
        below = self.among(kinds, start, np.ceil(value) - 1, not everything)
        upto = self.among(kinds, start, np.floor(value), not everything)
        if value != int(value):
            halves = {i: float(i in below) - q for i in whole}
            self.programme.require(halves, 0, 0)
            for side in (np.floor(value), np.ceil(value)):
                at = self.among(kinds, int(side) - 1, side, not everything)
                self.programme.require(dict.fromkeys(at, 1.0), 1, np.inf)
            return
        self.programme.require({i: float(i in below) - q for i in whole}, -np.inf, -q - 1)
        self.programme.require({i: float(i in upto) - q for i in whole}, 2 - q, np.inf)


def solve_cells() -> pd.DataFrame:
    """Return the solved table of type x duration cell x {completed, other}.

    Returns
    -------
    pandas.DataFrame
        Columns ``type``, ``lower`` (exclusive) and ``upper`` (inclusive) in s,
        ``completed`` and ``other`` (jobs of any other state).
    """
    solver = _CellProgramme()
    longest = target("rows.duration_s.max")
    for kind in TYPES:
        for threshold, jobs in curve(kind, "duration").items():
            solver.total(solver.among((kind,), -1, min(threshold, longest), False), jobs)
        solver.total(solver.among((kind,), -1, np.inf, False), size(kind))
    solver.total(solver.among(("CPU",), -1, np.inf), target("rows.completed_cpu"))
    solver.total(solver.among(GPU_TYPES, -1, np.inf), target("rows.completed_gpu"))
    solver.total(solver.among(GPU_TYPES, -1, 0), target("pool.zero_duration"))
    solver.total(solver.among(FOUR_TYPES, -1, np.inf), target("four.completed"))
    solver.total(solver.among(FOUR_TYPES, 0, np.inf), target("four.jobs"))
    for q, name in ((0.5, "p50"), (0.9, "p90"), (0.95, "p95")):
        solver.quantile(GPU_TYPES, q, target(f"pool.duration_s.{name}"))
    for kind in FOUR_TYPES:
        for q, name in ((0.5, "p50"), (0.95, "p95")):
            solver.quantile((kind,), q, target(f"four.{kind}.duration_s.{name}"))
    solver.quantile(("CPU",), 0.5, target("cpu.duration_s.p50"), everything=True)
    run_time = target("cpu.duration_s.mean") * size("CPU")
    means = {
        variable: cell.mean
        for variable, cell in zip(solver.jobs, solver.cells, strict=True)
        if cell.type == "CPU"
    }
    solver.programme.require(means, 0.999 * run_time, 1.001 * run_time)
    counts = solver.programme.solve()
    table = pd.DataFrame(
        {
            "type": [cell.type for cell in solver.cells],
            "lower": [cell.lower for cell in solver.cells],
            "upper": [cell.upper for cell in solver.cells],
            "completed": counts[solver.completed],
        }
    )
    table["other"] = counts[solver.jobs] - table["completed"]
    return table


def write_tables(folder: Path) -> None:
    """Solve both tables and write them to a folder."""
    for path, table in ((targets.CELLS, solve_cells()), (targets.HOURS, hours.solve_hours())):
        table.to_csv(folder / path.name, index=False, lineterminator="\n")


if __name__ == "__main__":
    write_tables(targets.CELLS.parent)
