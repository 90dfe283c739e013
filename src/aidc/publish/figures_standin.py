"""Figures of the stand-in: how what was drawn follows what was published."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from aidc.publish.format import display_number
from aidc.publish.style import NBSP, PALETTE, legend_below, new_figure, styled
from aidc.standin.fit import Fit

LABELS = {"ALL_GPU": "all GPU jobs"}


@styled
def published_and_drawn(fit: Fit, field: str, unit: str) -> Figure:
    """Draw the published cumulative shares of each type over those of the drawn trace.

    Parameters
    ----------
    fit : Fit
        The comparison.
    field : str
        ``"duration"`` or ``"queue"`` (s) or ``"gpu_num"``.
    unit : str
        What the horizontal axis shows, with its unit.
    """
    published = fit.published[fit.published["field"] == field]
    drawn = fit.drawn[fit.drawn["field"] == field].set_index("population")
    figure, axes = new_figure(
        f"{display_number(len(published))} published counts (points) and the drawn trace (lines)"
    )
    for (population, points), colour in zip(published.groupby("population"), PALETTE, strict=False):
        line = drawn.loc[[str(population)]]
        label = LABELS.get(str(population), str(population))
        axes.step(line["le"], line["share"], where="post", color=colour, label=label, linewidth=1.4)
        axes.plot(points["le"], points["share"], "o", color=colour, markersize=4)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel(unit)
    axes.set_ylabel("jobs at or below")
    legend_below(axes, columns=4)
    return figure
