"""The register of inputs: every variable, and the published work that it is read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aidc import paths
from aidc.evidence.core import Carrier, Evidence
from aidc.evidence.errors import InputError
from aidc.evidence.registry import (
    Source,
    Status,
    Variable,
    Work,
    load_sources,
    load_variables,
    load_works,
)


@dataclass(frozen=True)
class Band:
    """A part of the map of inputs: variables that enter a study in the same way.

    Attributes
    ----------
    key, title, meaning : str
        Name in the code, and what a reader sees.
    title_zh : str
        The paper's own word for it.
    statuses : tuple of Status
        Statuses that belong to it.
    """

    key: str
    title: str
    title_zh: str
    meaning: str
    statuses: tuple[Status, ...]


BANDS = (
    Band(
        "observed",
        "Observed",
        "观测层",
        "read from public data",
        (Status.OBSERVED, Status.COMPUTED_FIELD),
    ),
    Band(
        "missing",
        "Missing",
        "未观测",
        "no public data settle it",
        (Status.NOT_OBSERVED, Status.INSUFFICIENT_EVIDENCE),
    ),
    Band(
        "constructed",
        "Constructed",
        "构造层",
        "set by the experimenter",
        (Status.EXPERIMENTAL_SETTING,),
    ),
    Band("derived", "Derived", "推导层", "computed by a model", (Status.DERIVED,)),
)
"""From what is given to what is computed. Every status belongs to exactly one band."""


@dataclass(frozen=True)
class Group:
    """Variables of one band that are read from the same works, and the files of these works."""

    works: tuple[Work, ...]
    files: tuple[Source, ...]
    variables: tuple[Variable, ...]


@dataclass(frozen=True, kw_only=True)
class Register(Carrier):
    """All registered inputs of the study.

    Attributes
    ----------
    works : mapping of str to Work
        By citation key.
    sources : mapping of str to Source
        Files that can be fetched and recognised.
    variables : tuple of Variable
        In the order of the boundary table.
    """

    works: Mapping[str, Work]
    sources: Mapping[str, Source]
    variables: tuple[Variable, ...]

    def in_band(self, band: Band) -> tuple[Variable, ...]:
        """Return the variables of a band."""
        return tuple(v for v in self.variables if v.status in band.statuses)

    def groups(self, band: Band) -> list[Group]:
        """Return the variables of a band by the works that they are read from.

        Variables without a work come first. A work that no variable is read from is
        listed with the observed ones, empty.
        """
        members: dict[tuple[str, ...], list[Variable]] = {(): []}
        for variable in self.in_band(band):
            members.setdefault(variable.works, []).append(variable)
        if band is BANDS[0]:
            used = {key for variable in self.variables for key in variable.works}
            members.update({(key,): [] for key in self.works if key not in used})
        return [
            Group(
                works=tuple(self.works[key] for key in keys),
                files=tuple(s for s in self.sources.values() if s.citation in keys),
                variables=tuple(found),
            )
            for keys, found in members.items()
            if keys or found
        ]


def read_register(folder: Path = paths.REGISTRY) -> Register:
    """Return the register of inputs that a folder of registries holds.

    Raises
    ------
    InputError
        For a bad entry, or a variable or a file of a work that is not registered.
    """
    works = load_works(folder / "works.yml")
    sources = load_sources(folder / "sources.yml")
    variables = tuple(load_variables(folder / "variables.yml"))
    _check(folder / "variables.yml", {v.key: v.works for v in variables}, works)
    _check(folder / "sources.yml", {s.key: (s.citation,) for s in sources.values()}, works)
    return Register(
        works=works,
        sources=sources,
        variables=variables,
        evidence=Evidence.reading(("sources", "variables", "works")),
    )


def _check(path: Path, named: Mapping[str, tuple[str, ...]], works: Mapping[str, Work]) -> None:
    for entry, keys in named.items():
        for key in keys:
            if key not in works:
                raise InputError(
                    f"{paths.display(path)}, entry {entry!r}: found the work {key!r}, "
                    f"expected one of {', '.join(works)}; add it to works.yml"
                )
