"""Find the values of a power log that are no measurements, and what can stand for them.

A value that could not be read becomes missing, never zero. The energy of a counter that
was misread or wrapped once is spread over the rows in between where it is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from aidc.evidence import Carrier, Layer, step
from aidc.observed.power import Domain, Floats, Mask, PowerProfile, joules_per, watts_per

Rows = npt.NDArray[np.int64]

# Codes of faults, as the audit names them.
OUT_OF_ORDER, CLOCK_STEP = "out_of_order", "clock_step"
UNREADABLE, ZERO, SENTINEL, IMPLAUSIBLE = "unreadable", "zero", "sentinel", "implausible"
STUCK, WRAPPED, AMBIGUOUS, FROZEN, UNIT = "stuck", "wrapped", "ambiguous", "frozen", "unit"

_IN_WORDS = {
    UNREADABLE: "unreadable",
    ZERO: "zero",
    SENTINEL: "a code for no value",
    IMPLAUSIBLE: "negative, or more than any such device draws",
    UNIT: "of a magnitude that no such device has, as in another unit",
    STUCK: "stuck",
    WRAPPED: "wrapped",
    AMBIGUOUS: "too far apart for a counter",
    FROZEN: "of a counter that never counts",
}

# What drivers and exporters write for "no value": the ends of integer types.
_SENTINELS = np.array([2.0**31 - 1, 2.0**32 - 1, 2.0**63, 2.0**64])
# A row closer than this share of an interval to the last one is too close for a difference.
_LEAST_STEP = 0.1
# A channel that repeats itself more often than this by nature cannot be called stuck.
_USUAL_RUN = 5
_MAX_CLOCK_STEPS = 1000
# Values whose median tells the magnitude of a channel.
_TYPICAL_OF = 10_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanRules:
    """What no sound value can be.

    Attributes
    ----------
    most_w, least_w : mapping of Domain to float
        Power that no single device of a domain exceeds, or falls below as the median of
        its readings; the limits tell units apart, not models.
    stuck_s, stuck_samples : float, int
        A reading that stays the same for both is stuck, if the channel usually varies.
    counter_range_j : float or None
        Energy at which the counters wrap; None if it is not known.
    least_range_j : float
        Energy below which no counter wraps: 2^32 units of 2^-16 J, the least in use.
    """

    most_w: Mapping[Domain, float] = dataclasses.field(
        default_factory=lambda: {
            Domain.GPU: 2000.0,
            Domain.CPU: 600.0,
            Domain.DRAM: 200.0,
            Domain.CORE: 600.0,
            Domain.UNCORE: 600.0,
            Domain.PLATFORM: 5000.0,
            Domain.TOTAL: 1e9,
        }
    )
    least_w: Mapping[Domain, float] = dataclasses.field(
        default_factory=lambda: {Domain.GPU: 2.0, Domain.CPU: 1.0}
    )
    stuck_s: float = 10.0
    stuck_samples: int = 20
    counter_range_j: float | None = None
    least_range_j: float = 65_536.0


@dataclasses.dataclass(frozen=True)
class Fault:
    """Values of one kind that are no measurements.

    Attributes
    ----------
    code : str
        Kind.
    channel : str
        Device, or "" for a whole row.
    rows : ndarray of int
        Rows of the profile.
    """

    code: str
    channel: str
    rows: Rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class CleanProfile(Carrier):
    """A power log without the values that are no measurements.

    Attributes
    ----------
    profile : PowerProfile
        The log as read.
    times_s : ndarray, shape (m,)
        Times in s since the profile's start, never decreasing.
    watts : ndarray, shape (m, k)
        W per channel, NaN = not measured.
    rows : ndarray of int, shape (m,)
        Row of the profile each comes from.
    interval_s : float
        Typical sampling interval: the median of the positive steps; NaN for one row.
    faults : tuple of Fault
        What was found.
    """

    profile: PowerProfile
    times_s: Floats
    watts: Floats
    rows: Rows
    interval_s: float
    faults: tuple[Fault, ...]

    def count(self, *codes: str) -> int:
        """Return how many values (or rows) have a fault of these kinds."""
        return sum(fault.rows.size for fault in self.faults if fault.code in codes)

    def of(self, *codes: str) -> Iterator[Fault]:
        """Yield the faults of these kinds."""
        return (fault for fault in self.faults if fault.code in codes)

    def why_missing(self, channel: str) -> str:
        """Return why a channel has no usable value: its faults in words, and the first row."""
        profile = self.profile
        node = f" of node {profile.node}" if profile.node else ""
        lacking = f"{channel}{node} has no usable value"
        found = [fault for fault in self.faults if fault.channel == channel]
        if not found:
            return f"{profile.label}: {lacking} (too few rows)"
        words = "; ".join(f"{fault.rows.size:,} {_IN_WORDS[fault.code]}" for fault in found)
        row = min(int(fault.rows[0]) for fault in found)
        watts = profile.watts[row, [c.name for c in profile.channels].index(channel)]
        shown = "no number" if np.isnan(watts) else f"{watts:g} W"
        return f"{profile.label}, line {profile.lines[row]}: found {shown}; {lacking} ({words})"


@step(Layer.OBSERVED)
def clean(profile: PowerProfile, rules: CleanRules | None = None) -> CleanProfile:
    """Return a profile without the values that are no measurements, and what they were."""
    chosen = rules or CleanRules()
    times_s, rows, faults = _ordered(profile.times_s)
    watts = profile.watts[rows] if rows.size < profile.times_s.size else profile.watts.copy("F")
    interval_s = typical_interval(times_s)
    for i, channel in enumerate(profile.channels):
        if channel.counter:
            values, found = _counter(profile, channel.name, times_s, rows, interval_s, chosen)
        else:
            values, found = _reading(profile, i, watts[:, i], times_s, chosen)
        watts[:, i] = values
        faults += [Fault(code, channel.name, rows[np.flatnonzero(m)]) for code, m in found.items()]
    return CleanProfile(
        profile=profile,
        times_s=times_s,
        watts=watts,
        rows=rows,
        interval_s=interval_s,
        faults=tuple(fault for fault in faults if fault.rows.size),
    )


def typical_interval(times_s: Floats) -> float:
    """Return the median of the positive steps in s, NaN if there is none."""
    steps = np.diff(times_s)
    positive = steps[steps > 0]
    # Differences of times in ns as seconds: beyond the ninth decimal there is only rounding.
    return round(float(np.median(positive)), 9) if positive.size else float("nan")


def _ordered(times_s: Floats) -> tuple[Floats, Rows, list[Fault]]:
    """Return times that never decrease, the rows they belong to, and what was wrong.

    A row or two out of place are left out. Where the clock was set back, the rows after it
    keep their spacing and follow one interval behind the row before it.
    """
    times = times_s.copy()
    rows = np.arange(times.size)
    misplaced: list[int] = []
    steps: list[int] = []
    interval = typical_interval(times)
    for _ in range(_MAX_CLOCK_STEPS):
        back = np.flatnonzero(np.diff(times) < 0)
        if not back.size:
            break
        i = int(back[0]) + 1
        ahead = i >= 2 and 0 <= times[i] - times[i - 2] < 5 * interval
        until = np.flatnonzero(times[i:] >= times[i - 1])
        behind = int(until[0]) if until.size else times.size - i
        if ahead and behind > 1:
            drop = np.array([i - 1])
        elif behind <= 2:
            drop = np.arange(i, i + behind)
        else:
            steps.append(int(rows[i]))
            times[i:] += times[i - 1] + interval - times[i]
            continue
        misplaced += rows[drop].tolist()
        times, rows = np.delete(times, drop), np.delete(rows, drop)
    sound = times >= np.maximum.accumulate(times)  # only after very many steps
    misplaced += rows[~sound].tolist()
    faults = [
        Fault(OUT_OF_ORDER, "", np.array(misplaced, np.int64)),
        Fault(CLOCK_STEP, "", np.array(steps, np.int64)),
    ]
    return times[sound], rows[sound], faults


def _reading(
    profile: PowerProfile, i: int, watts: Floats, times_s: Floats, rules: CleanRules
) -> tuple[Floats, dict[str, Mask]]:
    channel = profile.channels[i]
    domain = channel.domain
    found: dict[str, Mask] = {UNREADABLE: np.isnan(watts)}
    scale = watts_per(channel.unit) or 1.0
    found[SENTINEL] = _is_sentinel(watts, scale)
    # A part that is powered draws something; a plain total may well be zero.
    if domain is not Domain.TOTAL or profile.dialect == "mlperf":
        found[ZERO] = watts == 0
    lost = np.logical_or.reduce(list(found.values()))
    sound = watts[~lost]
    typical = np.median(np.abs(sound[:: 1 + sound.size // _TYPICAL_OF])) if sound.size else 0.0
    if sound.size and not rules.least_w.get(domain, 0.0) <= typical <= rules.most_w[domain]:
        found[UNIT] = ~lost
        return np.full(watts.size, np.nan), found
    found[IMPLAUSIBLE] = ~lost & ((watts > rules.most_w[domain]) | (watts < 0))
    lost |= found[IMPLAUSIBLE]
    found[STUCK] = _stuck(watts, times_s, rules) & ~lost
    values = watts.copy()
    values[lost | found[STUCK]] = np.nan
    return values, found


def _is_sentinel(values: Floats, scale: float) -> Mask:
    """Whether a value is the end of an integer type in the unit of the file."""
    found = np.zeros(values.size, np.bool_)
    if not values.size or not np.nanmax(values, initial=0.0) >= _SENTINELS[0] * scale * 0.999:
        return found
    for sentinel in _SENTINELS:
        found |= np.abs(values / scale - sentinel) <= max(1.0, sentinel * 1e-9)
    return found


def _stuck(watts: Floats, times_s: Floats, rules: CleanRules) -> Mask:
    """Whether a value is part of a run too long for a channel that usually varies."""
    stuck = np.zeros(watts.size, np.bool_)
    if watts.size < rules.stuck_samples:
        return stuck
    starts = np.concatenate([[0], np.flatnonzero(watts[1:] != watts[:-1]) + 1])
    lengths = np.diff(np.concatenate([starts, [watts.size]]))
    if lengths.max() < rules.stuck_samples or np.median(lengths) > _USUAL_RUN:
        return stuck
    for k in np.flatnonzero(lengths >= rules.stuck_samples):
        first, last = int(starts[k]), int(starts[k] + lengths[k] - 1)
        if times_s[last] - times_s[first] >= rules.stuck_s and not np.isnan(watts[first]):
            stuck[first : last + 1] = True
    return stuck


def _counter(
    profile: PowerProfile,
    name: str,
    times_s: Floats,
    rows: Rows,
    interval_s: float,
    rules: CleanRules,
) -> tuple[Floats, dict[str, Mask]]:
    """Return the mean power after each row, from the counter's usable values alone."""
    channel = next(c for c in profile.channels if c.name == name)
    energy = profile.counters_j[name][rows]
    found: dict[str, Mask] = {
        UNREADABLE: np.isnan(energy),
        SENTINEL: _is_sentinel(energy, joules_per(channel.unit) or 1.0),
        ZERO: energy == 0,
    }
    watts = np.full(energy.size, np.nan)
    usable = np.flatnonzero(~np.logical_or.reduce(list(found.values())))
    usable = _spaced(usable, times_s, interval_s)
    if usable.size < 2:
        return watts, found
    gained, length = np.diff(energy[usable]), np.diff(times_s[usable])
    if not gained.any():
        found[FROZEN] = np.isin(np.arange(energy.size), usable)
        return watts, found
    power = gained / length
    most = rules.most_w[channel.domain]
    wrapped = gained < 0
    ambiguous = length * most >= (rules.counter_range_j or rules.least_range_j)
    if wrapped.any():
        power[wrapped] = _across_wrap(profile, name, rows[usable[:-1]], gained, length, rules)[
            wrapped
        ]
    implausible = ~wrapped & (power > most)
    power[ambiguous | (power < 0) | (power > most)] = np.nan
    for code, mask in ((WRAPPED, wrapped), (AMBIGUOUS, ambiguous), (IMPLAUSIBLE, implausible)):
        found[code] = np.zeros(energy.size, np.bool_)
        found[code][usable[:-1][mask]] = True
    if usable.size == energy.size:
        watts[:-1] = power
    else:
        watts[usable[0] : usable[-1]] = np.repeat(power, np.diff(usable))
    return watts, found


def _spaced(usable: Rows, times_s: Floats, interval_s: float) -> Rows:
    """Leave out rows too close to the one before: the difference would be all noise."""
    close = np.diff(times_s[usable]) < _LEAST_STEP * interval_s
    return usable[np.concatenate([[True], ~close])] if close.any() else usable


def _across_wrap(
    profile: PowerProfile,
    name: str,
    rows: Rows,
    gained: Floats,
    length: Floats,
    rules: CleanRules,
) -> Floats:
    """Return the power where a counter fell: by its range, else the file's own watts."""
    if rules.counter_range_j is not None:
        return (gained + rules.counter_range_j) / length
    stated = profile.stated_w.get(name)
    return stated[rows] if stated is not None else np.full(gained.size, np.nan)
