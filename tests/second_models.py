"""The same case in PyPSA and in linopy: for a test, and for the benchmark.

Both give (P, E) of one storage with a cyclic state of charge and no reserve.
"""

import logging
import warnings

import numpy as np
import pandas as pd

for chatty in ("pypsa", "linopy"):
    logging.getLogger(chatty).setLevel(logging.ERROR)


def by_pypsa(case, weights):
    """Return (P, E): backlog and storage as stores, one bus each for load and storage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pypsa

        (technology,) = case.technologies
        horizon, active = case.horizon, case.horizon.active
        net = pypsa.Network()
        net.set_snapshots(range(active))
        net.snapshot_weightings = net.snapshot_weightings.astype(float) * horizon.step_h
        for bus in ("site", "work", "cells"):
            net.add("Bus", bus)
        cap = case.cap_kw[:active] - horizon.idle_kw
        net.add("Generator", "supply", bus="site", p_nom=1.0, p_max_pu=cap)
        net.add("Load", "jobs", bus="work", p_set=horizon.arrivals_kwh[:active] / horizon.step_h)
        rate = horizon.rate_kw[:active]
        net.add("Link", "serve", bus0="site", bus1="work", p_nom=1.0, p_max_pu=rate)
        # Backlog: work may be taken ahead of service, and has to be given back in time.
        most = horizon.backlog_kwh[1 : active + 1]
        net.add(
            "Store",
            "backlog",
            bus="work",
            e_nom=1.0,
            e_min_pu=-most,
            e_max_pu=np.zeros(active),
            e_initial=0.0,
        )
        # A link has its power on the side it takes from: discharge draws d / eta from the cells.
        net.add(
            "Link",
            "charge",
            bus0="site",
            bus1="cells",
            efficiency=technology.eta_charge,
            p_nom_extendable=True,
            capital_cost=weights.power,
        )
        net.add(
            "Link",
            "discharge",
            bus0="cells",
            bus1="site",
            efficiency=technology.eta_discharge,
            p_nom_extendable=True,
            capital_cost=0.0,
        )
        span = technology.soc_max - technology.soc_min
        net.add(
            "Store",
            "storage",
            bus="cells",
            e_nom_extendable=True,
            e_cyclic=True,
            capital_cost=weights.energy / span,
        )
        model = net.optimize.create_model()
        sizes = model.variables["Link-p_nom"]
        name = next(d for d in sizes.dims)
        charge, discharge = (sizes.sel({name: n}) for n in ("charge", "discharge"))
        model.add_constraints(technology.eta_discharge * discharge - charge == 0, name="one-power")
        status, _ = net.optimize.solve_model(
            solver_name="highs", progress=False, solver_options={"output_flag": False}
        )
        assert status == "ok"
        return net.links.p_nom_opt["charge"], net.stores.e_nom_opt["storage"] / span


def by_linopy(case, weights):
    """Return (P, E) by the envelope model, written in linopy."""
    import linopy

    (technology,) = case.technologies
    horizon, active = case.horizon, case.horizon.active
    slots, ends = pd.RangeIndex(active, name="slot"), pd.RangeIndex(active, name="slot")
    step_h, span = horizon.step_h, technology.soc_max - technology.soc_min
    model = linopy.Model()
    power, energy = model.add_variables(lower=0, name="P"), model.add_variables(lower=0, name="E")
    charge = model.add_variables(lower=0, coords=[slots], name="charge")
    discharge = model.add_variables(lower=0, coords=[slots], name="discharge")
    serve = model.add_variables(
        lower=0, upper=pd.Series(horizon.rate_kw[:active], slots), name="serve"
    )
    backlog = model.add_variables(
        lower=0, upper=pd.Series(horizon.backlog_kwh[1 : active + 1], ends), name="backlog"
    )
    level = model.add_variables(lower=0, coords=[ends], name="level")
    cap = pd.Series(case.cap_kw[:active] - horizon.idle_kw, slots)
    model.add_constraints(serve + charge - discharge <= cap, name="cap")
    model.add_constraints(serve + charge - discharge >= -horizon.idle_kw, name="import")
    arrivals = pd.Series(horizon.arrivals_kwh[:active], slots)
    before = backlog.roll(slot=1)  # nothing waits at the end, nor at the beginning
    model.add_constraints(backlog - before + step_h * serve == arrivals, name="work")
    inflow = step_h * technology.eta_charge * charge - step_h / technology.eta_discharge * discharge
    model.add_constraints(level - level.roll(slot=1) - inflow == 0, name="cells")
    model.add_constraints(level - span * energy <= 0, name="full")
    model.add_constraints(charge - power <= 0, name="charging")
    model.add_constraints(discharge - power <= 0, name="discharging")
    limit = technology.power_to_energy_per_h
    if limit is not None:
        model.add_constraints(power - limit * energy <= 0, name="rate")
    model.add_objective(weights.power * power + weights.energy * energy)
    status, _ = model.solve(solver_name="highs", io_api="direct", progress=False, output_flag=False)
    assert status == "ok"
    return float(power.solution), float(energy.solution)
