"""Runs: which power logs belong together, and what the run is called."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from aidc import paths
from aidc.evidence import Carrier, InputError, Layer, step
from aidc.observed.aggregate import AggregationRules, TotalPower
from aidc.observed.power import Domain, PowerProfile
from aidc.observed.power_audit import PowerAudit, with_nodes
from aidc.observed.power_read import power_dialect
from aidc.observed.power_rules import PowerAuditSettings, rules_frame

_LONGEST_NAME = 60


@dataclasses.dataclass(frozen=True)
class NlrRun:
    """One of the two runs that the paper takes from the NLR archive.

    Attributes
    ----------
    title : str
        Its name for readers.
    job : str
        Number of its job: ``slurmid`` in the archive's ``metadata.csv``.
    """

    title: str
    job: str


NLR_RUNS: Mapping[str, NlrRun] = {
    "llama2_70b_lora_2node": NlrRun("Llama2-70B LoRA, 2 nodes", "10742795"),
    "stable_diffusion_2node": NlrRun("Stable Diffusion, 2 nodes", "10742951"),
}
# What the experiment declares, and also the grid of its published curves.
NLR_INTERVAL_S = 0.2
# The makers' design power of an H100 SXM and of an EPYC 9554.
NLR_TDP_W = {Domain.GPU: 700.0, Domain.CPU: 360.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerRun:
    """The power logs of one job.

    Attributes
    ----------
    name : str
        Part of the ids of its numbers: lower case, digits, underscores.
    title : str
        For readers.
    profiles : tuple of PowerProfile
        Every node and domain, each once.
    tdp_w : dict of Domain to float
        Design power of one device, W, where it is known.
    grid_s : float or None
        Step of the grid that the official aggregation puts the run on, s; None if none
        is known.
    passed_over : tuple of str
        Files of a folder that are no power logs.
    """

    name: str
    title: str
    profiles: tuple[PowerProfile, ...]
    tdp_w: dict[Domain, float] = dataclasses.field(default_factory=dict)
    grid_s: float | None = None
    passed_over: tuple[str, ...] = ()

    def audit_settings(self, aggregation: str, resample_s: float = 0.0) -> PowerAuditSettings:
        """Return how the run is audited; 0 keeps the times of the logs."""
        rules = AggregationRules(
            aggregation=aggregation, resample_s=resample_s or None, official_step_s=self.grid_s
        )
        return PowerAuditSettings(tdp_w=self.tdp_w, aggregation=rules)


def nlr_run(name: str, profiles: Iterable[PowerProfile]) -> PowerRun:
    """Return one of `NLR_RUNS` with what is known of its hardware and its grid."""
    return PowerRun(
        name=name,
        title=NLR_RUNS[name].title,
        profiles=tuple(with_nodes(list(profiles))),
        tdp_w=NLR_TDP_W,
        grid_s=NLR_INTERVAL_S,
    )


def run_of(profiles: list[PowerProfile], passed_over: tuple[str, ...] = ()) -> PowerRun:
    """Return the logs of one job as a run, named after the job, else after the first file."""
    job = profiles[0].job
    known = next((n for n, run in NLR_RUNS.items() if job in (run.job, synthetic_job(n))), None)
    if known is not None:
        return dataclasses.replace(nlr_run(known, profiles), passed_over=passed_over)
    text = f"job {job}" if job else profiles[0].path.name.split(".")[0]
    return PowerRun(
        name=slug(text),
        title=text,
        profiles=tuple(with_nodes(profiles)),
        passed_over=passed_over,
    )


def synthetic_job(name: str) -> str:
    """Return the job that the stand-in's logs of a run name."""
    return f"synthetic-{name.replace('_', '-')}"


def slug(text: str) -> str:
    """Return a text as a part of the id of a number.

    Examples
    --------
    >>> slug("Job 10989526"), slug("dc_result-3 (node 0)")
    ('job_10989526', 'dc_result_3_node_0')
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_LONGEST_NAME] or "run"


def runs_of(profiles: Iterable[PowerProfile], passed_over: tuple[str, ...] = ()) -> list[PowerRun]:
    """Return the logs of a folder as runs: those that name the same job belong together."""
    by_job: dict[str, list[PowerProfile]] = {}
    for profile in profiles:
        by_job.setdefault(profile.job, []).append(profile)
    return [run_of(logs, passed_over) for logs in by_job.values()]


def log_files(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the power logs in a folder and below it, and in words what is none.

    Raises
    ------
    InputError
        If there is no power log.
    """
    found, passed_over = [], []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or any(part.startswith(".") for part in path.parts[-2:]):
            continue
        try:
            power_dialect(path)
        except InputError as error:
            passed_over.append(str(error))
        else:
            found.append(path)
    if not found:
        others = f", only {len(passed_over)} other files" if passed_over else ""
        raise InputError(
            f"{paths.display(folder)}: found no power log{others}; expected WattAMeter logs or "
            "another known format; name a file to see why it is none"
        )
    return found, tuple(passed_over)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditedRuns(Carrier):
    """The audits of several runs, with the evidence of all of them.

    Attributes
    ----------
    audits : dict of str to PowerAudit
        By the name of the run.
    """

    audits: dict[str, PowerAudit]

    @property
    def totals(self) -> dict[str, TotalPower]:
        """The curve of each run that has one."""
        return {n: audit.total for n, audit in self.audits.items() if not audit.total.refused}

    def logs(self) -> pd.DataFrame:
        """Return what was read: run, node, format, boundary, kind of reading, devices, rows."""
        return pd.DataFrame(
            {
                "run": name,
                "node": log.profile.node,
                "format": log.profile.dialect,
                "boundary": str(log.profile.boundary),
                "reading": str(log.profile.power_kind),
                "channels": _counted(log.profile),
                "rows": log.profile.rows,
                "set_aside": len(log.profile.set_aside),
                "interval_s": log.interval_s,
            }
            for name, audit in self.audits.items()
            for log in audit.logs
        )

    def rules(self) -> pd.DataFrame:
        """Return each rule's counts by run: run, rule, looks_at, n, not_evaluable, ..."""
        frames = [rules_frame(audit.rules).assign(run=name) for name, audit in self.audits.items()]
        table = pd.concat(frames, ignore_index=True)
        table = table.rename(columns={"id": "rule", "field": "looks_at"})
        return table[["run", *(column for column in table.columns if column != "run")]]

    def rule_totals(self) -> pd.DataFrame:
        """Return the same, summed over the runs: rule, n, not_evaluable, passed, failed."""
        counts = ["n", "not_evaluable", "passed", "failed"]
        return self.rules().groupby("rule", sort=False)[counts].sum().reset_index()

    def findings(self) -> pd.DataFrame:
        """Return what the audits found in words: run, finding (files without their folder)."""
        rows = [
            (name, _without_folders(finding, audit))
            for name, audit in self.audits.items()
            for finding in audit.findings
        ]
        return pd.DataFrame(rows, columns=["run", "finding"])


def _counted(profile: PowerProfile) -> str:
    """Return the channels by domain, e.g. "2 cpu, 2 core"."""
    counts = Counter(str(channel.domain) for channel in profile.channels)
    return ", ".join(f"{count} {domain}" for domain, count in counts.items())


@step(Layer.OBSERVED)
def together(audits: dict[str, PowerAudit]) -> AuditedRuns:
    """Return the audits of several runs as one carrier."""
    return AuditedRuns(audits=audits)


def _without_folders(text: str, audit: PowerAudit) -> str:
    for log in audit.logs:
        text = text.replace(log.profile.label, log.profile.path.name)
    return text
