"""Where each number, claim and result is explained, and which page quotes which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from aidc.evidence import Provenance
from aidc.publish.book.shelf import Key, Shelf

NAME = "aidc"


class EvidenceDomain(Domain):
    """Anchors of the ledger and claims pages, and the results each page depends on.

    Both are kept with the environment: links resolve whatever the order of the pages,
    and a later build re-reads the pages that quote something that changed.
    """

    name = NAME
    label = "Evidence"
    object_types = {  # noqa: RUF012 - as Sphinx declares it
        "num": ObjType("number", "num"),
        "claim": ObjType("claim", "claim"),
        "result": ObjType("result", "result"),
        "ledger": ObjType("ledger", "ledger"),
    }
    initial_data: dict[str, Any] = {"anchors": {}, "uses": {}}  # noqa: RUF012
    dangling_warnings = {  # noqa: RUF012
        "num": "no page with a {ledger} explains the number %(target)r",
        "result": "no page with a {ledger} explains the result %(target)r",
        "ledger": "no page has a {ledger}",
        "claim": "no page with {claims} explains the claim %(target)r",
    }

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self.shelf = Shelf.of(env.srcdir)

    @property
    def anchors(self) -> dict[str, dict[Key, str]]:
        """Anchor of each explained object, by page."""
        found: dict[str, dict[Key, str]] = self.data["anchors"]
        return found

    @property
    def uses(self) -> dict[str, dict[Key, str]]:
        """Fingerprint, when last read, of everything a page shows, by page."""
        found: dict[str, dict[Key, str]] = self.data["uses"]
        return found

    def note_use(self, kind: str, name: str) -> None:
        """Record that the page being read shows ``name``."""
        used = self.uses.setdefault(self.env.docname, {})
        used[kind, name] = self.shelf.fingerprint((kind, name))

    def note_anchor(self, kind: str, name: str, anchor: str) -> None:
        """Record that the page being read explains ``name`` at ``anchor``."""
        self.anchors.setdefault(self.env.docname, {})[kind, name] = anchor

    def outdated(self) -> list[str]:
        """Return the pages that show something that is not as it was when they were read."""
        return [
            page
            for page, used in self.uses.items()
            if any(self.shelf.fingerprint(key) != found for key, found in used.items())
        ]

    def inputs(self, page: str, provenance: Provenance) -> list[str]:
        """Return the files and stand-ins behind what a page shows of one provenance, sorted."""
        return sorted(
            {
                name
                for key in self.uses.get(page, {})
                for entry in self.shelf.evidence(key)
                if entry["provenance"] == provenance.key
                for name in entry["inputs"]
                if not name.startswith("setting:")
            }
        )

    def clear_doc(self, docname: str) -> None:
        """Forget a page before it is read again."""
        self.anchors.pop(docname, None)
        self.uses.pop(docname, None)

    def merge_domaindata(self, docnames: list[str], otherdata: dict[str, Any]) -> None:
        """Take over what another process read."""
        for part in ("anchors", "uses"):
            for page in set(docnames) & set(otherdata[part]):
                self.data[part][page] = otherdata[part][page]

    def locate(self, kind: str, name: str) -> tuple[str, str] | None:
        """Return page and anchor that explain ``name``.

        Several pages may list a claim; the fullest list is the reference.
        """
        pages = [page for page, known in self.anchors.items() if (kind, name) in known]
        if not pages:
            return None
        page = min(pages, key=lambda found: (-len(self.anchors[found]), found))
        return page, self.anchors[page][kind, name]

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: pending_xref,
        contnode: nodes.Element,
    ) -> nodes.reference | None:
        """Return the link to the entry that explains ``target``."""
        place = self.locate(typ, target)
        if place is None:
            return None
        tooltip = node.get("aidc-tooltip")
        link = make_refnode(builder, fromdocname, *place, contnode, tooltip)
        link["classes"].append("aidc-link")
        return link

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.Element]]:
        """Return nothing: an id is linked by its role, never by a guess."""
        return []

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield every explained object, so that the search finds an id."""
        for kind, name in sorted({key for known in self.anchors.values() for key in known}):
            place = self.locate(kind, name)
            if place and kind != "ledger":
                yield (name, name, kind, *place, 1)


def domain_of(env: BuildEnvironment) -> EvidenceDomain:
    """Return the evidence domain of a build."""
    found = env.get_domain(NAME)
    assert isinstance(found, EvidenceDomain)  # noqa: S101 - narrows Sphinx's own registry
    return found


def link(
    env: BuildEnvironment,
    kind: str,
    target: str,
    content: Iterable[nodes.Node],
    tooltip: str = "",
) -> pending_xref:
    """Return a link to the entry that explains ``target``, resolved after all pages are read."""
    body = nodes.inline("", "", *content, classes=[f"aidc-{kind}"])
    return pending_xref(
        "",
        body,
        refdomain=NAME,
        reftype=kind,
        reftarget=target,
        refdoc=env.docname,
        refexplicit=True,
        refwarn=True,
        **{"aidc-tooltip": tooltip},
    )
