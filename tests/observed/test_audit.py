"""Findings follow from comparing counts: whichever identity holds in the data is named."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.evidence import Evidence, EvidenceError, Layer, Provenance
from aidc.observed.audit import TraceAudit, audit_trace
from aidc.observed.comparison import compare_traces
from aidc.observed.formats import KALOS, SEREN, Dialect
from aidc.observed.rules import Rows, RuleResult
from aidc.observed.trace import JobTrace
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs

QUEUED = "it includes the queue"


def audit(jobs: pd.DataFrame, dialect: Dialect = SEREN) -> TraceAudit:
    return audit_trace(make_trace(jobs, dialect=dialect))


def text_of(found: TraceAudit) -> str:
    return "\n".join(found.findings)


def with_queue_in_duration(jobs: pd.DataFrame) -> pd.DataFrame:
    return jobs.assign(duration_s=(jobs["end_time"] - jobs["submit_time"]).dt.total_seconds())


@given(
    runs=st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 10**5)), min_size=1, max_size=9),
    includes=st.booleans(),
    dialect=st.sampled_from([SEREN, KALOS]),
)
def test_the_meaning_of_the_duration_is_found_whatever_the_dialect(
    runs: list[tuple[int, int]], includes: bool, dialect: Dialect
) -> None:
    jobs = seren_jobs([run for run, _ in runs], queue_s=[queue for _, queue in runs])
    jobs = with_queue_in_duration(jobs) if includes else jobs
    found = audit(jobs, dialect=dialect)
    assert (QUEUED in text_of(found)) == includes
    rule = found.rule("identity.duration")
    assert (rule.failed, rule.passed) == ((len(runs), 0) if includes else (0, len(runs)))
    readings = {r.identity: r for r in found.readings if r.field == "duration_s"}
    assert readings["end - submit"].telling == len(runs)
    assert readings["end - submit"].telling_holds == (len(runs) if includes else 0)


def test_jobs_that_did_not_wait_cannot_tell_what_the_duration_is() -> None:
    found = audit(seren_jobs([5, 6], queue_s=0))
    assert [r.telling for r in found.readings if r.field == "duration_s"] == [0, 0]
    assert QUEUED not in text_of(found)
    assert found.rule("identity.duration_without_queue").not_evaluable == 2


def test_a_minority_that_fits_another_meaning_is_a_failure_not_a_meaning() -> None:
    jobs = seren_jobs([5, 6, 7], queue_s=10)
    jobs.loc[0, "duration_s"] = 15
    found = audit(jobs)
    assert QUEUED not in text_of(found)
    assert "1 of 3 rows fail 'identity.duration' (duration = end - start)" in text_of(found)


@given(gpus=st.integers(2, 64), includes=st.booleans())
def test_gpu_time_inherits_the_queue_only_from_the_duration(gpus: int, includes: bool) -> None:
    jobs = seren_jobs([50, 60], queue_s=[7, 9], gpu_num=gpus)
    jobs = with_queue_in_duration(jobs) if includes else jobs
    jobs["gpu_time_s"] = jobs["duration_s"] * gpus
    assert ("gpu_time inherits the queue" in text_of(audit(jobs))) == includes


def test_gpu_time_can_mean_something_else_than_the_duration_beside_it() -> None:
    jobs = seren_jobs([50, 60], queue_s=[7, 9], gpu_num=2)
    jobs["gpu_time_s"] = jobs["duration_s"] * 2
    found = audit(with_queue_in_duration(jobs))
    assert "gpu_time is (end - start) x gpu_num, not duration x gpu_num" in text_of(found)


def test_an_empty_field_is_explained_by_the_group_that_lacks_it() -> None:
    jobs = seren_jobs([5, 6, 7, 8], gpu_num=[0, 0, 1, 1])
    jobs["gpu_time_s"] = [np.nan, np.nan, 7.0, 8.0]
    assert "gpu_time is empty for exactly the 2 jobs without GPUs." in text_of(audit(jobs))
    jobs.loc[1, "gpu_time_s"] = 0.0
    assert "gpu_time is empty for 1 of the 2 jobs without GPUs, no others" in text_of(audit(jobs))
    jobs.loc[2, "gpu_time_s"] = np.nan
    jobs["state"] = pd.Categorical(["COMPLETED", "FAILED", "TIMEOUT", "FAILED"])
    jobs["type"] = pd.Categorical(["CPU", "CPU", "Eval", "Eval"])
    assert "gpu_time: 2 of 4 rows fail 'presence.gpu_time'" in text_of(audit(jobs))


def test_one_job_is_no_plural() -> None:
    jobs = seren_jobs([5, 6], gpu_num=[0, 1]).assign(gpu_time_s=[np.nan, 6.0])
    assert "gpu_time is empty for exactly the 1 job without GPUs." in text_of(audit(jobs))
    assert "Submits span 1 day, " in text_of(audit(jobs))


def test_running_jobs_are_found_and_when_the_trace_was_taken() -> None:
    jobs = seren_jobs([30, 100, 40], submit_s=[0, 60, 120], queue_s=5)
    jobs["state"] = pd.Categorical(["COMPLETED", "RUNNING", "RUNNING"])
    jobs["end_time"] = jobs["end_time"].where(jobs["state"] == "COMPLETED")
    text = text_of(audit(jobs))
    assert "end_time is empty for exactly the 2 jobs of state RUNNING." in text
    assert "submit_time + duration is one moment, 2023-03-06 00:02:40+08:00" in text
    assert "RUNNING (2)" in text
    jobs.loc[2, "duration_s"] = 41
    assert "one moment" not in text_of(audit(jobs))


@pytest.mark.parametrize(("days", "shown"), [(0, "1 day,"), (168, "169 days")])
def test_the_days_of_submits_stand_beside_the_documented_months(days: int, shown: str) -> None:
    found = audit(seren_jobs([5, 5], submit_s=[0, days * 86_400]))
    assert f"Submits span {shown}" in text_of(found)
    assert "6 months, 2023-03 to 2023-08, which have 184 days" in text_of(found)


def test_a_trace_without_a_completed_job_is_audited_and_its_pool_is_empty() -> None:
    found = audit(seren_jobs([5, 6], state="FAILED"))
    assert found.funnel["rows_out"].tolist() == [2, 0, 0, 0, 0]
    assert "The task pool is empty" in text_of(found)


def test_a_trace_of_which_no_row_can_be_read_is_audited() -> None:
    trace = make_trace(seren_jobs([5]).head(0))
    aside = pd.DataFrame({"line": [2], "reason": ["2 fields, expected 13"], "text": ["x"],
                          "field": [""]})  # fmt: skip
    found = audit_trace(dataclasses.replace(trace, rows=1, set_aside=aside))
    assert (found.rows, found.kept, found.window) == (1, 0, None)
    assert math.isnan(found.median_gpu_duration_s)
    assert {rule.passed for rule in found.rules} == {0}
    assert found.rule("row.fields").failed == 1


def test_what_a_dialect_lacks_is_not_evaluable() -> None:
    trace = make_trace(elapsed_jobs([5, 0], [0, 10]), clock="elapsed")
    found = audit_trace(trace)
    assert found.rule("order.start_end").not_evaluable == 2
    assert found.rule("zero.duration").failed == 1
    assert "no column for user" in text_of(found)
    assert found.not_evaluable == ("state", "times")


def test_the_counts_of_a_rule_have_to_add_up() -> None:
    with pytest.raises(ValueError, match="are no part of 4"):
        RuleResult(id="a", field="b", text="c", n=4, not_evaluable=1, failed=4)


def test_an_audit_carries_the_evidence_of_its_trace() -> None:
    trace = make_trace(seren_jobs([5]))
    assert audit_trace(trace).evidence == trace.evidence
    with pytest.raises(EvidenceError):
        audit_trace(dataclasses.replace(trace, evidence=None))


def test_a_comparison_is_no_better_than_the_weakest_of_its_files() -> None:
    synthetic = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"seren-standin"}))
    first = audit(seren_jobs([5], queue_s=3))
    other = make_trace(with_queue_in_duration(seren_jobs([5], queue_s=3)))
    other = audit_trace(dataclasses.replace(other, evidence=synthetic))
    found = compare_traces([first, dataclasses.replace(other, path="other.csv")])
    assert found.evidence is not None
    assert found.evidence.provenance is Provenance.SYNTHETIC
    assert any("duration_s means different things" in finding for finding in found.findings)


def test_an_audit_says_what_fails_and_what_cannot_be_asked() -> None:
    calendar = audit(seren_jobs([0, 6]))
    assert (calendar.failed("zero.duration"), calendar.failed("order.start_end")) == (1, 0)
    assert (calendar.failed("end.running_jobs"), calendar.failed("no.rule")) == (None, None)
    assert calendar.submit_days == 1
    elapsed = audit_trace(make_trace(elapsed_jobs([5], [0]), clock="elapsed"))
    assert (elapsed.submit_days, elapsed.failed("identity.duration")) == (None, None)


def test_tables_hold_every_rule_and_reading() -> None:
    found = audit(seren_jobs([5, 6], queue_s=3))
    assert list(found.rule_table()["id"]) == [rule.id for rule in found.rules]
    columns = ["id", "field", "n", "not_evaluable", "passed", "failed", "text", "examples"]
    assert list(found.rule_table()) == columns
    assert len(set(found.rule_table()["id"])) == len(found.rules)
    assert set(found.reading_table()["field"]) == {"duration_s", "queue_s"}
    with pytest.raises(KeyError, match="is no rule"):
        found.rule("nonsense")


def test_rows_are_read_without_changing_the_trace() -> None:
    trace: JobTrace = make_trace(seren_jobs([5, 6]))
    before = trace.jobs.copy(deep=True)
    audit_trace(trace)
    Rows(trace).seconds("end_time")[:] = 0
    pd.testing.assert_frame_equal(trace.jobs, before)
