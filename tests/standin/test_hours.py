import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.standin import hours


def test_the_window_is_169_whole_days() -> None:
    midnight, bins, first, last = hours.window()
    assert str(midnight) == "2023-03-01T00:00:00"
    assert bins == 169 * 24
    assert 0 < first < 3600
    assert (bins - 1) * 3600 < last < bins * 3600


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, 0.9))
def test_seconds_keep_the_hourly_counts_and_the_window(seed: int, share: float) -> None:
    _, bins, first, last = hours.window()
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.3, 20, bins))
    seconds = hours.draw_seconds(counts, share, rng)
    assert (np.diff(seconds) >= 0).all()
    assert first <= seconds[0]
    assert seconds[-1] <= last
    assert (np.bincount(seconds // 3600, minlength=bins) == counts).all()


def test_shared_seconds_are_met_to_the_job() -> None:
    _, bins, _, _ = hours.window()
    rng = np.random.default_rng(1)
    counts = rng.poisson(20, bins)
    seconds = hours.draw_seconds(counts, 0.25, rng)
    _, group = np.unique(seconds, return_counts=True)
    assert group[group > 1].sum() == round(0.25 * counts.sum())


def test_no_shared_second_when_none_is_asked_for() -> None:
    _, bins, _, _ = hours.window()
    rng = np.random.default_rng(2)
    seconds = hours.draw_seconds(np.full(bins, 5), 0.0, rng)
    assert len(np.unique(seconds)) == len(seconds)


@pytest.mark.parametrize("empty", [150, 192, 230])
def test_sorted_counts_hold_the_pinned_ranks(empty: int) -> None:
    _, bins, _, _ = hours.window()
    counts = hours.sorted_counts(bins, empty)
    assert (np.diff(counts) >= 0).all()
    assert (counts[:empty] == 0).all()
    assert counts.sum() == hours.target("pool.jobs")
    assert np.quantile(counts, 0.5) == hours.target("pool.arrivals_per_hour.p50")
    assert np.quantile(counts, 0.9) == hours.target("pool.arrivals_per_hour.p90")
