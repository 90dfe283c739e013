"""Does the envelope's storage suffice job by job? A certificate after the fact.

The envelope sums all jobs, so its answer is a lower bound. Here charge and discharge are
fixed and a maximum flow gives the power that they leave to jobs, each within its own
release and deadline: first in the schedule of least total delay, then in any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from ortools.graph.python import max_flow

from aidc.constructed.limits import SECONDS_PER_HOUR
from aidc.constructed.overlap import Floats
from aidc.derived.blocks import Columns, Highs, assemble
from aidc.derived.case import StorageCase
from aidc.derived.dispatch import Dispatch
from aidc.derived.plan import (
    ROUND_OFF,
    StoragePlan,
    StorageSize,
    full_cycles,
    job_kwh,
    least_missed,
)
from aidc.derived.problem import compiled
from aidc.derived.solver import Stopwatch, require_solver
from aidc.derived.stage import Ceilings, Goal, Shape, widened
from aidc.derived.units import Units, class_columns, classes
from aidc.evidence import Layer, step

# By how much storage is enlarged, one attempt after the other.
INFLATIONS = (0.0, 0.001, 0.01)
# Flows are whole numbers: all work is this many units.
UNITS = 2**46
# Most columns of a model that decides by jobs or classes: some twenty seconds.
MOST_CLASS_COLUMNS = 200_000


@dataclass(frozen=True, kw_only=True)
class CertifiedPlan(StoragePlan):
    """A plan whose schedule was checked job by job.

    Attributes
    ----------
    inflation : float
        Share by which the storage exceeds that of the plan that was checked.
    job_unserved_kwh : array, shape (n,)
        Work left of each job in *one* assignment; which jobs are short is not unique.
    """

    inflation: float
    job_unserved_kwh: Floats

    @property
    def certified(self) -> bool:
        """Whether every job meets its deadline."""
        return self.missed_jobs == 0


@dataclass(frozen=True)
class Assignment:
    """Work of jobs spread over slots.

    Attributes
    ----------
    serve_kw : array, shape (slots,)
        Power of running jobs.
    lacking_kwh : array, shape (n,)
        What each job lacks at its deadline.
    """

    serve_kw: Floats
    lacking_kwh: Floats

    @property
    def unserved_kwh(self) -> float:
        """All that is lacking."""
        return float(self.lacking_kwh.sum())


def room_kw(case: StorageCase, dispatch: Dispatch) -> Floats:
    """Return the power that cap, fleet and storage leave to jobs, shape (slots,)."""
    active = case.horizon.active
    exchange = (dispatch.charge_kw - dispatch.discharge_kw).sum(axis=0)
    room = case.cap_kw[:active] - case.horizon.idle_kw - exchange
    clipped: Floats = np.clip(room, 0.0, case.horizon.fleet_kw)
    return clipped


def earliest(case: StorageCase, dispatch: Dispatch) -> Floats:
    """Return the schedule of least total delay beside a fixed charge and discharge.

    The schedules that keep all limits are closed under the maximum of their cumulative
    work, so one of them is ahead of all others at every moment; two sweeps find it: ahead
    as far as rates allow, back as far as the least rates demand.

    Returns
    -------
    array, shape (slots,)
        Power of running jobs, kW.
    """
    horizon, active = case.horizon, case.horizon.active
    exchange = (dispatch.charge_kw - dispatch.discharge_kw).sum(axis=0)
    # What the plan itself does is allowed: it may exceed a limit by the solver's round-off.
    most = np.minimum(horizon.rate_kw[:active], room_kw(case, dispatch))
    most = np.maximum(most, dispatch.serve_kw) * horizon.step_h + dispatch.dropped_kwh
    least = np.maximum(-exchange - horizon.idle_kw, 0.0)
    least = np.minimum(least, dispatch.serve_kw) * horizon.step_h + dispatch.dropped_kwh
    released = horizon.released_kwh[: active + 1]
    done = released - dispatch.backlog_kwh
    ceiling = np.maximum(released, done)
    ahead = [0.0]
    for slot in range(active):
        ahead.append(min(ceiling[slot + 1], ahead[-1] + most[slot]))
    for slot in reversed(range(active)):
        ahead[slot] = min(ahead[slot], ahead[slot + 1] - least[slot])
    served = np.diff(np.array(ahead)) - dispatch.dropped_kwh
    return np.maximum(served, 0.0) / horizon.step_h


def assign(case: StorageCase, most_kw: Floats) -> Assignment:
    """Spread the work of jobs over slots so that least is lacking.

    A maximum flow from jobs through the slots between release and deadline, each job at
    most at its full rate, to the power of each slot.

    Parameters
    ----------
    most_kw : array, shape (slots,)
        Power for jobs in each active slot.
    """
    work = job_kwh(case)
    tail, head, most = _arcs(case)
    jobs, slots = work.size, most_kw.size
    scale = UNITS / max(float(work.sum()), 1e-12)
    source, sink = jobs + slots, jobs + slots + 1
    wanted = np.floor(work * scale).astype(np.int64)
    energy = np.minimum(most_kw * case.horizon.step_h, work.sum())
    flow = max_flow.SimpleMaxFlow()
    from_source = flow.add_arcs_with_capacity(
        np.full(jobs, source, np.int32), np.arange(jobs, dtype=np.int32), wanted
    )
    flow.add_arcs_with_capacity(tail, head + np.int32(jobs), _units(most, scale))
    to_sink = flow.add_arcs_with_capacity(
        np.arange(jobs, jobs + slots, dtype=np.int32),
        np.full(slots, sink, np.int32),
        _units(energy, scale),
    )
    if flow.solve(source, sink) != flow.OPTIMAL:  # pragma: no cover - capacities are finite
        raise RuntimeError("the maximum flow did not end")
    return Assignment(
        serve_kw=np.asarray(flow.flows(to_sink)) / scale / case.horizon.step_h,
        lacking_kwh=(wanted - np.asarray(flow.flows(from_source))) / scale,
    )


def _units(kwh: Floats, scale: float) -> npt.NDArray[np.int64]:
    return np.ceil(kwh * scale).astype(np.int64)


def _arcs(
    case: StorageCase,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """Return job, slot and most work of every pair between release and deadline."""
    load = case.require_jobs()
    jobs, step_s = load.jobs, load.window.step_s
    begin = jobs.release_s / step_s
    end = (jobs.release_s + jobs.processing_s + case.slack_s) / step_s
    first = np.floor(begin).astype(np.int64)
    count = np.maximum(np.ceil(end - 1e-9).astype(np.int64) - first, 1)
    job = np.repeat(np.arange(len(jobs)), count)
    slot = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[job]
    share = np.minimum(end[job], slot + 1) - np.maximum(begin[job], slot)
    kwh = jobs.blocks * (load.kw_per_block * step_s / SECONDS_PER_HOUR)
    inside = slot < case.horizon.active
    return (
        job[inside].astype(np.int32),
        slot[inside].astype(np.int32),
        (np.maximum(share, 0.0) * kwh[job])[inside],
    )


@step(Layer.DERIVED)
def certify(case: StorageCase, plan: StoragePlan, solver: str = "HIGHS") -> CertifiedPlan:
    """Check a plan of malleable jobs job by job, enlarging its storage where it must.

    Tried until every job meets its deadline: the charge and discharge of the plan, with
    the schedule of least total delay and then with any; another dispatch of the same
    storage; the same with 0.1 % and with 1 % more power and energy. The other dispatch
    gives up least work of jobs or, where they are many, of classes of jobs; where these
    are many too, it is that of least total delay.
    What the last attempt leaves unserved is reported. The schedule found is kept and its
    throughput made least.

    Raises
    ------
    InputError
        If the case was not made from jobs, or the solver fails.
    """
    chosen, watch = require_solver(solver), Stopwatch()
    allowed = plan.unserved_kwh + ROUND_OFF * case.horizon.work_kwh
    inflation, found = _attempt(case, plan, allowed, chosen)
    power = tuple(value * (1.0 + inflation) for value in plan.power_kw)
    energy = tuple(value * (1.0 + inflation) for value in plan.energy_kwh)
    calm = _calm(case, found.serve_kw, power, energy, chosen)
    lacking = found.unserved_kwh
    unserved = lacking if lacking > ROUND_OFF * case.horizon.work_kwh else 0.0
    return CertifiedPlan(
        bound="malleable_certified",
        cost=unserved if plan.unserved_kwh > 0 else plan.cost * (1.0 + inflation),
        power_kw=power,
        energy_kwh=energy,
        dispatch=calm,
        unserved_kwh=unserved,
        missed_jobs=least_missed(case, unserved),
        cycles=full_cycles(case, calm, energy),
        cap_dual=plan.cap_dual,
        run=watch.run(chosen),
        inflation=inflation,
        job_unserved_kwh=found.lacking_kwh,
    )


def _attempt(
    case: StorageCase, plan: StoragePlan, allowed_kwh: float, solver: str
) -> tuple[float, Assignment]:
    """Return the first inflation and assignment that suffice, or the last ones tried."""
    found = assign(case, earliest(case, plan.dispatch))
    if found.unserved_kwh > allowed_kwh:
        found = assign(case, room_kw(case, plan.dispatch))
    units = _class_units(case) if found.unserved_kwh > allowed_kwh else None
    inflation = 0.0
    for inflation in INFLATIONS:
        if found.unserved_kwh <= allowed_kwh:
            break
        if units is None:
            room = room_kw(case, _least_delay(case, plan, inflation, solver))
        else:
            room = _room_by_classes_kw(case, plan, units, inflation)
        found = assign(case, room)
    return inflation, found


def _class_units(case: StorageCase) -> Units | None:
    """Return the jobs, or else their classes, as columns; None if there are too many."""
    if len(case.technologies) != 1:
        return None
    if class_columns(case) <= MOST_CLASS_COLUMNS:
        return classes(case, single=True, skippable=True)
    units = classes(case, skippable=True)
    return units if units.upper.size <= MOST_CLASS_COLUMNS else None


def _room_by_classes_kw(
    case: StorageCase, plan: StoragePlan, units: Units, inflation: float
) -> Floats:
    """Return the power left to jobs when least of their work is given up, shape (slots,)."""
    share = max(inflation, ROUND_OFF)
    built = StorageSize(
        power_kw=widened(plan.power_kw, share), energy_kwh=widened(plan.energy_kwh, share)
    )
    _, columns = Highs(assemble(case, units, None, built)).solve()
    where = Columns(case.horizon.active)
    dispatch = Dispatch.of(
        case,
        serve_kw=columns[where.serve],
        charge_kw=columns[None, where.charge],
        discharge_kw=columns[None, where.discharge],
        first_kwh=columns[where.usable][:1],
    )
    return room_kw(case, dispatch)


def _least_delay(case: StorageCase, plan: StoragePlan, inflation: float, solver: str) -> Dispatch:
    ceilings = Ceilings(
        power_kw=widened(plan.power_kw, max(inflation, ROUND_OFF)),
        energy_kwh=widened(plan.energy_kwh, max(inflation, ROUND_OFF)),
        unserved_kwh=widened((plan.unserved_kwh,), ROUND_OFF)[0],
    )
    droppable = plan.unserved_kwh > 0
    problem = compiled(Shape.of(case, droppable=droppable, waiting=True))
    return problem.solve(case, Goal(waiting=1.0), ceilings, solver).dispatch


def _calm(
    case: StorageCase,
    serve_kw: Floats,
    power_kw: tuple[float, ...],
    energy_kwh: tuple[float, ...],
    solver: str,
) -> Dispatch:
    """Return the dispatch of least throughput beside a schedule that is kept."""
    pinned = replace(case, horizon=case.horizon.pinned(serve_kw))
    ceilings = Ceilings(
        power_kw=widened(power_kw, ROUND_OFF), energy_kwh=widened(energy_kwh, ROUND_OFF)
    )
    stored = compiled(Shape.of(case)).solve(pinned, Goal(throughput=1.0), ceilings, solver).dispatch
    return Dispatch.of(
        case,
        serve_kw=serve_kw,
        charge_kw=stored.charge_kw,
        discharge_kw=stored.discharge_kw,
        first_kwh=stored.usable_kwh[:, 0],
    )
