"""Answers without a solver: a load that cannot move, and a lossless one that can.

They hold under narrower assumptions than the model, which they check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aidc.constructed.overlap import Floats
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.evidence import Carrier, InputError, Layer, step

CONVERGED = 1e-12


@dataclass(frozen=True, kw_only=True)
class ClosedForm(Carrier):
    """Storage by a formula.

    Attributes
    ----------
    power_kw, energy_kwh : float
        Needed storage. Of a load that can move, each is the least with the other free.
    """

    power_kw: float
    energy_kwh: float


@dataclass(frozen=True)
class FixedLoad:
    """A load that cannot move, beside one storage (queue recursion).

    The shortfall D below the full level grows with the load above the cap and shrinks
    with what is charged below it; E(P) is its maximum over the usable share.

    Attributes
    ----------
    surplus_kw : array, shape (slots,)
        Load minus cap.
    load_kw : array, shape (slots,)
        The load itself: a reserve carries a share of it.
    case : StorageCase
        Technology, reserve and initial charge.
    """

    surplus_kw: Floats
    load_kw: Floats
    case: StorageCase

    @classmethod
    def of(cls, case: StorageCase) -> FixedLoad:
        """Return the load of a case whose jobs all start at release."""
        horizon = case.horizon
        load = horizon.idle_kw + horizon.arrivals_kwh[: horizon.active] / horizon.step_h
        return cls(load - case.cap_kw[: horizon.active], load, case)

    @property
    def least_power_kw(self) -> float:
        """P below which no energy suffices, kW."""
        reserve = self.case.reserve
        carried = reserve.share * float(self.load_kw.max()) if reserve.required else 0.0
        return max(0.0, float(self.surplus_kw.max()), carried)

    def energy_kwh(self, power_kw: float) -> tuple[float, float]:
        """Return E(P), nominal kWh, and its slope by P (a subgradient, at most 0).

        Two laps give the cyclic level: the second begins where the first ended. They
        cannot see a deficit over the whole horizon, so that is checked first.

        Raises
        ------
        InputError
            If storage of this power cannot recharge what it delivers.
        """
        (technology,) = self.case.technologies
        step_h = self.case.horizon.step_h
        drawn = np.maximum(self.surplus_kw, 0.0) * step_h / technology.eta_discharge
        room = np.maximum(-self.surplus_kw, 0.0)
        charged = np.minimum(room, power_kw) * step_h * technology.eta_charge
        change = drawn - charged
        if self.case.cyclic and change.sum() > CONVERGED * max(1.0, float(drawn.sum())):
            raise InputError(
                f"supply_cap_kw: over the horizon storage of {power_kw:.6g} kW delivers "
                f"{drawn.sum():.6g} kWh and can recharge {charged.sum():.6g} kWh; raise the cap"
            )
        if self.case.cyclic:
            change = np.concatenate([change, change])
        path = np.concatenate([[0.0], np.cumsum(change)])
        shortfall = path - np.minimum.accumulate(path)
        needed = shortfall + self._reserve_kwh(shortfall.size)
        worst = int(np.argmax(needed))
        empty_since = int(np.argmin(path[: worst + 1]))
        limited = np.tile(room > power_kw, 2)[empty_since:worst]
        slope = -float(limited.sum()) * step_h * technology.eta_charge
        usable = technology.soc_max - technology.soc_min
        return float(needed[worst]) / usable, slope / usable

    def _reserve_kwh(self, size: int) -> Floats:
        """Return the energy kept at each boundary, shape (size,)."""
        (technology,) = self.case.technologies
        reserve = self.case.reserve
        if not reserve.required:
            return np.zeros(size)
        kept = reserve.share * reserve.hours / technology.eta_discharge * self.load_kw
        laps = np.tile(kept, 2)[: size - 1]
        at_ends: Floats = np.maximum(np.append(laps, 0.0), np.insert(laps, 0, 0.0))
        return at_ends

    def least_cost(self, weights: CostWeights) -> tuple[float, float]:
        """Return (P, E) of least weighted cost.

        E(P) is convex and piecewise linear. Two tangents meet below it; following their
        meeting point ends at the vertex after finitely many steps.
        """
        (technology,) = self.case.technologies
        low = self._least_feasible()
        high = max(low, float(np.max(-self.surplus_kw, initial=0.0)))
        limit = technology.power_to_energy_per_h

        def cost(power: float) -> tuple[float, float]:
            energy, slope = self.energy_kwh(power)
            if limit is not None and power / limit > energy:
                energy, slope = power / limit, 1.0 / limit
            return (
                weights.power * power + weights.energy * energy,
                weights.power + weights.energy * slope,
            )

        power = _convex_minimum(cost, low, high)
        energy, _ = self.energy_kwh(power)
        return power, max(energy, power / limit if limit is not None else 0.0)

    def _least_feasible(self) -> float:
        """Return the least power that also recharges what it delivers over a lap."""
        low = self.least_power_kw
        if not self.case.cyclic:
            return low
        (technology,) = self.case.technologies
        drawn = float(np.maximum(self.surplus_kw, 0.0).sum()) / technology.eta_discharge
        room = np.sort(np.maximum(-self.surplus_kw, 0.0)) * technology.eta_charge
        if drawn > room.sum() * (1 + CONVERGED):
            self.energy_kwh(math.inf)
        # Recharged at power p: all of the smaller rooms, p of each of the larger ones.
        larger = np.arange(room.size, 0, -1)
        smaller = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        enough = smaller + room * larger >= drawn * (1 - CONVERGED)
        first = int(np.argmax(enough))
        needed = (drawn - smaller[first]) / larger[first] / technology.eta_charge
        return max(low, min(float(needed) * (1 + CONVERGED), float(room[-1]) or low))


def _convex_minimum(cost: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Return where a convex piecewise linear function, given with its slope, is least."""
    left, right = low, high
    (left_cost, left_slope), (right_cost, right_slope) = cost(left), cost(right)
    if left_slope >= 0 or right <= left:
        return left
    while right_slope > 0:
        meet = (right_cost - left_cost + left_slope * left - right_slope * right) / (
            left_slope - right_slope
        )
        value, slope = cost(meet)
        bound = left_cost + left_slope * (meet - left)
        if value <= bound + CONVERGED * max(1.0, abs(value)) or not left < meet < right:
            return meet
        if slope < 0:
            left, left_cost, left_slope = meet, value, slope
        else:
            right, right_cost, right_slope = meet, value, slope
    return right


@step(Layer.DERIVED)
def fixed_storage(case: StorageCase, weights: CostWeights) -> ClosedForm:
    """Return the storage of least cost beside a load that cannot move.

    Raises
    ------
    InputError
        If the case has slack, two technologies, or a deficit over its horizon.
    """
    if case.slack_s > 0 or len(case.technologies) != 1:
        raise InputError(
            f"closed form of a fixed load: found slack {case.slack_s / 60:g} min and "
            f"{len(case.technologies)} technologies, expected 0 and 1"
        )
    power, energy = FixedLoad.of(case).least_cost(weights)
    return ClosedForm(power_kw=power, energy_kwh=energy)


@step(Layer.DERIVED)
def malleable_storage(case: StorageCase) -> ClosedForm:
    """Return least power and least energy of a malleable load, each with the other free.

    With D(b) the work due and A(a) the work released by a slot boundary,

        E* = max over a < b of D(b) - A(a) - C (b - a),
        P* = max over a < b of (D(b) - A(a)) / (b - a) - C,

    both at least 0; for uniform slack s the first is max(0, E*(0) - C s).

    Raises
    ------
    InputError
        Unless storage is lossless and begins full, there is no reserve, no fleet limit,
        and the cap is the same in every slot.
    """
    (technology,) = case.technologies[:1]
    horizon, cap = case.horizon, float(case.cap_kw[0])
    lossless = technology.eta_charge == technology.eta_discharge == 1.0
    whole = technology.soc_min == 0.0 and technology.soc_max == 1.0
    free = technology.power_to_energy_per_h is None and not math.isfinite(horizon.fleet_kw)
    constant = bool(np.all(case.cap_kw == cap)) and len(case.technologies) == 1
    if case.cyclic or case.reserve.required or not (lossless and whole and free and constant):
        raise InputError(
            "closed form of a malleable load: expected one lossless storage that begins full, "
            "no reserve, power or fleet limit and a constant cap; use the model instead"
        )
    margin = cap - horizon.idle_kw
    return ClosedForm(
        power_kw=max(
            0.0, _largest_mean(horizon.due_kwh, horizon.released_kwh, horizon.step_h) - margin
        ),
        energy_kwh=_largest_excess(horizon.due_kwh, horizon.released_kwh, margin * horizon.step_h),
    )


def _largest_excess(due: Floats, released: Floats, per_slot: float) -> float:
    """Return max(0, max over i <= j of due[j] - released[i] - per_slot (j - i))."""
    slots = np.arange(due.size) * per_slot
    return float(np.max(due - slots - np.minimum.accumulate(released - slots), initial=0.0))


def _largest_mean(due: Floats, released: Floats, step_h: float) -> float:
    """Return max over i < j of (due[j] - released[i]) / (t[j] - t[i]), at least 0.

    Dinkelbach's iteration: at a trial mean, find the interval of largest excess; its
    mean is the next trial.
    """
    mean = 0.0
    while True:
        slots = np.arange(due.size) * mean * step_h
        start = released - slots
        gain = due[1:] - slots[1:] - np.minimum.accumulate(start)[:-1]
        end = int(np.argmax(gain)) + 1
        begin = int(np.argmin(start[:end]))
        better = float(due[end] - released[begin]) / ((end - begin) * step_h)
        if better <= mean * (1 + CONVERGED):
            return mean
        mean = better
