"""The spectrum of a power curve, and where its sensor stops speaking."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
from scipy import signal

from aidc.evidence import Carrier, Layer, step
from aidc.observed.aggregate import TotalPower
from aidc.observed.power import Floats
from aidc.observed.profile import AVERAGING_S, require_total

# A mean over a window of T seconds passes half of the power of a wave of 0.443 / T Hz.
HALF_POWER = 0.443


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spectrum(Carrier):
    """Power spectral density of the fluctuation.

    Attributes
    ----------
    frame : DataFrame
        ``frequency_hz``, ``density_w2_per_hz`` (Welch, Hann window, half overlap, mean
        removed from each segment).
    dominant_period_s : float
        Period of the highest local maximum of the density, in which neither a slow drift
        (highest at the lowest frequency) nor a harmonic passes for the cycle. NaN if the
        curve is constant or too short.
    segment_s : float
        Length of a segment: no period longer than a third of it is looked for.
    sensor_limit_hz : float
        Frequency above which a mean over the sensor's window passes less than half of the
        power (0.443 / window); infinite for an instant reading.
    nyquist_hz : float
        Half the sampling rate.
    """

    frame: pd.DataFrame
    dominant_period_s: float
    segment_s: float
    sensor_limit_hz: float
    nyquist_hz: float


@step(Layer.OBSERVED)
def spectrum(total: TotalPower, segment_s: float = 410.0) -> Spectrum:
    """Return Welch's spectrum of the curve, put on a uniform grid at its median interval.

    Parameters
    ----------
    total : TotalPower
        The curve; gaps are bridged by straight lines.
    segment_s : float
        Length of a segment in s; shortened so that at least four fit into the run.
    """
    require_total(total)
    step_s = total.interval_s
    grid = np.arange(0, total.times_s[-1], step_s)
    watts = np.interp(grid, total.times_s, total.watts)
    samples = max(8, min(int(segment_s / step_s), grid.size // 4))
    averaging_s = AVERAGING_S[total.power_kind]
    limit_hz = HALF_POWER / averaging_s if averaging_s else np.inf
    if grid.size < 2 * samples:
        frequency, density = np.empty(0), np.empty(0)
    else:
        frequency, density = signal.welch(watts, fs=1 / step_s, nperseg=samples)
    frame = pd.DataFrame({"frequency_hz": frequency, "density_w2_per_hz": density})
    return Spectrum(
        frame=frame,
        dominant_period_s=_dominant_period(frequency, density, samples * step_s),
        segment_s=samples * step_s,
        sensor_limit_hz=limit_hz,
        nyquist_hz=0.5 / step_s,
    )


def _dominant_period(frequency: Floats, density: Floats, segment_s: float) -> float:
    """Return the period of the highest local maximum, refined by a parabola."""
    if density.size < 3 or not density.max() > 0:
        return float("nan")
    left, middle, right = density[:-2], density[1:-1], density[2:]
    peaks = (middle > left) & (middle >= right) & (frequency[1:-1] >= 3 / segment_s)
    if not peaks.any():
        return float("nan")
    k = int(np.argmax(np.where(peaks, middle, 0.0)))
    bend = left[k] - 2 * middle[k] + right[k]
    shift = 0.5 * (left[k] - right[k]) / bend if bend < 0 else 0.0
    return float(1 / (frequency[k + 1] + shift * (frequency[1] - frequency[0])))
