"""Three ways through a column of times give the same moments, offsets and faults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.observed import times as module
from aidc.observed.times import TimeColumn, formatted_times, times

EDGES = [
    "2023-02-29 00:00:00+08:00", "2024-02-29 23:59:59-03:30", "1900-02-29 00:00:00+00:00",
    "2023-13-01 00:00:00+00:00", "2023-00-01 00:00:00+00:00", "2023-01-00 00:00:00+00:00",
    "2023-01-01 24:00:00+00:00", "2023-01-01 00:60:00+00:00", "2023-01-01 00:00:60+00:00",
    "2023-01-01 00:00:00+15:00", "2023-01-01 00:00:00+14:59", "2023-01-01 00:00:00+08:60",
    "0000-01-01 00:00:00+00:00", "1066-10-14 09:00:00+00:00", "9999-12-31 23:59:59-14:00",
    "2023-01-01T00:00:00Z", "2023-01-01 00:00:00.25+0800", "2023-01-01 00:00", "2023-1-1 0:00",
    "2023-01-01 00:00:00 08:00", "2023-01-01 00:00:00", "-", "", "x" * 25, "ü" * 25, "１" * 25,
]  # fmt: skip

moments = st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
written = st.builds(
    lambda moment, offset: moment.replace(tzinfo=offset).isoformat(sep=" "), moments, offsets
)
cells = st.lists(st.none() | written | st.sampled_from(EDGES), max_size=12)


def column(texts: list[str | None]) -> pa.ChunkedArray:
    half = len(texts) // 2
    return pa.chunked_array(
        [pa.array(texts[:half], pa.string()), pa.array(texts[half:], pa.string())]
    )


def same(one: TimeColumn, other: TimeColumn) -> None:
    np.testing.assert_array_equal(one.stamps, other.stamps)
    assert {k: v.tolist() for k, v in one.faults.items()} == {
        k: v.tolist() for k, v in other.faults.items()
    }
    assert [*one.offset_of_each()] == [*other.offset_of_each()]


@given(texts=cells, naive=st.sampled_from([None, "+08:00", "-03:30"]))
def test_the_quick_ways_agree_with_the_slow_one(texts: list[str | None], naive: str | None) -> None:
    text = column(texts)
    slow = module._of_any_form(text, naive)
    faults = {**slow.faults, **module._outside(slow.stamps)}
    same(times(text, naive), TimeColumn(slow.stamps, slow.offsets, faults))


@given(moment=moments, offset=offsets)
def test_a_written_time_is_that_moment(moment: datetime, offset: timezone) -> None:
    exact = moment.replace(tzinfo=offset)
    read = times(column([exact.isoformat(sep=" "), "no time"]))
    assert read.stamps[0].item().replace(tzinfo=UTC) == exact
    assert read.faults["not a time"].tolist() == [False, True]


def test_naive_times_are_local_times_of_the_declared_offset() -> None:
    texts: list[str | None] = ["2020-03-18 04:01:39", None, "2020-03-18 04:01"]
    for text in (column(texts), column([*texts, "x"])):
        read = times(text, "+08:00")
        assert str(read.stamps[0]) == "2020-03-17T20:01:39.000000"
        assert read.offsets_of(np.array([True] * len(text))) == {"+08:00"}
    undeclared = times(column(texts))
    assert undeclared.faults["time without a UTC offset"].tolist() == [True, False, True]


def test_another_form_can_be_described() -> None:
    read = formatted_times(
        column(["2017/10/1 0:00", "2017/11/19 23:02", "-", "2017-10-01"]),
        "%Y/%m/%d %H:%M",
        "-07:00",
    )
    assert [str(stamp)[:16] for stamp in read.stamps[:2]] == [
        "2017-10-01T07:00",
        "2017-11-20T06:02",
    ]
    assert read.faults["not a time"].tolist() == [False, False, False, True]


@pytest.mark.parametrize("text", ["Z", "+08", "-0330", "+05:45"])
def test_offsets_are_written_in_one_form(text: str) -> None:
    minutes = module.offset_minutes(text)
    assert module.offset_minutes(module.offset_text(minutes)) == minutes
