"""The envelope model as one compiled problem.

Every number of a case enters as a parameter (cvxpy's disciplined parametrised
programming), so a scan compiles once. What keeps it fast: states with a recursion instead
of cumulative sums, stored energy counted from the least state of charge (which makes one
of its limits a bound), bounds as attributes of the variables. The supply cap is a
constraint, because its dual is wanted; so are limits of variables that a parameter
multiplies, because cvxpy counts a variable with a parametrised bound as a parameter.
"""

from __future__ import annotations

from functools import lru_cache

import cvxpy as cp
import numpy as np

from aidc.constructed.limits import Reserve
from aidc.constructed.overlap import Floats
from aidc.constructed.technology import Technology
from aidc.derived.case import StorageCase
from aidc.derived.dispatch import Dispatch
from aidc.derived.solver import Solver, solve
from aidc.derived.stage import Ceilings, Goal, Shape, Solution


def _scalar() -> cp.Parameter:
    return cp.Parameter(nonneg=True)


class _Storage:
    """Variables, parameters and constraints of one technology."""

    def __init__(self, slots: int, *, cyclic: bool) -> None:
        self.step_in, self.step_out = _scalar(), _scalar()
        self.span, self.hours = _scalar(), _scalar()
        self.delivered = _scalar()
        # Power and energy are one vector: each constraint costs compiling time.
        self.least, self.most = cp.Parameter(2, nonneg=True), cp.Parameter(2, nonneg=True)
        self.weights = cp.Parameter(2, nonneg=True)
        self.size = cp.Variable(2, bounds=[0, None])
        self.power, self.energy = self.size[0], self.size[1]
        self.charge = cp.Variable(slots, bounds=[0, None])
        self.discharge = cp.Variable(slots, bounds=[0, None])
        self.usable = cp.Variable(slots + 1, bounds=[0, None])
        # 1 / eta is a parameter of its own: a division by one would not stay linear.
        inflow = self.step_in * self.charge - self.step_out * self.discharge
        full = self.span * self.energy
        self.constraints = [
            self.charge <= self.power,
            self.discharge <= self.power,
            self.usable[1:] - self.usable[:-1] == inflow,
            self.usable <= full,
            self.usable[0] == (self.usable[slots] if cyclic else full),
            self.hours * self.power <= self.energy,
            self.least <= self.size,
            self.size <= self.most,
        ]

    @property
    def cost(self) -> cp.Expression:
        cost: cp.Expression = self.weights @ self.size
        return cost

    def set_technology(self, technology: Technology, step_h: float) -> None:
        limit = technology.power_to_energy_per_h
        self.step_in.value = step_h * technology.eta_charge
        self.step_out.value = step_h / technology.eta_discharge
        self.span.value = technology.soc_max - technology.soc_min
        self.hours.value = 0.0 if limit is None else 1.0 / limit
        self.delivered.value = technology.eta_discharge


class StorageProblem:
    """A compiled problem of one shape; `solve` sets its parameters and reads the answer."""

    def __init__(self, shape: Shape) -> None:
        slots = shape.slots
        self.shape = shape
        self.storages = [_Storage(slots, cyclic=shape.cyclic) for _ in range(shape.technologies)]
        self.arrivals = cp.Parameter(slots, nonneg=True)
        self.backlog_most = cp.Parameter(slots + 1, nonneg=True)
        self.rate_most = cp.Parameter(slots, nonneg=True)
        self.headroom = cp.Parameter(slots)
        self.idle, self.fleet = _scalar(), _scalar()
        self.weights = {"throughput": _scalar()}
        self.serve = cp.Variable(slots, bounds=[0, self.rate_most])
        self.backlog = cp.Variable(slots + 1, bounds=[0, self.backlog_most])
        self.constraints: list[cp.Constraint] = []
        for one in self.storages:
            self.constraints += one.constraints
        left = self.arrivals - shape.step_h * self.serve
        if shape.droppable:
            left = left - self._droppable()
        self.constraints.append(self.backlog[1:] - self.backlog[:-1] == left)
        self._limits()
        if shape.reserve is not None:
            self._keep(shape.reserve)
        cost = self._cost()
        self.problem = cp.Problem(cp.Minimize(cost), self.constraints)

    def _droppable(self) -> cp.Variable:
        self.dropped = cp.Variable(self.shape.slots, bounds=[0, None])
        self.unserved = cp.Variable()
        self.unserved_most = _scalar()
        self.weights["unserved"] = _scalar()
        self.constraints += [
            self.unserved == self.dropped.sum(),
            self.unserved <= self.unserved_most,
        ]
        return self.dropped

    def _limits(self) -> None:
        exchange = sum(one.charge - one.discharge for one in self.storages)
        headroom, fleet = self.headroom, self.fleet
        if self.shape.elastic:
            self.cap_short, self.fleet_short = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
            self.cap_short_most, self.fleet_short_most = _scalar(), _scalar()
            self.weights |= {"cap_short": _scalar(), "fleet_short": _scalar()}
            self.constraints += [
                self.cap_short <= self.cap_short_most,
                self.fleet_short <= self.fleet_short_most,
            ]
            counts = np.arange(self.shape.slots) < self.shape.elastic
            headroom = headroom + counts * self.cap_short
            fleet = fleet + self.fleet_short
        self.cap = self.serve + exchange <= headroom
        self.constraints += [self.cap, self.serve + exchange >= -self.idle]
        if self.shape.fleet:
            self.constraints.append(self.serve <= fleet)

    def _keep(self, reserve: Reserve) -> None:
        """An outage may begin at either end of a slot and find that slot's load running."""
        carried = reserve.share * (self.serve + self.idle)
        kept = sum(one.delivered * one.usable for one in self.storages)
        self.constraints += [
            kept[:-1] >= reserve.hours * carried,
            kept[1:] >= reserve.hours * carried,
            carried <= sum(one.power for one in self.storages),
        ]

    def _cost(self) -> cp.Expression:
        moved = sum((one.charge + one.discharge).sum() for one in self.storages)
        cost = self.weights["throughput"] * moved
        if self.shape.waiting:
            # A variable of its own, as the backlog's bounds are parameters.
            waiting, self.weights["waiting"] = cp.Variable(), _scalar()
            self.constraints.append(waiting == self.backlog.sum())
            cost += self.weights["waiting"] * waiting
        if self.shape.droppable:
            cost += self.weights["unserved"] * self.unserved
        if self.shape.elastic:
            cost += self.weights["cap_short"] * self.cap_short
            cost += self.weights["fleet_short"] * self.fleet_short
        total: cp.Expression = cost + sum(one.cost for one in self.storages)
        return total

    def solve(self, case: StorageCase, goal: Goal, ceilings: Ceilings, solver: Solver) -> Solution:
        """Solve one stage of a case.

        Raises
        ------
        Infeasible
            If no schedule satisfies all constraints.
        InputError
            For any other status than optimal.
        """
        self._set_case(case)
        self._set_stage(case, goal, ceilings)
        solve(self.problem, solver)
        return self._read(case)

    def _set_case(self, case: StorageCase) -> None:
        horizon = case.horizon
        on = np.arange(horizon.slots) < horizon.active
        self.arrivals.value = horizon.arrivals_kwh
        self.backlog_most.value = horizon.backlog_kwh
        self.rate_most.value = horizon.rate_kw
        # Without headroom nothing is charged in the padding.
        self.headroom.value = np.where(on, case.cap_kw - horizon.idle_kw, 0.0)
        self.idle.value = horizon.idle_kw
        self.fleet.value = horizon.fleet_kw if self.shape.fleet else 0.0
        for one, technology in zip(self.storages, case.technologies, strict=True):
            one.set_technology(technology, horizon.step_h)

    def _set_stage(self, case: StorageCase, goal: Goal, ceilings: Ceilings) -> None:
        most_kw, most_kwh = _generous(case)
        for name, parameter in self.weights.items():
            scale = case.horizon.step_h if name == "throughput" else 1.0
            parameter.value = getattr(goal, name) * scale
        count = len(self.storages)
        power = ceilings.power_kw or (most_kw,) * count
        energy = ceilings.energy_kwh or (most_kwh,) * count
        for index, one in enumerate(self.storages):
            one.most.value = np.array([power[index], energy[index]])
            one.least.value = one.most.value * ceilings.exact
            priced = (goal.power[index], goal.energy[index]) if goal.power else (0.0, 0.0)
            one.weights.value = np.array(priced)
        if self.shape.elastic:
            self.cap_short_most.value = most_kw if ceilings.cap_short else 0.0
            self.fleet_short_most.value = most_kw if ceilings.fleet_short else 0.0
        if self.shape.droppable:
            given = ceilings.unserved_kwh
            self.unserved_most.value = 2.0 * case.horizon.work_kwh if given is None else given

    def _read(self, case: StorageCase) -> Solution:
        dispatch = Dispatch.of(
            case,
            serve_kw=_value(self.serve),
            charge_kw=np.array([_value(one.charge) for one in self.storages]),
            discharge_kw=np.array([_value(one.discharge) for one in self.storages]),
            first_kwh=np.array([_value(one.usable)[0] for one in self.storages]),
            dropped_kwh=_value(self.dropped) if self.shape.droppable else None,
        )
        elastic = self.shape.elastic > 0
        return Solution(
            cost=float(_value(self.problem)),
            power_kw=tuple(max(0.0, float(_value(one.size)[0])) for one in self.storages),
            energy_kwh=tuple(max(0.0, float(_value(one.size)[1])) for one in self.storages),
            dispatch=dispatch,
            cap_dual=np.asarray(self.cap.dual_value, np.float64)[: case.horizon.active],
            cap_short_kw=float(_value(self.cap_short)) if elastic else 0.0,
            fleet_short_kw=float(_value(self.fleet_short)) if elastic else 0.0,
        )


def _value(solved: cp.Variable | cp.Problem) -> Floats:
    return np.asarray(solved.value, np.float64)


def _generous(case: StorageCase) -> tuple[float, float]:
    """Return a power and an energy that no sensible storage exceeds: finite, never binding."""
    horizon = case.horizon
    load = horizon.idle_kw + float(horizon.rate_kw.max(initial=0.0))
    power = 2.0 * (load + float(np.max(case.cap_kw)) + 1.0)
    usable = min(one.usable_share for one in case.technologies)
    moved = horizon.work_kwh + horizon.idle_kw * horizon.active * horizon.step_h
    limits = [one.power_to_energy_per_h for one in case.technologies]
    slowest = min((limit for limit in limits if limit is not None), default=1.0)
    return power, 2.0 * (moved + power * case.reserve.hours) / usable + power / slowest


@lru_cache(maxsize=4)
def compiled(shape: Shape) -> StorageProblem:
    """Return the compiled problem of a shape; the last few are kept."""
    return StorageProblem(shape)
