"""Figures of power profiles; each takes what was computed and draws one message.

A figure of several runs takes them by their title, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from aidc.observed.aggregate import TotalPower
from aidc.observed.power import Floats, Mask
from aidc.observed.power_compare import BothRules, start_after
from aidc.observed.profile import AVERAGING_S, LoadDuration, power_summary, ramp_values
from aidc.observed.spectrum import Spectrum
from aidc.publish.format import display_number
from aidc.publish.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    NBSP,
    ORANGE,
    PURPLE,
    VERMILION,
    legend_below,
    new_figure,
    new_panels,
    not_evaluable,
    percent,
    styled,
)

RUN_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
_WINDOW_COLOURS = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, GREY)
MOST_RUNS = len(RUN_COLOURS)  # more panels would not be read
_BINS = 600
_KILOWATTS_FROM_W = 2000.0
_NO_PROFILE = "no total can be stated; see the findings"
_EXCEEDANCE_POINTS = 300
_LEAST_SHARE = 1e-3
_RAMP_DECADES = 1e-5  # least ramp that is drawn, as a share of the largest

T = TypeVar("T")


@styled
def curves(totals: Mapping[str, TotalPower]) -> Figure:
    """Draw each run from start to end: its mean, and the range between samples."""
    if not totals:
        return not_evaluable("Power of the runs", _NO_PROFILE, ())
    shown = _first(totals)
    unit, scale = _unit(totals.values())
    means = [display_number(power_summary(t).mean_w / scale, 3) for t in shown.values()]
    swings = [display_number(float(np.ptp(t.watts)) / scale, 3) for t in shown.values()]
    title = (
        f"A mean of {_listed(means)}{NBSP}{unit} hides a range of {_listed(swings)}{NBSP}{unit}"
        f"{_others(totals)}"
    )
    figure, panels = new_panels(title, len(shown))
    for axes, (name, total), colour in zip(panels, shown.items(), RUN_COLOURS, strict=False):
        span, seconds = _time_unit(total.times_s[-1])
        edges, low, middle, high = _binned(total)
        at = (edges[1:] + edges[:-1]) / 2 / seconds
        axes.fill_between(
            at, low / scale, high / scale, color=colour, alpha=0.35, linewidth=0,
            label="least to most",
        )  # fmt: skip
        axes.plot(at, middle / scale, color=colour, linewidth=1.2, label="mean")
        mean = power_summary(total).mean_w / scale
        axes.axhline(mean, color=INK, linestyle="--", linewidth=1, label="mean of the run")
        _name(axes, name)
        axes.set_ylim(0, 1.25 * float(total.watts.max()) / scale or 1.0)
        axes.set_ylabel(f"power [{unit}]")
        axes.set_xlabel(f"time [{span}]")
    legend_below(panels[-1], columns=3)
    if len(shown) > 1:
        _lower_legend(panels[-1])
    return figure


@styled
def zoom(totals: Mapping[str, TotalPower], span_s: float = 60.0) -> Figure:
    """Draw some seconds from the middle of each run, every sample of them."""
    if not totals:
        return not_evaluable("Power within a minute", _NO_PROFILE, ())
    shown = _first(totals)
    unit, scale = _unit(totals.values())
    parts = {name: _middle(total, span_s) for name, total in shown.items()}
    swings = [display_number(float(np.ptp(watts)) / scale, 3) for _, watts in parts.values()]
    longest = max(float(times[-1] - times[0]) for times, _ in parts.values())
    title = (
        f"Within {display_number(round(longest))}{NBSP}s power swings by "
        f"{_listed(swings)}{NBSP}{unit}{_others(totals)}"
    )
    figure, panels = new_panels(title, len(shown))
    for axes, (name, part), colour in zip(panels, parts.items(), RUN_COLOURS, strict=False):
        times_s, watts = part
        axes.plot(
            times_s, watts / scale, ".-", color=colour, markersize=3, linewidth=1, label="sample"
        )
        _name(axes, name)
        axes.margins(y=0.22)
        axes.set_ylabel(f"power [{unit}]")
        axes.set_xlabel("time in the run [s]")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
        axes.xaxis.set_major_locator(MaxNLocator(6))
    return figure


@styled
def load_durations(found: Mapping[str, LoadDuration]) -> Figure:
    """Draw for how much of the time power is at least so high."""
    if not found:
        return not_evaluable("Load-duration curve", _NO_PROFILE, ())
    shown = _first(found)
    most_w = max(float(curve.frame["power_w"].max()) for curve in shown.values())
    unit, scale = _scale(most_w)
    at_share = 0.9
    held = [
        display_number(float(np.interp(at_share, c.frame["share"], c.frame["power_w"])) / scale, 3)
        for c in shown.values()
    ]
    title = f"For {percent(at_share)} of the time power is at least {_listed(held)}{NBSP}{unit}"
    figure, axes = new_figure(title + _others(found))
    for (name, curve), colour in zip(shown.items(), RUN_COLOURS, strict=False):
        frame = curve.frame
        axes.plot(frame["share"], frame["power_w"] / scale, color=colour, label=name, linewidth=2)
    axes.axvline(at_share, color=GREY, linestyle=":")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("share of the time")
    axes.set_ylabel(f"power at least [{unit}]")
    legend_below(axes, columns=1)
    return figure


@styled
def ramp_distribution(totals: Mapping[str, TotalPower], windows_s: Sequence[float]) -> Figure:
    """Draw how often power changes at least so fast, over each window."""
    short, long = min(windows_s), max(windows_s)
    values = {
        name: {window: np.abs(ramp_values(total, window)) for window in windows_s}
        for name, total in _first(totals).items()
    }
    if not any(sizes.size and sizes.max() > 0 for by in values.values() for sizes in by.values()):
        why = "the curve is constant, or shorter than every window" if totals else _NO_PROFILE
        return not_evaluable("Ramps", why, ())
    first = next(iter(values.values()))
    said = [
        f"{display_number(float(np.quantile(first[window], 0.95)), 3)}{NBSP}W/s "
        f"over {display_number(window)}{NBSP}s"
        for window in dict.fromkeys((short, long))
        if first[window].size
    ]
    whose = f" ({next(iter(values))})" if len(values) > 1 else ""
    title = f"One ramp in twenty exceeds {' and '.join(said)}{whose}{_others(totals)}"
    figure, panels = new_panels(title, len(values))
    most = max(float(v.max()) for by in values.values() for v in by.values() if v.size)
    for axes, (name, by_window) in zip(panels, values.items(), strict=True):
        averaging_s = AVERAGING_S[totals[name].power_kind]
        for (window, sizes), colour in zip(by_window.items(), _WINDOW_COLOURS, strict=False):
            if sizes.size and sizes.max() > 0:
                limited = window <= averaging_s
                label = f"{display_number(window)}{NBSP}s" + (" (limited by sensor)" * limited)
                at, share = _exceedance(sizes)
                axes.plot(at, share, "--" if limited else "-", color=colour, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(_RAMP_DECADES * most, 1.5 * most)
        axes.set_ylim(_LEAST_SHARE, 1.5)
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: percent(value) if value else "0")
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
        _name(axes, name, place="lower left")
        axes.set_ylabel("share of ramps")
    panels[-1].set_xlabel("size of the ramp, at least [W/s] (logarithmic)")
    legend_below(panels[-1], columns=2)
    if len(values) > 1:
        _lower_legend(panels[-1])
    return figure


@styled
def spectra(found: Mapping[str, Spectrum]) -> Figure:
    """Draw the density of the fluctuation, and where the sensor stops speaking."""
    usable = {n: s for n, s in found.items() if _positive(s).any()}
    if not usable:
        why = "the curve is constant, or too short" if found else _NO_PROFILE
        return not_evaluable("Spectrum of the power", why, ())
    shown = _first(usable)
    periods = [
        f"{display_number(spectrum.stated_period_s, 3)}{NBSP}s"
        for spectrum in shown.values()
        if np.isfinite(spectrum.stated_period_s)
    ]
    title = f"Power repeats itself every {_listed(periods)}" if periods else "No period stands out"
    limits = [s.sensor_limit_hz for s in shown.values() if s.sensor_limit_hz < s.nyquist_hz]
    if limits:
        title += f"; the sensor damps what is above {display_number(min(limits), 2)}{NBSP}Hz"
    figure, panels = new_panels(title + _others(usable), len(shown))
    for axes, (name, spectrum), colour in zip(panels, shown.items(), RUN_COLOURS, strict=False):
        frame = spectrum.frame[_positive(spectrum)]
        axes.plot(
            frame["frequency_hz"], frame["density_w2_per_hz"], color=colour, linewidth=1,
            label="density",
        )  # fmt: skip
        if spectrum.sensor_limit_hz < spectrum.nyquist_hz:
            axes.axvspan(
                spectrum.sensor_limit_hz, spectrum.nyquist_hz, color=GREY, alpha=0.3, linewidth=0,
                label="damped by the sensor",
            )  # fmt: skip
        if np.isfinite(spectrum.stated_period_s):
            axes.axvline(
                1 / spectrum.stated_period_s, color=VERMILION, linestyle="--", linewidth=1.2,
                label="dominant period",
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        _name(axes, name, place="lower left")
        axes.set_ylabel("density [W²/Hz]")
    panels[-1].set_xlabel("frequency [Hz] (logarithmic)")
    legend_below(panels[-1], columns=3)
    if len(shown) > 1:
        _lower_legend(panels[-1])
    return figure


@styled
def batch_ends(both: BothRules | None, span_s: float = 6.0) -> Figure:
    """Draw what reading the short row of a batch as zero does to the curve.

    Parameters
    ----------
    both : BothRules or None
        The run under both rules; None if no total can be stated.
    span_s : float
        Length of the close view, s.
    """
    if both is None:
        return not_evaluable("Batch ends read as zero", _NO_PROFILE, ())
    ours, official = both.ours, both.official
    at_s = official.times_s + start_after(official, ours)
    inner = both.batch_ends_s[(both.batch_ends_s > at_s[0]) & (both.batch_ends_s < at_s[-1])]
    if not inner.size:
        why = "no row inside the run lacks watts of its own"
        return not_evaluable("Batch ends read as zero", why, ())
    less = official.watts - np.interp(at_s, ours.times_s, ours.watts)
    near_s = 2 * max(ours.interval_s, official.interval_s)
    dips = [float(less[np.abs(at_s - end) <= near_s].min(initial=0.0)) for end in inner]
    end = float(inner[int(np.argmin(dips))])
    title = (
        f"Read as zero, a batch end takes {display_number(-float(np.median(dips)), 3)}{NBSP}W off "
        "for a moment: no machine drew less"
    )
    figure, (whole, close) = new_panels(title, 2)
    span, seconds = _time_unit(at_s[-1])
    whole.plot(at_s / seconds, less, color=GREY, linewidth=0.6)
    whole.plot(inner / seconds, dips, "v", color=VERMILION, label="batch ends", markersize=5)
    whole.set_xlabel(f"time [{span}]")
    whole.set_ylabel("official − ours [W]")
    whole.set_ylim(1.15 * min(dips), 0.6 * max(-min(dips), 1.0))
    whole.legend(loc="upper right")
    for total, times_s, colour, mark, label in (
        (ours, ours.times_s, BLUE, "o-", "ours: the counter fills the row"),
        (official, at_s, VERMILION, "s--", "official: the row is zero"),
    ):
        window = np.abs(times_s - end) <= span_s / 2
        close.plot(
            times_s[window], total.watts[window], mark, color=colour, markersize=3.5,
            linewidth=1.2, label=label,
        )  # fmt: skip
    close.set_xlabel("time around one batch end [s]")
    close.set_ylabel("power [W]")
    for axis in (close.xaxis, close.yaxis, whole.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
        axis.set_major_locator(MaxNLocator(5))
    legend_below(close, columns=1)
    _lower_legend(close)
    return figure


def _first(runs: Mapping[str, T]) -> dict[str, T]:
    return dict(list(runs.items())[:MOST_RUNS])


def _others(runs: Mapping[str, object]) -> str:
    return f" (first {MOST_RUNS} of {len(runs)} runs)" if len(runs) > MOST_RUNS else ""


def _listed(texts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _unit(totals: Iterable[TotalPower]) -> tuple[str, float]:
    return _scale(max(float(total.watts.max()) for total in totals))


def _scale(most_w: float) -> tuple[str, float]:
    return ("kW", 1e3) if most_w >= _KILOWATTS_FROM_W else ("W", 1.0)


def _time_unit(duration_s: float) -> tuple[str, float]:
    if duration_s >= 7200:
        return "h", 3600.0
    return ("min", 60.0) if duration_s >= 300 else ("s", 1.0)


def _name(axes: Axes, name: str, place: str = "upper left") -> None:
    """Write a run's name where its curve is not."""
    up, left = place.startswith("upper"), place.endswith("left")
    axes.text(
        0.015 if left else 0.985, 0.97 if up else 0.04, name, transform=axes.transAxes,
        ha="left" if left else "right", va="top" if up else "bottom", fontsize=11.5,
        bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def _lower_legend(axes: Axes) -> None:
    """Move a legend below the axis label of a panel that is less high than a figure's axes."""
    legend = axes.get_legend()
    if legend is not None:
        legend.set_bbox_to_anchor((0.45, -0.3), transform=axes.transAxes)


def _binned(total: TotalPower) -> tuple[Floats, Floats, Floats, Floats]:
    """Return edges of bins that hold samples, and least, mean and most power in each."""
    bins = min(_BINS, total.times_s.size)
    edges = np.linspace(0, total.times_s[-1], bins + 1)
    index = np.clip(np.searchsorted(edges, total.times_s, side="right") - 1, 0, bins - 1)
    filled, starts = np.unique(index, return_index=True)
    low = np.full(bins, np.nan)
    middle, high = low.copy(), low.copy()
    low[filled] = np.minimum.reduceat(total.watts, starts)
    high[filled] = np.maximum.reduceat(total.watts, starts)
    middle[filled] = np.add.reduceat(total.watts, starts) / np.bincount(index)[filled]
    return edges, low, middle, high


def _middle(total: TotalPower, span_s: float) -> tuple[Floats, Floats]:
    begin = max(0.0, (total.times_s[-1] - span_s) / 2)
    window = (total.times_s >= begin) & (total.times_s <= begin + span_s)
    if np.count_nonzero(window) < 2:  # sampled more rarely than that
        window = np.ones(total.times_s.size, np.bool_)
    return total.times_s[window], total.watts[window]


def _exceedance(sizes: Floats) -> tuple[Floats, Floats]:
    """Return sizes and the share of ramps at least so large, thinned out for drawing."""
    share = np.geomspace(_LEAST_SHARE, 1.0, _EXCEEDANCE_POINTS)
    at = np.quantile(sizes, 1 - share)
    return np.maximum(at, np.finfo(np.float64).tiny)[at > 0], share[at > 0]


def _positive(spectrum: Spectrum) -> Mask:
    frame = spectrum.frame
    return np.asarray((frame["frequency_hz"] > 0) & (frame["density_w2_per_hz"] > 0))
