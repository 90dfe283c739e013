from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError, Layer
from aidc.observed.funnel import JobPool, PoolRules, select_pool
from aidc.observed.intervals import IntervalSettings
from aidc.observed.stats import (
    duration_ecdf,
    duration_quantiles,
    queue_times,
    shares,
)
from aidc.observed.trace import load_trace
from tests.observed.factories import FROM_FILE, elapsed_jobs, make_trace, seren_jobs

PLAIN = IntervalSettings(resamples=0)
BOOTSTRAP = IntervalSettings(resamples=60)


def pool_of(jobs: pd.DataFrame, clock: str = "calendar") -> JobPool:
    return select_pool(make_trace(jobs, clock))


def test_quantiles_of_the_first_whole_numbers_are_type_7() -> None:
    found = duration_quantiles(pool_of(seren_jobs(np.arange(1, 101))), (0.5, 0.9, 0.25), PLAIN)
    assert found.at(0.5) == pytest.approx(50.5)
    assert found.at(0.9) == pytest.approx(90.1)
    assert found.at(0.25) == pytest.approx(25.75)
    with pytest.raises(KeyError, match=r"0\.95"):
        found.at(0.95)


def test_order_statistics_are_read_at_their_ranks() -> None:
    frame = duration_quantiles(pool_of(seren_jobs(np.arange(1, 11))), (0.5, 0.95), PLAIN).frame
    median, high = frame.iloc[0], frame.iloc[1]
    assert (median["duration_s_order_low"], median["duration_s_order_high"]) == (2, 9)
    assert median["order_coverage"] == pytest.approx(0.978515625)
    assert np.isnan(high["duration_s_order_high"])


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_the_order_of_rows_changes_no_quantile(random: object, durations: list[int]) -> None:
    jobs = seren_jobs(durations)
    order = list(range(len(durations)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = duration_quantiles(pool_of(jobs), settings=PLAIN).frame
    mixed = duration_quantiles(pool_of(jobs.iloc[order]), settings=PLAIN).frame
    pd.testing.assert_frame_equal(plain, mixed)


def test_the_bootstrap_follows_submit_order_and_not_file_order() -> None:
    jobs = seren_jobs(np.repeat([10, 500, 20, 900], 100))
    shuffled = jobs.sample(frac=1, random_state=1)
    sorted_file, mixed_file = (
        duration_quantiles(pool_of(frame), settings=BOOTSTRAP) for frame in (jobs, shuffled)
    )
    assert sorted_file.block_length > 1
    pd.testing.assert_frame_equal(sorted_file.frame, mixed_file.frame)


def test_equal_input_gives_equal_intervals_and_another_seed_others() -> None:
    pool = pool_of(seren_jobs(np.random.default_rng(0).lognormal(5, 2, 300).round() + 1))
    first = duration_quantiles(pool, settings=BOOTSTRAP).frame
    pd.testing.assert_frame_equal(first, duration_quantiles(pool, settings=BOOTSTRAP).frame)
    other = duration_quantiles(pool, settings=IntervalSettings(resamples=60, seed=1)).frame
    assert not first["duration_s_block_low"].equals(other["duration_s_block_low"])


def test_one_job_has_a_quantile_but_no_interval() -> None:
    found = duration_quantiles(pool_of(seren_jobs([7.0])), settings=BOOTSTRAP)
    assert found.at(0.5) == 7
    bounds = [c for c in found.frame if str(c).endswith(("_low", "_high"))]
    assert found.frame[bounds].isna().all(axis=None)


def test_an_empty_pool_is_refused_and_its_cause_named() -> None:
    trace = make_trace(seren_jobs([1, 2], gpu_num=1))
    pool = select_pool(trace, PoolRules(min_gpu_num=5))
    for statistic in (duration_quantiles, duration_ecdf, queue_times):
        with pytest.raises(InputError, match="after the step 'gpu_num'"):
            statistic(pool)


def test_the_ecdf_is_exact_and_its_band_holds_it() -> None:
    found = duration_ecdf(pool_of(seren_jobs([1, 2, 2, 4])))
    assert list(found.frame["duration_s"]) == [1, 2, 4]
    assert list(found.frame["share"]) == [0.25, 0.75, 1]
    half = np.sqrt(np.log(2 / 0.05) / 8)
    assert found.frame["share_low"].iloc[1] == pytest.approx(0.75 - half)
    assert found.frame["share_high"].iloc[1] == 1


def test_a_thinned_ecdf_is_exact_where_it_is_given() -> None:
    durations = np.random.default_rng(2).lognormal(5, 2, 3000).round() + 1
    frame = duration_ecdf(pool_of(seren_jobs(durations)), points=50).frame
    assert len(frame) <= 52
    assert frame["duration_s"].iloc[[0, -1]].tolist() == [durations.min(), durations.max()]
    expected = [(durations <= d).mean() for d in frame["duration_s"]]
    assert frame["share"].to_numpy() == pytest.approx(expected)


def test_the_band_covers_the_whole_distribution_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(60):
        durations = np.random.default_rng(seed).exponential(100, 200)
        frame = duration_ecdf(pool_of(seren_jobs(durations)), confidence=0.9).frame
        truth = 1 - np.exp(-frame["duration_s"] / 100)
        covered += bool(((frame["share_low"] <= truth) & (truth <= frame["share_high"])).all())
    assert covered / 60 >= 0.85


def test_shares_count_jobs_and_gpu_time() -> None:
    jobs = seren_jobs([3600, 3600, 7200], gpu_num=[1, 1, 8], kind=["Eval", "Eval", "Pretrain"])
    frame = shares(pool_of(jobs), ("type",)).frame.set_index("type")
    assert frame["jobs"].to_dict() == {"Eval": 2, "Pretrain": 1}
    assert frame["gpu_time_h"].to_dict() == {"Eval": 2, "Pretrain": 16}
    assert frame.loc["Pretrain", "gpu_time_share"] == pytest.approx(16 / 18)
    assert frame.loc["Eval", "jobs_share"] == pytest.approx(2 / 3)


def test_shares_of_a_trace_name_what_is_missing() -> None:
    jobs = seren_jobs([10, np.nan, 30], kind=["Eval", None, "Eval"], gpu_num=[1, 2, 0])
    found = shares(make_trace(jobs), ("type", "state"))
    assert found.frame[["type", "state", "jobs"]].to_numpy().tolist() == [
        ["Eval", "COMPLETED", 2],
        ["missing", "COMPLETED", 1],
    ]
    assert found.frame["gpu_time_h"].tolist() == [10 / 3600, 0]
    jobs["gpu_num"] = [1.0, np.nan, 1.0]
    by_gpu = shares(make_trace(jobs), ("gpu_num",)).frame
    assert by_gpu["jobs"].tolist() == [2, 1]
    assert np.isnan(by_gpu["gpu_num"].iloc[1])


def test_every_job_twice_doubles_every_count_and_no_share() -> None:
    jobs = seren_jobs([5, 60, 700], gpu_num=[1, 2, 4], kind=["Eval", "SFT", "Eval"])
    once = shares(pool_of(jobs), ("gpu_num",)).frame
    twice = shares(pool_of(pd.concat([jobs, jobs])), ("gpu_num",)).frame
    for column in ("jobs", "gpu_time_h"):
        assert twice[column].tolist() == pytest.approx((2 * once[column]).tolist())
    for column in ("jobs_share", "gpu_time_share"):
        assert twice[column].tolist() == pytest.approx(once[column].tolist())


def test_shares_without_the_column_are_not_evaluable() -> None:
    pool = pool_of(elapsed_jobs([5, 6], [0, 1]), "elapsed")
    found = shares(pool, ("type",))
    assert not found.evaluable
    assert found.frame.empty
    assert found.not_evaluable == ("state", "times")


def test_queue_times_are_start_minus_submit_whatever_the_file_says() -> None:
    jobs = seren_jobs([10, 10, 10, 10, 10], queue_s=[0, 0, 10, 20, 30])
    jobs.loc[4, "queue_s"] = 99
    found = queue_times(pool_of(jobs), (0.5, 0.75))
    assert found.frame["queue_s"].tolist() == [10, 20]
    assert (found.jobs, found.waited_longer, found.other_than_file) == (5, 3, 1)


def test_queue_times_without_start_times_are_not_evaluable() -> None:
    found = queue_times(pool_of(elapsed_jobs([5, 6], [0, 1]), "elapsed"))
    assert not found.evaluable
    assert found.frame.empty
    assert found.other_than_file is None


def test_statistics_stay_observed_and_keep_their_inputs() -> None:
    pool = pool_of(seren_jobs([1.0, 2.0]))
    for carrier in (duration_quantiles(pool), duration_ecdf(pool), shares(pool), queue_times(pool)):
        assert carrier.evidence == FROM_FILE
        assert carrier.evidence.layer is Layer.OBSERVED


@pytest.mark.real_data
def test_the_real_philly_trace_is_described_with_what_it_lacks(real_data: Path) -> None:
    trace = load_trace(
        real_data / "philly" / "rfold_philly_trace.csv", dialect="auto", evidence=FROM_FILE
    )
    pool = select_pool(trace)
    assert pool.not_evaluable == ("state", "times")
    found = duration_quantiles(pool, settings=BOOTSTRAP)
    assert found.not_evaluable == ("state", "times")
    row = found.frame.iloc[0]
    order = row["duration_s_order_high"] - row["duration_s_order_low"]
    block = row["duration_s_block_high"] - row["duration_s_block_low"]
    assert block > 2 * order  # jobs come in clusters: independence is far off
