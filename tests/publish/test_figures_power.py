"""Figures of power: a message, units, nothing cut off, and said where data cannot show."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from aidc.observed.aggregate import TotalPower
from aidc.observed.power_audit import PowerAudit, examine
from aidc.observed.power_compare import BothRules, both_rules
from aidc.observed.power_read import read_power
from aidc.observed.profile import load_duration
from aidc.observed.spectrum import spectrum
from aidc.publish import figures_power
from aidc.publish.style import save_svg
from tests.observed.power_factories import nvml, rapl, times

NOTE = "observed layer · synthetic · from nlr-standin"
WINDOWS = (1.0, 5.0, 60.0)


@cache
def waves() -> PowerAudit:
    """Two minutes at 0.2 s: a wave of 20 s, a batch end every 100 rows."""
    folder = Path(mkdtemp())
    at = times(601)
    files = [nvml(at).write(folder / "nvml.log"), rapl(at).write(folder / "rapl.log")]
    return examine([read_power(file) for file in files])


@cache
def table(content: str) -> PowerAudit:
    path = Path(mkdtemp()) / "two.csv"
    path.write_text("time_s,power_w\n" + content)
    return examine([read_power(path)])


def short() -> PowerAudit:
    return table("0,100\n1,110\n")


def constant() -> PowerAudit:
    return table("".join(f"{t},0\n" for t in range(100)))


AUDITS: dict[str, Callable[[], PowerAudit]] = {
    "waves": waves,
    "short": short,
    "constant": constant,
}


def totals(audit: PowerAudit, runs: int = 1) -> dict[str, TotalPower]:
    return {f"run {i}": audit.total for i in range(runs)}


def both(audit: PowerAudit) -> BothRules:
    return both_rules(audit, 0.2)


DRAWN: dict[str, Callable[[PowerAudit, int], Figure]] = {
    "curves": lambda audit, runs: figures_power.curves(totals(audit, runs)),
    "zoom": lambda audit, runs: figures_power.zoom(totals(audit, runs)),
    "load_duration": lambda audit, runs: figures_power.load_durations(
        {name: load_duration(total) for name, total in totals(audit, runs).items()}
    ),
    "ramps": lambda audit, runs: figures_power.ramp_distribution(totals(audit, runs), WINDOWS),
    "spectra": lambda audit, runs: figures_power.spectra(
        {name: spectrum(total) for name, total in totals(audit, runs).items()}
    ),
    "batch_ends": lambda audit, _: figures_power.batch_ends(both(audit)),
}


def title(figure: Figure) -> str:
    return figure.axes[0].get_title(loc="left").replace("\n", " ").replace("\xa0", " ")


@pytest.mark.parametrize("runs", [1, 2, 5])
@pytest.mark.parametrize("audit", AUDITS)
@pytest.mark.parametrize("drawn", DRAWN)
def test_a_figure_has_a_message_and_nothing_of_it_is_cut_off(
    drawn: str, audit: str, runs: int
) -> None:
    figure = DRAWN[drawn](AUDITS[audit](), runs)
    assert title(figure)
    FigureCanvasAgg(figure).draw()
    inside = figure.get_tightbbox()
    width_in, height_in = figure.get_size_inches()
    assert min(inside.x0, inside.y0) >= -0.01
    assert inside.x1 <= width_in + 0.01
    assert inside.y1 <= height_in + 0.01


@pytest.mark.parametrize("drawn", DRAWN)
def test_equal_input_gives_equal_bytes(drawn: str, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_svg(DRAWN[drawn](waves(), 2), tmp_path / name, NOTE)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("drawn", DRAWN)
def test_every_panel_names_its_units(drawn: str) -> None:
    for axes in DRAWN[drawn](waves(), 2).axes:
        assert "[" in axes.get_ylabel() or axes.get_ylabel().startswith("share")


def test_titles_say_what_was_computed() -> None:
    # 850 W of GPUs and 200 W of packages, and a wave of 200 W to both sides.
    assert title(DRAWN["curves"](waves(), 1)) == "A mean of 1,050 W hides a range of 400 W"
    assert title(DRAWN["zoom"](waves(), 2)) == "Within 60 s power swings by 400 and 400 W"
    # The top of a peak lies between two frequencies of the spectrum: near 5 s.
    saw = table("".join(f"{t / 2},{100 + 50 * (t % 10)}\n" for t in range(1000)))
    assert title(DRAWN["spectra"](saw, 1)).startswith("Power repeats itself every 4.99 s; the")
    assert "(first 4 of 5 runs)" in title(DRAWN["curves"](waves(), 5))


def test_a_batch_end_read_as_zero_is_drawn_as_the_dip_it_makes() -> None:
    figure = DRAWN["batch_ends"](waves(), 1)
    # Packages take 200 W and cores 6 W, which the official rule adds and drops together.
    assert title(figure).startswith("Read as zero, a batch end takes 200 W off for a moment")
    whole = figure.axes[0]
    (marks,) = [line for line in whole.lines if line.get_label() == "batch ends"]
    assert np.allclose(marks.get_ydata(), -200, atol=1)
    assert len(np.asarray(marks.get_xdata())) == 6


def test_what_data_cannot_show_is_said_in_the_figure() -> None:
    for figure in (
        figures_power.curves({}),
        figures_power.zoom({}),
        figures_power.load_durations({}),
        figures_power.ramp_distribution({}, WINDOWS),
        figures_power.spectra({}),
        figures_power.batch_ends(None),
        DRAWN["batch_ends"](short(), 1),
        DRAWN["ramps"](constant(), 1),
        DRAWN["spectra"](constant(), 1),
    ):
        assert title(figure).endswith("not evaluable on this data")


def test_a_window_within_the_sensors_mean_is_marked() -> None:
    axes = DRAWN["ramps"](waves(), 1).axes[0]
    labels = {str(line.get_label()).replace("\xa0", " ") for line in axes.lines}
    assert labels == {"1 s (limited by sensor)", "5 s", "60 s"}


def test_a_period_that_the_sensor_cannot_see_is_not_told() -> None:
    audit = table("".join(f"{t / 10},{100 + 50 * (t % 4)}\n" for t in range(2000)))
    found = spectrum(audit.total)
    assert found.dominant_period_s == pytest.approx(0.4, rel=0.01)
    assert np.isnan(found.stated_period_s)
    assert title(figures_power.spectra({"a": found})).startswith("No period stands out")
