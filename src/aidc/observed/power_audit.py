"""Audit the power logs of one job: rules, findings in words, and an honest profile."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.aggregate import Aggregation, AggregationRules, TotalPower, total_power
from aidc.observed.power import PowerOptions, PowerProfile
from aidc.observed.power_clean import OUT_OF_ORDER, CleanProfile, clean
from aidc.observed.power_read import AUTO, read_power
from aidc.observed.power_rules import Job, PowerAuditSettings, RuleResult
from aidc.observed.power_rules_device import DEVICE_RULES
from aidc.observed.power_rules_time import TIME_RULES, means
from aidc.observed.power_rules_value import VALUE_RULES
from aidc.observed.profile import power_summary
from aidc.observed.sampling import sampling


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """Our rule beside the official one.

    Attributes
    ----------
    ours_w, official_w : float
        Mean power under each, W.
    nested_w : float
        Part of the difference that counting core beside package makes, W.
    zero_filled_w : float
        The rest: batch ends read as zero, and the grid.
    """

    ours_w: float
    official_w: float
    nested_w: float
    zero_filled_w: float

    @property
    def difference_w(self) -> float:
        """Official less ours, W."""
        return self.official_w - self.ours_w


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerAudit(Carrier):
    """What an audit of the power logs of one job found.

    Attributes
    ----------
    logs : tuple of CleanProfile
        The logs.
    total : TotalPower
        Their sum.
    rules : tuple of RuleResult
        What each rule found.
    findings : tuple of str
        The same in words.
    comparison : Comparison or None
        Our aggregation beside the official one; None if the logs have no counters.
    """

    logs: tuple[CleanProfile, ...]
    total: TotalPower
    rules: tuple[RuleResult, ...]
    findings: tuple[str, ...]
    comparison: Comparison | None

    def rule(self, name: str) -> RuleResult:
        """Return one rule's result by its id."""
        return next(rule for rule in self.rules if rule.id == name)


@step(Layer.OBSERVED)
def examine(
    profiles: Sequence[PowerProfile], settings: PowerAuditSettings | None = None
) -> PowerAudit:
    """Audit the logs of one job: every node and domain, each once.

    Raises
    ------
    InputError
        If the logs cannot belong to one job.
    """
    chosen = settings or PowerAuditSettings()
    logs = tuple(clean(profile, chosen.cleaning) for profile in profiles)
    total = total_power(logs, chosen.aggregation)
    samplings = tuple(sampling(log.times_s, log.interval_s) for log in logs)
    job = Job(logs=logs, samplings=samplings, total=total, settings=chosen)
    rules = tuple(rule(job) for rule in (*VALUE_RULES, *DEVICE_RULES, *TIME_RULES))
    comparison = _comparison(logs, total, chosen.aggregation)
    findings = [rule.finding for rule in rules if rule.finding]
    if comparison:
        findings.append(
            f"the official aggregation gives {comparison.official_w:.2f} W, ours "
            f"{comparison.ours_w:.2f} W: {comparison.difference_w:+.2f} W, of which "
            f"{comparison.nested_w:+.2f} W count the cores twice and "
            f"{comparison.zero_filled_w:+.2f} W are batch ends read as zero and the grid"
        )
    findings += [f"no profile is stated: {reason}" for reason in total.refused]
    return PowerAudit(
        logs=logs,
        total=total,
        rules=rules,
        findings=tuple(findings),
        comparison=comparison,
    )


def _comparison(
    logs: Sequence[CleanProfile], total: TotalPower, rules: AggregationRules
) -> Comparison | None:
    """Return the two aggregations side by side, where they can differ."""
    if total.refused or not any(log.profile.stated_w for log in logs):
        return None
    other = Aggregation.AIDC if total.aggregation == Aggregation.NLR else Aggregation.NLR
    second = total_power(logs, dataclasses.replace(rules, aggregation=other))
    ours, official = (second, total) if other == Aggregation.AIDC else (total, second)
    nested_w = sum(
        float(np.nanmean(log.watts[:, i]))
        for log in logs
        for i, channel in enumerate(log.profile.channels)
        if channel.name in ours.left_out and not np.isnan(log.watts[:, i]).all()
    )
    ours_w, official_w = means(ours)[0], means(official)[0]
    return Comparison(
        ours_w=ours_w,
        official_w=official_w,
        nested_w=nested_w,
        zero_filled_w=official_w - ours_w - nested_w,
    )


def audit_power(
    paths: str | Path | Sequence[str | Path],
    options: PowerOptions | Mapping[str, PowerOptions] | None = None,
    dialect: str = AUTO,
    settings: PowerAuditSettings | None = None,
) -> dict[str, Any]:
    """Audit power logs and return what was found as plain values (JSON).

    Parameters
    ----------
    paths : path or sequence of paths
        Several paths are one job's nodes and domains.
    options : PowerOptions, or mapping of path to PowerOptions
        What the files do not say.
    dialect : str
        Format of all files; "auto" finds it for each.
    settings : PowerAuditSettings
        Design power, cleaning, aggregation.

    Returns
    -------
    dict
        ``path`` (a list for several), ``dialect``, ``offset``, ``rows``, ``kept``,
        ``set_aside``, ``rules``, ``funnel``, ``findings`` and ``profile``, whose values are
        null where no profile can be stated.

    Raises
    ------
    InputError
        If a file as a whole cannot be used.
    """
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not several:
        raise InputError("found no path, expected at least one power log")
    profiles = [
        read_power(
            path, options.get(str(path)) if isinstance(options, Mapping) else options, dialect
        )
        for path in several
    ]
    return audit_record(examine(with_nodes(profiles), settings))


def with_nodes(profiles: Sequence[PowerProfile]) -> list[PowerProfile]:
    """Return logs with the node named after their folder, where nothing else names it.

    The logger gives every node's file the same name, so that one folder a node is common.
    Nothing is renamed unless a device would otherwise occur twice.
    """
    devices = Counter((p.node, channel.name) for p in profiles for channel in p.channels)
    if max(devices.values()) == 1:
        return list(profiles)
    return [
        p if p.node else dataclasses.replace(p, node=p.path.resolve().parent.name) for p in profiles
    ]


def audit_record(audit: PowerAudit) -> dict[str, Any]:
    """Return an audit as plain values (JSON)."""
    labels = [log.profile.label for log in audit.logs]
    set_aside = [entry for log in audit.logs for entry in _set_aside(log, len(labels) > 1)]
    rows = sum(log.profile.rows for log in audit.logs)
    dialects = sorted({log.profile.dialect for log in audit.logs})
    return {
        "path": labels[0] if len(labels) == 1 else labels,
        "dialect": "+".join(dialects),
        "offset": _offset(audit.logs),
        "boundary": str(audit.total.boundary),
        "power_kind": str(audit.total.power_kind),
        "aggregation": audit.total.aggregation,
        "rows": rows,
        "kept": rows - len(set_aside),
        "set_aside": set_aside,
        "rules": [rule.counts() | {"examples": list(rule.examples)} for rule in audit.rules],
        "funnel": [
            {"step": "rows of the files", "rows": rows},
            {"step": "readable", "rows": sum(log.profile.times_s.size for log in audit.logs)},
            {"step": "in order of time", "rows": sum(log.times_s.size for log in audit.logs)},
            {"step": "instants that all files cover", "rows": int(audit.total.times_s.size)},
        ],
        "findings": list(audit.findings),
        "profile": profile_record(audit.total),
    }


def _set_aside(log: CleanProfile, named: bool) -> list[dict[str, Any]]:
    """Return a log's rows that are not used, with file if there are several."""
    frame = log.profile.set_aside
    found = list(zip(frame["line"].tolist(), frame["reason"].tolist(), strict=True))
    for fault in log.of(OUT_OF_ORDER):
        found += [(int(line), "time out of order") for line in log.profile.lines[fault.rows]]
    origin = {"path": log.profile.label} if named else {}
    return [origin | {"line": line, "reason": reason} for line, reason in sorted(found)]


def _offset(logs: Sequence[CleanProfile]) -> str:
    """Return the UTC offset of the times; "none" if they do not state one."""
    zoned = all(log.profile.start is not None and log.profile.start.tzinfo for log in logs)
    return "+00:00" if zoned else "none"


def profile_record(total: TotalPower) -> dict[str, float | None]:
    """Return the figures of a curve as plain values; all null if it was refused."""
    names = (
        "mean_w",
        "mean_w_without_gaps",
        "p95_w",
        "p99_w",
        "max_w",
        "energy_wh",
        "duration_s",
        "interval_s",
        "load_factor",
    )
    if total.refused:
        return dict.fromkeys(names, None)
    summary = power_summary(total)
    values = {name: float(getattr(summary, name)) for name in names}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
