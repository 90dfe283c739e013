import pytest

from aidc.constructed.technology import CostWeights
from aidc.derived.envelope import size
from aidc.derived.windows import window_table

EVEN = CostWeights.of(1.0, 1.0)
JOBS = [(0, 2, 150), (6, 1, 130)]


def test_a_window_without_an_answer_has_none(job_case):
    """The second window is above its cap on the whole, so that no storage suffices."""
    fits = job_case(JOBS, hours=24, cap=100, initial="cyclic")
    full = job_case([(0, 24, 150)], hours=24, cap=100, initial="cyclic")
    frame = window_table((fits, full), EVEN).frame
    assert list(frame["start"]) == ["2023-03-01 00:00"] * 2
    plan = size(fits, (EVEN,))
    assert frame.loc[0, "lower_cost"] == pytest.approx(plan.cost)
    assert frame.loc[0, "energy_kwh"] == pytest.approx(plan.energy_kwh[0])
    assert frame.loc[1, ["power_kw", "energy_kwh", "lower_cost"]].isna().all()
