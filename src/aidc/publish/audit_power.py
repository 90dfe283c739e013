"""Audits of power logs for a reader: which files they are, and their audit as JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aidc.catalog.power import POWERS, open_power
from aidc.evidence import InputError, evidence_of
from aidc.observed.formats import AUTO
from aidc.observed.power_audit import PowerAudit, audit_record, examine, with_nodes
from aidc.observed.power_read import power_dialect, read_power
from aidc.publish.audit_tables import first_rows, plain_table, rule_table
from aidc.publish.format import display_number


def is_power(name: str) -> bool:
    """Whether a name is a key of power profiles or a file in the format of a power log."""
    if name in POWERS:
        return True
    try:
        return bool(power_dialect(name))
    except (InputError, OSError):
        return False


def audit_power_logs(files: Sequence[str], dialect: str) -> list[AuditedPower]:
    """Audit power logs: several paths are the nodes and domains of one job, a key its runs.

    Raises
    ------
    InputError
        For the first file that cannot be audited, or a key beside paths.
    """
    if dialect != AUTO:
        profiles = [read_power(path, None, dialect) for path in files]
        return [AuditedPower(examine(with_nodes(profiles)))]
    keys = [name for name in files if name in POWERS]
    if keys and len(files) > 1:
        raise InputError(
            f"power {keys[0]!r}: found a key beside other paths, expected one key or the paths of "
            "one job; audit them one after the other"
        )
    runs = open_power(keys[0] if keys else files)
    return [AuditedPower(examine(with_nodes(list(run.profiles)))) for run in runs]


@dataclass(frozen=True)
class AuditedPower:
    """The audit of the power logs of one job."""

    audit: PowerAudit

    def document(self) -> dict[str, Any]:
        """Return the audit as a JSON object, with its profile."""
        return audit_record(self.audit)

    def show(self, console: Console) -> None:
        """Print the rules, the rows set aside and the profile as tables."""
        record = self.document()
        name = record["path"] if isinstance(record["path"], str) else ", ".join(record["path"])
        console.rule(Text(name))
        console.print(
            Text(
                f"power log ({record['dialect']}), boundary {record['boundary']}, readings "
                f"{record['power_kind']}: {record['rows']:,} rows = {record['kept']:,} kept + "
                f"{len(record['set_aside']):,} set aside\n{evidence_of(self.audit)}"
            )
        )
        console.print(rule_table(self.audit.rules, "asked", lambda rule: "; ".join(rule.examples)))
        if record["set_aside"]:
            console.print(_set_aside(record["set_aside"]))
        console.print(_profile(record["profile"]))


def _set_aside(rows: Sequence[dict[str, Any]]) -> Table:
    shown = ((row.get("path", ""), str(row["line"]), row["reason"]) for row in rows)
    return first_rows("Rows set aside", ("file", "line", "reason"), shown, len(rows))


def _profile(profile: dict[str, float | None]) -> Table:
    table = plain_table("Profile", "figure")
    table.add_column("value", justify="right")
    for name, value in profile.items():
        table.add_row(name, "not evaluable" if value is None else display_number(value, 6))
    return table
