"""Arrivals per hour under both definitions, their weekly pattern and their memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.tsa.stattools import acf

from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.funnel import JobPool, cell, require_jobs
from aidc.observed.intervals import IntervalSettings
from aidc.observed.stats import PROBABILITIES, quantile_frame
from aidc.observed.window import HOURS_PER_DAY, HOURS_PER_WEEK, Window, local_hours

CALENDAR = "calendar"
ALL_HOURS, ACTIVE_HOURS = "all_hours", "active_hours"
QUANTITY = "arrivals_per_hour"


@dataclass(frozen=True, kw_only=True)
class HourlyArrivals(Carrier):
    """Submits of the pool in each whole hour of the trace's window.

    Attributes
    ----------
    counts : ndarray of int, shape (hours,)
        Arrivals in each hour of the window, local time of the source.
    window : Window
        Its first hour and length: from the first to the last submit of the trace.
    calendar : bool
        Whether hours have a date and a weekday.
    quantiles : DataFrame
        ``definition`` (``all_hours`` of the window; ``active_hours`` with an arrival) and
        the columns of `aidc.observed.stats.Quantiles` for ``arrivals_per_hour``.
    summary : DataFrame
        One row a definition: ``hours``, ``mean_per_hour``, ``variance_per_hour2``,
        ``max_per_hour``, ``peak_over_median``.
    undated : int
        Jobs of the pool without a submit time; they are in no hour.
    utc_offset : str
        Offset of the local time, as in the trace.
    """

    counts: npt.NDArray[np.int64]
    window: Window
    calendar: bool
    quantiles: pd.DataFrame
    summary: pd.DataFrame
    undated: int
    utc_offset: str

    def at(self, definition: str, probability: float) -> float:
        """Return a quantile of the arrivals per hour under one definition."""
        key = {"definition": definition, "probability": probability}
        return float(cell(self.quantiles, QUANTITY, **key))

    def series(self) -> pd.Series[int]:
        """Return the counts, indexed by the start of the hour (local, without offset)."""
        return pd.Series(self.counts, index=self.window.timestamps(), name=QUANTITY)


@step(Layer.OBSERVED)
def hourly_arrivals(
    pool: JobPool,
    probabilities: tuple[float, ...] = PROBABILITIES,
    settings: IntervalSettings | None = None,
) -> HourlyArrivals:
    """Count the pool's arrivals in each hour of the trace's window.

    The paper does not say whether its quantiles count hours without an arrival, so both
    definitions are computed and named.

    Raises
    ------
    InputError
        If no job of the pool has a submit time.
    """
    require_jobs(pool, "arrivals")
    hours = local_hours(pool.jobs["submit_time"])
    if hours.size == 0:
        raise InputError(
            f"{pool.source}: column submit_time: found no time in the pool, expected at least one"
        )
    counts = pool.window.counts(hours)
    chosen = settings or IntervalSettings()
    populations = {ALL_HOURS: counts, ACTIVE_HOURS: counts[counts > 0]}
    frames, summary = [], []
    for definition, population in populations.items():
        values = population.astype(np.float64)
        frame, _ = quantile_frame(values, QUANTITY, probabilities, chosen)
        frame.insert(0, "definition", definition)
        frames.append(frame)
        median = float(np.median(values))
        summary.append(
            {
                "definition": definition,
                "hours": values.size,
                "mean_per_hour": values.mean(),
                "variance_per_hour2": values.var(ddof=1) if values.size > 1 else np.nan,
                "max_per_hour": int(population.max()),
                "peak_over_median": population.max() / median if median > 0 else np.nan,
            }
        )
    return HourlyArrivals(
        counts=counts,
        window=pool.window,
        calendar=pool.clock == CALENDAR,
        quantiles=pd.concat(frames, ignore_index=True),
        summary=pd.DataFrame(summary),
        undated=len(pool.jobs) - hours.size,
        utc_offset=pool.utc_offset,
    )


@dataclass(frozen=True, kw_only=True)
class WeekPattern(Carrier):
    """Arrivals per hour by hour of the week.

    Attributes
    ----------
    frame : DataFrame
        ``weekday`` (0 is Monday), ``hour`` (0 to 23, local), ``hours`` (how many such hours
        the window has), ``p25_per_hour``, ``p50_per_hour``, ``p75_per_hour``,
        ``mean_per_hour``; empty if not evaluable.
    evaluable : bool
        False for a clock without a calendar.
    """

    frame: pd.DataFrame
    evaluable: bool


@step(Layer.OBSERVED)
def week_pattern(arrivals: HourlyArrivals) -> WeekPattern:
    """Return quartiles of the arrivals for each hour of the week, over all its hours."""
    columns = ["weekday", "hour", "hours"]
    columns += ["p25_per_hour", "p50_per_hour", "p75_per_hour", "mean_per_hour"]
    if not arrivals.calendar:
        empty = pd.DataFrame(columns=columns)
        return WeekPattern(frame=empty, evaluable=False)
    cells = arrivals.window.hour_of_week()
    rows = []
    for hour_of_week in range(HOURS_PER_WEEK):
        counts = arrivals.counts[cells == hour_of_week]
        if counts.size:
            quartiles = np.quantile(counts, [0.25, 0.5, 0.75])
            weekday, hour = divmod(hour_of_week, HOURS_PER_DAY)
            rows.append((weekday, hour, counts.size, *quartiles, counts.mean()))
    return WeekPattern(
        frame=pd.DataFrame(rows, columns=columns),
        evaluable=True,
    )


@dataclass(frozen=True, kw_only=True)
class Burstiness(Carrier):
    """How unevenly submits follow each other.

    Attributes
    ----------
    interarrival_mean_s : float
        Mean time between one submit of the pool and the next, s.
    interarrival_cv : float
        Standard deviation over mean of that time: about 1 for a Poisson process.
        NaN for fewer than three jobs or if all submits are at one time.
    shared_second : float
        Share of jobs whose submit lies in the same second as another's.
    jobs : int
        Jobs with a submit time.
    """

    interarrival_mean_s: float
    interarrival_cv: float
    shared_second: float
    jobs: int


@step(Layer.OBSERVED)
def burstiness(pool: JobPool) -> Burstiness:
    """Return the inter-arrival variation of the pool's submits."""
    require_jobs(pool, "burstiness")
    times = pool.jobs["submit_time"].dropna().to_numpy("datetime64[ns]")
    ns = np.sort(times.astype(np.int64))
    gaps_s = np.diff(ns) / 1e9
    _, in_second = np.unique(ns // 1_000_000_000, return_counts=True)
    mean_s = float(gaps_s.mean()) if gaps_s.size else float("nan")
    varied = gaps_s.size > 1 and mean_s > 0
    return Burstiness(
        interarrival_mean_s=mean_s,
        interarrival_cv=float(gaps_s.std(ddof=1)) / mean_s if varied else float("nan"),
        shared_second=float(in_second[in_second > 1].sum() / ns.size) if ns.size else float("nan"),
        jobs=ns.size,
    )


@dataclass(frozen=True, kw_only=True)
class Autocorrelation(Carrier):
    """Autocorrelation of the arrivals per hour.

    Attributes
    ----------
    frame : DataFrame
        ``lag_h``, ``autocorrelation``, ``band_low``, ``band_high``: the band that holds an
        estimate at that lag, with the confidence, if the true autocorrelation were zero
        from there on (Bartlett's formula). NaN if all hours have the same count.
    hours : int
        Length of the series.
    confidence : float
        Of the band at each single lag.
    """

    frame: pd.DataFrame
    hours: int
    confidence: float


@step(Layer.OBSERVED)
def autocorrelation(
    arrivals: HourlyArrivals, confidence: float = 0.95, lags: int = 2 * HOURS_PER_WEEK
) -> Autocorrelation:
    """Return the autocorrelation over ``lags`` hours, or half the series if it is shorter."""
    IntervalSettings(confidence=confidence, resamples=0)
    counts = arrivals.counts.astype(np.float64)
    reach = min(lags, counts.size // 2)
    values = np.full(reach + 1, np.nan)
    half_width = values.copy()
    if reach and counts.min() < counts.max():
        found = acf(counts, nlags=reach, alpha=1 - confidence, fft=True, result_object=True)
        values, half_width = found.acf, found.confint[:, 1] - found.acf
    frame = pd.DataFrame(
        {
            "lag_h": np.arange(reach + 1),
            "autocorrelation": values,
            "band_low": -half_width,
            "band_high": half_width,
        }
    )
    return Autocorrelation(
        frame=frame,
        hours=counts.size,
        confidence=confidence,
    )
