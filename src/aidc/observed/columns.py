"""From columns of text to numbers, labels and names, with what is wrong with each cell.

Every parser takes a column as it stands in the file (null = an empty cell) and returns
the values beside the faults it found: a reason and the rows it holds for. A clean column
is converted in one call; only a column that resists is looked at cell by cell. Times are
read in `aidc.observed.times`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
# Why cells of one column cannot be used: reason -> the rows it holds for.
Faults = dict[str, Mask]

# Words that stand for an empty cell. Compared after surrounding blanks are dropped.
MISSING_WORDS = ("", "-", "NA", "N/A", "NaN", "nan", "None", "NULL", "null", "NaT")

# Beyond these a number or a time is a writing fault, whatever the cluster.
MAX_COUNT = 1e6
MAX_SECONDS = 100 * 365.25 * 86_400
MAX_GPU_SECONDS = MAX_COUNT * MAX_SECONDS

# What is wrong with a cell: it has no value, one of another type, or one out of range.
MISSING = "missing"
NOT_A_NUMBER, NOT_WHOLE = "not a number", "not a whole number"
NOT_A_TIME, NO_OFFSET = "not a time", "time without a UTC offset"
NEGATIVE, LARGER, OUTSIDE = "negative", "larger than", "time outside"
OUT_OF_RANGE = (NEGATIVE, LARGER, OUTSIDE)

_NUMBER = r"^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?$"


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
        stripped, missing = trimmed(text)
        readable = pc.match_substring_regex(stripped, _NUMBER)
        values = as_array(pc.if_else(readable, stripped, None).cast(pa.float64()))
        unreadable = ~(as_mask(readable) | missing)
    faults = {
        NOT_A_NUMBER: unreadable,
        NEGATIVE: values < 0,
        f"{LARGER} {limit:g}": values > limit,
    }
    if whole:
        faults[NOT_WHOLE] = (values != np.floor(values)) & ~np.isnan(values)
    return values, present(faults)


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


def _all_numbers(text: pa.ChunkedArray) -> Numbers | None:
    """Return the numbers if every cell that is not empty holds a finite one."""
    try:
        values = as_array(text.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    return values if np.isfinite(values).sum() == len(text) - text.null_count else None


def present(faults: Faults) -> Faults:
    """Return the faults that some row has."""
    return {reason: rows for reason, rows in faults.items() if rows.any()}


def trimmed(text: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Mask]:
    """Return cells without surrounding blanks, and which of them are empty."""
    stripped = pc.utf8_trim_whitespace(text)
    words = pc.is_in(stripped, value_set=pa.array(MISSING_WORDS))
    return stripped, as_mask(words) | as_mask(pc.is_null(stripped))


def as_mask(flags: pa.ChunkedArray) -> Mask:
    """Return flags as an array; unknown counts as False."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(), np.bool_)


def as_array(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return a column as an array."""
    return np.asarray(column.to_numpy())
