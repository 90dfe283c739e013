"""The symbols of a part of the book, on the page of its nomenclature."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging

from aidc.evidence.symbols import Part, Symbol
from aidc.publish.book import tables
from aidc.publish.book.directives import EvidenceDirective
from aidc.publish.book.roles import nearest

LOGGER = logging.getLogger(__name__)

HEADS = ("Symbol", "Meaning", "Unit", "Layer", "Defined in")
EQUATION = "eq-"


class Symbols(EvidenceDirective):
    """``{symbols} PART``: the registered symbols of a part, each with its place."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return a table, or a warning if the register has none of the part."""
        part = self.arguments[0]
        self.evidence.note_use("symbols", part)
        found = [one for one in self.evidence.shelf.symbols if one.part == part]
        if not found:
            known = [str(one.value) for one in Part]
            LOGGER.warning(
                "{symbols}: the registry has none of part %r%s",
                part,
                nearest(part, known),
                location=self.get_location(),
            )
            return []
        table = tables.build(HEADS, [self._row(one) for one in found], classes=["aidc-symbols"])
        self.add_name(table)
        return [table]

    def _row(self, one: Symbol) -> tables.Row:
        role = "equation {eq}" if one.defined.startswith(EQUATION) else "{ref}"
        return tables.Row(
            [
                [nodes.math("", one.symbol)],
                self.inline(one.meaning),
                [nodes.Text(one.unit)],
                [nodes.Text(one.layer or "–")],
                self.inline(f"{role}`{one.defined}`"),
            ]
        )
