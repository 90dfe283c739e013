"""The shape of a synthetic run's power, and how its distribution is pinned.

A run is a cycle (a training step) between an idle start and an idle end. Only the order
of its samples comes from that shape; the watts come from a quantile function whose knots
are the published quantiles, so they hold by construction. What is free is listed in
``aidc.standin.power``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS: Final = 16
_IDLE_BEFORE: Final = 0.75  # share of the idle time before the run; the rest follows it
_RANK_NOISE: Final = 1e-4  # only breaks ties: a cycle's flat parts have an order, too


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    """Free parameters of a run: they set how fast power moves, not how high it is.

    Attributes
    ----------
    period_s : float
        Length of a cycle, s.
    low_share : float
        Share of a cycle at the lower level.
    humped : bool
        Whether the lower level bends up in its middle (a phase of work) or is flat (a pause).
    averaging_s : float
        Window that a change of level is spread over, s.
    phase_noise, level_noise : float
        How far cycles drift, and differ from each other.
    idle_share : float
        Share of the run that is idle, to begin with.
    idle_w : tuple of float
        Lowest and highest idle power, W.
    free_knots : mapping of float to float
        Starting watts of the quantiles that are not published.
    """

    period_s: float
    low_share: float
    humped: bool
    averaging_s: float
    phase_noise: float
    level_noise: float
    idle_share: float
    idle_w: tuple[float, float]
    free_knots: Mapping[float, float]


@dataclasses.dataclass(frozen=True)
class Pins:
    """Published figures that the distribution is pinned to, W; quantiles by probability."""

    mean_w: float
    std_w: float
    quantiles_w: Mapping[float, float]


def latent(shape: Shape, samples: int, step_s: float, random: np.random.Generator) -> Floats:
    """Return the cycle before it has watts: only the order of its values matters."""
    times = np.arange(samples) * step_s
    drift = np.cumsum(random.normal(0, 1, samples)) * np.sqrt(step_s / shape.period_s)
    phase = times / shape.period_s + shape.phase_noise * drift
    cycle = np.floor(phase).astype(np.int64)
    cycle -= cycle.min()
    phase -= np.floor(phase)
    low, rest = shape.low_share, 1 - shape.low_share
    hump = 0.25 * (1 - np.abs(2 * phase / low - 1)) if shape.humped else np.zeros(samples)
    wave = np.where(phase < low, hump, 0.75 + 0.25 * (phase - low) / rest)
    wave += 0.1 * shape.level_noise * random.normal(0, 1, int(cycle.max()) + 1)[cycle]
    wave = running_mean(wave, max(1, round(shape.averaging_s / step_s)))
    return np.asarray(wave + _RANK_NOISE * random.normal(0, 1, samples), dtype=np.float64)


def running_mean(values: Floats, window: int) -> Floats:
    """Return the mean of each value and the ``window`` - 1 before it, as a sensor gives it."""
    total = np.cumsum(np.concatenate([np.full(window, values[0]), values]))
    return np.asarray((total[window:] - total[:-window]) / window, dtype=np.float64)


def pinned_curve(
    shape: Shape,
    pins: Pins,
    wave: Floats,
    window: int,
    observe: Callable[[Floats], Floats],
) -> Floats:
    """Return watts in the order of ``wave`` that, once observed, have the pinned figures.

    Parameters
    ----------
    shape : Shape
        Idle share and free knots to begin with.
    pins : Pins
        What the observed curve has to meet.
    wave : ndarray, shape (n,)
        The cycle.
    window : int
        Samples that the sensor averages over, where work begins and ends. (Inside the run
        the published ramps are those that the sensor passed.)
    observe : callable
        Turns a curve into what the official aggregation makes of its logs.

    Notes
    -----
    Quantiles are moved by their own miss; the free knots by the miss of the mean; the
    idle share by the miss of the variance, of which idle time is the larger part.
    """
    knots = dict(pins.quantiles_w)
    free = dict(shape.free_knots)
    idle_share = shape.idle_share
    curve = wave
    for _ in range(ROUNDS):
        curve = _curve(shape, wave, knots | free, idle_share, window)
        seen = observe(curve)
        probabilities = np.array(list(knots))
        missed = np.array(list(pins.quantiles_w.values())) - np.quantile(seen, probabilities)
        knots = {p: knots[p] + m for p, m in zip(knots, missed.tolist(), strict=True)}
        variance = pins.std_w**2 - float(seen.var(ddof=1))
        depth = pins.mean_w - float(np.mean(shape.idle_w))
        more_idle = variance / depth**2
        idle_share += 0.7 * more_idle
        shift = 2.0 * (pins.mean_w - float(seen.mean())) + 2.0 * more_idle * depth
        free = {p: w + shift * _room(p, w, shift, knots) for p, w in free.items()}
    return curve


def _room(probability: float, watts: float, shift: float, knots: Mapping[float, float]) -> float:
    """Return which part of a shift leaves a free knot within half its way to its neighbour."""
    above = min((w for p, w in knots.items() if p > probability), default=np.inf)
    below = max((w for p, w in knots.items() if p < probability), default=0.0)
    room = 0.5 * (above - watts if shift > 0 else watts - below)
    return min(1.0, max(room, 0.0) / abs(shift)) if shift else 0.0


def _curve(
    shape: Shape, wave: Floats, knots: Mapping[float, float], idle_share: float, window: int
) -> Floats:
    n = wave.size
    at = np.arange(n) / n
    before, after = _IDLE_BEFORE * idle_share, 1 - (1 - _IDLE_BEFORE) * idle_share
    idle = (at < before) | (at >= after)
    ordered = np.where(idle, wave - 1e3, wave)  # idle samples are the lowest of all
    ranks = np.empty(n)
    ranks[np.argsort(ordered, kind="stable")] = np.arange(n) / (n - 1)
    share = float(idle.mean())
    # The lowest free knot is where work begins; it moves with the share that is idle.
    first = min(knots)
    inner = {p: w for p, w in knots.items() if p != first}
    probabilities = [0.0, share, share + 1 / n, *sorted(inner)]
    watts = [*shape.idle_w, knots[first], *(inner[p] for p in sorted(inner))]
    curve = np.interp(ranks, probabilities, np.maximum.accumulate(watts))
    edge = np.convolve(np.diff(idle, prepend=idle[0]), np.ones(window), "full")[:n] > 0
    return np.where(edge, running_mean(curve, window), curve)
