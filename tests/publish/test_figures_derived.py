"""Figures of the derived layer: the message, the units, nothing cut off."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from aidc.constructed.limits import Reserve
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.certificate import certify
from aidc.derived.envelope import operate, size
from aidc.derived.frontier import frontier
from aidc.derived.plan import StorageSize
from aidc.derived.rigid import Flexibility, operate_jobs
from aidc.derived.scan import BreakEvenTable, HybridTable
from aidc.derived.schedule import ScheduleRow, schedule_row
from aidc.derived.sizing import size_case, sizing_table
from aidc.evidence import Evidence
from aidc.publish import figures_derived as drawn
from aidc.publish.results import footer
from aidc.publish.style import save_svg
from tests.derived.conftest import CaseMaker
from tests.derived.conftest import job_case as job_case

EVEN = CostWeights.of(1.0, 1.0)
ROWS = [(0, 2, 90), (0.5, 1, 60), (1, 3, 40), (3, 1, 120)]
CHOSEN = Evidence.setting("slack_min")
RULES = tuple(Flexibility.of(rule) for rule in ("malleable", "rigid"))


def cut_off(figure: Figure) -> list[str]:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    width, height = canvas.get_width_height()
    # Labels of ticks beyond the axes are never drawn.
    ticks = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for label in axis.get_ticklabels()
    }
    return [
        text.get_text()
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text() and text not in ticks
        for box in [text.get_window_extent(renderer)]
        if box.x0 < -1 or box.x1 > width + 1 or box.y0 < -1 or box.y1 > height + 1
    ]


def words(figure: Figure) -> str:
    return " ".join(text.get_text().replace("\n", " ") for text in figure.findobj(Text))


def row_of(case: StorageCase, storage: StorageSize, rule: Flexibility) -> ScheduleRow:
    envelope = operate(case, storage)
    found = (
        certify(case, envelope) if rule.rule == "malleable" else operate_jobs(case, storage, rule)
    )
    return schedule_row(case, envelope, found, rule)


def test_load_before_and_after(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    row = row_of(case, size(case, (EVEN,)).size, RULES[0])
    figure = drawn.load_before_after(case, row)
    assert "If 60\xa0min are allowed, malleable jobs peak at" in words(figure)
    assert "instead of 160\xa0kW" in words(figure)
    assert "supply cap 90\xa0kW" in words(figure)
    assert cut_off(figure) == []
    load, store = figure.axes
    # Both are seen where they coincide: the wider line lies below the narrower one.
    lines = {str(line.get_label()): line for line in load.get_lines()}
    outside, scheduled = lines["from outside"], lines["load as scheduled"]
    assert outside.get_linewidth() > 2 * scheduled.get_linewidth()
    assert load.get_lines().index(outside) < load.get_lines().index(scheduled)
    # The state of charge stands below, over the same time.
    usable = store.get_lines()[0].get_ydata()
    assert np.asarray(usable) == pytest.approx(row.plan.dispatch.usable_kwh[0])
    assert store.get_xlim() == load.get_xlim()


def test_a_title_names_lost_work_before_any_peak(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    figure = drawn.load_before_after(case, row_of(case, StorageSize.of(0, 0), RULES[1]))
    said = words(figure)
    lost = said.index("37.5\xa0% of their work; the schedule found peaks at 90\xa0kW")
    assert lost > said.index("If 60\xa0min are allowed")
    assert "instead of" not in said
    assert cut_off(figure) == []


@pytest.mark.parametrize("rule", RULES)
def test_a_title_says_that_all_is_lost(job_case: CaseMaker, rule: Flexibility) -> None:
    every = Reserve.of_minutes(60)
    case = job_case(ROWS, hours=24, slack_h=1, cap=30, reserve=every)
    row = row_of(case, StorageSize.of(0, 0), rule)
    assert row.unserved_share == pytest.approx(1)
    said = words(drawn.load_before_after(case, row))
    assert "jobs lose all of their work" in said
    assert "peak" not in said
    delays = drawn.delay_distribution([row], case)
    assert "nothing is served, not evaluable" in words(delays)
    assert cut_off(delays) == []


def test_a_peak_that_stays_is_not_said_to_fall(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, cap=200)
    figure = drawn.load_before_after(case, row_of(case, StorageSize.of(0, 0), RULES[1]))
    assert "rigid jobs peak at 160\xa0kW, as at submission" in words(figure)


def test_delays_name_what_is_not_served(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    rows = [row_of(case, StorageSize.of(0, 0), rule) for rule in RULES]
    figure = drawn.delay_distribution(rows, case)
    assert "of the served work" in words(figure)
    assert "served work that waits longer" in words(figure)
    assert "rigid jobs (37.5\xa0% of all work lost)" in words(figure)
    # Shares are of served work for every kind: each line begins at one.
    lines = {str(line.get_label()): line for line in figure.axes[0].get_lines()}
    starts = [np.asarray(line.get_ydata())[0] for name, line in lines.items() if "jobs" in name]
    assert starts == pytest.approx([1, 1])
    assert cut_off(figure) == []


@pytest.mark.parametrize("rules", [RULES, RULES[:1], RULES[1:]])
def test_storage_against_slack(job_case: CaseMaker, rules: tuple[Flexibility, ...]) -> None:
    sizings = [
        size_case(job_case(ROWS, hours=24, slack_h=slack, cap=cap), EVEN, rules)
        for cap in (80, 120)
        for slack in (0, 1, 2)
    ]
    figure = drawn.storage_against_slack(sizing_table(tuple(sizings)))
    assert "If 120 instead of 0\xa0min of slack are allowed" in words(figure)
    assert "cap 80\xa0kW" in words(figure)
    assert "storage: 1 × kW + 1 × kWh" in words(figure)
    assert cut_off(figure) == []


def test_one_slack_makes_no_claim_about_more(job_case: CaseMaker) -> None:
    one = size_case(job_case(ROWS, hours=24, slack_h=1), EVEN, RULES)
    figure = drawn.storage_against_slack(sizing_table((one,)))
    assert "instead of" not in words(figure)
    assert cut_off(figure) == []


def test_frontier(job_case: CaseMaker) -> None:
    found = {
        60.0 * slack: frontier(job_case(ROWS, hours=24, slack_h=slack, cap=90)) for slack in (0, 1)
    }
    figure = drawn.storage_frontier(found, 90.0)
    assert "slack 60\xa0min" in words(figure)
    assert cut_off(figure) == []


def boundary(ratio: Callable[[float, float], float]) -> BreakEvenTable:
    rows = [
        {
            "slack_min": slack,
            "supply_cap_kw": cap,
            "challenger_eta": eta,
            "challenger_power_to_energy_per_h": limit,
            "scaling": "system",
            "ratio": ratio(eta, limit),
            "same_values": (eta, limit) == (0.9, 0.5),
        }
        for cap in (120.0, 90.0)
        for slack in (60.0, 0.0)
        for eta in (0.8, 0.9)
        for limit in (0.25, 0.5, 2.0)
    ]
    return BreakEvenTable(frame=pd.DataFrame(rows), evidence=CHOSEN)


def test_boundary() -> None:
    table = boundary(lambda eta, limit: eta + min(limit, 1) / 5)
    figure = drawn.break_even_boundary(table, "sodium-ion", "LFP")
    assert "sodium-ion storage is cheaper than LFP" in words(figure)
    assert "(slack 0\xa0min, cap 90\xa0kW)" in words(figure)
    assert "0.25 kW per kWh at most" in words(figure)
    assert "same values as LFP: the ratio is one" in words(figure)
    assert cut_off(figure) == []


def test_lines_that_coincide_are_one_line_that_says_so() -> None:
    alike = boundary(lambda eta, limit: eta + (0.2 if limit > 1 else 0))
    figure = drawn.break_even_boundary(alike, "sodium-ion", "LFP")
    assert "0.25 to 0.5 kW per kWh at most (coincide)" in words(figure)
    assert " 2 kW per kWh at most" in words(figure)
    drawn_lines = [
        line for line in figure.axes[0].get_lines() if "at most" in str(line.get_label())
    ]
    assert len(drawn_lines) == 2
    assert len({(line.get_linestyle(), line.get_marker()) for line in drawn_lines}) == 2


@pytest.mark.parametrize(
    ("bearable", "said"),
    [((0.0, 0.2, 0.0), "at most 20\xa0% of integration cost"), ((0.0, 0.0, 0.0), "nowhere")],
)
@pytest.mark.parametrize(
    ("cheaper", "alone"),
    [((1, 2, 3), ["LFP"]), ((0.5, 1, 2), ["sodium-ion", "LFP"]), ((0, 0, 0.5), ["sodium-ion"])],
)
def test_hybrid_region(
    bearable: tuple[float, ...], said: str, cheaper: tuple[float, ...], alone: list[str]
) -> None:
    frame = pd.DataFrame({"cost_ratio": [0.5, 1.0, 1.5], "bearable_share": np.array(bearable)})
    frame = frame.assign(challenger_cost=np.array(cheaper), reference_cost=0.9)
    table = HybridTable(
        frame=frame, challenger="sodium-ion", reference="LFP", slack_min=30.0, supply_cap_kw=90.0,
        evidence=CHOSEN,
    )  # fmt: skip
    figure = drawn.hybrid_region(table)
    assert said in words(figure)
    assert "(slack 30\xa0min, cap 90\xa0kW)" in words(figure)
    winners = [text.get_text() for text in figure.axes[0].texts if "alone" in text.get_text()]
    assert winners == [f"{name} alone costs least" for name in alone]
    assert cut_off(figure) == []


def below(figure: Figure) -> float:
    """Return the distance of the footer's top from the lowest thing above it, in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    (note,) = (text for text in figure.texts if text.get_gid() == "evidence")
    legends = [axes.get_legend() for axes in figure.axes]
    lowest = min(one.get_window_extent(renderer).y0 for one in legends if one is not None)
    return lowest - note.get_window_extent(renderer).y1


def test_a_long_footer_lies_below_the_legend(job_case: CaseMaker, tmp_path: Path) -> None:
    case = replace(job_case(ROWS, hours=24, slack_h=1, cap=90), not_evaluable=("state",))
    rows = [row_of(case, StorageSize.of(0, 0), rule) for rule in RULES]
    for figure in (drawn.delay_distribution(rows, case), drawn.load_before_after(case, rows[1])):
        save_svg(figure, tmp_path / "short.svg", "derived layer")
        height = figure.get_figheight()
        assert below(figure) > 2
        long = "derived layer · from " + ", ".join(f"file:seren:{i:012d}" for i in range(12))
        save_svg(figure, tmp_path / "long.svg", long)
        assert figure.get_figheight() > height
        assert below(figure) > 2
        assert cut_off(figure) == []
        save_svg(figure, tmp_path / "again.svg", "derived layer")
        assert figure.get_figheight() == pytest.approx(height)


def test_a_footer_counts_many_settings(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1)
    assert footer(case).startswith("constructed layer · synthetic · from seren-standin, ")
    assert footer(case).endswith(" settings")
    assert len(footer(case)) < 90
