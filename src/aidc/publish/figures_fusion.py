"""Figures of the data fusion: the layers, the replayed load, and what averaging hides."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from aidc.constructed.overlap import Floats
from aidc.constructed.replay import SiteLoad
from aidc.constructed.template import SecondLoad
from aidc.constructed.window import ReplayWindow
from aidc.evidence import Layer
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

_COLOUR = {Layer.OBSERVED: BLUE, Layer.CONSTRUCTED: ORANGE, Layer.DERIVED: GREEN}
_MEANING = {
    Layer.OBSERVED: "what public data say",
    Layer.CONSTRUCTED: "what the experimenter sets",
    Layer.DERIVED: "what a model computes",
}
_COLUMNS = 3
_BAND_GAP, _ROW, _HEAD = 0.35, 1.0, 0.55  # in rows
_BOX_WIDTH = 21  # characters a line
_BAND_S = 300  # of a step of the band in the day's figure


@dataclass(frozen=True)
class Box:
    """One part of a layer: its name, a detail of this run, and whether the run uses it."""

    name: str
    detail: str
    used: bool = True


@styled
def layer_diagram(layers: Mapping[Layer, Sequence[Box]]) -> Figure:
    """Draw the layers under each other; what this run does not use is dashed."""
    figure, axes = new_figure("Each layer takes only from the layers above it")
    heights = [_HEAD + _ROW * -(-len(boxes) // _COLUMNS) for boxes in layers.values()]
    total = sum(heights) + _BAND_GAP * (len(heights) - 1)
    figure.set_size_inches(6.4, 0.9 + 0.86 * total)
    top = total
    for (layer, boxes), height in zip(layers.items(), heights, strict=True):
        _band(axes, layer, boxes, top, height)
        if top - height > 0:
            axes.annotate(
                "", (_COLUMNS / 2, top - height - _BAND_GAP), (_COLUMNS / 2, top - height),
                arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.5},
            )  # fmt: skip
        top -= height + _BAND_GAP
    axes.set_xlim(-0.02, _COLUMNS + 0.02)
    axes.set_ylim(-0.03, total + 0.03)
    axes.axis("off")
    return figure


def _band(axes: Axes, layer: Layer, boxes: Sequence[Box], top: float, height: float) -> None:
    colour = _COLOUR[layer]
    axes.add_patch(
        FancyBboxPatch(
            (0.01, top - height), _COLUMNS - 0.02, height, facecolor=colour, alpha=0.13,
            boxstyle="round,pad=0,rounding_size=0.06", linewidth=0,
        )
    )  # fmt: skip
    head = f"{layer.key.capitalize()} layer: {_MEANING[layer]}"
    axes.text(0.08, top - 0.3, head, va="center", ha="left", fontweight="bold", color=INK)
    for position, box in enumerate(boxes):
        row, column = divmod(position, _COLUMNS)
        corner = (column + 0.06, top - _HEAD - (row + 1) * _ROW + 0.09)
        axes.add_patch(
            FancyBboxPatch(
                corner, 0.88, _ROW - 0.15, boxstyle="round,pad=0,rounding_size=0.05",
                facecolor="white", edgecolor=colour, linewidth=1.4,
                linestyle="-" if box.used else (0, (4, 3)),
            )
        )  # fmt: skip
        middle, centre = column + 0.5, corner[1] + (_ROW - 0.15) / 2
        detail = textwrap.wrap(box.detail, _BOX_WIDTH)
        lift = 0.05 + 0.07 * len(detail)
        axes.text(middle, centre + lift, box.name, ha="center", va="center", fontsize=11)
        axes.text(
            middle, centre + lift - 0.15, "\n".join(detail), ha="center", va="top",
            fontsize=9, color="#555555", linespacing=1.1,
        )  # fmt: skip


@styled
def replayed_load(loads: Mapping[str, SiteLoad], caps_kw: Sequence[float]) -> Figure:
    """Draw the site load of each set of jobs over the window, and the caps."""
    means = {name: float(load.load_kw.mean()) for name, load in loads.items()}
    high, low = max(means, key=lambda n: means[n]), min(means, key=lambda n: means[n])
    title = f"Mean site load: {_mw(means[high])} with {high}"
    if low != high:
        title += f", {_mw(means[low])} with {low}"
    figure, axes = new_figure(title)
    for (name, load), colour in zip(loads.items(), (BLUE, SKY, PURPLE), strict=False):
        window = load.window
        axes.step(
            np.linspace(0.0, window.days, window.slots + 1), _stairs(load.load_kw),
            where="post", color=colour, linewidth=1.2, label=name,
        )  # fmt: skip
    _draw_caps(axes, caps_kw)
    _power_axis(axes)
    axes.set_xlim(0, window.days)
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=window.days >= 2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda days, _: _date(window, days)))
    axes.set_xlabel("local time of the trace")
    legend_below(axes, columns=3)
    return figure


@styled
def averaging(day: SecondLoad, steps_s: Sequence[int], caps_kw: Sequence[float]) -> Figure:
    """Draw one day at one second and as slot averages of several lengths."""
    longest = max(steps_s)
    hidden = day.hidden_share(longest)
    title = (
        f"The highest second draws {_mw(float(day.kw.max()))}; the highest mean of "
        f"{_length(longest)} is {f'{percent(hidden)} lower' if hidden else 'as high'}"
    )
    figure, axes = new_figure(title)
    bands = day.kw.reshape(-1, _BAND_S)
    axes.fill_between(
        _hours(bands.shape[0]), _stairs(bands.min(axis=1)), _stairs(bands.max(axis=1)),
        step="post", color=SKY, alpha=0.6, linewidth=0, label="lowest to highest second",
    )  # fmt: skip
    for step_s, colour in zip(sorted(steps_s)[-2:], (BLUE, VERMILION), strict=False):
        means = day.averages(step_s)
        axes.step(
            _hours(means.size), _stairs(means), where="post", color=colour, linewidth=1.6,
            label=f"mean of {_length(step_s)}",
        )  # fmt: skip
    _draw_caps(axes, caps_kw)
    _power_axis(axes)
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 4))
    axes.set_xlabel(f"hour of {day.start.date()}, local time of the trace")
    legend_below(axes, columns=2)
    return figure


def _hours(slots: int) -> Floats:
    return np.linspace(0.0, 24.0, slots + 1)


def _stairs(power: Floats) -> Floats:
    """Repeat the last value, so that the last step is drawn."""
    return np.append(power, power[-1])


def _draw_caps(axes: Axes, caps_kw: Sequence[float]) -> None:
    for position, cap in enumerate(caps_kw):
        label = "supply cap" if position == 0 else None
        axes.axhline(cap, color=GREY, linestyle="--", linewidth=1.5, label=label)


def _power_axis(axes: Axes) -> None:
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value / 1000)))
    axes.set_ylabel("site load, MW")


def _date(window: ReplayWindow, days: float) -> str:
    moment = window.start + pd.Timedelta(days=days)
    return f"{moment:%d %b}" if window.days >= 2 else f"{moment:%H:%M}"


def _mw(kw: float) -> str:
    return f"{display_number(kw / 1000, significant=3)}{NBSP}MW"


def _length(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{seconds}{NBSP}s" if rest else f"{minutes}{NBSP}min"
