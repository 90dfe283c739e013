"""Figures of the derived layer: the message, the units, nothing cut off."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from aidc.constructed.technology import CostWeights
from aidc.derived.envelope import operate, size
from aidc.derived.frontier import frontier
from aidc.derived.rigid import Flexibility, operate_jobs
from aidc.derived.scan import BreakEvenTable, HybridTable
from aidc.derived.schedule import schedule_row
from aidc.derived.sizing import size_case, sizing_table
from aidc.evidence import Evidence
from aidc.publish import figures_derived as drawn
from aidc.publish.results import footer
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


def test_load_before_and_after(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    figure = drawn.load_before_after(case, size(case, (EVEN,)).dispatch, "malleable")
    assert "If 60\xa0min are allowed" in words(figure)
    assert "supply cap 90\xa0kW" in words(figure)
    assert cut_off(figure) == []


def test_delays_name_what_is_not_served(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1, cap=90)
    storage = size(case, (EVEN,)).size
    rows = [
        schedule_row(case, operate(case, storage), RULES[0]),
        schedule_row(case, operate_jobs(case, storage, RULES[1]), RULES[1]),
    ]
    figure = drawn.delay_distribution(rows, case)
    assert "jobs at any rate, 0\xa0% not served" in words(figure)
    assert "uninterrupted jobs" in words(figure)
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


def test_boundary() -> None:
    rows = [
        {
            "slack_min": 0.0,
            "supply_cap_kw": 90.0,
            "challenger_eta": eta,
            "challenger_power_to_energy_per_h": limit,
            "scaling": "system",
            "ratio": eta + limit,
        }
        for eta in (0.8, 0.9)
        for limit in (0.25, 0.5)
    ]
    table = BreakEvenTable(frame=pd.DataFrame(rows), evidence=CHOSEN)
    figure = drawn.break_even_boundary(table, "sodium-ion", "LFP")
    assert "sodium-ion storage is cheaper than LFP" in words(figure)
    assert "0.25 kW per kWh at most" in words(figure)
    assert cut_off(figure) == []


@pytest.mark.parametrize(
    ("bearable", "said"),
    [((0.0, 0.2, 0.0), "at most 20\xa0% of integration cost"), ((0.0, 0.0, 0.0), "nowhere")],
)
def test_hybrid_region(bearable: tuple[float, ...], said: str) -> None:
    frame = pd.DataFrame({"cost_ratio": [0.5, 1.0, 1.5], "bearable_share": np.array(bearable)})
    table = HybridTable(frame=frame, challenger="sodium-ion", reference="LFP", evidence=CHOSEN)
    figure = drawn.hybrid_region(table)
    assert said in words(figure)
    assert cut_off(figure) == []


def test_a_footer_counts_many_settings(job_case: CaseMaker) -> None:
    case = job_case(ROWS, hours=24, slack_h=1)
    assert footer(case).startswith("constructed layer · synthetic · from seren-standin, ")
    assert footer(case).endswith(" settings")
    assert len(footer(case)) < 90
