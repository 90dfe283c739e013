"""Whole hours of a trace, in the local time of its source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc.evidence import InputError

HOURS_PER_DAY = 24
HOURS_PER_WEEK = 168
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday; Monday is 0


def local_hours(times: pd.Series[pd.Timestamp]) -> npt.NDArray[np.int64]:
    """Return the local hour of each time, in hours since 1970-01-01 00:00 local time.

    Parameters
    ----------
    times : Series of datetime64, shape (n,)
        With the source's fixed offset; missing times are left out of the result.
    """
    local = times.dt.tz_localize(None) if times.dt.tz is not None else times
    values = local.to_numpy()
    if local.hasnans:
        values = values[~np.isnat(values)]
    return values.astype("datetime64[h]").astype(np.int64)


@dataclass(frozen=True)
class Window:
    """The whole hours from the first to the last submit of a trace, both included.

    Attributes
    ----------
    first : int
        First hour, in hours since 1970-01-01 00:00 local time.
    hours : int
        Number of hours.
    """

    first: int
    hours: int

    @classmethod
    def of(cls, times: pd.Series[pd.Timestamp], source: str) -> Window:
        """Return the window of the submit times of a trace.

        Raises
        ------
        InputError
            If no time is present.
        """
        hours = local_hours(times)
        if hours.size == 0:
            raise InputError(
                f"{source}: column submit_time: found no readable time, expected at least one; "
                "give a trace whose jobs have submit times"
            )
        first = int(hours.min())
        return cls(first=first, hours=int(hours.max()) - first + 1)

    def counts(self, hours: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how many of ``hours`` (local hours) fall in each hour of the window."""
        return np.bincount(hours - self.first, minlength=self.hours)

    def timestamps(self) -> pd.DatetimeIndex:
        """Return the start of each hour, local time without offset."""
        start = pd.Timestamp(np.datetime64(self.first, "h"))
        return pd.date_range(start, periods=self.hours, freq="h", unit="s")

    def hour_of_week(self) -> npt.NDArray[np.int64]:
        """Return the hour of the week of each hour: 0 is Monday 00:00 to 01:00."""
        since_epoch = np.arange(self.first, self.first + self.hours)
        return (since_epoch + _EPOCH_WEEKDAY * HOURS_PER_DAY) % HOURS_PER_WEEK
