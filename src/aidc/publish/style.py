"""The look that all figures share, and how one is written to a file.

Colours are the Okabe-Ito palette, which people with any colour vision tell apart, on opaque
white, with text that stays legible at the width of a phone.
"""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.typing import RcKeyType

from aidc.publish.format import display_number

BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW, GREY, INK = "#56b4e9", "#cc79a7", "#f0e442", "#8c8c8c", "#222222"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, GREY)

_SIZE_IN = (6.4, 4.3)
_PANEL_IN = 2.1  # height of each further panel
_TITLE_WIDTH = 56  # characters a line
_FOOTER_PT = 9
_FOOTER = "evidence"
_FOOTER_EM = 0.56  # width of a character of the footer, as a share of its size
_PNG_DPI = 130
_LINE = 0.045  # height of a footer line, as a share of the figure

NBSP = "\N{NO-BREAK SPACE}"  # between a number and its unit

STYLE: dict[RcKeyType, Any] = {
    **sns.axes_style("whitegrid"),
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#e2e2e2",
    "font.family": ["DejaVu Sans"],
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 12,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "legend.fontsize": 11,
    "legend.framealpha": 0.9,
    "svg.fonttype": "path",
    "svg.hashsalt": "aidc",
}

styled = mpl.rc_context(STYLE)


def new_figure(title: str, skipped: tuple[str, ...] = ()) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, its message as title and room for a footer.

    Parameters
    ----------
    title : str
        The message.
    skipped : tuple of str
        Selection steps that the data could not answer: named at the bottom.
    """
    figure, (axes,) = new_panels(title, 1, skipped)
    return figure, axes


def new_panels(
    title: str, count: int, skipped: tuple[str, ...] = (), panel_in: float = _PANEL_IN
) -> tuple[Figure, tuple[Axes, ...]]:
    """Return a figure with ``count`` pairs of axes under each other, else as `new_figure`.

    ``panel_in`` is the height of each further panel, in.
    """
    # Not by pyplot: no window manager keeps it, and a notebook shows it only once.
    width, height = _SIZE_IN
    size = (width, height + (count - 1) * panel_in)
    line = _LINE * height / size[1]
    bottom = line * (2 if skipped else 1)
    engine = ConstrainedLayoutEngine(rect=(0, bottom, 1, 1 - bottom))
    figure = Figure(figsize=size, layout=engine)
    if skipped:
        note = "not evaluable on this data, all rows passed: " + ", ".join(skipped)
        figure.text(0.01, line + 0.01, note, fontsize=_FOOTER_PT, color=VERMILION)
    panels = tuple(figure.subplots(count, 1, squeeze=False)[:, 0])
    panels[0].set_title(textwrap.fill(title, _TITLE_WIDTH), loc="left")
    for axes in panels:
        axes.set_axisbelow(True)
        sns.despine(ax=axes)
    return figure, panels


def save_svg(figure: Figure, path: Path, note: str) -> None:
    """Write a figure as SVG with ``note`` as its footer; equal figures give equal bytes.

    The footer stays in the figure, wherever else it is shown; it is broken into lines
    where it is wider than the figure, which grows by what these need. Text becomes
    outlines, so that it looks the same where the font is missing.
    """
    lines = 1
    for earlier in [text for text in figure.texts if text.get_gid() == _FOOTER]:
        lines = len(earlier.get_text().splitlines())
        earlier.remove()
    width = int(72 * figure.get_size_inches()[0] / (_FOOTER_EM * _FOOTER_PT))
    wrapped = textwrap.wrap(note, width)
    _grow(figure, (len(wrapped) - lines) * _LINE * _SIZE_IN[1])
    figure.text(
        0.01,
        0.01,
        "\n".join(wrapped),
        fontsize=_FOOTER_PT,
        color="#555555",
        gid=_FOOTER,
    )
    with mpl.rc_context(STYLE):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _grow(figure: Figure, more_in: float) -> None:
    """Add height below all that is drawn, so that a footer of more lines covers nothing."""
    engine = figure.get_layout_engine()
    if more_in == 0 or not isinstance(engine, ConstrainedLayoutEngine):
        return
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + more_in)
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((x, (y * height + more_in) / (height + more_in)))
    bottom = (engine.get()["rect"][1] * height + more_in) / (height + more_in)
    engine.set(rect=(0, bottom, 1, 1 - bottom))


@dataclass(frozen=True)
class Shown:
    """A figure as a notebook shows it: a picture, and in words for those who cannot see it."""

    figure: Figure
    alt: str

    def __repr__(self) -> str:
        """Return the words."""
        return f"Figure: {self.alt}"

    def _repr_png_(self) -> bytes:
        """Return the picture; equal figures give equal bytes."""
        picture = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(picture, format="png", dpi=_PNG_DPI, metadata={"Software": None})
        return picture.getvalue()


def percent(share: float) -> str:
    r"""Return a share as a reader should see it; the sign stays on its line.

    Examples
    --------
    >>> percent(0.4611), percent(0.5), percent(0.0004)
    ('46.1\xa0%', '50\xa0%', '0.04\xa0%')
    """
    return f"{display_number(100 * share, significant=3 if share > 0.01 else 1)}{NBSP}%"


def quantile_name(probability: float) -> str:
    """Return "median" or e.g. "p95"."""
    return "median" if probability == 0.5 else f"p{100 * probability:g}"


def legend_below(axes: Axes, columns: int) -> None:
    """Put the legend under the axes, where it hides no data."""
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.45, -0.19), ncols=columns,
        frameon=False, columnspacing=1.2, handlelength=1.5,
    )  # fmt: skip


def not_evaluable(what: str, why: str, skipped: tuple[str, ...]) -> Figure:
    """Return a figure that says why ``what`` cannot be drawn."""
    figure, axes = new_figure(f"{what}: not evaluable on this data", skipped)
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes, color=INK)
    axes.set_xticks([])
    axes.set_yticks([])
    return figure
