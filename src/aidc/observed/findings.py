"""What an audit found, in words: a sentence for what a reader has to know.

Each finding is a comparison of counts. What a sentence explains (a field that is empty for
exactly the jobs without GPUs, say) is not reported again as a bare count of failures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from aidc.observed.columns import Mask
from aidc.observed.formats import FIELDS, Dialect
from aidc.observed.identities import Reading
from aidc.observed.rules import Rows, RuleResult
from aidc.observed.window import HOURS_PER_DAY, Window

MAX_LISTED = 8
SECONDS_PER_DAY = 86_400


def findings_of(
    rows: Rows,
    rules: Sequence[RuleResult],
    found: Sequence[Reading],
    window: Window | None,
    funnel: pd.DataFrame,
) -> Iterator[str]:
    """Yield the findings on one trace, the most consequential first.

    Parameters
    ----------
    rows, rules, found, window, funnel
        The trace and what was counted on it; see `aidc.observed.audit.audit_trace`.
    """
    explained: set[str] = set()
    for field, sentence in _meanings(rows, found):
        explained |= {f"identity.{field}", f"identity.{field}_without_queue"}
        yield sentence
    yield from _set_aside(rows)
    yield from _offsets(rows)
    for field in ("state", "type"):
        explained.add(f"vocabulary.{field}")
        yield from _undocumented(rows, field)
    for field, sentence in _missing(rows):
        explained.add(f"presence.{field.removesuffix('_s')}")
        yield sentence
    yield from _taken_at(rows)
    yield from _span(rows, window)
    yield from _late_ends(rows)
    yield from _emptied(funnel)
    explained.add("offset.times")
    yield from _failures(rules, explained)
    yield from _unanswered(rows, rules)


def _meanings(rows: Rows, found: Sequence[Reading]) -> Iterator[tuple[str, str]]:
    """Yield fields that mean something else than their first reading, with what they mean."""
    with_queue: set[str] = set()
    for field, group in groupby(found, key=lambda reading: reading.field):
        candidates = list(group)
        first, best = candidates[0], max(candidates, key=lambda c: c.telling_holds)
        name = rows.source(field)
        if best.telling_holds > first.telling_holds:
            others = " and ".join(
                f"{name} = {c.identity} for {c.telling_holds:,}" for c in candidates if c != best
            )
            if "queue" in best.means:
                with_queue.add(field)
            yield (
                field.removesuffix("_s"),
                f"{name} is {best.identity}, not {first.identity}: {best.means}. Of "
                f"{best.telling:,} jobs on which the two differ, {name} = {best.identity} holds "
                f"for {best.telling_holds:,} and {others}{_excess(rows, field)}.",
            )
        elif field == "gpu_time_s" and "duration_s" in with_queue and first.holds:
            yield (
                field.removesuffix("_s"),
                f"{name} = {first.identity} holds for {first.holds:,} of {first.evaluable:,} "
                f"jobs, so {name} inherits the queue from {rows.source('duration_s')}.",
            )


def _excess(rows: Rows, field: str) -> str:
    """Return by how much a duration is longer than start to end."""
    if field != "duration_s":
        return ""
    excess = rows.numbers(field) - rows.between("start_time", "end_time")
    excess = excess[~np.isnan(excess)]
    return f"; it exceeds end - start by a median of {np.median(excess):,.0f} s"


def _set_aside(rows: Rows) -> Iterator[str]:
    aside = rows.trace.set_aside
    if aside.empty:
        return
    counts = aside["reason"].value_counts()
    listed = _listed([f"{reason} ({count:,})" for reason, count in counts.items()])
    yield f"{len(aside):,} of {rows.trace.rows:,} rows cannot be used and are set aside: {listed}."


def _offsets(rows: Rows) -> Iterator[str]:
    counts = rows.offset_counts()
    if len(counts) < 2:
        return
    listed = ", ".join(f"{offset} ({count:,} times)" for offset, count in counts.items())
    yield (
        f"The times have different UTC offsets: {listed}. They are compared as moments; local "
        "hours and days mean nothing until one offset is chosen."
    )


def _undocumented(rows: Rows, field: str) -> Iterator[str]:
    documented = getattr(rows.dialect, f"{field}s")
    if not documented or not rows.has(field):
        return
    codes = rows.codes(field)
    counts = np.bincount(codes[codes >= 0], minlength=len(rows.words(field)))
    others = [
        f"{word} ({count:,})"
        for word, count in sorted(zip(rows.words(field), counts.tolist(), strict=True))
        if count and word not in documented
    ]
    if others:
        yield (
            f"{len(others)} {rows.source(field)}{'s' if len(others) > 1 else ''} outside the "
            f"documented list ({', '.join(documented)}): {_listed(others)}."
        )


def _missing(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield fields that are empty for just the jobs of one group, with the sentence."""
    for field in rows.dialect.columns:
        missing = ~rows.present(field)
        count = int(np.count_nonzero(missing))
        if not count:
            continue
        name = rows.source(field)
        if count == len(rows):
            yield field, f"{name} is empty in every row."
            continue
        for group, size in _groups_holding(rows, missing):
            if size == count:
                yield field, f"{name} is empty for exactly the {count:,} {group}."
            else:
                yield field, f"{name} is empty for {count:,} of the {size:,} {group}, no others."
            break


def _groups_holding(rows: Rows, some: Mask) -> Iterator[tuple[str, int]]:
    """Yield groups that hold all of some rows, with the size of each; the closest first."""
    groups: list[tuple[str, int]] = []
    no_gpus = rows.numbers("gpu_num") == 0
    if no_gpus[some].all():
        groups.append(("jobs without GPUs", int(np.count_nonzero(no_gpus))))
    for field in ("state", "type"):
        if not rows.has(field):
            continue
        codes = rows.codes(field)
        values = np.unique(codes[some])
        if len(values) == 1 and values[0] >= 0:
            word = rows.words(field)[values[0]]
            size = int(np.count_nonzero(codes == values[0]))
            groups.append((f"jobs of {rows.source(field)} {word}", size))
    yield from sorted(groups, key=lambda group: group[1])


def _taken_at(rows: Rows) -> Iterator[str]:
    """Yield the moment that jobs without an end agree on, if there is one."""
    if not rows.has("end_time"):
        return
    running = ~rows.present("end_time")
    for start in ("submit_time", "start_time"):
        if not rows.has(start):
            continue
        until = (rows.seconds(start) + rows.numbers("duration_s"))[running]
        until = until[~np.isnan(until)]
        if len(until) > 1 and np.ptp(until) < rows.dialect.resolution_s:
            moment = pd.Timestamp(until[0], unit="s", tz="UTC")
            moment = moment.tz_convert(rows.column("submit_time").dt.tz)
            yield (
                f"For all {len(until):,} jobs without an end, {rows.source(start)} + "
                f"{rows.source('duration_s')} is one moment, {moment}: their duration is "
                "counted up to when the trace was taken."
            )


def _span(rows: Rows, window: Window | None) -> Iterator[str]:
    if window is None or rows.trace.clock != "calendar":
        return
    days = submit_days(window)
    stamps = window.timestamps()
    text = f"Submits span {days:,} days, {stamps[0]:%Y-%m-%d} to {stamps[-1]:%Y-%m-%d}"
    documented = _documented_months(rows.dialect)
    if documented is None:
        yield f"{text}."
        return
    months, length = documented
    first, last = rows.dialect.window or ("", "")
    yield (
        f"{text}; the documentation gives {months} months, {first} to {last}, which have "
        f"{length:,} days."
    )


def submit_days(window: Window) -> int:
    """Return the number of calendar days from the first to the last submit, both included."""
    last = window.first + window.hours - 1
    return last // HOURS_PER_DAY - window.first // HOURS_PER_DAY + 1


def _documented_months(dialect: Dialect) -> tuple[int, int] | None:
    """Return the number of documented months and their length in days."""
    if dialect.window is None:
        return None
    months = pd.period_range(*dialect.window, freq="M")
    return len(months), int(np.sum(months.days_in_month))


def _late_ends(rows: Rows) -> Iterator[str]:
    if not rows.has("end_time") or not len(rows):
        return
    ends, last = rows.seconds("end_time"), np.nanmax(rows.seconds("submit_time"))
    late = int(np.count_nonzero(ends > last))
    if late:
        by = (np.nanmax(ends) - last) / SECONDS_PER_DAY
        yield (
            f"{late:,} of {int(np.count_nonzero(~np.isnan(ends))):,} jobs end after the last "
            f"submit, the latest {by:,.1f} days later."
        )


def _emptied(funnel: pd.DataFrame) -> Iterator[str]:
    emptied = funnel[(funnel["rows_out"] == 0) & (funnel["rows_in"] > 0)]
    for step, rule, rows_in in emptied[["step", "rule", "rows_in"]].itertuples(index=False):
        yield (
            f"The task pool is empty: of {rows_in:,} rows the step {step!r} ({rule}) leaves none."
        )


def _failures(rules: Sequence[RuleResult], explained: set[str]) -> Iterator[str]:
    for rule in rules:
        # Rows set aside have their finding already.
        if (
            not rule.failed
            or rule.id in explained
            or rule.id.startswith(("type.", "range.", "row."))
        ):
            continue
        first = rule.examples[0]
        yield (
            f"{rule.field}: {rule.failed:,} of {rule.evaluable:,} rows fail {rule.id!r} "
            f"({rule.text}), the first in line {first.line} ({first.found})."
        )


def _unanswered(rows: Rows, rules: Sequence[RuleResult]) -> Iterator[str]:
    absent = [name for name in FIELDS if name not in rows.dialect.columns]
    if not absent:
        return
    silent = [rule.id for rule in rules if rule.not_evaluable == rule.n]
    yield (
        f"The file has no column for {', '.join(absent)}; {len(silent)} rules could not be asked: "
        f"{_listed(silent, len(silent))}."
    )


def _listed(parts: list[str], limit: int = MAX_LISTED) -> str:
    more = len(parts) - limit
    return ", ".join(parts[:limit]) + (f" and {more:,} more" if more > 0 else "")
