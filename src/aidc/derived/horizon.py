"""The envelope of a load: what work may wait, and how fast it may run.

Uniform slack s shifts the last moment of every unit of work by s. With A(t) the work
released by t, the work served by t lies between A(t - s) and A(t); so the backlog lies
between 0 and A(t) - A(t - s). Jobs that are due lie between release and deadline, which
bounds the rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from aidc.constructed.limits import SECONDS_PER_HOUR
from aidc.constructed.overlap import Floats
from aidc.constructed.replay import SiteLoad
from aidc.constructed.window import SECONDS_PER_DAY


@dataclass(frozen=True)
class Horizon:
    """Envelope on slots; the first ``active`` of them count, the rest is padding.

    Padding to whole days lets one compiled problem serve many slacks: nothing runs and
    nothing is charged there, so it changes no result.

    Attributes
    ----------
    step_h : float
        Length of a slot, h.
    active : int
        Slots of the window and of the slack behind it.
    arrivals_kwh : array, shape (slots,)
        Work released in each slot.
    backlog_kwh : array, shape (slots + 1,)
        Most work that may wait at each slot boundary.
    rate_kw : array, shape (slots,)
        Most power of the jobs that are due.
    idle_kw : float
        Power that is drawn always.
    fleet_kw : float
        Most power that running jobs may draw; infinite without a fleet limit.
    """

    step_h: float
    active: int
    arrivals_kwh: Floats
    backlog_kwh: Floats
    rate_kw: Floats
    idle_kw: float = 0.0
    fleet_kw: float = math.inf

    @classmethod
    def of(cls, load: SiteLoad, slack_s: float) -> Horizon:
        """Return the envelope of a site load for a slack in s."""
        step_s = load.window.step_s
        active = load.window.slots + math.ceil(slack_s / step_s - 1e-9)
        per_day = round(SECONDS_PER_DAY / step_s)
        slots = load.window.slots + per_day * max(1, math.ceil(slack_s / SECONDS_PER_DAY))
        energy = load.kw_per_block * step_s / SECONDS_PER_HOUR
        released = energy * load.jobs.running(step_s, slots)
        due = energy * load.jobs.running(step_s, slots, later_s=slack_s)
        backlog = np.concatenate([[0.0], np.maximum(np.cumsum(released) - np.cumsum(due), 0.0)])
        backlog[active:] = 0.0
        fleet = load.fleet_blocks
        return cls(
            step_h=step_s / SECONDS_PER_HOUR,
            active=active,
            arrivals_kwh=released,
            backlog_kwh=backlog,
            rate_kw=load.kw_per_block * load.jobs.allowed(step_s, slots, slack_s),
            idle_kw=load.idle_kw,
            fleet_kw=math.inf if fleet is None else fleet * load.kw_per_block,
        )

    @classmethod
    def of_fixed(cls, load_kw: Floats, step_h: float) -> Horizon:
        """Return the horizon of a load that cannot move, shape (slots,)."""
        return cls(
            step_h=step_h,
            active=load_kw.size,
            arrivals_kwh=load_kw * step_h,
            backlog_kwh=np.zeros(load_kw.size + 1),
            rate_kw=load_kw,
        )

    def pinned(self, serve_kw: Floats) -> Horizon:
        """Return this horizon with the work served as given, shape (active,)."""
        rate = np.zeros(self.slots)
        rate[: self.active] = serve_kw
        return replace(
            self,
            arrivals_kwh=rate * self.step_h,
            backlog_kwh=np.zeros(self.slots + 1),
            rate_kw=rate,
        )

    @property
    def slots(self) -> int:
        """Number of slots with padding."""
        return self.arrivals_kwh.size

    @property
    def work_kwh(self) -> float:
        """All work."""
        return float(self.arrivals_kwh.sum())

    @property
    def released_kwh(self) -> Floats:
        """Work released by each slot boundary, shape (slots + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.arrivals_kwh)])

    @property
    def due_kwh(self) -> Floats:
        """Work due by each slot boundary, shape (slots + 1,)."""
        return self.released_kwh - self.backlog_kwh
