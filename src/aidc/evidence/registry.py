"""The registries: sources, published claims and variables, as checked models.

The YAML files in ``data/registry`` are the only place where published figures, source
hashes and the status of a variable are written down. A bad entry is refused with the
file, the entry and the field at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from aidc import paths
from aidc.evidence.errors import InputError

Hex40 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Source(_Entry):
    """A published file that the compendium can fetch and recognise.

    At least one content hash is required: without one nothing can be VERIFIED.
    """

    key: str
    title: str
    path: str
    url: str
    commit: Hex40 | None = None
    bytes: int | None = Field(default=None, gt=0)
    git_blob: Hex40 | None = None
    sha256: Hex64 | None = None
    licence: tuple[str, ...] = Field(min_length=1)
    citation: str
    dialect: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _has_a_hash(self) -> Source:
        if self.git_blob is None and self.sha256 is None:
            raise ValueError("needs git_blob or sha256")
        return self


class Claim(_Entry):
    """A number that the paper or a data card publishes.

    Attributes
    ----------
    value, unit, exact, tolerance
        As published; ``tolerance`` is absolute, in ``unit``; ``exact`` says whether
        the text gives the figure without "about".
    population, definition
        What was counted, and how.
    source : str
        Citation key of the text that publishes it.
    input : str or None
        Key of the source on which it can be recomputed.
    calibrated : bool
        Whether the stand-in was calibrated to it, which makes agreement a matter of
        construction.
    number : str or None
        Id of the number that recomputes it; None while nothing does.
    reading : str or None
        Name of the published figure, where its text leaves open which definition it
        means and each reading is a claim of its own: one reading that agrees is enough.
    """

    id: str
    value: int | float | str
    unit: str
    exact: bool
    tolerance: float = Field(ge=0)
    population: str
    definition: str
    section: str
    source: str
    input: str | None = None
    calibrated: bool = False
    number: str | None
    reading: str | None = None
    note: str | None = None


class Status(StrEnum):
    """What the compendium holds a variable to be."""

    OBSERVED = "observed"
    EXPERIMENTAL_SETTING = "experimental_setting"
    DERIVED = "derived"
    NOT_OBSERVED = "not_observed"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    COMPUTED_FIELD = "computed_field"


class Variable(_Entry):
    """A row of the boundary table: what a variable is, may be used for, and is not."""

    key: str
    name: str
    name_zh: str
    paper_label: str | None
    status: Status
    first_use: str
    limitation: str
    source: str | None = None
    unit: str | None = None
    section: str


E = TypeVar("E", bound=_Entry)


def _document(path: Path) -> Any:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{paths.display(path)}: cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "no YAML"
        raise InputError(f"{paths.display(path)}{where}: {problem}; expected YAML") from error
    paths.record_input(path)
    return document


def _entry(model: type[E], path: Path, label: str, fields: object) -> E:
    if not isinstance(fields, Mapping):
        raise InputError(
            f"{paths.display(path)}, entry {label!r}: found {type(fields).__name__}, "
            "expected a mapping of fields"
        )
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(whole entry)"
        raise InputError(
            f"{paths.display(path)}, entry {label!r}, field {field!r}: {first['msg']}"
            f" (found {first['input']!r}); see aidc.evidence.registry.{model.__name__}"
        ) from error


def _keyed(model: type[E], path: Path, *named_by_key: str) -> dict[str, E]:
    """Read a mapping of entries; the fields ``named_by_key`` default to the key."""
    document = _document(path)
    if not isinstance(document, Mapping):
        raise InputError(
            f"{paths.display(path)}: found {type(document).__name__}, expected a mapping of entries"
        )
    entries: dict[str, E] = {}
    for key, fields in document.items():
        if isinstance(fields, Mapping):
            fields = dict.fromkeys(named_by_key, key) | dict(fields)
        entries[str(key)] = _entry(model, path, str(key), fields)
    return entries


def load_sources(path: Path = paths.REGISTRY / "sources.yml") -> dict[str, Source]:
    """Return the registered sources by key.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return _keyed(Source, path, "key")


def load_claims(path: Path = paths.REGISTRY / "claims.yml") -> dict[str, Claim]:
    """Return the published claims by id; ``number`` defaults to the claim's own id.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return _keyed(Claim, path, "id", "number")


def load_variables(path: Path = paths.REGISTRY / "variables.yml") -> list[Variable]:
    """Return the variables in the order of the boundary table.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry, or a key given twice.
    """
    document = _document(path)
    if not isinstance(document, list):
        raise InputError(
            f"{paths.display(path)}: found {type(document).__name__}, expected a list of entries"
        )
    variables: list[Variable] = []
    seen: set[str] = set()
    for position, fields in enumerate(document, start=1):
        label = str(fields.get("key", position)) if isinstance(fields, Mapping) else str(position)
        variable = _entry(Variable, path, label, fields)
        if variable.key in seen:
            raise InputError(
                f"{paths.display(path)}, entry {label!r}, field 'key': found twice, expected once"
            )
        seen.add(variable.key)
        variables.append(variable)
    return variables
