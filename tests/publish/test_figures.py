import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from aidc.observed.arrivals import autocorrelation, hourly_arrivals, week_pattern
from aidc.observed.concentration import user_concentration
from aidc.observed.funnel import JobPool, select_pool
from aidc.observed.intervals import IntervalSettings
from aidc.observed.overdispersion import overdispersion
from aidc.observed.stats import duration_ecdf, duration_quantiles, shares
from aidc.publish import figures, figures_arrivals
from aidc.publish.figures import save_svg
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs

PLAIN = IntervalSettings(resamples=0)
NOTE = "observed layer · synthetic input: seren-standin"


def calendar_pool() -> JobPool:
    random = np.random.default_rng(0)
    n = 4000
    jobs = seren_jobs(
        random.lognormal(5, 2, n).round(),
        submit_s=np.sort(random.integers(0, 30 * 86400, n)),
        gpu_num=2 ** random.integers(0, 9, n),
        state=random.choice(["COMPLETED", "FAILED", "TIMEOUT"], n).astype(object),
        kind=random.choice(["Eval", "SFT", "Pretrain"], n).astype(object),
        user=random.choice([f"u{i}" for i in range(40)], n).astype(object),
    )
    return select_pool(make_trace(jobs))


def elapsed_pool() -> JobPool:
    random = np.random.default_rng(0)
    return select_pool(
        make_trace(
            elapsed_jobs(random.integers(0, 90, 900), random.integers(0, 10**6, 900)), "elapsed"
        )
    )


def smallest_pool() -> JobPool:
    return select_pool(make_trace(seren_jobs([7.0])))


def week(pool: JobPool) -> Figure:
    return figures_arrivals.arrivals_week(week_pattern(hourly_arrivals(pool)))


DRAWN: dict[str, Callable[[JobPool], Figure]] = {
    "funnel": figures.funnel_bars,
    "duration": lambda pool: figures.duration_distribution(
        duration_ecdf(pool), duration_quantiles(pool, settings=PLAIN)
    ),
    "gpu": lambda pool: figures.gpu_counts(shares(pool, ("gpu_num",))),
    "users": lambda pool: figures.users_lorenz(user_concentration(pool)),
    "states": lambda pool: figures.state_by_type(shares(pool, ("type", "state"))),
    "arrivals": lambda pool: figures_arrivals.arrivals_ecdf(hourly_arrivals(pool, settings=PLAIN)),
    "week": week,
    "memory": lambda pool: figures_arrivals.arrivals_memory(autocorrelation(hourly_arrivals(pool))),
    "overdispersion": lambda pool: figures_arrivals.arrivals_overdispersion(
        overdispersion(hourly_arrivals(pool))
    ),
}
POOLS = {"calendar": calendar_pool, "elapsed": elapsed_pool, "smallest": smallest_pool}


def texts(figure: Figure) -> list[Text]:
    FigureCanvasAgg(figure).draw()  # places everything
    return [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]


def title(figure: Figure) -> str:
    return figure.axes[0].get_title(loc="left").replace("\n", " ")


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("drawn", DRAWN)
def test_a_figure_has_a_message_and_nothing_of_it_is_cut_off(drawn: str, pool: str) -> None:
    figure = DRAWN[drawn](POOLS[pool]())
    assert title(figure)
    FigureCanvasAgg(figure).draw()
    drawn_in = figure.get_tightbbox()
    width_in, height_in = figure.get_size_inches()
    assert drawn_in.x0 >= -0.01
    assert drawn_in.y0 >= -0.01
    assert drawn_in.x1 <= width_in + 0.01
    assert drawn_in.y1 <= height_in + 0.01


@pytest.mark.parametrize("drawn", DRAWN)
def test_equal_input_gives_equal_bytes(drawn: str, tmp_path: Path) -> None:
    written = []
    for name in ("a.svg", "b.svg"):
        save_svg(DRAWN[drawn](calendar_pool()), tmp_path / name, NOTE)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0]


def test_a_figure_can_be_saved_twice_with_another_note(tmp_path: Path) -> None:
    figure = figures.funnel_bars(calendar_pool())
    for name, note in (("a.svg", NOTE), ("b.svg", "another"), ("c.svg", NOTE)):
        save_svg(figure, tmp_path / name, note)
    first, other, again = ((tmp_path / f"{n}.svg").read_bytes() for n in "abc")
    assert first == again != other


def test_the_background_is_opaque_white(tmp_path: Path) -> None:
    save_svg(figures.funnel_bars(calendar_pool()), tmp_path / "a.svg", NOTE)
    patch = re.search(
        r'id="patch_1">\s*<path [^>]*style="([^"]*)"', (tmp_path / "a.svg").read_text()
    )
    assert patch is not None
    assert "fill: #ffffff" in patch.group(1)
    assert "opacity" not in patch.group(1)


def test_the_footer_is_in_the_figure(tmp_path: Path) -> None:
    figure = figures.funnel_bars(calendar_pool())
    save_svg(figure, tmp_path / "a.svg", NOTE)
    assert f"<!-- {NOTE} -->" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_titles_say_what_was_computed() -> None:
    pool = select_pool(make_trace(seren_jobs(np.arange(1, 101), gpu_num=[1] * 75 + [8] * 25)))
    quantiles = duration_quantiles(pool, (0.5, 0.9), PLAIN)
    shown = title(figures.duration_distribution(duration_ecdf(pool), quantiles))
    assert shown.replace("\xa0", " ") == "50 % of the jobs end within 50.5 s, 90 % within 90.1 s"
    shown = title(figures.gpu_counts(shares(pool, ("gpu_num",))))
    # 1 GPU: 2,850 s together; 8 GPUs: 8 x 2,200 s; 2,850 of 20,450 GPU s are 13.9 %.
    expected = "1-GPU jobs make up 75 % of the jobs and 13.9 % of the GPU time"
    assert shown.replace("\xa0", " ") == expected


def test_steps_that_were_not_evaluable_are_named_in_every_figure() -> None:
    for name, draw in DRAWN.items():
        said = " ".join(text.get_text() for text in texts(draw(elapsed_pool())))
        assert "all rows passed: state, times" in said, name


@pytest.mark.parametrize("drawn", ["week", "users", "states"])
def test_what_data_cannot_show_is_said_in_the_figure(drawn: str) -> None:
    assert title(DRAWN[drawn](elapsed_pool())).endswith("not evaluable on this data")


def test_the_axes_of_a_figure_carry_units() -> None:
    pool = calendar_pool()
    assert week(pool).axes[0].get_xlabel().endswith("[h]")
    assert "per hour" in DRAWN["arrivals"](pool).axes[0].get_xlabel()
    ticks = DRAWN["duration"](pool).axes[0].get_xticklabels()
    assert {"1 s", "1 min", "1 h"} <= {tick.get_text() for tick in ticks}


def test_labels_of_close_quantiles_do_not_overlap() -> None:
    pool = calendar_pool()
    quantiles = duration_quantiles(pool, (0.5, 0.9, 0.95, 0.99, 0.999), PLAIN)
    figure = figures.duration_distribution(duration_ecdf(pool), quantiles)
    labels = [t for t in texts(figure) if re.match(r"(median|p\d)", t.get_text())]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
