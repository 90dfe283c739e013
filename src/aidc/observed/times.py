"""From columns of text to moments, with the UTC offset that is written beside each.

Three ways through a column, each for what the one before could not read: all cells in one
call; cells of the common form by their digits; any other cell on its own.
"""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from aidc.observed.columns import (
    MAX_SECONDS,
    NO_OFFSET,
    NOT_A_TIME,
    OUTSIDE,
    Faults,
    Mask,
    as_array,
    as_mask,
    numbers,
    present,
    trimmed,
)

Times = npt.NDArray[np.datetime64]
Minutes = npt.NDArray[np.int16]

# Beyond these a time is a writing fault, whatever the cluster.
EARLIEST, LATEST = np.datetime64("1970-01-01", "us"), np.datetime64("2100-01-01", "us")

UNKNOWN = np.iinfo(np.int16).min  # no offset, as there is no time

_CLOCK = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}(:\d{2}(:\d{2}(\.\d{1,6})?)?)?"
_OFFSET = r"(?P<offset>Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$"
_FORM, _NAIVE_FORM = "dddd-dd-dd dd:dd:dd+dd:dd", "dddd-dd-dd dd:dd:dd"
_MICROSECONDS = pa.timestamp("us")
_MICROSECONDS_UTC = pa.timestamp("us", "UTC")


@dataclasses.dataclass(frozen=True)
class TimeColumn:
    """Times (NaT = missing or faulty) and the UTC offset written beside each.

    ``stamps`` are in UTC. ``offsets`` are minutes east of UTC: one number where every time
    of the column has the same, else one a row (`UNKNOWN` where there is no time).
    """

    stamps: Times
    offsets: int | Minutes
    faults: Faults

    def offsets_of(self, rows: Mask) -> set[str]:
        """Return the offsets that occur among ``rows``, as "+08:00"."""
        if isinstance(self.offsets, int):
            some = not np.isnat(self.stamps[rows]).all()
            return {offset_text(self.offsets)} if some else set()
        seen = np.unique(self.offsets[rows])
        return {offset_text(minutes) for minutes in seen.tolist() if minutes != UNKNOWN}

    def offset_of_each(self) -> pd.Series[Any]:
        """Return the offset of each time, as "+08:00"; missing where there is no time."""
        minutes = np.where(np.isnat(self.stamps), UNKNOWN, self.offsets)
        codes, seen = pd.factorize(np.where(minutes == UNKNOWN, np.nan, minutes))
        names = pd.Index([offset_text(int(found)) for found in seen], dtype="str")
        return pd.Series(pd.Categorical.from_codes(codes, categories=names))


def times(text: pa.ChunkedArray, naive_offset: str | None = None) -> TimeColumn:
    """Return a column of ISO 8601 times with UTC offsets.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of string
        The cells.
    naive_offset : str, optional
        The offset ("+08:00") of times that are written without one; by default such a
        time is a fault.
    """
    alike = _all_alike(text, naive_offset)
    if alike is not None:
        return alike
    stamps = np.full(len(text), np.datetime64("NaT", "us"))
    offsets = np.full(len(text), UNKNOWN, np.int16)
    forms = [_FORM] if naive_offset is None else [_FORM, _NAIVE_FORM]
    for form in forms:
        cells = as_mask(pc.equal(pc.binary_length(text), len(form)))
        naive = None if form == _FORM or naive_offset is None else offset_minutes(naive_offset)
        stamps[cells], offsets[cells] = _of_form(text.filter(pa.array(cells)), form, naive)
    others = np.isnat(stamps)
    rest = _of_any_form(text.filter(pa.array(others)), naive_offset)
    stamps[others], offsets[others] = rest.stamps, rest.offsets
    faults = _outside(stamps)
    for reason, rows in rest.faults.items():
        faults[reason] = np.zeros(len(text), np.bool_)
        faults[reason][others] = rows
    return TimeColumn(stamps, offsets, faults)


def formatted_times(text: pa.ChunkedArray, form: str, offset: str) -> TimeColumn:
    """Return a column of local times in a ``strptime`` form, all at one UTC offset."""
    stripped, missing = trimmed(text)
    local = pd.to_datetime(stripped.to_pandas(), format=form, errors="coerce")
    values = _in_utc(local.to_numpy(), offset_minutes(offset))
    faults = {NOT_A_TIME: np.isnat(values) & ~missing, **_outside(values)}
    return TimeColumn(values, offset_minutes(offset), present(faults))


def elapsed(text: pa.ChunkedArray, scale: float) -> TimeColumn:
    """Return times counted from 1970-01-01 UTC, from numbers in units of ``scale`` seconds."""
    values, faults = numbers(text, MAX_SECONDS / scale)
    microseconds = np.round(np.where(np.isnan(values), 0, values) * scale * 1e6)
    stamps = microseconds.astype(np.int64).view("datetime64[us]")
    stamps[np.isnan(values) | (values * scale > MAX_SECONDS)] = np.datetime64("NaT")
    return TimeColumn(stamps, 0, faults)


def fixed_timezone(offset: str) -> timezone:
    """Return the fixed time zone of an offset such as "+08:00"."""
    return timezone(timedelta(minutes=offset_minutes(offset)))


def offset_minutes(text: str) -> int:
    """Return an offset in minutes east of UTC.

    >>> [offset_minutes(text) for text in ("Z", "+08", "-0330", "-00:00")]
    [0, 480, -210, 0]
    """
    digits = text.lstrip("Z+-").replace(":", "").ljust(4, "0")
    minutes = 60 * int(digits[:2]) + int(digits[2:])
    return -minutes if text.startswith("-") else minutes


def offset_text(minutes: int) -> str:
    """Return an offset in the form "+08:00".

    >>> [offset_text(minutes) for minutes in (0, 480, -210)]
    ['+00:00', '+08:00', '-03:30']
    """
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _all_alike(text: pa.ChunkedArray, naive_offset: str | None) -> TimeColumn | None:
    """Return the times if one call reads them all and all have one offset."""
    common = _common_offset(text)
    offset = naive_offset if common is None else common
    if offset is None:
        return None
    minutes = offset_minutes(offset)
    try:
        if common is None:
            values = _in_utc(as_array(text.cast(_MICROSECONDS)), minutes)
        else:
            values = as_array(text.cast(_MICROSECONDS_UTC))
    except pa.ArrowInvalid:
        return None
    return TimeColumn(values, minutes, _outside(values))


def _common_offset(text: pa.ChunkedArray) -> str | None:
    """Return the UTC offset that ends every cell which is not empty, if there is one."""
    first = pc.first(text).as_py()
    if first is None:
        return None
    match = re.search(_OFFSET, first, re.ASCII)
    if match is None:
        return None
    suffix = match["offset"]
    return suffix if pc.all(pc.ends_with(text, pattern=suffix)).as_py() else None


def _of_form(text: pa.ChunkedArray, form: str, naive: int | None) -> tuple[Times, Minutes]:
    """Return times and offsets of cells as long as ``form``; NaT where one is not of it."""
    marks = _bytes(text, len(form))
    digits = marks - np.uint8(ord("0"))
    good = np.ones(len(marks), np.bool_)
    for at, mark in enumerate(form):
        if mark == "d":
            good &= digits[:, at] <= 9
        elif mark == " ":
            good &= (marks[:, at] == ord(" ")) | (marks[:, at] == ord("T"))
        elif mark == "+":
            good &= (marks[:, at] == ord("+")) | (marks[:, at] == ord("-"))
        else:
            good &= marks[:, at] == ord(mark)

    def pair(at: int) -> npt.NDArray[np.int64]:
        return digits[:, at].astype(np.int64) * 10 + digits[:, at + 1]

    year, month, day = pair(0) * 100 + pair(2), pair(5), pair(8)
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    hour, minute, second = pair(11), pair(14), pair(17)
    good &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    good &= (days.astype("datetime64[M]") == months) & (hour < 24) & (minute < 60) & (second < 60)
    if naive is None:
        east = pair(20) * 60 + pair(23)
        good &= (east < 15 * 60) & (pair(23) < 60)
        east = np.where(marks[:, 19] == ord("-"), -east, east)
    else:
        east = np.full(len(marks), naive, np.int64)
    seconds = ((hour * 60 + minute - east) * 60 + second).astype("timedelta64[s]")
    stamps = days.astype("datetime64[us]") + seconds
    stamps[~good] = np.datetime64("NaT")
    return stamps, np.where(good, east, UNKNOWN).astype(np.int16)


def _bytes(text: pa.ChunkedArray, width: int) -> npt.NDArray[np.uint8]:
    """Return cells of one length as an array of bytes, one row a cell."""
    cells = text.combine_chunks()
    if not len(cells):
        return np.empty((0, width), np.uint8)
    _, bounds, data = cells.buffers()
    first = int(np.frombuffer(bounds, np.int32)[cells.offset])
    return np.frombuffer(data, np.uint8)[first : first + len(cells) * width].reshape(-1, width)


def _of_any_form(text: pa.ChunkedArray, naive_offset: str | None) -> TimeColumn:
    stripped, missing = trimmed(text)
    if naive_offset is not None:
        lacking = pc.match_substring_regex(stripped, _CLOCK + "$")
        completed = pc.binary_join_element_wise(stripped, naive_offset, "")
        stripped = pc.if_else(lacking, completed, stripped)
    readable = pc.match_substring_regex(stripped, _CLOCK + _OFFSET)
    candidates = pc.if_else(readable, stripped, None)
    parsed = pd.to_datetime(
        candidates.to_pandas(), format="ISO8601", utc=True, errors="coerce"
    ).dt.tz_localize(None)
    values = parsed.to_numpy().astype("datetime64[us]")
    naive = as_mask(pc.match_substring_regex(stripped, _CLOCK + "$"))
    faults = {NO_OFFSET: naive, NOT_A_TIME: np.isnat(values) & ~missing & ~naive}
    written = pc.struct_field(pc.extract_regex(candidates, _OFFSET), "offset").combine_chunks()
    coded = written.dictionary_encode()
    minutes = np.array(
        [offset_minutes(found) for found in coded.dictionary.to_pylist()] + [UNKNOWN], np.int16
    )
    codes = pc.fill_null(coded.indices, len(minutes) - 1).to_numpy()
    offsets = np.where(np.isnat(values), UNKNOWN, minutes[codes]).astype(np.int16)
    return TimeColumn(values, offsets, present(faults))


def _in_utc(local: Times, minutes: int) -> Times:
    stamps: Times = local.astype("datetime64[us]")
    return np.asarray(stamps - np.timedelta64(minutes, "m"), "datetime64[us]")


def _outside(values: Times) -> Faults:
    rows = (values < EARLIEST) | (values >= LATEST)
    return present({f"{OUTSIDE} {EARLIEST.item().year} to {LATEST.item().year}": rows})
