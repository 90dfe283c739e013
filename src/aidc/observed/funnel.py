"""The paper's selection of the task pool (section 2.2), one step after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc import paths
from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.trace import JobTrace
from aidc.observed.window import Window

Mask = npt.NDArray[np.bool_]

ROWS, STATE, GPU_NUM, DURATION, TIMES = "rows", "state", "gpu_num", "duration", "times"
STEPS = (ROWS, STATE, GPU_NUM, DURATION, TIMES)
TIME_COLUMNS = ("submit_time", "start_time", "end_time")


@dataclass(frozen=True, kw_only=True)
class PoolRules:
    """Which jobs enter the pool; the defaults are the paper's four rules.

    Attributes
    ----------
    states : tuple of str
        Final states that are kept.
    min_gpu_num : int
        Least number of GPUs, at least 1; 1 admits every job that asks for any, be it for
        a share of one.
    min_duration_s : float
        Least duration in seconds. A duration of zero is left out whatever this is.
    """

    states: tuple[str, ...] = ("COMPLETED",)
    min_gpu_num: int = 1
    min_duration_s: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.states, str) or not self.states:
            raise InputError(
                f"states: found {self.states!r}, expected a list of at least one state; "
                'give e.g. ["COMPLETED"]'
            )
        if self.min_gpu_num < 1:
            raise InputError(
                f"min_gpu_num: found {self.min_gpu_num}, expected a whole number of at least 1; "
                "the pool holds GPU jobs only"
            )
        if not (math.isfinite(self.min_duration_s) and self.min_duration_s >= 0):
            raise InputError(
                f"min_duration_s: found {self.min_duration_s}, expected seconds of at least 0; "
                "give 0 to keep every positive duration"
            )

    def text(self, name: str) -> str:
        """Return a step's rule as a reader should see it."""
        gpu_num = f" and gpu_num >= {self.min_gpu_num}" if self.min_gpu_num > 1 else ""
        duration = f" and duration >= {self.min_duration_s:g} s" if self.min_duration_s else ""
        return {
            ROWS: "every row of the file that could be read",
            STATE: "state is " + " or ".join(self.states),
            GPU_NUM: "gpu_num > 0" + gpu_num,
            DURATION: "duration > 0 s" + duration,
            TIMES: "submit <= start <= end, none missing",
        }[name]


def cell(frame: pd.DataFrame, column: str, **where: object) -> Any:
    """Return the value of ``column`` in the one row whose other columns equal ``where``.

    Raises
    ------
    KeyError
        If there is no such row.
    """
    rows = np.ones(len(frame), dtype=bool)
    for name, wanted in where.items():
        rows &= (frame[name] == wanted).to_numpy()
    found = frame[column].to_numpy()[rows]
    if found.size == 0:
        raise KeyError(f"{column} was not computed for {where}")
    return found[0]


@dataclass(frozen=True, kw_only=True)
class JobPool(Carrier):
    """The jobs that passed every step, and the account of how they did.

    Attributes
    ----------
    jobs : DataFrame
        The trace's columns, file order, one row a job.
    funnel : DataFrame
        One row a step: step, rule, rows_in, rows_out, rows_removed, evaluable.
    findings : DataFrame
        What was found among the rows that reached a step: step, finding, rows.
        Findings of the times step overlap, as one job can miss two times.
    rules : PoolRules
        The rules applied.
    window : Window
        Whole hours from the first to the last submit of the *trace*.
    clock, utc_offset, source : str
        As in the trace; ``source`` is the file as shown to readers.
    """

    jobs: pd.DataFrame
    funnel: pd.DataFrame
    findings: pd.DataFrame
    rules: PoolRules
    window: Window
    clock: str
    utc_offset: str
    source: str

    def rows_out(self, name: str) -> int:
        """Return how many rows are left after a step (see `STEPS`)."""
        return int(cell(self.funnel, "rows_out", step=name))

    def rows_removed(self, name: str) -> int:
        """Return how many rows a step took away."""
        return int(cell(self.funnel, "rows_removed", step=name))

    def answered(self, *names: str) -> int | None:
        """Return the rows left after the last of some steps; None if the data cannot answer one."""
        return None if set(names) & set(self.not_evaluable) else self.rows_out(names[-1])

    def found(self, finding: str) -> int:
        """Return how many rows have a finding, e.g. ``"zero duration"``."""
        return int(cell(self.findings, "rows", finding=finding))

    @property
    def rows_total(self) -> int:
        """Rows of the file."""
        return int(self.funnel["rows_in"].iloc[0])

    @property
    def zero_duration(self) -> int:
        """Rows that reached the duration step and last 0 s."""
        return self.found("zero duration")


def require_jobs(pool: JobPool, what: str) -> None:
    """Raise `InputError` if the pool is empty, naming the step that removed the last row."""
    if len(pool.jobs):
        return
    emptied = pool.funnel.loc[pool.funnel["rows_out"] == 0].iloc[0]
    raise InputError(
        f"{pool.source}: {what}: found no job after the step {emptied['step']!r} "
        f"({emptied['rule']}), expected at least one; relax that rule or use another trace"
    )


@step(Layer.OBSERVED)
def select_pool(trace: JobTrace, rules: PoolRules | None = None) -> JobPool:
    """Select the task pool of a trace.

    The steps run in the paper's order and each sees only what the one before it kept.
    A step whose columns the dialect lacks passes every row and is marked.

    Parameters
    ----------
    trace : JobTrace
        All jobs.
    rules : PoolRules, optional
        By default the paper's rules.

    Raises
    ------
    InputError
        If no row can be used, a state never occurs, or no job has a submit time.
    """
    chosen = rules or PoolRules()
    source = paths.display(trace.path)
    jobs = trace.jobs
    _check_rows(trace, source)
    if "state" in jobs:
        _check_states(jobs["state"], chosen.states, source)
    kept, funnel, findings = apply_steps(trace, chosen)
    return JobPool(
        jobs=jobs.loc[kept].reset_index(drop=True),
        funnel=funnel,
        findings=findings,
        rules=chosen,
        window=Window.of(jobs["submit_time"], source),
        clock=trace.clock,
        utc_offset=trace.utc_offset,
        source=source,
        not_evaluable=tuple(funnel.loc[~funnel["evaluable"], "step"]),
    )


def apply_steps(trace: JobTrace, rules: PoolRules) -> tuple[Mask, pd.DataFrame, pd.DataFrame]:
    """Return which jobs pass every step, and `JobPool`'s account: funnel and findings.

    Any trace has one, also one without a job or without a job in the states asked for.
    """
    jobs = trace.jobs
    kept = np.ones(len(jobs), dtype=bool)
    account = [_row(rules, ROWS, trace.rows, len(jobs), evaluable=True)]
    findings: list[tuple[str, str, int]] = []
    for name in STEPS[1:]:
        answer = _answer(name, jobs, rules)
        rows_in = int(np.count_nonzero(kept))
        if answer is not None:
            passes, reasons = answer
            findings += [
                (name, finding, int(np.count_nonzero(mask & kept))) for finding, mask in reasons
            ]
            kept &= passes
        rows_out = int(np.count_nonzero(kept))
        account.append(_row(rules, name, rows_in, rows_out, evaluable=answer is not None))
    table = pd.DataFrame(findings, columns=["step", "finding", "rows"])
    return kept, pd.DataFrame(account), table


def _row(
    rules: PoolRules, name: str, rows_in: int, rows_out: int, *, evaluable: bool
) -> dict[str, object]:
    return {
        "step": name,
        "rule": rules.text(name),
        "rows_in": rows_in,
        "rows_out": rows_out,
        "rows_removed": rows_in - rows_out,
        "evaluable": evaluable,
    }


Reasons = list[tuple[str, Mask]]


def _answer(name: str, jobs: pd.DataFrame, rules: PoolRules) -> tuple[Mask, Reasons] | None:
    """Return which rows pass a step and why others do not; None if it cannot be answered."""
    if name == STATE and "state" in jobs:
        missing = jobs["state"].isna().to_numpy()
        return _in_states(jobs["state"], rules.states), [("missing state", missing)]
    if name == GPU_NUM and "gpu_num" in jobs:
        gpu_num = jobs["gpu_num"].to_numpy()
        passes = gpu_num >= rules.min_gpu_num if rules.min_gpu_num > 1 else gpu_num > 0
        return passes, [("missing gpu_num", np.isnan(gpu_num))]
    if name == DURATION and "duration_s" in jobs:
        return _long_enough(jobs["duration_s"].to_numpy(), rules.min_duration_s)
    if name == TIMES and all(column in jobs for column in TIME_COLUMNS):
        return _ordered(*(jobs[column].to_numpy("datetime64[ns]") for column in TIME_COLUMNS))
    return None


def _check_rows(trace: JobTrace, source: str) -> None:
    """Refuse a trace of which every row was set aside: the reason lies there."""
    if len(trace.jobs):
        return
    first = trace.set_aside.iloc[0]
    reasons = trace.set_aside["reason"].value_counts()
    counted = ", ".join(f"{reason} ({count:,})" for reason, count in reasons.head(3).items())
    raise InputError(
        f"{source}, line {first['line']}: found no row that can be used, all {trace.rows:,} are "
        f"set aside: {counted}; expected at least one job; mend that column, or see "
        "'python -m aidc audit'"
    )


def _check_states(states: pd.Series[str], wanted: Iterable[str], source: str) -> None:
    """Refuse states that never occur: most likely they are misspelt."""
    found = [
        str(name)
        for name in states.astype("category").cat.remove_unused_categories().cat.categories
    ]
    unknown = sorted(set(wanted) - set(found))
    if not found:
        raise InputError(
            f"{source}: column state: found no state in any row, expected {', '.join(unknown)}; "
            "use a trace with states, or a dialect that leaves the column out"
        )
    if unknown:
        raise InputError(
            f"{source}: column state: states {', '.join(unknown)} never occur; "
            f"found {', '.join(sorted(found))}; name states among those"
        )


def _in_states(states: pd.Series[str], wanted: Iterable[str]) -> Mask:
    column = states.astype("category")
    wanted_codes = np.flatnonzero(column.cat.categories.isin(list(wanted)))
    return np.isin(column.cat.codes.to_numpy(), wanted_codes)


def _long_enough(duration_s: npt.NDArray[np.float64], minimum_s: float) -> tuple[Mask, Reasons]:
    positive = duration_s > 0
    passes = positive & (duration_s >= minimum_s)
    reasons = [
        ("zero duration", duration_s == 0),
        ("negative duration", duration_s < 0),
        ("missing duration", np.isnan(duration_s)),
        ("positive duration below the minimum", positive & ~passes),
    ]
    return passes, reasons


def _ordered(
    submit: npt.NDArray[np.datetime64],
    start: npt.NDArray[np.datetime64],
    end: npt.NDArray[np.datetime64],
) -> tuple[Mask, Reasons]:
    early_start, early_end = start < submit, end < start
    missing = [np.isnat(times) for times in (submit, start, end)]
    passes = ~(early_start | early_end | missing[0] | missing[1] | missing[2])
    reasons = [
        (f"missing {column}", mask) for column, mask in zip(TIME_COLUMNS, missing, strict=True)
    ]
    reasons += [("start before submit", early_start), ("end before start", early_end)]
    return passes, reasons
