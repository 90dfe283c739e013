"""Dialects are told apart by their header, and a header that fits none says why."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aidc.catalog.trace import open_trace
from aidc.evidence import InputError
from aidc.evidence.registry import load_claims
from aidc.observed.audit import audit_trace
from aidc.observed.formats import (
    DIALECTS,
    KALOS,
    PHILLY_RFOLD,
    SEREN,
    Dialect,
    check_dialect_name,
    choose,
    detect,
    named_dialect,
)

# fmt: off
SEREN_HEADER = [
    "job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time",
    "start_time", "end_time", "duration", "queue", "gpu_time",
]
KALOS_HEADER = [
    "job_id", "user", "node_num", "gpu_num", "cpu_num", "mem_per_pod_GB", "shared_mem_per_pod",
    "type", "state", "submit_time", "start_time", "end_time", "fail_time", "stop_time",
    "duration", "queue", "gpu_time",
]
PHILLY_HEADER = ["#job id", "arrival time (sec)", "topology", "shape", "size", "duration (sec)"]
# fmt: on


@pytest.mark.parametrize(
    ("header", "dialect"),
    [(SEREN_HEADER, SEREN), (KALOS_HEADER, KALOS), (PHILLY_HEADER, PHILLY_RFOLD)],
)
def test_published_headers_are_recognised(header: list[str], dialect: Dialect) -> None:
    assert detect(header) is dialect


@given(data=st.data(), dialect=st.sampled_from(list(DIALECTS.values())))
def test_order_and_further_columns_do_not_matter(data: st.DataObject, dialect: Dialect) -> None:
    header = data.draw(st.permutations([*dialect.needed, "row_index", "note"]))
    assert detect(header) is dialect


@given(column=st.sampled_from(SEREN.needed))
def test_a_missing_column_is_named_with_the_closest_dialect(column: str) -> None:
    header = [name for name in SEREN_HEADER if name != column]
    with pytest.raises(InputError, match=f"line 1: missing column '{column}'.*'seren'") as error:
        detect(header, "jobs.csv")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_another_separator_is_named(separator: str) -> None:
    with pytest.raises(InputError, match=r"jobs.csv, line 1: .*separated by .*expected ','"):
        detect([separator.join(SEREN_HEADER)], "jobs.csv")


def test_a_dialect_can_be_asked_for() -> None:
    assert choose(KALOS_HEADER, "seren") is SEREN
    assert choose(KALOS_HEADER) is KALOS
    own = dataclasses.replace(SEREN, key="own")
    assert choose(SEREN_HEADER, own) is own
    with pytest.raises(InputError, match=r"missing columns 'mem_per_pod_GB', .*'kalos'"):
        choose(SEREN_HEADER, "kalos")


def test_an_unknown_dialect_lists_the_known_ones() -> None:
    assert check_dialect_name("auto") == "auto"
    with pytest.raises(InputError, match=r"'serene'.*auto, seren, kalos, philly-rfold"):
        check_dialect_name("serene")


MINIMAL = {"job_id": "id", "gpu_num": "gpus", "submit_time": "at", "duration_s": "took"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": MINIMAL | {"colour": "c"}}, "field 'colour', expected one of job_id"),
        ({"columns": {"job_id": "id"}}, "no column for 'gpu_num'"),
        ({"clock": "lunar"}, "clock 'lunar', expected one of calendar, elapsed"),
        ({"unit": "fortnight"}, "unit 'fortnight', expected one of ms, s, min, h"),
    ],
)
def test_a_dialect_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    good = Dialect(key="own", title="own", columns=MINIMAL)
    with pytest.raises(InputError, match=f"dialect 'own': found {message}"):
        dataclasses.replace(good, **change)  # type: ignore[arg-type]


# --- a dialect in a file ------------------------------------------------------------------

OWN = """
key: own
title: A trace of one's own
columns: {job_id: id, gpu_num: gpus, submit_time: at, duration_s: took}
utc_offset: "+08:00"
time_format: "%Y/%m/%d %H:%M"
resolution_s: 60
window: ["2020-03", "2020-09"]
states: [DONE, LOST]
completed: [DONE]
"""


def described(folder: Path, text: str) -> str:
    path = folder / "own.yml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_describes_a_dialect(tmp_path: Path) -> None:
    path = described(tmp_path, OWN)
    own = named_dialect(path)
    assert own == Dialect(
        key="own",
        title="A trace of one's own",
        columns=MINIMAL,
        utc_offset="+08:00",
        time_format="%Y/%m/%d %H:%M",
        resolution_s=60,
        window=("2020-03", "2020-09"),
        states=("DONE", "LOST"),
        completed=("DONE",),
    )
    assert check_dialect_name(path) == path
    assert choose(["id", "gpus", "at", "took"], path) == own


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_can_be_described_in_a_file(tmp_path: Path, dialect: Dialect) -> None:
    plain = json.loads(json.dumps(dataclasses.asdict(dialect) | {"key": "again"}))
    path = described(tmp_path, yaml.safe_dump(plain))
    assert named_dialect(path) == dataclasses.replace(dialect, key="again")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title: A", "tittle: A"), "field 'ti"),
        (("resolution_s: 60", "resolution_s: fast"), "field 'resolution_s'.*'fast'"),
        (("resolution_s: 60", "resolution_s: 0"), "resolution_s 0.0, expected seconds"),
        (("gpu_num: gpus", "gpus: gpus"), "found field 'gpus', expected one of job_id"),
        (("gpu_num: gpus, ", ""), "no column for 'gpu_num'"),
        (('utc_offset: "+08:00"', ""), "time_format without utc_offset"),
        (('"+08:00"', '"Asia/Shanghai"'), "utc_offset 'Asia/Shanghai', expected one such as"),
        (("%H:%M", "%H:%M%z"), "expected a form of times without an offset"),
        (('["2020-03", "2020-09"]', "[March, May]"), "window .*expected two months"),
        (("completed: [DONE]", "completed: []"), "completed without a word"),
        (("completed: [DONE]", "gpus_per_node: 0"), "gpus_per_node 0"),
        (("completed: [DONE]", "gpu_unit: ounces"), "gpu_unit 'ounces', expected one of GPU"),
        (("key: own", "key: seren"), "field 'key': found 'seren', which exists already"),
        (("key: own", "key: [own"), r"own\.yml, line \d+: "),
        ((OWN, "- 1"), "found list, expected a mapping"),
    ],
)
def test_a_file_that_describes_no_dialect_is_refused_in_one_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    path = described(tmp_path, OWN.replace(*change))
    with pytest.raises(InputError, match=message) as error:
        named_dialect(path)
    assert "own.yml" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_documented_window_is_the_one_that_the_card_publishes() -> None:
    claims = load_claims()
    published = (claims["card.first_month"].value, claims["card.last_month"].value)
    assert published == SEREN.window == KALOS.window
    months = pd.period_range(*SEREN.window, freq="M") if SEREN.window else ()
    assert len(months) == claims["card.months"].value


HELIOS = """
key: helios
title: Helios job trace
columns: {job_id: job_id, user: user, node_num: node_num, gpu_num: gpu_num, cpu_num: cpu_num,
  state: state, submit_time: submit_time, start_time: start_time, end_time: end_time,
  duration_s: duration, queue_s: queue}
signature: [cluster, vc]
utc_offset: "+08:00"
"""
PHILLY = """
key: philly-minutes
title: Philly job trace, times to the minute
columns: {job_id: jobname, user: user, state: state, gpu_num: gpu_num, submit_time: submit_time,
  start_time: start_time, end_time: end_time, duration_s: duration, queue_s: queue}
utc_offset: "-07:00"
time_format: "%Y/%m/%d %H:%M"
resolution_s: 60
completed: [Pass]
"""
PAI = """
key: pai
title: PAI job trace
columns: {job_id: row_index, type: task_name, node_num: inst_num, gpu_num: plan_gpu,
  state: status, submit_time: start_time, start_time: start_time_i, end_time: end_time_i,
  duration_s: duration, queue_s: queue}
clock: elapsed
gpu_unit: percent
completed: [Terminated]
"""


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("text", "name", "kept", "offset", "pool"),
    [
        (HELIOS, "helios", 10, "+08:00", 2),
        (PHILLY, "philly", 10, "-07:00", 2),
        (PAI, "pai", 5, "none", 5),
    ],
)
def test_a_file_describes_the_traces_of_other_clusters(
    real_data: Path, tmp_path: Path, text: str, name: str, kept: int, offset: str, pool: int
) -> None:
    file = real_data / "acme" / f"{name}_rows_from_notebook.csv"
    audit = audit_trace(open_trace(str(file), described(tmp_path, text)))
    assert (audit.rows, audit.kept, audit.utc_offset) == (10, kept, offset)
    assert set(audit.set_aside["reason"]) <= {"duration: missing", "plan_gpu: missing"}
    for rule in ("identity.duration", "identity.queue", "order.start_end"):
        result = audit.rule(rule)
        assert (result.passed, result.failed) == (kept, 0)
    assert audit.funnel["rows_out"].iloc[-1] == pool
