import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError, Layer
from aidc.observed.funnel import STEPS, PoolRules, select_pool
from aidc.observed.trace import load_trace
from tests.observed import seren_lines
from tests.observed.factories import FROM_FILE, elapsed_jobs, make_trace, seren_jobs

STATES = ("COMPLETED", "FAILED", "CANCELLED")


def seven_jobs() -> pd.DataFrame:
    jobs = seren_jobs(
        [10, 0, 20, 30, 40, 5, 50],
        state=["COMPLETED"] * 6 + ["FAILED"],
        gpu_num=[1, 1, 0, 8, 2, 1, 4],
    )
    jobs.loc[3, "end_time"] = jobs.loc[3, "start_time"] - pd.Timedelta(seconds=1)
    jobs.loc[4, "start_time"] = pd.NaT
    return jobs


def test_the_steps_are_the_papers_and_account_for_every_row() -> None:
    pool = select_pool(make_trace(seven_jobs()))
    assert list(pool.funnel["step"]) == list(STEPS)
    assert list(pool.funnel["rows_in"]) == [7, 7, 6, 5, 4]
    assert list(pool.funnel["rows_out"]) == [7, 6, 5, 4, 2]
    assert pool.funnel["evaluable"].all()
    assert pool.not_evaluable == ()
    assert list(pool.jobs["line"]) == [2, 7]
    assert pool.zero_duration == 1
    assert pool.found("end before start") == 1
    assert pool.found("missing start_time") == 1
    assert pool.found("start before submit") == 0
    assert pool.rows_total == 7


def test_a_step_sees_only_what_the_one_before_it_kept() -> None:
    jobs = seren_jobs([0, 0, 0], state=["COMPLETED", "FAILED", "COMPLETED"], gpu_num=[1, 1, 0])
    assert select_pool(make_trace(jobs)).zero_duration == 1


def test_rows_set_aside_by_the_reader_are_counted_in_the_first_step() -> None:
    trace = dataclasses.replace(make_trace(seren_jobs([1, 2])), rows=5)
    first = select_pool(trace).funnel.iloc[0]
    assert (first["rows_in"], first["rows_out"], first["rows_removed"]) == (5, 2, 3)


def test_stricter_rules_are_applied_and_stated() -> None:
    rules = PoolRules(states=("COMPLETED", "FAILED"), min_gpu_num=2, min_duration_s=40)
    pool = select_pool(make_trace(seven_jobs()), rules)
    assert list(pool.funnel["rows_out"]) == [7, 7, 3, 2, 1]
    assert pool.found("positive duration below the minimum") == 1
    stated = " / ".join(pool.funnel["rule"])
    for part in ("COMPLETED or FAILED", "gpu_num >= 2", "duration >= 40 s"):
        assert part in stated


def test_what_a_dialect_cannot_answer_passes_and_is_marked() -> None:
    pool = select_pool(make_trace(elapsed_jobs([5, 0, 7], [0, 10, 20]), clock="elapsed"))
    assert pool.not_evaluable == ("state", "times")
    assert list(pool.funnel["rows_out"]) == [3, 3, 3, 2, 2]
    assert list(pool.funnel["evaluable"]) == [True, False, True, True, False]
    with pytest.raises(KeyError, match="end before start"):
        pool.found("end before start")


def test_missing_numbers_never_pass() -> None:
    jobs = seren_jobs([1, np.nan, 3])
    jobs["gpu_num"] = [1.0, 1.0, np.nan]
    pool = select_pool(make_trace(jobs))
    assert list(pool.funnel["rows_out"]) == [3, 3, 2, 1, 1]
    assert pool.found("missing gpu_num") == 1
    assert pool.found("missing duration") == 1


def test_an_unknown_state_lists_those_found() -> None:
    trace = make_trace(seven_jobs())
    with pytest.raises(InputError) as error:
        select_pool(trace, PoolRules(states=("completed", "COMPLETED")))
    message = str(error.value)
    assert "states completed never occur" in message
    assert "found COMPLETED, FAILED" in message
    assert "\n" not in message


def test_a_state_that_is_only_a_category_does_not_occur() -> None:
    jobs = seren_jobs([1.0], state="FAILED")
    jobs["state"] = jobs["state"].cat.add_categories("COMPLETED")
    with pytest.raises(InputError, match="found FAILED;"):
        select_pool(make_trace(jobs))


def test_a_trace_whose_every_row_is_set_aside_says_why(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    rows = [seren_lines.row(state="COMPLETED", duration=duration) for duration in ("", "x")]
    path.write_text("\n".join([seren_lines.HEADER, *rows, ""]))
    with pytest.raises(InputError) as error:
        select_pool(load_trace(path, evidence=FROM_FILE))
    message = str(error.value)
    assert f"{path}, line 2: found no row that can be used, all 2 are set aside" in message
    assert "duration: missing (1)" in message
    assert "duration: not a number (1)" in message
    assert "expected at least one job; mend that column" in message


def test_a_trace_without_any_state_is_told_so() -> None:
    jobs = seren_jobs([1.0], state="COMPLETED")
    jobs["state"] = pd.Series([None], dtype="category")
    with pytest.raises(InputError, match="found no state in any row, expected COMPLETED; use a"):
        select_pool(make_trace(jobs))


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"states": ()}, "states"),
        ({"states": "COMPLETED"}, "states"),
        ({"min_gpu_num": 0}, "min_gpu_num"),
        ({"min_duration_s": -1.0}, "min_duration_s"),
        ({"min_duration_s": float("nan")}, "min_duration_s"),
        ({"min_duration_s": float("inf")}, "min_duration_s"),
    ],
)
def test_impossible_rules_are_refused(rules: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        PoolRules(**rules)  # type: ignore[arg-type]


def test_a_trace_without_any_submit_time_is_refused() -> None:
    jobs = seren_jobs([1.0])
    jobs["submit_time"] = pd.NaT
    jobs["submit_time"] = jobs["submit_time"].dt.tz_localize("UTC")
    with pytest.raises(InputError, match="submit_time"):
        select_pool(make_trace(jobs))


def test_the_pool_carries_the_evidence_of_its_trace() -> None:
    evidence = select_pool(make_trace(seven_jobs())).evidence
    assert evidence == FROM_FILE
    assert evidence is not None
    assert evidence.layer is Layer.OBSERVED


job = st.tuples(
    st.sampled_from((*STATES, None)),
    st.integers(0, 9),
    st.one_of(st.integers(-1, 4).map(float), st.just(float("nan"))),
    st.integers(-2, 3),
    st.integers(-2, 3),
    st.sampled_from(("submit_time", "start_time", "end_time", None, None, None)),
)


@settings(deadline=None)
@given(st.lists(job, min_size=1, max_size=40), st.integers(1, 4), st.integers(0, 3))
def test_the_account_telescopes_and_agrees_with_plain_rules(
    rows: list[tuple[str | None, int, float, int, int, str | None]], gpus: int, least: int
) -> None:
    jobs = seren_jobs([row[2] for row in rows], gpu_num=[row[1] for row in rows])
    jobs["state"] = pd.Categorical([row[0] for row in rows], categories=STATES)
    jobs["start_time"] = jobs["submit_time"] + pd.to_timedelta([row[3] for row in rows], unit="s")
    jobs["end_time"] = jobs["start_time"] + pd.to_timedelta([row[4] for row in rows], unit="s")
    for i, row in enumerate(rows):
        if row[5]:
            jobs.loc[i, row[5]] = pd.NaT
    seen = {row[0] for row in rows} - {None}
    if not seen or jobs["submit_time"].isna().all():
        return
    state = sorted(str(name) for name in seen)[0]
    rules = PoolRules(states=(state,), min_gpu_num=gpus, min_duration_s=least)
    pool = select_pool(make_trace(jobs), rules)
    funnel = pool.funnel
    assert (funnel["rows_in"] - funnel["rows_removed"] == funnel["rows_out"]).all()
    assert list(funnel["rows_in"])[1:] == list(funnel["rows_out"])[:-1]
    expected = [
        i + 2
        for i, (name, gpu_num, duration, queue, run, missing) in enumerate(rows)
        if name == state
        and gpu_num >= gpus
        and duration > 0
        and duration >= least
        and queue >= 0
        and run >= 0
        and missing is None
    ]
    assert list(pool.jobs["line"]) == expected
    removed = pool.findings.loc[pool.findings["step"] == "duration", "rows"].sum()
    assert removed == funnel.loc[funnel["step"] == "duration", "rows_removed"].iloc[0]
