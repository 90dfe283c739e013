"""When a log was sampled: late reads, write batches, gaps, lag between nodes."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import signal

from aidc.observed.power import Floats

# A read later than this many typical intervals is late.
LATE = 1.25
_MAX_LAG_S = 60.0
_LEAST_CORRELATION = 0.5


@dataclasses.dataclass(frozen=True)
class Sampling:
    """The steps of one log.

    Attributes
    ----------
    interval_s : float
        Typical step, s.
    mean_interval_s : float
        Mean step, s.
    late : ndarray of int
        Rows that follow a late step.
    duplicates : ndarray of int
        Rows at the time of the row before.
    batch_rows : int or None
        Rows a write batch, if late rows repeat at its multiples.
    """

    interval_s: float
    mean_interval_s: float
    late: npt.NDArray[np.int64]
    duplicates: npt.NDArray[np.int64]
    batch_rows: int | None


def sampling(times_s: Floats, interval_s: float) -> Sampling:
    """Return the steps of a log whose times never decrease."""
    steps = np.diff(times_s)
    late = np.flatnonzero(steps > LATE * interval_s) + 1
    return Sampling(
        interval_s=interval_s,
        mean_interval_s=float(steps.mean()) if steps.size else np.nan,
        late=late,
        duplicates=np.flatnonzero(steps == 0) + 1,
        batch_rows=batch_rows(late, times_s.size),
    )


def batch_rows(late: npt.NDArray[np.int64], rows: int) -> int | None:
    """Return the least b of which every multiple within the log (at least two) is late.

    Examples
    --------
    >>> batch_rows(np.array([1095, 2180, 3600, 7200]), 10361)
    3600
    >>> batch_rows(np.array([1095, 2180]), 10361) is None
    True
    """
    found = set(late.tolist())
    for size in sorted(found):
        if 1 < size <= (rows - 1) // 2 and all(m in found for m in range(size, rows, size)):
            return int(size)
    return None


def lag_s(one: Floats, other: Floats, step_s: float) -> tuple[float, float]:
    """Return by how much one series follows the other, and their correlation at that lag.

    Parameters
    ----------
    one, other : ndarray, shape (n,)
        On the same uniform grid.
    step_s : float
        Step of the grid, s.

    Returns
    -------
    lag_s : float
        Positive if ``other`` is later than ``one``; a multiple of the step, at most a
        minute. NaN where the series do not move together (correlation below 0.5).
    correlation : float
        At the lag; NaN for a constant series.
    """
    a, b = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    if not scale > 0:
        return np.nan, np.nan
    reach = min(int(_MAX_LAG_S / step_s), a.size // 4)
    correlation = signal.correlate(b, a, method="fft")[a.size - 1 - reach : a.size + reach] / scale
    best = int(np.argmax(correlation))
    top = float(correlation[best])
    return ((best - reach) * step_s if top >= _LEAST_CORRELATION else np.nan), top
