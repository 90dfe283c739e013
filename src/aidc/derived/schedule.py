"""One schedule of each class of flexibility, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from aidc.constructed.overlap import Floats
from aidc.derived.case import StorageCase
from aidc.derived.plan import ROUND_OFF, StoragePlan, delay_quantiles, job_kwh
from aidc.derived.rigid import Flexibility, JobBounds
from aidc.evidence import Carrier, Layer, step

SHARES = np.linspace(0.0, 1.0, 401)


@dataclass(frozen=True, kw_only=True)
class ScheduleRow(Carrier):
    """The plan of one class of flexibility.

    Attributes
    ----------
    flexibility : str
        The class.
    plan : StoragePlan
        Its schedule beside a storage that stands.
    delay_h : array, shape (401,)
        Delay of work that is served, h, at equally spaced shares of that work; NaN if
        there is none. Of a job that cannot run at any rate, all work counts as late as the
        job's end; one that is served in part has no end, and its work is not counted.
    unserved_share : float
        Share of all work that is not served.
    unserved_least_kwh, unserved_least_share : float
        No schedule of the class leaves less.
    """

    flexibility: str
    plan: StoragePlan
    delay_h: Floats
    unserved_share: float
    unserved_least_kwh: float
    unserved_least_share: float

    def quantile_h(self, share: float) -> float:
        """Return the delay that a share of the served work does not exceed, h."""
        return float(np.interp(share, SHARES, self.delay_h))


@step(Layer.DERIVED)
def schedule_row(
    case: StorageCase, least: StoragePlan, found: StoragePlan | JobBounds, flexibility: Flexibility
) -> ScheduleRow:
    """Return a class's plan (of bounds: the schedule that was found) with its delays.

    Parameters
    ----------
    least : StoragePlan
        The envelope beside the same storage: it bounds every class.
    """
    plan = found.feasible if isinstance(found, JobBounds) else found
    share = plan.unserved_kwh / case.horizon.work_kwh
    bound = max(least.unserved_kwh, found.lower.cost if isinstance(found, JobBounds) else 0.0)
    bound = bound if bound > ROUND_OFF * case.horizon.work_kwh else 0.0
    late = _job_delays(case, found) if isinstance(found, JobBounds) else None
    return ScheduleRow(
        flexibility=flexibility.rule,
        plan=plan,
        delay_h=delay_quantiles(case, plan.dispatch, SHARES) if late is None else late,
        unserved_share=share if share > ROUND_OFF else 0.0,
        unserved_least_kwh=bound,
        unserved_least_share=bound / case.horizon.work_kwh,
    )


def _job_delays(case: StorageCase, found: JobBounds) -> Floats:
    """Return quantiles of the delay of the jobs that end, weighted by their work."""
    work = job_kwh(case)
    served = np.flatnonzero(np.isfinite(found.late_h))
    if not served.size:
        return np.full(SHARES.size, math.nan)
    order = served[np.argsort(found.late_h[served], kind="stable")]
    below = np.cumsum(work[order])
    place = np.searchsorted(below, SHARES * below[-1] * (1 - 1e-12))
    return np.asarray(found.late_h[order][place])


@dataclass(frozen=True, kw_only=True)
class ScheduleTable(Carrier):
    """Schedules of several classes.

    Attributes
    ----------
    frame : DataFrame
        One row a class: ``flexibility``, ``unserved_least_kwh`` (no schedule leaves less),
        ``unserved_kwh`` (of the schedule that was found), ``unserved_least_share`` and
        ``unserved_share`` (the same, of all work), ``missed_jobs``, ``peak_load_kw``,
        ``peak_supply_kw``,
        ``delay_of_served_h_p50``, ``delay_of_served_h_p95``, ``delay_of_served_h_max``
        (NaN if nothing is served), ``throughput_kwh``, ``equivalent_full_cycles``.
    """

    frame: pd.DataFrame


@step(Layer.DERIVED)
def schedule_table(rows: tuple[ScheduleRow, ...]) -> ScheduleTable:
    """Collect the schedules of several classes."""
    frame = pd.DataFrame(
        {
            "flexibility": row.flexibility,
            "unserved_least_kwh": round(row.unserved_least_kwh, 6),
            "unserved_kwh": round(row.plan.unserved_kwh, 6),
            "unserved_least_share": round(row.unserved_least_share, 9),
            "unserved_share": round(row.unserved_share, 9),
            "missed_jobs": row.plan.missed_jobs,
            "peak_load_kw": round(float(row.plan.dispatch.load_kw.max()), 6),
            "peak_supply_kw": round(float(row.plan.dispatch.supply_kw.max()), 6),
            "delay_of_served_h_p50": round(row.quantile_h(0.5), 6),
            "delay_of_served_h_p95": round(row.quantile_h(0.95), 6),
            "delay_of_served_h_max": round(row.quantile_h(1.0), 6),
            "throughput_kwh": round(row.plan.throughput_kwh, 6),
            "equivalent_full_cycles": round(row.plan.cycles[0], 6),
        }
        for row in rows
    )
    return ScheduleTable(frame=frame)
