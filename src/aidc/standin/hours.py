"""The hourly arrivals of the pool: a solved design and the seconds drawn inside hours."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from aidc.standin.program import NearestCounts
from aidc.standin.targets import target, targets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HOUR: Final = 3600
DAY_HOURS: Final = 24

# Free choices of the design. The outages (first hour and length in h) are when nothing
# arrives: long ones are what lifts the variation of inter-arrival times. The published
# active days fix how many whole days they cover.
DESIGN_SEED: Final = 20230301
OUTAGES: Final = ((60 * 24, 4 * 24), (109 * 24 - 2, 3 * 24 + 4), (139 * 24, 24))
DAY_SPREAD: Final = 1.0
DAY_MEMORY: Final = 0.6
HOUR_SPREAD: Final = 0.75
LOW_SHAPE: Final = 2.0
TAIL_SHAPE: Final = 50.0
TAIL_SLOPE: Final = 0.06
WEEKEND: Final = 0.6
NIGHT: Final = 0.35


def window() -> tuple[np.datetime64, int, int, int]:
    """Return midnight before the first submit, hours of the window, first and last second.

    Returns
    -------
    midnight : numpy.datetime64
        Local time; seconds of the trace count from here.
    hours : int
        Hourly bins of the window, from midnight to midnight.
    first, last : int
        Seconds of the first and the last submit.
    """
    known = targets()
    first = np.datetime64(str(known["window.first_submit"].value).replace(" ", "T"), "s")
    last = np.datetime64(str(known["window.last_submit"].value).replace(" ", "T"), "s")
    midnight = first.astype("datetime64[D]").astype("datetime64[s]")
    seconds = [int((time - midnight).astype(np.int64)) for time in (first, last)]
    days = seconds[1] // (HOUR * DAY_HOURS) + 1
    return midnight, days * DAY_HOURS, seconds[0], seconds[1]


def _outage(hours: int) -> NDArray[np.bool_]:
    stopped = np.zeros(hours, dtype=bool)
    for start, length in OUTAGES:
        stopped[start : start + length] = True
    return stopped


def sorted_counts(hours: int, empty: int) -> Ints:
    """Return the ascending hourly counts of the pool.

    Their median and 0.9 quantile (both order statistics around the type-7 position)
    equal the targets, their largest is the published multiple of the median, and they
    sum to the pool.
    """
    total = int(target("pool.jobs"))
    middle = int(target("pool.arrivals_per_hour.p50"))
    high = int(target("pool.arrivals_per_hour.p90"))
    largest = middle * target("pool.hourly_max_over_median")
    at_middle = int((hours - 1) * 0.5)
    at_high = int((hours - 1) * 0.9)
    counts = np.zeros(hours)
    low = np.linspace(0, 1, at_middle - empty, endpoint=False)
    counts[empty:at_middle] = middle * low**LOW_SHAPE
    counts[at_middle : at_middle + 2] = middle
    counts[at_high : at_high + 2] = high
    tail = np.linspace(0, 1, hours - at_high - 2)
    rising = TAIL_SLOPE * tail + (1 - TAIL_SLOPE) * tail**TAIL_SHAPE
    counts[at_high + 2 :] = high * (largest / high) ** rising
    between = slice(at_middle + 2, at_high)
    rise = np.linspace(0, 1, at_high - at_middle - 2)
    fixed = np.rint(counts).sum()

    def excess(shape: float) -> float:
        counts[between] = np.rint(middle * (high / middle) ** (rise**shape))
        return float(fixed + counts[between].sum() - total)

    excess(float(brentq(excess, 0.2, 8.0, xtol=1e-6)))
    whole = np.rint(counts).astype(np.int64)
    # The rounded curve misses the total by a few jobs: spread them over the middle ranks.
    missing = total - int(whole.sum())
    spread = np.linspace(at_middle + 600, at_high - 100, abs(missing)).astype(np.int64)
    np.add.at(whole, spread, np.sign(missing))
    return whole


def _intensity(hours: int, rng: np.random.Generator) -> Floats:
    """Return the log intensity of each hour: days with memory, a week's shape, noise."""
    days = hours // DAY_HOURS
    shocks = rng.normal(0, 1, days)
    level = np.empty(days)
    level[0] = shocks[0]
    for day in range(1, days):
        level[day] = DAY_MEMORY * level[day - 1] + np.sqrt(1 - DAY_MEMORY**2) * shocks[day]
    hour = np.arange(hours) % DAY_HOURS
    weekday = (np.arange(hours) // DAY_HOURS + 2) % 7  # the first day is a Wednesday
    clock = np.log(NIGHT) * (1 + np.cos((hour - 4) / DAY_HOURS * 2 * np.pi)) / 2
    week = np.where(weekday >= 5, np.log(WEEKEND), 0.0)
    noise = rng.normal(0, HOUR_SPREAD, hours)
    log_intensity: Floats = DAY_SPREAD * np.repeat(level, DAY_HOURS) + clock + week + noise
    return log_intensity


def _swap(grid: Ints, hour: int, one: int, other: int) -> None:
    grid[one, hour], grid[other, hour] = grid[other, hour], grid[one, hour]


def _tame_days(counts: Ints, stopped: NDArray[np.bool_], limit: int) -> None:
    """Swap hours of equal clock time between days until one day alone reaches ``limit``.

    The day with the busiest hour is brought to just above ``limit``; every other day
    is brought below it. Hours of an outage stay empty.
    """
    grid = counts.reshape(-1, DAY_HOURS)
    open_days = ~stopped.reshape(-1, DAY_HOURS)
    peak = int(np.argmax(grid.max(axis=1)))
    clock = int(np.argmax(grid[peak]))
    wanted_total = limit + limit // 20
    for hour in (h for h in range(DAY_HOURS) if h != clock and open_days[peak, h]):
        missing = wanted_total - int(grid[peak].sum())
        wanted = grid[peak, hour] + missing / (DAY_HOURS - hour)
        apart = np.where(open_days[:, hour], np.abs(grid[:, hour] - wanted), np.inf)
        _swap(grid, hour, peak, int(np.argmin(apart)))
    whole = np.flatnonzero(open_days.all(axis=1))
    for day in np.flatnonzero(grid.sum(axis=1) >= limit):
        while day != peak and grid[day].sum() >= limit:
            hour = int(np.argmax(grid[day]))
            other = int(whole[np.argsort(grid[whole].sum(axis=1))[len(whole) // 2]])
            _swap(grid, hour, int(day), other)


def _four_type_days(per_day: Ints) -> Ints:
    """Split off the jobs of the four types on each day; the rest is Other and Debug."""
    jobs = target("four.jobs")
    share = jobs / per_day.sum()
    active = np.flatnonzero(per_day)
    order = active[np.argsort(per_day[active], kind="stable")]
    middle = len(order) // 2
    median, largest = target("four.per_day.p50"), target("four.per_day.max")
    programme = NearestCounts()
    days = [programme.count(per_day[day] * share, float(per_day[day])) for day in order]
    for rank, variable in enumerate(days):
        low = median if rank >= middle else 1
        high = median if rank <= middle else largest
        low = largest if rank == len(order) - 1 else low
        programme.require({variable: 1.0}, low, high)
    programme.require(dict.fromkeys(days, 1.0), jobs, jobs)
    split = np.zeros_like(per_day)
    split[order] = programme.solve()[days]
    return split


def solve_hours() -> pd.DataFrame:
    """Return the solved hourly arrivals of the pool.

    Returns
    -------
    pandas.DataFrame
        One row an hour of the window: ``hour`` (from 0), ``four_types`` (completed jobs
        of positive duration of Eval, MLLM, Pretrain, SFT) and ``other_types`` (Other and
        Debug).
    """
    rng = np.random.default_rng(DESIGN_SEED)
    _, hours, _, _ = window()
    stopped = _outage(hours)
    ranks = np.argsort(np.where(stopped, -np.inf, _intensity(hours, rng)), kind="stable")
    counts = np.empty(hours, dtype=np.int64)
    counts[ranks] = sorted_counts(hours, int(stopped.sum()))
    _tame_days(counts, stopped, int(target("four.per_day.max")))
    grid = counts.reshape(-1, DAY_HOURS)
    four = np.zeros_like(grid)
    for day, wanted in enumerate(_four_type_days(grid.sum(axis=1))):
        if wanted:
            four[day] = rng.multivariate_hypergeometric(grid[day], wanted)
    return pd.DataFrame(
        {
            "hour": np.arange(hours),
            "four_types": four.ravel(),
            "other_types": (grid - four).ravel(),
        }
    )


def _shared_per_hour(counts: Ints, share: float) -> Ints:
    """Return how many arrivals of each hour share their second, more so in busy hours."""
    wanted = round(share * int(counts.sum()))
    able = counts >= 2

    def shared(factor: float) -> Ints:
        part = np.where(able, np.minimum(np.floor(factor * counts**1.25), counts), 0)
        return np.where(part < 2, 0, part).astype(np.int64)

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if shared(middle).sum() <= wanted else (low, middle)
    found = shared(low)
    room = np.flatnonzero((found >= 2) & (found < counts))
    np.add.at(found, room[: max(wanted - int(found.sum()), 0)], 1)
    return found


def draw_seconds(counts: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Draw the arrival seconds of every hour, ascending.

    Parameters
    ----------
    counts : numpy.ndarray
        Arrivals of each hour of the window.
    share : float
        Share of the arrivals that share their second with another one; met to the job
        as long as the hours allow.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        Seconds since the window's first midnight, all between the published first and
        last submit.
    """
    _, _, first, last = window()
    shared = _shared_per_hour(counts, share)
    drawn: list[Ints] = []
    for hour in np.flatnonzero(counts):
        start = max(int(hour) * HOUR, first)
        stop = min((int(hour) + 1) * HOUR, last + 1)
        alone, together = int(counts[hour] - shared[hour]), int(shared[hour])
        groups = max(1, together // 3) if together else 0
        spots = start + rng.choice(stop - start, alone + groups, replace=False)
        extra = rng.integers(0, max(groups, 1), together - 2 * groups)
        drawn += [spots, spots[:groups], spots[extra]]
    return np.sort(np.concatenate(drawn)).astype(np.int64)
