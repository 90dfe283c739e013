"""Dialects are told apart by their header, and a header that fits none says why."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.evidence import InputError
from aidc.observed.formats import (
    DIALECTS,
    KALOS,
    PHILLY_RFOLD,
    SEREN,
    Dialect,
    check_dialect_name,
    choose,
    detect,
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
