"""AcmeTrace's summary table of clusters, and how a trace compares with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aidc import paths
from aidc.evidence import Carrier, Evidence, InputError
from aidc.observed.audit import TraceAudit
from aidc.observed.textfile import TextFile, checked_path

CLUSTER = "id"
COUNTS = {"jobs": "job_num", "GPU jobs": "gpu_job_num", "CPU jobs": "cpu_job_num"}
COMPLETED, MEDIAN = "complete_rate_gpu", "med_run_time_gpu"
NEEDED = (CLUSTER, *COUNTS.values(), COMPLETED, MEDIAN)
MAX_BYTES = 1 << 20

# Shares in the table have three decimals; a median that differs by a second differs.
SHARE_STEP, SECOND = 0.001, 1.0


@dataclass(frozen=True, kw_only=True)
class ClusterSummary(Carrier):
    """The summary table: one row a cluster.

    Attributes
    ----------
    frame : DataFrame
        The file's columns, indexed by the name of the cluster in lower case; shares of
        jobs by final state (0 to 1), times in s.
    path : Path
        The file.
    """

    frame: pd.DataFrame
    path: Path


def is_summary(header: list[str]) -> bool:
    """Return whether a header is that of a summary of clusters."""
    return all(column in header for column in NEEDED)


def load_summary(path: str | Path, *, evidence: Evidence | None) -> ClusterSummary:
    """Read a summary of clusters.

    Parameters
    ----------
    path : str or Path
        The file, comma-separated with a header.
    evidence : Evidence
        What is known of the file's origin; `aidc.catalog.trace.open_summary` finds it out.

    Raises
    ------
    InputError
        One line: a column is missing, a count is no number, or it is no such file.
    """
    file = checked_path(path)
    with TextFile(file) as text:
        header = text.header()
        missing = [column for column in NEEDED if column not in header]
        if missing:
            raise InputError(
                f"{text.where}, line 1: missing column {missing[0]!r} of a summary of clusters; "
                f"found {', '.join(header)[:300]}; give the data set's cluster_summary.csv"
            )
        content = b"".join(text.blocks())
        if len(content) > MAX_BYTES:
            raise InputError(
                f"{text.where}: found {len(content)} bytes, expected one row a cluster, at most "
                f"{MAX_BYTES} bytes; give the data set's cluster_summary.csv"
            )
    frame = _frame(content, header, text.where)
    return ClusterSummary(frame=frame, path=file, evidence=evidence)


def _frame(content: bytes, header: list[str], where: str) -> pd.DataFrame:
    try:
        frame = pd.read_csv(BytesIO(content), names=header)
    except (pd.errors.ParserError, ValueError) as error:
        raise InputError(
            f"{where}: cannot be split into columns ({str(error).splitlines()[0]}); "
            "expected one row a cluster"
        ) from error
    for column in NEEDED[1:]:
        frame[column] = pd.to_numeric(frame[column], errors="coerce")
    faulty = frame.index[frame[list(COUNTS.values())].isna().any(axis=1)]
    if len(faulty):
        raise InputError(
            f"{where}, line {faulty[0] + 2}: a count is missing or no number, expected numbers of "
            f"jobs in {', '.join(COUNTS.values())}"
        )
    return frame.set_index(frame[CLUSTER].astype(str).str.lower())


def compare_with_summary(audit: TraceAudit, summary: ClusterSummary) -> Iterator[str]:
    """Yield where a trace and the summary of its cluster disagree, a sentence each."""
    if audit.dialect not in summary.frame.index:
        return
    published = summary.frame.loc[audit.dialect]
    if isinstance(published, pd.DataFrame):
        published = published.iloc[0]
    name = paths.display(summary.path)
    cluster = str(published[CLUSTER])
    found = {"jobs": audit.rows, "GPU jobs": audit.gpu_jobs, "CPU jobs": audit.cpu_jobs}
    differences = {what: found[what] - int(published[column]) for what, column in COUNTS.items()}
    if not any(differences.values()):
        yield f"{name} and {audit.path} agree on the number of jobs of {cluster}."
        return
    stated = _counts({what: int(published[column]) for what, column in COUNTS.items()})
    changes = ", ".join(
        f"{abs(number):,} {what} {'fewer' if number < 0 else 'more'}"
        for what, number in differences.items()
        if number and what != "jobs"
    )
    yield (
        f"{name} gives {cluster} {stated}; {audit.path} has {_counts(found)}: "
        f"{changes or 'rows that were set aside'}."
    )
    rates = list(_rates(audit, published))
    if rates:
        yield (f"The summary's rates describe other jobs than the file's: {'; '.join(rates)}.")


def _counts(of: dict[str, int]) -> str:
    return f"{of['jobs']:,} jobs ({of['GPU jobs']:,} GPU, {of['CPU jobs']:,} CPU)"


def _rates(audit: TraceAudit, published: pd.Series[Any]) -> Iterator[str]:
    share, median = float(published[COMPLETED]), float(published[MEDIAN])
    if audit.completed_gpu_jobs is not None and audit.gpu_jobs:
        found = audit.completed_gpu_jobs / audit.gpu_jobs
        if not math.isnan(share) and abs(found - share) >= SHARE_STEP:
            yield f"GPU jobs completed {share:.1%} against {found:.1%}"
    if not np.isnan([median, audit.median_gpu_duration_s]).any():
        found = audit.median_gpu_duration_s
        if abs(found - median) >= SECOND:
            yield f"median duration of GPU jobs {median:,.0f} s against {found:,.0f} s"
