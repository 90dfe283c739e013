"""What is asked of a model in one stage, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aidc.constructed.limits import Reserve
from aidc.constructed.overlap import Floats
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.dispatch import Dispatch

# A later stage may use what an earlier one found and this share more: round-off.
STAGE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Shape:
    """What cannot be a parameter: two cases of one shape share a compiled problem.

    Attributes
    ----------
    slots, step_h, technologies, cyclic, fleet
        Of the case; ``fleet`` says whether there is a limit on concurrent blocks.
    reserve : Reserve or None
        None if nothing has to be kept.
    droppable : bool
        Whether work may remain unserved.
    waiting : bool
        Whether the goal may weigh waiting work.
    elastic : int
        Limits may be exceeded in so many first slots, to learn by how much; 0 is never.
        (No parameter: a vector of them times a variable would make compiling slow.)
    """

    slots: int
    step_h: float
    technologies: int
    cyclic: bool
    reserve: Reserve | None
    fleet: bool
    droppable: bool = False
    waiting: bool = False
    elastic: int = 0

    @classmethod
    def of(
        cls,
        case: StorageCase,
        *,
        droppable: bool = False,
        waiting: bool = False,
        elastic: bool = False,
    ) -> Shape:
        """Return the shape of a case."""
        return cls(
            slots=case.horizon.slots,
            step_h=case.horizon.step_h,
            technologies=len(case.technologies),
            cyclic=case.cyclic,
            reserve=replace(case.reserve, evidence=None) if case.reserve.required else None,
            fleet=math.isfinite(case.horizon.fleet_kw),
            droppable=droppable,
            waiting=waiting,
            elastic=case.horizon.active if elastic else 0,
        )


@dataclass(frozen=True)
class Goal:
    """Objective of one stage: a weight for each thing that is to be small.

    Attributes
    ----------
    power, energy : tuple of float
        Per kW and kWh of each technology; empty is zero.
    throughput, waiting, unserved, cap_short, fleet_short : float
        Per kWh charged or discharged, per kWh waiting at a slot boundary, per kWh
        dropped, per kW above the supply cap and above the fleet.
    """

    power: tuple[float, ...] = ()
    energy: tuple[float, ...] = ()
    throughput: float = 0.0
    waiting: float = 0.0
    unserved: float = 0.0
    cap_short: float = 0.0
    fleet_short: float = 0.0

    @classmethod
    def least_cost(cls, weights: tuple[CostWeights, ...]) -> Goal:
        """Return the goal of a least-cost storage, one weight pair a technology."""
        return cls(
            power=tuple(one.power for one in weights), energy=tuple(one.energy for one in weights)
        )


@dataclass(frozen=True)
class Ceilings:
    """What a stage may use; empty or None is no ceiling.

    Attributes
    ----------
    power_kw, energy_kwh : tuple of float
        Most storage of each technology.
    exact : bool
        Whether exactly that much is built (operation) or at most.
    unserved_kwh : float or None
        Most unserved work.
    cap_short, fleet_short : bool
        Whether an elastic problem may exceed the supply cap and the fleet.
    """

    power_kw: tuple[float, ...] = ()
    energy_kwh: tuple[float, ...] = ()
    exact: bool = False
    unserved_kwh: float | None = None
    cap_short: bool = False
    fleet_short: bool = False


def widened(values: tuple[float, ...], share: float = STAGE_TOLERANCE) -> tuple[float, ...]:
    """Return ceilings that what was found fits under: ``share`` more, and round-off."""
    return tuple(value * (1.0 + share) + share for value in values)


@dataclass(frozen=True)
class Solution:
    """Answer of one stage.

    Attributes
    ----------
    cost : float
        Value of the goal.
    power_kw, energy_kwh : tuple of float
        Storage of each technology.
    dispatch : Dispatch
        What happens in each active slot.
    cap_dual : array, shape (active,)
        How much the cost falls per kW more cap in that slot, at least 0. (cvxpy's sign:
        the sum of the cap's duals is minus the derivative of the cost by the cap.)
    cap_short_kw, fleet_short_kw : float
        By how much an elastic problem exceeds a limit.
    """

    cost: float
    power_kw: tuple[float, ...]
    energy_kwh: tuple[float, ...]
    dispatch: Dispatch
    cap_dual: Floats
    cap_short_kw: float = 0.0
    fleet_short_kw: float = 0.0
