"""Storage for malleable jobs: a job may run at any rate up to its full one.

The envelope of all jobs together is a relaxation: what it needs is a lower bound on what
any schedule needs. `aidc.derived.certificate` checks it job by job.
"""

from __future__ import annotations

from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.diagnosis import explain
from aidc.derived.plan import (
    ROUND_OFF,
    StoragePlan,
    StorageSize,
    full_cycles,
    least_missed,
)
from aidc.derived.problem import compiled
from aidc.derived.solver import Infeasible, SolverRun, Stopwatch, require_solver
from aidc.derived.stage import STAGE_TOLERANCE, Ceilings, Goal, Shape, Solution, widened
from aidc.evidence import InputError, Layer, step


def least_cost(case: StorageCase, weights: tuple[CostWeights, ...], solver: str) -> Solution:
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


@step(Layer.DERIVED)
def size(case: StorageCase, weights: tuple[CostWeights, ...], solver: str = "HIGHS") -> StoragePlan:
    """Size storage so that every deadline is met, at least weighted cost.

    Two stages: cost first, then, with the storage fixed, least throughput. Without the
    second, throughput and cycles are not unique and may hide charging while discharging.

    Parameters
    ----------
    case : StorageCase
        Load, limits and technologies.
    weights : tuple of CostWeights
        One a technology.
    solver : str
        ``"HIGHS"`` or ``"CLARABEL"``.

    Raises
    ------
    InputError
        If the solver is unknown or fails, or no storage suffices.
    """
    chosen, watch = require_solver(solver), Stopwatch()
    sized = least_cost(case, weights, chosen)
    ceilings = Ceilings(
        power_kw=widened(sized.power_kw, ROUND_OFF), energy_kwh=widened(sized.energy_kwh, ROUND_OFF)
    )
    calm = compiled(Shape.of(case)).solve(case, Goal(throughput=1.0), ceilings, chosen)
    return plan_of(case, "malleable_lower", sized, calm, watch.run(chosen))


@step(Layer.DERIVED)
def operate(case: StorageCase, storage: StorageSize, solver: str = "HIGHS") -> StoragePlan:
    """Operate given storage: least unserved work first, then least throughput.

    Raises
    ------
    InputError
        If storage and technologies differ in number, the solver is unknown or fails, or
        even without any work the limits cannot be kept.
    """
    chosen, watch = require_solver(solver), Stopwatch()
    if len(storage.power_kw) != len(case.technologies):
        raise InputError(
            f"storage: found {len(storage.power_kw)} sizes for {len(case.technologies)} "
            "technologies, expected one each"
        )
    _require_rate(case, storage)
    problem = compiled(Shape.of(case, droppable=True))
    built = Ceilings(power_kw=storage.power_kw, energy_kwh=storage.energy_kwh, exact=True)
    try:
        served = problem.solve(case, Goal(unserved=1.0), built, chosen)
    except Infeasible:
        raise explain(case, built, chosen, droppable=True) from None
    (unserved,) = widened((served.dispatch.unserved_kwh,), ROUND_OFF)
    settled = Ceilings(
        power_kw=storage.power_kw,
        energy_kwh=storage.energy_kwh,
        exact=True,
        unserved_kwh=unserved,
    )
    calm = problem.solve(case, Goal(throughput=1.0), settled, chosen)
    return plan_of(case, "malleable_lower", served, calm, watch.run(chosen))


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
