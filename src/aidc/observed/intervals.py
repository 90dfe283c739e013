"""Intervals for quantiles and distributions, with what each assumes.

`order_statistic_bounds` and `dkw_half_width` are exact but assume independent jobs.
Jobs come in clusters, so `block_bootstrap_quantiles` resamples blocks of neighbouring
jobs and keeps the dependence inside a block.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from arch.bootstrap import CircularBlockBootstrap, optimal_block_length
from scipy import stats

from aidc.evidence import InputError

Floats = npt.NDArray[np.float64]

MIN_BLOCKS = 10
MIN_VALUES = 2 * MIN_BLOCKS


@dataclass(frozen=True, kw_only=True)
class IntervalSettings:
    """How intervals are computed.

    Attributes
    ----------
    confidence : float
        Confidence of every interval and band, strictly between 0 and 1.
    resamples : int
        Block bootstrap resamples; 0 computes no bootstrap.
    seed : int
        Root of the random numbers. Each named statistic draws from its own child.
    """

    confidence: float = 0.95
    resamples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InputError(
                f"confidence: found {self.confidence}, expected a share between 0 and 1; "
                "give e.g. 0.95"
            )
        least = math.ceil(round(2 / (1 - self.confidence), 6))
        if self.resamples != 0 and self.resamples < least:
            raise InputError(
                f"bootstrap_resamples: found {self.resamples}, expected 0 (none) or at least "
                f"{least} at confidence {self.confidence}; fewer cannot reach its tails"
            )
        if self.seed < 0:
            raise InputError(f"seed: found {self.seed}, expected a whole number of at least 0")


def generator_for(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of one named statistic.

    The child of the root seed is chosen by the name alone, so adding or removing
    another statistic moves nothing.
    """
    digest = hashlib.sha256(name.encode()).digest()
    child = np.random.SeedSequence(seed, spawn_key=(int.from_bytes(digest[:8], "big"),))
    return np.random.default_rng(child)


def check_probabilities(probabilities: tuple[float, ...]) -> Floats:
    """Return quantile probabilities as an array.

    Raises
    ------
    InputError
        If there is none, one repeats or one lies outside the open interval (0, 1).
    """
    array = np.asarray(probabilities, dtype=np.float64)
    inside = array.size > 0 and bool(np.all((array > 0) & (array < 1)))
    if not inside or len(set(array.tolist())) < array.size:
        raise InputError(
            f"quantiles: found {list(probabilities)}, expected different shares "
            "between 0 and 1 (both excluded); give e.g. [0.5, 0.9, 0.95]"
        )
    return array


def order_statistic_bounds(n: int, probability: float, confidence: float) -> tuple[int, int, float]:
    """Return the order statistics that enclose a quantile, exactly, by the binomial.

    The number of independent values at or below the quantile of ``probability`` is
    binomial, so ranks with at most half of the error in each tail enclose it
    whatever the distribution (Conover 1999, section 3.2). With ties they do at least.

    Parameters
    ----------
    n : int
        Number of values.
    probability : float
        Probability of the quantile, in (0, 1).
    confidence : float
        Nominal confidence, in (0, 1).

    Returns
    -------
    low, high : int
        Ranks from 1 to n; 0 or n + 1 says that no value bounds that side.
    coverage : float
        Exact probability that the interval covers, at least ``confidence``.

    Examples
    --------
    >>> order_statistic_bounds(10, 0.5, 0.95)
    (2, 9, 0.978515625)
    """
    tail = (1 - confidence) / 2
    low = int(stats.binom.ppf(tail, n, probability))
    high = int(stats.binom.ppf(1 - tail, n, probability)) + 1
    coverage = stats.binom.cdf(high - 1, n, probability) - stats.binom.cdf(low - 1, n, probability)
    return low, high, float(coverage)


def dkw_half_width(n: int, confidence: float) -> float:
    """Return the half width of the simultaneous band around an ECDF of ``n`` values.

    Dvoretzky-Kiefer-Wolfowitz with Massart's constant; assumes independent values.

    Examples
    --------
    >>> round(dkw_half_width(100, 0.95), 4)
    0.1358
    """
    return math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))


@dataclass(frozen=True)
class BlockBootstrap:
    """Percentile intervals of quantiles from a circular block bootstrap.

    Attributes
    ----------
    low, high : ndarray, shape (k,)
        Bounds in the unit of the values; NaN where no interval can be given.
    block_length : int
        Values a block; 0 if nothing was resampled.
    """

    low: Floats
    high: Floats
    block_length: int


def block_bootstrap_quantiles(
    values: Floats, probabilities: Floats, settings: IntervalSettings, name: str
) -> BlockBootstrap:
    """Return percentile intervals of type-7 quantiles by a circular block bootstrap.

    Parameters
    ----------
    values : ndarray, shape (n,)
        In their order in time.
    probabilities : ndarray, shape (k,)
        In (0, 1).
    settings : IntervalSettings
        Confidence, resamples, seed.
    name : str
        Name of the statistic: it chooses the random numbers.

    Notes
    -----
    A resample is never sorted: values are replaced by their rank among the distinct
    ones, resampled ranks are counted, and quantiles are read off the running count.
    No interval is given for fewer than `MIN_VALUES` values, for values that are all
    equal, nor for a quantile that no order statistic bounds on both sides, where a
    resample could never leave the sample.
    """
    none = np.full(probabilities.size, np.nan)
    distinct, ranks = np.unique(values, return_inverse=True)
    if settings.resamples == 0 or values.size < MIN_VALUES or distinct.size < 2:
        return BlockBootstrap(low=none, high=none.copy(), block_length=0)
    codes = ranks.astype(np.int32)
    length = block_length(codes)
    blocks = CircularBlockBootstrap(length, codes, seed=generator_for(settings.seed, name))
    drawn = np.empty((settings.resamples, probabilities.size))
    for row, (data, _) in enumerate(blocks.bootstrap(settings.resamples)):
        cumulative = np.cumsum(np.bincount(data[0], minlength=distinct.size))
        drawn[row] = quantiles_of_counts(distinct, cumulative, probabilities)
    tail = (1 - settings.confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    bounds = [order_statistic_bounds(values.size, p, settings.confidence) for p in probabilities]
    unbounded = np.array([lower < 1 or upper > values.size for lower, upper, _ in bounds])
    return BlockBootstrap(
        low=np.where(unbounded, np.nan, low),
        high=np.where(unbounded, np.nan, high),
        block_length=length,
    )


def quantiles_of_counts(
    distinct: Floats, cumulative: npt.NDArray[np.int64], probabilities: Floats
) -> Floats:
    """Return type-7 quantiles of values given by their distinct values and running counts.

    Examples
    --------
    >>> quantiles_of_counts(np.array([1.0, 5.0]), np.array([3, 4]), np.array([0.5, 0.9]))
    array([1. , 3.8])
    """
    position = (cumulative[-1] - 1) * probabilities
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, cumulative[-1] - 1)
    lower = distinct[np.searchsorted(cumulative, below, side="right")]
    upper = distinct[np.searchsorted(cumulative, above, side="right")]
    return np.asarray(lower + (upper - lower) * (position - below), dtype=np.float64)


def block_length(ranks: npt.NDArray[np.int32]) -> int:
    """Return the block length that `arch.bootstrap.optimal_block_length` advises.

    It is computed on ranks, since the autocorrelation of heavy-tailed raw values is that
    of a few outliers, and capped so that at least `MIN_BLOCKS` blocks make a resample.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # 0/0 when the series is periodic
        advised = float(optimal_block_length(ranks.astype(np.float64))["circular"].iloc[0])
    if not math.isfinite(advised):
        advised = 1.0
    return max(1, min(math.ceil(advised), ranks.size // MIN_BLOCKS))
