"""The part of a trace that is replayed, and its resolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc.constructed.setting import declared, number
from aidc.evidence import Carrier, InputError

SECONDS_PER_DAY = 86_400
SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class ReplayWindow(Carrier):
    """A window of whole slots.

    Attributes
    ----------
    start : Timestamp
        Local time of the trace, without offset.
    days : float
        Length, d; a whole number of slots.
    step_min : float
        Length of a slot, min; divides a day.
    """

    start: pd.Timestamp
    days: float
    step_min: float

    def __post_init__(self) -> None:
        number("days", self.days, "days", above=True)
        number("step_min", self.step_min, "min", above=True)
        per_day = SECONDS_PER_DAY / self.step_s
        if not _whole(per_day):
            raise InputError(
                f"step_min: found {self.step_min:g}, expected minutes that divide a day (1,440); "
                "give e.g. 5, 15 or 60"
            )
        if not _whole(self.days * per_day) or round(self.days * per_day) < 1:
            raise InputError(
                f"days: found {self.days:g}, expected a whole number of slots of "
                f"{self.step_min:g} min, at least one"
            )

    @classmethod
    def of(cls, start: str | pd.Timestamp, days: float, step_min: float) -> ReplayWindow:
        """Return the experimental settings ``start``, ``days`` and ``step_min``.

        Raises
        ------
        InputError
            If a time cannot be read, or length and step do not fit.
        """
        try:
            moment = pd.Timestamp(start)
        except ValueError as error:
            raise InputError(
                f"start: found {start!r}, expected a date or time such as '2023-05-01'"
            ) from error
        if pd.isna(moment):
            raise InputError("start: found nothing, expected a date or time such as '2023-05-01'")
        local = moment.tz_localize(None) if moment.tzinfo else moment
        evidence = declared("start", "days", "step_min")
        return cls(start=local, days=days, step_min=step_min, evidence=evidence)

    @property
    def step_s(self) -> float:
        """Length of a slot, s."""
        return self.step_min * SECONDS_PER_MINUTE

    @property
    def slots(self) -> int:
        """Number of slots."""
        return round(self.days * SECONDS_PER_DAY / self.step_s)

    @property
    def length_s(self) -> float:
        """Length of the window, s."""
        return self.slots * self.step_s

    def time(self, slot: int) -> pd.Timestamp:
        """Return the local time at which a slot begins (also beyond the window)."""
        return self.start + pd.Timedelta(seconds=slot * self.step_s)

    def moved(self, days: int) -> ReplayWindow:
        """Return a window of the same length that begins some days later, or earlier."""
        return replace(self, start=self.start + pd.Timedelta(days=days))

    def seconds(self, times: pd.Series[pd.Timestamp]) -> npt.NDArray[np.float64]:
        """Return times in s since the start of the window, NaN where missing."""
        local = times.dt.tz_localize(None) if times.dt.tz is not None else times
        since = (local - self.start).dt.total_seconds()
        return since.to_numpy().astype(np.float64)

    def require_inside(self, times: pd.Series[pd.Timestamp], source: str = "trace") -> None:
        """Raise `InputError` unless the window lies within the days that have submits."""
        local = times.dt.tz_localize(None) if times.dt.tz is not None else times
        first, last = local.min(), local.max()
        if pd.isna(first):
            raise InputError(f"{source}: found no job with a submit time, expected at least one")
        begin, end = first.floor("D"), last.floor("D") + pd.Timedelta(days=1)
        stop = self.time(self.slots)
        if self.start < begin or stop > end:
            raise InputError(
                f"{source}: window {self.start} to {stop} is outside the trace, which has submits "
                f"from {begin.date()} to {(end - pd.Timedelta(days=1)).date()}; "
                "change start or days"
            )


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9 * max(1.0, abs(value))
