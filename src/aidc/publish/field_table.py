"""The fields of an audited trace: what each column holds, and what it may stand for.

The counts come from the audit. What a field may be used as is a judgement, so it comes
from the register of variables, and the table as a whole is no observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aidc.evidence import Carrier, Layer, step
from aidc.evidence.register import Register
from aidc.observed.audit import TraceAudit
from aidc.observed.formats import FIELDS
from aidc.observed.trace import JobTrace

# Canonical field -> variable of the register that it is read for. The others identify or
# size a job and stand for no variable of the study.
VARIABLE_OF: Mapping[str, str] = {
    "user": "user",
    "gpu_num": "gpu_num",
    "type": "job_type",
    "state": "state",
    "submit_time": "submit_time",
    "start_time": "start_time",
    "end_time": "end_time",
    "duration_s": "duration",
    "queue_s": "queue",
    "gpu_time_s": "gpu_time",
}

NO_COLUMN = "(no column)"
NO_VARIABLE = "no variable of the study"
NOT_READ = "not read by any rule"


@dataclass(frozen=True, kw_only=True)
class FieldTable(Carrier):
    """One row a field, those of the file first, in file order.

    Attributes
    ----------
    frame : DataFrame
        ``column`` (of the file), ``field`` (canonical; empty if there is none), ``type``
        (what its text has to be), ``present``, ``missing``, ``unreadable`` (rows; of the
        wrong type or out of range), ``status``, ``use`` and ``not_as`` (from the
        register). Counts are missing where no rule reads the column.
    """

    frame: pd.DataFrame


@step(Layer.OBSERVED)
def field_table(trace: JobTrace, audit: TraceAudit, register: Register) -> FieldTable:
    """Return what is known of each field of an audited trace.

    Parameters
    ----------
    trace : JobTrace
        The trace.
    audit : TraceAudit
        Its audit.
    register : Register
        Says what a field may be used as; it makes the table a declared one.
    """
    variables = {variable.key: variable for variable in register.variables}
    rows: list[dict[str, Any]] = []
    for field, counts in _fields(trace, audit):
        variable = variables.get(VARIABLE_OF.get(field, ""))
        rows.append(
            {
                **counts,
                "status": variable.status.value.replace("_", " ") if variable else "",
                "use": variable.first_use if variable else NO_VARIABLE,
                "not_as": variable.limitation if variable else "",
            }
        )
    whole = dict.fromkeys(("present", "missing", "unreadable"), "Int64")
    return FieldTable(frame=pd.DataFrame(rows).astype(whole))


def _fields(trace: JobTrace, audit: TraceAudit) -> Iterator[tuple[str, dict[str, Any]]]:
    columns = trace.dialect.columns
    failed = {rule.id: rule.failed for rule in audit.rules}
    for field, column in columns.items():
        short = field.removesuffix("_s")
        presence = audit.rule(f"presence.{short}")
        yield (
            field,
            {
                "column": column,
                "field": field,
                "type": FIELDS[field].kind.value,
                "present": presence.passed,
                "missing": presence.failed,
                "unreadable": failed.get(f"type.{short}", 0) + failed.get(f"range.{short}", 0),
            },
        )
    nothing = dict.fromkeys(("present", "missing", "unreadable"))
    for column in trace.extras.columns:
        yield "", {"column": column, "field": "", "type": NOT_READ, **nothing}
    for field in FIELDS:
        if field not in columns:
            kind = FIELDS[field].kind.value
            yield field, {"column": NO_COLUMN, "field": field, "type": kind, **nothing}
