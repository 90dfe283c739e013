"""The figure of an audit: of each rule, how many rows passed, failed or could not be asked."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from aidc.observed.audit import TraceAudit
from aidc.observed.rules import RuleResult
from aidc.publish.format import display_number
from aidc.publish.style import BLUE, GREY, INK, VERMILION, styled

# Narrow and tall, so that a phone shows it without shrinking its text. All lengths in points.
_WIDTH = 310
_LEFT = 4
_BAR, _BAR_WIDTH = 154, 66  # where the bars begin, and how wide one with all rows is
_COUNTS = 306  # right edge of the counts
_LINE, _BAR_HEIGHT = 13.5, 8
_SECTION, _FOOTER = 22, 18
_LEGEND, _TOP = 34, 44
_TEXT, _TITLE, _HEADING = 8.2, 12, 9.5
_LEAST = 1.6  # a failure is drawn at least this wide, or one row in a million would not show

_READING = ("row", "presence", "type", "range")
_PASSED, _FAILED, _NOT_ASKED = BLUE, VERMILION, "#e4e4e4"


@styled
def rule_bars(audit: TraceAudit) -> Figure:
    """Draw the rules of an audit as bars of all rows: passed, failed, not evaluable.

    Parameters
    ----------
    audit : TraceAudit
        Its rules; the figure grows with them.
    """
    reading = [rule for rule in audit.rules if rule.id.split(".")[0] in _READING]
    others = [rule for rule in audit.rules if rule not in reading]
    sections = [("Can the row be read?", reading), ("Does it agree with itself?", others)]
    total = _TOP + _LEGEND + _FOOTER + len(audit.rules) * _LINE + len(sections) * _SECTION
    figure = Figure(figsize=(_WIDTH / 72, total / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, _WIDTH), ylim=(total, 0))
    axes.set_axis_off()
    axes.text(_LEFT, 8, _message(audit), fontsize=_TITLE, weight="bold", va="top")
    _legend(axes, _TOP + 6)
    y: float = _TOP + _LEGEND
    for heading, rules in sections:
        axes.text(_LEFT, y, heading, fontsize=_HEADING, weight="bold", va="center")
        y += _SECTION - 8
        y = _section(axes, y, rules) + 8
    return figure


def _message(audit: TraceAudit) -> str:
    asked = [rule for rule in audit.rules if rule.evaluable]
    failed = sum(rule.failed > 0 for rule in asked)
    return (
        f"{display_number(failed)} of {display_number(len(asked))} rules that could\n"
        f"be asked fail in at least one row"
    )


def _legend(axes: Axes, y: float) -> None:
    entries = ((_PASSED, "passed"), (_FAILED, "failed"), (_NOT_ASKED, "not evaluable"))
    for position, (colour, name) in enumerate(entries):
        x = _LEFT + 62 * position
        axes.add_patch(Rectangle((x, y - 4), 8, 8, facecolor=colour, edgecolor=GREY, linewidth=0.4))
        axes.text(x + 11, y, name, fontsize=_TEXT, color=INK, va="center_baseline")
    axes.text(
        _COUNTS, y, "failed / asked", fontsize=_TEXT, color=INK, va="center_baseline", ha="right"
    )


def _section(axes: Axes, y: float, rules: Sequence[RuleResult]) -> float:
    for rule in rules:
        weight = "bold" if rule.failed else "normal"
        axes.text(_LEFT, y, rule.id, fontsize=_TEXT, weight=weight, color=INK, va="center_baseline")
        _bar(axes, y, rule)
        counts = "not asked"
        if rule.evaluable:
            counts = f"{display_number(rule.failed)} / {display_number(rule.evaluable)}"
        axes.text(_COUNTS, y, counts, fontsize=_TEXT, color=INK, va="center_baseline", ha="right")
        y += _LINE
    return y


def _bar(axes: Axes, y: float, rule: RuleResult) -> None:
    failed = _width(rule.failed, rule.n)
    if rule.failed:
        failed = max(failed, _LEAST)
    not_asked = _width(rule.not_evaluable, rule.n)
    passed = max(_BAR_WIDTH - failed - not_asked, 0) if rule.passed else 0
    x: float = _BAR
    for width, colour in ((failed, _FAILED), (passed, _PASSED), (not_asked, _NOT_ASKED)):
        if width:
            axes.add_patch(
                Rectangle((x, y - _BAR_HEIGHT / 2), width, _BAR_HEIGHT, facecolor=colour)
            )
        x += width


def _width(rows: int, of: int) -> float:
    return _BAR_WIDTH * rows / of if of else 0
