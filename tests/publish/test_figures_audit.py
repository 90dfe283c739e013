"""The figure of rules shows every rule with its counts, inside its frame."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from aidc.observed.audit import TraceAudit, audit_trace
from aidc.publish.figures_audit import rule_bars
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs

PHONE_PX = 340  # what a screen of 390 px leaves for a figure


def some_audit(kind: str) -> TraceAudit:
    if kind == "calendar":
        return audit_trace(make_trace(seren_jobs([0, *[60] * 999], state="LOST")))
    return audit_trace(make_trace(elapsed_jobs([5, 6], [0, 1]), clock="elapsed"))


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("kind", ["calendar", "elapsed"])
def test_every_rule_has_a_row_with_its_denominator(kind: str) -> None:
    audit = some_audit(kind)
    shown = words(rule_bars(audit))
    assert [rule.id for rule in audit.rules if rule.id not in shown] == []
    asked = [rule for rule in audit.rules if rule.evaluable]
    assert shown.count("not asked") == len(audit.rules) - len(asked)
    for rule in asked:
        assert f"{rule.failed:,} / {rule.evaluable:,}" in shown


def test_the_title_counts_the_rules_that_fail() -> None:
    audit = some_audit("calendar")
    asked = [rule for rule in audit.rules if rule.evaluable]
    failing = [rule for rule in asked if rule.failed]
    assert {"vocabulary.state", "zero.duration"} <= {rule.id for rule in failing}
    title = " ".join(" ".join(words(rule_bars(audit))).split())
    assert f"{len(failing)} of {len(asked)} rules that could be asked fail" in title


def test_one_failure_in_a_thousand_can_be_seen() -> None:
    figure = rule_bars(some_audit("calendar"))
    failed = [
        patch.get_width()
        for patch in figure.findobj(Rectangle)
        if patch.get_facecolor()[:3] == pytest.approx((0xD5 / 255, 0x5E / 255, 0), abs=0.01)
    ]
    assert len(failed) >= 3  # the legend, and two rules
    assert min(failed) >= 1.5


@pytest.mark.parametrize("kind", ["calendar", "elapsed"])
def test_all_text_is_inside_and_large_enough_for_a_phone(kind: str) -> None:
    figure = rule_bars(some_audit(kind))
    renderer = FigureCanvasAgg(figure).get_renderer()
    width, height = figure.get_size_inches() * figure.dpi
    scale = PHONE_PX / (72 * figure.get_size_inches()[0])
    for text in figure.axes[0].texts:
        box = text.get_window_extent(renderer)
        assert 0 <= box.x0 < box.x1 <= width, text
        assert 0 <= box.y0 < box.y1 <= height, text
        assert text.get_fontsize() * scale >= 8.5, text


def test_a_rule_and_its_counts_do_not_run_into_each_other() -> None:
    figure = rule_bars(some_audit("calendar"))
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    clashes = [
        (one, other)
        for position, one in enumerate(boxes)
        for other in boxes[position + 1 :]
        if one.overlaps(other) and abs(one.y0 - other.y0) < 1
    ]
    assert clashes == []
