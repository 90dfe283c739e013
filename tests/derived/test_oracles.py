"""Worked examples that every version of the model reproduces: 1 h slots, 100 kW, start full."""

from dataclasses import replace

import numpy as np
import pytest

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.certificate import certify
from aidc.derived.closed_form import FixedLoad, fixed_storage, malleable_storage
from aidc.derived.envelope import operate, size
from aidc.derived.frontier import frontier
from aidc.derived.plan import StorageSize
from aidc.derived.rigid import Flexibility, operate_jobs, size_jobs

EVEN = (CostWeights.of(1.0, 1.0),)
O1, O2, O3 = (
    [150, 150, 50],
    [150, 150, 80, 150, 150, 20, 20, 20],
    [130, 130, 0, 130, 130, 0, 0],
)
O3_JOBS = [(hour, 1, load) for hour, load in enumerate(O3) if load]


@pytest.mark.parametrize(
    ("technology", "energy"),
    [
        (Technology.of(), 100.0),
        (Technology.of(eta_discharge=0.95), 105.263),
        (Technology.of(eta_discharge=0.95, soc_min=0.1, soc_max=0.9), 131.579),
    ],
)
def test_o1_losses_and_window(load_case, technology, energy):
    case = load_case(O1, technology=technology)
    plan = size(case, EVEN)
    assert plan.power_kw[0] == pytest.approx(50, abs=1e-6)
    assert plan.energy_kwh[0] == pytest.approx(energy, abs=1e-3)
    closed = fixed_storage(case, EVEN[0])
    assert (closed.power_kw, closed.energy_kwh) == pytest.approx((50, energy), abs=1e-3)


@pytest.mark.parametrize(("eta", "energy"), [(1.0, 180.0), (0.9, 204.222)])
def test_o2_recharging_between_peaks(load_case, eta, energy):
    case = load_case(O2, technology=Technology.of(eta_charge=eta, eta_discharge=eta))
    plan = size(case, EVEN)
    assert (plan.power_kw[0], plan.energy_kwh[0]) == pytest.approx((50, energy), abs=1e-3)
    assert FixedLoad.of(case).energy_kwh(50.0)[0] == pytest.approx(energy, abs=1e-3)


def test_o3_frontier(load_case):
    case = load_case(O3)
    found = frontier(case)
    assert found.power_kw == pytest.approx([30, 60])
    assert found.energy_kwh == pytest.approx([90, 60])
    for power in (30, 40, 55, 60, 80):
        assert FixedLoad.of(case).energy_kwh(power)[0] == pytest.approx(max(60, 120 - power))
    tie = [
        found.power_kw @ [1, 0] + found.energy_kwh @ [1, 0],
        found.power_kw[1] + found.energy_kwh[1],
    ]
    assert tie[0] == pytest.approx(tie[1])


def test_o3_with_a_power_limit(load_case):
    case = load_case(O3, technology=Technology.of(power_to_energy_per_h=0.5))
    found = frontier(case)
    assert found.power_kw == pytest.approx([30, 40])
    assert found.energy_kwh == pytest.approx([90, 80])
    closed = fixed_storage(case, CostWeights.of(0.1, 1.0))
    assert (closed.power_kw, closed.energy_kwh) == pytest.approx((40, 80))


@pytest.mark.parametrize("slack_h", [0.0, 0.5, 1.0])
def test_o4_one_job_malleable(job_case, slack_h):
    case = job_case([(0, 1, 200)], hours=24, step_h=0.5, slack_h=slack_h)
    found = malleable_storage(case)
    energy = 100 - 100 * slack_h
    assert found.energy_kwh == pytest.approx(energy)
    assert found.power_kw == pytest.approx(energy / (1 + slack_h))
    plan = size(case, EVEN)
    assert plan.energy_kwh[0] == pytest.approx(energy, abs=1e-6)
    assert plan.power_kw[0] == pytest.approx(energy / (1 + slack_h), abs=1e-6)


@pytest.mark.parametrize(("rule", "energy"), [("on_off", 50.0), ("rigid", 100.0)])
def test_o4_one_job_whole(job_case, rule, energy):
    case = job_case([(0, 1, 200)], hours=24, step_h=0.5, slack_h=0.5)
    bounds = size_jobs(case, EVEN[0], Flexibility.of(rule))
    for plan in (bounds.lower, bounds.feasible):
        assert (plan.power_kw[0], plan.energy_kwh[0]) == pytest.approx((100, energy), abs=1e-6)


def test_o5_ten_jobs(job_case):
    case = job_case([(0, 1, 10)] * 10, hours=24, slack_h=1, cap=40)
    plan = size(case, EVEN)
    assert (plan.power_kw[0], plan.energy_kwh[0]) == pytest.approx((10, 20), abs=1e-6)
    short = StorageSize.of(5, 10)
    fluid = operate(case, short)
    assert (fluid.unserved_kwh, fluid.missed_jobs) == (pytest.approx(10, abs=1e-6), 1)
    whole = operate_jobs(case, short, Flexibility.of("on_off")).feasible
    assert (whole.unserved_kwh, whole.missed_jobs) == (pytest.approx(20), 2)


@pytest.mark.parametrize("initial", ["full", "cyclic"])
@pytest.mark.parametrize("seed", range(4))
def test_o6_queue_recursion_equals_the_model(load_case, initial, seed):
    random = np.random.default_rng(seed)
    load = random.uniform(0, 160, 48)
    technology = Technology.of(
        eta_charge=0.93, eta_discharge=0.9, soc_min=0.1, soc_max=0.95, power_to_energy_per_h=0.7
    )
    case = load_case(load, cap=100, technology=technology, initial=initial)
    weights = CostWeights.of(random.uniform(0.1, 4), 1.0)
    plan, closed = size(case, (weights,)), fixed_storage(case, weights)
    cost = weights.power * closed.power_kw + weights.energy * closed.energy_kwh
    assert plan.cost == pytest.approx(cost, rel=1e-7)


def test_o8_the_envelope_is_not_exact(job_case):
    rows = [(2, 1, 3), (1, 3, 2)]
    case = job_case(rows, hours=24, slack_h=2, cap=1)
    supply = np.zeros(case.horizon.slots)
    supply[:6] = 3, 1, 0, 5, 4, 0
    case = replace(case, cap_kw=supply)
    none = StorageSize.of(0, 0)
    envelope = operate(case, none)
    assert envelope.unserved_kwh == pytest.approx(0, abs=1e-6)
    jobs = certify(case, envelope)
    assert jobs.unserved_kwh == pytest.approx(1, abs=1e-6)
    # Storage that was given is not enlarged to serve them.
    assert (jobs.power_kw, jobs.energy_kwh, jobs.run.status) == ((0,), (0,), "not certified")
    whole = operate_jobs(case, none, Flexibility.of("on_off"))
    assert whole.feasible.unserved_kwh == pytest.approx(2)


@pytest.mark.parametrize("slack_h", [0.0, 1.0])
def test_o9_shadow_price_is_the_slope_of_the_cost(job_case, slack_h):
    rows = [*O3_JOBS, (5, 1, 117), (8, 2, 140)]
    technology = Technology.of(eta_charge=0.9, eta_discharge=0.93)

    def cost(cap):
        case = job_case(
            rows, hours=24, slack_h=slack_h, cap=cap, technology=technology, initial="cyclic"
        )
        return size(case, (CostWeights.of(1.3, 1.0),))

    plan = cost(90.0)
    slope = (cost(90.01).cost - cost(89.99).cost) / 0.02
    assert plan.cap_price == pytest.approx(-slope, rel=1e-5)
    assert plan.cap_price > 0
