"""Add up the logs of one job: aligned in time, gaps marked, nothing counted twice.

Two rules are known. ``"aidc"`` (ours): RAPL package only, what could not be read is
missing and bridged, never zero, and gaps are marked so that both ways to treat them can
be reported. ``"nlr"``: the official rule of the NLR data set, which adds package and core
and reads the missing watts of batch ends as zero; it reproduces the published figures.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd

from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.power import (
    OVERLAPPING,
    Boundary,
    Domain,
    Floats,
    Mask,
    PowerKind,
    PowerProfile,
)
from aidc.observed.power_clean import CleanProfile, typical_interval

# A hole of fewer intervals than this is bridged without being called a gap.
GAP_INTERVALS = 5.0
# If a larger share of the values is missing, every result of the curve says so.
NOTED_MISSING = 0.01


class Aggregation(StrEnum):
    """Rule by which logs are added up."""

    AIDC = "aidc"
    NLR = "nlr"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AggregationRules:
    """How logs are added up.

    Attributes
    ----------
    aggregation : str
        "aidc" or "nlr".
    resample_s : float or None
        Step of a uniform grid in s; None takes the times of one of the logs (for "nlr":
        `official_step_s`).
    official_step_s : float or None
        Step of the grid that the official rule puts a run on, s; None takes the mean
        interval, as WattAMeter's own post-processing does.
    max_gap_s : float or None
        Longest hole that is bridged without being a gap; None takes `GAP_INTERVALS`
        typical intervals.
    max_uncovered : float
        Share of the run that gaps may take before the mean is refused.
    max_missing : float
        Share of the values that may be missing, however they are spread, before the mean
        is refused: beyond half, most of the curve is bridged.
    """

    aggregation: str = Aggregation.AIDC
    resample_s: float | None = None
    official_step_s: float | None = None
    max_gap_s: float | None = None
    max_uncovered: float = 0.2
    max_missing: float = 0.5

    def __post_init__(self) -> None:
        if self.aggregation not in tuple(Aggregation):
            raise InputError(
                f"aggregation: found {self.aggregation!r}, expected one of {', '.join(Aggregation)}"
            )
        for name in ("resample_s", "official_step_s", "max_gap_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}: found {value}, expected seconds above 0, or None")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TotalPower(Carrier):
    """The power of one job: the sum over its devices.

    Attributes
    ----------
    times_s : ndarray, shape (n,)
        s since `start`, never decreasing.
    watts : ndarray, shape (n,)
        Total W at each time, linear in between.
    parts : dict of str to ndarray, shape (n,)
        W by domain: "gpu", "cpu", "dram" or "total".
    gap : ndarray of bool, shape (n - 1,)
        Whether the interval after a time lies in a hole longer than `max_gap_s` of any
        channel.
    start : Timestamp or None
        Time of the first sample.
    interval_s : float
        Typical interval: the median step.
    max_gap_s : float
        Longest hole that is no gap.
    boundary : Boundary
        What the watts include.
    power_kind : PowerKind
        Kind of reading.
    aggregation : str
        Rule.
    devices : dict of str to int
        Devices added up by domain.
    nodes : int
        Nodes added up.
    left_out : tuple of str
        Channels that are not added because others contain them.
    trimmed_s : tuple of float
        Time of the earliest start and the latest end outside the overlap of all logs.
    missing_share : float
        Share of the devices' values that are bridged; above `NOTED_MISSING` in every mark.
    refused : tuple of str
        Why no total can be stated; empty if it can.
    """

    times_s: Floats
    watts: Floats
    parts: dict[str, Floats]
    gap: Mask
    start: pd.Timestamp | None
    interval_s: float
    max_gap_s: float
    boundary: Boundary
    power_kind: PowerKind
    aggregation: str
    devices: dict[str, int]
    nodes: int
    left_out: tuple[str, ...]
    trimmed_s: tuple[float, float]
    missing_share: float
    refused: tuple[str, ...]


@step(Layer.OBSERVED)
def total_power(logs: Sequence[CleanProfile], rules: AggregationRules | None = None) -> TotalPower:
    """Return the total power of the logs of one job, on the time that all of them cover.

    Parameters
    ----------
    logs : sequence of CleanProfile
        Every node and domain of the job, each once.
    rules : AggregationRules
        How they are added up.

    Raises
    ------
    InputError
        If the logs share no time, or measure at different boundaries.
    """
    chosen = rules or AggregationRules()
    offsets, start = _offsets(logs)
    boundary = _boundary(logs)
    begin = max(o + log.times_s[0] for o, log in zip(offsets, logs, strict=True))
    end = min(o + log.times_s[-1] for o, log in zip(offsets, logs, strict=True))
    if len(logs) == 1 and not end > begin:
        raise InputError(
            f"{_named(logs)}: found no two usable rows at rising times, expected them; "
            "a single sample has no duration: give a longer log"
        )
    if not end > begin:
        raise InputError(
            f"{_named(logs)}: found no time that all logs cover, expected logs of one job; "
            "give those of one run"
        )
    nlr = chosen.aggregation == Aggregation.NLR
    reference = _reference(logs)
    grid = _grid(logs, offsets, reference, begin, end, chosen)
    if grid.size < 2:
        raise InputError(
            f"{_named(logs)}: found {end - begin:g} s that all logs cover, expected at least one "
            f"step of {chosen.resample_s or chosen.official_step_s} s; give a shorter resample_s"
        )
    max_gap_s = chosen.max_gap_s or GAP_INTERVALS * logs[reference].interval_s
    parts: dict[str, Floats] = {}
    gap = np.diff(grid) > max_gap_s
    refused: list[str] = []
    for offset, log in zip(offsets, logs, strict=True):
        if nlr:
            _add_official(parts, log, grid - offset)
        else:
            refused += _add_measured(parts, gap, log, grid - offset, max_gap_s)
    watts = np.sum(list(parts.values()), axis=0) if parts else np.full(grid.size, np.nan)
    uncovered = float(np.diff(grid)[gap].sum() / (grid[-1] - grid[0]))
    if uncovered > chosen.max_uncovered:
        refused.append(
            f"gaps take {uncovered:.1%} of the run, more than {chosen.max_uncovered:.0%}"
        )
    missing_share = _missing_share(logs)
    if missing_share > chosen.max_missing and not refused:
        refused.append(
            f"{missing_share:.1%} of the values are missing, more than {chosen.max_missing:.0%}"
        )
    noted = missing_share > NOTED_MISSING
    return TotalPower(
        times_s=grid - grid[0],
        watts=watts,
        parts=parts,
        gap=gap,
        start=None if start is None else start + pd.Timedelta(grid[0], "s"),
        interval_s=typical_interval(grid),
        max_gap_s=max_gap_s,
        boundary=boundary,
        power_kind=_kind([log.profile for log in logs]),
        aggregation=str(chosen.aggregation),
        devices=_devices(logs, nlr),
        nodes=len({log.profile.node for log in logs}),
        left_out=() if nlr else _left_out(logs),
        trimmed_s=(
            begin - min(o + log.times_s[0] for o, log in zip(offsets, logs, strict=True)),
            max(o + log.times_s[-1] for o, log in zip(offsets, logs, strict=True)) - end,
        ),
        missing_share=missing_share,
        refused=tuple(refused),
        not_evaluable=(f"{missing_share:.1%} of the power readings",) if noted else (),
    )


def _named(logs: Sequence[CleanProfile]) -> str:
    others = f" and {len(logs) - 1} more" if len(logs) > 1 else ""
    return logs[0].profile.label + others


def _offsets(logs: Sequence[CleanProfile]) -> tuple[list[float], pd.Timestamp | None]:
    """Return each log's start in s after the earliest one, and that."""
    if not logs:
        raise InputError("found no power log, expected at least one; give a path")
    starts = [log.profile.start for log in logs]
    if len(logs) == 1:
        return [0.0], starts[0]
    zoned = {start is not None and start.tzinfo is not None for start in starts}
    found = [start for start in starts if start is not None]
    if len(found) < len(starts) or len(zoned) > 1:
        raise InputError(
            f"{_named(logs)}: found clocks that cannot be "
            "compared, expected calendar times in all logs, with or without a time zone in all"
        )
    origin = min(found)
    return [(start - origin).total_seconds() for start in found], origin


def _boundary(logs: Sequence[CleanProfile]) -> Boundary:
    found = sorted({log.profile.boundary for log in logs})
    if len(found) > 1:
        raise InputError(
            f"{_named(logs)}: found boundaries "
            f"{', '.join(found)}, expected one; power at different boundaries cannot be added up"
        )
    devices = Counter((log.profile.node, c.name) for log in logs for c in log.profile.channels)
    twice = next((key for key, count in devices.items() if count > 1), None)
    if twice is not None:
        raise InputError(
            f"{_named(logs)}: found device {twice[1]!r} of node "
            f"{twice[0]!r} in two logs, expected each once; name the nodes or give one run only"
        )
    return found[0]


def _reference(logs: Sequence[CleanProfile]) -> int:
    """Return the log whose times are the grid: the first with a GPU, else the first."""
    return next((i for i, log in enumerate(logs) if log.profile.of(Domain.GPU)), 0)


def _grid(
    logs: Sequence[CleanProfile],
    offsets: list[float],
    reference: int,
    begin: float,
    end: float,
    rules: AggregationRules,
) -> Floats:
    step_s = rules.resample_s
    if step_s is None and rules.aggregation == Aggregation.NLR:
        step_s = rules.official_step_s
    if step_s is None and rules.aggregation == Aggregation.NLR:
        spans = [(log.times_s[-1] - log.times_s[0]) / (log.times_s.size - 1) for log in logs]
        step_s = float(np.mean(spans))
    if step_s is not None:
        # A grid that would end a rounding error short of the last sample includes it.
        steps = int((end - begin) / step_s + 1e-6)
        return np.asarray(begin + step_s * np.arange(steps + 1), dtype=np.float64)
    times = logs[reference].times_s + offsets[reference]
    # Logs of one machine start within one sweep of each other: that is no missing time.
    slack = max(log.interval_s for log in logs)
    return times[(times > begin - slack) & (times < end + slack)]


def _add_measured(
    parts: dict[str, Floats], gap: Mask, log: CleanProfile, grid: Floats, max_gap_s: float
) -> list[str]:
    """Add a log's channels to the parts on the grid; mark gaps; return what is lacking."""
    refused: list[str] = []
    whole: dict[tuple[str, bool], list[int]] = {}
    for i, channel in enumerate(log.profile.channels):
        if channel.domain in OVERLAPPING:
            continue
        missing = np.isnan(log.watts[:-1, i] if channel.counter else log.watts[:, i])
        if not missing.any():
            whole.setdefault((channel.domain, channel.counter), []).append(i)
            continue
        if missing.all():
            refused.append(log.why_missing(channel.name))
            continue
        at, watts = _points(log, [i], channel.counter)
        sound = ~np.isnan(watts)
        _add(parts, channel.domain, np.interp(grid, at[sound], watts[sound]))
        _mark(gap, grid, *_holes(log.times_s, missing, channel.counter), max_gap_s)
    for (domain, counter), columns in whole.items():
        at, watts = _points(log, columns, counter)
        same = at.size == grid.size and bool(np.array_equal(at, grid))
        _add(parts, domain, watts if same else np.interp(grid, at, watts))
    _mark(gap, grid, log.times_s[:-1], log.times_s[1:], max_gap_s)
    return refused


def _missing_share(logs: Sequence[CleanProfile]) -> float:
    """Return the share of the values that are missing; a last row has no difference."""
    missing = [
        np.isnan(log.watts[:-1, i] if channel.counter else log.watts[:, i])
        for log in logs
        for i, channel in enumerate(log.profile.channels)
        if channel.domain not in OVERLAPPING
    ]
    return float(np.concatenate(missing).mean()) if missing else 0.0


def _points(log: CleanProfile, columns: list[int], counter: bool) -> tuple[Floats, Floats]:
    """Return the points that stand for channels: the mean of an interval is at its middle."""
    watts = log.watts[:, columns].sum(axis=1) if len(columns) > 1 else log.watts[:, columns[0]]
    if counter:
        return (log.times_s[:-1] + log.times_s[1:]) / 2, watts[:-1]
    return log.times_s, watts


def _holes(times_s: Floats, missing: Mask, counter: bool) -> tuple[Floats, Floats]:
    """Return begin and end of each run of missing values.

    A missing reading leaves the time from the last sound one to the next; a missing
    difference leaves its own interval.
    """
    edge = np.diff(np.concatenate([[0], missing.astype(np.int8), [0]]))
    first, after = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    if counter:
        return times_s[first], times_s[after]
    last = times_s.size - 1
    return times_s[np.maximum(first - 1, 0)], times_s[np.minimum(after, last)]


def _mark(gap: Mask, grid: Floats, begin: Floats, end: Floats, max_gap_s: float) -> None:
    """Mark the intervals of the grid that touch a hole longer than ``max_gap_s``."""
    for hole in np.flatnonzero(end - begin > max_gap_s):
        first = max(int(np.searchsorted(grid, begin[hole], side="right")) - 1, 0)
        gap[first : int(np.searchsorted(grid, end[hole], side="left"))] = True


def _add_official(parts: dict[str, Floats], log: CleanProfile, grid: Floats) -> None:
    """Add a log by the official rule: everything, zero where the file has no value."""
    profile = log.profile
    times_s = np.maximum.accumulate(profile.times_s)
    for i, channel in enumerate(profile.channels):
        watts = profile.stated_w.get(channel.name, profile.watts[:, i])
        name = Domain.CPU if channel.domain is Domain.CORE else channel.domain
        _add(parts, name, np.interp(grid, times_s, np.nan_to_num(watts, nan=0.0)))


def _add(parts: dict[str, Floats], name: str, watts: Floats) -> None:
    parts[str(name)] = parts[str(name)] + watts if str(name) in parts else watts.copy()


def _kind(profiles: Sequence[PowerProfile]) -> PowerKind:
    """Return the kind that all readings share; counters have none."""
    kinds = {p.power_kind for p in profiles if not all(c.counter for c in p.channels)}
    return kinds.pop() if len(kinds) == 1 else PowerKind.UNKNOWN


def _devices(logs: Sequence[CleanProfile], overlapping: bool) -> dict[str, int]:
    return dict(
        Counter(
            str(channel.domain)
            for log in logs
            for channel in log.profile.channels
            if overlapping or channel.domain not in OVERLAPPING
        )
    )


def _left_out(logs: Sequence[CleanProfile]) -> tuple[str, ...]:
    names = {c.name for log in logs for c in log.profile.channels if c.domain in OVERLAPPING}
    return tuple(sorted(names))
