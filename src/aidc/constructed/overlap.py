"""Exact slot averages of many intervals, in one pass over jobs and slots."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def slot_averages(begin: Floats, end: Floats, weight: Floats, step: float, slots: int) -> Floats:
    """Return the time average, in each slot, of the weights of the intervals that cover it.

    An event sweep: whole slots come from differences of the weights alone (exact when
    they are multiples of a power of two), the two ends of an interval from its offset
    *inside* its slot. A difference of two ramps over the whole horizon would cancel
    digits that a linear programme then misses.

    Parameters
    ----------
    begin, end : array, shape (n,)
        Interval ends, in the unit of ``step``, within [0, slots * step].
    weight : array, shape (n,)
        Height of each interval.
    step : float
        Length of a slot.
    slots : int
        Number of slots.

    Returns
    -------
    array, shape (slots,)

    Examples
    --------
    >>> slot_averages(np.array([0.5]), np.array([2.0]), np.array([3.0]), 1.0, 3)
    array([1.5, 3. , 0. ])
    """
    first, before = _slot_and_offset(begin, step)
    last, into = _slot_and_offset(end, step)
    size = slots + 1
    change = np.bincount(first, weight, size) - np.bincount(last, weight, size)
    inside = np.bincount(last, weight * into, size) - np.bincount(first, weight * before, size)
    averages: Floats = np.maximum(np.cumsum(change) + inside, 0.0)
    return averages[:slots]


def _slot_and_offset(times: Floats, step: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the slot of each time, and how far into it the time is (0 to 1)."""
    slot = np.floor(times / step)
    return slot.astype(np.int64), np.clip(times / step - slot, 0.0, 1.0)


def clip_to(
    begin: Floats, end: Floats, weight: Floats, lower: float, upper: float
) -> tuple[Floats, Floats, Floats, npt.NDArray[np.int64]]:
    """Return the parts of the intervals inside [lower, upper), and which they belong to."""
    kept = np.flatnonzero((end > lower) & (begin < upper) & (end > begin))
    inside = np.clip(begin[kept], lower, upper), np.clip(end[kept], lower, upper)
    return *inside, weight[kept], kept
