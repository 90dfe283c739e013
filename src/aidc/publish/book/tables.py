"""Tables of the book: from published CSV files and from rows made of nodes."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes

from aidc.publish.format import display_number

UNITS = {
    "s": "s",
    "min": "min",
    "h": "h",
    "w": "W",
    "kw": "kW",
    "mw": "MW",
    "wh": "Wh",
    "kwh": "kWh",
    "mwh": "MWh",
    "gb": "GB",
    "percent": "%",
    "pct": "%",
}
"""Units as column names hold them, and as a reader writes them."""

HEADINGS = {
    "gpu_time_h": "GPU time [GPU h]",
    "soc_min": "lowest state of charge [share of nominal energy]",
    "soc_max": "highest state of charge [share of nominal energy]",
}
"""Columns whose names look like something else: ``soc_min`` holds no minutes."""


@dataclass(frozen=True)
class Row:
    """One row of a table: a list of nodes a cell, and the anchor of the row."""

    cells: Sequence[Sequence[nodes.Node]]
    anchor: str = ""
    classes: Sequence[str] = field(default_factory=tuple)


def build(
    heads: Sequence[str],
    rows: Iterable[Row],
    *,
    numeric: Iterable[int] = (),
    classes: Sequence[str] = (),
) -> nodes.table:
    """Return a table; the columns at the positions ``numeric`` are aligned right."""
    right = frozenset(numeric)
    group = nodes.tgroup("", cols=len(heads))
    group += [nodes.colspec("", colwidth=1) for _ in heads]
    titles = Row([[nodes.Text(head)] for head in heads])
    group += nodes.thead("", _row(titles, right))
    group += nodes.tbody("", *(_row(row, right) for row in rows))
    table = nodes.table("", group, classes=["aidc-table", *classes])
    table["classes"].append("colwidths-auto")
    return table


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a published CSV file."""
    with path.open(encoding="utf-8", newline="") as stream:
        head, *body = csv.reader(stream)
    return head, body


def from_csv(path: Path) -> nodes.table:
    """Return a published CSV file as a table, numbers written as in prose."""
    head, body = read(path)
    columns = [[row[position] for row in body] for position in range(len(head))]
    numeric = [position for position, column in enumerate(columns) if _is_numeric(column)]
    rows = [
        Row([[nodes.Text(_cell(text, position in numeric))] for position, text in enumerate(row)])
        for row in body
    ]
    return build([heading(name) for name in head], rows, numeric=numeric)


def heading(column: str) -> str:
    """Return a column's name as a reader should see it, its unit in brackets.

    Examples
    --------
    >>> heading("duration_s")
    'duration [s]'
    >>> heading("duration_s_order_low")
    'duration order low [s]'
    >>> heading("p95_w_per_s")
    'p95 [W/s]'
    >>> heading("rows_in")
    'rows in'
    >>> heading("power_to_energy_per_h")
    'power to energy [1/h]'
    >>> heading("soc_min")
    'lowest state of charge [share of nominal energy]'
    """
    if column in HEADINGS:
        return HEADINGS[column]
    words = column.split("_")
    for position, word in enumerate(words):
        if position and word in UNITS and words[position - 1] != "per":
            last = position + 1
            unit = UNITS[word]
            if words[last : last + 1] == ["per"] and words[last + 1 : last + 2] == ["s"]:
                unit, last = f"{unit}/s", last + 2
            subject = words[:position] + words[last:]
            return f"{' '.join(subject)} [{unit}]"
    if words[-2:-1] == ["per"] and words[-1] in UNITS:
        return f"{' '.join(words[:-2])} [1/{UNITS[words[-1]]}]"
    return " ".join(words)


def _row(row: Row, right: frozenset[int]) -> nodes.row:
    entries = []
    for position, cell in enumerate(row.cells):
        classes = ["aidc-right"] if position in right else []
        entries.append(nodes.entry("", nodes.paragraph("", "", *cell), classes=classes))
    return nodes.row("", *entries, ids=[row.anchor] if row.anchor else [], classes=[*row.classes])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_numeric(column: Iterable[str]) -> bool:
    filled = [text for text in column if text]
    return bool(filled) and all(_number(text) is not None for text in filled)


def _cell(text: str, numeric: bool) -> str:
    value = _number(text) if numeric else None
    if value is not None:
        return display_number(value)
    return {"True": "yes", "False": "no"}.get(text, text)
