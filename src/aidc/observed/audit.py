"""The audit of a job trace: every rule, the funnel, and what follows in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from aidc import paths
from aidc.evidence import Carrier, Layer, step
from aidc.observed.findings import findings_of, submit_days
from aidc.observed.funnel import PoolRules, apply_steps
from aidc.observed.identities import Reading, readings
from aidc.observed.reading import reading_rules
from aidc.observed.rule_set import RULES
from aidc.observed.rules import Rows, RuleResult
from aidc.observed.trace import JobTrace
from aidc.observed.window import Window


@dataclass(frozen=True, kw_only=True)
class TraceAudit(Carrier):
    """What an audit found in one trace.

    Attributes
    ----------
    path : str
        The file as shown to readers.
    dialect, title : str
        Key and title of the dialect.
    clock, utc_offset : str
        As in the trace.
    rows, kept : int
        Rows of the file, and those that could be read: ``rows - kept`` are in
        ``set_aside``.
    set_aside : DataFrame
        ``line``, ``reason``, ``text``, ``field``.
    rules : tuple of RuleResult
        Every rule, those that all rows pass among them.
    funnel : DataFrame
        The selection of the task pool; see `aidc.observed.funnel.JobPool`.
    readings : tuple of Reading
        How often each reading of a computed field holds.
    window : Window or None
        Whole hours from the first to the last submit; None without a kept row.
    gpu_jobs, cpu_jobs : int
        Kept jobs with and without GPUs.
    completed_gpu_jobs : int or None
        Completed jobs among those with GPUs; None where the dialect has no states.
    median_gpu_duration_s : float
        Median duration of the jobs with GPUs, in s; NaN without one.
    findings : tuple of str
        What a reader should know before using the file, a sentence each.
    """

    path: str
    dialect: str
    title: str
    clock: str
    utc_offset: str
    rows: int
    kept: int
    set_aside: pd.DataFrame
    rules: tuple[RuleResult, ...]
    funnel: pd.DataFrame
    readings: tuple[Reading, ...]
    window: Window | None
    gpu_jobs: int
    cpu_jobs: int
    completed_gpu_jobs: int | None
    median_gpu_duration_s: float
    findings: tuple[str, ...]

    def rule(self, rule: str) -> RuleResult:
        """Return the result of a rule by its id.

        Raises
        ------
        KeyError
            If there is no such rule.
        """
        for result in self.rules:
            if result.id == rule:
                return result
        raise KeyError(f"{rule!r} is no rule of this audit")

    @property
    def submit_days(self) -> int | None:
        """Calendar days from the first to the last submit; None without a calendar."""
        if self.window is None or self.clock != "calendar":
            return None
        return submit_days(self.window)

    def failed(self, rule: str) -> int | None:
        """Return how many rows fail a rule; None if it could be asked of none.

        Also None for a rule on a column that the dialect lacks.
        """
        found = [result for result in self.rules if result.id == rule and result.evaluable]
        return found[0].failed if found else None

    def rule_table(self) -> pd.DataFrame:
        """Return the rules as a table, examples as one text."""
        return pd.DataFrame(
            [
                result.counts()
                | {
                    "text": result.text,
                    "examples": "; ".join(
                        f"line {example.line}: {example.found}" for example in result.examples
                    ),
                }
                for result in self.rules
            ]
        )

    def reading_table(self) -> pd.DataFrame:
        """Return the readings of the computed fields as a table."""
        return pd.DataFrame([asdict(reading) for reading in self.readings])


@step(Layer.OBSERVED)
def audit_trace(trace: JobTrace) -> TraceAudit:
    """Audit a job trace: count every row by every rule, and say what follows.

    Parameters
    ----------
    trace : JobTrace
        A trace with the rows that were set aside.
    """
    rows = Rows(trace)
    rules = (*reading_rules(rows), *(rule.check(rows) for rule in RULES))
    _, funnel, _ = apply_steps(trace, PoolRules(states=trace.dialect.completed))
    found = tuple(readings(rows))
    window = Window.of(trace.jobs["submit_time"], str(trace.path)) if len(rows) else None
    with_gpus = rows.numbers("gpu_num") > 0
    durations = rows.numbers("duration_s")[with_gpus]
    completed = None
    if rows.has("state"):
        ended_well = rows.is_word("state", lambda word: word in trace.dialect.completed)
        completed = int(np.count_nonzero(ended_well & with_gpus))
    return TraceAudit(
        path=paths.display(trace.path),
        dialect=trace.dialect.key,
        title=trace.dialect.title,
        clock=trace.clock,
        utc_offset=trace.utc_offset,
        rows=trace.rows,
        kept=len(rows),
        set_aside=trace.set_aside,
        rules=rules,
        funnel=funnel,
        readings=found,
        window=window,
        gpu_jobs=int(np.count_nonzero(with_gpus)),
        cpu_jobs=int(np.count_nonzero(~with_gpus)),
        completed_gpu_jobs=completed,
        median_gpu_duration_s=float(np.median(durations)) if durations.size else float("nan"),
        findings=tuple(findings_of(rows, rules, found, window, funnel)),
        not_evaluable=tuple(funnel.loc[~funnel["evaluable"], "step"]),
    )
