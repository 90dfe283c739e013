"""Give the jobs their times of submission so that the cluster can hold them.

Placed at random, the large jobs of the trace would need several times the GPUs of the
cluster at once. Jobs that matter are therefore placed first, largest first, where they
fit; the many small ones fill the remaining times. Crowded hours take small jobs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

HOUR: Final = 3600
BIN: Final = 300  # s; resolution at which large jobs are placed
CANDIDATES: Final = 24  # times tried for a large job before the best one is taken


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What the placement has to respect.

    Attributes
    ----------
    gpus : int
        GPUs that may be in use at once.
    reserve : int
        GPUs kept free for small jobs while large ones are placed.
    crowded : int
        GPU submissions in an hour above which all of them are small jobs.
    large_gpu_hours : float
        GPU-hours above which a job is placed deliberately.
    large_gpus : int
        GPUs from which a job is placed deliberately, however short.
    """

    gpus: int
    reserve: int = 60
    crowded: int = 400
    large_gpu_hours: float = 0.25
    large_gpus: int = 8


def _place_large(
    large: Ints, slots: list[Ints], group: Ints, duration: Ints, queue: Ints,
    gpu_num: Ints, usage: Ints, cap: int, rng: np.random.Generator,
) -> tuple[Ints, list[int]]:  # fmt: skip
    """Place large jobs one by one; the slots taken move to the front of their class.

    ``usage`` holds the GPUs in use in each bin and is updated.
    """
    free_from = [0] * len(slots)
    submit = np.empty(len(large), dtype=np.int64)
    draws = rng.random((len(large), CANDIDATES))
    for place, job in enumerate(large):
        own, first = slots[group[job]], free_from[group[job]]
        best, best_peak = first, np.iinfo(np.int64).max
        need, wait, run = int(gpu_num[job]), int(queue[job]), int(duration[job])
        for position in (first + draws[place] * (len(own) - first)).astype(np.int64):
            start = int(own[position]) + wait
            bins = slice(start // BIN, (start + run) // BIN + 1)
            peak = int(usage[bins].max()) + need
            if peak < best_peak:
                best, best_peak, chosen = int(position), peak, bins
            if peak <= cap:
                break
        usage[chosen] += need
        submit[place] = own[best]
        own[best], own[first] = own[first], own[best]
        free_from[group[job]] += 1
    return submit, free_from


def _bin_usage(start: Ints, duration: Ints, gpu_num: Ints, last: int) -> Ints:
    """Return an upper bound of the GPUs in use in each bin up to second ``last``."""
    change = np.zeros(last // BIN + 3, dtype=np.int64)
    np.add.at(change, start // BIN, gpu_num)
    np.add.at(change, (start + duration) // BIN + 1, -gpu_num)
    return np.cumsum(change)


def _fill_crowded(
    slots: list[Ints], group: Ints, duration: Ints, gpu_num: Ints, cluster: Cluster,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Give the times of crowded hours to the smaller half of the jobs.

    Returns
    -------
    jobs, submit : numpy.ndarray
        The jobs placed and their times; these are removed from ``slots``.
    """
    on_gpus = [name for name in range(len(slots)) if np.any(gpu_num[group == name] > 0)]
    arrivals = np.bincount(np.concatenate([slots[name] for name in on_gpus]) // HOUR)
    placed: list[Ints] = []
    times: list[Ints] = []
    for name in on_gpus:
        crowded = arrivals[slots[name] // HOUR] > cluster.crowded
        members = np.flatnonzero(group == name)
        number = int(crowded.sum())
        weight = gpu_num[members] * (duration[members] + BIN)
        smaller = members[np.argsort(weight, kind="stable")]
        smaller = smaller[: max(number, len(members) // 2)]
        placed.append(rng.choice(smaller, number, replace=False))
        times.append(slots[name][crowded])
        slots[name] = slots[name][~crowded]
    return np.concatenate(placed), np.concatenate(times)


def place(
    slots: list[Ints], group: Ints, duration: Ints, queue: Ints, gpu_num: Ints,
    cluster: Cluster, rng: np.random.Generator,
) -> Ints:  # fmt: skip
    """Return the time of submission of every job.

    Parameters
    ----------
    slots : list of numpy.ndarray
        Times of submission of each class, as many as it has jobs, in s.
    group : numpy.ndarray
        Class of each job: index into ``slots``.
    duration, queue, gpu_num : numpy.ndarray
        Run time in s, waiting time in s and GPUs of each job.
    cluster : Cluster
        GPUs available, and which jobs count as large.
    rng : numpy.random.Generator
        Source of randomness.
    """
    slots = [times.copy() for times in slots]
    seconds = gpu_num * duration
    submit = np.full(len(group), -1, dtype=np.int64)
    crowd, times = _fill_crowded(slots, group, duration, gpu_num, cluster, rng)
    submit[crowd] = times
    is_large = (seconds > cluster.large_gpu_hours * HOUR) | (gpu_num >= cluster.large_gpus)
    large = np.flatnonzero(is_large & (submit < 0))
    # Wide jobs go early even when short: late ones would find no room.
    urgency = gpu_num[large] * (duration[large] + HOUR)
    large = large[np.argsort(-urgency, kind="stable")]
    latest = max(int(each.max()) for each in (times, *slots) if len(each))
    last = latest + int((queue + duration).max())
    usage = _bin_usage(times + queue[crowd], duration[crowd], gpu_num[crowd], last)
    cap = cluster.gpus - cluster.reserve
    submit[large], taken = _place_large(
        large, slots, group, duration, queue, gpu_num, usage, cap, rng
    )
    for name, left in enumerate(slots):
        small = np.flatnonzero((submit < 0) & (group == name))
        submit[small] = rng.permutation(left[taken[name] :])
    return submit
