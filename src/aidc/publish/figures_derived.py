"""Figures of the derived layer; each takes what was computed and draws one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.dates as mdates
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from aidc.constructed.overlap import Floats
from aidc.derived.case import StorageCase, slot_times
from aidc.derived.frontier import Frontier
from aidc.derived.plan import ROUND_OFF
from aidc.derived.scan import BreakEvenTable, HybridTable
from aidc.derived.schedule import ScheduleRow
from aidc.derived.sizing import SizingTable
from aidc.publish.format import display_number
from aidc.publish.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    NBSP,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    new_figure,
    new_panels,
    percent,
    styled,
)

_STORE_IN = 1.3  # height of the panel below a load
_ENTRY_IN = 0.25  # height of a further entry in a legend
_VISIBLE = 1e-3  # relative difference below which two lines are one to a reader

NOTHING_KWH = 1e-6
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
CLASSES = {
    "malleable": "malleable jobs",
    "on_off": "on/off jobs",
    "rigid": "rigid jobs",
}


def _round(value: float) -> str:
    return display_number(value, significant=3)


def _numbers(axes: Axes, *names: str) -> None:
    for name in names:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))


@styled
def load_before_after(case: StorageCase, row: ScheduleRow) -> Figure:
    """Draw the load without slack and as scheduled, the supply, and the stored energy below."""
    times, cap, dispatch = slot_times(case), float(case.cap_kw[0]), row.plan.dispatch
    before = case.horizon.idle_kw + case.horizon.arrivals_kwh[: times.size] / case.horizon.step_h
    title = _load_title(case, row, before)
    figure, (axes, store) = new_panels(title, 2, case.not_evaluable, _STORE_IN)
    axes.get_subplotspec().get_gridspec().set_height_ratios([3, 1])  # type: ignore[union-attr]
    edges = times.append(times[-1:] + pd.Timedelta(hours=case.horizon.step_h))
    axes.fill_between(
        edges, _held(before), step="post", color=GREY, alpha=0.35, label="load at submission"
    )
    # Wide below narrow: both are seen where the storage rests.
    for name, kw, colour, width in (
        ("from outside", dispatch.supply_kw, ORANGE, 4.0),
        ("load as scheduled", dispatch.load_kw, BLUE, 1.2),
    ):
        axes.step(edges, _held(kw), where="post", color=colour, linewidth=width, label=name)
    axes.axhline(cap, color=VERMILION, linestyle="--", label=f"supply cap {_round(cap)}{NBSP}kW")
    axes.set_ylim(0, None)
    axes.set_ylabel("at the site (kW)")
    axes.tick_params(labelbottom=False)
    usable = dispatch.usable_kwh.sum(axis=0)
    store.fill_between(edges, usable, color=GREEN, alpha=0.35)
    store.plot(edges, usable, color=GREEN, linewidth=1.2)
    # Round-off of the solver is no stored energy.
    most = max(_window_kwh(case, row), float(usable.max()))
    store.set_ylim(0, 1.05 * most if most > NOTHING_KWH else 1.0)
    store.set_ylabel("stored (kWh)")
    store.set_xlabel("local time of the trace")
    for panel in (axes, store):
        panel.margins(x=0)
        locator = mdates.AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
        panel.xaxis.set_major_locator(locator)
        formatter = mdates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        panel.xaxis.set_major_formatter(formatter)
        _numbers(panel, "y")
    figure.align_ylabels()
    store.legend(
        *axes.get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.45, -0.62),
        ncols=2, frameon=False, columnspacing=1.2, handlelength=1.5,
    )  # fmt: skip
    return figure


def _held(values: Floats) -> Floats:
    """Return values of slots for their edges: the last one lasts to the end of its slot."""
    return np.append(values, values[-1])


def _window_kwh(case: StorageCase, row: ScheduleRow) -> float:
    """Return the energy between least and highest state of charge of all storage."""
    sizes = zip(case.technologies, row.plan.energy_kwh, strict=True)
    return sum((one.soc_max - one.soc_min) * energy for one, energy in sizes)


def _load_title(case: StorageCase, row: ScheduleRow, before: Floats) -> str:
    """Say what is lost first: a peak is no achievement where work is not done."""
    allowed = f"If {case.slack_s / 60:g}{NBSP}min are allowed, {CLASSES[row.flexibility]}"
    after, earlier = _round(row.plan.dispatch.load_kw.max()), _round(before.max())
    if np.isnan(row.delay_h).all() and row.unserved_share >= 1 - ROUND_OFF:
        return f"{allowed} lose all of their work"
    if row.unserved_share > 0:
        ends = [percent(share) for share in (row.unserved_least_share, row.unserved_share)]
        return (
            f"{allowed} lose {' to '.join(dict.fromkeys(ends))} of their work; "
            f"the schedule found peaks at {after}{NBSP}kW"
        )
    instead = ", as at submission" if after == earlier else f" instead of {earlier}{NBSP}kW"
    return f"{allowed} peak at {after}{NBSP}kW{instead}"


@styled
def delay_distribution(rows: Sequence[ScheduleRow], case: StorageCase) -> Figure:
    """Draw by how much served work is late, for each class of flexibility."""
    slack_h = case.slack_s / 3600
    figure, axes = new_figure(
        f"If {case.slack_s / 60:g}{NBSP}min are allowed: how much of the served work waits, and "
        "for how long",
        case.not_evaluable,
    )
    top = 0.0
    for row, colour, style in zip(rows, COLOURS, ("-", "--", ":"), strict=False):
        share = np.linspace(1, 0, row.delay_h.size)
        lost = f" ({percent(row.unserved_share)} of all work lost)" if row.unserved_share else ""
        if np.isnan(row.delay_h).any():
            lost = ": nothing is served, not evaluable"
        label = f"{CLASSES[row.flexibility]}{lost}"
        axes.step(row.delay_h, share, style, where="post", color=colour, linewidth=2, label=label)
        top = max(top, float(share[row.delay_h > 0].max(initial=0.0)))
    axes.axvline(slack_h, color=VERMILION, linewidth=1, label=f"slack {slack_h:g}{NBSP}h")
    axes.set_xlim(0, 1.1 * slack_h or 1.0)
    axes.set_ylim(0, max(0.02, 1.15 * top))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("delay behind a start at submission (h)")
    axes.set_ylabel("served work that waits longer")
    legend_below(axes, columns=1)
    return figure


@styled
def storage_against_slack(table: SizingTable) -> Figure:
    """Draw the weighted cost of needed storage against slack: a band for each supply cap."""
    costs = table.costs
    rule = costs["flexibility"].iloc[-1]
    low = _by_cap(costs[costs["flexibility"] == costs["flexibility"].iloc[0]], "lower_cost")
    high = _by_cap(costs[costs["flexibility"] == rule], "upper_cost")
    figure, axes = new_figure(_saving(low, high), table.not_evaluable)
    slack = low.index.to_numpy()
    for cap, colour in zip(low.columns, COLOURS * len(low.columns), strict=False):
        axes.fill_between(slack, low[cap], high[cap], color=colour, alpha=0.25)
        axes.plot(slack, high[cap], "--", marker="s", markersize=4, color=colour)
        axes.plot(slack, low[cap], "-", marker="o", markersize=4, color=colour, linewidth=2)
        middle = (low[cap].iloc[-1] + high[cap].iloc[-1]) / 2
        axes.annotate(
            f"cap {_round(float(cap))}{NBSP}kW", (slack[-1], middle),
            xytext=(6, 0), textcoords="offset points", va="center", color=INK, fontsize=11,
        )  # fmt: skip
    legend = {
        "--s": f"enough: a schedule that was found, {CLASSES[rule]}",
        "-o": f"at least: no schedule of {CLASSES[costs['flexibility'].iloc[0]]} needs less",
    }
    for style, label in legend.items():
        axes.plot([], [], style, color=INK, markersize=4, label=label)
    axes.set_xlim(0, max(1.0, 1.22 * float(low.index.max())))
    axes.set_xticks(low.index)
    axes.set_ylim(0, None)
    axes.set_xlabel("slack that every job gets (min)")
    weights = table.weights
    axes.set_ylabel(f"storage: {weights.power:g} × kW + {weights.energy:g} × kWh")
    _numbers(axes, "x", "y")
    legend_below(axes, columns=1)
    return figure


def _by_cap(costs: pd.DataFrame, column: str) -> pd.DataFrame:
    return costs.pivot_table(
        index="slack_min", columns="supply_cap_kw", values=column, dropna=False
    )


def _saving(low: pd.DataFrame, high: pd.DataFrame) -> str:
    """Say what the longest slack surely and possibly saves at the lowest cap."""
    cap, none, most = low.columns.min(), low.index.min(), low.index.max()
    before = low.loc[none, cap]
    if before <= 0 or most == none:
        return "Storage that is needed, between its lower and its upper bound"
    ends = (high.loc[most, cap], low.loc[most, cap])
    words = " to ".join(dict.fromkeys(percent(max(0.0, 1 - end / before)) for end in ends))
    return (
        f"If {most:g} instead of {none:g}{NBSP}min of slack are allowed, storage can cost {words} "
        f"less (cap {_round(float(cap))}{NBSP}kW)"
    )


@styled
def storage_frontier(frontiers: Mapping[float, Frontier], cap_kw: float) -> Figure:
    """Draw which pairs of power and energy suffice, for each slack in min."""
    first = next(iter(frontiers.values()))
    figure, axes = new_figure(
        f"Sufficient storage lies above and right of its line (cap {_round(cap_kw)}{NBSP}kW)",
        first.not_evaluable,
    )
    most_kw = 1.25 * max(float(one.power_kw.max()) for one in frontiers.values()) or 1.0
    most_kwh = 1.25 * max(float(one.energy_kwh.max()) for one in frontiers.values()) or 1.0
    for (slack, one), colour in zip(frontiers.items(), COLOURS * len(frontiers), strict=False):
        power = [one.power_kw[0], *one.power_kw, most_kw]
        energy = [most_kwh, *one.energy_kwh, one.energy_kwh[-1]]
        axes.plot(power, energy, color=colour, label=f"slack {slack:g}{NBSP}min")
        axes.plot(one.power_kw, one.energy_kwh, "o", color=colour, markersize=5)
    axes.set_xlim(0, most_kw)
    axes.set_ylim(0, most_kwh)
    axes.set_xlabel("storage power (kW)")
    axes.set_ylabel("storage energy, nominal (kWh)")
    _numbers(axes, "x", "y")
    legend_below(axes, columns=2)
    return figure


@styled
def break_even_boundary(table: BreakEvenTable, challenger: str, reference: str) -> Figure:
    """Draw the relative cost at parity against efficiency, at the lowest cap and least slack."""
    frame = table.frame[table.frame["scaling"] == "system"]
    cap = frame["supply_cap_kw"].min()
    slack = frame.loc[frame["supply_cap_kw"] == cap, "slack_min"].min()
    part = frame[(frame["supply_cap_kw"] == cap) & (frame["slack_min"] == slack)]
    figure, axes = new_figure(
        f"Below its line {challenger} storage is cheaper than {reference}, above it is dearer "
        f"({_limits(slack, cap)})",
        table.not_evaluable,
    )
    lines = part.pivot_table(
        index="challenger_eta", columns="challenger_power_to_energy_per_h", values="ratio"
    )
    styles = ("-", "--", ":", "-.")
    groups = _coinciding(lines)
    figure.set_figheight(figure.get_figheight() + _ENTRY_IN * len(groups))
    for i, limits in enumerate(groups):
        named = f"{limits[0]:g}" if len(limits) == 1 else f"{limits[0]:g} to {limits[-1]:g}"
        together = " (coincide)" if len(limits) > 1 else ""
        axes.plot(
            lines.index, lines[limits[0]], styles[i % 4], marker="osD^v"[i % 5],
            markersize=10 - 1.5 * (i % 5), markerfacecolor="none", linewidth=2,
            color=COLOURS[i % len(COLOURS)], label=f"{named} kW per kWh at most{together}",
        )  # fmt: skip
    equal = part[part["same_values"]]
    axes.plot(
        equal["challenger_eta"], equal["ratio"], "*", color=INK, markersize=13, zorder=5,
        label=f"same values as {reference}: the ratio is one" if len(equal) else None,
    )  # fmt: skip
    axes.axhline(1, color=GREY, linewidth=1)
    low, high = min(1.0, part["ratio"].min()), max(1.0, part["ratio"].max())
    margin = 0.15 * max(high - low, 0.1)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlabel(f"one-way efficiency of {challenger} storage")
    axes.set_ylabel("cost ratio at parity")
    _numbers(axes, "x", "y")
    legend_below(axes, columns=1)
    return figure


def _limits(slack_min: float, cap_kw: float) -> str:
    return f"slack {slack_min:g}{NBSP}min, cap {_round(cap_kw)}{NBSP}kW"


def _coinciding(lines: pd.DataFrame) -> list[list[float]]:
    """Group neighbouring columns that nobody could tell apart in the figure."""
    groups: list[list[float]] = []
    for limit in map(float, lines.columns):
        if groups and np.allclose(lines[groups[-1][0]], lines[limit], rtol=_VISIBLE, atol=0):
            groups[-1].append(limit)
        else:
            groups.append([limit])
    return groups


@styled
def hybrid_region(table: HybridTable) -> Figure:
    """Draw up to which integration cost a hybrid costs least, against the cost ratio."""
    frame = table.frame.drop_duplicates("cost_ratio").sort_values("cost_ratio")
    ratio, bearable = frame["cost_ratio"].to_numpy(), frame["bearable_share"].to_numpy()
    best, limits = int(np.argmax(bearable)), _limits(table.slack_min, table.supply_cap_kw)
    title = (
        f"A hybrid bears at most {percent(float(bearable[best]))} of integration cost within "
        f"the scan, at a cost ratio of {ratio[best]:g} ({limits})"
        if bearable[best] > 0
        else f"A hybrid nowhere costs less than the better single technology ({limits})"
    )
    figure, axes = new_figure(title, table.not_evaluable)
    # Between the ratios of the scan nothing was computed.
    axes.vlines(ratio, 0, bearable, color=GREEN, linewidth=3)
    axes.plot(ratio, bearable, "o", color=GREEN, markersize=6, clip_on=False)
    axes.set_ylim(0, max(0.01, 1.5 * float(bearable.max())))
    _single_winners(axes, table)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel(f"cost of {table.challenger} over {table.reference}, per kW and per kWh")
    axes.set_ylabel("integration cost of the hybrid")
    _numbers(axes, "x")
    return figure


def _single_winners(axes: Axes, table: HybridTable) -> None:
    """Name, above the line, which technology alone costs least at either end."""
    frame = table.frame.sort_values("cost_ratio")
    dearer = (frame["challenger_cost"] > frame["reference_cost"]).iloc[[0, -1]]
    left, right = (table.reference if one else table.challenger for one in dearer)
    ends = (
        {left: (0.02, "left")} if left == right else {left: (0.02, "left"), right: (0.98, "right")}
    )
    for name, (x, side) in ends.items():
        axes.text(
            x, 0.94, f"{name} alone costs least", transform=axes.transAxes, ha=side, va="top",
            color=INK, fontsize=11,
        )  # fmt: skip
