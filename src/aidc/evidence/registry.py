"""The registries: sources, published claims, variables and principles, as checked models.

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
    TypeAdapter,
    ValidationError,
    model_validator,
)

from aidc import paths
from aidc.evidence.errors import InputError

Hex40 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
HexPart = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{4,63}$")]


class Entry(BaseModel):
    """Base of every registry entry: no field that is not known, none that changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Keyed(Entry):
    """Base of an entry of a list, known by its key."""

    key: str


class Source(Entry):
    """A published file that the compendium can fetch and recognise.

    A content hash is required: without one nothing can be VERIFIED. Where only the first
    digits of a hash are public (``sha256_start``, ``sha256_end``), the file can be
    fetched and a wrong one refused, but it stays UNVERIFIED.
    """

    key: str
    title: str
    path: str
    url: str
    commit: Hex40 | None = None
    bytes: int | None = Field(default=None, gt=0)
    git_blob: Hex40 | None = None
    sha256: Hex64 | None = None
    sha256_start: HexPart | None = None
    sha256_end: HexPart | None = None
    licence: tuple[str, ...] = Field(min_length=1)
    citation: str
    dialect: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _has_a_hash(self) -> Source:
        if not self.verifiable and self.sha256_start is None:
            raise ValueError("needs git_blob or sha256, or at least sha256_start")
        return self

    @property
    def verifiable(self) -> bool:
        """Whether a whole content hash is known."""
        return self.git_blob is not None or self.sha256 is not None


class Claim(Entry):
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
    quantile, bin, time_zone : str or None
        How a quantile is defined, what a count is taken over and in whose time, as far
        as the text says; None where the question does not arise.
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
    quantile: str | None = None
    bin: str | None = None
    time_zone: str | None = None
    input: str | None = None
    calibrated: bool = False
    number: str | None
    reading: str | None = None
    note: str | None = None


class Work(Entry):
    """A published work that variables are read from.

    Attributes
    ----------
    key : str
        Citation key in ``book/references.bib``.
    name : str
        As a reader knows it.
    gives : str
        What it records or states.
    boundary : str
        Where that ends.
    """

    key: str
    name: str
    gives: str
    boundary: str


class Status(StrEnum):
    """What the compendium holds a variable to be."""

    OBSERVED = "observed"
    EXPERIMENTAL_SETTING = "experimental_setting"
    DERIVED = "derived"
    NOT_OBSERVED = "not_observed"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    COMPUTED_FIELD = "computed_field"


class Variable(Keyed):
    """A row of the boundary table: what a variable is, may be used for, and is not."""

    name: str
    name_zh: str
    paper_label: str | None
    status: Status
    first_use: str
    limitation: str
    source: str | None = None  # citation keys, joined by commas as a citation takes them
    paper_table: bool = False  # whether the paper's own boundary table has it
    unit: str | None = None
    section: str

    @property
    def works(self) -> tuple[str, ...]:
        """Citation keys of the works that it is read from."""
        return tuple(key.strip() for key in (self.source or "").split(",") if key.strip())


class PrincipleKind(StrEnum):
    """What a statement of `Principle` is."""

    PRINCIPLE = "principle"
    LIMIT = "limit"
    FORBIDDEN_USE = "forbidden_use"
    OPEN_POINT = "open_point"


class _UniqueKeys(yaml.SafeLoader):
    """A safe loader that refuses a key given twice, which YAML would let win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping whose keys are all different."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for (key, _), name in zip(node.value, keys, strict=True):
            if keys.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {name!r} is given twice", key.start_mark
                )
        return super().construct_mapping(node, deep)


class Principle(Keyed):
    """A statement that binds the study: a principle, a limit, a forbidden use.

    Attributes
    ----------
    statement : str
        In this book's words.
    settles : str or None
        What would be settled if the data that a limit names were public.
    variables : tuple of str
        Keys of the variables that it is about.
    enforced_by : tuple of str
        Dotted names of the types and functions that make breaking it an error; empty
        where only a reader can notice.
    section : str
        Section of the paper that states it.
    """

    kind: PrincipleKind
    name: str
    name_zh: str
    statement: str
    settles: str | None = None
    variables: tuple[str, ...] = ()
    enforced_by: tuple[str, ...] = ()
    section: str


T = TypeVar("T")
E = TypeVar("E", bound=Entry)
K = TypeVar("K", bound=Keyed)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises
    ------
    InputError
        If it cannot be read or is no YAML, with the line.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506  # safe
    except OSError as error:
        raise InputError(f"{paths.display(path)}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{paths.display(path)}: no UTF-8 text; save the file as UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "no YAML"
        raise InputError(f"{paths.display(path)}{where}: {problem}; expected YAML") from error
    paths.record_input(path)
    return document


def checked_entry(model: type[T], path: Path, label: str, fields: object) -> T:
    """Return ``fields`` of a file as a checked ``model`` (a pydantic model or a dataclass).

    Raises
    ------
    InputError
        Naming file, entry and field of the first fault.
    """
    if not isinstance(fields, Mapping):
        raise InputError(
            f"{paths.display(path)}, entry {label!r}: found {type(fields).__name__}, "
            "expected a mapping of fields"
        )
    try:
        return TypeAdapter(model).validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "(whole entry)"
        raise InputError(
            f"{paths.display(path)}, entry {label!r}, field {field!r}: {first['msg']}"
            f" (found {first['input']!r}); see {model.__module__}.{model.__name__}"
        ) from error


def read_entries(model: type[E], path: Path, *named_by_key: str) -> dict[str, E]:
    """Return the entries of a mapping; the fields ``named_by_key`` default to the key.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    document = read_yaml(path)
    if not isinstance(document, Mapping):
        raise InputError(
            f"{paths.display(path)}: found {type(document).__name__}, expected a mapping of entries"
        )
    entries: dict[str, E] = {}
    for key, fields in document.items():
        if isinstance(fields, Mapping):
            fields = dict.fromkeys(named_by_key, key) | dict(fields)
        entries[str(key)] = checked_entry(model, path, str(key), fields)
    return entries


def load_sources(path: Path = paths.REGISTRY / "sources.yml") -> dict[str, Source]:
    """Return the registered sources by key.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return read_entries(Source, path, "key")


def load_works(path: Path = paths.REGISTRY / "works.yml") -> dict[str, Work]:
    """Return the works that variables are read from, by citation key.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return read_entries(Work, path, "key")


def load_claims(path: Path = paths.REGISTRY / "claims.yml") -> dict[str, Claim]:
    """Return the published claims by id; ``number`` defaults to the claim's own id.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return read_entries(Claim, path, "id", "number")


def load_variables(path: Path = paths.REGISTRY / "variables.yml") -> list[Variable]:
    """Return the variables in the order of the boundary table.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry, or a key given twice.
    """
    return read_list(Variable, path)


def load_principles(path: Path = paths.REGISTRY / "principles.yml") -> list[Principle]:
    """Return principles, limits, forbidden uses and open points in the order of the file.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry, or a key given twice.
    """
    return read_list(Principle, path)


def read_list(model: type[K], path: Path) -> list[K]:
    """Return the entries of a list, each with a key of its own.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry, or a key given twice.
    """
    document = read_yaml(path)
    if not isinstance(document, list):
        raise InputError(
            f"{paths.display(path)}: found {type(document).__name__}, expected a list of entries"
        )
    entries: list[K] = []
    seen: set[str] = set()
    for position, fields in enumerate(document, start=1):
        label = str(fields.get("key", position)) if isinstance(fields, Mapping) else str(position)
        entry = checked_entry(model, path, label, fields)
        if entry.key in seen:
            raise InputError(
                f"{paths.display(path)}, entry {label!r}, field 'key': found twice, expected once"
            )
        seen.add(entry.key)
        entries.append(entry)
    return entries
