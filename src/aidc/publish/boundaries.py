"""The boundary table and counts of it, from the register of inputs."""

from __future__ import annotations

import pandas as pd

from aidc.evidence.register import Register
from aidc.evidence.registry import Status, Variable

UNLABELLED = "(none)"
"""Stands where the paper names a variable without giving it a status."""


def boundary_table(register: Register) -> pd.DataFrame:
    """Return one row a variable, in the order of the register.

    Columns: ``key``, ``variable``, ``variable_zh``, ``paper_table`` (whether the paper's
    own table has it), ``paper_label``, ``status``, ``first_use``, ``limitation``,
    ``works`` (citation keys).
    """
    return pd.DataFrame(
        [
            {
                "key": variable.key,
                "variable": variable.name,
                "variable_zh": variable.name_zh,
                "paper_table": variable.paper_table,
                "paper_label": variable.paper_label or UNLABELLED,
                "status": _words(variable.status),
                "first_use": variable.first_use,
                "limitation": variable.limitation,
                "works": ", ".join(variable.works),
            }
            for variable in register.variables
        ]
    )


def status_counts(register: Register) -> pd.DataFrame:
    """Return how many variables have each status: ``in_paper_table``, ``elsewhere``, ``total``.

    Every status has a row, also one that no variable has.
    """
    rows = []
    for status in Status:
        found = [v.paper_table for v in register.variables if v.status is status]
        inside = sum(found)
        rows.append(
            {
                "status": _words(status),
                "in_paper_table": inside,
                "elsewhere": len(found) - inside,
                "total": len(found),
            }
        )
    return pd.DataFrame(rows)


def labels_and_statuses(register: Register) -> pd.DataFrame:
    """Return which status the variables of each of the paper's labels have here.

    One row for each pair, in the order of the register: ``paper_label``, ``status``,
    ``variables`` (their number), ``names``.
    """
    pairs: dict[tuple[str, Status], list[Variable]] = {}
    for variable in register.variables:
        label = variable.paper_label or UNLABELLED
        pairs.setdefault((label, variable.status), []).append(variable)
    return pd.DataFrame(
        [
            {
                "paper_label": label,
                "status": _words(status),
                "variables": len(found),
                "names": "; ".join(variable.name for variable in found),
            }
            for (label, status), found in pairs.items()
        ]
    )


def _words(status: Status) -> str:
    return status.value.replace("_", " ")
