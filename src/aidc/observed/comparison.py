"""What the audits of several traces, and a summary of their clusters, say together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidc.evidence import Carrier, Layer, step
from aidc.observed.audit import TraceAudit
from aidc.observed.findings import submit_days
from aidc.observed.summary import ClusterSummary, compare_with_summary


@dataclass(frozen=True, kw_only=True)
class Comparison(Carrier):
    """Findings on several files together, a sentence each."""

    findings: tuple[str, ...]


@step(Layer.OBSERVED)
def compare_traces(
    audits: Sequence[TraceAudit], summaries: Sequence[ClusterSummary] = ()
) -> Comparison:
    """Compare audited traces with each other and with summaries of their clusters.

    Parameters
    ----------
    audits : sequence of TraceAudit
        At least one audit, or there is nothing that the result could rest on.
    summaries : sequence of ClusterSummary
        Summary tables that may name the clusters.
    """
    return Comparison(findings=tuple(_findings(audits, summaries)))


def _findings(audits: Sequence[TraceAudit], summaries: Sequence[ClusterSummary]) -> Iterator[str]:
    for summary in summaries:
        for audit in audits:
            yield from compare_with_summary(audit, summary)
    if len(audits) < 2:
        return
    if len({audit.utc_offset for audit in audits}) > 1:
        listed = ", ".join(f"{audit.path} {audit.utc_offset}" for audit in audits)
        yield (
            f"UTC offsets differ between the files: {listed}. Hours of the day compare only "
            "after all times are taken at one offset."
        )
    yield from _meanings(audits)
    spans = {a.path: submit_days(a.window) for a in audits if a.window is not None}
    if len(set(spans.values())) > 1:
        listed = ", ".join(f"{path} {days:,} days" for path, days in spans.items())
        yield f"Submits span different lengths: {listed}."
    total, with_gpus = sum(a.rows for a in audits), sum(a.gpu_jobs for a in audits)
    yield f"Together the files have {total:,} rows, {with_gpus:,} of them jobs with GPUs."


def _meanings(audits: Sequence[TraceAudit]) -> Iterator[str]:
    """Yield fields that follow from other fields in one file than in another."""
    for field in dict.fromkeys(reading.field for audit in audits for reading in audit.readings):
        best: dict[str, str] = {}
        for audit in audits:
            candidates = [r for r in audit.readings if r.field == field and r.telling_holds]
            if candidates:
                chosen = max(candidates, key=lambda reading: reading.telling_holds)
                best[audit.path] = chosen.identity
        if len(set(best.values())) > 1:
            listed = ", ".join(f"{identity} in {path}" for path, identity in best.items())
            yield f"{field} means different things: {listed}. The values do not compare."
