"""Storage for malleable jobs: a job may run at any rate up to its full one.

The envelope of all jobs together is a relaxation: what it needs is a lower bound on what
any schedule needs. `aidc.derived.certificate` checks it job by job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.diagnosis import explain
from aidc.derived.plan import (
    ROUND_OFFS,
    StoragePlan,
    StorageSize,
    full_cycles,
    least_missed,
)
from aidc.derived.problem import compiled
from aidc.derived.solver import HIGHS, Infeasible, Solver, SolverRun, Stopwatch
from aidc.derived.stage import STAGE_TOLERANCE, Ceilings, Goal, Shape, Solution, widened
from aidc.evidence import InputError, Layer, step


def least_cost(case: StorageCase, weights: tuple[CostWeights, ...], solver: Solver) -> Solution:
    """Return the storage of least cost that serves everything.

    Raises
    ------
    InputError
        If there is none: which limit, when, by how much, and what would make it feasible.
    """
    if len(weights) != len(case.technologies):
        raise InputError(
            f"weights: found {len(weights)} for {len(case.technologies)} technologies, "
            "expected one CostWeights each"
        )
    try:
        return compiled(Shape.of(case)).solve(case, Goal.least_cost(weights), Ceilings(), solver)
    except Infeasible:
        raise explain(case, Ceilings(), solver) from None


def calmest(
    case: StorageCase, power_kw: tuple[float, ...], energy_kwh: tuple[float, ...], solver: Solver
) -> Solution:
    """Return the dispatch of least throughput beside storage that is known to suffice."""
    problem = compiled(Shape.of(case))

    def settle(share: float) -> Solution:
        ceilings = Ceilings(
            power_kw=widened(power_kw, share), energy_kwh=widened(energy_kwh, share)
        )
        return problem.solve(case, Goal(throughput=1.0), ceilings, solver)

    return _after_round_off(settle)


def _after_round_off(stage: Callable[[float], Solution]) -> Solution:
    """Solve a stage with the least share by which it may exceed what an earlier one found.

    An answer holds slot by slot up to the solver's tolerance, and these add up.
    """
    for share in ROUND_OFFS[:-1]:
        try:
            return stage(share)
        except Infeasible:
            continue
    return stage(ROUND_OFFS[-1])


@step(Layer.DERIVED)
def size(
    case: StorageCase, weights: tuple[CostWeights, ...], solver: Solver = HIGHS
) -> StoragePlan:
    """Size storage so that every deadline is met, at least weighted cost.

    Two stages: cost first, then, with the storage fixed, least throughput. Without the
    second, throughput and cycles are not unique and may hide charging while discharging.

    Parameters
    ----------
    case : StorageCase
        Load, limits and technologies.
    weights : tuple of CostWeights
        One a technology.
    solver : Solver
        HiGHS or Clarabel, with the seed of its ties.

    Raises
    ------
    InputError
        If the solver is unknown or fails, or no storage suffices.
    """
    watch = Stopwatch()
    sized = least_cost(case, weights, solver)
    calm = calmest(case, sized.power_kw, sized.energy_kwh, solver)
    return plan_of(case, "malleable_lower", sized, calm, watch.run(solver.name))


@step(Layer.DERIVED)
def operate(case: StorageCase, storage: StorageSize, solver: Solver = HIGHS) -> StoragePlan:
    """Operate given storage: least unserved work first, then least throughput.

    Raises
    ------
    InputError
        If storage and technologies differ in number, the solver is unknown or fails, or
        even without any work the limits cannot be kept.
    """
    watch = Stopwatch()
    if len(storage.power_kw) != len(case.technologies):
        raise InputError(
            f"storage: found {len(storage.power_kw)} sizes for {len(case.technologies)} "
            "technologies, expected one each"
        )
    _require_rate(case, storage)
    problem = compiled(Shape.of(case, droppable=True))
    built = Ceilings(power_kw=storage.power_kw, energy_kwh=storage.energy_kwh, exact=True)
    try:
        served = problem.solve(case, Goal(unserved=1.0), built, solver)
    except Infeasible:
        raise explain(case, built, solver, droppable=True) from None

    def settle(share: float) -> Solution:
        (unserved,) = widened((served.dispatch.unserved_kwh,), share)
        return problem.solve(
            case, Goal(throughput=1.0), replace(built, unserved_kwh=unserved), solver
        )

    calm = _after_round_off(settle)
    return plan_of(case, "malleable_lower", served, calm, watch.run(solver.name))


def _require_rate(case: StorageCase, storage: StorageSize) -> None:
    """Refuse a fixed size that its technology cannot have."""
    sizes = zip(case.technologies, storage.power_kw, storage.energy_kwh, strict=True)
    for technology, power, energy in sizes:
        limit = technology.power_to_energy_per_h
        if limit is not None and power > limit * energy * (1 + STAGE_TOLERANCE):
            raise InputError(
                f"storage_power_kw: found {power:g} kW with {energy:g} kWh of {technology.name}, "
                f"expected at most {limit * energy:g} kW (power_to_energy_per_h {limit:g})"
            )


def plan_of(
    case: StorageCase, bound: str, first: Solution, calm: Solution, run: SolverRun
) -> StoragePlan:
    """Return the plan of two stages: what the first found, dispatched as the second."""
    unserved = calm.dispatch.unserved_kwh
    return StoragePlan(
        bound=bound,
        cost=first.cost,
        power_kw=first.power_kw,
        energy_kwh=first.energy_kwh,
        dispatch=calm.dispatch,
        unserved_kwh=unserved,
        missed_jobs=least_missed(case, unserved),
        cycles=full_cycles(case, calm.dispatch, first.energy_kwh),
        cap_dual=first.cap_dual,
        run=run,
    )
