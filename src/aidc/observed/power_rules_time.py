"""Rules on when a power log was sampled, and whether logs of a job fit together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aidc.observed.aggregate import TotalPower
from aidc.observed.power import Domain, Floats
from aidc.observed.power_clean import CLOCK_STEP, OUT_OF_ORDER, CleanProfile
from aidc.observed.power_rules import (
    Job,
    RuleResult,
    count_of,
    examples_of,
    where,
)
from aidc.observed.rule_count import MAX_EXAMPLES
from aidc.observed.sampling import lag_s

# A mean interval this far from the declared one is another interval.
DECLARED_TOLERANCE = 0.005
# A first or last sample further from its marker than this many intervals is a partial one.
EDGE_INTERVALS = 1.5


def order(job: Job) -> RuleResult:
    """Times never decrease."""
    examples: list[str] = []
    misplaced = steps = 0
    for log in job.logs:
        for fault in log.of(OUT_OF_ORDER, CLOCK_STEP):
            examples += examples_of(log, fault.rows, "time before the row above")
        misplaced += log.count(OUT_OF_ORDER)
        steps += log.count(CLOCK_STEP)
    said = []
    if misplaced:
        said.append(f"{count_of(misplaced, 'row')} out of order, set aside")
    if steps:
        said.append(
            f"the clock was set back {count_of(steps, 'time')}; the rows after it are taken to "
            "follow one interval behind the row before it"
        )
    return RuleResult(
        id="time.order",
        field="time",
        n=sum(log.profile.times_s.size - 1 for log in job.logs),
        failed=misplaced + steps,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding="; ".join(said),
    )


def distinct(job: Job) -> RuleResult:
    """No two rows have the same time."""
    examples: list[str] = []
    failed = 0
    for log, found in zip(job.logs, job.samplings, strict=True):
        failed += found.duplicates.size
        examples += examples_of(log, log.rows[found.duplicates], "time of the row above")
    return RuleResult(
        id="time.distinct",
        field="time",
        n=sum(log.times_s.size - 1 for log in job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'timestamp')} given twice (first at {examples[0]})"
        if failed
        else "",
    )


def declared(job: Job) -> RuleResult:
    """The mean interval is the declared one."""
    known = [(log, s) for log, s in zip(job.logs, job.samplings, strict=True)]
    asked = [(log, s) for log, s in known if log.profile.interval_s is not None]
    bad = [
        f"{log.profile.label}: declared {log.profile.interval_s:g} s, "
        f"median {s.interval_s:.4f} s, mean {s.mean_interval_s:.4f} s"
        for log, s in asked
        if abs(s.mean_interval_s / (log.profile.interval_s or np.nan) - 1) > DECLARED_TOLERANCE
    ]
    return RuleResult(
        id="time.declared_interval",
        field="time",
        n=len(known),
        not_evaluable=len(known) - len(asked),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"sampled at another interval than declared: {bad[0]}" if bad else "",
    )


def punctual(job: Job) -> RuleResult:
    """No step is longer than 1.25 typical ones; late reads are tied to write batches."""
    examples: list[str] = []
    said: list[str] = []
    failed = 0
    for log, found in zip(job.logs, job.samplings, strict=True):
        failed += found.late.size
        steps = np.diff(log.times_s)
        examples += [
            f"{where(log, int(log.rows[row]))}: {steps[row - 1]:.3f} s after the row above"
            for row in found.late[:MAX_EXAMPLES]
        ]
        if found.batch_rows:
            rows = np.arange(found.batch_rows, log.times_s.size, found.batch_rows)
            shown = " and ".join(f"{log.times_s[row]:.1f} s" for row in rows[:MAX_EXAMPLES])
            said.append(
                f"{log.profile.label}: reads are late at {shown}, after every "
                f"{found.batch_rows:,} rows: the logger writes its batches there"
            )
    return RuleResult(
        id="time.punctual",
        field="time",
        n=sum(log.times_s.size - 1 for log in job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding="; ".join(said[:2])
        + (f"; and {len(said) - 2} more logs alike" if len(said) > 2 else ""),
    )


def gaps(job: Job) -> RuleResult:
    """No hole is longer than the longest that is bridged in silence."""
    total = job.total
    starts = np.flatnonzero(np.diff(np.concatenate([[0], total.gap.astype(np.int8)])) == 1)
    ends = np.flatnonzero(np.diff(np.concatenate([total.gap.astype(np.int8), [0]])) == -1)
    lengths = total.times_s[ends + 1] - total.times_s[starts]
    examples = [
        f"{total.times_s[i]:.1f} s after the start: {length:.2f} s"
        for i, length in zip(starts, lengths, strict=True)
    ]
    finding = ""
    if starts.size:
        bridged, left_out = means(total)
        finding = (
            f"{count_of(starts.size, 'gap')} longer than {total.max_gap_s:.2f} s take "
            f"{lengths.sum():.1f} s ({lengths.sum() / total.times_s[-1]:.1%} of the run): "
            f"mean {bridged:.1f} W if they are bridged, {left_out:.1f} W without them"
        )
    return RuleResult(
        id="time.gaps",
        field="time",
        n=total.gap.size,
        failed=int(total.gap.sum()),
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=finding,
    )


def means(total: TotalPower) -> tuple[float, float]:
    """Return the mean over all intervals and over those in no gap, W."""
    length = np.diff(total.times_s)
    joules = (total.watts[1:] + total.watts[:-1]) / 2 * length
    kept = ~total.gap
    covered = float(length[kept].sum())
    without = float(joules[kept].sum()) / covered if covered else np.nan
    return float(joules.sum() / length.sum()), without


def even(job: Job) -> RuleResult:
    """The samples stand for equal times: weighting them alike changes the mean by < 0.1 %."""
    if job.total.refused:
        return RuleResult(id="time.weighting", field="mean", n=1, not_evaluable=1)
    weighted, _ = means(job.total)
    arithmetic = float(job.total.watts.mean())
    # A trapezoid counts the two end samples half, however evenly they were taken.
    watts = job.total.watts
    alike = float((watts[1:] + watts[:-1]).mean() / 2)
    failed = abs(alike - weighted) > 1e-3 * abs(weighted)
    return RuleResult(
        id="time.weighting",
        field="mean",
        n=1,
        failed=int(failed),
        finding=f"uneven sampling: the arithmetic mean {arithmetic:.1f} W is "
        f"{arithmetic - weighted:+.1f} W off the time-weighted {weighted:.1f} W"
        if failed
        else "",
    )


def markers(job: Job) -> RuleResult:
    """Stated start and stop enclose the samples."""
    bad: list[str] = []
    n = 0
    for log in job.logs:
        stated, end = log.profile.markers, float(log.times_s[-1])
        n += len(stated)
        if "start" in stated and stated["start"] > 0:
            bad.append(f"{log.profile.label}: stated start {stated['start']:.1f} s after the first")
        if "stop" in stated and stated["stop"] < end:
            same = " (it repeats the start)" if stated["stop"] == stated.get("start") else ""
            bad.append(
                f"{log.profile.label}: the stated stop lies {end - stated['stop']:.1f} s before "
                f"the last sample{same}"
            )
    return RuleResult(
        id="time.markers",
        field="time",
        n=n if n else len(job.logs),
        not_evaluable=0 if n else len(job.logs),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"broken stop or start time: {bad[0]}" if bad else "",
    )


def edges(job: Job) -> RuleResult:
    """First and last samples are whole: no cut line, no wait, no log alone at an end."""
    bad: list[str] = []
    begin, end = _spans(job)
    for i, log in enumerate(job.logs):
        profile, reach = log.profile, EDGE_INTERVALS * log.interval_s
        aside = profile.set_aside
        if len(aside) and int(aside["line"].iloc[-1]) > int(profile.lines[-1]):
            bad.append(f"{profile.label}, line {aside['line'].iloc[-1]}: the last row is cut off")
        waited = -profile.markers.get("start", 0.0)
        if waited > reach:
            bad.append(f"{profile.label}: the first sample comes {waited:.1f} s after the start")
        if begin[i] - min(begin) > reach:
            bad.append(f"{profile.label}: starts {begin[i] - min(begin):.1f} s after the first log")
        if max(end) - end[i] > reach:
            bad.append(f"{profile.label}: ends {max(end) - end[i]:.1f} s before the last log")
    return RuleResult(
        id="time.edges",
        field="time",
        n=2 * len(job.logs),
        failed=min(len(bad), 2 * len(job.logs)),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"partial first or last samples: {bad[0]}" if bad else "",
    )


def _spans(job: Job) -> tuple[list[float], list[float]]:
    """Return first and last time of each log in s after the earliest start."""
    starts = [log.profile.start for log in job.logs]
    known = [start for start in starts if start is not None]
    offsets = [
        (start - min(known)).total_seconds() if start is not None else 0.0 for start in starts
    ]
    begin = [o + float(log.times_s[0]) for o, log in zip(offsets, job.logs, strict=True)]
    end = [o + float(log.times_s[-1]) for o, log in zip(offsets, job.logs, strict=True)]
    return begin, end


def aligned(job: Job) -> RuleResult:
    """Row i of every log is the same instant (to an interval), so rows may be added up."""
    begin, _ = _spans(job)
    drift: list[tuple[float, str]] = []
    for i, log in enumerate(job.logs[1:], start=1):
        rows = min(log.times_s.size, job.logs[0].times_s.size)
        apart = (begin[i] + log.times_s[:rows] - log.times_s[0]) - (
            begin[0] + job.logs[0].times_s[:rows] - job.logs[0].times_s[0]
        )
        worst = float(np.abs(apart).max())
        if worst > log.interval_s:
            drift.append((worst, log.profile.label))
    finding = ""
    if drift:
        worst, label = max(drift)
        finding = (
            f"rows of the same number are up to {worst:.2f} s apart ({label}): logs are added by "
            f"time; adding them by row would be wrong by up to {_row_error(job):.0f} W"
        )
    return RuleResult(
        id="nodes.row_alignment",
        field="time",
        n=max(len(job.logs) - 1, 0),
        failed=len(drift),
        examples=tuple(f"{label}: {worst:.2f} s" for worst, label in drift[:MAX_EXAMPLES]),
        finding=finding,
    )


def _row_error(job: Job) -> float:
    """Return the largest error of adding readings up by row, W."""
    logs = [log for log in job.logs if log.profile.of(Domain.GPU, Domain.TOTAL)]
    rows = min(log.times_s.size for log in logs) if logs else 0
    if len(logs) < 2 or rows < 2:
        return 0.0
    begin, _ = _spans(job)
    first = {id(log): b for log, b in zip(job.logs, begin, strict=True)}
    at = first[id(logs[0])] + logs[0].times_s[:rows] - logs[0].times_s[0]
    by_row, by_time = np.zeros(rows), np.zeros(rows)
    for log in logs:
        watts = _readings(log)
        by_row += watts[:rows]
        by_time += np.interp(at, first[id(log)] + log.times_s - log.times_s[0], watts)
    return float(np.abs(by_row - by_time).max())


def _readings(log: CleanProfile) -> Floats:
    watts = np.nansum(log.watts[:, log.profile.of(Domain.GPU, Domain.TOTAL)], axis=1)
    return np.asarray(watts, dtype=np.float64)


def lag(job: Job) -> RuleResult:
    """Nodes move together: no log of readings lags another by more than an interval."""
    logs = [log for log in job.logs if log.profile.of(Domain.GPU)]
    pairs = max(len(logs) - 1, 0)
    if not pairs or not job.total.times_s.size > 8:
        return RuleResult(id="nodes.lag", field="gpu", n=pairs, not_evaluable=pairs)
    begin, _ = _spans(job)
    first = {id(log): b for log, b in zip(job.logs, begin, strict=True)}
    step_s = job.total.interval_s
    low = max(first[id(log)] for log in logs)
    grid = low + step_s * np.arange(int(job.total.times_s[-1] / step_s))
    series = [
        np.interp(grid, first[id(log)] + log.times_s - log.times_s[0], _readings(log))
        for log in logs
    ]
    bad: list[str] = []
    unclear = 0
    for log, watts in zip(logs[1:], series[1:], strict=True):
        found, correlation = lag_s(series[0], watts, step_s)
        unclear += int(np.isnan(found))
        if abs(found) > 1.5 * step_s:
            side = "behind" if found > 0 else "before"
            bad.append(
                f"{log.profile.label} runs {abs(found):.1f} s {side} "
                f"{logs[0].profile.label} (correlation {correlation:.2f})"
            )
    return RuleResult(
        id="nodes.lag",
        field="gpu",
        n=pairs,
        not_evaluable=unclear,
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"clocks or work of the nodes are shifted: {bad[0]}" if bad else "",
    )


TIME_RULES: tuple[Callable[[Job], RuleResult], ...] = (
    order,
    distinct,
    declared,
    punctual,
    gaps,
    even,
    markers,
    edges,
    aligned,
    lag,
)
