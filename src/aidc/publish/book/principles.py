"""What binds the study, on a page: principles, forbidden uses, limits, open points."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging

from aidc.evidence.registry import Principle, PrincipleKind
from aidc.publish.book.directives import EvidenceDirective
from aidc.publish.book.marks import variable_link
from aidc.publish.book.roles import nearest

LOGGER = logging.getLogger(__name__)


class Principles(EvidenceDirective):
    """``{principles} KIND``: the registered statements of a kind, with their variables.

    KIND is ``principle``, ``forbidden_use``, ``limit`` or ``open_point``.
    """

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions, or a warning if the register has none of the kind."""
        kind = self.arguments[0]
        self.evidence.note_use("principles", kind)
        found = [one for one in self.evidence.shelf.principles if one.kind == kind]
        if not found:
            known = [str(one.value) for one in PrincipleKind]
            LOGGER.warning(
                "{principles}: the registry has none of kind %r%s",
                kind,
                nearest(kind, known),
                location=self.get_location(),
            )
            return []
        listed = nodes.definition_list(
            "", *(self._item(one) for one in found), classes=["aidc-principles"]
        )
        self.add_name(listed)
        return [listed]

    def _item(self, one: Principle) -> nodes.Node:
        term = nodes.term("", "", nodes.Text(f"{one.name} "))
        term += nodes.inline("", one.name_zh, classes=["aidc-zh"])
        statement = nodes.paragraph("", "", *self.inline(one.statement))
        body = nodes.definition("", statement)
        if one.settles:
            body += nodes.paragraph(
                "", "", nodes.Text("It would settle: "), nodes.Text(one.settles)
            )
        variables = self._variables(one)
        if variables:
            body += nodes.paragraph("", "", nodes.Text("In the register: "), *variables)
        if one.kind is PrincipleKind.FORBIDDEN_USE:
            body += self._enforced(one)
        return nodes.definition_list_item("", term, body)

    def _variables(self, one: Principle) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for key in one.variables:
            self.evidence.note_use("variable", key)
            variable = self.evidence.shelf.variable(key)
            if variable is None:
                LOGGER.warning(
                    "{principles}: %r names the unknown variable %r",
                    one.key,
                    key,
                    location=self.get_location(),
                )
                continue
            shown += [nodes.Text(", ")] if shown else []
            shown.append(variable_link(self.env, variable))
        return [*shown, nodes.Text(".")] if shown else []

    def _enforced(self, one: Principle) -> nodes.Node:
        """Return which code refuses a use, or that only a reader can notice it."""
        line = nodes.paragraph("", "", classes=["aidc-note"])
        if not one.enforced_by:
            line += nodes.Text("No function can refuse it: a reader has to notice.")
            return line
        line += nodes.Text("Kept out by ")
        for position, name in enumerate(one.enforced_by):
            line += nodes.Text(", " if position else "")
            line += nodes.literal("", name.removeprefix("aidc."))
        line += nodes.Text(".")
        return line
