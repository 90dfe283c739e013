"""The register of batteries: what is stated about a product, and what was not found."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import model_validator

from aidc import paths
from aidc.evidence.registry import Entry, read_entries


class Storage(StrEnum):
    """A storage technology of the study."""

    LFP = "lfp"
    SODIUM_ION = "sodium_ion"


class Boundary(StrEnum):
    """What a battery figure is stated for."""

    CELL = "cell"
    RACK = "rack"
    CONTAINER = "container"
    STATION = "station"
    NOT_STATED = "not_stated"


class Basis(StrEnum):
    """What kind of quantity a battery figure is."""

    NOMINAL = "nominal"
    USABLE = "usable"
    END_OF_LIFE = "end_of_life"
    NOT_STATED = "not_stated"


class Disclosure(StrEnum):
    """Who states a battery parameter."""

    MAKER = "maker"
    THIRD_PARTY = "third_party"
    NOT_FOUND = "not_found"


class BatteryParameter(Entry):
    """What is stated about one parameter of one product, or that nothing was found.

    Attributes
    ----------
    id : str
        Product and parameter, e.g. ``"enerone.energy_capacity"``.
    parameter : str
        What it is about; several statements may be about the same parameter.
    value : float or None
        A single figure, in ``unit``.
    low, high : float or None
        Ends of a range; one of them alone is a limit ("more than").
    text : str or None
        A statement that is no number, such as a date.
    boundary, basis : Boundary, Basis
        What the figure is stated for, and of which kind.
    condition : str or None
        Condition that belongs to the figure, such as an end of life.
    year : int or None
        Year of the statement.
    source : str or None
        Citation key of the document that makes the statement.
    seen_in : str or None
        Citation key of the text in which it was read; None where it was read in a copy
        of the source itself that no hash identifies.
    disclosure : Disclosure
        Who states it. A parameter that nobody states is an entry without a figure.
    anchor : bool
        Whether the product is one of the study's capability anchors; a figure of another
        product is listed to say that it may not be transferred.
    """

    id: str
    technology: Storage
    product: str
    parameter: str
    name: str
    name_zh: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str | None = None
    unit: str
    boundary: Boundary
    basis: Basis
    condition: str | None = None
    year: int | None = None
    source: str | None = None
    seen_in: str | None = None
    disclosure: Disclosure
    anchor: bool = True
    note: str | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> BatteryParameter:
        is_range = self.low is not None or self.high is not None
        said = [self.value is not None, is_range, self.text is not None]
        if self.disclosure is Disclosure.NOT_FOUND:
            if any(said) or self.source:
                raise ValueError("a parameter that was not found has no figure and no source")
        elif sum(said) != 1:
            raise ValueError("needs one of: value, low and/or high, text")
        elif self.source is None:
            raise ValueError("a statement needs the source that makes it")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    @property
    def statement(self) -> str:
        """The figure as a reader should see it, without its unit; "not found" if none."""
        if self.text is not None:
            return self.text
        if self.value is not None:
            return _figure(self.value)
        if self.low is None:
            return "not found" if self.high is None else f"less than {_figure(self.high)}"
        if self.high is None:
            return f"more than {_figure(self.low)}"
        return f"{_figure(self.low)} to {_figure(self.high)}"


def _figure(value: float) -> str:
    return f"{value:,g}".replace("-", "\N{MINUS SIGN}")


def load_batteries(path: Path = paths.REGISTRY / "batteries.yml") -> dict[str, BatteryParameter]:
    """Return what is stated, and what is not found, about each product, by id.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return read_entries(BatteryParameter, path, "id")
