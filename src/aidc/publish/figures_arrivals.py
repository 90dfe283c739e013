"""Figures of the arrivals; each takes what was computed and draws one message."""

from __future__ import annotations

import numpy as np
import seaborn as sns
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from aidc.observed.arrivals import (
    ACTIVE_HOURS,
    ALL_HOURS,
    QUANTITY,
    Autocorrelation,
    HourlyArrivals,
    WeekPattern,
)
from aidc.observed.overdispersion import POISSON, Overdispersion
from aidc.observed.window import HOURS_PER_DAY
from aidc.publish.format import display_number
from aidc.publish.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    NBSP,
    ORANGE,
    VERMILION,
    legend_below,
    new_figure,
    not_evaluable,
    percent,
    quantile_name,
    styled,
)

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@styled
def arrivals_ecdf(arrivals: HourlyArrivals) -> Figure:
    """Draw the distribution of the arrivals per hour under both definitions."""
    names = {ALL_HOURS: "all hours", ACTIVE_HOURS: "active hours"}
    marks = arrivals.quantiles
    middle = marks.loc[marks["probability"] == marks["probability"].min()]
    said = [
        f"{display_number(value)} over {names[definition]}"
        for definition, value in zip(middle["definition"], middle[QUANTITY], strict=True)
    ]
    what = quantile_name(float(middle["probability"].iloc[0]))
    figure, axes = new_figure(
        f"Arrivals per hour, {what}: {' and '.join(said)}", arrivals.not_evaluable
    )
    populations = {
        ALL_HOURS: arrivals.counts,
        ACTIVE_HOURS: arrivals.counts[arrivals.counts > 0],
    }
    for (definition, counts), colour in zip(populations.items(), (BLUE, ORANGE), strict=True):
        of = marks.loc[marks["definition"] == definition]
        said = [
            f"{quantile_name(p)} {display_number(v)}"
            for p, v in zip(of["probability"], of[QUANTITY], strict=True)
        ]
        label = f"{names[definition]}: {', '.join(said)}"
        values, below = np.unique(counts, return_counts=True)
        share = np.cumsum(below) / counts.size
        axes.step([values[0], *values], [0, *share], where="post", color=colour, label=label)
        axes.plot(
            of[QUANTITY], of["probability"], "o", color=colour, markeredgecolor=INK, zorder=3,
            markersize=9 if definition == ALL_HOURS else 5,
        )  # fmt: skip
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(-0.1, arrivals.counts.max() * 1.3)
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("arrivals per hour (logarithmic above 1)")
    axes.set_ylabel("hours at or below")
    legend_below(axes, columns=1)
    return figure


@styled
def arrivals_week(pattern: WeekPattern) -> Figure:
    """Draw the median arrivals for each hour of the week."""
    if not pattern.evaluable:
        return not_evaluable(
            "Hour of the week", "the trace's clock has no calendar", pattern.not_evaluable
        )
    busiest = pattern.frame.iloc[int(pattern.frame["p50_per_hour"].argmax())]
    title = (
        f"The busiest hour of the week starts {WEEKDAYS[int(busiest['weekday'])]} "
        f"{int(busiest['hour']):02d}:00: a median of "
        f"{display_number(busiest['p50_per_hour'])} arrivals"
    )
    if busiest["p50_per_hour"] == 0:
        title = "Each hour of the week has no arrival in at least half of the weeks"
    figure, axes = new_figure(title, pattern.not_evaluable)
    grid = pattern.frame.pivot_table(index="weekday", columns="hour", values="p50_per_hour")
    grid = grid.reindex(index=range(len(WEEKDAYS)), columns=range(HOURS_PER_DAY))
    top = max(1.0, float(grid.max().max()))
    sns.heatmap(
        grid, ax=axes, cmap="cividis", norm=SymLogNorm(linthresh=1, vmin=0, vmax=top),
        linewidths=0.4, linecolor="white",
        cbar_kws={"label": "median arrivals per hour", "format": "%g"},
    )  # fmt: skip
    axes.set_yticks(np.arange(len(WEEKDAYS)) + 0.5, WEEKDAYS, rotation=0)
    hours = np.arange(0, HOURS_PER_DAY, 3)
    axes.set_xticks(hours + 0.5, hours.astype(str), rotation=0)
    axes.set_xlabel("hour of day, local time of the source [h]")
    axes.set_ylabel("")
    return figure


@styled
def arrivals_memory(memory: Autocorrelation) -> Figure:
    """Draw the autocorrelation of the arrivals per hour with its band."""
    frame = memory.frame
    told = frame.loc[frame["lag_h"].isin([1, HOURS_PER_DAY])].dropna()
    said = [
        f"{display_number(round(row['autocorrelation'], 2))} "
        f"at {display_number(row['lag_h'])}{NBSP}h"
        for _, row in told.iterrows()
    ]
    title = "Autocorrelation of the arrivals per hour"
    if not said:
        return not_evaluable(title, "too few hours, or all are equal", memory.not_evaluable)
    figure, axes = new_figure(f"{title}: {', '.join(said)}", memory.not_evaluable)
    lagged = frame.loc[frame["lag_h"] > 0]
    band = f"{percent(memory.confidence)} band if there were none"
    axes.fill_between(
        lagged["lag_h"], lagged["band_low"], lagged["band_high"],
        color=GREY, alpha=0.35, linewidth=0, label=band,
    )  # fmt: skip
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.plot(lagged["lag_h"], lagged["autocorrelation"], color=BLUE, label="estimate")
    if lagged["lag_h"].max() >= 2 * HOURS_PER_DAY:
        axes.set_xticks(np.arange(0, lagged["lag_h"].max() + 1, 2 * HOURS_PER_DAY))
    axes.set_xlabel("lag [h]")
    axes.set_ylabel("autocorrelation")
    legend_below(axes, columns=2)
    return figure


@styled
def arrivals_overdispersion(found: Overdispersion) -> Figure:
    """Draw variance against mean of the arrivals, beside what both models say."""
    if not found.evaluable:
        return not_evaluable("Overdispersion", "; ".join(found.notes), found.not_evaluable)
    dispersion = found.fits.set_index("model")["pearson_dispersion"]
    title = (
        "The variance of the arrivals per hour is "
        f"{display_number(float(dispersion[POISSON]), 3)} times what a Poisson model expects"
    )
    figure, axes = new_figure(title, found.not_evaluable)
    cells = found.cells.loc[found.cells["variance_per_hour2"] > 0]
    # Whole decades, so that the logarithmic axis always has ticks.
    least = np.floor(np.log10(cells["mean_per_hour"].min()))
    most = np.ceil(np.log10(cells["mean_per_hour"].max()))
    mean = np.logspace(least, max(most, least + 1), 100)
    axes.plot(
        cells["mean_per_hour"], cells["variance_per_hour2"], "o", color=BLUE,
        markersize=4 if len(cells) > 1 else 9, alpha=0.7,
        label="observed, by hour of week" if len(cells) > 1 else "observed, all hours",
    )  # fmt: skip
    axes.plot(mean, mean, color=GREEN, linestyle="--", label="Poisson: mean")
    if np.isfinite(found.alpha):
        label = f"negative binomial, α = {display_number(found.alpha, 3)}"
        axes.plot(mean, mean + found.alpha * mean**2, color=VERMILION, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
    axes.set_xlabel("mean of the arrivals per hour")
    axes.set_ylabel("variance [per hour²]")
    legend_below(axes, columns=2)
    return figure
