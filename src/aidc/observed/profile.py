"""The statistics of a power curve that engineers read, each with its definition.

Power is taken as linear between samples, so an integral is a trapezoid and energy is
exact for that curve. Where gaps matter, both policies are reported: "all intervals" (a
gap is bridged by a straight line) and "without gaps" (its time counts for nothing).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.aggregate import TotalPower
from aidc.observed.power import Floats, PowerKind

SECONDS_PER_HOUR, SECONDS_PER_MINUTE = 3600.0, 60.0
# Window in s that a reading averages over; an unknown one is taken as the usual mean.
AVERAGING_S = {PowerKind.AVERAGE_1S: 1.0, PowerKind.UNKNOWN: 1.0, PowerKind.INSTANT: 0.0}
_IDLE_MARGIN = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerSummary(Carrier):
    """Single figures of a curve.

    Attributes
    ----------
    mean_w : float
        Energy over duration: trapezoid over all intervals, W.
    mean_w_without_gaps : float
        The same over the intervals that lie in no gap, W.
    mean_w_arithmetic : float
        Mean of the samples whatever their spacing, W; the difference to `mean_w` shows
        how much uneven sampling matters.
    std_w, min_w, p50_w, p95_w, p99_w, max_w : float
        Of the samples (standard deviation of the sample, quantiles of type 7), W.
    load_factor : float
        `mean_w` / `max_w`, the sample peak.
    energy_wh, energy_wh_without_gaps : float
        Integral over all intervals, and over those in no gap, Wh.
    duration_s, gap_s : float
        From the first to the last sample; of it in gaps.
    gaps, samples : int
        Gaps (neighbouring gap intervals are one), samples.
    interval_s : float
        Median step.
    idle_threshold_w, idle_share : float
        Share of the time in no gap during which the curve's interval mean is at or below
        the threshold.
    shares : dict of str to float
        Share of the energy by domain, over all intervals.
    averaging_s : float
        Window that the sensor averages over, as far as its kind is known.
    """

    mean_w: float
    mean_w_without_gaps: float
    mean_w_arithmetic: float
    std_w: float
    min_w: float
    p50_w: float
    p95_w: float
    p99_w: float
    max_w: float
    load_factor: float
    energy_wh: float
    energy_wh_without_gaps: float
    duration_s: float
    gap_s: float
    gaps: int
    samples: int
    interval_s: float
    idle_threshold_w: float
    idle_share: float
    shares: dict[str, float]
    averaging_s: float


def require_total(total: TotalPower) -> None:
    """Refuse a curve that cannot be stated.

    Raises
    ------
    InputError
        With the reasons.
    """
    if total.refused:
        raise InputError(
            "power: no profile can be stated: "
            + "; ".join(total.refused)
            + "; expected every device to be measured for most of the run; "
            "'python -m aidc audit' shows which rules fail"
        )


@step(Layer.OBSERVED)
def power_summary(total: TotalPower, idle_threshold_w: float | None = None) -> PowerSummary:
    """Return the single figures of a curve.

    Parameters
    ----------
    total : TotalPower
        The curve.
    idle_threshold_w : float or None
        Power up to which the job counts as idle; None takes the least sample plus 5 % of
        the range of the samples.

    Raises
    ------
    InputError
        If the curve was refused.
    """
    require_total(total)
    watts, length = total.watts, np.diff(total.times_s)
    joules = _interval_means(watts) * length
    kept = ~total.gap
    duration_s, covered_s = float(length.sum()), float(length[kept].sum())
    low, p50, p95, p99, high = np.quantile(watts, [0, 0.5, 0.95, 0.99, 1])
    if idle_threshold_w is None:
        idle_threshold_w = float(low + _IDLE_MARGIN * (high - low))
    idle = kept & (_interval_means(watts) <= idle_threshold_w)
    energy = {
        name: float((_interval_means(part) * length).sum()) for name, part in total.parts.items()
    }
    mean_w = float(joules.sum()) / duration_s
    return PowerSummary(
        mean_w=mean_w,
        mean_w_without_gaps=float(joules[kept].sum()) / covered_s if covered_s else np.nan,
        mean_w_arithmetic=float(watts.mean()),
        std_w=float(watts.std(ddof=1)) if watts.size > 1 else np.nan,
        min_w=float(low),
        p50_w=float(p50),
        p95_w=float(p95),
        p99_w=float(p99),
        max_w=float(high),
        load_factor=mean_w / float(high) if high > 0 else np.nan,
        energy_wh=float(joules.sum()) / SECONDS_PER_HOUR,
        energy_wh_without_gaps=float(joules[kept].sum()) / SECONDS_PER_HOUR,
        duration_s=duration_s,
        gap_s=duration_s - covered_s,
        gaps=int(total.gap[:1].sum() + np.count_nonzero(np.diff(total.gap.astype(np.int8)) == 1)),
        samples=watts.size,
        interval_s=total.interval_s,
        idle_threshold_w=idle_threshold_w,
        idle_share=float(length[idle].sum()) / covered_s if covered_s else np.nan,
        shares=_shares(energy),
        averaging_s=AVERAGING_S[total.power_kind],
    )


def _shares(energy: dict[str, float]) -> dict[str, float]:
    total = sum(energy.values())
    return {name: joule / total if total > 0 else np.nan for name, joule in energy.items()}


def _interval_means(watts: Floats) -> Floats:
    return (watts[1:] + watts[:-1]) / 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadDuration(Carrier):
    """Load-duration curve: for how much of the time power is at least so high.

    Attributes
    ----------
    frame : DataFrame
        ``share`` (of the time in no gap), ``power_w``, descending power.
    """

    frame: pd.DataFrame


@step(Layer.OBSERVED)
def load_duration(total: TotalPower, points: int = 400) -> LoadDuration:
    """Return the load-duration curve of the interval means, weighted by their length."""
    require_total(total)
    kept = ~total.gap
    watts = _interval_means(total.watts)[kept]
    length = np.diff(total.times_s)[kept]
    order = np.argsort(watts, kind="stable")[::-1]
    share = np.cumsum(length[order]) / length.sum()
    at = np.linspace(0, 1, points)
    rows = np.searchsorted(share, at).clip(max=order.size - 1)
    return LoadDuration(frame=pd.DataFrame({"share": at, "power_w": watts[order][rows]}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demand(Carrier):
    """Mean power over blocks of time, as a meter bills it.

    Attributes
    ----------
    frame : DataFrame
        One row a definition: ``block_min``, ``step_min`` (equal for separate blocks,
        shorter for a rolling demand), ``blocks`` (full blocks, from the first sample),
        ``with_gap`` (of them with a gap, bridged by a straight line), ``left_out_s`` (time
        after the last full block), ``mean_w``, ``min_w``, ``max_w`` and ``load_factor``
        (mean over all blocks / highest block); NaN if the run is shorter than a block.
    """

    frame: pd.DataFrame


@step(Layer.OBSERVED)
def block_demand(
    total: TotalPower,
    blocks_min: tuple[float, ...] = (1, 5, 15),
    rolling_min: tuple[float, float] = (15, 5),
) -> Demand:
    """Return block demand for each length, and the rolling demand (length, step) in minutes."""
    require_total(total)
    wanted = [(block, block) for block in blocks_min] + [rolling_min]
    if not all(block > 0 and stride > 0 for block, stride in wanted):
        raise InputError(f"demand_min: found {list(blocks_min)}, expected minutes above 0")
    return Demand(frame=pd.DataFrame([_demand(total, *definition) for definition in wanted]))


def _demand(total: TotalPower, block_min: float, step_min: float) -> dict[str, float]:
    block_s, step_s = block_min * SECONDS_PER_MINUTE, step_min * SECONDS_PER_MINUTE
    duration_s = float(total.times_s[-1])
    # Rounding must not cost the last block of a run of exactly so many blocks.
    count = max(0, int((duration_s - block_s) / step_s + 1 + 1e-9))
    begin = np.arange(count, dtype=np.float64) * step_s
    row: dict[str, float] = {"block_min": block_min, "step_min": step_min, "blocks": count}
    watts = (_energy_until(total, begin + block_s) - _energy_until(total, begin)) / block_s
    gaps = _gap_time_until(total, begin + block_s) - _gap_time_until(total, begin)
    row["with_gap"] = int(np.count_nonzero(gaps > 0))
    row["left_out_s"] = duration_s - (begin[-1] + block_s) if count else duration_s
    row |= dict.fromkeys(("mean_w", "min_w", "max_w", "load_factor"), np.nan)
    if count:
        mean, most = float(watts.mean()), float(watts.max())
        row |= {"mean_w": mean, "min_w": float(watts.min()), "max_w": most}
        row["load_factor"] = mean / most if most > 0 else np.nan
    return row


def _energy_until(total: TotalPower, at_s: Floats) -> Floats:
    """Return the energy from the start to each time, J: exact for the linear curve."""
    times_s, watts = total.times_s, total.watts
    cumulative = np.concatenate([[0.0], np.cumsum(_interval_means(watts) * np.diff(times_s))])
    at_s = np.clip(at_s, 0, times_s[-1])
    i = np.clip(np.searchsorted(times_s, at_s, side="right") - 1, 0, times_s.size - 2)
    part = at_s - times_s[i]
    power = np.interp(at_s, times_s, watts)
    return np.asarray(cumulative[i] + part * (watts[i] + power) / 2, dtype=np.float64)


def _gap_time_until(total: TotalPower, at_s: Floats) -> Floats:
    spent = np.concatenate([[0.0], np.cumsum(np.diff(total.times_s) * total.gap)])
    return np.asarray(np.interp(at_s, total.times_s, spent), dtype=np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ramps(Carrier):
    """How fast power changes.

    Attributes
    ----------
    frame : DataFrame
        One row a window: ``window_s``, ``samples``, ``p50_w_per_s``, ``p95_w_per_s``,
        ``p99_w_per_s``, ``max_w_per_s`` of |P(t + w) - P(t)| / w over all samples t with
        no gap in between; ``up_max_w_per_s``, ``down_max_w_per_s``; ``sensor_limited``:
        the window is no longer than the sensor averages over, so a true ramp may be steeper.
    averaging_s : float
        Window that the sensor averages over, s.
    """

    frame: pd.DataFrame
    averaging_s: float


@step(Layer.OBSERVED)
def ramps(total: TotalPower, windows_s: tuple[float, ...] = (1, 5, 10, 60)) -> Ramps:
    """Return the ramps over each window in s; power at t + w is read off the linear curve."""
    require_total(total)
    if not windows_s or not all(w > 0 for w in windows_s):
        raise InputError(f"ramp_windows_s: found {list(windows_s)}, expected seconds above 0")
    averaging_s = AVERAGING_S[total.power_kind]
    rows = []
    for window in windows_s:
        change = ramp_values(total, window)
        size = np.abs(change)
        quantiles = np.quantile(size, [0.5, 0.95, 0.99, 1]) if size.size else [np.nan] * 4
        names = ("p50_w_per_s", "p95_w_per_s", "p99_w_per_s", "max_w_per_s")
        row = {"window_s": window, "samples": size.size}
        row |= dict(zip(names, map(float, quantiles), strict=True))
        row["up_max_w_per_s"] = float(change.max()) if size.size else np.nan
        row["down_max_w_per_s"] = float(-change.min()) if size.size else np.nan
        row["sensor_limited"] = window <= averaging_s
        rows.append(row)
    return Ramps(frame=pd.DataFrame(rows), averaging_s=averaging_s)


def ramp_values(total: TotalPower, window_s: float) -> Floats:
    """Return (P(t + w) - P(t)) / w in W/s for every sample t with no gap before t + w."""
    times_s = total.times_s
    # Half a microsecond: a sum of steps that only rounding keeps from the end is at it.
    last = int(np.searchsorted(times_s, times_s[-1] - window_s + 5e-7, side="right"))
    later = times_s[:last] + window_s
    spent = _gap_time_until(total, later) - _gap_time_until(total, times_s[:last])
    change = (np.interp(later, times_s, total.watts) - total.watts[:last]) / window_s
    return np.asarray(change[spent <= 0], dtype=np.float64)


def sample_figures(
    total: TotalPower, windows_s: tuple[float, ...] = (0.2, 1, 10)
) -> dict[str, float]:
    """Return the figures of a curve on a uniform grid as the data set's analyses define them.

    Means, deviations and quantiles are of the samples; ramps are 95 % quantiles of
    |P(t + w) - P(t)| / w; the GPU share is of the energy.
    """
    summary = power_summary(total)
    ramp = {
        f"ramp_p95_{window:g}s_w_per_s": float(
            np.quantile(np.abs(ramp_values(total, window)), 0.95)
        )
        for window in windows_s
    }
    return {
        "samples": summary.samples,
        "duration_s": summary.duration_s,
        "interval_s": summary.interval_s,
        "mean_w": summary.mean_w_arithmetic,
        "median_w": summary.p50_w,
        "p95_w": summary.p95_w,
        "p99_w": summary.p99_w,
        "max_w": summary.max_w,
        "std_w": summary.std_w,
        **ramp,
        "gpu_energy_share": summary.shares.get("gpu", np.nan),
        "energy_wh": summary.energy_wh,
    }
