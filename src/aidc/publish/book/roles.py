"""The roles ``{num}``, ``{claim}`` and ``{variable}``: what running text quotes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from aidc.publish.book.domain import domain_of
from aidc.publish.book.marks import absent, claim_link, number_link, variable_link

LOGGER = logging.getLogger(__name__)

Result = tuple[list[nodes.Node], list[nodes.system_message]]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: what may have been meant."""
    near = difflib.get_close_matches(name, known, n=3)
    return f"; nearest: {', '.join(near)}" if near else ""


class _IdRole(SphinxRole):
    """A role whose text is an id, or ``ID|value`` (without the unit)."""

    def parts(self) -> tuple[str, bool]:
        """Return the id and whether the unit is wanted."""
        name, _, form = self.text.strip().partition("|")
        if form not in ("", "value"):
            LOGGER.warning(
                "role {%s}: found form %r, expected `ID` or `ID|value`",
                self.name,
                form,
                location=self.get_location(),
            )
        return name, form != "value"

    def unknown(self, what: str, name: str, known: Iterable[str]) -> Result:
        """Warn about an id that does not exist and show it in the page as it is."""
        LOGGER.warning(
            "unknown %s %r%s", what, name, nearest(name, known), location=self.get_location()
        )
        return [nodes.inline("", f"[{name}?]", classes=["aidc-unknown"])], []


class NumberRole(_IdRole):
    """``{num}`ID` ``: a number of the run that the book is built from."""

    def run(self) -> Result:
        """Return the number with its marks, what explains its absence, or a warning."""
        number_id, with_unit = self.parts()
        domain = domain_of(self.env)
        domain.note_use("num", number_id)
        entry = domain.shelf.numbers.get(number_id)
        if entry is None and (absence := domain.shelf.absence(("num", number_id))):
            return [absent(absence)], []
        if entry is None:
            return self.unknown("number", number_id, domain.shelf.numbers)
        return [number_link(self.env, number_id, entry, with_unit=with_unit)], []


class ClaimRole(_IdRole):
    """``{claim}`ID` ``: a published figure, marked as not computed here."""

    def run(self) -> Result:
        """Return the figure with its mark, or a warning for an unknown id."""
        claim_id, with_unit = self.parts()
        domain = domain_of(self.env)
        domain.note_use("claim", claim_id)
        claim = domain.shelf.claims.get(claim_id)
        if claim is None:
            return self.unknown("claim", claim_id, domain.shelf.claims)
        return [claim_link(self.env, claim, with_unit=with_unit)], []


class VariableRole(_IdRole):
    """``{variable}`KEY` ``: the name of a variable, linked to its row of the boundary table."""

    def run(self) -> Result:
        """Return the name, or a warning for an unknown key."""
        key = self.text.strip()
        domain = domain_of(self.env)
        domain.note_use("variable", key)
        variable = domain.shelf.variable(key)
        if variable is None:
            known = [found.key for found in domain.shelf.variables]
            return self.unknown("variable", key, known)
        return [variable_link(self.env, variable)], []
