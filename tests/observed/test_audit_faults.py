"""Seed any mix of faults into sound rows: the audit counts exactly those, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aidc.evidence import Evidence, Layer, Provenance
from aidc.observed.audit import TraceAudit, audit_trace
from aidc.observed.trace import load_trace
from aidc.standin import trace as standin

EVIDENCE = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({standin.KEY}))
SAMPLE = 60
Cells = dict[str, str]


@dataclass(frozen=True)
class Seeded:
    """A fault: what it does to the cells of a row, and which rules it breaks by that.

    The first rule is the one it is named by. ``reason`` is that of a row set aside.
    """

    breaks: tuple[str, ...]
    change: Callable[[Cells], object]
    reason: str = ""


def _put(**values: str) -> Callable[[Cells], object]:
    return lambda cells: cells.update(values)


def _shift(column: str, seconds: int) -> Callable[[Cells], object]:
    def change(cells: Cells) -> None:
        moved = pd.Timestamp(cells[column]) + pd.Timedelta(seconds=seconds)
        cells[column] = moved.strftime("%Y-%m-%d %H:%M:%S+08:00")

    return change


def _add(column: str, amount: int) -> Callable[[Cells], object]:
    return lambda cells: cells.update({column: str(int(float(cells[column])) + amount)})


def _same_moment_elsewhere(cells: Cells) -> None:
    moment = pd.Timestamp(cells["end_time"]).tz_convert("UTC")
    cells["end_time"] = moment.strftime("%Y-%m-%d %H:%M:%S+00:00")


def _end_before_start(cells: Cells) -> None:
    cells["end_time"] = cells["start_time"]
    _shift("end_time", -1)(cells)


def _zero(cells: Cells) -> None:
    cells.update(duration="0", gpu_time="0.0", end_time=cells["start_time"])


def _with_queue(cells: Cells) -> None:
    duration = int(cells["duration"]) + int(cells["queue"])
    cells.update(duration=str(duration), gpu_time=str(float(duration * int(cells["gpu_num"]))))


def _cpu_with_gpu_time(cells: Cells) -> None:
    # The type says CPU and so does the count; only the GPU time does not.
    cells.update(gpu_num="0", type="CPU")


def _start_before_submit(cells: Cells) -> None:
    cells["start_time"] = cells["submit_time"]
    _shift("start_time", -1)(cells)


SEEDED: dict[str, Seeded] = {
    "duplicate id": Seeded(("unique.job_id",), _put(job_id="FIRST")),
    "unknown state": Seeded(("vocabulary.state",), _put(state="PREEMPTED")),
    "unknown type": Seeded(("vocabulary.type",), _put(type="Chat")),
    "running with an end": Seeded(("end.running_jobs", "vocabulary.state"), _put(state="RUNNING")),
    "no end": Seeded(("end.finished_jobs", "presence.end_time"), _put(end_time="")),
    "no user": Seeded(("presence.user",), _put(user="None")),
    "no queue": Seeded(("presence.queue",), _put(queue="-")),
    "another offset": Seeded(("offset.times",), _same_moment_elsewhere),
    "end before start": Seeded(("order.start_end", "identity.duration"), _end_before_start),
    "start before submit": Seeded(
        ("order.submit_start", "identity.queue", "identity.duration"), _start_before_submit
    ),
    "wrong duration": Seeded(("identity.duration", "identity.gpu_time"), _add("duration", 1)),
    "duration with queue": Seeded(
        ("identity.duration_without_queue", "identity.duration"), _with_queue
    ),
    "wrong queue": Seeded(("identity.queue",), _add("queue", 1)),
    "wrong GPU time": Seeded(("identity.gpu_time",), _add("gpu_time", 1)),
    "zero duration": Seeded(("zero.duration",), _zero),
    "GPU time without GPUs": Seeded(("cpu_jobs.gpu_time", "identity.gpu_time"), _cpu_with_gpu_time),
    "CPU job with GPUs": Seeded(("cpu_jobs.type",), _put(type="CPU")),
    "no node": Seeded(("nodes.at_least_one", "nodes.hold_the_gpus"), _put(node_num="0")),
    "too many nodes": Seeded(("nodes.no_more_than_gpus",), _put(node_num="99999")),
    "no gpu_num": Seeded(("presence.gpu_num",), _put(gpu_num=""), "gpu_num: missing"),
    "text number": Seeded(("type.duration",), _put(duration="x"), "duration: not a number"),
    "fraction": Seeded(("type.gpu_num",), _put(gpu_num="0.5"), "gpu_num: not a whole number"),
    "negative": Seeded(("range.queue",), _put(queue="-1"), "queue: negative"),
    "huge": Seeded(("range.cpu_num",), _put(cpu_num="1e9"), "cpu_num: larger than 1e+06"),
    "naive time": Seeded(
        ("type.submit_time",),
        _put(submit_time="2023-03-01 00:00:00"),
        "submit_time: time without a UTC offset",
    ),
    "impossible time": Seeded(
        ("type.end_time",), _put(end_time="2023-02-30 00:00:00+08:00"), "end_time: not a time"
    ),
    "ancient time": Seeded(
        ("range.start_time",),
        _put(start_time="1066-10-14 09:00:00+00:00"),
        "start_time: time outside 1970 to 2100",
    ),
    "too many fields": Seeded(("row.fields",), _put(gpu_time="1,2"), "14 fields, expected 13"),
    "open quote": Seeded(("row.fields",), _put(user='"u'), "quoted field is never closed"),
}


@pytest.fixture(scope="module")
def sample() -> list[Cells]:
    """Rows of the stand-in that every rule is asked of and that pass them all."""
    jobs = standin.generate(rows=4000)
    sound = jobs[
        (jobs["gpu_num"] > 0)
        & (jobs["duration"] > jobs["queue"] + 5)
        & (jobs["queue"] > 3)
        & jobs["state"].isin(["COMPLETED", "FAILED"])
    ].head(SAMPLE)
    text = sound.to_csv(index=False).splitlines()
    header = text[0].split(",")
    return [dict(zip(header, line.split(","), strict=True)) for line in text[1:]]


def _audit(path: Path, rows: list[Cells]) -> TraceAudit:
    lines = [",".join(rows[0]), *(",".join(cells.values()) for cells in rows)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    audit = audit_trace(load_trace(path, evidence=EVIDENCE))
    assert audit.rows == len(rows) == audit.kept + len(audit.set_aside)
    for rule in audit.rules:
        assert rule.n == audit.rows == rule.not_evaluable + rule.passed + rule.failed
    return audit


def _failures(audit: TraceAudit) -> Counter[str]:
    return Counter({rule.id: rule.failed for rule in audit.rules if rule.failed})


def _seed(sample: list[Cells], faults: dict[int, str]) -> list[Cells]:
    rows = [dict(cells) for cells in sample]
    for at, name in faults.items():
        SEEDED[name].change(rows[at])
        if rows[at]["job_id"] == "FIRST":
            rows[at]["job_id"] = rows[0]["job_id"]
    return rows


def test_the_sample_is_sound(sample: list[Cells], tmp_path: Path) -> None:
    audit = _audit(tmp_path / "jobs.csv", sample)
    assert _failures(audit) == Counter()
    # Only the first row has none above; no job runs and none is without GPUs.
    silent = {rule.id: rule.not_evaluable for rule in audit.rules if rule.not_evaluable}
    expected = {"monotone.submit_time": 1, "end.running_jobs": SAMPLE, "cpu_jobs.gpu_time": SAMPLE}
    assert silent == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(
    faults=st.dictionaries(st.integers(1, SAMPLE - 1), st.sampled_from(list(SEEDED)), min_size=1)
)
def test_the_audit_counts_what_was_seeded(
    sample: list[Cells], tmp_path: Path, faults: dict[int, str]
) -> None:
    audit = _audit(tmp_path / "jobs.csv", _seed(sample, faults))
    expected = Counter(rule for name in faults.values() for rule in SEEDED[name].breaks)
    assert _failures(audit) == expected
    aside = {at + 2: SEEDED[name].reason for at, name in faults.items() if SEEDED[name].reason}
    assert dict(zip(audit.set_aside["line"], audit.set_aside["reason"], strict=True)) == aside
    for rule in audit.rules:
        lines = sorted(at + 2 for at, name in faults.items() if rule.id in SEEDED[name].breaks)
        assert [example.line for example in rule.examples] == lines[:5]


@pytest.mark.parametrize("name", SEEDED)
def test_each_fault_breaks_the_rules_it_should(
    sample: list[Cells], tmp_path: Path, name: str
) -> None:
    audit = _audit(tmp_path / "jobs.csv", _seed(sample, {7: name}))
    assert _failures(audit) == Counter(SEEDED[name].breaks)
    for rule in SEEDED[name].breaks:
        assert [example.line for example in audit.rule(rule).examples] == [9]


def test_rows_out_of_order_and_out_of_window_are_counted(
    sample: list[Cells], tmp_path: Path
) -> None:
    rows = _seed(sample, {})
    rows[10]["submit_time"] = "2022-12-31 23:59:59+08:00"
    rows[20]["submit_time"] = "2023-09-01 00:00:00+08:00"
    failures = _failures(_audit(tmp_path / "jobs.csv", rows))
    assert failures["window.submit_time"] == 2
    assert failures["monotone.submit_time"] == 2  # the tenth itself, and the one after the other
