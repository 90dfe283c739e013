"""The directives: figures and tables of a run, claims, the ledger, the boundary table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.directives.patches import Figure
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from aidc.evidence import Layer
from aidc.evidence.register import BANDS, Band, Group, Register
from aidc.evidence.registry import Claim, Variable
from aidc.publish.book import tables
from aidc.publish.book.domain import EvidenceDomain, domain_of, link
from aidc.publish.book.marks import (
    absent,
    evidence_text,
    marks,
    number_link,
    number_text,
    origin_text,
    quantity,
    status_pill,
    variable_link,
    verdict_pill,
)
from aidc.publish.book.roles import nearest
from aidc.publish.book.shelf import NOTEBOOKS
from aidc.publish.ledger import Number, Verdict, published_text

LOGGER = logging.getLogger(__name__)

Cells = Sequence[Sequence[nodes.Node]]


class EvidenceDirective(SphinxDirective):
    """A directive that shows something from the shelf."""

    @property
    def evidence(self) -> EvidenceDomain:
        """The evidence domain of the build."""
        return domain_of(self.env)

    def artefact(self, name: str) -> tuple[Path, Number] | str | None:
        """Return the file and the evidence of a figure or table.

        Text says why the run lacks it; without a reason, warn and return None.
        """
        self.evidence.note_use("result", name)
        shelf = self.evidence.shelf
        path = shelf.artefact_file(name)
        if path is None and (absence := shelf.absence(("result", name))):
            return absence
        if path is None:
            LOGGER.warning(
                "{%s}: the results hold no %r%s",
                self.name,
                name,
                nearest(name, shelf.artefacts),
                location=self.get_location(),
            )
            return None
        return path, shelf.artefacts[name]

    def result_mark(self, name: str, entry: Number) -> nodes.Node:
        """Return the mark of a figure or table, linked to the ledger."""
        return link(self.env, "result", name, marks(entry), evidence_text(entry))

    def inline(self, text: str) -> list[nodes.Node]:
        """Return text parsed as inline Markdown."""
        parsed, messages = self.state.inline_text(text, self.lineno)
        return [*parsed, *messages]

    def cited(self, key: str | None) -> list[nodes.Node]:
        """Return a citation of a work in the references."""
        return self.inline(f"{{cite}}`{key}`") if key else []


class ResultFigure(EvidenceDirective, Figure):
    """``{result-figure} NOTEBOOK/FILE.svg``: a figure of the run; the caption is the content."""

    def run(self) -> list[nodes.Node]:
        """Return the figure with its mark at the end of the caption."""
        name = self.arguments[0]
        found = self.artefact(name)
        if found is None:
            return []
        if isinstance(found, str):
            return [self._absent(found)]
        path, entry = found
        folder = Path(self.env.doc2path(self.env.docname)).parent
        self.arguments[0] = Path(os.path.relpath(path, folder)).as_posix()
        self.options.setdefault("alt", entry["alt"])
        self.options.setdefault("class", []).append("aidc-figure")
        (figure, *rest) = Figure.run(self)
        caption = next(figure.findall(nodes.caption), None)
        if caption is not None:
            caption += [nodes.Text(" "), self.result_mark(name, entry)]
        return [figure, *rest]

    def _absent(self, why: str) -> nodes.Node:
        """Return a figure of one line, numbered as ever, so that references to it hold."""
        figure = nodes.figure("", nodes.caption("", "", absent(why)))
        figure["classes"].append("aidc-figure")
        self.set_source_info(figure)
        self.add_name(figure)
        return figure


class ResultTable(EvidenceDirective):
    """``{result-table} NOTEBOOK/FILE.csv``: a table of the run; the caption is the content."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Return the table, numbered when it has a caption, with its mark."""
        name = self.arguments[0]
        found = self.artefact(name)
        if found is None:
            return []
        if isinstance(found, str):
            return [self._absent(found)]
        path, entry = found
        table = tables.from_csv(path)
        table["classes"] += self.options.get("class", [])
        caption = self.inline(" ".join(self.content)) if self.content else []
        if caption:
            title = nodes.title("", "", *caption, nodes.Text(" "), self.result_mark(name, entry))
            table.insert(0, title)
        self.set_source_info(table)
        self.add_name(table)
        return [table]

    def _absent(self, why: str) -> nodes.Node:
        """Return a table of one line, numbered if the whole one is, so that references hold."""
        shown: nodes.Element = nodes.paragraph("", "", absent(why))
        if self.content:
            shown = nodes.table("", nodes.title("", "", absent(why)), classes=["aidc-table"])
        self.set_source_info(shown)
        self.add_name(shown)
        return shown


class Claims(EvidenceDirective):
    """``{claims} SECTION``: what a section publishes, and the verdict of the current run.

    Without a section, the claims of all sections.
    """

    optional_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the table of claims, or a warning if the section has none."""
        section = self.arguments[0] if self.arguments else ""
        self.evidence.note_use("claims", section)
        found = self.evidence.shelf.verdicts(section)
        if not found:
            LOGGER.warning(
                "{claims}: no claim is registered for section %r",
                section,
                location=self.get_location(),
            )
            return []
        heads = ["Claim", "Published", "This run", "Verdict"]
        table = tables.build(
            heads, [self._row(verdict) for verdict in found], classes=["aidc-claims"]
        )
        self.add_name(table)
        return [table]

    def _row(self, verdict: Verdict) -> tables.Row:
        claim = verdict.claim
        anchor = f"claim-{claim.id}"
        self.evidence.note_anchor("claim", claim.id, anchor)
        published = [
            nodes.Text(quantity(published_text(claim), claim.unit) + " "),
            *self.cited(claim.source),
        ]
        computed: list[nodes.Node] = [nodes.Text("—")]
        if verdict.number is not None and claim.number is not None:
            computed = [number_link(self.env, claim.number, verdict.number, with_unit=True)]
        cells: Cells = [_definition(claim), published, computed, [verdict_pill(verdict.kind)]]
        return tables.Row(cells, anchor)


class Ledger(EvidenceDirective):
    """``{ledger}``: every number, figure and table of the run, with its evidence."""

    def run(self) -> list[nodes.Node]:
        """Return one table a notebook."""
        self.evidence.note_use("ledger", "")
        shelf = self.evidence.shelf
        start = nodes.target("", "", ids=["the-ledger"])
        self.evidence.note_anchor("ledger", "", "the-ledger")
        if not shelf.numbers:
            LOGGER.warning("{ledger}: the run has no numbers", location=self.get_location())
        shown: list[nodes.Node] = [start]
        for notebook in sorted({entry["notebook"] for entry in shelf.numbers.values()}):
            shown += [self._heading(notebook), self._numbers(notebook), self._artefacts(notebook)]
        return shown

    def _heading(self, notebook: str) -> nodes.Node:
        heading = nodes.rubric("", "", classes=["aidc-notebook"])
        page = f"{NOTEBOOKS}/{notebook}"
        label = nodes.literal("", notebook)
        if page in self.env.found_docs:
            heading += pending_xref(
                "",
                nodes.inline("", "", label),
                refdomain="std",
                reftype="doc",
                reftarget=f"/{page}",
                refdoc=self.env.docname,
                refexplicit=True,
                refwarn=True,
            )
        else:
            heading += label
        return heading

    def _numbers(self, notebook: str) -> nodes.Node:
        rows = []
        for number_id, entry in self.evidence.shelf.numbers.items():
            if entry["notebook"] != notebook:
                continue
            anchor = f"num-{number_id}"
            self.evidence.note_anchor("num", number_id, anchor)
            value: list[nodes.Node] = [
                nodes.Text(number_text(entry)),
                *marks(entry),
            ]
            cells: Cells = [[nodes.literal("", number_id)], value, *_evidence_cells(entry)]
            rows.append(tables.Row(cells, anchor))
        return tables.build(
            ["Number", "Value", "Layer", "Origin"],
            rows,
            numeric=[1],
            classes=["aidc-ledger"],
        )

    def _artefacts(self, notebook: str) -> nodes.Node:
        rows = []
        for name, entry in self.evidence.shelf.artefacts.items():
            owner, _, file = name.partition("/")
            if owner != notebook:
                continue
            anchor = f"result-{owner}-{file}"
            self.evidence.note_anchor("result", name, anchor)
            cells: Cells = [
                [nodes.literal("", file)],
                [nodes.Text(entry["alt"]), *marks(entry)],
                *_evidence_cells(entry),
            ]
            rows.append(tables.Row(cells, anchor))
        return tables.build(
            ["Figure or table", "What it shows", "Layer", "Origin"],
            rows,
            classes=["aidc-ledger"],
        )


class Variables(EvidenceDirective):
    """``{variables}``: the boundary table, from the registry.

    ``:part: paper`` keeps the rows of the paper's own table, ``:part: elsewhere`` the others.
    """

    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged,
        "part": lambda text: directives.choice(text, ("paper", "elsewhere")),
    }

    def run(self) -> list[nodes.Node]:
        """Return the boundary table."""
        self.evidence.note_use("variables", "")
        part = self.options.get("part")
        found = [
            variable
            for variable in self.evidence.shelf.variables
            if part is None or variable.paper_table == (part == "paper")
        ]
        if not found:
            LOGGER.warning("{variables}: the registry has none", location=self.get_location())
        heads = ["Variable", "In the paper", "Status here", "First use", "Limitation"]
        table = tables.build(
            heads, [self._row(variable) for variable in found], classes=["aidc-variables"]
        )
        self.add_name(table)
        return [table]

    def _row(self, variable: Variable) -> tables.Row:
        unit = f" [{variable.unit}]" if variable.unit else ""
        name = [
            nodes.Text(f"{variable.name}{unit} "),
            nodes.inline("", variable.name_zh, classes=["aidc-zh"]),
        ]
        label = nodes.inline("", variable.paper_label or "—", classes=["aidc-zh"])
        cells: Cells = [
            name,
            [label],
            status_pill(variable.status),
            self.inline(variable.first_use),
            [*self.inline(variable.limitation), nodes.Text(" "), *self.cited(variable.source)],
        ]
        anchor = f"variable-{variable.key}"
        self.evidence.note_anchor("variable", variable.key, anchor)
        return tables.Row(cells, anchor)


class InputMap(EvidenceDirective):
    """``{input-map}``: the map of inputs in words, each variable linked to its limitation."""

    def run(self) -> list[nodes.Node]:
        """Return one box a band, in the order of the figure."""
        self.evidence.note_use("input-map", "")
        register = self.evidence.shelf.register
        if register is None:
            LOGGER.warning("{input-map}: no register of works", location=self.get_location())
            return []
        return [self._band(register, band) for band in BANDS]

    def _band(self, register: Register, band: Band) -> nodes.Node:
        box = nodes.container("", classes=["aidc-band", f"aidc-band-{band.key}"])
        title = nodes.paragraph("", "", classes=["aidc-band-title"])
        title += [
            nodes.strong("", band.title),
            nodes.Text(" "),
            nodes.inline("", band.title_zh, classes=["aidc-zh"]),
            nodes.Text(f": {band.meaning}"),
        ]
        box += title
        for group in register.groups(band):
            box += self._group(group)
        return box

    def _group(self, group: Group) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for work in group.works:
            line = nodes.paragraph("", "", nodes.strong("", work.name), nodes.Text(" "))
            line += [*self.cited(work.key), nodes.Text(f" gives {work.gives}. {work.boundary}")]
            shown.append(line)
        items = [
            nodes.list_item("", nodes.paragraph("", "", variable_link(self.env, variable)))
            for variable in group.variables
        ]
        if items:
            shown.append(nodes.bullet_list("", *items, classes=["aidc-variables-list"]))
        return shown


def _definition(claim: Claim) -> list[nodes.Node]:
    remarks = [f"of {claim.population}", claim.note] if claim.note else [f"of {claim.population}"]
    return [
        nodes.Text(claim.definition),
        *(nodes.inline("", remark, classes=["aidc-note"]) for remark in remarks),
        nodes.literal("", claim.id),
    ]


def _evidence_cells(entry: Number) -> Cells:
    layer = Layer[entry["layer"].upper()]
    return [
        [nodes.Text(f"{layer.key} "), nodes.inline("", layer.chinese, classes=["aidc-zh"])],
        [
            nodes.Text(origin_text(entry)),
            nodes.inline("", ", ".join(entry["inputs"]), classes=["aidc-note"]),
        ],
    ]
