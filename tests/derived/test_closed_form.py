from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.constructed.limits import Reserve
from aidc.constructed.setting import declared
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.case import StorageCase
from aidc.derived.closed_form import FixedLoad, fixed_storage, malleable_storage
from aidc.derived.envelope import size
from aidc.derived.horizon import Horizon
from aidc.evidence import InputError

SLOTS = 12
loads = st.lists(st.floats(0, 200, allow_nan=False), min_size=SLOTS, max_size=SLOTS)


def shifted(load, slack, slots=SLOTS + 6):
    """Horizon of a load, 1 h slots, that may wait ``slack`` hours at any rate."""
    arrivals = np.zeros(slots)
    arrivals[: len(load)] = load
    released = np.concatenate([[0.0], np.cumsum(arrivals)])
    due = np.concatenate([np.zeros(slack), released[: slots + 1 - slack]])
    return Horizon(
        step_h=1.0,
        active=slots,
        arrivals_kwh=arrivals,
        backlog_kwh=released - due,
        rate_kw=np.full(slots, 1e5),
    )


def case_of(load, slack, cap, technology=None):
    horizon = shifted(load, slack)
    return StorageCase(
        horizon=horizon,
        cap_kw=np.full(horizon.slots, cap),
        technologies=(technology or Technology.of(),),
        reserve=Reserve(),
        cyclic=False,
        slack_s=slack * 3600.0,
        evidence=declared("slack_min"),
    )


@settings(max_examples=60, deadline=None)
@given(loads, st.integers(0, 6), st.floats(1, 150))
def test_o7_slack_saves_cap_times_slack_of_energy(load, slack, cap):
    none, some = (
        malleable_storage(case_of(load, 0, cap)),
        malleable_storage(case_of(load, slack, cap)),
    )
    assert some.energy_kwh == pytest.approx(max(0.0, none.energy_kwh - cap * slack), abs=1e-8)
    released = np.concatenate([[0.0], np.cumsum(load)])
    due = np.concatenate([np.zeros(slack), released])
    means = [
        (due[b] - (released[a] if a <= SLOTS else released[-1])) / (b - a)
        for b in range(1, due.size)
        for a in range(b)
    ]
    assert some.power_kw == pytest.approx(max(0.0, max(means) - cap), abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(loads, st.integers(0, 6), st.floats(1, 150))
def test_o7_equals_the_model(load, slack, cap):
    case = case_of(load, slack, cap)
    closed = malleable_storage(case)
    energy = size(case, (CostWeights.of(0.0, 1.0),))
    power = size(case, (CostWeights.of(1.0, 0.0),))
    assert energy.energy_kwh[0] == pytest.approx(closed.energy_kwh, abs=1e-5)
    assert power.power_kw[0] == pytest.approx(closed.power_kw, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(loads, st.floats(0.2, 2.0), st.floats(0.0, 5.0), st.booleans())
def test_least_cost_of_a_fixed_load_equals_the_model(load, relative_cap, weight, cyclic):
    load = np.array(load) + 1.0
    technology = Technology.of(eta_charge=0.9, eta_discharge=0.95, power_to_energy_per_h=0.8)
    case = replace(
        case_of(load, 0, relative_cap * load.mean() + 30.0, technology),
        horizon=Horizon.of_fixed(load, 1.0),
        cap_kw=np.full(SLOTS, relative_cap * load.mean() + 30.0),
        cyclic=cyclic,
    )
    weights = CostWeights.of(weight, 1.0)
    try:
        plan = size(case, (weights,))
    except InputError:
        with pytest.raises(InputError, match="raise the cap"):
            fixed_storage(case, weights)
        return
    closed = fixed_storage(case, weights)
    cost = weight * closed.power_kw + closed.energy_kwh
    assert cost == pytest.approx(plan.cost, rel=1e-6, abs=1e-5)


def test_reserve_needs_power_and_energy(load_case):
    technology = Technology.of(eta_discharge=0.9)
    case = load_case([150, 150, 50, 20], technology=technology, reserve=Reserve.of_minutes(30, 0.8))
    form = FixedLoad.of(case)
    assert form.least_power_kw == pytest.approx(0.8 * 150)
    weights = CostWeights.of(1.0, 1.0)
    closed, plan = fixed_storage(case, weights), size(case, (weights,))
    assert (closed.power_kw, closed.energy_kwh) == pytest.approx(
        (plan.power_kw[0], plan.energy_kwh[0]), abs=1e-6
    )
    assert plan.power_kw[0] == pytest.approx(120)
    assert plan.energy_kwh[0] == pytest.approx((100 + 0.5 * 0.8 * 150) / 0.9)


def test_two_laps_cannot_see_a_deficit_so_it_is_checked(load_case):
    with pytest.raises(InputError, match="delivers 100 kWh and can recharge 50 kWh"):
        fixed_storage(load_case([150, 150, 50], initial="cyclic"), CostWeights.of())


@pytest.mark.parametrize(
    "change",
    [
        {"cyclic": True},
        {"reserve": Reserve.of_minutes(5)},
        {"technologies": (Technology.of(eta_charge=0.9),)},
        {"technologies": (Technology.of(soc_min=0.1),)},
        {"technologies": (Technology.of(power_to_energy_per_h=1.0),)},
        {"cap_kw": np.linspace(1, 2, SLOTS + 6)},
    ],
)
def test_the_formula_refuses_what_it_does_not_hold_for(change):
    with pytest.raises(InputError, match="use the model instead"):
        malleable_storage(replace(case_of([150.0] * SLOTS, 1, 100.0), **change))


def test_a_fixed_load_has_no_slack(job_case):
    with pytest.raises(InputError, match="found slack 60 min"):
        fixed_storage(job_case([(0, 1, 200)], hours=24, slack_h=1), CostWeights.of())
