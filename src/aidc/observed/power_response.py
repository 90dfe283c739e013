"""Tell a mean over one second from an instant reading by how fast it can change.

A mean over a window of T seconds cannot pass more than w / T of the range of the true
power within w seconds. A reading that does is no such mean; one that took a sudden change
and spread it over a second behaves like one.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum

import numpy as np

from aidc.observed.power import Floats

_SHORT_S, _LONG_S = 0.5, 1.2
# Sensors update in steps of their own, so a mean may seem half as fast again.
_ROOM = 1.5
_LEAST_CHANGE_W = 50.0
_SUDDEN = 0.8


class Response(StrEnum):
    """What the changes of a reading allow."""

    FASTER = "faster than a mean over 1 s"
    LIKE_MEAN = "like a mean over 1 s"
    UNDECIDED = "no sudden change to judge by"


@dataclasses.dataclass(frozen=True)
class ResponseTest:
    """The fastest changes of a reading.

    Attributes
    ----------
    verdict : Response
        What they allow.
    short_share, long_share : float
        Largest change within 0.5 s and within 1.2 s, as a share of the whole range.
    """

    verdict: Response
    short_share: float
    long_share: float


def response_test(watts: Floats, interval_s: float) -> ResponseTest:
    """Judge one channel.

    Parameters
    ----------
    watts : ndarray, shape (n,)
        Readings at an even interval, NaN = missing.
    interval_s : float
        Interval in s; above a quarter of a second nothing can be said.
    """
    range_w = float(np.nanmax(watts) - np.nanmin(watts)) if not np.isnan(watts).all() else 0.0
    if not interval_s <= _SHORT_S / 2 or range_w < _LEAST_CHANGE_W:
        return ResponseTest(Response.UNDECIDED, np.nan, np.nan)
    short = _largest_change(watts, round(_SHORT_S / interval_s)) / range_w
    long = _largest_change(watts, round(_LONG_S / interval_s)) / range_w
    if short > _SHORT_S * _ROOM:
        verdict = Response.FASTER
    elif long >= _SUDDEN:
        verdict = Response.LIKE_MEAN
    else:
        verdict = Response.UNDECIDED
    return ResponseTest(verdict, short, long)


def _largest_change(watts: Floats, steps: int) -> float:
    if watts.size <= steps:
        return 0.0
    change = np.abs(watts[steps:] - watts[:-steps])
    return 0.0 if np.isnan(change).all() else float(np.nanmax(change))
