import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError
from aidc.observed.intervals import (
    MIN_BLOCKS,
    MIN_VALUES,
    IntervalSettings,
    block_bootstrap_quantiles,
    block_length,
    check_probabilities,
    dkw_half_width,
    generator_for,
    order_statistic_bounds,
    quantiles_of_counts,
)

MEDIAN = np.array([0.5])


def binomial_between(n: int, p: float, low: int, high: int) -> float:
    """Probability of ``low <= B < high``, by the definition."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(low, high))


@settings(deadline=None)
@given(st.integers(1, 60), st.floats(0.02, 0.98), st.sampled_from((0.5, 0.8, 0.95)))
def test_order_statistics_cover_exactly_as_stated(n: int, p: float, confidence: float) -> None:
    low, high, coverage = order_statistic_bounds(n, p, confidence)
    assert coverage == pytest.approx(binomial_between(n, p, low, high), abs=1e-9)
    assert coverage >= confidence - 1e-12
    half = (1 - confidence) / 2 + 1e-9
    assert binomial_between(n, p, 0, low) <= half
    assert binomial_between(n, p, high, n + 1) <= half


def test_too_few_values_bound_no_high_quantile() -> None:
    low, high, _ = order_statistic_bounds(10, 0.95, 0.95)
    assert low >= 1
    assert high == 11


def test_dkw_at_known_values() -> None:
    assert dkw_half_width(1, 1 - 2 * math.exp(-2)) == pytest.approx(1)
    assert dkw_half_width(400, 0.95) == pytest.approx(dkw_half_width(100, 0.95) / 2)


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_quantiles_of_counts_are_numpys(values: list[int], p: float) -> None:
    distinct, counts = np.unique(np.array(values, dtype=float), return_counts=True)
    found = quantiles_of_counts(distinct, np.cumsum(counts), np.array([p]))
    assert found[0] == pytest.approx(np.quantile(values, p), abs=1e-9)


def test_a_statistic_draws_by_its_name_alone() -> None:
    first, again, other = (generator_for(3, name).random(4) for name in ("a", "a", "b"))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert first.tolist() != generator_for(4, "a").random(4).tolist()


def test_a_further_quantile_moves_no_other() -> None:
    values = generator_for(0, "values").lognormal(5, 2, 500)
    settings = IntervalSettings(resamples=50)
    one = block_bootstrap_quantiles(values, MEDIAN, settings, "duration_s")
    two = block_bootstrap_quantiles(values, np.array([0.5, 0.9]), settings, "duration_s")
    assert (one.low[0], one.high[0]) == (two.low[0], two.high[0])
    assert one.low[0] < np.median(values) < one.high[0]


def ar1(seed: int, n: int, phi: float) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(n)
    series = np.empty(n)
    series[0] = noise[0] / math.sqrt(1 - phi**2)
    for i in range(1, n):
        series[i] = phi * series[i - 1] + noise[i]
    return series


def test_blocks_cover_the_median_of_a_clustered_series_where_order_statistics_do_not() -> None:
    repetitions, n = 80, 800
    settings = IntervalSettings(resamples=100, confidence=0.9)
    covered = {"block": 0, "order": 0}
    low, high, _ = order_statistic_bounds(n, 0.5, settings.confidence)
    for seed in range(repetitions):
        series = ar1(seed, n, phi=0.8)
        blocks = block_bootstrap_quantiles(series, MEDIAN, settings, f"{seed}")
        ordered = np.sort(series)
        covered["block"] += bool(blocks.low[0] <= 0 <= blocks.high[0])
        covered["order"] += bool(ordered[low - 1] <= 0 <= ordered[high - 1])
    assert covered["block"] / repetitions > 0.75
    assert covered["order"] / repetitions < 0.65


def test_clustered_values_need_longer_blocks() -> None:
    independent, clustered = (
        np.argsort(np.argsort(ar1(1, 2000, phi))).astype(np.int32) for phi in (0.0, 0.9)
    )
    assert block_length(independent) < block_length(clustered) <= 2000 // MIN_BLOCKS


@pytest.mark.parametrize(
    "values",
    [
        np.arange(MIN_VALUES - 1, dtype=float),
        np.full(100, 7.0),
        np.array([3.0]),
    ],
    ids=["too few", "all equal", "one"],
)
def test_no_bootstrap_interval_where_it_would_mean_nothing(values: np.ndarray) -> None:
    found = block_bootstrap_quantiles(values, MEDIAN, IntervalSettings(), "x")
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert found.block_length == 0


def test_no_bootstrap_interval_beyond_the_sample() -> None:
    values = ar1(5, 60, 0.1)
    found = block_bootstrap_quantiles(values, np.array([0.5, 0.99]), IntervalSettings(), "x")
    assert np.isfinite(found.low[0])
    assert np.isnan(found.low[1])
    assert np.isnan(found.high[1])


def test_a_periodic_series_still_has_a_block_length() -> None:
    codes = np.tile(np.array([0, 1], dtype=np.int32), 200)
    assert 1 <= block_length(codes) <= codes.size // MIN_BLOCKS


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"resamples": 39}, "at least 40"),
        ({"resamples": -1}, "bootstrap_resamples"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named):
        IntervalSettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [(), (0.0,), (1.0,), (2,), (0.5, 0.5), (float("nan"),)])
def test_quantiles_that_mean_nothing_are_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="quantiles: found"):
        check_probabilities(bad)
