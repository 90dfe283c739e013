"""Audits of files for a reader: which kind a file is, its audit as JSON and as tables.

A kind of file is one entry of `KINDS`: what recognises a file, and what audits all files
of the kind together. The last kind takes whatever no other recognised, and says what is
wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aidc.catalog.trace import TRACES, open_summary, open_trace
from aidc.evidence import InputError, evidence_of
from aidc.observed.audit import TraceAudit, audit_trace
from aidc.observed.comparison import compare_traces
from aidc.observed.rules import RuleResult
from aidc.observed.summary import is_summary
from aidc.observed.textfile import TextFile, checked_path
from aidc.publish.audit_power import audit_power_logs, is_power
from aidc.publish.audit_tables import first_rows, plain, plain_table, rule_table


class Audited(Protocol):
    """The audit of one thing: a trace, or the logs of one job."""

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object with a list of ``findings``."""

    def show(self, console: Console) -> None:
        """Print it as tables, without its findings."""


@dataclass(frozen=True)
class Report:
    """Audits, and what was found by comparing them.

    Attributes
    ----------
    audited : tuple of Audited
        One a trace or job.
    findings : tuple of str
        On several files together.
    """

    audited: tuple[Audited, ...]
    findings: tuple[str, ...] = ()

    def json(self) -> str:
        """Return one JSON object: the audit, or ``files`` and ``findings`` if there are several."""
        documents = [one.document() for one in self.audited]
        if len(documents) == 1:
            whole = documents[0] | {"findings": [*documents[0]["findings"], *self.findings]}
        else:
            whole = {"files": documents, "findings": list(self.findings)}
        return json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1)

    def show(self, console: Console) -> None:
        """Print tables and findings."""
        for one in self.audited:
            one.show(console)
            _show_findings(console, one.document()["findings"])
        if self.findings:
            console.rule("Files together")
            _show_findings(console, self.findings)


@dataclass(frozen=True)
class Kind:
    """A kind of file: how one is recognised, and how all of them are audited."""

    name: str
    recognises: Callable[[str], bool]
    audit: Callable[[Sequence[str], str], Report]


def audit_files(files: Sequence[str], dialect: str = "auto") -> Report:
    """Audit files of any kind.

    Parameters
    ----------
    files : sequence of str
        Paths, or keys of traces or power profiles. A summary of clusters among them is
        compared with the traces; several power logs are one job.
    dialect : str
        How traces are read: "auto", a key, or a YAML file that describes a dialect.

    Raises
    ------
    InputError
        For the first file that cannot be audited; nothing is reported then.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(files):
        groups.setdefault(_kind(name).name, []).append(name)
    reports = [kind.audit(groups[kind.name], dialect) for kind in KINDS if kind.name in groups]
    return Report(
        audited=tuple(one for report in reports for one in report.audited),
        findings=tuple(finding for report in reports for finding in report.findings),
    )


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.recognises(name))


def _header(name: str) -> list[str]:
    """Return the header of a file; nothing if there is none, which its audit will refuse."""
    if name in TRACES:
        return []
    try:
        with TextFile(checked_path(name)) as file:
            return file.header()
    except InputError:
        return []


def _audit_traces(files: Sequence[str], dialect: str) -> Report:
    """Audit each trace, and compare all with each other and with summaries among them."""
    summaries = [open_summary(name) for name in files if is_summary(_header(name))]
    names = [name for name in files if not is_summary(_header(name))]
    if not names:
        raise InputError(
            f"{files[0]}: found a summary of clusters alone, expected a job trace to compare it "
            "with; name both"
        )
    # One trace at a time: an audit keeps counts, not rows.
    audits = [audit_trace(open_trace(name, dialect)) for name in names]
    together = compare_traces(audits, summaries).findings
    return Report(tuple(map(AuditedTrace, names, audits)), together)


@dataclass(frozen=True)
class AuditedTrace:
    """The audit of a job trace under the name that it was asked for by."""

    name: str
    audit: TraceAudit

    def document(self) -> dict[str, Any]:
        """Return the audit as a JSON object."""
        audit = self.audit
        aside = zip(audit.set_aside["line"], audit.set_aside["reason"], strict=True)
        steps = zip(audit.funnel["step"], audit.funnel["rows_out"], strict=True)
        return {
            "path": self.name,
            "dialect": audit.dialect,
            "offset": audit.utc_offset,
            "rows": audit.rows,
            "kept": audit.kept,
            "set_aside": [{"line": int(line), "reason": str(reason)} for line, reason in aside],
            "rules": [_rule_document(rule) for rule in audit.rules],
            "funnel": [{"step": str(step), "rows": int(rows)} for step, rows in steps],
            "findings": list(audit.findings),
        }

    def show(self, console: Console) -> None:
        """Print the rules, the rows set aside and the funnel as tables."""
        audit = self.audit
        console.rule(Text(self.name))
        console.print(
            Text(
                f"{audit.title} (dialect {audit.dialect}), UTC offset {audit.utc_offset}: "
                f"{audit.rows:,} rows = {audit.kept:,} kept + {len(audit.set_aside):,} set aside\n"
                f"{evidence_of(audit)}"
            )
        )
        console.print(
            rule_table(audit.rules, "rows", _failures, {"what should hold": lambda rule: rule.text})
        )
        if len(audit.set_aside):
            console.print(_set_aside_table(audit.set_aside))
        console.print(_funnel_table(audit.funnel))


def _rule_document(rule: RuleResult) -> dict[str, Any]:
    examples = [{"line": one.line, "found": one.found} for one in rule.examples]
    return rule.counts() | {"examples": examples}


def _failures(rule: RuleResult) -> str:
    lines = ", ".join(str(example.line) for example in rule.examples)
    return f"line {lines}" if lines else ""


def _set_aside_table(aside: pd.DataFrame) -> Table:
    rows = (
        (str(row.line), str(row.reason), str(row.text)[:200])
        for row in aside.itertuples(index=False)
    )
    return first_rows("Rows set aside", ("line", "reason", "row"), rows, len(aside))


def _funnel_table(funnel: pd.DataFrame) -> Table:
    table = plain_table("Task pool", "step", "what is kept")
    table.add_column("rows", justify="right")
    for row in funnel.itertuples(index=False):
        rule = str(row.rule) if row.evaluable else f"{row.rule} (not evaluable: all pass)"
        table.add_row(plain(str(row.step)), plain(rule), f"{row.rows_out:,}")
    return table


def _show_findings(console: Console, findings: Sequence[str]) -> None:
    for finding in findings or ("Nothing to report: every rule that could be asked holds.",):
        console.print(plain(f"- {finding}"), soft_wrap=True)


def _audit_power(files: Sequence[str], dialect: str) -> Report:
    return Report(tuple(audit_power_logs(files, dialect)))


KINDS: tuple[Kind, ...] = (
    Kind("power log", is_power, _audit_power),
    Kind("job trace", lambda _: True, _audit_traces),
)
