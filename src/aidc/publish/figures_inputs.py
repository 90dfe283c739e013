"""The map of inputs (the paper's figure 1), drawn from the register."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from aidc.evidence.register import BANDS, Band, Group, Register
from aidc.evidence.registry import Status
from aidc.publish.format import display_number
from aidc.publish.style import BLUE, GREEN, INK, ORANGE, PURPLE, styled

# Narrow and tall, so that a phone shows it without shrinking its text. All lengths in points.
_WIDTH = 310
_LEFT, _RIGHT = 6, 290  # of a band; the arrow to the derived band runs at its right
_LINE, _SMALL_LINE = 13.5, 11.5
_PAD = 6
_GAP = 26  # between two bands
_FOOTER = 30
_INDENT = 16
_LEGEND = 90  # from one entry of a band's legend to the next
_TEXT, _SMALL = 9.5, 8.5
_NAME_WIDTH, _SMALL_WIDTH, _TITLE_WIDTH = 48, 56, 40  # characters a line

_COLOURS = {"observed": BLUE, "missing": PURPLE, "constructed": ORANGE, "derived": GREEN}
_SIGNS: dict[Status, dict[str, Any]] = {
    Status.OBSERVED: {"marker": "o"},
    Status.COMPUTED_FIELD: {"marker": "o", "fillstyle": "none"},
    Status.NOT_OBSERVED: {"marker": "X"},
    Status.INSUFFICIENT_EVIDENCE: {"marker": "^", "fillstyle": "none"},
    Status.EXPERIMENTAL_SETTING: {"marker": "s"},
    Status.DERIVED: {"marker": "D"},
}


@dataclass(frozen=True)
class _Row:
    """One line of a band: pieces of text, each with its distance from the left and its sign."""

    pieces: tuple[tuple[float, str, Status | None], ...]
    size: float = _TEXT
    weight: str = "normal"

    @property
    def height(self) -> float:
        return _LINE if self.size == _TEXT else _SMALL_LINE


@styled
def input_map(register: Register) -> Figure:
    """Draw every registered variable and work, from what is given to what is computed.

    Parameters
    ----------
    register : Register
        Its works, files and variables; the figure grows with them.
    """
    rows = {band: _rows(register, band) for band in BANDS}
    title = textwrap.wrap(_message(register), _TITLE_WIDTH)
    top = 10 + 16 * len(title)
    heights = {band: _PAD * 2 + sum(row.height for row in rows[band]) for band in BANDS}
    total = top + sum(heights.values()) + _GAP * (len(BANDS) - 1) + _FOOTER
    figure = Figure(figsize=(_WIDTH / 72, total / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDTH), ylim=(total, 0))
    axes.set_axis_off()
    axes.text(_LEFT, 8, "\n".join(title), fontsize=12, weight="bold", va="top", linespacing=1.15)
    spans = {}
    start = float(top)
    for band in BANDS:
        spans[band.key] = (start, start + heights[band])
        _draw_band(axes, _COLOURS[band.key], spans[band.key], rows[band])
        start += heights[band] + _GAP
    _draw_arrows(axes, spans)
    return figure


def _message(register: Register) -> str:
    observed, missing, *_ = (len(register.in_band(band)) for band in BANDS)
    return (
        f"{display_number(observed)} of {display_number(len(register.variables))} variables are "
        f"read from public data; {display_number(missing)} are missing"
    )


def _rows(register: Register, band: Band) -> list[_Row]:
    rows = [_line(f"{band.title}: {band.meaning}", weight="bold")]
    if len(band.statuses) > 1:
        legend = (
            (_INDENT + _LEGEND * position, status.value.replace("_", " "), status)
            for position, status in enumerate(band.statuses)
        )
        rows.append(_Row(tuple(legend), _SMALL))
    for group in register.groups(band):
        rows += _heading(group)
        for variable in group.variables:
            first, *rest = textwrap.wrap(variable.name, _NAME_WIDTH)
            rows.append(_Row(((_INDENT, first, variable.status),)))
            rows += [_Row(((_INDENT, text, None),)) for text in rest]
    return rows


def _line(text: str, size: float = _TEXT, weight: str = "normal") -> _Row:
    return _Row(((0, text, None),), size, weight)


def _heading(group: Group) -> list[_Row]:
    """Return the works of a group and their registered files; nothing for a group without."""
    if not group.works:
        return []
    files = ", ".join(file.key for file in group.files) or "none registered yet"
    names = textwrap.wrap(", ".join(work.name for work in group.works), _NAME_WIDTH)
    below = textwrap.wrap(f"files: {files}", _SMALL_WIDTH)
    if not group.variables:
        below.append("no variable is read from it")
    return [*(_line(name, weight="bold") for name in names), *(_line(t, _SMALL) for t in below)]


def _draw_band(axes: Axes, colour: str, span: tuple[float, float], rows: list[_Row]) -> None:
    top, bottom = span
    axes.add_patch(
        FancyBboxPatch(
            (_LEFT, top), _RIGHT - _LEFT, bottom - top, boxstyle="round,pad=0,rounding_size=4",
            facecolor=(colour, 0.09), edgecolor=colour, linewidth=1.2,
        )
    )  # fmt: skip
    y = top + _PAD
    for row in rows:
        middle = y + row.height / 2
        for indent, text, status in row.pieces:
            x = _LEFT + _PAD + indent
            if status is not None:
                axes.plot(
                    x - _INDENT / 2, middle, color=colour, markersize=5.5,
                    markeredgewidth=1.2, linestyle="none", **_SIGNS[status],
                )  # fmt: skip
            axes.text(
                x, middle, text, fontsize=row.size, weight=row.weight, color=INK,
                va="center_baseline",
            )  # fmt: skip
        y += row.height


def _draw_arrows(axes: Axes, spans: dict[str, tuple[float, float]]) -> None:
    """Join the bands: what stands in for what, and what goes into a model."""
    middle = (_LEFT + _RIGHT) / 2
    _arrow(axes, [(middle, spans["missing"][1]), (middle, spans["constructed"][0])], PURPLE, "--")
    _label(axes, spans["constructed"][0], "never filled in:", "a setting may stand in")
    _arrow(axes, [(middle, spans["constructed"][1]), (middle, spans["derived"][0])], ORANGE)
    x = (_RIGHT + _WIDTH) / 2
    observed, derived = (sum(spans[key]) / 2 for key in ("observed", "derived"))
    axes.plot([_RIGHT, x, x], [observed, observed, derived], color=BLUE, linewidth=1.4)
    _arrow(axes, [(x, derived), (_RIGHT, derived)], BLUE)


def _arrow(axes: Axes, ends: list[tuple[float, float]], colour: str, style: str = "-") -> None:
    axes.add_patch(
        FancyArrowPatch(
            *ends, arrowstyle="-|>", mutation_scale=10, shrinkA=0, shrinkB=0,
            color=colour, linewidth=1.4, linestyle=style,
        )
    )  # fmt: skip


def _label(axes: Axes, below: float, left: str, right: str) -> None:
    middle = (_LEFT + _RIGHT) / 2
    for x, text, side in ((middle - 8, left, "right"), (middle + 8, right, "left")):
        axes.text(x, below - _GAP / 2, text, fontsize=_SMALL, ha=side, va="center_baseline")
