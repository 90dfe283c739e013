"""All storage that suffices: the frontier of power and energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aidc.constructed.overlap import Floats
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.envelope import least_cost
from aidc.derived.problem import compiled
from aidc.derived.solver import HIGHS, Solver, SolverRun, Stopwatch
from aidc.derived.stage import Ceilings, Goal, Shape, widened
from aidc.evidence import Carrier, InputError, Layer, step

# Vertices closer than this share of the frontier's extent are one.
RESOLUTION = 1e-6

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Frontier(Carrier):
    """Vertices of the set of sufficient storage, by increasing power.

    Between two vertices the frontier is a straight line; beyond the last, more power
    saves no energy.

    Attributes
    ----------
    power_kw, energy_kwh : array, shape (n,)
        Vertices.
    run : SolverRun
        What solved it.
    """

    power_kw: Floats
    energy_kwh: Floats
    run: SolverRun

    def cost(self, weights: CostWeights) -> float:
        """Return the least weighted cost over the vertices."""
        return float(np.min(weights.power * self.power_kw + weights.energy * self.energy_kwh))


@step(Layer.DERIVED)
def frontier(case: StorageCase, solver: Solver = HIGHS) -> Frontier:
    """Return every vertex of the frontier between least power and least energy.

    The frontier is convex and piecewise linear, so a cost with the slope of a chord
    either finds a vertex below it or proves that it is an edge.

    Raises
    ------
    InputError
        If the case has two technologies, no storage suffices, or the solver fails.
    """
    watch = Stopwatch()
    if len(case.technologies) != 1:
        raise InputError(
            f"frontier: found {len(case.technologies)} technologies, expected one; "
            "a hybrid has four dimensions"
        )
    first, last = corners(case, solver)
    vertices = (
        [first] if _same(first, last, last) else [first, *_between(case, first, last, solver)]
    )
    power, energy = np.array(vertices).T
    return Frontier(power_kw=power, energy_kwh=energy, run=watch.run(solver.name))


def corners(case: StorageCase, solver: Solver) -> tuple[Point, Point]:
    """Return the storage of least power (then least energy), and the other way round."""
    power_only, energy_only = (CostWeights(power=1, energy=0),), (CostWeights(power=0, energy=1),)
    power = least_cost(case, power_only, solver).power_kw
    energy = least_cost(case, energy_only, solver).energy_kwh
    problem = compiled(Shape.of(case))
    narrow = problem.solve(
        case, Goal.least_cost(energy_only), Ceilings(power_kw=widened(power)), solver
    )
    small = problem.solve(
        case, Goal.least_cost(power_only), Ceilings(energy_kwh=widened(energy)), solver
    )
    return (power[0], narrow.energy_kwh[0]), (small.power_kw[0], energy[0])


def _same(one: Point, other: Point, extent: Point) -> bool:
    return all(
        abs(a - b) <= RESOLUTION * max(1.0, abs(size))
        for a, b, size in zip(one, other, extent, strict=True)
    )


def _between(case: StorageCase, left: Point, right: Point, solver: Solver) -> list[Point]:
    """Return the vertices after ``left`` up to ``right``, included."""
    weights = CostWeights(power=left[1] - right[1], energy=right[0] - left[0])
    chord = weights.power * left[0] + weights.energy * left[1]
    found = least_cost(case, (weights,), solver)
    point = (found.power_kw[0], found.energy_kwh[0])
    if (
        found.cost >= chord * (1 - RESOLUTION)
        or _same(point, left, right)
        or _same(point, right, right)
    ):
        return [right]
    return _between(case, left, point, solver) + _between(case, point, right, solver)
