"""Every bound on the storage of a case, side by side, and one table of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from aidc.constructed.limits import Reserve
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.case import StorageCase
from aidc.derived.certificate import certify
from aidc.derived.closed_form import malleable_storage
from aidc.derived.envelope import size
from aidc.derived.plan import StoragePlan
from aidc.derived.rigid import MALLEABLE, ON_OFF, RIGID, Flexibility, interruptible, size_jobs
from aidc.derived.solver import HIGHS, Solver, SolverRun, Stopwatch
from aidc.evidence import Carrier, Layer, step

CLOSED_FORM = "closed_form"
BOUNDS = (
    CLOSED_FORM,
    "malleable_lower",
    "malleable_certified",
    "on_off_lower",
    "on_off_feasible",
    "rigid_lower",
    "rigid_feasible",
)
COLUMNS = (
    "slack_min",
    "supply_cap_kw",
    "bound",
    "power_kw",
    "energy_kwh",
    "unserved_kwh",
    "missed_jobs",
    "throughput_kwh",
    "equivalent_full_cycles",
    "status",
    "solver",
    "seconds",
)
# The bound from above of each class of jobs.
UPPER = {
    MALLEABLE: "malleable_certified",
    ON_OFF: "on_off_feasible",
    RIGID: "rigid_feasible",
}
_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class Bound:
    """One answer: how much storage, and what it leaves undone."""

    power_kw: float
    energy_kwh: float
    unserved_kwh: float
    missed_jobs: int
    throughput_kwh: float
    equivalent_full_cycles: float
    cost: float
    cap_price: float
    run: SolverRun

    @classmethod
    def of(cls, plan: StoragePlan) -> Bound:
        """Return a plan for one technology without its schedule."""
        return cls(
            power_kw=plan.power_kw[0],
            energy_kwh=plan.energy_kwh[0],
            unserved_kwh=plan.unserved_kwh,
            missed_jobs=plan.missed_jobs,
            throughput_kwh=plan.throughput_kwh,
            equivalent_full_cycles=plan.cycles[0],
            cost=plan.cost,
            cap_price=plan.cap_price,
            run=plan.run,
        )

    def without_schedule(self) -> Bound:
        """Return a bound that no schedule stands behind: what it would move is unknown."""
        return replace(self, throughput_kwh=math.nan, equivalent_full_cycles=math.nan)


@dataclass(frozen=True, kw_only=True)
class Sizing(Carrier):
    """All bounds of one case.

    Attributes
    ----------
    slack_min, supply_cap_kw : float
        Of the case.
    weights : CostWeights
        What 1 kW and 1 kWh weigh. Only the weighted cost of bounds has an order: a larger
        cost may come with less energy.
    bounds : dict of str to Bound
        By name, in the order of `BOUNDS`; those that were asked for.
    """

    slack_min: float
    supply_cap_kw: float
    weights: CostWeights
    bounds: dict[str, Bound]


@dataclass(frozen=True, kw_only=True)
class SizingTable(Carrier):
    """Bounds of several cases.

    Attributes
    ----------
    frame : DataFrame
        `COLUMNS`, one row a case and bound. ``missed_jobs`` is the least possible count for
        malleable jobs, and that of the schedule found for the others.
    costs : DataFrame
        ``slack_min``, ``supply_cap_kw``, ``flexibility``, ``lower_cost``, ``upper_cost``,
        ``gap``: between what weighted cost the least storage lies, and their relative
        distance.
    prices : DataFrame
        ``slack_min``, ``supply_cap_kw``, ``shadow_price_per_kw``: by how much the weighted
        cost of ``malleable_lower`` falls per kW of additional cap.
    """

    frame: pd.DataFrame
    costs: pd.DataFrame
    prices: pd.DataFrame
    weights: CostWeights


@step(Layer.DERIVED)
def size_case(
    case: StorageCase,
    weights: CostWeights,
    flexibilities: tuple[Flexibility, ...],
    solver: Solver = HIGHS,
    time_limit_s: float = 60.0,
    shorter: Sizing | None = None,
) -> Sizing:
    """Size storage by every bound.

    Parameters
    ----------
    case : StorageCase
        With one technology, made from jobs.
    weights : CostWeights
        What 1 kW and 1 kWh weigh.
    flexibilities : tuple of Flexibility
        Classes of jobs; the closed form and the envelope are always there.
    solver : str
        For malleable jobs.
    time_limit_s : float
        Most time for each schedule of whole jobs, s.
    shorter : Sizing, optional
        The same case with less slack: a schedule that keeps it keeps this one too, so no
        upper bound may be worse.

    Raises
    ------
    InputError
        If no storage suffices, or a solver fails.
    """
    rules = {one.rule: one for one in flexibilities}
    bounds = {CLOSED_FORM: closed_bound(case, weights)}
    lower = size(case, (weights,), solver)
    bounds["malleable_lower"] = Bound.of(lower)
    jobs = {
        rule: size_jobs(case, weights, rules[rule], time_limit_s, solver.seed)
        for rule in (RIGID, ON_OFF)
        if rule in rules
    }
    if len(jobs) == 2:
        jobs[ON_OFF] = interruptible(jobs[ON_OFF], jobs[RIGID])
    for rule, found in jobs.items():
        bounds[f"{rule}_lower"] = Bound.of(found.lower).without_schedule()
        bounds[f"{rule}_feasible"] = Bound.of(found.feasible)
    if MALLEABLE in rules:
        bounds["malleable_certified"] = Bound.of(certify(case, lower, solver, weights=(weights,)))
    _carry_over(bounds, shorter)
    return Sizing(
        slack_min=case.slack_s / _SECONDS_PER_MINUTE,
        supply_cap_kw=float(case.cap_kw[0]),
        weights=weights,
        bounds={name: bounds[name] for name in BOUNDS if name in bounds},
    )


def _carry_over(bounds: dict[str, Bound], shorter: Sizing | None) -> None:
    """Improve upper bounds by what suffices for a stricter class, or for less slack."""
    stricter: Bound | None = None
    for name in ("rigid_feasible", "on_off_feasible", "malleable_certified"):
        if name not in bounds:
            continue
        own = bounds[name]
        known = [own, stricter, shorter.bounds.get(name) if shorter else None]
        whole = [bound for bound in known if bound is not None and bound.missed_jobs == 0]
        if not whole:
            continue
        # The first of equals: its own schedule rather than another's.
        stricter = min(whole, key=lambda bound: bound.cost)
        if stricter is not own:
            # What was the least elsewhere is only known to suffice here.
            stricter = replace(stricter, run=replace(stricter.run, status="feasible"))
        bounds[name] = stricter


def closed_bound(case: StorageCase, weights: CostWeights) -> Bound:
    """Return what a formula says at once about malleable jobs.

    Power and energy are each the least with the other free. For a lossless storage that
    begins full they are exact where no job's own rate binds; else they are lower bounds,
    because every loss, window, reserve or fleet limit only adds to them.
    """
    watch = Stopwatch()
    (technology,) = case.technologies
    ideal = replace(
        case,
        horizon=replace(case.horizon, fleet_kw=math.inf),
        technologies=(Technology.of(),),
        reserve=Reserve.of_minutes(0),
        cyclic=False,
    )
    found = malleable_storage(ideal)
    limit = technology.power_to_energy_per_h
    rated = found.power_kw / limit if limit is not None else 0.0
    energy = max(found.energy_kwh / technology.usable_share, rated)
    return Bound(
        power_kw=found.power_kw,
        energy_kwh=energy,
        unserved_kwh=0.0,
        missed_jobs=0,
        throughput_kwh=math.nan,
        equivalent_full_cycles=math.nan,
        cost=weights.power * found.power_kw + weights.energy * energy,
        cap_price=math.nan,
        run=SolverRun("formula", "", "closed form", watch.run(HIGHS.name).seconds),
    )


@step(Layer.DERIVED)
def sizing_table(sizings: tuple[Sizing, ...]) -> SizingTable:
    """Collect the bounds of several cases of the same weights."""
    rows = [
        _row(sizing, name, bound) for sizing in sizings for name, bound in sizing.bounds.items()
    ]
    prices = pd.DataFrame(
        {
            "slack_min": [one.slack_min for one in sizings],
            "supply_cap_kw": [one.supply_cap_kw for one in sizings],
            "shadow_price_per_kw": [one.bounds["malleable_lower"].cap_price for one in sizings],
        }
    )
    costs = [row for sizing in sizings for row in _cost_rows(sizing)]
    return SizingTable(
        frame=pd.DataFrame(rows, columns=list(COLUMNS)),
        costs=pd.DataFrame(costs),
        prices=prices,
        weights=sizings[0].weights,
    )


def _cost_rows(sizing: Sizing) -> Iterator[dict[str, object]]:
    for rule, upper_name in UPPER.items():
        upper = sizing.bounds.get(upper_name)
        if upper is None:
            continue
        lower = sizing.bounds[f"{rule}_lower"].cost
        proven = upper.missed_jobs == 0
        yield {
            "slack_min": sizing.slack_min,
            "supply_cap_kw": sizing.supply_cap_kw,
            "flexibility": rule,
            "lower_cost": round(lower, 6),
            "upper_cost": round(upper.cost, 6) if proven else math.nan,
            "gap": _gap(lower, upper.cost) if proven else math.nan,
        }


def _gap(lower: float, upper: float) -> float:
    return round(max(0.0, upper - lower) / upper, 4) if upper > 0 else 0.0


def _row(sizing: Sizing, name: str, bound: Bound) -> tuple[object, ...]:
    clean = np.round(
        [bound.power_kw, bound.energy_kwh, bound.unserved_kwh, bound.throughput_kwh], 6
    )
    power, energy, unserved, throughput = (float(value) + 0.0 for value in clean)
    return (
        sizing.slack_min,
        sizing.supply_cap_kw,
        name,
        power,
        energy,
        unserved,
        bound.missed_jobs,
        throughput,
        round(bound.equivalent_full_cycles, 6),
        bound.run.status,
        bound.run.solver,
        round(bound.run.seconds, 3),
    )
