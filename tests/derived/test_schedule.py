"""Delays are those of served work, whatever is lost."""

import numpy as np
import pytest

from aidc.constructed.limits import Reserve
from aidc.derived.certificate import certify
from aidc.derived.envelope import operate
from aidc.derived.plan import StorageSize
from aidc.derived.rigid import Flexibility, operate_jobs
from aidc.derived.schedule import schedule_row, schedule_table

MALLEABLE, ON_OFF, RIGID = (Flexibility.of(rule) for rule in ("malleable", "on_off", "rigid"))
ROWS = [(0, 2, 60), (0.5, 1, 30), (1, 3, 40), (5, 2, 50)]
NONE = StorageSize.of(0, 0)


def malleable(case):
    envelope = operate(case, NONE)
    return schedule_row(case, envelope, certify(case, envelope), MALLEABLE)


def test_lost_work_makes_no_served_work_late(job_case):
    """Without slack nothing may wait: what is served is served at once."""
    case = job_case(ROWS, hours=24, cap=45)
    row = malleable(case)
    assert 0.1 < row.unserved_share < 0.9
    assert row.quantile_h(1.0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("slack_h", [0.5, 1, 2])
@pytest.mark.parametrize("cap", [15, 30, 40])
def test_served_work_is_never_later_than_the_slack(job_case, slack_h, cap):
    row = malleable(job_case(ROWS, hours=24, slack_h=slack_h, step_h=0.5, cap=cap))
    assert row.unserved_share > 0
    assert row.delay_h.min() >= 0
    assert row.delay_h.max() <= slack_h + 1e-6


def test_one_job_that_loses_its_second_hour(job_case):
    """100 kW for an hour, at most 50 kW in each of two: all is served, half an hour late at most.

    A cap of 40 kW leaves 20 kWh undone; the 80 kWh that are served wait from 0 to 1 h.
    """
    whole = malleable(job_case([(0, 1, 100)], hours=24, slack_h=1, cap=50))
    assert whole.unserved_share == 0
    assert whole.quantile_h(1.0) == pytest.approx(1.0, abs=1e-3)
    short = malleable(job_case([(0, 1, 100)], hours=24, slack_h=1, cap=40))
    assert short.unserved_share == pytest.approx(0.2)
    assert short.quantile_h(1.0) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("rule", [ON_OFF, RIGID])
def test_where_nothing_is_served_no_delay_is_evaluable(job_case, rule):
    case = job_case(ROWS, hours=24, slack_h=1, cap=10)
    row = schedule_row(case, operate(case, NONE), operate_jobs(case, NONE, rule), rule)
    assert row.unserved_share == pytest.approx(1)
    assert np.isnan(row.delay_h).all()
    frame = schedule_table((row,)).frame
    assert frame.filter(like="delay_of_served").isna().all(axis=None)
    assert frame["unserved_share"].to_list() == pytest.approx([1])


def test_malleable_work_that_is_all_lost_has_no_delay(job_case):
    case = job_case(ROWS, hours=24, slack_h=1, cap=45, reserve=Reserve.of_minutes(60))
    row = malleable(case)
    assert row.unserved_share == pytest.approx(1)
    assert np.isnan(row.delay_h).all()
