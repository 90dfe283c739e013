import dataclasses
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mypy import api

from aidc import paths
from aidc.constructed.slack import Slack, deadlines
from aidc.evidence import EvidenceError, InputError, Layer, Provenance
from aidc.observed.funnel import JobPool, PoolRules, select_pool
from aidc.observed.stats import queue_times
from tests.observed.factories import FROM_FILE, elapsed_jobs, make_trace, seren_jobs


@pytest.fixture
def pool() -> JobPool:
    return select_pool(make_trace(seren_jobs([60, 0.5], submit_s=[0, 3600], queue_s=30)))


def test_a_deadline_is_release_plus_processing_plus_slack(pool: JobPool) -> None:
    found = deadlines(pool, Slack.of_minutes(15))
    allowed = found.frame["deadline_time"] - found.frame["release_time"]
    assert allowed.dt.total_seconds().tolist() == [60 + 900, 900.5]
    assert found.frame["processing_s"].tolist() == [60, 0.5]
    assert found.frame["line"].tolist() == [2, 3]
    assert found.slack_min == 15


def test_a_job_without_submit_time_has_no_deadline() -> None:
    jobs = elapsed_jobs([5, 6], [0, 1])
    jobs.loc[1, "submit_time"] = pd.NaT
    found = deadlines(select_pool(make_trace(jobs, "elapsed")), Slack.of_minutes(0))
    assert found.frame["deadline_time"].isna().tolist() == [False, True]
    assert found.not_evaluable == ("state", "times")


def test_deadlines_are_constructed_and_name_the_setting(pool: JobPool) -> None:
    evidence = deadlines(pool, Slack.of_minutes(1)).evidence
    assert evidence is not None
    assert evidence.layer is Layer.CONSTRUCTED
    assert evidence.inputs == FROM_FILE.inputs | {"setting:slack_min"}
    assert evidence.provenance is Provenance.UNVERIFIED


@pytest.mark.parametrize("minutes", [-1, float("nan"), float("inf"), True, "30", None])
def test_minutes_that_are_no_slack_are_refused(minutes: float) -> None:
    with pytest.raises(InputError, match="slack_min: found"):
        Slack.of_minutes(minutes)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Slack.of_minutes(np.int64(2)).seconds == 120


def test_only_a_slack_makes_deadlines(pool: JobPool) -> None:
    queue = queue_times(pool)
    for wrong in (queue, 30, 30.0, pool.jobs["queue_s"], pool, None):
        with pytest.raises(EvidenceError) as error:
            deadlines(pool, wrong)  # type: ignore[arg-type]
        message = str(error.value)
        assert f"got a {type(wrong).__name__}" in message
        assert "rule 'deadlines take a slack that was set'" in message
        assert "allowed is Slack.of_minutes" in message


def test_no_slack_is_made_of_what_was_observed(pool: JobPool) -> None:
    for observed in (queue_times(pool), pool.jobs["queue_s"], pool.jobs["queue_s"].to_numpy()):
        with pytest.raises(EvidenceError, match="slack is set, not observed"):
            Slack.of_minutes(observed)  # type: ignore[arg-type]


def test_a_slack_built_by_hand_carries_no_evidence_and_is_refused(pool: JobPool) -> None:
    with pytest.raises(EvidenceError, match="built by hand"):
        deadlines(pool, Slack(minutes=5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Slack.of_minutes(5).minutes = 6  # type: ignore[misc]


def test_an_empty_pool_is_refused() -> None:
    pool = select_pool(make_trace(seren_jobs([1])), PoolRules(min_gpu_num=2))
    with pytest.raises(InputError, match="deadlines: found no job"):
        deadlines(pool, Slack.of_minutes(1))


@pytest.mark.slow
def test_the_same_misuse_is_an_error_of_types(tmp_path: Path) -> None:
    script = tmp_path / "misuse.py"
    script.write_text(
        textwrap.dedent(
            """\
            import pandas as pd

            from aidc.constructed.slack import Slack, deadlines
            from aidc.observed.funnel import JobPool
            from aidc.observed.stats import HistoricalQueue


            def right(pool: JobPool) -> None:
                deadlines(pool, Slack.of_minutes(30))


            def wrong(pool: JobPool, queue: HistoricalQueue, column: pd.Series[float]) -> None:
                deadlines(pool, queue)
                deadlines(pool, 30)
                deadlines(pool, column)
                Slack.of_minutes(column)
                Slack.of_minutes(queue)
            """
        )
    )
    output, _, _ = api.run(
        ["--config-file", str(paths.ROOT / "pyproject.toml"), "--no-error-summary", str(script)]
    )
    lines = [int(line.split(":")[1]) for line in output.splitlines() if ": error:" in line]
    assert lines == [13, 14, 15, 16, 17]
    assert output.count("[arg-type]") == len(lines)
