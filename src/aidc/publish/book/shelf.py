"""What a book is built from: results, executed notebooks and registries, read once a build."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from aidc import paths
from aidc.evidence.register import Register, read_register
from aidc.evidence.registry import (
    Claim,
    Principle,
    Variable,
    load_claims,
    load_principles,
    load_variables,
)
from aidc.evidence.symbols import Symbol, load_symbols
from aidc.publish import freshness, ledger
from aidc.publish.ledger import Number, Verdict

NOTEBOOKS = "notebooks"
"""Folder of the notebook pages, relative to the root of the book."""

NOT_COMPUTED = "(not computed with these parameters)"
NOT_RUN = "(not part of this run)"
"""What stands in place of a result that a run with other parameters lacks."""

Key = tuple[str, str]
"""What a page can depend on: a kind ("num", "result", ...) and a name within it."""


@dataclass(frozen=True)
class Shelf:
    """Everything a page may quote, and how to tell that it changed.

    Attributes
    ----------
    source : Path
        Root of the book: the folder of ``_config.yml``.
    run : Path or None
        Folder of a run (``AIDC_RUN``); None stands for the accepted results and the
        committed notebooks.
    """

    source: Path
    run: Path | None = None

    @classmethod
    def of(cls, source: Path) -> Shelf:
        """Return the shelf of the book at ``source``, for the run that ``AIDC_RUN`` names."""
        named = os.environ.get(paths.RUN_VARIABLE)
        return cls(source, Path(named).resolve() if named else None)

    @property
    def results(self) -> Path:
        """Folder with one folder of results a notebook."""
        return (self.run or self.source / "book") / "results"

    @cached_property
    def accepted(self) -> Shelf:
        """What is committed: the results of the default run."""
        return Shelf(self.source)

    @property
    def registry(self) -> Path:
        """Folder of the registries."""
        return self.source / "data" / "registry"

    @cached_property
    def numbers(self) -> dict[str, dict[str, Any]]:
        """Published numbers by id."""
        return ledger.read_numbers(self.results)

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The ``run.json`` of each notebook by the notebook's name."""
        folders = sorted(path.parent for path in self.results.glob("*/run.json"))
        found = {folder.name: freshness.read_record(folder) for folder in folders}
        return {name: record for name, record in found.items() if record is not None}

    @cached_property
    def artefacts(self) -> dict[str, dict[str, Any]]:
        """Figures and tables by ``NOTEBOOK/FILE``."""
        return {
            f"{notebook}/{name}": entry
            for notebook, record in self.records.items()
            for name, entry in record["artefacts"].items()
        }

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """Published claims by id."""
        path = self.registry / "claims.yml"
        return load_claims(path) if path.is_file() else {}

    @cached_property
    def variables(self) -> list[Variable]:
        """Variables in the order of the boundary table."""
        path = self.registry / "variables.yml"
        return load_variables(path) if path.is_file() else []

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Symbols of the equations, in the order of the register."""
        path = self.registry / "symbols.yml"
        return load_symbols(path) if path.is_file() else []

    @cached_property
    def principles(self) -> list[Principle]:
        """Principles, limits, forbidden uses and open points in the order of the file."""
        path = self.registry / "principles.yml"
        return load_principles(path) if path.is_file() else []

    @cached_property
    def register(self) -> Register | None:
        """Variables with the works they are read from, or None without a register of works."""
        return read_register(self.registry) if (self.registry / "works.yml").is_file() else None

    def variable(self, key: str) -> Variable | None:
        """Return a variable by its key, or None if it is not registered."""
        return next((found for found in self.variables if found.key == key), None)

    def artefact_file(self, name: str) -> Path | None:
        """Return the file of a figure or table, or None if it was not published."""
        path = self.results / name
        return path if name in self.artefacts and path.is_file() else None

    def notebook_file(self, notebook: str) -> Path | None:
        """Return the run's executed copy of a notebook, or None without one."""
        if self.run is None:
            return None
        path = self.run / f"{notebook}.ipynb"
        return path if path.is_file() else None

    def absence(self, key: Key) -> str:
        """Return why this run may lack a result that the default run has; "" if it may not.

        A parameter can leave a number, a figure or a table out. With the parameters of
        the default run nothing may be missing, and an id that the default run lacks too
        is a mistake in the page.
        """
        notebook = self.accepted.publisher(key)
        if notebook is None or not self.other_parameters(*self.accepted.records):
            return ""
        if notebook not in self.records:
            return NOT_RUN
        return NOT_COMPUTED if self.other_parameters(notebook) else ""

    def publisher(self, key: Key) -> str | None:
        """Return the notebook that published a number or an artefact, or is the one named."""
        kind, name = key
        if kind == "num":
            return self.numbers[name]["notebook"] if name in self.numbers else None
        if kind == "result":
            return name.partition("/")[0] if name in self.artefacts else None
        return name if name in self.records else None

    def other_parameters(self, *notebooks: str) -> bool:
        """Return whether one of these notebooks ran with parameters other than the default."""
        return any(
            self.records[name]["parameters"] != self.accepted.records[name]["parameters"]
            for name in notebooks
            if name in self.records and name in self.accepted.records
        )

    def verdicts(self, section: str) -> list[Verdict]:
        """Return the verdicts on a section's claims; ``""`` stands for all sections."""
        chosen = [claim for claim in self.claims.values() if section in ("", claim.section)]
        return ledger.verdicts(chosen, self.numbers)

    def evidence(self, key: Key) -> list[Number]:
        """Return the evidence of every result behind ``key``; registries have none."""
        kind, name = key
        found: list[Number | None] = []
        if kind == "num":
            found = [self.numbers.get(name)]
        elif kind == "result":
            found = [self.artefacts.get(name)]
        elif kind == "notebook":
            found = [self.records.get(name)]
        elif kind == "claims":
            found = [verdict.number for verdict in self.verdicts(name)]
        elif kind == "ledger":
            found = [*self.numbers.values(), *self.artefacts.values()]
        return [entry for entry in found if entry is not None]

    def fingerprint(self, key: Key) -> str:
        """Return a digest of what ``key`` shows; it moves exactly when that does."""
        kind, name = key
        content: Any = [dict(entry) for entry in self.evidence(key)]
        if kind == "result":
            path = self.artefact_file(name)
            content += [str(path), _file_hash(path)]
        elif kind == "notebook":
            content = [_evidence_only(entry) for entry in content]
            content.append(_file_hash(self.notebook_file(name)))
        elif kind == "claim":
            content.append(repr(self.claims.get(name)))
        elif kind == "claims":
            content.append([(repr(found.claim), found.kind) for found in self.verdicts(name)])
        elif kind == "ledger":
            content.append([sorted(self.numbers), sorted(self.artefacts)])
        elif kind == "variable":
            content.append(repr(self.variable(name)))
        elif kind == "variables":
            content.append(repr(self.variables))
        elif kind == "symbols":
            content.append(repr([found for found in self.symbols if found.part == name]))
        elif kind == "principles":
            content.append(repr([found for found in self.principles if found.kind == name]))
        elif kind == "input-map" and (register := self.register):
            # Not the carrier itself: a set within it has no order that lasts.
            content += [repr(register.works), repr(register.sources), repr(register.variables)]
        if kind in ("num", "result", "notebook") and self.publisher(key) is None:
            content.append(self.absence(key))
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def _file_hash(path: Path | None) -> str | None:
    return freshness.file_hash(path) if path else None


def _evidence_only(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows of a run: its hashes of modules do not concern a reader."""
    return {name: record.get(name) for name in ("synthetic", "provenance", "inputs")}
