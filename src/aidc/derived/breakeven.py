"""Break-even relative cost of two technologies, exactly.

Parity of capital cost for equal service. No lifetime, no ageing, losses unpriced; it
depends on the ratio of power to energy weight, a setting too. The least cost J of a
technology is concave, piecewise linear and homogeneous in its weights, so the boundary
needs a few linear programmes and no grid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aidc.constructed.setting import declared, number
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.envelope import least_cost, size
from aidc.derived.frontier import Point, corners
from aidc.derived.plan import StoragePlan
from aidc.derived.solver import HIGHS, Solver, SolverRun, Stopwatch
from aidc.derived.stage import Solution
from aidc.evidence import Carrier, InputError, Layer, step

SYSTEM, ENERGY = "system", "energy"
# Relative difference below which two numbers are one.
SAME = 1e-9
CLOSE = 1e-6
MOST_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class BreakEven(Carrier):
    """At which relative cost a challenger equals a reference.

    Attributes
    ----------
    ratio : float
        The challenger's cost over the reference's at parity: below it the challenger is
        cheaper. At most 0: it is never cheaper, whatever its energy costs.
    scaling : str
        ``"system"`` (power and energy cost scale together) or ``"energy"``.
    challenger_kw, challenger_kwh, reference_kw, reference_kwh : float
        Storage of each at parity.
    challenger_regime, reference_regime : str
        ``"rate-limited"`` (the power-to-energy limit sets the energy) or
        ``"energy-limited"``.
    identifiable : bool
        Whether the same storage is optimal for each technology at any weights and both
        need the same power: then the ratio does not depend on what power costs.
    programmes : int
        Linear programmes solved for the ratio.
    run : SolverRun
        What solved them.
    """

    ratio: float
    scaling: str
    challenger_kw: float
    challenger_kwh: float
    reference_kw: float
    reference_kwh: float
    challenger_regime: str
    reference_regime: str
    identifiable: bool
    programmes: int
    run: SolverRun

    @property
    def regime(self) -> str:
        """Both regimes in one phrase."""
        single = "one vertex" if self.identifiable else "vertex depends on the weights"
        return f"challenger {self.challenger_regime}, reference {self.reference_regime}, {single}"


@step(Layer.DERIVED)
def break_even(
    challenger: StorageCase,
    reference: StorageCase,
    weights: CostWeights,
    scaling: str = SYSTEM,
    solver: Solver = HIGHS,
) -> BreakEven:
    """Return the relative cost at which both technologies cost the same.

    Parameters
    ----------
    challenger, reference : StorageCase
        The same load and limits, one technology each.
    weights : CostWeights
        Of the reference; the challenger's are these times the ratio.
    scaling : str
        ``"system"``: ratio = J_reference / J_challenger. ``"energy"``: only the weight
        of energy is scaled, by Newton's method on a concave function, which ends after
        as many steps as vertices are met.
    solver : Solver
        HiGHS or Clarabel, with the seed of its ties.

    Raises
    ------
    InputError
        If a case has two technologies, no storage is needed (nothing to compare), or
        energy has no weight where only energy is scaled.
    """
    if scaling not in (SYSTEM, ENERGY):
        raise InputError(f"scaling: found {scaling!r}, expected 'system' or 'energy'")
    if len(challenger.technologies) != 1 or len(reference.technologies) != 1:
        raise InputError("break-even: expected one technology on each side; see hybrid()")
    sides = Side.of(challenger, weights, solver), Side.of(reference, weights, solver)
    return parity(*sides, weights, scaling, solver)


@dataclass(frozen=True)
class Side:
    """What a technology needs at the reference's weights, and at both ends of its frontier."""

    case: StorageCase
    found: Solution
    ends: tuple[Point, Point]

    @classmethod
    def of(cls, case: StorageCase, weights: CostWeights, solver: Solver) -> Side:
        """Solve a case of one technology."""
        return cls(case, least_cost(case, (weights,), solver), corners(case, solver))


def parity(
    challenger: Side, reference: Side, weights: CostWeights, scaling: str, solver: Solver
) -> BreakEven:
    """Return the relative cost of two sides that are solved: `break_even`."""
    watch, known = Stopwatch(), reference.found
    if scaling == ENERGY and weights.energy == 0:
        raise InputError("weight_energy: found 0, expected above 0 where only energy is scaled")
    if known.cost <= CLOSE:
        raise InputError(
            f"break-even: found no storage needed with slack_min {reference.case.slack_s / 60:g} "
            f"at a cap of {reference.case.cap_kw[0]:g} kW, expected some; lower the supply cap or "
            "the slack"
        )
    if scaling == SYSTEM:
        found, programmes = challenger.found, 2
        ratio = known.cost / found.cost
    else:
        ratio, found, programmes = _energy_only(challenger.case, known.cost, weights, solver)
    return BreakEven(
        ratio=ratio,
        scaling=scaling,
        challenger_kw=found.power_kw[0],
        challenger_kwh=found.energy_kwh[0],
        reference_kw=known.power_kw[0],
        reference_kwh=known.energy_kwh[0],
        challenger_regime=_regime(challenger.case, found),
        reference_regime=_regime(reference.case, known),
        identifiable=_one_vertex(challenger.ends, reference.ends),
        programmes=programmes,
        run=watch.run(solver.name),
    )


def _energy_only(
    case: StorageCase, known: float, weights: CostWeights, solver: Solver
) -> tuple[float, Solution, int]:
    """Return the root of J(c_P, rho c_E) = known, the storage there and the steps."""
    ratio = 1.0
    for steps in range(1, MOST_STEPS + 1):
        found = least_cost(case, (weights.of_energy_scaled(max(ratio, 0.0)),), solver)
        energy = weights.energy * found.energy_kwh[0]
        if energy <= 0:
            raise InputError("break-even: found no energy needed, expected some")
        following = (known - weights.power * found.power_kw[0]) / energy
        if abs(following - ratio) <= SAME * max(1.0, abs(ratio)) or max(following, ratio) <= 0:
            return following, found, steps + 1
        ratio = following
    raise InputError(  # pragma: no cover - a finite number of vertices
        f"break-even: no convergence after {MOST_STEPS} steps; use another solver"
    )


def _regime(case: StorageCase, found: Solution) -> str:
    limit = case.technologies[0].power_to_energy_per_h
    if limit is not None and found.power_kw[0] >= limit * found.energy_kwh[0] * (1 - CLOSE):
        return "rate-limited"
    return "energy-limited"


def _one_vertex(challenger: tuple[Point, Point], reference: tuple[Point, Point]) -> bool:
    """Whether one vertex is the whole frontier of each, at the same power."""
    points = [*challenger, *reference]
    powers = [power for power, _ in points]
    energies = [abs(points[0][1] - points[1][1]), abs(points[2][1] - points[3][1])]
    scale = CLOSE * max(1.0, *powers, *(energy for _, energy in points))
    return max(powers) - min(powers) <= scale and max(energies) <= scale


@dataclass(frozen=True, kw_only=True)
class Integration(Carrier):
    """Extra cost of building two technologies together.

    Attributes
    ----------
    share : float
        Of the hybrid's own storage cost, at least 0.
    """

    share: float = 0.0

    def __post_init__(self) -> None:
        number("integration_cost_share", self.share, "share of the hybrid's storage cost")

    @classmethod
    def of_share(cls, share: float) -> Integration:
        """Return the experimental setting ``integration_cost_share``."""
        return cls(share=share, evidence=declared("integration_cost_share"))


@dataclass(frozen=True, kw_only=True)
class Hybrid(Carrier):
    """Two technologies together against each alone.

    Attributes
    ----------
    plan : StoragePlan
        The hybrid's storage and dispatch, before integration cost.
    hybrid_cost, first_cost, second_cost : float
        Weighted costs; the hybrid's includes integration.
    bearable_share : float
        Integration cost, as a share of the hybrid's storage cost, up to which the hybrid
        is no dearer than the better single technology; 0 if it is that technology.
    cheapest : str
        ``"hybrid"`` or the name of the single technology that costs less.
    """

    plan: StoragePlan
    hybrid_cost: float
    first_cost: float
    second_cost: float
    bearable_share: float
    cheapest: str


@step(Layer.DERIVED)
def hybrid(
    case: StorageCase,
    weights: tuple[CostWeights, CostWeights],
    integration: Integration,
    solver: Solver = HIGHS,
) -> Hybrid:
    """Size two technologies together and compare with each alone.

    Parameters
    ----------
    case : StorageCase
        With two technologies.
    weights : pair of CostWeights
        One a technology.
    integration : Integration
        Extra cost of the hybrid.
    solver : Solver
        HiGHS or Clarabel, with the seed of its ties.

    Raises
    ------
    InputError
        If the case has not two technologies, or needs no storage.
    """
    if len(case.technologies) != 2:
        raise InputError(f"hybrid: found {len(case.technologies)} technologies, expected two")
    plan = size(case, weights, solver)
    if plan.cost <= CLOSE:
        raise InputError("hybrid: found no storage needed in this case, expected some")
    alone = [
        least_cost(replace(case, technologies=(one,)), (weight,), solver).cost
        for one, weight in zip(case.technologies, weights, strict=True)
    ]
    bearable = max(0.0, min(alone) / plan.cost - 1.0)
    cost = plan.cost * (1.0 + integration.share)
    single = case.technologies[alone.index(min(alone))].name
    wins = bearable > CLOSE and cost < min(alone)
    return Hybrid(
        plan=plan,
        hybrid_cost=cost,
        first_cost=alone[0],
        second_cost=alone[1],
        bearable_share=bearable if bearable > CLOSE else 0.0,
        cheapest="hybrid" if wins else single,
    )
