"""Draw the attributes of the jobs, before any of them has a time of submission."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aidc.standin import targets
from aidc.standin.targets import GPU_TYPES, TYPES, curve, size, target

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Free choices.
QUEUE_ZERO_SHARE: Final = 0.5  # of the jobs that waited at most 1 s
LONGEST_QUEUE: Final = 2**17  # s; the figures end at a quarter of it
CPU_QUEUE: Final = ((0, 1, 0.25), (1, 2, 0.15), (2, 4, 0.10), (4, 16, 0.07))
CPU_LONG_QUEUE: Final = (16, 256)  # takes the share that the published mean asks for
# How much a type tends to larger jobs, in standard units of the log run time.
SIZE_TENDENCY: Final[Mapping[str, float]] = {
    "Pretrain": 4.5, "MLLM": 2.5, "SFT": 1.0, "Other": 1.0, "Debug": 1.0, "Eval": -1.0
}  # fmt: skip
SIZE_NOISE: Final = 1.5
# A state is drawn in proportion to run time to this power; what is left has failed.
STATE_TENDENCY: Final[Mapping[str, float]] = {
    "CANCELLED": 0.5, "PREEMPTED": 0.3, "TIMEOUT": 1.5, "NODE_FAIL": 0.5
}  # fmt: skip
TIMEOUT_PART: Final = 0.55  # of the jobs whose state is none of the four published ones
STATES: Final = ("COMPLETED", "FAILED", *STATE_TENDENCY)


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Attributes of the jobs, in no particular order; one element a job.

    Attributes
    ----------
    kind : numpy.ndarray
        Index into ``targets.TYPES``.
    state : numpy.ndarray
        Index into ``STATES``.
    duration, queue : numpy.ndarray
        Run time and waiting time in s.
    gpu_num : numpy.ndarray
        GPUs; 0 for CPU jobs.
    """

    kind: Ints
    state: Ints
    duration: Ints
    queue: Ints
    gpu_num: Ints

    def taken(self, order: Ints) -> Jobs:
        """Return the jobs at the given positions, in that order."""
        return Jobs(**{item.name: getattr(self, item.name)[order] for item in fields(self)})


def apportion(weights: Sequence[float] | Floats | Ints, total: int) -> Ints:
    """Split a total into whole parts in proportion to weights (largest remainders).

    Examples
    --------
    >>> apportion([2, 1, 1], 5).tolist()
    [3, 1, 1]
    """
    weight = np.asarray(weights, dtype=np.float64)
    exact = weight * (total / weight.sum())
    whole: Ints = np.floor(exact + 1e-9).astype(np.int64)
    first = np.argsort(-(exact - whole), kind="stable")[: total - int(whole.sum())]
    whole[first] += 1
    return whole


def log_uniform(lower: Ints, upper: Ints, rng: np.random.Generator) -> Ints:
    """Draw whole numbers log-uniformly from ``lower < value <= upper``, one a pair."""
    low = np.log(np.maximum(lower + 1, 0.5))
    high = np.log(upper + 1)
    values = np.floor(np.exp(low + (high - low) * rng.random(len(lower)))).astype(np.int64)
    return np.clip(values, lower + 1, upper)


def durations(rows: int, rng: np.random.Generator) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Draw type, whether completed, and run time (s) from the solved cells."""
    cells = pd.read_csv(targets.CELLS)
    cells["kind"] = cells["type"].map({name: i for i, name in enumerate(TYPES)})
    wide = pd.concat([cells.assign(n=cells["completed"], done=True),
                      cells.assign(n=cells["other"], done=False)])  # fmt: skip
    counts = apportion(wide["n"].to_numpy(), rows)
    kind, lower, upper = (
        np.repeat(wide[name].to_numpy(dtype=np.int64), counts)
        for name in ("kind", "lower", "upper")
    )
    completed = np.repeat(wide["done"].to_numpy(dtype=bool), counts)
    duration = log_uniform(lower, upper, rng)
    gpu = kind < len(GPU_TYPES)
    if rows == counts.sum() == cells[["completed", "other"]].to_numpy().sum():
        # The longest run time is published: the longest unfinished GPU job takes it.
        longest = int(np.argmax(np.where(gpu & ~completed, duration, -1)))
        duration[longest] = int(target("rows.duration_s.max"))
    return kind, completed, duration


def _queue_cells(kind: str) -> tuple[Floats, Ints, Ints]:
    """Return weights and bounds (lower exclusive, upper inclusive) of waiting times in s."""
    if kind == "CPU":
        low, high = CPU_LONG_QUEUE
        shares = np.array([share for _, _, share in CPU_QUEUE])
        means = np.array([_cell_mean(a, b) for a, b, _ in CPU_QUEUE])
        tail = (target("cpu.queue_s.mean") - shares @ means) / _cell_mean(low, high)
        weights = np.array([1 - shares.sum() - tail, *shares, tail])
        bounds = [(-1, 0), *((a, b) for a, b, _ in CPU_QUEUE), CPU_LONG_QUEUE]
    else:
        published = curve(kind, "queue")
        edges = [-1, 0, *published, LONGEST_QUEUE]
        below = [0, QUEUE_ZERO_SHARE * published[1] // 1, *published.values(), size(kind)]
        weights = np.diff(below).astype(np.float64)
        bounds = list(itertools.pairwise(edges))
    lower, upper = np.array(bounds, dtype=np.int64).T
    return weights, lower, upper


def _cell_mean(lower: int, upper: int) -> float:
    values = np.arange(lower + 1, upper + 1)
    weights = np.log1p(1 / values)
    return float(values @ weights / weights.sum())


def queues(kind: Ints, rng: np.random.Generator) -> Ints:
    """Draw the waiting time (s) of every job from the curve of its type."""
    queue = np.zeros(len(kind), dtype=np.int64)
    for index, name in enumerate(TYPES):
        members = np.flatnonzero(kind == index)
        weights, lower, upper = _queue_cells(name)
        cell = np.repeat(np.arange(len(weights)), apportion(weights, len(members)))
        queue[members] = rng.permutation(log_uniform(lower[cell], upper[cell], rng))
    return queue


def roundest(lower: int, upper: int) -> int:
    """Return the multiple of the largest power of two in ``lower < value <= upper``.

    Examples
    --------
    >>> roundest(256, 511), roundest(47, 49), roundest(4, 7)
    (384, 48, 6)
    """
    step = 1 << upper.bit_length()
    while upper // step * step <= lower:
        step //= 2
    return upper // step * step


@cache
def _gpu_sizes() -> tuple[Ints, Ints]:
    """Return GPU counts, ascending, and how many jobs ask for each."""
    published = {0: 0, **curve("ALL_GPU", "gpu_num")}
    edges = list(published)
    sizes = [roundest(low, high) for low, high in itertools.pairwise(edges)]
    return np.array(sizes, dtype=np.int64), np.diff(list(published.values()))


def gpu_counts(kind: Ints, completed: NDArray[np.bool_], duration: Ints,
               rng: np.random.Generator) -> Ints:  # fmt: skip
    """Hand the published GPU counts out by a score of run time, type and state.

    Larger counts go to higher scores. The weight of the run time is solved for the
    published GPU-hours of all GPU jobs, the weight of completion for the pool's share.
    """
    gpu = np.flatnonzero(kind < len(GPU_TYPES))
    sizes, jobs = _gpu_sizes()
    ordered = np.repeat(sizes, apportion(jobs, len(gpu)))
    run, done = duration[gpu].astype(np.float64), completed[gpu]
    log_run = np.log1p(run)
    log_run = (log_run - log_run.mean()) / log_run.std()
    tendency = np.array([SIZE_TENDENCY[name] for name in GPU_TYPES])[kind[gpu]]
    base = tendency + rng.normal(0, SIZE_NOISE, len(gpu))
    handed = np.empty_like(ordered)

    def hand_out(run_weight: float, done_weight: float) -> tuple[float, float]:
        score = base + run_weight * log_run + done_weight * done
        handed[np.argsort(score, kind="stable")] = ordered
        seconds = handed * run
        return float(seconds.sum()), float(seconds[done].sum() / seconds.sum())

    wanted = target("gpu.hours") * 3600 * len(gpu) / size("ALL_GPU")
    share = target("pool.gpu_hours_share")
    run_range, done_range = [0.0, 4.0], [-6.0, 6.0]
    run_weight, done_weight = 1.0, 0.0
    for _ in range(3):
        for _ in range(9):
            done_weight = sum(done_range) / 2
            done_range[hand_out(run_weight, done_weight)[1] > share] = done_weight
        for _ in range(9):
            run_weight = sum(run_range) / 2
            run_range[hand_out(run_weight, done_weight)[0] > wanted] = run_weight
        run_range = [max(0.0, run_weight - 0.5), run_weight + 0.5]
        done_range = [done_weight - 0.5, done_weight + 0.5]
    hand_out(run_weight, done_weight)
    counts = np.zeros(len(kind), dtype=np.int64)
    counts[gpu] = handed
    return counts


def _weighted_choice(weights: Floats, number: int, rng: np.random.Generator) -> Ints:
    """Choose positions without replacement in proportion to weights (Gumbel top-k)."""
    keys = np.log(weights) + rng.gumbel(size=len(weights))
    return np.argsort(-keys, kind="stable")[:number]


def states(kind: Ints, completed: NDArray[np.bool_], duration: Ints,
           rng: np.random.Generator) -> Ints:  # fmt: skip
    """Give every job that did not complete one of the other states."""
    state = np.zeros(len(kind), dtype=np.int64)
    gpu = kind < len(GPU_TYPES)
    for population, members in (("gpu", gpu), ("cpu", ~gpu)):
        left = np.flatnonzero(members & ~completed)
        shares = {
            name: target(f"{population}.state_share.{name}")
            for name in ("COMPLETED", "FAILED", "CANCELLED", "PREEMPTED")
            if population == "gpu" or name != "PREEMPTED"
        }
        rest = 1 - sum(shares.values())
        shares |= {"TIMEOUT": rest * TIMEOUT_PART, "NODE_FAIL": rest * (1 - TIMEOUT_PART)}
        numbers = dict(zip(list(shares)[1:], apportion(list(shares.values())[1:], len(left)),
                           strict=True))  # fmt: skip
        for name, power in STATE_TENDENCY.items():
            weights = np.power(1.0 + duration[left].astype(np.float64), power)
            chosen = _weighted_choice(weights, int(numbers.get(name, 0)), rng)
            state[left[chosen]] = STATES.index(name)
            left = np.delete(left, chosen)
        state[left] = STATES.index("FAILED")
    return state


def draw_jobs(rows: int, seeds: Sequence[np.random.SeedSequence]) -> Jobs:
    """Draw all attributes; each from its own stream of random numbers."""
    streams = [np.random.default_rng(seed) for seed in seeds]
    kind, completed, duration = durations(rows, streams[0])
    return Jobs(
        kind=kind,
        state=states(kind, completed, duration, streams[1]),
        duration=duration,
        queue=queues(kind, streams[2]),
        gpu_num=gpu_counts(kind, completed, duration, streams[3]),
    )
