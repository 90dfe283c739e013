"""Small traces in the canonical form, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aidc.evidence import Evidence, Layer, Provenance
from aidc.observed.trace import JobTrace

FROM_FILE = Evidence(Layer.OBSERVED, Provenance.UNVERIFIED, frozenset({"file:seren:000000000000"}))
MONDAY = "2023-03-06 00:00:00"
OFFSET = "+08:00"


def make_trace(jobs: pd.DataFrame, clock: str = "calendar") -> JobTrace:
    """Return a trace of the given canonical columns; a line number is added."""
    frame = jobs.reset_index(drop=True)
    frame["line"] = np.arange(2, len(frame) + 2, dtype=np.int32)
    return JobTrace(
        jobs=frame,
        extras=pd.DataFrame(index=frame.index),
        set_aside=pd.DataFrame(columns=["line", "reason", "text"]),
        dialect=None,  # type: ignore[arg-type]  # nothing computed from a trace reads it
        path=Path("jobs.csv"),
        rows=len(frame),
        clock=clock,
        utc_offset=OFFSET if clock == "calendar" else "none",
        evidence=FROM_FILE,
    )


def seren_jobs(
    duration_s: Sequence[float] | np.ndarray[Any, Any],
    *,
    submit_s: Sequence[float] | np.ndarray[Any, Any] | None = None,
    gpu_num: int | Sequence[int] | np.ndarray[Any, Any] = 1,
    state: str | Sequence[str | None] = "COMPLETED",
    kind: str | Sequence[str | None] = "Eval",
    user: str | Sequence[str | None] = "u1",
    queue_s: int | Sequence[int] | np.ndarray[Any, Any] = 0,
) -> pd.DataFrame:
    """Return jobs that submit ``submit_s`` after a Monday midnight (default: one a minute)."""
    n = len(duration_s)
    after = np.arange(n) * 60 if submit_s is None else np.asarray(submit_s)
    submit = pd.Timestamp(MONDAY + OFFSET) + pd.Series(pd.to_timedelta(after, unit="s"))
    queue = pd.Series(np.broadcast_to(queue_s, n))
    duration = pd.Series(np.asarray(duration_s, dtype=float))
    start = submit + pd.to_timedelta(queue, unit="s")
    return pd.DataFrame(
        {
            "job_id": [str(i) for i in range(n)],
            "user": pd.Categorical(np.broadcast_to(np.asarray(user, dtype=object), n)),
            "node_num": np.ones(n, dtype=np.int32),
            "gpu_num": np.broadcast_to(np.asarray(gpu_num, dtype=np.int32), n),
            "cpu_num": np.ones(n, dtype=np.int32),
            "type": pd.Categorical(np.broadcast_to(np.asarray(kind, dtype=object), n)),
            "state": pd.Categorical(np.broadcast_to(np.asarray(state, dtype=object), n)),
            "submit_time": submit,
            "start_time": start,
            "end_time": start + pd.to_timedelta(duration, unit="s"),
            "duration_s": duration,
            "queue_s": queue,
        }
    )


def elapsed_jobs(
    duration_s: Sequence[float] | np.ndarray[Any, Any],
    submit_s: Sequence[float] | np.ndarray[Any, Any],
) -> pd.DataFrame:
    """Return jobs in the form of a trace without a calendar, states or queue."""
    n = len(duration_s)
    return pd.DataFrame(
        {
            "job_id": [str(i) for i in range(n)],
            "gpu_num": np.ones(n, dtype=np.int32),
            "submit_time": pd.to_datetime(pd.Series(submit_s), unit="s", utc=True),
            "duration_s": np.asarray(duration_s, dtype=float),
        }
    )
