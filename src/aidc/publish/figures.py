"""Figures of the task pool; each takes what was computed and draws one message."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from aidc.observed.concentration import Concentration
from aidc.observed.funnel import JobPool
from aidc.observed.intervals import Floats
from aidc.observed.stats import Ecdf, Quantiles, Shares
from aidc.publish.format import display_number
from aidc.publish.style import (
    BLUE,
    GREY,
    NBSP,
    ORANGE,
    PALETTE,
    VERMILION,
    legend_below,
    new_figure,
    not_evaluable,
    percent,
    quantile_name,
    save_svg,
    styled,
)

__all__ = [
    "duration_distribution",
    "funnel_bars",
    "gpu_counts",
    "save_svg",
    "state_by_type",
    "users_lorenz",
]

DURATIONS_S = {
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3600: "1 h",
    36_000: "10 h",
    86_400: "1 d",
    864_000: "10 d",
    8_640_000: "100 d",
}
_LABEL_GAP = 0.075  # of the height of the axes, between two labels of marks
_LABEL_WIDTH = 0.3  # of the width of the axes
_TICK_GAP = 0.08  # of the width of the axes, between two labels of times


@styled
def funnel_bars(pool: JobPool) -> Figure:
    """Draw how many rows are left after each selection step."""
    funnel = pool.funnel
    title = (
        f"{display_number(len(pool.jobs))} of {display_number(pool.rows_total)} jobs form the pool"
    )
    figure, axes = new_figure(title, pool.not_evaluable)
    positions = np.arange(len(funnel))
    bars = axes.barh(positions, funnel["rows_out"], height=0.42, color=BLUE)
    for position, bar, (_, row) in zip(positions, bars, funnel.iterrows(), strict=True):
        label = f"{row['rule']}: {display_number(row['rows_out'])}"
        if not row["evaluable"]:
            bar.set(facecolor="white", edgecolor=BLUE, hatch="////")
            label += "  not evaluable"
        axes.text(0, position - 0.3, label, va="bottom", ha="left", fontsize=11.5)
    axes.set_ylim(len(funnel) - 0.6, -0.75)
    axes.set_yticks([])
    axes.set_xlabel("jobs left after the step")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_number(value)))
    axes.grid(visible=False, axis="y")
    return figure


@styled
def duration_distribution(ecdf: Ecdf, quantiles: Quantiles) -> Figure:
    """Draw the ECDF of the duration with its band, and mark quantiles."""
    marks = quantiles.frame.sort_values("probability")
    first, last = marks.iloc[0], marks.iloc[-1]
    title = f"{percent(first['probability'])} of the jobs end within {_seconds(first)}"
    if len(marks) > 1:
        title += f", {percent(last['probability'])} within {_seconds(last)}"
    figure, axes = new_figure(title, ecdf.not_evaluable)
    frame = ecdf.frame
    band = f"{percent(ecdf.confidence)} band (independent jobs)"
    axes.fill_between(
        frame["duration_s"], frame["share_low"], frame["share_high"], step="post",
        color=ORANGE, alpha=0.45, linewidth=0, label=band,
    )  # fmt: skip
    start_s = float(frame["duration_s"].iloc[0])
    axes.step(
        [start_s, *frame["duration_s"]], [0, *frame["share"]], where="post",
        color=BLUE, label="share of jobs",
    )  # fmt: skip
    axes.plot(marks["duration_s"], marks["probability"], "o", color=VERMILION, zorder=3)
    most_s = float(frame["duration_s"].iloc[-1])
    no_room_before_s = start_s * (most_s / start_s) ** _LABEL_WIDTH
    heights = _apart(marks["probability"].to_numpy(np.float64))
    for height, (_, mark) in zip(heights, marks.iterrows(), strict=True):
        left = mark["duration_s"] < no_room_before_s
        axes.annotate(
            f"{quantile_name(mark['probability'])} {_seconds(mark)}",
            (mark["duration_s"], height), xytext=(9 if left else -9, 0),
            textcoords="offset points", ha="left" if left else "right", va="center", fontsize=11.5,
        )  # fmt: skip
    axes.set_xscale("log")
    _duration_ticks(axes, start_s, most_s)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("duration (logarithmic)")
    axes.set_ylabel("jobs at or below")
    axes.legend(loc="lower right")
    return figure


def _seconds(mark: pd.Series) -> str:
    return f"{display_number(mark['duration_s'])}{NBSP}s"


def _apart(heights: Floats) -> Floats:
    """Return ascending heights moved up, and down from the top, until labels do not touch."""
    moved = heights.copy()
    for i in range(1, moved.size):
        moved[i] = max(moved[i], moved[i - 1] + _LABEL_GAP)
    limit = 1.0
    for i in reversed(range(moved.size)):
        moved[i] = min(moved[i], limit)
        limit = moved[i] - _LABEL_GAP
    return moved


def _duration_ticks(axes: Axes, least_s: float, most_s: float) -> None:
    gap = (most_s / least_s) ** _TICK_GAP
    ticks: list[int] = []
    for second in DURATIONS_S:
        if least_s <= second <= most_s and (not ticks or second > gap * ticks[-1]):
            ticks.append(second)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(ticks, [DURATIONS_S[second] for second in ticks])
    axes.tick_params(axis="x", which="minor", bottom=False)


@styled
def gpu_counts(division: Shares) -> Figure:
    """Draw the GPUs a job uses, by jobs and by GPU time (a division by ``gpu_num``)."""
    frame = division.frame
    common = frame.iloc[int(frame["jobs"].argmax())]
    title = (
        f"{display_number(common['gpu_num'])}-GPU jobs make up "
        f"{percent(common['jobs_share'])} of the jobs and "
        f"{percent(common['gpu_time_share'])} of the GPU time"
    )
    figure, axes = new_figure(title, division.not_evaluable)
    power = np.ceil(np.log2(frame["gpu_num"].to_numpy(np.float64))).astype(int)
    binned = frame.groupby(power)[["jobs_share", "gpu_time_share"]].sum()
    tidy = binned.rename(columns={"jobs_share": "jobs", "gpu_time_share": "GPU time"}).melt(
        ignore_index=False, var_name="share of", value_name="share"
    )
    tidy["gpus"] = [_gpu_label(int(exponent)) for exponent in tidy.index]
    sns.barplot(
        tidy, x="gpus", y="share", hue="share of", ax=axes,
        palette=[BLUE, ORANGE], saturation=1, errorbar=None,
    )  # fmt: skip
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("GPUs of a job")
    axes.set_ylabel("share")
    if len(binned) > 7:
        axes.tick_params(axis="x", labelrotation=35)
    axes.legend(title="share of")
    return figure


def _gpu_label(exponent: int) -> str:
    low, high = 2 ** (exponent - 1) + 1, 2**exponent
    return str(high) if exponent <= 1 else f"{low}–{high}"


@styled
def users_lorenz(users: Concentration) -> Figure:
    """Draw the Lorenz curves of jobs and GPU time over users."""
    if not users.evaluable:
        return not_evaluable("Users", "the data names no users", users.not_evaluable)
    first = users.top.iloc[-1]
    title = (
        f"{percent(first['jobs_share'])} of the jobs come from "
        f"{display_number(first['users'])} of {display_number(users.users)} users"
    )
    figure, axes = new_figure(title, users.not_evaluable)
    curves = {
        "jobs": ("jobs_share", users.gini_jobs, BLUE),
        "GPU time": ("gpu_time_share", users.gini_gpu_time, ORANGE),
    }
    for name, (column, gini, colour) in curves.items():
        label = f"{name}, Gini {display_number(gini, 2)}" if np.isfinite(gini) else name
        axes.plot(users.lorenz["users_share"], users.lorenz[column], color=colour, label=label)
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", label="all users equal")
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("users, those with least first")
    axes.set_ylabel("held by them")
    axes.legend(loc="upper left")
    return figure


@styled
def state_by_type(division: Shares) -> Figure:
    """Draw the final states of each job type (a division by ``type`` and ``state``)."""
    if not division.evaluable:
        return not_evaluable(
            "States by type", "the data names no types or states", division.not_evaluable
        )
    jobs = division.frame.pivot_table(
        index="type", columns="state", values="jobs", aggfunc="sum", fill_value=0, observed=True
    )
    jobs = jobs[jobs.sum().sort_values(ascending=False).index]
    within = jobs.div(jobs.sum(axis=1), axis=0)
    common = within.iloc[:, 0].sort_values()
    title = (
        f"{common.name} is the end of {percent(common.iloc[0])} ({common.index[0]}) "
        f"to {percent(common.iloc[-1])} ({common.index[-1]}) of a type's jobs"
    )
    figure, axes = new_figure(title, division.not_evaluable)
    left = np.zeros(len(within))
    for state, colour in zip(within.columns, PALETTE, strict=False):
        axes.barh(within.index, within[state], left=left, color=colour, label=state, height=0.7)
        left += within[state].to_numpy(np.float64)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=f"{NBSP}%"))
    axes.set_xlabel("share of the type's jobs")
    axes.grid(visible=False, axis="y")
    legend_below(axes, columns=3)
    return figure
