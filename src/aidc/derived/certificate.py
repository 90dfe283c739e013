"""Does the envelope's storage suffice job by job? A certificate after the fact.

The envelope sums all jobs, so its answer is a lower bound. Here charge and discharge are
fixed and a maximum flow gives the power that they leave to jobs, each within its own
release and deadline: first in the schedule of least total delay, then in any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from ortools.graph.python import max_flow

from aidc.constructed.limits import SECONDS_PER_HOUR
from aidc.constructed.overlap import Floats
from aidc.constructed.technology import CostWeights
from aidc.derived.blocks import Arrays, Highs, assemble, dispatch_of
from aidc.derived.case import StorageCase
from aidc.derived.dispatch import Dispatch
from aidc.derived.envelope import calmest
from aidc.derived.plan import (
    ROUND_OFF,
    StoragePlan,
    StorageSize,
    full_cycles,
    job_kwh,
    least_missed,
)
from aidc.derived.problem import compiled
from aidc.derived.solver import HIGHS, Solver, Stopwatch
from aidc.derived.stage import Ceilings, Goal, Shape, widened
from aidc.derived.units import classes, job_columns
from aidc.evidence import Layer, step

# By how much storage is enlarged where single jobs are too many, one attempt after the other.
INFLATIONS = (0.001, 0.01)
# Flows are whole numbers: all work is this many units.
UNITS = 2**46
# Most columns of a model that decides job by job: some ten seconds.
MOST_JOB_COLUMNS = 500_000


@dataclass(frozen=True, kw_only=True)
class CertifiedPlan(StoragePlan):
    """A plan whose schedule was checked job by job.

    Attributes
    ----------
    inflation : float
        Share by which the storage costs more than that of the plan that was checked.
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


def room_kw(case: StorageCase, dispatch: Dispatch, power_kw: tuple[float, ...]) -> Floats:
    """Return the power that limits and storage leave to jobs, shape (slots,).

    Parameters
    ----------
    dispatch : Dispatch
        Its charge and discharge are kept.
    power_kw : tuple of float
        Power of the storage: a reserve asks for it.
    """
    active = case.horizon.active
    exchange = (dispatch.charge_kw - dispatch.discharge_kw).sum(axis=0)
    room = case.cap_kw[:active] - case.horizon.idle_kw - exchange
    if case.reserve.required:
        room = np.minimum(room, _reserved_kw(case, dispatch, sum(power_kw)))
    clipped: Floats = np.clip(room, 0.0, case.horizon.fleet_kw)
    return clipped


def _reserved_kw(case: StorageCase, dispatch: Dispatch, power_kw: float) -> Floats:
    """Return the running load that the storage could carry for the time of the reserve."""
    reserve = case.reserve
    delivered = np.array([one.eta_discharge for one in case.technologies])
    kept = delivered @ dispatch.usable_kwh
    carried = np.minimum(np.minimum(kept[:-1], kept[1:]) / reserve.hours, power_kw)
    loads: Floats = carried / reserve.share - case.horizon.idle_kw
    return loads


def earliest(case: StorageCase, dispatch: Dispatch, power_kw: tuple[float, ...]) -> Floats:
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
    most = np.minimum(horizon.rate_kw[:active], room_kw(case, dispatch, power_kw))
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
def certify(
    case: StorageCase,
    plan: StoragePlan,
    solver: Solver = HIGHS,
    *,
    weights: tuple[CostWeights, ...] | None = None,
) -> CertifiedPlan:
    """Check a plan of malleable jobs job by job, enlarging its storage if that is allowed.

    Tried until every job meets its deadline: the charge and discharge of the plan, with
    the schedule of least total delay and then with any; the schedule of single jobs that
    leaves least of their work; the storage of least cost for single jobs. Where jobs are
    too many to decide one by one: the dispatch of least total delay, also with 0.1 % and
    with 1 % more power and energy. What the last attempt leaves unserved is reported. The
    schedule found is kept and its throughput made least.

    Parameters
    ----------
    weights : tuple of CostWeights, optional
        One a technology: the storage may be enlarged at this cost. Without them it stands.

    Raises
    ------
    InputError
        If the case was not made from jobs, or the solver fails.
    """
    watch = Stopwatch()
    allowed = plan.unserved_kwh + ROUND_OFF * case.horizon.work_kwh
    for attempt in _attempts(case, plan, solver, weights):
        if attempt.found.unserved_kwh <= allowed:
            break
    power, energy, found = attempt.power_kw, attempt.energy_kwh, attempt.found
    calm = _calm(case, found.serve_kw, power, energy, solver)
    lacking = found.unserved_kwh
    unserved = lacking if lacking > ROUND_OFF * case.horizon.work_kwh else 0.0
    cost = unserved if weights is None else _cost(weights, power, energy)
    return CertifiedPlan(
        bound="malleable_certified",
        cost=cost,
        power_kw=power,
        energy_kwh=energy,
        dispatch=calm,
        unserved_kwh=unserved,
        missed_jobs=least_missed(case, unserved),
        cycles=full_cycles(case, calm, energy),
        cap_dual=plan.cap_dual,
        run=watch.run(solver.name, _status(attempt, unserved <= allowed)),
        inflation=cost / plan.cost - 1.0 if weights is not None and plan.cost > 0 else 0.0,
        job_unserved_kwh=found.lacking_kwh,
    )


@dataclass(frozen=True)
class _Attempt:
    """Storage, and what its best assignment leaves."""

    power_kw: tuple[float, ...]
    energy_kwh: tuple[float, ...]
    found: Assignment
    inflated: bool = False


def _status(attempt: _Attempt, served: bool) -> str:
    if not served:
        return "not certified"
    return "feasible" if attempt.inflated else "optimal"


def _size_of(plan: StoragePlan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return power and energy of a plan's storage."""
    return plan.power_kw, plan.energy_kwh


def _cost(
    weights: tuple[CostWeights, ...], power_kw: tuple[float, ...], energy_kwh: tuple[float, ...]
) -> float:
    sizes = zip(weights, power_kw, energy_kwh, strict=True)
    return sum(one.power * power + one.energy * energy for one, power, energy in sizes)


def _attempts(
    case: StorageCase,
    plan: StoragePlan,
    solver: Solver,
    weights: tuple[CostWeights, ...] | None,
) -> Iterator[_Attempt]:
    """Yield what is tried, from what is at hand to what takes longest."""
    power, energy = _size_of(plan)
    yield _Attempt(power, energy, assign(case, earliest(case, plan.dispatch, power)))
    yield _Attempt(power, energy, assign(case, room_kw(case, plan.dispatch, power)))
    if len(case.technologies) == 1 and job_columns(case) <= MOST_JOB_COLUMNS:
        units = classes(case, single=True, skippable=True)
        built = StorageSize(
            power_kw=widened(power, ROUND_OFF), energy_kwh=widened(energy, ROUND_OFF)
        )
        yield _by_jobs(case, assemble(case, units, None, built), _size_of(plan), solver.seed)
        if weights is not None:
            units = classes(case, single=True)
            yield _by_jobs(case, assemble(case, units, weights[0], None), None, solver.seed)
        return
    for inflation in (0.0, *INFLATIONS) if weights is not None else (0.0,):
        more = (widened(power, inflation), widened(energy, inflation))
        room = room_kw(case, _least_delay(case, plan, inflation, solver), more[0])
        yield _Attempt(*more, assign(case, room), inflated=inflation > 0)


def _by_jobs(
    case: StorageCase,
    arrays: Arrays,
    storage: tuple[tuple[float, ...], tuple[float, ...]] | None,
    seed: int,
) -> _Attempt:
    """Decide all jobs one by one, beside storage that stands or is sized with them."""
    _, columns = Highs(arrays, seed).solve()
    power, energy = storage or ((float(columns[0]),), (float(columns[1]),))
    room = room_kw(case, dispatch_of(case, columns), widened(power, ROUND_OFF))
    return _Attempt(power, energy, assign(case, room))


def _least_delay(
    case: StorageCase, plan: StoragePlan, inflation: float, solver: Solver
) -> Dispatch:
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
    solver: Solver,
) -> Dispatch:
    """Return the dispatch of least throughput beside a schedule that is kept."""
    pinned = replace(case, horizon=case.horizon.pinned(serve_kw))
    stored = calmest(pinned, power_kw, energy_kwh, solver).dispatch
    return Dispatch.of(
        case,
        serve_kw=serve_kw,
        charge_kw=stored.charge_kw,
        discharge_kw=stored.discharge_kw,
        first_kwh=stored.usable_kwh[:, 0],
    )
