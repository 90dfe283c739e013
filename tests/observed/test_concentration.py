import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.observed.concentration import Concentration, gini, user_concentration
from aidc.observed.funnel import select_pool
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs


def of(durations: list[float], users: list[str | None]) -> Concentration:
    return user_concentration(select_pool(make_trace(seren_jobs(durations, user=users))))


def test_equal_users_have_the_diagonal_and_no_gini() -> None:
    found = of([5, 5, 5, 5], ["a", "b", "c", "d"])
    assert found.gini_jobs == found.gini_gpu_time == pytest.approx(0)
    for share in ("jobs_share", "gpu_time_share"):
        assert found.lorenz[share].tolist() == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_each_measure_orders_the_users_for_itself() -> None:
    found = of([1, 1, 1, 97], ["a", "a", "a", "b"])
    assert found.users == 2
    assert found.lorenz["jobs_share"].tolist() == pytest.approx([0, 0.25, 1])
    assert found.lorenz["gpu_time_share"].tolist() == pytest.approx([0, 0.03, 1])
    assert found.top["users"].tolist() == [1]
    assert found.top["jobs_share"].tolist() == pytest.approx([0.75])
    assert found.top["gpu_time_share"].tolist() == pytest.approx([0.97])


def test_jobs_without_a_user_are_left_out_and_counted() -> None:
    found = of([1, 1, 1], ["a", None, "b"])
    assert (found.users, found.without_user) == (2, 1)


def test_one_user_has_no_gini() -> None:
    found = of([1, 2], ["a", "a"])
    assert found.evaluable
    assert np.isnan(found.gini_jobs)


def test_data_without_users_is_not_evaluable() -> None:
    pool = select_pool(make_trace(elapsed_jobs([5, 6], [0, 1]), "elapsed"))
    found = user_concentration(pool)
    assert not found.evaluable
    assert found.top.empty
    assert found.without_user == 2


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=30).filter(any))
def test_gini_is_the_mean_difference_over_twice_the_mean(amounts: list[int]) -> None:
    values = np.sort(np.array(amounts, dtype=float))
    expected = np.abs(values[:, None] - values).mean() / (2 * values.mean())
    assert gini(values) == pytest.approx(expected, abs=1e-9)
