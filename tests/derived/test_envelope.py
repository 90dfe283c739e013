from dataclasses import replace

import numpy as np
import pytest

from aidc.constructed.limits import Reserve, SupplyCap
from aidc.constructed.setting import declared
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived import problem
from aidc.derived.case import InitialCharge, slot_times, storage_case
from aidc.derived.envelope import operate, size
from aidc.derived.plan import StorageSize, delay_quantiles
from aidc.derived.problem import StorageProblem, compiled
from aidc.derived.solver import Solver
from aidc.evidence import EvidenceError, InputError, Layer, Provenance

REAL = Technology.of(
    "real", eta_charge=0.95, eta_discharge=0.94, soc_min=0.1, soc_max=0.9, power_to_energy_per_h=1.0
)
EVEN = (CostWeights.of(1.0, 1.0),)


@pytest.mark.parametrize("slack_min", [0.0, 20.0, 60.0, 240.0])
@pytest.mark.parametrize("initial", ["cyclic", "full"])
def test_every_balance_holds(drawn, slack_min, initial):
    case = drawn(slack_min, initial=initial)
    plan = size(case, EVEN)
    found, horizon, active = plan.dispatch, case.horizon, case.horizon.active
    work = horizon.work_kwh
    assert plan.power_kw[0] > 1
    assert found.served_kwh == pytest.approx(work, rel=1e-6)
    assert found.backlog_kwh[-1] == pytest.approx(0, abs=1e-6 * work)
    assert found.overlap_kw == pytest.approx(0, abs=1e-6)
    assert found.supply_kw.max() <= case.cap_kw[0] + 1e-6
    assert found.supply_kw.min() >= -1e-6
    assert np.all(found.serve_kw <= horizon.rate_kw[:active] + 1e-6)
    assert np.all(found.backlog_kwh <= horizon.backlog_kwh[: active + 1] + 1e-6 * work)
    assert found.backlog_kwh.min() >= -1e-6 * work
    usable = (REAL.soc_max - REAL.soc_min) * plan.energy_kwh[0]
    assert found.usable_kwh.min() >= -1e-5
    assert found.usable_kwh.max() <= usable + 1e-5
    if initial == "cyclic":
        assert found.usable_kwh[0, 0] == pytest.approx(found.usable_kwh[0, -1], abs=1e-5)
    stored = REAL.eta_charge * found.charge_kw.sum() - found.discharge_kw.sum() / REAL.eta_discharge
    assert stored * found.step_h == pytest.approx(
        found.usable_kwh[0, -1] - found.usable_kwh[0, 0], abs=1e-6
    )
    drawn = found.supply_kw.sum() * found.step_h
    losses = drawn - work - (found.charge_kw - found.discharge_kw).sum() * found.step_h
    assert losses == pytest.approx(0, abs=1e-6 * work)
    assert max(found.charge_kw.max(), found.discharge_kw.max()) <= plan.power_kw[0] + 1e-6
    assert plan.throughput_kwh == pytest.approx(found.discharge_kw.sum() * found.step_h)
    assert plan.cycles[0] == pytest.approx(
        plan.throughput_kwh / (REAL.usable_share * plan.energy_kwh[0])
    )


def test_solvers_agree(drawn):
    case = drawn(30.0)
    one, other = size(case, EVEN), size(case, EVEN, Solver("CLARABEL"))
    assert other.run.solver == "CLARABEL"
    assert other.cost == pytest.approx(one.cost, rel=1e-5)
    assert other.power_kw[0] == pytest.approx(one.power_kw[0], rel=1e-5)
    assert other.energy_kwh[0] == pytest.approx(one.energy_kwh[0], rel=1e-5)
    assert other.throughput_kwh == pytest.approx(one.throughput_kwh, rel=1e-5)
    assert other.cap_price == pytest.approx(one.cap_price, rel=1e-5)
    assert other.dispatch.overlap_kw < 1e-3


def test_a_scan_compiles_once(drawn, monkeypatch):
    compiled.cache_clear()
    made = []
    monkeypatch.setattr(
        problem, "StorageProblem", lambda shape: made.append(shape) or StorageProblem(shape)
    )
    for slack in (0.0, 15.0, 240.0):
        for share in (1.3, 2.0):
            for eta in (0.9, 1.0):
                size(drawn(slack, share, Technology.of(eta_discharge=eta)), EVEN)
    assert len(made) == 1
    assert all(
        StorageProblem(replace(made[0], **change)).problem.is_dcp(dpp=True)
        for change in (
            {},
            {"droppable": True},
            {"elastic": 9},
            {"reserve": Reserve()},
            {"technologies": 2, "fleet": True},
        )
    )
    compiled.cache_clear()


def test_a_result_does_not_depend_on_what_was_solved_before(drawn):
    first = size(drawn(15.0), EVEN)
    size(drawn(240.0, 2.0), EVEN)
    again = size(drawn(15.0), EVEN)
    assert again.cost == first.cost
    assert np.array_equal(again.dispatch.charge_kw, first.dispatch.charge_kw)


def test_padding_changes_nothing(drawn):
    case = drawn(60.0)
    horizon, active = case.horizon, case.horizon.active
    tight = replace(
        case,
        cap_kw=case.cap_kw[:active],
        horizon=replace(
            horizon,
            arrivals_kwh=horizon.arrivals_kwh[:active],
            backlog_kwh=horizon.backlog_kwh[: active + 1],
            rate_kw=horizon.rate_kw[:active],
        ),
    )
    padded, plain = size(case, EVEN), size(tight, EVEN)
    assert padded.cost == pytest.approx(plain.cost, rel=1e-9)
    assert padded.throughput_kwh == pytest.approx(plain.throughput_kwh, rel=1e-7)
    assert padded.cap_price == pytest.approx(plain.cap_price, rel=1e-7)


def test_more_slack_and_more_cap_never_need_more(drawn):
    costs = [[size(drawn(s, c), EVEN).cost for c in (1.2, 1.6, 2.5)] for s in (0.0, 30.0, 120.0)]
    assert np.all(np.diff(costs, axis=0) <= 1e-6)
    assert np.all(np.diff(costs, axis=1) <= 1e-6)


def test_operation_serves_less_with_less_storage(drawn):
    case = drawn(30.0)
    plan = size(case, EVEN)
    full = operate(case, plan.size)
    assert full.unserved_kwh <= 1e-6 * case.horizon.work_kwh
    assert full.missed_jobs == 0
    half = operate(case, StorageSize.of(plan.power_kw[0] / 2, plan.energy_kwh[0] / 2))
    none = operate(case, StorageSize.of(0.0, 0.0))
    assert 0 < half.unserved_kwh < none.unserved_kwh
    assert half.missed_jobs >= 1
    for answer in (half, none):
        total = answer.dispatch.served_kwh + answer.unserved_kwh
        assert total == pytest.approx(case.horizon.work_kwh, rel=1e-6)
        assert answer.dispatch.overlap_kw == pytest.approx(0, abs=1e-6)
    assert np.isnan(none.cycles[0])


def test_reserve_holds_at_both_ends_of_every_slot(drawn):
    reserve = Reserve.of_minutes(20, 0.7)
    plan = size(drawn(30.0, reserve=reserve), EVEN)
    found = plan.dispatch
    carried = 0.7 * found.load_kw
    assert plan.power_kw[0] >= carried.max() - 1e-5
    delivered = REAL.eta_discharge * found.usable_kwh[0]
    assert np.all(delivered[:-1] >= carried / 3 - 1e-5)
    assert np.all(delivered[1:] >= carried / 3 - 1e-5)
    assert plan.cost > size(drawn(30.0), EVEN).cost


def test_the_fleet_limits_the_schedule(drawn, fleet_site):
    case = drawn(240.0, 3.0, load=fleet_site(7.0))
    plan = size(case, EVEN)
    assert plan.dispatch.serve_kw.max() <= case.horizon.fleet_kw + 1e-6
    assert fleet_site(7.0).running_blocks.max() > 7


def test_two_technologies_cost_no_more_than_either(drawn):
    other = Technology.of("na", eta_charge=0.9, eta_discharge=0.9, power_to_energy_per_h=0.25)
    prices = (CostWeights.of(1.0, 1.0), CostWeights.of(0.2, 0.7))
    alone = [
        size(drawn(technology=t), (w,)).cost for t, w in zip((REAL, other), prices, strict=True)
    ]
    both = size(drawn(technology=(REAL, other)), prices)
    assert both.cost <= min(alone) + 1e-6
    assert both.dispatch.overlap_kw == pytest.approx(0, abs=1e-6)


def test_delays_of_work_stay_within_the_slack(drawn):
    case = drawn(60.0)
    late = delay_quantiles(case, size(case, EVEN).dispatch, np.array([0.0, 0.5, 1.0]))
    assert 0 <= late[0] <= late[1] <= late[2] <= 1.0 + 0.25
    none = drawn(0.0)
    assert delay_quantiles(none, size(none, EVEN).dispatch, np.array([1.0]))[0] < 1e-6


def test_slack_between_slots_lies_between_its_neighbours(drawn):
    costs = [size(drawn(slack), EVEN).cost for slack in (15.0, 20.0, 30.0)]
    assert costs[0] >= costs[1] - 1e-6 >= costs[2] - 2e-6


def test_evidence_of_a_plan(drawn):
    plan = size(drawn(), EVEN)
    assert plan.evidence.layer is Layer.DERIVED
    assert plan.evidence.provenance is Provenance.SYNTHETIC
    for name in (
        "slack_min",
        "supply_cap_share",
        "site_overhead",
        "eta_charge",
        "weight_power",
        "initial_soc",
        "reserve_min",
        "start",
    ):
        assert f"setting:{name}" in plan.evidence.inputs


def test_time_of_slots(drawn):
    case = drawn(60.0)
    times = slot_times(case)
    assert (times[0], len(times)) == (case.load.window.start, case.horizon.active)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda case: size(case(), EVEN, Solver("OSQP")),
            "solver: found 'OSQP', expected one of HIGHS",
        ),
        (lambda case: size(case(), EVEN * 2), "weights: found 2 for 1 technologies"),
        (lambda case: case(-1.0), "slack_min: found -1"),
        (lambda case: case(technology=()), "technologies: found 0"),
        (lambda case: case(initial="empty"), "initial_soc: found 'empty'"),
        (lambda case: operate(case(), StorageSize.of(50, 10)), "expected at most 10 kW"),
        (lambda case: operate(case(), StorageSize.of(-1, 10)), "storage_power_kw: found -1"),
        (
            lambda case: operate(case(technology=(REAL, REAL)), StorageSize.of(1, 10)),
            "found 1 sizes for 2 technologies",
        ),
    ],
)
def test_bad_parameters_are_one_clear_line(drawn, call, message):
    with pytest.raises(InputError) as caught:
        call(drawn)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_component_power_meets_no_cap(drawn, component):
    with pytest.raises(EvidenceError, match="a supply cap is at the site"):
        drawn(load=component)


def test_a_bare_number_is_no_slack(site):
    bare = type("Bare", (), {"minutes": 5.0})()
    with pytest.raises(EvidenceError, match="slack is a declared setting"):
        storage_case(
            site, SupplyCap.of_kw(9), bare, (REAL,), Reserve.of_minutes(0), InitialCharge.of()
        )
    assert declared("slack_min").layer is Layer.CONSTRUCTED
