"""How well a run's mean power is known, given that power remembers its past."""

from __future__ import annotations

import dataclasses

import numpy as np

from aidc.evidence import Carrier, Layer, step
from aidc.observed.aggregate import TotalPower
from aidc.observed.intervals import MIN_VALUES, IntervalSettings, block_length, generator_for
from aidc.observed.power import Floats
from aidc.observed.profile import require_total

NAME = "power.mean_w"
# The advised block length costs the square of their number.
MOST_BINS = 2_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanInterval(Carrier):
    """Percentile interval of the mean from a circular block bootstrap.

    It says how much the mean of another stretch of the same process might differ; one run
    that starts and ends idle is no stationary process, so it describes the spread inside
    the run and not that between runs.

    Attributes
    ----------
    mean_w, low_w, high_w : float
        Mean and bounds, W; bounds NaN if the run is too short or constant.
    confidence : float
        Nominal confidence.
    block_s : float
        Length of a block, s; 0 if nothing was resampled.
    bin_s : float
        Power is averaged over bins of this length first, s: a second, or more in a run of
        more than `MOST_BINS` seconds.
    independent_values : float
        How many independent bins would give an interval as wide: n x var / (n var of mean).
    """

    mean_w: float
    low_w: float
    high_w: float
    confidence: float
    block_s: float
    bin_s: float
    independent_values: float


@step(Layer.OBSERVED)
def mean_interval(total: TotalPower, settings: IntervalSettings | None = None) -> MeanInterval:
    """Return the interval of the mean over all time in no gap.

    Parameters
    ----------
    total : TotalPower
        The curve.
    settings : IntervalSettings
        Confidence, resamples, seed.

    Notes
    -----
    Bins that touch a gap are left out.
    """
    require_total(total)
    chosen = settings or IntervalSettings()
    bin_s = max(1.0, total.interval_s, float(total.times_s[-1]) / MOST_BINS)
    values = _binned(total, bin_s)
    mean = float(values.mean()) if values.size else np.nan
    low = high = independent = np.nan
    length = 0
    if chosen.resamples and values.size >= MIN_VALUES and values.min() < values.max():
        ranks = np.unique(values, return_inverse=True)[1].astype(np.int32)
        length = block_length(ranks)
        means = _resampled_means(values, length, chosen)
        tail = (1 - chosen.confidence) / 2
        low, high = map(float, np.quantile(means, [tail, 1 - tail]))
        independent = float(values.var(ddof=1) / means.var(ddof=1))
    return MeanInterval(
        mean_w=mean,
        low_w=low,
        high_w=high,
        confidence=chosen.confidence,
        block_s=length * bin_s,
        bin_s=bin_s,
        independent_values=independent,
    )


def _binned(total: TotalPower, bin_s: float) -> Floats:
    """Return the means of the bins without a gap."""
    length = np.diff(total.times_s)
    middle = (total.times_s[1:] + total.times_s[:-1]) / 2
    watts = (total.watts[1:] + total.watts[:-1]) / 2
    index = (middle / bin_s).astype(np.int64)
    joules = np.bincount(index, weights=watts * length)
    seconds = np.bincount(index, weights=length)
    gap = np.bincount(index, weights=total.gap.astype(np.float64)) > 0
    used = (seconds > 0) & ~gap
    return np.asarray(joules[used] / seconds[used], dtype=np.float64)


def _resampled_means(values: Floats, length: int, settings: IntervalSettings) -> Floats:
    """Return the means of circular block resamples, each from the sums of its blocks."""
    n = values.size
    blocks = -(-n // length)
    wrapped = np.concatenate([[0.0], np.cumsum(np.concatenate([values, values[:length]]))])
    random = generator_for(settings.seed, NAME)
    starts = random.integers(0, n, (settings.resamples, blocks))
    lengths = np.full(blocks, length)
    lengths[-1] = n - length * (blocks - 1)  # a resample is as long as the run
    sums = wrapped[starts + lengths] - wrapped[starts]
    return np.asarray(sums.sum(axis=1) / n, dtype=np.float64)
