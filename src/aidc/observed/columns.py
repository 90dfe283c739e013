"""From columns of text to numbers, times and labels, with what is wrong with each cell.

Every parser takes a column as it stands in the file (null = an empty cell) and returns
the values beside the faults it found: a reason and the rows it holds for. A clean column
is converted in one call; only a column that resists is looked at cell by cell.
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

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
Times = npt.NDArray[np.datetime64]
# Why cells of one column cannot be used: reason -> the rows it holds for.
Faults = dict[str, Mask]

# Words that stand for an empty cell. Compared after surrounding blanks are dropped.
MISSING_WORDS = ("", "-", "NA", "N/A", "NaN", "nan", "None", "NULL", "null", "NaT")

# Beyond these a number or a time is a writing fault, whatever the cluster.
MAX_COUNT = 1e6
MAX_SECONDS = 100 * 365.25 * 86_400
MAX_GPU_SECONDS = MAX_COUNT * MAX_SECONDS
EARLIEST, LATEST = np.datetime64("1970-01-01", "us"), np.datetime64("2100-01-01", "us")

_NUMBER = r"^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?$"
_CLOCK = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}(:\d{2}(:\d{2}(\.\d{1,6})?)?)?"
_OFFSET = r"(?P<offset>Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$"

_MICROSECONDS_UTC = pa.timestamp("us", "UTC")


@dataclasses.dataclass(frozen=True)
class TimeColumn:
    """Times (NaT = missing or faulty) and the UTC offset written beside each.

    ``stamps`` are in UTC. ``offsets`` is one text where every time of the column has the
    same offset, else one text a row (null where there is no time).
    """

    stamps: Times
    offsets: str | pa.StringArray
    faults: Faults

    def offsets_of(self, rows: Mask) -> set[str]:
        """Return the offsets that occur among ``rows``, as "+08:00"."""
        if isinstance(self.offsets, str):
            return {self.offsets} if not np.isnat(self.stamps[rows]).all() else set()
        seen = pc.unique(self.offsets.filter(pa.array(rows))).to_pylist()
        return {_normal_offset(text) for text in seen if text is not None}


def numbers(text: pa.ChunkedArray, limit: float, *, whole: bool = False) -> tuple[Numbers, Faults]:
    """Return a column of non-negative numbers; NaN = missing or faulty.

    Parameters
    ----------
    text : pyarrow.ChunkedArray of string
        The cells.
    limit : float
        Largest number that can be meant.
    whole : bool
        Whether a fraction is a fault.
    """
    values = _all_numbers(text)
    unreadable = np.zeros(len(text), np.bool_)
    if values is None:
        trimmed, missing = _trimmed(text)
        readable = pc.match_substring_regex(trimmed, _NUMBER)
        values = _numpy(pc.if_else(readable, trimmed, None).cast(pa.float64()))
        unreadable = ~(_mask(readable) | missing)
    faults = {
        "not a number": unreadable,
        "negative": values < 0,
        f"larger than {limit:g}": values > limit,
    }
    if whole:
        faults["not a whole number"] = (values != np.floor(values)) & ~np.isnan(values)
    return values, _present(faults)


def times(text: pa.ChunkedArray) -> TimeColumn:
    """Return a column of ISO 8601 times with UTC offsets."""
    offset = _common_offset(text)
    if offset is not None:
        try:
            values = _numpy(text.cast(_MICROSECONDS_UTC))
        except pa.ArrowInvalid:
            pass
        else:
            return TimeColumn(values, _normal_offset(offset), _outside(values))
    trimmed, missing = _trimmed(text)
    readable = pc.match_substring_regex(trimmed, _CLOCK + _OFFSET)
    candidates = pc.if_else(readable, trimmed, None)
    parsed = pd.to_datetime(
        candidates.to_pandas(), format="ISO8601", utc=True, errors="coerce"
    ).dt.tz_localize(None)
    values = parsed.to_numpy().astype("datetime64[us]")
    naive = _mask(pc.match_substring_regex(trimmed, _CLOCK + "$"))
    faults = {
        "time without a UTC offset": naive,
        "not a time": np.isnat(values) & ~missing & ~naive,
        **_outside(values),
    }
    offsets = pc.struct_field(pc.extract_regex(candidates, _OFFSET), "offset")
    return TimeColumn(values, offsets.combine_chunks(), _present(faults))


def elapsed(text: pa.ChunkedArray, scale: float) -> TimeColumn:
    """Return times counted from 1970-01-01 UTC, from numbers in units of ``scale`` seconds."""
    values, faults = numbers(text, MAX_SECONDS / scale)
    microseconds = np.round(np.where(np.isnan(values), 0, values) * scale * 1e6)
    stamps = microseconds.astype(np.int64).view("datetime64[us]")
    stamps[np.isnan(values) | (values * scale > MAX_SECONDS)] = np.datetime64("NaT")
    return TimeColumn(stamps, "+00:00", faults)


def labels(text: pa.ChunkedArray) -> pd.Series[Any]:
    """Return a column of words as a categorical with sorted categories."""
    values: pd.Series[Any] = text.dictionary_encode().to_pandas()
    names = [str(name) for name in values.cat.categories]
    kept = sorted({name.strip() for name in names if name.strip() not in MISSING_WORDS})
    if kept == names:
        return values
    position = {name: code for code, name in enumerate(kept)}
    recode = np.array([position.get(name.strip(), -1) for name in names] + [-1], np.int32)
    codes = recode[values.cat.codes.to_numpy()]
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(kept, dtype="str")))


def names(text: pa.ChunkedArray) -> pd.Series[Any]:
    """Return a column of names; missing where a cell is empty or holds a word for it."""
    words = pc.is_in(text, value_set=pa.array(MISSING_WORDS))
    if pc.any(words).as_py():
        text = pc.if_else(words, None, text)
    found: pd.Series[Any] = text.to_pandas()
    return found


def fixed_timezone(offset: str) -> timezone:
    """Return the fixed time zone of an offset such as "+08:00"."""
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    shift = timedelta(hours=hours, minutes=minutes)
    return timezone(-shift if offset[0] == "-" else shift)


def _all_numbers(text: pa.ChunkedArray) -> Numbers | None:
    """Return the numbers if every cell that is not empty holds a finite one."""
    try:
        values = _numpy(text.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    return values if np.isfinite(values).sum() == len(text) - text.null_count else None


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


def _normal_offset(text: str) -> str:
    """Return an offset in the form "+08:00".

    >>> [_normal_offset(text) for text in ("Z", "+08", "-0330", "-00:00")]
    ['+00:00', '+08:00', '-03:30', '+00:00']
    """
    digits = text.lstrip("Z+-").replace(":", "").ljust(4, "0")
    sign = "-" if text.startswith("-") and digits != "0000" else "+"
    return f"{sign}{digits[:2]}:{digits[2:]}"


def _outside(values: Times) -> Faults:
    rows = (values < EARLIEST) | (values >= LATEST)
    return _present({f"time outside {EARLIEST.item().year} to {LATEST.item().year}": rows})


def _present(faults: Faults) -> Faults:
    """Return the faults that some row has."""
    return {reason: rows for reason, rows in faults.items() if rows.any()}


def _trimmed(text: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Mask]:
    trimmed = pc.utf8_trim_whitespace(text)
    words = pc.is_in(trimmed, value_set=pa.array(MISSING_WORDS))
    return trimmed, _mask(words) | _mask(pc.is_null(trimmed))


def _mask(flags: pa.ChunkedArray) -> Mask:
    """Return flags as an array; unknown counts as False."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(), np.bool_)


def _numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy())
