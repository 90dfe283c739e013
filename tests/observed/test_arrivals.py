import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError
from aidc.observed.arrivals import (
    ACTIVE_HOURS,
    ALL_HOURS,
    autocorrelation,
    burstiness,
    hourly_arrivals,
    week_pattern,
)
from aidc.observed.funnel import JobPool, select_pool
from aidc.observed.intervals import IntervalSettings
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs

HOUR = 3600
PLAIN = IntervalSettings(resamples=0)


def pool_submitting(submit_s: object, clock: str = "calendar") -> JobPool:
    seconds = np.asarray(submit_s)
    jobs = (
        seren_jobs(np.ones(seconds.size), submit_s=seconds)
        if clock == "calendar"
        else elapsed_jobs(np.ones(seconds.size), seconds)
    )
    return select_pool(make_trace(jobs, clock))


def pool_with(counts: object, clock: str = "calendar") -> JobPool:
    """Return a pool whose hours have these counts; the first and last must not be 0."""
    hours = np.repeat(np.arange(np.size(counts)), np.asarray(counts))
    return pool_submitting(hours * HOUR, clock)


def test_both_definitions_are_counted_and_named() -> None:
    found = hourly_arrivals(pool_with([4, 0, 0, 0, 2]), (0.5, 0.75), PLAIN)
    assert found.counts.tolist() == [4, 0, 0, 0, 2]
    assert found.at(ALL_HOURS, 0.5) == 0
    assert found.at(ACTIVE_HOURS, 0.5) == 3
    assert found.at(ALL_HOURS, 0.75) == 2
    assert found.at(ACTIVE_HOURS, 0.75) == 3.5
    summary = found.summary.set_index("definition")
    assert summary["hours"].to_dict() == {ALL_HOURS: 5, ACTIVE_HOURS: 2}
    assert summary.loc[ALL_HOURS, "mean_per_hour"] == pytest.approx(6 / 5)
    assert np.isnan(summary.loc[ALL_HOURS, "peak_over_median"])
    assert summary.loc[ACTIVE_HOURS, "peak_over_median"] == pytest.approx(4 / 3)


def test_the_window_is_that_of_the_trace_not_of_the_pool() -> None:
    jobs = seren_jobs([1, 1, 1], submit_s=[0, 2 * HOUR, 5 * HOUR])
    jobs["state"] = pd.Categorical(["FAILED", "COMPLETED", "FAILED"])
    assert hourly_arrivals(select_pool(make_trace(jobs))).counts.tolist() == [0, 0, 1, 0, 0, 0]


def test_hours_are_whole_hours_of_the_sources_local_time() -> None:
    jobs = seren_jobs([1, 1], submit_s=[0, 40 * 60])
    jobs["submit_time"] = jobs["submit_time"].dt.tz_convert("+05:30")
    jobs["start_time"] = jobs["end_time"] = jobs["submit_time"]
    found = hourly_arrivals(select_pool(make_trace(jobs)))
    # Midnight at +08:00 is 21:30 at +05:30, so 40 minutes later is another local hour.
    assert found.counts.tolist() == [1, 1]
    assert found.window.timestamps()[0] == pd.Timestamp("2023-03-05 21:00")


def test_times_before_1970_fall_in_their_hour() -> None:
    jobs = elapsed_jobs([1, 1, 1], [-1, 0, 1])
    assert hourly_arrivals(select_pool(make_trace(jobs, "elapsed"))).counts.tolist() == [1, 2]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 40 * HOUR), min_size=1, max_size=60),
    st.integers(-5000, 5000),
    st.randoms(use_true_random=False),
)
def test_neither_a_shift_by_hours_nor_another_row_order_changes_a_quantile(
    submit_s: list[int], hours: int, random: object
) -> None:
    plain = hourly_arrivals(pool_submitting(submit_s), settings=PLAIN)
    moved = [second + hours * HOUR for second in submit_s]
    random.shuffle(moved)  # type: ignore[attr-defined]
    other = hourly_arrivals(pool_submitting(moved), settings=PLAIN)
    pd.testing.assert_frame_equal(plain.quantiles, other.quantiles)
    pd.testing.assert_frame_equal(plain.summary, other.summary)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40 * HOUR), min_size=1, max_size=60))
def test_every_job_twice_doubles_the_counts_and_all_jobs_are_counted(submit_s: list[int]) -> None:
    once = hourly_arrivals(pool_submitting(submit_s), settings=PLAIN)
    twice = hourly_arrivals(pool_submitting(submit_s * 2), settings=PLAIN)
    assert once.counts.sum() == len(submit_s)
    assert twice.counts.tolist() == (2 * once.counts).tolist()


def test_jobs_without_a_submit_time_are_counted_apart() -> None:
    jobs = elapsed_jobs([1, 1, 1], [0, 1, 2])
    jobs.loc[1, "submit_time"] = pd.NaT
    found = hourly_arrivals(select_pool(make_trace(jobs, "elapsed")))
    assert (found.counts.sum(), found.undated) == (2, 1)
    jobs.loc[[0, 2], "duration_s"] = 0
    with pytest.raises(InputError, match="submit_time"):
        hourly_arrivals(select_pool(make_trace(jobs, "elapsed")))


def test_the_week_pattern_has_the_quartiles_of_each_hour_of_the_week() -> None:
    counts = np.ones(5 * 168, dtype=int)
    counts[9::168] = [10, 20, 30, 40, 50]  # Monday 09:00 to 10:00: the factory starts a Monday
    frame = week_pattern(hourly_arrivals(pool_with(counts), settings=PLAIN)).frame
    assert len(frame) == 168
    assert (frame["hours"] == 5).all()
    busy = frame.loc[(frame["weekday"] == 0) & (frame["hour"] == 9)].iloc[0]
    assert busy[["p25_per_hour", "p50_per_hour", "p75_per_hour"]].tolist() == [20, 30, 40]
    assert (frame.drop(busy.name)["p75_per_hour"] == 1).all()


def test_the_hour_of_week_agrees_with_pandas() -> None:
    window = hourly_arrivals(pool_with([1, *[0] * 400, 1])).window
    stamps = window.timestamps()
    expected = stamps.day_of_week * 24 + stamps.hour
    assert window.hour_of_week().tolist() == expected.tolist()


def test_a_clock_without_calendar_has_no_week() -> None:
    pattern = week_pattern(hourly_arrivals(pool_with([1, 2], "elapsed")))
    assert not pattern.evaluable
    assert pattern.frame.empty
    assert pattern.not_evaluable == ("state", "times")


def test_regular_arrivals_do_not_vary_and_poisson_arrivals_have_a_variation_of_one() -> None:
    regular = burstiness(pool_submitting(np.arange(50) * 30))
    assert regular.interarrival_mean_s == pytest.approx(30)
    assert regular.interarrival_cv == pytest.approx(0)
    assert regular.shared_second == 0
    gaps = np.random.default_rng(4).exponential(100, 20_000)
    assert burstiness(pool_submitting(gaps.cumsum())).interarrival_cv == pytest.approx(1, abs=0.03)


def test_shared_seconds_are_a_share_of_jobs() -> None:
    found = burstiness(pool_submitting([0, 0, 0, 5, 9, 9, 20]))
    assert found.shared_second == pytest.approx(5 / 7)
    assert found.jobs == 7


@pytest.mark.parametrize("submit_s", [[3], [3, 3, 3], [3, 9]])
def test_too_little_to_vary_has_no_variation(submit_s: list[int]) -> None:
    assert np.isnan(burstiness(pool_submitting(submit_s)).interarrival_cv)


def test_a_daily_rhythm_shows_at_lag_24() -> None:
    rate = 20 * (1 + np.sin(np.arange(24 * 40) / 24 * 2 * np.pi)) + 1
    counts = np.random.default_rng(1).poisson(rate)
    counts[[0, -1]] = 1
    frame = autocorrelation(hourly_arrivals(pool_with(counts))).frame.set_index("lag_h")
    assert frame.index.max() == 336
    assert frame.loc[0, "autocorrelation"] == pytest.approx(1)
    assert frame.loc[24, "autocorrelation"] > 0.8
    assert frame.loc[12, "autocorrelation"] < -0.8
    assert frame.loc[24, "band_high"] < frame.loc[24, "autocorrelation"]


def test_independent_counts_stay_in_the_band_as_often_as_it_says() -> None:
    counts = np.random.default_rng(3).poisson(20, 4000)
    frame = autocorrelation(hourly_arrivals(pool_with(counts))).frame.iloc[1:]
    outside = (frame["autocorrelation"].abs() > frame["band_high"]).mean()
    assert 0.01 < outside < 0.1
    assert frame["band_high"].iloc[0] == pytest.approx(1.96 / np.sqrt(4000), rel=1e-3)


@pytest.mark.parametrize("counts", [[3], [2, 2, 2, 2, 2, 2]])
def test_equal_counts_have_no_autocorrelation(counts: list[int]) -> None:
    frame = autocorrelation(hourly_arrivals(pool_with(counts))).frame
    assert frame["autocorrelation"].isna().all()


def test_results_name_the_steps_that_were_not_evaluable() -> None:
    pool = dataclasses.replace(pool_with([1, 2, 1]), not_evaluable=("state",))
    arrivals = hourly_arrivals(pool)
    for found in (arrivals, week_pattern(arrivals), burstiness(pool), autocorrelation(arrivals)):
        assert found.not_evaluable == ("state",)
