"""The stand-in meets what was published; the counting itself is tested on a tiny table."""

import numpy as np
import pandas as pd
import pytest

from aidc.standin import fit, trace
from aidc.standin.targets import cumulative, targets


@pytest.fixture
def tiny() -> pd.DataFrame:
    """Two days of six jobs, small enough to count by hand."""
    start = pd.Timestamp("2023-03-01 00:30:00+08:00")
    submit = [start + pd.Timedelta(seconds=s) for s in (0, 0, 60, 3_600, 86_400, 86_401)]
    jobs = pd.DataFrame(
        {
            "job_id": range(6),
            "user": ["a", "a", "b", "b", "c", "c"],
            "gpu_num": [8, 4, 1, 0, 2, 16],
            "type": ["Eval", "Eval", "Other", "CPU", "SFT", "SFT"],
            "state": ["COMPLETED", "COMPLETED", "FAILED", "COMPLETED", "COMPLETED", "COMPLETED"],
            "submit_time": submit,
            "duration": [3_600, 1_800, 10, 5, 0, 7_200],
            "queue": [0, 0, 0, 1, 0, 0],
        }
    )
    jobs["start_time"] = jobs["submit_time"] + pd.to_timedelta(jobs["queue"], unit="s")
    jobs["end_time"] = jobs["start_time"] + pd.to_timedelta(jobs["duration"], unit="s")
    return jobs


def test_counts_of_a_tiny_table(tiny: pd.DataFrame) -> None:
    counted = fit.count(tiny)
    expected = {
        "rows.completed": 5,
        "rows.completed_gpu": 4,
        "pool.jobs": 3,
        "pool.zero_duration": 1,
        "pool.duration_s.p50": 3_600,
        "pool.arrivals_per_hour.p50": 0,
        "pool.arrivals_per_hour.active_hours.p50": 1.5,
        "pool.same_second_share": 2 / 3,
        "pool.interarrival_cv": 1,
        "four.completed": 4,
        "four.jobs": 3,
        "four.per_day.active_days": 2,
        "four.per_day.max": 2,
        "gpu.hours": 8 + 2 + 10 / 3600 + 32,
        "gpu.concurrent.max": 16,
        "gpu.state_share.FAILED": 0.2,
        "cpu.duration_s.p50": 5,
        "window.last_submit": "2023-03-02 00:30:01",
    }
    for key, value in expected.items():
        assert counted[key] == pytest.approx(value), key


def test_a_deviation_is_reported_as_not_met(tiny: pd.DataFrame) -> None:
    report = fit.fit_report(tiny).set_index("target")
    missed = report.loc["rows.total"]
    assert not missed["met"]
    assert missed["difference"] == len(tiny) - targets()["rows.total"].number
    assert report.loc["rows.users", "kind"] == fit.FREE


def test_free_choices_say_what_and_how() -> None:
    assert all(choice.what and choice.how for choice in fit.FREE_CHOICES)
    named = " ".join(choice.what for choice in fit.FREE_CHOICES)
    for subject in ("users", "states", "GPU count", "arrivals", "waiting times"):
        assert subject in named


@pytest.mark.slow
class TestFullSize:
    def test_the_report_covers_every_target(self, full_report: pd.DataFrame) -> None:
        compared = full_report[full_report["kind"] != fit.FREE]
        assert len(compared) == len(targets()) + len(cumulative())
        assert set(targets()) <= set(compared.index)

    def test_exact_targets_are_met(self, full_report: pd.DataFrame) -> None:
        exact = full_report[full_report["kind"] == fit.EXACT]
        assert exact[~exact["met"].astype(bool)].index.tolist() == []

    def test_published_counts_are_met_without_tolerance(self, full_report: pd.DataFrame) -> None:
        counts = full_report[full_report["source"] == "figures"]
        assert len(counts) == 266 + 24
        assert (counts["difference"] == 0).all()

    def test_approximate_targets_are_met_within_tolerance(self, full_report: pd.DataFrame) -> None:
        near = full_report[full_report["kind"] == fit.APPROXIMATE]
        assert near[~near["met"].astype(bool)].index.tolist() == []

    def test_the_cluster_is_never_exceeded(self, full_report: pd.DataFrame) -> None:
        assert full_report.loc["gpu.concurrent.max", "difference"] <= 0


def test_another_full_seed_would_use_the_same_tables() -> None:
    small = [fit.count(trace.generate(rows=1_000, seed=seed)) for seed in (1, 2)]
    assert small[0]["rows.completed"] == small[1]["rows.completed"]
    assert not np.isclose(float(small[0]["pool.duration_s.p50"]), 0)
