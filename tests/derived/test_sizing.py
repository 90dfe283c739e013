"""Bounds side by side: their order, their reuse, and their table."""

from itertools import pairwise

import numpy as np
import pytest

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.breakeven import Integration
from aidc.derived.envelope import operate, size
from aidc.derived.plan import StorageSize, job_kwh
from aidc.derived.rigid import Flexibility, operate_jobs
from aidc.derived.scan import break_even_scan, hybrid_scan, slowest
from aidc.derived.schedule import schedule_row, schedule_table
from aidc.derived.sizing import BOUNDS, COLUMNS, size_case, sizing_table

EVEN = CostWeights.of(1.0, 1.0)
ALL = tuple(Flexibility.of(rule) for rule in ("malleable", "on_off", "rigid"))
ROWS = [(0, 2, 90), (0.5, 1, 60), (1, 3, 40), (3, 1, 120), (6, 2, 80)]
LOSSY = Technology.of(eta_charge=0.9, eta_discharge=0.9, soc_min=0.1, power_to_energy_per_h=0.8)


@pytest.fixture(scope="module")
def sizings(job_case):
    found, shorter = [], None
    for slack_h in (0, 1, 2, 4):
        case = job_case(ROWS, hours=24, slack_h=slack_h, cap=90, technology=LOSSY, initial="cyclic")
        shorter = size_case(case, EVEN, ALL, shorter=shorter)
        found.append(shorter)
    return tuple(found)


def test_bounds_are_in_order(sizings):
    for one in sizings:
        cost = {name: bound.cost for name, bound in one.bounds.items()}
        assert list(cost) == list(BOUNDS)
        assert cost["closed_form"] <= cost["malleable_lower"] + 1e-6
        assert cost["malleable_lower"] <= cost["malleable_certified"] + 1e-6
        assert cost["malleable_certified"] <= cost["on_off_feasible"] + 1e-6
        assert cost["on_off_feasible"] <= cost["rigid_feasible"] + 1e-6
        for rule in ("on_off", "rigid"):
            assert cost[f"{rule}_lower"] <= cost[f"{rule}_feasible"] + 1e-6


def test_more_slack_never_needs_more(sizings):
    for before, after in pairwise(sizings):
        for name in BOUNDS:
            assert after.bounds[name].cost <= before.bounds[name].cost + 1e-6


def test_the_table_has_a_row_a_case_and_bound(sizings):
    table = sizing_table(sizings)
    assert tuple(table.frame.columns) == COLUMNS
    assert len(table.frame) == len(sizings) * len(BOUNDS)
    assert (table.frame["unserved_kwh"] == 0).all()
    status = table.frame.set_index("bound")["status"]
    assert (status[[name for name in BOUNDS if name.endswith("_lower")]] == "optimal").all()
    # A schedule that costs more than its bound is not called optimal.
    cost = [one.bounds["rigid_feasible"].cost - one.bounds["rigid_lower"].cost for one in sizings]
    known = ["feasible" if over > 1e-3 else "optimal" for over in cost]
    assert list(status["rigid_feasible"]) == known
    assert "feasible" in known
    assert table.prices["shadow_price_per_kw"].ge(0).all()
    assert table.evidence is not None
    assert {"setting:flexibility", "setting:slack_min"} <= table.evidence.inputs


def test_a_bound_without_a_schedule_has_no_throughput(sizings):
    frame = sizing_table(sizings).frame.set_index("bound")
    for name in BOUNDS:
        known = name in ("malleable_lower", "malleable_certified") or name.endswith("feasible")
        assert frame.loc[name, "throughput_kwh"].notna().all() == known


def test_only_the_weighted_cost_has_an_order(job_case):
    """With dear power a looser bound takes more energy than a schedule of stricter jobs."""
    rows = [(6, 2, 8), (6, 2, 8), (8.5, 2, 8), (8.5, 2, 8), (11, 2, 8), (11, 2, 8)]
    weights = CostWeights.of(5.0, 1.0)
    found = size_case(
        job_case(rows, hours=24, step_h=0.25, slack_h=0.25, cap=10, initial="cyclic"), weights, ALL
    )
    assert found.bounds["malleable_lower"].energy_kwh > found.bounds["on_off_feasible"].energy_kwh
    costs = sizing_table((found,)).costs.set_index("flexibility")
    assert list(costs.index) == ["malleable", "on_off", "rigid"]
    assert (costs["lower_cost"] <= costs["upper_cost"] + 1e-6).all()
    assert costs["lower_cost"].is_monotonic_increasing
    assert costs["gap"].between(0, 1).all()


def test_only_what_was_asked_for_is_sized(job_case):
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    found = size_case(case, EVEN, (Flexibility.of("rigid"),))
    assert list(found.bounds) == ["closed_form", "malleable_lower", "rigid_lower", "rigid_feasible"]


def test_delays_of_served_work_stay_within_the_slack(job_case):
    case = job_case([(0, 1, 10)] * 10, hours=24, slack_h=1, cap=40)
    short = StorageSize.of(5, 10)
    least = operate(case, short)
    fluid = schedule_row(case, least, least, ALL[0])
    whole = schedule_row(case, least, operate_jobs(case, short, ALL[1]), ALL[1])
    table = schedule_table((fluid, whole)).frame.set_index("flexibility")
    assert table["unserved_kwh"].to_dict() == pytest.approx({"malleable": 10, "on_off": 20})
    assert (table["unserved_least_kwh"] >= 10 - 1e-6).all()
    assert (table["unserved_least_kwh"] <= table["unserved_kwh"] + 1e-6).all()
    assert table["missed_jobs"].to_dict() == {"malleable": 1, "on_off": 2}
    assert whole.unserved_share == pytest.approx(20 / job_kwh(case).sum())
    assert table["delay_of_served_h_max"].max() <= 1 + 1e-6
    assert whole.quantile_h(1.0) == pytest.approx(1.0)


def test_break_even_where_both_are_energy_limited_is_the_ratio_of_usable_shares(job_case):
    reference = Technology.of("LFP", eta_discharge=0.9, soc_min=0.1)
    challengers = (Technology.of("sodium-ion", eta_discharge=0.95),)
    case = job_case([(0, 2, 150), (4, 1, 20)], hours=24, cap=100, technology=reference)
    frame = break_even_scan((case,), challengers, EVEN).frame.set_index("scaling")
    expected = (0.95 * 1.0) / (0.9 * 0.9)
    assert frame.loc["energy", "ratio"] == pytest.approx(expected, rel=1e-6)
    assert frame["identifiable"].all()
    assert set(frame["challenger_regime"]) == {"energy-limited"}
    assert frame["usable_share_ratio"].to_list() == pytest.approx([expected, expected])
    system = frame.loc["system"]
    cost = {
        one.name: size(
            job_case([(0, 2, 150), (4, 1, 20)], hours=24, cap=100, technology=one), (EVEN,)
        ).cost
        for one in (reference, *challengers)
    }
    assert system["ratio"] == pytest.approx(cost["LFP"] / cost["sodium-ion"], rel=1e-6)


def test_where_both_have_the_same_values_the_ratio_is_one(drawn):
    reference = Technology.of("LFP", eta_charge=0.95, eta_discharge=0.95, soc_min=0.1)
    challengers = tuple(
        Technology.of("sodium-ion", eta_charge=eta, eta_discharge=eta, soc_min=0.1)
        for eta in (0.9, 0.95)
    )
    cases = tuple(drawn(slack, technology=reference) for slack in (0.0, 60.0))
    frame = break_even_scan(cases, challengers, EVEN).frame
    same = frame[frame["same_values"]]
    assert set(zip(same["slack_min"], same["scaling"], strict=True)) == {
        (slack, scaling) for slack in (0, 60) for scaling in ("system", "energy")
    }
    assert same["ratio"].to_numpy() == pytest.approx(1, abs=1e-9)
    assert (frame.loc[~frame["same_values"], "ratio"] < 1).all()


def test_the_variant_of_a_hybrid_is_the_slowest_and_then_the_one_like_the_reference():
    reference = Technology.of("LFP", eta_discharge=0.95, power_to_energy_per_h=0.5)
    scan = tuple(
        Technology.of("sodium-ion", eta_discharge=eta, power_to_energy_per_h=limit)
        for limit in (None, 0.5, 0.125)
        for eta in (0.9, 0.95, 1.0)
    )
    found = slowest(scan, reference)
    assert (found.power_to_energy_per_h, found.eta_discharge) == (0.125, 0.95)
    assert slowest(scan[:3], reference) == scan[1]


def test_a_hybrid_pays_only_below_what_it_can_bear(job_case):
    reference = Technology.of("LFP", power_to_energy_per_h=1.0)
    challenger = Technology.of("sodium-ion", power_to_energy_per_h=0.25)
    case = job_case([(0, 1, 150), (1, 3, 115)], hours=24, cap=100, technology=reference)
    found = hybrid_scan(
        case,
        challenger,
        CostWeights.of(0.0, 1.0),
        (0.5, 5.0),
        tuple(Integration.of_share(share) for share in (0.0, 10.0)),
    )
    assert (found.slack_min, found.supply_cap_kw) == (0, 100)
    frame = found.frame.set_index(["cost_ratio", "integration_cost_share"])
    assert frame.loc[(0.5, 0.0), "cheapest"] == "hybrid"
    assert 0 < frame.loc[(0.5, 0.0), "bearable_share"] < 10
    assert frame.loc[(0.5, 10.0), "cheapest"] in ("LFP", "sodium-ion")
    assert frame.loc[(5.0, 0.0), "cheapest"] == "LFP"
    assert np.all(frame["hybrid_cost"] > 0)
