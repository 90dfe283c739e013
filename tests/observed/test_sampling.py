"""Steps of a log: write batches and lags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.observed.power_clean import typical_interval
from aidc.observed.sampling import batch_rows, lag_s, sampling


def test_a_batch_is_a_number_of_rows_of_which_every_multiple_is_late() -> None:
    steps = np.full(10_000, 0.2)
    steps[[3599, 7199]] = 0.5
    steps[[1094, 2179]] = 0.3
    times = np.concatenate([[0.0], np.cumsum(steps)])
    found = sampling(times, typical_interval(times))
    assert found.late.tolist() == [1095, 2180, 3600, 7200]
    assert found.batch_rows == 3600
    assert found.interval_s == pytest.approx(0.2)


@given(st.integers(2, 500), st.integers(3, 8))
def test_a_batch_size_is_found_whatever_it_is(size: int, batches: int) -> None:
    late = size * np.arange(1, batches)
    assert batch_rows(late, size * batches) == size


@given(st.integers(-40, 40))
def test_a_lag_is_found_with_its_sign(shift: int) -> None:
    noise = np.random.default_rng(0).normal(size=2000).cumsum()
    one, other = noise[200:1800], noise[200 - shift : 1800 - shift]
    found, correlation = lag_s(one, other, 0.5)
    assert found == pytest.approx(0.5 * shift)
    assert correlation > 0.9


def test_series_that_do_not_move_together_have_no_lag() -> None:
    random = np.random.default_rng(0)
    assert np.isnan(lag_s(random.normal(size=999), random.normal(size=999), 1.0)[0])
    assert np.isnan(lag_s(np.ones(99), np.ones(99), 1.0)[0])
