"""Storage for jobs that cannot run at any rate: bounds from below and above.

Three classes of flexibility, each needing at least the storage of the one before:
malleable (any rate up to the full one), on/off (full rate or nothing, interruptions
allowed), rigid (once, uninterrupted). Finding the least for the last two is a
mixed-integer problem; its relaxation is the lower bound, and a schedule found from it the
feasible value. The answer is both, and their gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from aidc.constructed.overlap import Floats
from aidc.constructed.setting import declared, number
from aidc.constructed.technology import CostWeights
from aidc.derived.blocks import Arrays, Columns, Highs, assemble, dispatch_of
from aidc.derived.case import StorageCase
from aidc.derived.diagnosis import explain
from aidc.derived.dispatch import Dispatch
from aidc.derived.envelope import calmest, least_cost, plan_of
from aidc.derived.plan import (
    StoragePlan,
    StorageSize,
    full_cycles,
    least_missed,
)
from aidc.derived.solver import HIGHS, Infeasible, Solver, SolverRun, Stopwatch
from aidc.derived.stage import Ceilings, Solution
from aidc.derived.units import Flags, Units, classes, running_slots, starts
from aidc.evidence import Carrier, InputError, Layer, step

MALLEABLE, ON_OFF, RIGID = "malleable", "on_off", "rigid"
FLEXIBILITIES = (MALLEABLE, ON_OFF, RIGID)
WHOLE = 1e-6
# Most rounds of relaxing and deciding, and by what share one more has to be able to gain.
ROUNDS = 6
WORTH_A_ROUND = 1e-3


@dataclass(frozen=True, kw_only=True)
class Flexibility(Carrier):
    """What a job lets be done to it: the trace says nothing about it.

    Attributes
    ----------
    rule : str
        ``"malleable"``, ``"on_off"`` or ``"rigid"``.
    """

    rule: str

    def __post_init__(self) -> None:
        if self.rule not in FLEXIBILITIES:
            raise InputError(
                f"flexibility: found {self.rule!r}, expected one of {', '.join(FLEXIBILITIES)}"
            )

    @classmethod
    def of(cls, rule: str) -> Flexibility:
        """Return the experimental setting ``flexibility``."""
        return cls(rule=rule, evidence=declared("flexibility"))


@dataclass(frozen=True, kw_only=True)
class JobBounds(Carrier):
    """What on/off or rigid jobs need: at least, and certainly at most.

    Attributes
    ----------
    flexibility : str
        Class of the jobs.
    lower : StoragePlan
        Relaxation: nothing below its cost suffices when delays are whole slots. Its
        dispatch runs parts of jobs, so its throughput is no schedule's.
    feasible : StoragePlan
        A schedule that keeps every rule. In operation its missed jobs are those it
        gives up.
    late_h : array, shape (n,)
        How much later than without slack each job ends in that schedule, h; infinite if
        given up.
    fractional_jobs : int
        Jobs that the relaxation split, and that the mixed-integer stage decided.
    """

    flexibility: str
    lower: StoragePlan
    feasible: StoragePlan
    late_h: Floats
    fractional_jobs: int

    @property
    def gap(self) -> float:
        """Relative distance of feasible and lower cost; 0 if both are 0."""
        cost = self.feasible.cost
        return max(0.0, cost - self.lower.cost) / cost if cost > 0 else 0.0


@step(Layer.DERIVED)
def interruptible(on_off: JobBounds, rigid: JobBounds) -> JobBounds:
    """Return the bounds of on/off jobs, with the rigid schedule where that is better.

    A rigid schedule is one of on/off jobs that interrupts nothing; a time limit can leave
    the search for the others behind it.
    """
    if rigid.feasible.cost >= on_off.feasible.cost:
        return on_off
    return replace(
        on_off,
        feasible=replace(rigid.feasible, bound=on_off.feasible.bound),
        late_h=rigid.late_h,
    )


def _units(case: StorageCase, flexibility: Flexibility, *, skippable: bool) -> Units:
    if flexibility.rule == MALLEABLE:
        raise InputError(
            "flexibility: found 'malleable', expected 'on_off' or 'rigid'; malleable jobs have "
            "size() and class_bound()"
        )
    make = running_slots if flexibility.rule == ON_OFF else starts
    return make(case, skippable=skippable)


@step(Layer.DERIVED)
def class_bound(case: StorageCase, weights: CostWeights, *, single: bool = False) -> StoragePlan:
    """Size storage for malleable jobs in classes: a tighter lower bound than the envelope.

    Parameters
    ----------
    case : StorageCase
        With one technology, made from jobs.
    weights : CostWeights
        Its weights.
    single : bool
        Whether every job is a class of its own: exact for malleable jobs, and larger.

    Raises
    ------
    InputError
        If no storage suffices or the model is too large.
    """
    watch = Stopwatch()
    cost, columns = _relaxed(
        case, Highs(assemble(case, classes(case, single=single), weights, None))
    )
    return _lower(
        case,
        "malleable_exact" if single else "malleable_class_lower",
        cost,
        columns,
        watch.run(HIGHS.name),
    )


@step(Layer.DERIVED)
def size_jobs(
    case: StorageCase,
    weights: CostWeights,
    flexibility: Flexibility,
    time_limit_s: float = 60.0,
    seed: int = 0,
) -> JobBounds:
    """Size storage for on/off or rigid jobs: lower bound, feasible value, gap.

    HiGHS solves it, with ``seed`` to break ties.

    Raises
    ------
    InputError
        If no storage suffices, no schedule is found in time, or the model is too large.
    """
    limit_s, watch = number("time_limit_s", time_limit_s, "s", above=True), Stopwatch()
    solver, units = Solver(seed=seed), _units(case, flexibility, skippable=False)
    arrays = assemble(case, units, weights, None)
    model = Highs(arrays, seed)
    cost, columns = _relaxed(case, model)
    lower = _lower(case, f"{flexibility.rule}_lower", cost, columns, watch.run(solver.name))
    whole = _whole(case, arrays, model, units, limit_s, seed)
    chosen = whole.chosen
    pinned = _pinned(case, units, chosen)
    sized = least_cost(pinned, (weights,), solver)
    calm = calmest(pinned, sized.power_kw, sized.energy_kwh, solver)
    return JobBounds(
        flexibility=flexibility.rule,
        lower=lower,
        feasible=plan_of(
            case,
            f"{flexibility.rule}_feasible",
            sized,
            _moved(case, calm),
            watch.run(solver.name, _status(whole, sized.cost, cost)),
        ),
        late_h=_late_h(case, units, chosen),
        fractional_jobs=whole.split,
    )


@step(Layer.DERIVED)
def operate_jobs(
    case: StorageCase,
    storage: StorageSize,
    flexibility: Flexibility,
    time_limit_s: float = 60.0,
    seed: int = 0,
) -> JobBounds:
    """Operate given storage with on/off or rigid jobs: least unserved work.

    A rigid job is served whole or given up; an on/off job may be served in part. HiGHS
    solves it, with ``seed`` to break ties.

    Raises
    ------
    InputError
        If even without any job the limits cannot be kept, or the model is too large.
    """
    limit_s, watch = number("time_limit_s", time_limit_s, "s", above=True), Stopwatch()
    solver, units = Solver(seed=seed), _units(case, flexibility, skippable=True)
    arrays = assemble(case, units, None, storage)
    model = Highs(arrays, seed)
    cost, columns = _relaxed(case, model)
    lower = _lower(case, f"{flexibility.rule}_lower", cost, columns, watch.run(solver.name), cost)
    whole = _whole(case, arrays, model, units, limit_s, seed)
    chosen = whole.chosen
    pinned = _pinned(case, units, chosen)
    calm = calmest(pinned, storage.power_kw, storage.energy_kwh, solver)
    given_up = units.job[np.isinf(units.end) & (chosen > 0)]
    unserved = float(units.cost @ chosen)
    run = watch.run(solver.name, _status(whole, unserved, cost))
    plan = plan_of(case, f"{flexibility.rule}_feasible", calm, _moved(case, calm), run)
    return JobBounds(
        flexibility=flexibility.rule,
        lower=lower,
        feasible=replace(
            plan,
            cost=unserved,
            unserved_kwh=unserved,
            missed_jobs=np.unique(given_up).size,
            cap_dual=np.full(case.horizon.active, math.nan),
        ),
        late_h=_late_h(case, units, chosen),
        fractional_jobs=whole.split,
    )


def _relaxed(case: StorageCase, model: Highs) -> tuple[float, Floats]:
    try:
        return model.solve()
    except Infeasible:
        raise explain(case, Ceilings(), HIGHS) from None


def _lower(
    case: StorageCase,
    bound: str,
    cost: float,
    columns: Floats,
    run: SolverRun,
    unserved_kwh: float = 0.0,
) -> StoragePlan:
    """Return a relaxation as a plan; its schedule is no schedule of whole jobs."""
    dispatch = dispatch_of(case, columns)
    energy = (float(columns[1]),)
    return StoragePlan(
        bound=bound,
        cost=cost,
        power_kw=(float(columns[0]),),
        energy_kwh=energy,
        dispatch=dispatch,
        unserved_kwh=unserved_kwh,
        missed_jobs=least_missed(case, unserved_kwh),
        cycles=full_cycles(case, dispatch, energy),
        cap_dual=np.full(case.horizon.active, math.nan),
        run=run,
    )


@dataclass(frozen=True)
class _Schedule:
    """Columns of whole jobs, how many the first relaxation split, and whether time ran out."""

    chosen: Floats
    split: int
    cut_off: bool


def _whole(
    case: StorageCase, arrays: Arrays, model: Highs, units: Units, limit_s: float, seed: int
) -> _Schedule:
    """Return the best schedule of whole jobs that a few rounds find.

    A round keeps the jobs that the relaxation left whole and decides the split ones by a
    small search. Nearly all jobs are whole in a vertex: a split one needs a binding row.
    The next round lets go of all but the decided ones, because the others were placed
    beside split jobs; it relaxes again and goes on from there.
    """
    first, watch = Columns(case.horizon.active).units, Stopwatch()
    least, columns = model.cost, model.columns
    split_jobs = np.unique(units.job[_split_columns(units, columns[first:])]).size
    best, found, cut_off = math.inf, None, False
    for _ in range(ROUNDS):
        split = _split_columns(units, columns[first:])
        try:
            search = _search(arrays, seed, first, split, columns, limit_s - watch.seconds)
            cut_off |= search.cut_off
            chosen = np.round(search.columns[first:])
            if search.cost < best:
                best, found = search.cost, chosen
            # A job that was given up is let go as well: there may be room for it yet.
            lost = np.isin(units.job, units.job[np.isinf(units.end) & (chosen > 0)])
            decided = np.flatnonzero(split & ~lost)
            model.fix(first + decided, chosen[decided])
            least, columns = model.solve()
        except Infeasible:
            break
        if least > best - WORTH_A_ROUND * best or watch.seconds > limit_s:
            break
    if found is None:
        raise explain(case, Ceilings(), HIGHS)
    return _Schedule(found, int(split_jobs), cut_off)


def _search(
    arrays: Arrays, seed: int, first: int, split: Flags, columns: Floats, limit_s: float
) -> Highs:
    """Decide the split jobs beside all others as they are; return the solved model."""
    search, kept = Highs(arrays, seed), np.flatnonzero(~split)
    search.fix(first + kept, np.round(columns[first + kept]))
    if split.any():
        search.make_whole(first + np.flatnonzero(split))
        search.solve(within_s=max(limit_s, 0.0))
    else:
        search.solve()
    return search


def _split_columns(units: Units, share: Floats) -> Flags:
    """Return which columns belong to a job that is not whole, shape (n,)."""
    split = np.zeros(int(units.job.max(initial=0)) + 1, dtype=bool)
    split[units.job[np.abs(share - np.round(share)) > WHOLE]] = True
    return split[units.job]


def _status(whole: _Schedule, cost: float, bound: float) -> str:
    """Say what is known of a schedule's cost, given the bound of the relaxation."""
    if cost <= bound + WHOLE * max(1.0, bound):
        return "optimal"
    return "time limit" if whole.cut_off else "feasible"


def _pinned(case: StorageCase, units: Units, chosen: Floats) -> StorageCase:
    return replace(case, horizon=case.horizon.pinned(np.asarray(units.power @ chosen)))


def _moved(case: StorageCase, calm: Solution) -> Solution:
    """Return a solution of a pinned schedule with the backlog that the schedule leaves."""
    stored = calm.dispatch
    dispatch = Dispatch.of(
        case,
        serve_kw=stored.serve_kw,
        charge_kw=stored.charge_kw,
        discharge_kw=stored.discharge_kw,
        first_kwh=stored.usable_kwh[:, 0],
    )
    return replace(calm, dispatch=dispatch)


def _late_h(case: StorageCase, units: Units, chosen: Floats) -> Floats:
    """Return how much later than without slack each job ends, h, shape (n,)."""
    load = case.require_jobs()
    end = np.zeros(len(load.jobs))
    runs = chosen > 0
    np.maximum.at(end, units.job[runs], units.end[runs])
    late = end - load.jobs.processing_s / load.window.step_s
    return np.where(late > WHOLE, late, 0.0) * case.horizon.step_h
