"""PyPSA as an independent model of the same case (optional)."""

import warnings

import numpy as np
import pytest

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.envelope import size
from aidc.derived.solver import silence_highs

pytest.importorskip("pypsa", reason="needs the extra 'oracle'")


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
            "Store", "backlog", bus="work", e_nom=1.0, e_min_pu=-most, e_max_pu=np.zeros(active),
            e_initial=0.0,
        )
        # A link has its power on the side it takes from: discharge draws d / eta from the cells.
        net.add("Link", "charge", bus0="site", bus1="cells", efficiency=technology.eta_charge,
                p_nom_extendable=True, capital_cost=weights.power)
        net.add("Link", "discharge", bus0="cells", bus1="site", efficiency=technology.eta_discharge,
                p_nom_extendable=True, capital_cost=0.0)
        span = technology.soc_max - technology.soc_min
        net.add("Store", "storage", bus="cells", e_nom_extendable=True, e_cyclic=True,
                capital_cost=weights.energy / span)
        model = net.optimize.create_model()
        sizes = model.variables["Link-p_nom"]
        name = next(d for d in sizes.dims)
        charge, discharge = (sizes.sel({name: n}) for n in ("charge", "discharge"))
        model.add_constraints(technology.eta_discharge * discharge - charge == 0, name="one-power")
        status, _ = net.optimize.solve_model(
            solver_name="highs", solver_options={"output_flag": False}
        )
        assert status == "ok"
        return net.links.p_nom_opt["charge"], net.stores.e_nom_opt["storage"] / span


@pytest.mark.parametrize("slack_min", [0.0, 30.0, 120.0])
def test_o10_pypsa_gives_the_same_storage(drawn, slack_min):
    silence_highs()
    technology = Technology.of(eta_charge=0.95, eta_discharge=0.93, soc_min=0.1, soc_max=0.9)
    case, weights = drawn(slack_min, technology=technology), CostWeights.of(1.7, 1.0)
    plan = size(case, (weights,))
    power, energy = by_pypsa(case, weights)
    assert weights.power * power + energy == pytest.approx(plan.cost, abs=5e-4)
    assert (power, energy) == pytest.approx((plan.power_kw[0], plan.energy_kwh[0]), abs=5e-4)
