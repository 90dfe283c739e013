"""Durations, GPU counts, shares and queue times of the jobs of a pool or a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.funnel import JobPool, cell, require_jobs
from aidc.observed.intervals import (
    Floats,
    IntervalSettings,
    block_bootstrap_quantiles,
    check_probabilities,
    dkw_half_width,
    order_statistic_bounds,
)
from aidc.observed.trace import JobTrace

SECONDS_PER_HOUR = 3600
PROBABILITIES = (0.5, 0.9, 0.95)
QUANTILE_METHOD: Final = "linear"  # Hyndman and Fan's type 7, numpy's default


@dataclass(frozen=True, kw_only=True)
class Quantiles(Carrier):
    """Quantiles of one quantity with two intervals.

    Attributes
    ----------
    quantity : str
        Name with its unit, e.g. ``"duration_s"``.
    frame : DataFrame
        ``probability``, ``{quantity}`` (type 7), ``{quantity}_order_low`` and ``_order_high``
        (order statistics; independent values), ``order_coverage`` (their exact coverage),
        ``{quantity}_block_low`` and ``_block_high`` (block bootstrap). NaN: no interval.
    values : int
        Number of values.
    block_length : int
        Values a block of the bootstrap; 0 if there was none.
    settings : IntervalSettings
        Confidence, resamples and seed.
    """

    quantity: str
    frame: pd.DataFrame
    values: int
    block_length: int
    settings: IntervalSettings

    def at(self, probability: float) -> float:
        """Return the quantile of a probability that was asked for."""
        return float(cell(self.frame, self.quantity, probability=probability))


def quantile_frame(
    values: Floats,
    quantity: str,
    probabilities: tuple[float, ...],
    settings: IntervalSettings,
) -> tuple[pd.DataFrame, int]:
    """Return the frame of `Quantiles` and the block length of its bootstrap.

    Parameters
    ----------
    values : ndarray, shape (n,), n > 0
        In their order in time, none missing.
    quantity : str
        Name with unit; it also chooses the random numbers of the bootstrap.
    """
    wanted = check_probabilities(probabilities)
    ordered = np.sort(values)
    padded = np.concatenate([[np.nan], ordered, [np.nan]])  # ranks 0 and n + 1: no bound
    bounds = [order_statistic_bounds(values.size, p, settings.confidence) for p in wanted]
    blocks = block_bootstrap_quantiles(values, wanted, settings, quantity)
    frame = pd.DataFrame(
        {
            "probability": wanted,
            quantity: np.quantile(ordered, wanted, method=QUANTILE_METHOD),
            f"{quantity}_order_low": padded[[low for low, _, _ in bounds]],
            f"{quantity}_order_high": padded[[high for _, high, _ in bounds]],
            "order_coverage": [coverage for _, _, coverage in bounds],
            f"{quantity}_block_low": blocks.low,
            f"{quantity}_block_high": blocks.high,
        }
    )
    return frame, blocks.block_length


@step(Layer.OBSERVED)
def duration_quantiles(
    pool: JobPool,
    probabilities: tuple[float, ...] = PROBABILITIES,
    settings: IntervalSettings | None = None,
) -> Quantiles:
    """Return quantiles of the duration in seconds; blocks are jobs in submit order.

    Raises
    ------
    InputError
        If the pool is empty or has no durations.
    """
    chosen = settings or IntervalSettings()
    frame, length = quantile_frame(
        _durations(pool, in_submit_order=chosen.resamples > 0), "duration_s", probabilities, chosen
    )
    return Quantiles(
        quantity="duration_s",
        frame=frame,
        values=len(pool.jobs),
        block_length=length,
        settings=chosen,
    )


def _durations(pool: JobPool, *, in_submit_order: bool = False) -> Floats:
    require_jobs(pool, "durations")
    jobs = pool.jobs
    if "duration_s" not in jobs:
        raise InputError(
            f"{pool.source}: found no column of durations, expected one; use another dialect"
        )
    duration_s = jobs["duration_s"].to_numpy(np.float64)
    if in_submit_order and not jobs["submit_time"].is_monotonic_increasing:
        duration_s = duration_s[jobs["submit_time"].argsort(kind="stable")]
    return duration_s


@dataclass(frozen=True, kw_only=True)
class Ecdf(Carrier):
    """Empirical distribution of the duration with a simultaneous band.

    Attributes
    ----------
    frame : DataFrame
        ``duration_s``, ``share`` (of jobs at or below it), ``share_low``, ``share_high``.
        Exact at every row; at most about `points` rows.
    values : int
        Number of jobs.
    confidence : float
        Of the whole band (DKW; independent jobs).
    """

    frame: pd.DataFrame
    values: int
    confidence: float


@step(Layer.OBSERVED)
def duration_ecdf(pool: JobPool, confidence: float = 0.95, points: int = 400) -> Ecdf:
    """Return the ECDF of the duration at up to ``points`` durations that occur.

    They are evenly spread on a logarithmic axis, where durations are drawn.
    """
    IntervalSettings(confidence=confidence, resamples=0)
    ordered = np.sort(_durations(pool))
    distinct, first = np.unique(ordered, return_index=True)
    at_or_below = np.append(first[1:], ordered.size)
    positive = distinct[distinct > 0]
    if distinct.size > points:
        grid = np.geomspace(positive[0], positive[-1], points)
        keep = np.unique(np.searchsorted(distinct, grid).clip(max=distinct.size - 1))
        keep = np.union1d(keep, [0, distinct.size - 1])
        distinct, at_or_below = distinct[keep], at_or_below[keep]
    share = at_or_below / ordered.size
    half_width = dkw_half_width(ordered.size, confidence)
    frame = pd.DataFrame(
        {
            "duration_s": distinct,
            "share": share,
            "share_low": np.clip(share - half_width, 0, 1),
            "share_high": np.clip(share + half_width, 0, 1),
        }
    )
    return Ecdf(
        frame=frame,
        values=ordered.size,
        confidence=confidence,
    )


@dataclass(frozen=True, kw_only=True)
class Shares(Carrier):
    """How jobs and GPU time divide over one or two columns.

    GPU time is ``gpu_num * duration`` of the canonical columns, not the file's own
    ``gpu_time``, whose meaning differs between sources.

    Attributes
    ----------
    by : tuple of str
        Columns that divide the jobs.
    frame : DataFrame
        The columns of ``by``, ``jobs``, ``gpu_time_h``, ``jobs_share``, ``gpu_time_share``;
        empty if the data lacks a column. Jobs without a value count as
        ``"missing"`` (NaN in a column of numbers).
    evaluable : bool
        Whether the data has every column.
    """

    by: tuple[str, ...]
    frame: pd.DataFrame
    evaluable: bool


@step(Layer.OBSERVED)
def shares(source: JobPool | JobTrace, by: tuple[str, ...] = ("type",)) -> Shares:
    """Return the division of a pool or a whole trace over columns.

    Parameters
    ----------
    source : JobPool or JobTrace
        Which jobs; in a trace, jobs without a duration count with no GPU time.
    by : tuple of str
        One or two of ``type``, ``state``, ``user``, ``gpu_num``, ``node_num``.
    """
    jobs = source.jobs
    measures = ["jobs", "gpu_time_h", "jobs_share", "gpu_time_share"]
    if not all(column in jobs for column in by):
        empty = pd.DataFrame(columns=[*by, *measures])
        return Shares(by=by, frame=empty, evaluable=False)
    codes, labels = _cells([jobs[column] for column in by])
    count = np.bincount(codes, minlength=len(labels))
    hours = np.bincount(codes, weights=gpu_seconds(jobs), minlength=len(labels)) / SECONDS_PER_HOUR
    frame = labels.assign(
        jobs=count,
        gpu_time_h=hours,
        jobs_share=_share(count.astype(np.float64)),
        gpu_time_share=_share(hours),
    )
    frame = frame.loc[count > 0].reset_index(drop=True)
    return Shares(by=by, frame=frame, evaluable=True)


def gpu_seconds(jobs: pd.DataFrame) -> Floats:
    """Return ``gpu_num * duration_s`` of each job in s, 0 where the duration is missing."""
    product = jobs["gpu_num"].to_numpy(np.float64) * jobs["duration_s"].to_numpy(np.float64)
    return np.where(np.isnan(product), 0.0, product)


def _share(amounts: Floats) -> Floats:
    total = amounts.sum()
    return amounts / total if total > 0 else np.full(amounts.size, np.nan)


def _cells(columns: list[pd.Series]) -> tuple[npt.NDArray[np.int64], pd.DataFrame]:
    """Return the cell of each row and the labels of all cells, in sorted order."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    levels: list[pd.Index] = []
    for column in columns:
        code, level = _levels(column)
        codes = codes * len(level) + code
        levels.append(level)
    grid = pd.MultiIndex.from_product(levels, names=[column.name for column in columns])
    return codes, grid.to_frame(index=False)


def _levels(column: pd.Series) -> tuple[npt.NDArray[np.int64], pd.Index]:
    if pd.api.types.is_numeric_dtype(column):
        code, level = pd.factorize(column, sort=True, use_na_sentinel=False)
        return code.astype(np.int64), pd.Index(level)
    categories = column.astype("category").cat
    code = categories.codes.to_numpy().astype(np.int64)
    level = categories.categories.astype(str).append(pd.Index(["missing"]))
    return np.where(code < 0, len(level) - 1, code), level


@dataclass(frozen=True, kw_only=True)
class HistoricalQueue(Carrier):
    """How long jobs waited (the paper's equation 1), as a description of the past.

    It is the outcome of a past schedule, not a delay that users permit, so nothing that
    asks for `aidc.constructed.slack.Slack` takes it.

    Attributes
    ----------
    frame : DataFrame
        ``probability``, ``queue_s`` (type 7); empty if the data has no start times.
    jobs : int
        Jobs with both times.
    waited_longer : int
        Jobs among them that waited longer than 1 s, the resolution of such traces.
    other_than_file : int or None
        Jobs whose own queue field differs from start - submit; None without that field.
    evaluable : bool
        Whether the data has submit and start times.
    """

    frame: pd.DataFrame
    jobs: int
    waited_longer: int
    other_than_file: int | None
    evaluable: bool


@step(Layer.OBSERVED)
def queue_times(pool: JobPool, probabilities: tuple[float, ...] = PROBABILITIES) -> HistoricalQueue:
    """Return quantiles of start - submit in seconds over the pool (equation 1)."""
    require_jobs(pool, "historical queue times")
    wanted = check_probabilities(probabilities)
    jobs = pool.jobs
    queue_s = np.empty(0, dtype=np.float64)
    other: int | None = None
    if "start_time" in jobs:
        waited = (jobs["start_time"] - jobs["submit_time"]).dt.total_seconds()
        queue_s = np.asarray(waited.dropna(), dtype=np.float64)
        if "queue_s" in jobs:
            both = jobs["queue_s"].notna() & waited.notna()
            other = int((jobs["queue_s"][both] != waited[both]).sum())
    frame = pd.DataFrame(columns=["probability", "queue_s"])
    if queue_s.size:
        values = np.quantile(queue_s, wanted, method=QUANTILE_METHOD)
        frame = pd.DataFrame({"probability": wanted, "queue_s": values})
    return HistoricalQueue(
        frame=frame,
        jobs=queue_s.size,
        waited_longer=int(np.count_nonzero(queue_s > 1)),
        other_than_file=other,
        evaluable=queue_s.size > 0,
    )
