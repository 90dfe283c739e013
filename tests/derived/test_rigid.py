"""A small brute-force scheduler is the second opinion on whole jobs."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.certificate import certify
from aidc.derived.closed_form import FixedLoad
from aidc.derived.envelope import size
from aidc.derived.plan import StorageSize
from aidc.derived.rigid import Flexibility, class_bound, interruptible, operate_jobs, size_jobs
from aidc.evidence import InputError

HOURS, SLACK = 8, 2
WEIGHTS = CostWeights.of(1.0, 1.0)
RULES = ("on_off", "rigid")

whole_jobs = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 3), st.sampled_from([5.0, 8.0, 13.0])),
    min_size=1,
    max_size=4,
)


def schedules(job, rule):
    """Every load that one job can make, 1 h slots from hour 0."""
    release, processing, kw = job
    window = range(release, release + processing + SLACK)
    runs = (
        combinations(window, processing)
        if rule == "on_off"
        else (range(s, s + processing) for s in range(release, release + SLACK + 1))
    )
    for run in runs:
        load = np.zeros(HOURS + SLACK)
        load[list(run)] = kw
        yield load


def brute_force(case, rows, rule):
    """Return the least cost over every combination of whole jobs."""
    best = np.inf
    for loads in product(*(list(schedules(job, rule)) for job in rows)):
        load = np.sum(loads, axis=0)
        form = FixedLoad(load - case.cap_kw[: load.size], load, case)
        power, energy = form.least_cost(WEIGHTS)
        best = min(best, power + energy)
    return best


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25, deadline=None)
@given(rows=whole_jobs, cap=st.sampled_from([4.0, 7.0, 11.0]), lossy=st.booleans())
def test_bounds_enclose_the_brute_force_optimum(job_case, rule, rows, cap, lossy):
    technology = Technology.of(eta_charge=0.9, eta_discharge=0.9) if lossy else Technology.of()
    case = job_case(rows, hours=HOURS, slack_h=SLACK, cap=cap, technology=technology)
    best = brute_force(case, rows, rule)
    bounds = size_jobs(case, WEIGHTS, Flexibility.of(rule))
    assert bounds.lower.cost <= best + 1e-6
    assert bounds.feasible.cost >= best - 1e-6
    malleable = size(case, (WEIGHTS,)).cost
    classes = class_bound(case, WEIGHTS).cost
    exact = class_bound(case, WEIGHTS, single=True).cost
    assert malleable <= classes + 1e-6
    assert classes <= exact + 1e-6
    assert exact <= bounds.lower.cost + 1e-6
    if bounds.fractional_jobs == 0:
        assert bounds.gap < 1e-6
        assert bounds.feasible.cost == pytest.approx(best, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(rows=whole_jobs, cap=st.sampled_from([4.0, 7.0, 11.0]))
def test_unserved_work_of_whole_jobs_against_brute_force(job_case, rows, cap):
    """Without storage: the most work that fits under the cap, rigid jobs whole or not."""
    case = job_case(rows, hours=HOURS, slack_h=SLACK, cap=cap)
    work = [processing * kw for _, processing, kw in rows]
    best = np.inf
    options = [[None, *schedules(job, "rigid")] for job in rows]
    for loads in product(*options):
        ran = [load for load in loads if load is not None]
        if not ran or np.max(np.sum(ran, axis=0)) <= cap:
            lost = sum(w for w, load in zip(work, loads, strict=True) if load is None)
            best = min(best, lost)
    found = operate_jobs(case, StorageSize.of(0, 0), Flexibility.of("rigid"))
    assert found.lower.unserved_kwh <= best + 1e-6
    assert found.feasible.unserved_kwh >= best - 1e-6
    if found.fractional_jobs in (0, len(rows)):
        assert found.feasible.unserved_kwh == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_a_schedule_of_drawn_jobs_keeps_every_rule(drawn, rule):
    case = drawn(45.0)
    bounds = size_jobs(case, WEIGHTS, Flexibility.of(rule), time_limit_s=5)
    plan = bounds.feasible
    assert 0 <= bounds.gap < 0.1
    assert plan.dispatch.served_kwh == pytest.approx(case.horizon.work_kwh, rel=1e-6)
    assert plan.dispatch.supply_kw.max() <= case.cap_kw[0] + 1e-6
    assert plan.dispatch.overlap_kw == pytest.approx(0, abs=1e-6)
    assert bounds.late_h.max() <= 0.75 + 1e-9
    assert bounds.late_h.min() >= 0
    assert bounds.lower.bound == f"{rule}_lower"
    assert plan.bound == f"{rule}_feasible"


def test_flexibility_orders_the_storage(drawn):
    case = drawn(45.0)
    envelope = size(case, (WEIGHTS,)).cost
    classes, exact = class_bound(case, WEIGHTS), class_bound(case, WEIGHTS, single=True)
    lower = [size_jobs(case, WEIGHTS, Flexibility.of(r), 5).lower.cost for r in RULES]
    ordered = [envelope, classes.cost, exact.cost, *lower]
    assert np.all(np.diff(ordered) >= -1e-6 * envelope)
    assert certify(case, exact).inflation == 0.0


def test_a_rigid_schedule_is_an_on_off_one(drawn):
    case = drawn(30.0)
    on_off, rigid = (size_jobs(case, WEIGHTS, Flexibility.of(r), 5) for r in RULES)
    best = interruptible(on_off, rigid)
    assert best.feasible.cost == min(on_off.feasible.cost, rigid.feasible.cost)
    assert best.feasible.bound == "on_off_feasible"
    worse = replace(on_off, feasible=replace(on_off.feasible, cost=1e9))
    assert interruptible(worse, rigid).feasible.cost == rigid.feasible.cost


@pytest.mark.parametrize("rule", RULES)
def test_without_slack_every_class_is_the_fixed_load(drawn, rule):
    case = drawn(0.0)
    bounds = size_jobs(case, WEIGHTS, Flexibility.of(rule))
    assert bounds.gap < 1e-7
    assert bounds.lower.cost == pytest.approx(size(case, (WEIGHTS,)).cost, rel=1e-7)
    assert bounds.late_h.max() == 0


def test_a_fleet_that_rigid_jobs_do_not_fit(job_case):
    rows = [(0, 2, 8), (1, 2, 8)]
    case = job_case(rows, hours=24, slack_h=0.5, fleet_gpus=8)
    with pytest.raises(InputError, match="fleet_blocks: found 1, but"):
        size_jobs(case, WEIGHTS, Flexibility.of("rigid"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda case: Flexibility.of("elastic"), "flexibility: found 'elastic'"),
        (lambda case: size_jobs(case, WEIGHTS, Flexibility.of("malleable")), "have size()"),
        (
            lambda case: size_jobs(case, WEIGHTS, Flexibility.of("rigid"), 0),
            "time_limit_s: found 0",
        ),
        (
            lambda case: size_jobs(replace(case, load=None), WEIGHTS, Flexibility.of("rigid")),
            "job-level answer needs",
        ),
        (
            lambda case: class_bound(replace(case, technologies=case.technologies * 2), WEIGHTS),
            "found 2 technologies, expected one",
        ),
    ],
)
def test_bad_parameters_are_one_clear_line(drawn, call, message):
    with pytest.raises(InputError) as caught:
        call(drawn(0.0))
    assert message in str(caught.value)
