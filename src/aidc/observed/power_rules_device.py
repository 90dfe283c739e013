"""Rules on the energy counters of a power log, and on which devices it covers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from aidc.observed import power_clean as codes
from aidc.observed.power import OVERLAPPING, Domain
from aidc.observed.power_rules import Job, RuleResult, count_of, examples_of, where
from aidc.observed.power_rules_value import by_fault, counters_of
from aidc.observed.rule_count import MAX_EXAMPLES

# Times are written in whole microseconds: two of them may be off by one together.
_CLOCK_S = 1e-6
_WATT_TOLERANCE = 1e-3
_ENERGY_TOLERANCE = 0.01
_MISSING_SHARE = 0.01


def batch_ends(job: Job) -> RuleResult:
    """Every row of a log with derived watts has them."""
    asked = [log for log in job.logs if log.profile.incomplete is not None]
    examples: list[str] = []
    failed = 0
    dip_w = 0.0
    for log in asked:
        incomplete = log.profile.incomplete
        rows = np.flatnonzero(incomplete) if incomplete is not None else np.empty(0, np.int64)
        failed += rows.size
        examples += examples_of(log, rows, "no derived watts")
        for i in log.profile.of(Domain.CPU):
            if log.profile.channels[i].counter and not np.isnan(log.watts[:, i]).all():
                dip_w += float(np.nanmean(log.watts[:, i]))
    return RuleResult(
        id="batch.complete",
        field="row",
        n=sum(log.profile.times_s.size for log in asked) or len(job.logs),
        not_evaluable=0 if asked else len(job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'row')} at batch ends lack the derived watts: read as zero, "
        f"each would be a dip of about {dip_w / len(asked):.0f} W; the counters fill them"
        if failed
        else "",
    )


def wraps(job: Job) -> RuleResult:
    """No counter falls."""
    rule = by_fault(
        job,
        "counter.monotone",
        "counter",
        codes.WRAPPED,
        "falls",
        "below the one before; the counter wrapped or was reset",
        counters=True,
    )
    known = job.settings.cleaning.counter_range_j
    stated = any(log.profile.stated_w for log in job.logs)
    how = (
        "its range is known"
        if known
        else "the file's own watts stand in"
        if stated
        else "its range is unknown and those intervals are bridged"
    )
    return dataclasses.replace(rule, finding=f"{rule.finding}; {how}" if rule.failed else "")


def ambiguous(job: Job) -> RuleResult:
    """No interval is so long that a counter may have wrapped unnoticed."""
    return by_fault(
        job,
        "counter.unambiguous",
        "counter",
        codes.AMBIGUOUS,
        "may have wrapped once or more",
        "after an interval in which the counter may have wrapped once or more; not used",
        counters=True,
    )


def counter_values(job: Job) -> RuleResult:
    """No counter value is missing, zero, the end of an integer type, or a jump."""
    rules = [
        by_fault(job, "", "", code, text, text, counters=True)
        for code, text in (
            (codes.ZERO, "is zero"),
            (codes.UNREADABLE, "is no number"),
            (codes.SENTINEL, "is the end of an integer type"),
            (codes.IMPLAUSIBLE, "jumps"),
        )
    ]
    found = [rule for rule in rules if rule.failed]
    examples = [example for rule in found for example in rule.examples]
    return RuleResult(
        id="counter.readable",
        field="counter",
        n=rules[0].n,
        failed=sum(rule.failed for rule in found),
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding="; ".join(rule.finding for rule in found)
        + ("; the energy around them is spread over those rows" if found else ""),
    )


def alive(job: Job) -> RuleResult:
    """Every counter moves."""
    bad: list[str] = []
    for log in job.logs:
        for i, channel in enumerate(log.profile.channels):
            if channel.counter and np.isnan(log.watts[:, i]).all():
                energy = log.profile.counters_j[channel.name]
                how = "reads zero in every row" if not energy.any() else "never moves"
                bad.append(f"{log.profile.label}: {channel.name} {how}")
    return RuleResult(
        id="counter.alive",
        field="counter",
        n=sum(counters_of(log) for log in job.logs),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"{bad[0]}: RAPL may be readable by root only; the device was not measured"
        if bad
        else "",
    )


def stated_watts(job: Job) -> RuleResult:
    """The file's own watts are the forward differences of its counters, where those rise.

    The tolerance is 0.001 W and what one microsecond, to which times are written, makes.
    """
    n = unknown = failed = 0
    examples: list[str] = []
    for log in job.logs:
        profile = log.profile
        steps = np.diff(profile.times_s, append=np.nan)
        for i, channel in enumerate(profile.channels):
            stated = profile.stated_w.get(channel.name)
            if stated is None:
                continue
            own = np.where(profile.watts[:, i] < 0, np.nan, profile.watts[:, i])
            n += own.size
            off = np.abs(stated - own)
            unknown += int(np.isnan(off).sum())
            room = _WATT_TOLERANCE + np.abs(own) * _CLOCK_S / np.where(steps > 0, steps, np.inf)
            rows = np.flatnonzero(off > room)
            failed += rows.size
            examples += [
                f"{where(log, int(row))}: {channel.name} {stated[row]:.4f} W, counter "
                f"{own[row]:.4f} W"
                for row in rows[:MAX_EXAMPLES]
            ]
    return RuleResult(
        id="counter.stated_watts",
        field="counter",
        n=n or len(job.logs),
        not_evaluable=unknown if n else len(job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'value')} of the file's own watts are not the difference of "
        f"its counter (first: {examples[0]})"
        if failed
        else "",
    )


def energy(job: Job) -> RuleResult:
    """A device's energy counter gains what its readings integrate to (to 1 %)."""
    bad: list[str] = []
    n = 0
    for log in job.logs:
        profile = log.profile
        for name, counter in profile.counters_j.items():
            i = next(j for j, c in enumerate(profile.channels) if c.name == name)
            if profile.channels[i].counter:
                continue
            n += 1
            watts = log.watts[:, i]
            sound = ~np.isnan(watts)
            read = float(np.trapezoid(watts[sound], log.times_s[sound]))
            gained = np.diff(counter[log.rows])
            counted = float(gained[gained > 0].sum())
            if not counted > 0 or abs(read / counted - 1) > _ENERGY_TOLERANCE:
                bad.append(
                    f"{profile.label}: {name} counts {counted:,.0f} J and reads {read:,.0f} J"
                )
    return RuleResult(
        id="counter.energy",
        field="counter",
        n=n or len(job.logs),
        not_evaluable=0 if n else len(job.logs),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"the energy counter and the readings disagree: {bad[0]}" if bad else "",
    )


def nested(job: Job) -> RuleResult:
    """Channels inside others are not added to them."""
    n = 0
    twice_w = 0.0
    names: set[str] = set()
    for log in job.logs:
        n += len(log.profile.channels)
        for i in log.profile.of(*OVERLAPPING):
            names.add(log.profile.channels[i].name)
            if not np.isnan(log.watts[:, i]).all():
                twice_w += float(np.nanmean(log.watts[:, i]))
    failed = sum(len(log.profile.of(*OVERLAPPING)) for log in job.logs)
    return RuleResult(
        id="channels.nested",
        field="channel",
        n=n,
        failed=failed,
        examples=tuple(sorted(names)[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'channel')} ({', '.join(sorted(names)[:3])} ...) overlap with "
        f"others and are left out: adding them would count {twice_w:.1f} W twice"
        if failed
        else "",
    )


def complete(job: Job) -> RuleResult:
    """No device is absent: numbers have no hole, nodes have the same devices."""
    by_node: dict[str, set[str]] = {}
    for log in job.logs:
        by_node.setdefault(log.profile.node, set()).update(c.name for c in log.profile.channels)
    expected = set().union(*by_node.values()) if by_node else set()
    for prefix in ("gpu-", "cpu-"):
        numbers = {int(name[4:]) for name in expected if name[4:].isdigit() and name[:4] == prefix}
        expected |= {f"{prefix}{i}" for i in range(max(numbers, default=-1) + 1)}
    missing = [
        f"{node or job.logs[0].profile.label}: {name}"
        for node, names in sorted(by_node.items())
        for name in sorted(expected - names)
    ]
    return RuleResult(
        id="channels.complete",
        field="channel",
        n=len(expected) * len(by_node),
        failed=len(missing),
        examples=tuple(missing[:MAX_EXAMPLES]),
        finding=f"{count_of(len(missing), 'device')} missing ({', '.join(missing[:3])}): the total "
        "does not include them"
        if missing
        else "",
    )


def measured(job: Job) -> RuleResult:
    """No device misses more than 1 % of its values."""
    bad: list[str] = []
    for log in job.logs:
        for i, channel in enumerate(log.profile.channels):
            watts = log.watts[:-1, i] if channel.counter else log.watts[:, i]
            share = float(np.isnan(watts).mean()) if watts.size else 1.0
            if share > _MISSING_SHARE:
                bad.append(f"{log.profile.label}: {channel.name} lacks {share:.1%}")
    return RuleResult(
        id="channels.measured",
        field="channel",
        n=sum(len(log.profile.channels) for log in job.logs),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"more than {_MISSING_SHARE:.0%} of the values missing: {bad[0]}" if bad else "",
    )


DEVICE_RULES: tuple[Callable[[Job], RuleResult], ...] = (
    batch_ends,
    wraps,
    ambiguous,
    counter_values,
    alive,
    stated_watts,
    energy,
    nested,
    complete,
    measured,
)
