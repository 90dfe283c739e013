"""Why nothing is feasible: which limit, when, by how much, and what would help."""

from __future__ import annotations

import math

import numpy as np

from aidc.derived.case import StorageCase
from aidc.derived.problem import compiled
from aidc.derived.solver import Infeasible, Solver
from aidc.derived.stage import Ceilings, Goal, Shape, Solution
from aidc.evidence import InputError

# Below this a shortage is round-off, kW.
NOTHING_KW = 1e-5


def explain(
    case: StorageCase, ceilings: Ceilings, solver: Solver, *, droppable: bool = False
) -> InputError:
    """Return the error that explains an infeasible case.

    The model is solved again with limits that may be exceeded: first the fleet alone,
    then the supply cap, each by as little as possible.
    """
    shape = Shape.of(case, droppable=droppable, elastic=True)
    if math.isfinite(case.horizon.fleet_kw):
        fleet = _least(case, shape, Goal(fleet_short=1.0), ceilings, solver)
        if fleet is None or fleet.fleet_short_kw > NOTHING_KW:
            return _fleet_error(case, fleet)
    short = _least(case, shape, Goal(cap_short=1.0), ceilings, solver)
    if short is None:
        return InputError(
            "the storage given can keep neither its reserve nor its own limits at any supply cap; "
            "raise storage_power_kw or storage_energy_kwh, or lower reserve_min"
        )
    if short.cap_short_kw <= NOTHING_KW:
        return InputError(
            "flexibility: jobs that may run at any rate fit these limits, but no schedule of "
            "on/off or rigid jobs was found; allow more slack_min, fleet_blocks or time_limit_s"
        )
    return _cap_error(case, short, fixed=ceilings.exact)


def _least(
    case: StorageCase, shape: Shape, goal: Goal, ceilings: Ceilings, solver: Solver
) -> Solution | None:
    """Return the least violation of one limit; the fleet's may come with any of the cap."""
    relaxed = Ceilings(
        power_kw=ceilings.power_kw,
        energy_kwh=ceilings.energy_kwh,
        exact=ceilings.exact,
        cap_short=True,
        fleet_short=goal.fleet_short > 0,
    )
    try:
        return compiled(shape).solve(case, goal, relaxed, solver)
    except Infeasible:
        return None


def _fleet_error(case: StorageCase, fleet: Solution | None) -> InputError:
    load = case.require_jobs()
    blocks = load.fleet_blocks or 0.0
    busiest = int(np.argmax(load.running_blocks))
    more = 0.0 if fleet is None else fleet.fleet_short_kw / load.kw_per_block
    return InputError(
        f"fleet_blocks: found {blocks:g}, but {more:.6g} blocks more are needed to meet every "
        f"deadline (most run at {case.time(busiest)}: {load.running_blocks[busiest]:.6g} without "
        f"slack); raise fleet_blocks to at least {blocks + more:.6g} or allow more slack_min"
    )


def _cap_error(case: StorageCase, short: Solution, *, fixed: bool) -> InputError:
    horizon, active = case.horizon, case.horizon.active
    cap = float(case.cap_kw[0])
    binding = np.flatnonzero(short.cap_dual > 1e-3 * short.cap_dual.max(initial=0.0))
    first, last = (int(binding[0]), int(binding[-1])) if binding.size else (0, active - 1)
    load = horizon.idle_kw + horizon.arrivals_kwh[:active] / horizon.step_h
    worst = first + int(np.argmax(load[first : last + 1]))
    helps = "allow more slack_min" + (", or give more storage" if fixed else "")
    if not fixed and case.cyclic and last > first:
        helps = "no storage or slack makes up for a deficit over the whole horizon"
    enough = cap + short.cap_short_kw
    found, wanted = f"supply_cap_kw: found {cap:.6g} kW", f"{enough:.6g} kW"
    if case.cap_share is not None:
        found = f"supply_cap_share: found {case.cap_share:g}, a cap of {cap:.6g} kW"
        wanted = f"{math.ceil(1e4 * case.cap_share * enough / cap) / 1e4:g} ({wanted})"
    return InputError(
        f"{found}, which is {short.cap_short_kw:.6g} kW short from {case.time(first)} to "
        f"{case.time(last + 1)} (highest load {load[worst]:.6g} kW at {case.time(worst)}); raise "
        f"it to at least {wanted}; {helps}"
    )
