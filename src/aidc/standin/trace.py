"""A synthetic Seren trace: the real file's header and dialect, no real row.

The published aggregates hold by construction (see ``aidc.standin.fit``); everything
else is a free choice and carries no information about the cluster.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta, timezone
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from filelock import FileLock
from numpy.typing import NDArray

from aidc import paths
from aidc.evidence import InputError
from aidc.standin import targets
from aidc.standin.draw import STATES, Jobs, draw_jobs
from aidc.standin.hours import HOUR, draw_seconds, window
from aidc.standin.placement import Cluster, place
from aidc.standin.targets import FOUR_TYPES, GPU_TYPES, KEY, TYPES, target

Ints = NDArray[np.int64]

FULL_ROWS: Final = int(target("rows.total"))
SMALLEST: Final = 100
COLUMNS: Final = (
    "job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time",
    "start_time", "end_time", "duration", "queue", "gpu_time",
)  # fmt: skip
CODE: Final = ("draw", "hours", "placement", "targets", "trace")
UTC_OFFSET: Final = timezone(timedelta(hours=8))
GPUS_PER_NODE: Final = 8
CPUS_PER_GPU: Final = (2, 10, 16)
CPUS_ALONE: Final = (2, 4, 8, 16, 32, 64, 128)
QUIET_HOURS: Final = 12  # without any pool arrival around it, an hour belongs to an outage


@dataclass(frozen=True, kw_only=True)
class TraceParameters:
    """Everything that a synthetic trace depends on, beside the calibration tables.

    Attributes
    ----------
    rows : int
        Jobs to draw. Exact targets hold at the published number only; fewer rows keep
        the joint structure in proportion.
    seed : int
        Seed of all random numbers: same seed, same bytes.
    others_follow : float
        How strongly the arrivals outside the pool follow those of the pool (exponent
        of the hourly counts; 0 is uniform outside outages).
    users : int
        Synthetic users.
    user_power : float
        Exponent of the power law that gives users their weight.
    user_stay : float
        Mean number of consecutive jobs of one type that one user submits.
    first_job_id, job_id_step : int
        First job number, and the largest gap to the next.
    """

    rows: int = FULL_ROWS
    seed: int = 20240416
    others_follow: float = 0.6
    users: int = 240
    user_power: float = 1.2
    user_stay: float = 25.0
    first_job_id: int = 90_000_001
    job_id_step: int = 5

    def __post_init__(self) -> None:
        if not SMALLEST <= self.rows <= FULL_ROWS:
            raise InputError(
                f"synthetic Seren trace: found rows={self.rows}, expected {SMALLEST} to "
                f"{FULL_ROWS}; choose a number in this range"
            )
        if self.seed < 0:
            raise InputError(
                f"synthetic Seren trace: found seed={self.seed}, expected 0 or more; "
                "choose a number in this range"
            )


def _scaled(counts: Ints, total: int, rng: np.random.Generator) -> Ints:
    """Return hourly counts that sum to ``total``: as they are, or drawn in proportion."""
    return counts if counts.sum() == total else rng.multinomial(total, counts / counts.sum())


def _slots(group: Ints, parameters: TraceParameters, rng: np.random.Generator) -> list[Ints]:
    """Draw the times of submission of each class of jobs, in s since the first midnight.

    Classes: the pool's four types, the pool's other types, GPU jobs outside the pool,
    CPU jobs.
    """
    table = pd.read_csv(targets.HOURS)
    jobs = np.bincount(group, minlength=4)
    four = _scaled(table["four_types"].to_numpy(), int(jobs[0]), rng)
    others = _scaled(table["other_types"].to_numpy(), int(jobs[1]), rng)
    seconds = draw_seconds(four + others, target("pool.same_second_share"), rng)
    # Within an hour, which of the pool's times belong to the four types is a free choice.
    label = np.repeat(np.tile([0, 1], len(four)), np.stack([four, others], axis=1).ravel())
    order = np.lexsort((rng.random(len(label)), seconds // HOUR))
    of_four = label[order] == 0
    pool = (table["four_types"] + table["other_types"]).to_numpy()
    # An hour in which the pool is empty by chance still sees others; an outage does not.
    busy = np.convolve(pool, np.ones(QUIET_HOURS), mode="same") > 0
    intensity = np.where(busy, (pool + 1.0) ** parameters.others_follow, 0.0)
    _, _, first, last = window()
    outside: list[Ints] = []
    for number in jobs[2:]:
        hour = np.repeat(np.arange(len(pool)), rng.multinomial(number, intensity / intensity.sum()))
        outside.append(np.clip(hour * HOUR + rng.integers(0, HOUR, number), first, last))
    # The window's first and last submit are published: jobs outside the pool take them.
    outside[0][[0, -1]] = first, last
    return [seconds[of_four], seconds[~of_four], *outside]


def _users(kind: Ints, parameters: TraceParameters, rng: np.random.Generator) -> Ints:
    """Draw users of jobs in order of submission: few submit most, in long runs."""
    user = np.empty(len(kind), dtype=np.int64)
    weights = 1.0 / np.arange(1, parameters.users + 1) ** parameters.user_power
    for index in range(len(TYPES)):
        members = np.flatnonzero(kind == index)
        runs = np.cumsum(rng.random(len(members)) < 1 / parameters.user_stay)
        rank = rng.permutation(parameters.users)
        people = rng.choice(parameters.users, int(runs[-1]) + 1 if len(runs) else 0,
                            p=weights / weights.sum())  # fmt: skip
        user[members] = rank[people[runs]]
    return user


def _cpus(jobs: Jobs, rng: np.random.Generator) -> Ints:
    """Draw CPU cores: a few for each GPU, or a small power of two for a CPU job."""
    per_gpu = rng.choice(CPUS_PER_GPU, len(jobs.kind))
    alone = rng.choice(CPUS_ALONE, len(jobs.kind))
    return np.where(jobs.gpu_num > 0, jobs.gpu_num * per_gpu, alone)


def _group(jobs: Jobs) -> Ints:
    """Return the class of each job for its time of submission (see ``_slots``)."""
    in_pool = (jobs.state == 0) & (jobs.duration > 0)
    return np.select(
        [jobs.kind >= len(GPU_TYPES), ~in_pool, jobs.kind < len(FOUR_TYPES)], [3, 2, 0], default=1
    ).astype(np.int64)


def _category(codes: Ints, names: Sequence[str]) -> pd.Categorical[str]:
    return pd.Categorical.from_codes(codes, pd.Index(names))


def _clock(seconds: Ints) -> pd.DatetimeIndex:
    midnight, *_ = window()
    local = pd.DatetimeIndex(midnight + seconds.astype("timedelta64[s]"))
    return local.tz_localize(UTC_OFFSET)


def _frame(
    jobs: Jobs, submit: Ints, parameters: TraceParameters, rng: np.random.Generator
) -> pd.DataFrame:
    """Build the columns of the file from jobs in order of submission."""
    start = submit + jobs.queue
    number = np.cumsum(rng.integers(1, parameters.job_id_step + 1, parameters.rows))
    users = [f"usyn{person:03d}" for person in range(parameters.users)]
    gpu_seconds = (jobs.gpu_num * jobs.duration).astype(np.float64)
    columns = (
        number + parameters.first_job_id - int(number[0]),
        _category(_users(jobs.kind, parameters, rng), users),
        np.maximum(1, -(-jobs.gpu_num // GPUS_PER_NODE)),
        jobs.gpu_num,
        _cpus(jobs, rng),
        _category(jobs.kind, TYPES),
        _category(jobs.state, STATES),
        _clock(submit),
        _clock(start),
        _clock(start + jobs.duration),
        jobs.duration,
        jobs.queue,
        np.where(jobs.gpu_num > 0, gpu_seconds, np.nan),
    )
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def draw_trace(parameters: TraceParameters) -> pd.DataFrame:
    """Draw a synthetic Seren trace.

    Returns
    -------
    pandas.DataFrame
        The columns of the real file in its order, ascending by ``submit_time``: counts as
        integers, ``duration`` and ``queue`` in s, ``gpu_time`` in GPU s (NaN for CPU jobs),
        times in local time (UTC+8), names as categories.
    """
    seeds = np.random.SeedSequence(parameters.seed).spawn(7)
    jobs = draw_jobs(parameters.rows, seeds[:4])
    slots_rng, place_rng, names_rng = (np.random.default_rng(seed) for seed in seeds[4:])
    group = _group(jobs)
    submit = place(
        _slots(group, parameters, slots_rng),
        group,
        jobs.duration,
        jobs.queue,
        jobs.gpu_num,
        Cluster(gpus=int(target("gpu.concurrent.max"))),
        place_rng,
    )
    order = np.argsort(submit, kind="stable")
    return _frame(jobs.taken(order), submit[order], parameters, names_rng)


def generate(rows: int = FULL_ROWS, seed: int = TraceParameters.seed) -> pd.DataFrame:
    """Draw a synthetic Seren trace of ``rows`` jobs (see ``draw_trace``)."""
    return draw_trace(TraceParameters(rows=rows, seed=seed))


def _time_text(times: pd.Series) -> pa.Array:
    """Format times as the real file does, by two small tables instead of one job at a time."""
    local = times.dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    days = local.astype("datetime64[D]")
    first = days.min()
    every_day = np.arange(first, days.max() + 1)
    clock = np.datetime_as_string(np.datetime64("1970-01-01", "s") + np.arange(86_400))
    day_text = pa.array(np.datetime_as_string(every_day)).take(
        pa.array((days - first).astype(np.int64))
    )
    seconds = (local - days.astype("datetime64[s]")).astype(np.int64)
    clock_text = pa.array([f" {text[11:]}+08:00" for text in clock]).take(pa.array(seconds))
    return pc.binary_join_element_wise(day_text, clock_text, "")


def _text_table(jobs: pd.DataFrame) -> pa.Table:
    columns = {}
    for name in COLUMNS:
        values = jobs[name]
        if name in ("submit_time", "start_time", "end_time"):
            columns[name] = _time_text(values)
        elif name == "gpu_time":
            whole = pa.array(values, from_pandas=True).cast(pa.int64()).cast(pa.string())
            columns[name] = pc.binary_join_element_wise(whole, ".0", "")
        else:
            columns[name] = pa.array(values)
    return pa.table(columns)


def write(jobs: pd.DataFrame, path: Path) -> None:
    """Write a drawn trace as the real file is written; the file appears complete or not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write((",".join(COLUMNS) + "\n").encode())
            pa.csv.write_csv(
                _text_table(jobs),
                file,
                pa.csv.WriteOptions(include_header=False, quoting_style="none"),
            )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_trace(path: Path, rows: int = FULL_ROWS, seed: int = TraceParameters.seed) -> None:
    """Draw a synthetic Seren trace and write it to ``path``."""
    write(generate(rows, seed), path)


def _fingerprint(parameters: TraceParameters) -> str:
    """Hash what the bytes of a trace depend on: parameters, tables and the code."""
    digest = hashlib.sha256(repr(sorted(asdict(parameters).items())).encode())
    tables = [targets.CUMULATIVE, targets.TARGETS, targets.CELLS, targets.HOURS]
    code = [Path(__file__).with_name(f"{name}.py") for name in CODE]
    for path in [*tables, *code]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cached(rows: int = FULL_ROWS, seed: int = TraceParameters.seed) -> Path:
    """Return the file of a synthetic trace, drawing it if it is not in the cache.

    Two processes that ask at once draw it once.
    """
    parameters = TraceParameters(rows=rows, seed=seed)
    path = paths.CACHE / f"{KEY}-{_fingerprint(parameters)}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            write(draw_trace(parameters), path)
    return path
