"""Figures of the derived layer; each takes what was computed and draws one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.dates as mdates
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from aidc.derived.case import StorageCase, slot_times
from aidc.derived.dispatch import Dispatch
from aidc.derived.frontier import Frontier
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
    percent,
    styled,
)

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
CLASSES = {
    "malleable": "jobs at any rate",
    "on_off": "interruptible jobs",
    "rigid": "uninterrupted jobs",
}


def _round(value: float) -> str:
    return display_number(value, significant=3)


def _numbers(axes: Axes, *names: str) -> None:
    for name in names:
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))


@styled
def load_before_after(case: StorageCase, dispatch: Dispatch, flexibility: str) -> Figure:
    """Draw the load without slack, the load as scheduled, and the supply under its cap."""
    times, cap = slot_times(case), float(case.cap_kw[0])
    before = case.horizon.idle_kw + case.horizon.arrivals_kwh[: times.size] / case.horizon.step_h
    title = (
        f"If {case.slack_s / 60:g}{NBSP}min are allowed, {CLASSES[flexibility]} peak at "
        f"{_round(dispatch.load_kw.max())}{NBSP}kW instead of {_round(before.max())}{NBSP}kW"
    )
    figure, axes = new_figure(title, case.not_evaluable)
    axes.fill_between(
        times, before, step="post", color=GREY, alpha=0.35, label="load at submission"
    )
    axes.step(times, dispatch.load_kw, where="post", color=BLUE, label="load as scheduled")
    axes.step(
        times, dispatch.supply_kw, where="post", color=ORANGE, linewidth=1, label="from outside"
    )
    axes.axhline(cap, color=VERMILION, linestyle="--", label=f"supply cap {_round(cap)}{NBSP}kW")
    axes.margins(x=0)
    axes.set_ylim(0, None)
    locator = mdates.AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    formatter = mdates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(formatter)
    axes.set_ylabel("power at the site (kW)")
    axes.set_xlabel("local time of the trace")
    _numbers(axes, "y")
    legend_below(axes, columns=2)
    return figure


@styled
def delay_distribution(rows: Sequence[ScheduleRow], case: StorageCase) -> Figure:
    """Draw by how much work is late, for each class of flexibility."""
    slack_h = case.slack_s / 3600
    figure, axes = new_figure(
        f"If {case.slack_s / 60:g}{NBSP}min are allowed: how much work waits, and for how long",
        case.not_evaluable,
    )
    top = 0.0
    for row, colour, style in zip(rows, COLOURS, ("-", "--", ":"), strict=False):
        share = (1 - row.unserved_share) * np.linspace(1, 0, row.delay_h.size)
        label = f"{CLASSES[row.flexibility]}, {percent(row.unserved_share)} not served"
        axes.step(row.delay_h, share, style, where="post", color=colour, linewidth=2, label=label)
        top = max(top, float(share[row.delay_h > 0].max(initial=0.0)))
    axes.axvline(slack_h, color=VERMILION, linewidth=1, label=f"slack {slack_h:g}{NBSP}h")
    axes.set_xlim(0, 1.1 * slack_h or 1.0)
    axes.set_ylim(0, max(0.02, 1.15 * top))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("delay behind a start at submission (h)")
    axes.set_ylabel("work that waits longer")
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
    """Draw the relative cost at parity against efficiency, for the first case."""
    frame = table.frame[table.frame["scaling"] == "system"]
    first = frame.iloc[0]
    part = frame[
        (frame["slack_min"] == first["slack_min"])
        & (frame["supply_cap_kw"] == first["supply_cap_kw"])
    ]
    figure, axes = new_figure(
        f"Below its line {challenger} storage is cheaper than {reference}, above it is dearer "
        f"(slack {first['slack_min']:g}{NBSP}min)",
        table.not_evaluable,
    )
    groups = list(part.groupby("challenger_power_to_energy_per_h"))
    styles = ("-", "--", ":", "-.")
    for i, (limit, rows) in enumerate(groups):
        axes.plot(
            rows["challenger_eta"], rows["ratio"], styles[i % 4], marker="o", markersize=5,
            color=COLOURS[i % len(COLOURS)], linewidth=2, label=f"{limit:g} kW per kWh at most",
        )  # fmt: skip
    axes.axhline(1, color=GREY, linewidth=1)
    axes.set_ylim(0, 1.15 * max(1.0, float(part["ratio"].max())))
    axes.set_xlabel(f"one-way efficiency of {challenger} storage")
    axes.set_ylabel("cost ratio at parity")
    _numbers(axes, "x", "y")
    legend_below(axes, columns=1)
    return figure


@styled
def hybrid_region(table: HybridTable) -> Figure:
    """Draw up to which integration cost a hybrid costs least, against the cost ratio."""
    frame = table.frame.drop_duplicates("cost_ratio").sort_values("cost_ratio")
    ratio, bearable = frame["cost_ratio"].to_numpy(), frame["bearable_share"].to_numpy()
    best = int(np.argmax(bearable))
    title = (
        f"A hybrid costs least below the line: at most {percent(float(bearable[best]))} "
        f"of integration cost, at a cost ratio of {ratio[best]:g}"
        if bearable[best] > 0
        else "A hybrid nowhere costs less than the better single technology"
    )
    figure, axes = new_figure(title, table.not_evaluable)
    axes.fill_between(ratio, bearable, color=GREEN, alpha=0.25)
    axes.plot(ratio, bearable, "-o", color=GREEN, markersize=5)
    axes.set_xlim(ratio[0], ratio[-1])
    axes.set_ylim(0, max(0.01, 1.5 * float(bearable.max())))
    for x, side, name in ((0.02, "left", table.challenger), (0.98, "right", table.reference)):
        axes.text(
            x, 0.94, f"{name} alone costs least", transform=axes.transAxes, ha=side, va="top",
            color=INK, fontsize=11,
        )  # fmt: skip
    if bearable[best] > 0:
        axes.text(ratio[best], bearable[best] / 3, "hybrid", ha="center", color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel(f"cost of {table.challenger} over {table.reference}, per kW and per kWh")
    axes.set_ylabel("integration cost of the hybrid")
    _numbers(axes, "x")
    return figure
