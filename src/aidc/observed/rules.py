"""Audit rules: what should hold in every row of a trace, counted over all rows.

Every rule counts all rows of the file, those that were set aside among them, and puts each
into one of three: it could not be asked of the row, the row passed, or it failed. So each
count comes with its denominator, and the three add up to the rows of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc.observed.columns import Mask, Numbers
from aidc.observed.formats import FIELDS, Kind
from aidc.observed.rule_count import MAX_EXAMPLES, RuleCount
from aidc.observed.times import offset_minutes
from aidc.observed.trace import JobTrace

MAX_EXAMPLE_TEXT = 120
NANOSECONDS = 1e9


@dataclass(frozen=True)
class Example:
    """A row that fails a rule: its line in the file (the header is line 1) and what it says."""

    line: int
    found: str


@dataclass(frozen=True, kw_only=True)
class RuleResult(RuleCount):
    """How many rows of a trace a rule could not be asked of, and how many passed and failed it.

    Attributes
    ----------
    field : str
        Column of the file (the canonical field, where the dialect has no column for it).
    text : str
        What should hold.
    examples : tuple of Example
        The first rows that fail, at most five, in file order.
    """

    text: str
    examples: tuple[Example, ...] = ()


class Rows:
    """The kept rows of a trace as arrays, each made once.

    Parameters
    ----------
    trace : JobTrace
        The trace; it is not changed.
    """

    def __init__(self, trace: JobTrace) -> None:
        self.trace = trace
        self.dialect = trace.dialect
        self.lines: npt.NDArray[np.int32] = trace.jobs["line"].to_numpy()
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self.lines)

    def has(self, *columns: str) -> bool:
        """Return whether the dialect has all of these canonical fields."""
        return all(column in self.trace.jobs for column in columns)

    def column(self, name: str) -> pd.Series[Any]:
        """Return a canonical column."""
        return self.trace.jobs[name]

    def source(self, name: str) -> str:
        """Return the file's name of a canonical field."""
        return self.dialect.columns.get(name, name)

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """Return counts or seconds (NaN = missing where the column has fractions)."""
        return self.once(name, lambda: self.column(name).to_numpy())

    def seconds(self, name: str) -> Numbers:
        """Return times in s since 1970-01-01 UTC; NaN = missing."""
        return self.once(f"seconds {name}", lambda: _epoch_seconds(self.column(name)))

    def between(self, first: str, last: str) -> Numbers:
        """Return the time from one moment to another in s; NaN where one is missing."""
        return self.once(f"{first} {last}", lambda: self.seconds(last) - self.seconds(first))

    def codes(self, name: str) -> npt.NDArray[Any]:
        """Return the category of each row by its number; -1 = missing."""
        return self.once(f"codes {name}", lambda: self.column(name).cat.codes.to_numpy())

    def words(self, name: str) -> list[str]:
        """Return the categories of a label."""
        return [str(word) for word in self.column(name).cat.categories]

    def is_word(self, name: str, accepted: Callable[[str], bool]) -> Mask:
        """Return the rows whose label is accepted."""
        wanted = np.array([accepted(word) for word in self.words(name)] + [False])
        return np.asarray(wanted[self.codes(name)])

    def local_times(self, name: str) -> pd.Series[Any]:
        """Return times as they are written, without their UTC offsets."""
        local: pd.Series[Any] = self.column(name).dt.tz_localize(None)
        if self.trace.offsets is None:
            return local
        offsets = self.trace.offsets[name].cat
        minutes = np.array([offset_minutes(text) for text in offsets.categories] + [0])
        shift = pd.to_timedelta(minutes[offsets.codes.to_numpy()], unit="min")
        return pd.Series(local.array + shift)

    def offset_counts(self) -> dict[str, int]:
        """Return how many times of the kept rows have each UTC offset, the usual one first.

        Counted only where they differ; else empty.
        """
        counts: Counter[str] = Counter()
        if self.trace.offsets is not None:
            for _, offsets in self.trace.offsets.items():
                seen = offsets.value_counts()
                counts.update({str(offset): int(count) for offset, count in seen.items()})
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def present(self, name: str) -> Mask:
        """Return the rows that have a value."""
        return self.once(f"present {name}", lambda: self._present(name))

    def _present(self, name: str) -> Mask:
        match FIELDS[name].kind:
            case Kind.ID:
                return self.column(name).notna().to_numpy()
            case Kind.LABEL:
                return np.asarray(self.codes(name) >= 0)
            case Kind.TIME:
                return ~np.isnan(self.seconds(name))
            case _:
                values = self.numbers(name)
                whole = values.dtype.kind == "i"
                return np.ones(len(self), np.bool_) if whole else ~np.isnan(values)

    def once(self, name: str, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return an array of a name, made when it is first asked for."""
        if name not in self._arrays:
            self._arrays[name] = make()
        return self._arrays[name]

    def shown(self, columns: Sequence[str], position: int) -> str:
        """Return what a row says in some fields, by the file's column names."""
        parts = []
        for name in columns:
            value = self.column(name).iloc[position]
            if self.trace.clock == "elapsed" and isinstance(value, pd.Timestamp):
                value = value.timestamp()  # only the count of seconds means anything
            parts.append(f"{self.source(name)} {'missing' if pd.isna(value) else _text(value)}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Rule:
    """What should hold in each row that has all the values it needs.

    Attributes
    ----------
    id, field, text : str
        As in `RuleResult`; ``field`` is canonical.
    needs : tuple of str
        Canonical fields; a row without a value for one of them cannot be asked.
    holds : function of Rows
        Which rows pass, of those that can be asked.
    applies : function of Rows, optional
        Of which of these rows it is asked (all); None if of none in this dialect.
    shows : tuple of str
        Canonical fields that an example quotes; default: ``needs``.
    """

    id: str
    field: str
    text: str
    needs: tuple[str, ...]
    holds: Callable[[Rows], Mask]
    applies: Callable[[Rows], Mask | None] | None = None
    shows: tuple[str, ...] = ()

    def check(self, rows: Rows) -> RuleResult:
        """Return the count of all rows of the file."""
        asked = self._asked(rows)
        if asked is None:
            return self._result(rows, 0, np.empty(0, np.intp))
        passed = asked & self.holds(rows)
        failed = np.flatnonzero(asked & ~passed)
        return self._result(rows, int(np.count_nonzero(passed)), failed)

    def _asked(self, rows: Rows) -> Mask | None:
        if not rows.has(*self.needs):
            return None
        asked = np.ones(len(rows), np.bool_)
        for name in self.needs:
            asked &= rows.present(name)
        if self.applies is not None:
            applies = self.applies(rows)
            if applies is None:
                return None
            asked &= applies
        return asked

    def _result(self, rows: Rows, passed: int, failed: npt.NDArray[np.intp]) -> RuleResult:
        n = rows.trace.rows
        return RuleResult(
            id=self.id,
            field=rows.source(self.field),
            text=self.text,
            n=n,
            not_evaluable=n - passed - len(failed),
            failed=len(failed),
            examples=tuple(
                Example(int(rows.lines[at]), rows.shown(self.shows or self.needs, at))
                for at in failed[:MAX_EXAMPLES].tolist()
            ),
        )


def _epoch_seconds(times: pd.Series[Any]) -> Numbers:
    stamps = times.to_numpy("datetime64[ns]")
    seconds = stamps.view(np.int64) / NANOSECONDS
    seconds[np.isnat(stamps)] = np.nan
    return seconds


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    return text if len(text) <= MAX_EXAMPLE_TEXT else f"{text[:MAX_EXAMPLE_TEXT]}..."
