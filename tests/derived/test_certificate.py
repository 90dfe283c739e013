from dataclasses import replace

import numpy as np
import pytest

from aidc.constructed.limits import Reserve
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived import certificate
from aidc.derived.certificate import assign, certify, earliest, room_kw
from aidc.derived.envelope import operate, size
from aidc.derived.plan import StorageSize, job_kwh
from aidc.derived.rigid import class_bound
from aidc.derived.units import classes

EVEN = (CostWeights.of(1.0, 1.0),)


@pytest.mark.parametrize("slack_min", [0.0, 20.0, 60.0, 240.0])
def test_a_certified_schedule_serves_every_job(drawn, slack_min):
    case = drawn(slack_min)
    plan = size(case, EVEN)
    sure = certify(case, plan, weights=EVEN)
    assert sure.certified
    assert sure.run.status == "optimal"
    assert sure.unserved_kwh == 0
    assert sure.cost == pytest.approx(plan.cost * (1 + sure.inflation))
    # Nothing less serves single jobs: the model of single jobs has the same cost.
    assert sure.cost == pytest.approx(class_bound(case, EVEN[0], single=True).cost, rel=1e-6)
    found, active = sure.dispatch, case.horizon.active
    assert found.served_kwh == pytest.approx(case.horizon.work_kwh, rel=1e-6)
    assert found.supply_kw.max() <= case.cap_kw[0] + 1e-5
    assert found.discharge_kw.max() <= sure.power_kw[0] * (1 + 1e-6) + 1e-6
    assert found.overlap_kw == pytest.approx(0, abs=1e-6)
    assert np.all(found.backlog_kwh <= case.horizon.backlog_kwh[: active + 1] + 1e-5)
    # The schedule itself, given to jobs again, leaves nothing.
    assert assign(case, found.serve_kw + 1e-6).unserved_kwh < 1e-5 * case.horizon.work_kwh


def test_without_the_job_by_job_model_least_delay_and_inflation_are_tried(drawn, monkeypatch):
    monkeypatch.setattr(certificate, "MOST_JOB_COLUMNS", 0)
    case = drawn(60.0)
    plan = size(case, EVEN)
    rough = certify(case, plan, weights=EVEN)
    assert rough.inflation > 0
    assert rough.unserved_kwh < 0.01 * case.horizon.work_kwh
    if rough.certified:
        assert rough.dispatch.served_kwh == pytest.approx(case.horizon.work_kwh, rel=1e-6)
    else:
        assert rough.missed_jobs >= 1


def test_the_earliest_schedule_is_ahead_of_the_plan_and_within_its_limits(drawn):
    case = drawn(120.0)
    plan = size(case, EVEN)
    serve = earliest(case, plan.dispatch, plan.power_kw)
    done = np.cumsum(serve) * case.horizon.step_h
    planned = np.cumsum(plan.dispatch.serve_kw) * case.horizon.step_h
    assert np.all(done >= planned - 1e-6)
    assert done[-1] == pytest.approx(planned[-1], rel=1e-9)
    assert np.all(
        serve
        <= np.maximum(room_kw(case, plan.dispatch, plan.power_kw), plan.dispatch.serve_kw) + 1e-9
    )
    released = case.horizon.released_kwh[1 : case.horizon.active + 1]
    assert np.all(done <= released + 1e-6)
    assert done.sum() > planned.sum()


def test_assignment_fills_the_room_it_is_given(job_case):
    case = job_case([(0, 1, 10)] * 3, hours=24, slack_h=1)
    room = np.zeros(case.horizon.active)
    room[:2] = 12, 13
    found = assign(case, room)
    assert found.serve_kw[:2] == pytest.approx([12, 13])
    assert found.unserved_kwh == pytest.approx(5)
    assert job_kwh(case) == pytest.approx([10, 10, 10])


def test_a_job_runs_at_most_at_its_full_rate(job_case):
    case = job_case([(0, 2, 10)], hours=24, slack_h=1)
    room = np.zeros(case.horizon.active)
    room[:3] = 50, 0, 5
    assert assign(case, room).unserved_kwh == pytest.approx(5)


def test_operation_is_certified_with_what_it_leaves(job_case):
    case = job_case([(0, 1, 10)] * 10, hours=24, slack_h=1, cap=40)
    sure = certify(case, operate(case, StorageSize.of(5, 10)))
    assert sure.unserved_kwh == pytest.approx(10, abs=1e-5)
    assert sure.missed_jobs == 1
    assert sure.job_unserved_kwh.sum() == pytest.approx(10, abs=1e-5)


def test_two_technologies_are_certified_too(drawn):
    pair = (Technology.of("a", eta_charge=0.95), Technology.of("b", power_to_energy_per_h=0.3))
    case = drawn(60.0, technology=pair)
    sure = certify(case, size(case, EVEN * 2), weights=EVEN * 2)
    assert sure.unserved_kwh < 0.01 * case.horizon.work_kwh


def test_single_classes_are_the_jobs(drawn):
    case = drawn(60.0)
    merged, single = classes(case), classes(case, single=True)
    assert single.low == pytest.approx(job_kwh(case))
    assert merged.low.sum() == pytest.approx(single.low.sum())
    assert merged.upper.size < single.upper.size
    assert replace(merged, cost=merged.cost).groups.shape[0] < single.groups.shape[0]


@pytest.mark.parametrize("slack_min", [15.0, 60.0])
@pytest.mark.parametrize("most", [0, certificate.MOST_JOB_COLUMNS])
def test_a_certified_schedule_keeps_the_reserve(drawn, monkeypatch, slack_min, most):
    """The storage has to carry the load that the jobs' schedule makes, not the envelope's."""
    monkeypatch.setattr(certificate, "MOST_JOB_COLUMNS", most)
    reserve = Reserve.of_minutes(15)
    case = drawn(slack_min, reserve=reserve)
    sure = certify(case, size(case, EVEN), weights=EVEN)
    load = sure.dispatch.load_kw
    assert sure.power_kw[0] >= load.max() - 1e-4
    kept = case.technologies[0].eta_discharge * sure.dispatch.usable_kwh[0]
    assert np.all(kept[:-1] >= 0.25 * load - 1e-3)
    assert np.all(kept[1:] >= 0.25 * load - 1e-3)
    if most:
        assert sure.certified
