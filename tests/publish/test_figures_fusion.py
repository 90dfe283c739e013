from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from aidc.constructed.limits import (
    BlockMapping,
    Fleet,
    SiteOverhead,
    block_power,
)
from aidc.constructed.replay import SiteLoad, replay, site_load
from aidc.constructed.template import PowerTemplate, SecondLoad, second_load
from aidc.constructed.window import ReplayWindow
from aidc.evidence import Layer
from aidc.publish.figures_fusion import Box, averaging, layer_diagram, replayed_load
from aidc.publish.style import save_svg
from tests.constructed.test_template import jobs

SOURCE = jobs((3600, 7200, 8), (40_000, 30_000, 64), (70_000, 120, 128))
TEMPLATE = PowerTemplate.of_two_levels(5.27, 1.145, 0.6667, 120)
FLEET = Fleet.of_blocks(20, 0.836)
OVERHEAD = SiteOverhead.of_factor(1.5)
LONG = "a long detail that has to be broken into several lines"
LAYERS = {
    Layer.OBSERVED: [Box("Job trace", "seren-standin"), Box("Battery parameters", LONG, False)],
    Layer.CONSTRUCTED: [Box(f"Setting {n}", "8 GPUs") for n in range(6)],
    Layer.DERIVED: [Box("Schedule", "", False)],
}


def load(step_min: float = 15) -> SiteLoad:
    window = ReplayWindow.of("2023-03-02", 1, step_min)
    component = replay(SOURCE, window, BlockMapping.of(8), block_power(TEMPLATE), FLEET)
    return site_load(component, OVERHEAD)


def day() -> SecondLoad:
    window = ReplayWindow.of("2023-03-02", 1, 1 / 60)
    component = replay(SOURCE, window, BlockMapping.of(8), block_power(TEMPLATE), FLEET)
    return second_load(SOURCE, component, TEMPLATE, OVERHEAD)


DRAWN: dict[str, Callable[[], Figure]] = {
    "layers": lambda: layer_diagram(LAYERS),
    "load": lambda: replayed_load({"all started jobs": load(), "the pool": load(60)}, [60.0, 80.0]),
    "one load": lambda: replayed_load({"the pool": load()}, []),
    "averaging": lambda: averaging(day(), [900, 60, 3600], [60.0]),
    "one average": lambda: averaging(day(), [30], []),
}


@pytest.mark.parametrize("drawn", DRAWN)
def test_a_figure_has_a_message_and_nothing_of_it_is_cut_off(drawn: str) -> None:
    figure = DRAWN[drawn]()
    FigureCanvasAgg(figure).draw()
    assert figure.axes[0].get_title(loc="left")
    drawn_in = figure.get_tightbbox()
    width_in, height_in = figure.get_size_inches()
    assert drawn_in.x0 >= -0.01
    assert drawn_in.y0 >= -0.01
    assert drawn_in.x1 <= width_in + 0.01
    assert drawn_in.y1 <= height_in + 0.01


@pytest.mark.parametrize("drawn", DRAWN)
def test_equal_input_gives_equal_bytes(drawn: str, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_svg(DRAWN[drawn](), tmp_path / name, "note")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_texts_of_the_diagram_stay_in_their_boxes() -> None:
    figure = layer_diagram(LAYERS)
    FigureCanvasAgg(figure).draw()
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches]
    for text in figure.axes[0].findobj(Text):
        if text.get_text() in {"Battery parameters", "Job trace", "seren-standin"}:
            extent = text.get_window_extent()
            assert any(
                box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 for box in boxes
            )


def test_what_a_run_does_not_use_is_dashed() -> None:
    figure = layer_diagram({Layer.DERIVED: [Box("a", "used"), Box("b", "not used", used=False)]})
    band, used, unused = figure.axes[0].patches[:3]
    assert band.get_linewidth() == 0
    assert used.get_linestyle() in ("-", "solid")
    assert unused.get_linestyle() not in ("-", "solid")


def test_the_title_of_the_day_says_how_much_the_longest_slot_hides() -> None:
    seconds = day()
    hidden = seconds.hidden_share(3600)
    title = averaging(seconds, [900, 3600], []).axes[0].get_title(loc="left")
    assert f"{100 * hidden:.3g}" in title
    assert hidden > 0
    flat = averaging(seconds, [1], []).axes[0].get_title(loc="left")
    assert "is as high" in flat
