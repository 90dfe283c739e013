"""How unevenly jobs and GPU time divide over users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from aidc.evidence import Carrier, Layer, step
from aidc.observed.funnel import JobPool
from aidc.observed.intervals import Floats
from aidc.observed.stats import gpu_seconds

TOP = (1, 5, 10, 20)


@dataclass(frozen=True, kw_only=True)
class Concentration(Carrier):
    """Division of the pool over its users.

    Attributes
    ----------
    lorenz : DataFrame
        ``users_share`` (of users, least first), ``jobs_share``, ``gpu_time_share``: what that
        share of users holds; each measure orders the users for itself.
    top : DataFrame
        ``users`` (the first k), ``jobs_share``, ``gpu_time_share`` that they hold.
    users : int
        Users with at least one job in the pool.
    gini_jobs, gini_gpu_time : float
        0 if all hold the same, (n - 1) / n if one of n holds all; NaN for one user or none.
    without_user : int
        Jobs that name no user and are left out.
    evaluable : bool
        Whether the data names users.
    """

    lorenz: pd.DataFrame
    top: pd.DataFrame
    users: int
    gini_jobs: float
    gini_gpu_time: float
    without_user: int
    evaluable: bool


@step(Layer.OBSERVED)
def user_concentration(pool: JobPool, top: tuple[int, ...] = TOP) -> Concentration:
    """Return Lorenz points, Gini coefficients and the shares of the first users."""
    codes = np.full(len(pool.jobs), -1, dtype=np.int64)
    if "user" in pool.jobs:
        codes = pd.factorize(pool.jobs["user"])[0]
    named = codes >= 0
    by_jobs: Floats = np.sort(np.bincount(codes[named]).astype(np.float64))
    seconds = np.bincount(codes[named], weights=gpu_seconds(pool.jobs)[named])
    by_gpu_time: Floats = np.sort(seconds).astype(np.float64)
    held = {"jobs_share": _held(by_jobs), "gpu_time_share": _held(by_gpu_time)}
    users = by_jobs.size
    firsts = np.array([k for k in top if k <= users], dtype=np.int64)
    held_by_firsts = {name: 1 - share[users - firsts] for name, share in held.items()}
    return Concentration(
        lorenz=pd.DataFrame({"users_share": np.arange(users + 1) / max(users, 1), **held}),
        top=pd.DataFrame({"users": firsts, **held_by_firsts}),
        users=users,
        gini_jobs=gini(by_jobs),
        gini_gpu_time=gini(by_gpu_time),
        without_user=int(np.count_nonzero(~named)),
        evaluable=users > 0,
    )


def _held(ordered: Floats) -> Floats:
    """Return the running share of ascending amounts, from 0; NaN if there is nothing."""
    total = ordered.sum()
    running = np.concatenate([[0.0], np.cumsum(ordered)])
    return running / total if total > 0 else np.full(running.size, np.nan)


def gini(ordered: Floats) -> float:
    """Return the Gini coefficient of ascending amounts of at least 0.

    Examples
    --------
    >>> gini(np.array([1.0, 1.0, 1.0]))
    0.0
    >>> gini(np.array([0.0, 0.0, 0.0, 8.0]))
    0.75
    """
    n = ordered.size
    total = ordered.sum()
    if n < 2 or total <= 0:
        return float("nan")
    rank = np.arange(1, n + 1)
    return float(((2 * rank - n - 1) * ordered).sum() / (n * total))
