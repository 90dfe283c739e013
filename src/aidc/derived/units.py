"""The decisions of jobs as columns: class shares, start slots, running slots.

Delays are whole slots from a job's own release: a job that starts k slots late has its
own slot averages, k slots later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from aidc.constructed.overlap import Floats
from aidc.derived.case import StorageCase
from aidc.derived.plan import job_kwh
from aidc.evidence import InputError

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Sparse: TypeAlias = "sp.csc_array[np.float64]"

# Beyond this a model would take hours; measured at about a million columns a minute.
MOST_COLUMNS = 3_000_000


@dataclass(frozen=True)
class Units:
    """Columns that make up a schedule.

    Attributes
    ----------
    power : sparse array, shape (slots, n)
        Power that a column at 1 adds to each slot, kW.
    groups : sparse array, shape (m, n)
        Rows over columns, e.g. one a job: it starts once.
    low, high : array, shape (m,)
        Limits of the rows.
    upper : array, shape (n,)
        Most of each column; the least is 0.
    cost : array, shape (n,)
        Unserved work of a column at 1, kWh: of giving up a job or a part of one.
    job : array of int, shape (n,)
        Job (or class) of each column.
    end : array, shape (n,)
        When what a column stands for ends, in slots after release; infinite for giving
        a job up, 0 for a class.
    least_kw, least_kwh : float
        Shortfall in power and energy that one job causes alone, wherever it runs.
    """

    power: Sparse
    groups: Sparse
    low: Floats
    high: Floats
    upper: Floats
    cost: Floats
    job: Ints
    end: Floats
    least_kw: float = 0.0
    least_kwh: float = 0.0


@dataclass(frozen=True)
class _Parts:
    """Slots of all jobs when each starts at release: pairs of job and slot."""

    job: Ints
    slot: Ints
    share: Floats

    @classmethod
    def of(cls, begin: Floats, end: Floats) -> _Parts:
        """Split intervals, in slots, into their slots."""
        first = np.floor(begin).astype(np.int64)
        count = np.maximum(np.ceil(end - 1e-9).astype(np.int64) - first, 1)
        job = np.repeat(np.arange(begin.size), count)
        slot = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[job]
        share = np.minimum(end[job], slot + 1) - np.maximum(begin[job], slot)
        return cls(job, slot, np.maximum(share, 0.0))


def job_columns(case: StorageCase) -> int:
    """Return how many columns `classes` has when every job is a class of its own."""
    step_s = case.require_jobs().window.step_s
    release, processing, _, _ = _jobs(case)
    spans = np.ceil(release + processing + case.slack_s / step_s) - np.floor(release)
    return int(spans.sum())


def _jobs(case: StorageCase) -> tuple[Floats, Floats, Floats, int]:
    """Return release and processing in slots, power in kW, and the slack in whole slots."""
    load = case.require_jobs()
    step_s = load.window.step_s
    whole = int(np.floor(case.slack_s / step_s + 1e-9))
    jobs = load.jobs
    return (
        jobs.release_s / step_s,
        jobs.processing_s / step_s,
        jobs.blocks * load.kw_per_block,
        whole,
    )


def _require_columns(count: int) -> None:
    if count > MOST_COLUMNS:
        raise InputError(
            f"flexibility: the model would have {count:,} columns, expected at most "
            f"{MOST_COLUMNS:,}; choose fewer days, a longer step_min or less slack_min"
        )


def _sparse(values: Floats, row: Ints, column: Ints, shape: tuple[int, int]) -> Sparse:
    return sp.csc_array(sp.coo_array((values, (row, column)), shape=shape))


def starts(case: StorageCase, *, skippable: bool = False) -> Units:
    """Return the start slots of rigid jobs: each runs once, uninterrupted.

    Parameters
    ----------
    skippable : bool
        Whether a job may be given up, at the cost of all its work: what is cut off
        before its end is lost.
    """
    release, processing, kw, whole = _jobs(case)
    choices = whole + 1
    parts = _Parts.of(release, release + processing)
    _require_columns(release.size * choices)
    late = np.arange(choices)
    slots, jobs, columns = case.horizon.active, release.size, release.size * choices
    power = _sparse(
        np.repeat(parts.share * kw[parts.job], choices),
        (parts.slot[:, None] + late).ravel(),
        (parts.job[:, None] * choices + late).ravel(),
        (slots, columns),
    )
    job = np.repeat(np.arange(jobs), choices)
    groups = _sparse(np.ones(columns), job, np.arange(columns), (jobs, columns))
    surplus = np.maximum(parts.share * kw[parts.job] - _margin_kw(case), 0.0)
    by_job = _totals(parts.job, surplus, jobs) * case.horizon.step_h
    units = Units(
        power=power,
        groups=groups,
        low=np.ones(jobs),
        high=np.ones(jobs),
        upper=np.ones(columns),
        cost=np.zeros(columns),
        job=job,
        end=np.tile(late, jobs) + processing[job],
        least_kw=float(surplus.max(initial=0.0)),
        least_kwh=float(by_job.max(initial=0.0)),
    )
    return _skippable(units, np.arange(jobs), np.ones(jobs), job_kwh(case)) if skippable else units


def running_slots(case: StorageCase, *, skippable: bool = False) -> Units:
    """Return the running slots of on/off jobs: full rate or nothing, interruptions allowed.

    A job's time is cut into whole slots from its release on and one shorter part. The
    whole ones and the part may run in any of its own slots, one at a time.

    Parameters
    ----------
    skippable : bool
        Whether parts of a job may be given up, at the cost of their work.
    """
    release, processing, kw, whole = _jobs(case)
    full = np.floor(processing + 1e-9).astype(np.int64)
    rest = np.maximum(processing - full, 0.0)
    rest[rest < 1e-9] = 0.0
    last = np.where(rest > 0, full + whole + 1, full + whole)
    # A whole slot may not end after the deadline.
    slack = case.slack_s / case.require_jobs().window.step_s
    ends = np.floor(processing + slack + 1e-9).astype(np.int64)
    long = _choices(np.where(full > 0, np.minimum(ends, last), 0))
    short = _choices(np.where(rest > 0, last, 0))
    _require_columns(long[0].size + short[0].size)
    job, delay = (np.concatenate(pair) for pair in zip(long, short, strict=True))
    length = np.concatenate([np.ones(long[0].size), rest[short[0]]])
    begin = release[job] + delay
    parts = _Parts.of(begin, begin + length)
    columns, jobs = job.size, release.size
    inside = parts.slot < case.horizon.active
    power = _sparse(
        (parts.share * kw[job[parts.job]])[inside],
        parts.slot[inside],
        parts.job[inside],
        (case.horizon.active, columns),
    )
    is_short = np.arange(columns) >= long[0].size
    row = np.where(is_short, jobs + job, job)
    amount: Floats = np.concatenate([full, rest > 0], dtype=np.float64)
    once, together = _one_at_a_time(job, delay)
    groups = sp.csc_array(
        sp.vstack([_sparse(np.ones(columns), row, np.arange(columns), (2 * jobs, columns)), once])
    )
    surplus = np.maximum(parts.share * kw[job[parts.job]] - _margin_kw(case), 0.0)
    by_column = _totals(parts.job, surplus, columns)
    units = Units(
        power=power,
        groups=groups,
        low=np.concatenate([amount, np.zeros(together)]),
        high=np.concatenate([amount, np.ones(together)]),
        upper=np.ones(columns),
        cost=np.zeros(columns),
        job=job,
        end=delay + length,
        least_kw=float(surplus.max(initial=0.0)),
        least_kwh=float(by_column.max(initial=0.0)) * case.horizon.step_h,
    )
    if not skippable:
        return units
    lost = np.concatenate([kw, kw * rest]) * case.horizon.step_h
    return _skippable(units, np.tile(np.arange(jobs), 2), amount, lost)


def classes(case: StorageCase, *, single: bool = False, skippable: bool = False) -> Units:
    """Return the power of job classes: malleable jobs with the same first and last slot.

    Tighter than the envelope, which adds all jobs; a class adds only jobs that may run
    in the same slots.

    Parameters
    ----------
    single : bool
        Whether every job is a class of its own: then nothing is relaxed.
    skippable : bool
        Whether work may be given up, kWh by kWh.
    """
    load = case.require_jobs()
    release, processing, kw, _ = _jobs(case)
    deadline = release + processing + case.slack_s / load.window.step_s
    parts = _Parts.of(release, deadline)
    count = np.bincount(parts.job, minlength=release.size)
    first = np.floor(release).astype(np.int64)
    key = np.arange(first.size) if single else first * (count.max() + 1) + count
    keys, of_job = np.unique(key, return_inverse=True)
    spans = np.zeros(keys.size, np.int64)
    begins = np.zeros(keys.size, np.int64)
    spans[of_job], begins[of_job] = count, first
    offsets = np.cumsum(spans) - spans
    position = (offsets[of_job] - first)[parts.job] + parts.slot
    columns = int(spans.sum())
    _require_columns(columns)
    of_class = np.repeat(np.arange(keys.size), spans)
    slot = np.arange(columns) - offsets[of_class] + begins[of_class]
    inside = slot < case.horizon.active
    work = _totals(of_job, job_kwh(case), keys.size)
    steps = np.full(columns, case.horizon.step_h)
    units = Units(
        power=_sparse(
            np.ones(columns)[inside],
            slot[inside],
            np.arange(columns)[inside],
            (case.horizon.active, columns),
        ),
        groups=_sparse(steps, of_class, np.arange(columns), (keys.size, columns)),
        low=work,
        high=work,
        upper=np.where(inside, _totals(position, parts.share * kw[parts.job], columns), 0.0),
        cost=np.zeros(columns),
        job=of_class,
        end=np.zeros(columns),
    )
    if not skippable:
        return units
    return _skippable(units, np.arange(work.size), work, np.ones(work.size))


def _skippable(units: Units, row_job: Ints, most: Floats, cost: Floats) -> Units:
    """Add a column to each of the first rows: how much of it is given up, at what cost."""
    count = row_job.size
    none = sp.csc_array((units.power.shape[0], count))
    freed = sp.csc_array(sp.eye_array(units.groups.shape[0], count))
    return replace(
        units,
        power=sp.csc_array(sp.hstack([units.power, none])),
        groups=sp.csc_array(sp.hstack([units.groups, freed])),
        upper=np.concatenate([units.upper, most]),
        cost=np.concatenate([units.cost, cost]),
        job=np.concatenate([units.job, row_job]),
        end=np.concatenate([units.end, np.full(count, np.inf)]),
        least_kw=0.0,
        least_kwh=0.0,
    )


def _totals(group: Ints, values: Floats, groups: int) -> Floats:
    """Return the sum of the values of each group, shape (groups,)."""
    return np.bincount(group, values, groups).astype(np.float64)


def _margin_kw(case: StorageCase) -> float:
    """Return the power that the cap leaves to jobs in its most generous slot."""
    return float(case.cap_kw[: case.horizon.active].max()) - case.horizon.idle_kw


def _choices(count: Ints) -> tuple[Ints, Ints]:
    """Return job and running number of ``count[j]`` columns for each job j."""
    job = np.repeat(np.arange(count.size), count)
    return job, np.arange(job.size) - np.repeat(np.cumsum(count) - count, count)


def _one_at_a_time(job: Ints, delay: Ints) -> tuple[Sparse, int]:
    """Return rows over the columns of one job in one of its slots, where there are two."""
    slot = job * (int(delay.max(initial=0)) + 1) + delay
    _, row, count = np.unique(slot, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(count[row] > 1)
    _, renumbered = np.unique(row[shared], return_inverse=True)
    rows = int(renumbered.max(initial=-1)) + 1
    return _sparse(np.ones(shared.size), renumbered, shared, (rows, job.size)), rows
