"""The map of inputs shows everything that is registered, whole and legible."""

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from aidc.evidence.register import Register, read_register
from aidc.publish.figures_inputs import input_map
from aidc.publish.results import footer
from aidc.publish.style import save_svg
from tests.evidence.registers import small_register, write_registries

PHONE_PX = 340  # what a screen of 390 px leaves for a figure


def words(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


def missing_in(figure: Figure, register: Register) -> list[str]:
    shown = words(figure)
    names = [variable.name for variable in register.variables]
    names += [work.name for work in register.works.values()]
    names += list(register.sources)
    return [name for name in names if name not in shown]


def test_every_variable_work_and_file_is_drawn() -> None:
    register = read_register()
    assert missing_in(input_map(register), register) == []


def test_what_is_added_to_a_registry_appears(tmp_path: Path) -> None:
    before = read_register(write_registries(tmp_path / "before"))
    after = read_register(
        write_registries(
            tmp_path / "after",
            works=("a_work", "new_work"),
            files=(("a-file", "a_work"), ("new-file", "new_work")),
            variables=(
                ("a_variable", "observed", "a_work"),
                ("new_variable", "insufficient_evidence", None),
            ),
        )
    )
    assert missing_in(input_map(before), after) == [
        "name of new_variable",
        "Name of new_work",
        "new-file",
    ]
    assert missing_in(input_map(after), after) == []
    assert "1 of 2 variables are read from public data; 1 are missing" in words(input_map(after))


def test_a_work_without_variables_says_so(tmp_path: Path) -> None:
    register = read_register(write_registries(tmp_path, works=("a_work", "unused")))
    assert "no variable is read from it" in words(input_map(register))


@pytest.mark.parametrize("shipped", [True, False])
def test_no_text_is_cut_off_or_covers_another(tmp_path: Path, shipped: bool) -> None:
    figure = input_map(read_register() if shipped else small_register(tmp_path))
    FigureCanvasAgg(figure).draw()
    width, height = figure.get_size_inches() * figure.dpi
    boxes = {
        text.get_text(): text.get_window_extent()
        for text in figure.findobj(Text)
        if text.get_text()
    }
    assert len(boxes) > 5
    for box in boxes.values():
        assert 0 <= box.x0 <= box.x1 <= width
        assert 0 <= box.y0 <= box.y1 <= height
    # Lines follow each other closely: the space above and below a letter may be shared.
    covered = [
        (one, other)
        for (one, a), (other, b) in combinations(boxes.items(), 2)
        if a.overlaps(b) and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.25 * min(a.height, b.height)
    ]
    assert covered == []


def test_text_is_legible_on_a_phone() -> None:
    figure = input_map(read_register())
    width_pt = figure.get_size_inches()[0] * 72
    smallest = min(t.get_fontsize() for t in figure.findobj(Text) if t.get_text())
    assert smallest * PHONE_PX / width_pt >= 9


def test_the_footer_fits_and_equal_registers_give_equal_bytes(tmp_path: Path) -> None:
    register = read_register()
    for name in ("a.svg", "b.svg"):
        save_svg(input_map(register), tmp_path / name, footer(register))
    written = (tmp_path / "a.svg").read_bytes()
    assert written == (tmp_path / "b.svg").read_bytes()
    # Broken into lines, each of which is a text of its own.
    assert b"registry:sources" in written
    assert footer(register).encode() not in written
