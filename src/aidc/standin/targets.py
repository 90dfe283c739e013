"""The published aggregates that the stand-in trace is calibrated to.

They live in ``data/calibration`` and nowhere else: the calibration and the fit report
read the same tables, so no target is typed twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Final

import pandas as pd

from aidc import paths

KEY: Final = "seren-standin"
"""Id of the stand-in among the inputs of evidence."""

CUMULATIVE = paths.CALIBRATION / "seren_cumulative.csv"
TARGETS = paths.CALIBRATION / "seren_targets.json"
CELLS = paths.CALIBRATION / "seren_cells.csv"
HOURS = paths.CALIBRATION / "seren_hours.csv"

FOUR_TYPES: Final = ("Eval", "MLLM", "Pretrain", "SFT")
GPU_TYPES: Final = (*FOUR_TYPES, "Debug", "Other")
TYPES: Final = (*GPU_TYPES, "CPU")


@dataclass(frozen=True)
class Target:
    """One published figure.

    Attributes
    ----------
    value : float or str
        As published; text for a time of day.
    unit : str
        Unit of ``value`` and ``tolerance``.
    kind : str
        ``"exact"`` (met for every seed at full size) or ``"approximate"``.
    tolerance : float
        Largest absolute difference that still counts as met.
    source : str
        Key of a source in ``data/calibration/README.md``.
    note : str
        Population or reading of the figure, where it is not obvious.
    """

    value: float | str
    unit: str
    kind: str
    tolerance: float
    source: str
    note: str = ""

    @property
    def number(self) -> float:
        """The value of a numeric target."""
        return float(self.value)


@cache
def targets() -> dict[str, Target]:
    """Return the scalar targets by id."""
    raw = json.loads(TARGETS.read_text(encoding="utf-8"))
    return {key: Target(**entry) for key, entry in raw.items()}


def target(key: str) -> float:
    """Return the number of a scalar target."""
    return targets()[key].number


@cache
def cumulative() -> pd.DataFrame:
    """Return the published cumulative counts.

    Returns
    -------
    pandas.DataFrame
        Columns ``population`` (a job type or ``ALL_GPU``), ``field`` (``duration`` or
        ``queue`` in s, ``gpu_num``), ``n_jobs`` (size of the population), ``le``
        (threshold) and ``jobs`` (jobs at or below it).
    """
    return pd.read_csv(CUMULATIVE)


def curve(population: str, field: str) -> dict[int, int]:
    """Return one cumulative curve: jobs at or below each threshold."""
    table = cumulative()
    chosen = table[(table["population"] == population) & (table["field"] == field)]
    return dict(zip(chosen["le"].tolist(), chosen["jobs"].tolist(), strict=True))


def size(population: str) -> int:
    """Return the number of jobs of a population."""
    table = cumulative()
    return int(table.loc[table["population"] == population, "n_jobs"].iloc[0])
