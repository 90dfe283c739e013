"""The rules that a job trace is audited by, beyond reading (see `aidc.observed.reading`).

None knows a dialect by name: what differs between traces is an attribute of the dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from aidc.observed.columns import Mask
from aidc.observed.identities import IDENTITIES, holds
from aidc.observed.rules import Rows, Rule

# Words that mean a job had not ended when the trace was taken.
UNFINISHED = ("RUNNING", "PENDING", "WAITING", "READY")
CPU_TYPE = "CPU"


def _documented(field: str) -> tuple[Callable[[Rows], Mask], Callable[[Rows], Mask | None]]:
    def listed(rows: Rows) -> tuple[str, ...]:
        return rows.dialect.states if field == "state" else rows.dialect.types

    def known(rows: Rows) -> Mask:
        return rows.is_word(field, lambda word: word in listed(rows))

    def applies(rows: Rows) -> Mask | None:
        return np.ones(len(rows), np.bool_) if listed(rows) else None

    return known, applies


def first_of_its_id(rows: Rows) -> Mask:
    """Return the rows whose id no row above has."""
    ids = rows.column("job_id")
    try:
        # Numbers in ascending order cannot repeat: that settles most files at once.
        values = pc.cast(pa.array(ids, pa.string()), pa.int64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        values = np.empty(0, np.int64)
    if len(values) and np.all(values[1:] > values[:-1]):
        return np.ones(len(rows), np.bool_)
    return np.asarray(~ids.duplicated())


def _in_window(rows: Rows) -> Mask:
    first, last = rows.dialect.window or ("", "")
    local = rows.local_times("submit_time")
    after = (pd.Period(last, freq="M") + 1).start_time
    return np.asarray((local >= pd.Timestamp(first)) & (local < after))


def _has_window(rows: Rows) -> Mask | None:
    if rows.dialect.window is None or rows.trace.clock != "calendar":
        return None
    return np.ones(len(rows), np.bool_)


def _same_offset(rows: Rows) -> Mask:
    """Return the rows whose every time has the offset that most times of the file have."""
    passes = np.ones(len(rows), np.bool_)
    if rows.trace.offsets is not None:
        usual = next(iter(rows.offset_counts()))
        for _, offsets in rows.trace.offsets.items():
            passes &= ((offsets == usual) | offsets.isna()).to_numpy()
    return passes


def _has_offset(rows: Rows) -> Mask | None:
    return np.ones(len(rows), np.bool_) if rows.trace.utc_offset != "none" else None


def _not_before_the_row_above(rows: Rows) -> Mask:
    submit = rows.seconds("submit_time")
    return np.concatenate(([True], submit[1:] >= submit[:-1]))


def _but_the_first(rows: Rows) -> Mask:
    return np.arange(len(rows)) > 0


def _unfinished(rows: Rows) -> Mask:
    return rows.is_word("state", lambda word: word.upper() in UNFINISHED)


def _in_cpu_type(rows: Rows) -> Mask:
    return rows.is_word("type", lambda word: word.upper() == CPU_TYPE)


def _has_cpu_type(rows: Rows) -> Mask | None:
    listed = any(word.upper() == CPU_TYPE for word in rows.dialect.types)
    return np.ones(len(rows), np.bool_) if listed else None


def _queued(rows: Rows) -> Mask:
    queue_s = rows.between("submit_time", "start_time")
    return np.asarray(queue_s >= rows.dialect.resolution_s)


def _no_gpu_time(rows: Rows) -> Mask:
    gpu_time = rows.numbers("gpu_time_s")
    return np.asarray(np.isnan(gpu_time) | (gpu_time == 0))


def _per_node(rows: Rows) -> Mask:
    limit = rows.dialect.gpus_per_node or 0
    return np.asarray(rows.numbers("gpu_num") <= limit * rows.numbers("node_num"))


def _has_node_size(rows: Rows) -> Mask | None:
    return None if rows.dialect.gpus_per_node is None else np.ones(len(rows), np.bool_)


def _uses_gpus(rows: Rows) -> Mask:
    return np.asarray(rows.numbers("gpu_num") > 0)


def _uses_whole_gpus(rows: Rows) -> Mask | None:
    return _uses_gpus(rows) if rows.dialect.gpu_unit == "GPU" else None


_STATES, _STATES_LISTED = _documented("state")
_TYPES, _TYPES_LISTED = _documented("type")

RULES: tuple[Rule, ...] = (
    Rule("unique.job_id", "job_id", "no row above has the same id", ("job_id",), first_of_its_id),
    Rule("vocabulary.state", "state", "a documented state", ("state",), _STATES, _STATES_LISTED),
    Rule("vocabulary.type", "type", "a documented type", ("type",), _TYPES, _TYPES_LISTED),
    Rule(
        "window.submit_time",
        "submit_time",
        "inside the documented months",
        ("submit_time",),
        _in_window,
        _has_window,
    ),
    Rule(
        "offset.times",
        "submit_time",
        "all times of the row at the file's usual UTC offset",
        ("submit_time",),
        _same_offset,
        _has_offset,
    ),
    Rule(
        "monotone.submit_time",
        "submit_time",
        "not before the row above",
        ("submit_time",),
        _not_before_the_row_above,
        _but_the_first,
    ),
    Rule(
        "order.submit_start",
        "start_time",
        "submit <= start",
        ("submit_time", "start_time"),
        lambda rows: rows.between("submit_time", "start_time") >= 0,
    ),
    Rule(
        "order.start_end",
        "end_time",
        "start <= end",
        ("start_time", "end_time"),
        lambda rows: rows.between("start_time", "end_time") >= 0,
    ),
    Rule(
        "end.finished_jobs",
        "end_time",
        "a job that ended has an end",
        ("state",),
        lambda rows: rows.present("end_time"),
        lambda rows: ~_unfinished(rows) if rows.has("end_time") else None,
        shows=("state", "end_time"),
    ),
    Rule(
        "end.running_jobs",
        "end_time",
        "a job that still runs has no end",
        ("state",),
        lambda rows: ~rows.present("end_time"),
        lambda rows: _unfinished(rows) if rows.has("end_time") else None,
        shows=("state", "end_time"),
    ),
    *(
        Rule(
            f"identity.{field.removesuffix('_s')}",
            field,
            f"{field.removesuffix('_s')} = {candidates[0].text}",
            (field, *candidates[0].needs),
            partial(holds, identity=candidates[0]),
        )
        for field, candidates in IDENTITIES.items()
    ),
    Rule(
        "identity.duration_without_queue",
        "duration_s",
        "shorter than end - submit where the job queued",
        ("duration_s", "submit_time", "start_time", "end_time"),
        lambda rows: ~holds(rows, IDENTITIES["duration_s"][1]),
        _queued,
    ),
    Rule(
        "zero.duration",
        "duration_s",
        "longer than zero",
        ("duration_s",),
        lambda rows: np.asarray(rows.numbers("duration_s") > 0),
    ),
    Rule(
        "cpu_jobs.gpu_time",
        "gpu_time_s",
        "none for a job without GPUs",
        ("gpu_num",),
        _no_gpu_time,
        lambda rows: ~_uses_gpus(rows) if rows.has("gpu_time_s") else None,
        shows=("gpu_num", "gpu_time_s"),
    ),
    Rule(
        "cpu_jobs.type",
        "type",
        "CPU exactly where the job has no GPUs",
        ("type", "gpu_num"),
        lambda rows: _in_cpu_type(rows) == ~_uses_gpus(rows),
        _has_cpu_type,
    ),
    Rule(
        "nodes.at_least_one",
        "node_num",
        "at least one node",
        ("node_num",),
        lambda rows: np.asarray(rows.numbers("node_num") >= 1),
    ),
    Rule(
        "nodes.no_more_than_gpus",
        "node_num",
        "no more nodes than GPUs, where the job has GPUs",
        ("node_num", "gpu_num"),
        lambda rows: np.asarray(rows.numbers("node_num") <= rows.numbers("gpu_num")),
        _uses_whole_gpus,
    ),
    Rule(
        "nodes.hold_the_gpus",
        "gpu_num",
        "no more GPUs than the nodes hold",
        ("gpu_num", "node_num"),
        _per_node,
        _has_node_size,
    ),
)
