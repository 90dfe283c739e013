"""The field table: counts of the audit beside the uses of the register."""

from __future__ import annotations

import numpy as np

from aidc.evidence import Layer
from aidc.evidence.register import read_register
from aidc.observed.audit import audit_trace
from aidc.observed.formats import FIELDS
from aidc.observed.trace import JobTrace
from aidc.publish.field_table import (
    NO_COLUMN,
    NO_VARIABLE,
    NOT_READ,
    VARIABLE_OF,
    FieldTable,
    field_table,
)
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs


def table_of(trace: JobTrace) -> FieldTable:
    return field_table(trace, audit_trace(trace), read_register())


def test_a_field_has_its_counts_and_its_use() -> None:
    jobs = seren_jobs([60, 70, 80])
    jobs["gpu_time_s"] = [60.0, np.nan, 80.0]
    table = table_of(make_trace(jobs))
    row = table.frame.set_index("field").loc["gpu_time_s"]
    assert (row["present"], row["missing"], row["unreadable"]) == (2, 1, 0)
    queue = table.frame.set_index("field").loc["queue_s"]
    assert queue["column"] == "queue"
    assert queue["use"] == "description of past scheduling"
    assert "never a delay" in queue["not_as"]


def test_a_table_with_judgements_is_no_observation() -> None:
    evidence = table_of(make_trace(seren_jobs([60]))).evidence
    assert evidence is not None
    assert evidence.layer is Layer.CONSTRUCTED
    assert {"registry:variables", "file:seren:000000000000"} <= evidence.inputs


def test_what_a_file_lacks_and_what_no_rule_reads_is_listed() -> None:
    trace = make_trace(elapsed_jobs([5, 6], [0, 1]), clock="elapsed")
    trace.extras["shape"] = ["a", "b"]
    frame = table_of(trace).frame
    assert set(frame["field"]) == {*FIELDS, ""}
    absent = frame[frame["column"] == NO_COLUMN]
    assert {"state", "queue_s"} <= set(absent["field"])
    assert absent["present"].isna().all()
    extra = frame.set_index("column").loc["shape"]
    assert (extra["type"], extra["use"]) == (NOT_READ, NO_VARIABLE)


def test_every_field_names_a_registered_variable() -> None:
    assert set(VARIABLE_OF.values()) <= {variable.key for variable in read_register().variables}
    assert set(VARIABLE_OF) <= set(FIELDS)
