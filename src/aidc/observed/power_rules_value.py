"""Rules on the rows and readings of a power log."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable

import numpy as np

from aidc.observed import power_clean as codes
from aidc.observed.power import OVERLAPPING, Boundary, Domain, PowerKind
from aidc.observed.power_clean import CleanProfile
from aidc.observed.power_response import Response, response_test
from aidc.observed.power_rules import Job, RuleResult, count_of, examples_of
from aidc.observed.rule_count import MAX_EXAMPLES


def readings_of(log: CleanProfile) -> int:
    """Return how many channels of a log are readings."""
    return sum(not channel.counter for channel in log.profile.channels)


def counters_of(log: CleanProfile) -> int:
    """Return how many channels of a log are counters."""
    return sum(channel.counter for channel in log.profile.channels)


def rows_readable(job: Job) -> RuleResult:
    """Every row can be read."""
    examples, reasons = [], Counter[str]()
    for log in job.logs:
        aside = log.profile.set_aside
        reasons.update(aside["reason"].tolist())
        head = aside.head(MAX_EXAMPLES)
        examples += [
            f"{log.profile.label}, line {line}: {reason}"
            for line, reason in zip(head["line"], head["reason"], strict=True)
        ]
    failed = reasons.total()
    shown = ", ".join(f"{count:,} x {reason}" for reason, count in reasons.most_common(3))
    return RuleResult(
        id="rows.readable",
        field="row",
        n=sum(log.profile.rows for log in job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'row')} set aside: {shown}" if failed else "",
    )


def by_fault(
    job: Job, rule: str, field: str, code: str, text: str, finding: str, *, counters: bool
) -> RuleResult:
    """Return the rule that no value has a fault of one kind."""
    examples: list[str] = []
    devices: set[str] = set()
    failed = 0
    for log in job.logs:
        is_counter = {c.name: c.counter for c in log.profile.channels}
        for fault in log.of(code):
            if is_counter.get(fault.channel, False) != counters:
                continue
            failed += fault.rows.size
            devices.add(f"{log.profile.node} {fault.channel}".strip())
            examples += examples_of(log, fault.rows, f"{fault.channel} {text}")
    width = counters_of if counters else readings_of
    named = ", ".join(sorted(devices)[:3]) + (" ..." if len(devices) > 3 else "")
    return RuleResult(
        id=rule,
        field=field,
        n=sum(log.times_s.size * width(log) for log in job.logs),
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'value')} of {named}: {finding}" if failed else "",
    )


def cells(job: Job) -> RuleResult:
    """Every reading is a number."""
    rule = by_fault(
        job,
        "value.number",
        "reading",
        codes.UNREADABLE,
        "has no number",
        "no number",
        counters=False,
    )
    texts: Counter[str] = Counter()
    for log in job.logs:
        texts.update(log.profile.cells)
    if not texts or not rule.failed:
        return rule
    shown = ", ".join(f"{text!r} x {count:,}" for text, count in texts.most_common(3))
    return dataclasses.replace(rule, finding=f"{rule.finding} ({shown})")


def zeros(job: Job) -> RuleResult:
    """No reading is zero: a powered device draws something."""
    return by_fault(
        job,
        "value.zero",
        "reading",
        codes.ZERO,
        "reads 0",
        "zero, which means 'could not be read'; taken as missing",
        counters=False,
    )


def sentinels(job: Job) -> RuleResult:
    """No reading is the end of an integer type."""
    return by_fault(
        job,
        "value.sentinel",
        "reading",
        codes.SENTINEL,
        "is the end of an integer type",
        "the end of an integer type, a driver's word for 'no value'; taken as missing",
        counters=False,
    )


def plausible(job: Job) -> RuleResult:
    """No reading is negative or beyond any device."""
    return by_fault(
        job,
        "value.plausible",
        "reading",
        codes.IMPLAUSIBLE,
        "is beyond any device",
        "negative or beyond any device; taken as missing",
        counters=False,
    )


def units(job: Job) -> RuleResult:
    """The magnitude of a device fits the unit that its header states."""
    bad: list[str] = []
    for log in job.logs:
        for fault in log.of(codes.UNIT):
            i = next(j for j, c in enumerate(log.profile.channels) if c.name == fault.channel)
            median = float(np.nanmedian(log.profile.watts[:, i]))
            unit = log.profile.channels[i].unit
            bad.append(
                f"{log.profile.label}: {fault.channel} has a median of {median:,.6g} W if read as "
                f"{unit}"
            )
    return RuleResult(
        id="value.unit",
        field="reading",
        n=sum(readings_of(log) for log in job.logs),
        failed=len(bad),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding=f"{bad[0]}: no device draws that, so the stated unit is doubtful and the channel "
        "is not used"
        if bad
        else "",
    )


def stuck(job: Job) -> RuleResult:
    """No reading stays the same for long."""
    return by_fault(
        job,
        "value.stuck",
        "reading",
        codes.STUCK,
        "repeats one value",
        "long runs of one value, while the device usually varies; taken as missing",
        counters=False,
    )


def ceiling(job: Job) -> RuleResult:
    """No measured value is above the stated design power of its device."""
    n = unknown = failed = 0
    examples: list[str] = []
    highest = 0.0
    for log in job.logs:
        for i, channel in enumerate(log.profile.channels):
            if channel.domain in OVERLAPPING:
                continue
            n += log.times_s.size
            limit = job.settings.tdp_w.get(channel.domain)
            if limit is None:
                unknown += log.times_s.size
                continue
            above = np.flatnonzero(log.watts[:, i] > limit)
            failed += above.size
            if above.size:
                highest = max(highest, float(log.watts[above, i].max()))
                text = f"{channel.name} above {limit:g} W"
                examples += examples_of(log, log.rows[above], text)
    return RuleResult(
        id="value.ceiling",
        field="reading",
        n=n,
        not_evaluable=unknown,
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
        finding=f"{count_of(failed, 'value')} above the stated design power, up to {highest:.0f} W"
        if failed
        else "",
    )


def kind(job: Job) -> RuleResult:
    """Readings change no faster than their kind allows; it is known what kind they are."""
    asked = [log for log in job.logs if readings_of(log)]
    unknown = [log for log in asked if log.profile.power_kind is PowerKind.UNKNOWN]
    bad: list[str] = []
    seen: Counter[Response] = Counter()
    for log in asked:
        for i in log.profile.of(Domain.GPU):
            test = response_test(log.watts[:, i], log.interval_s)
            seen[test.verdict] += 1
            is_mean = log.profile.power_kind is PowerKind.AVERAGE_1S
            if is_mean and test.verdict is Response.FASTER:
                name = log.profile.channels[i].name
                bad.append(
                    f"{log.profile.label}: {name} passes {test.short_share:.0%} of its range "
                    "within 0.5 s"
                )
    said = [f"declared a mean over 1 s, but {bad[0]}"] if bad else []
    if unknown:
        said.append(f"kind of reading unknown: {unknown[0].profile.power_kind_reason}")
        said += [
            f"{count_of(number, 'GPU')} of {sum(seen.values())} behave {verdict}"
            for verdict, number in seen.items()
            if verdict is not Response.UNDECIDED
        ]
        said.append(
            "until declared it is treated as a mean over 1 s: ramps within 1 s and faster waves "
            "are limited by the sensor"
        )
    return RuleResult(
        id="reading.kind",
        field="reading",
        n=len(asked),
        not_evaluable=len(unknown),
        failed=len({text.split(":")[0] for text in bad}),
        examples=tuple(bad[:MAX_EXAMPLES]),
        finding="; ".join(said),
    )


def boundary(job: Job) -> RuleResult:
    """It is known what a watt includes."""
    unknown = sum(log.profile.boundary is Boundary.UNSTATED for log in job.logs)
    return RuleResult(
        id="reading.boundary",
        field="reading",
        n=len(job.logs),
        not_evaluable=unknown,
        finding="the measurement boundary is not stated: declare it before the curve is compared "
        "with another"
        if unknown
        else "",
    )


VALUE_RULES: tuple[Callable[[Job], RuleResult], ...] = (
    rows_readable,
    cells,
    zeros,
    sentinels,
    plausible,
    units,
    stuck,
    ceiling,
    kind,
    boundary,
)
