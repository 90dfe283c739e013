"""The register of symbols: what each stands for, its unit, and where it is defined."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

from aidc import paths
from aidc.evidence.registry import Keyed, read_list


class Part(StrEnum):
    """A part of the book with symbols of its own."""

    AUDIT = "audit"
    REPLAY = "replay"
    STORAGE = "storage"
    BREAK_EVEN = "break_even"


class Symbol(Keyed):
    """A symbol of the book's equations.

    Attributes
    ----------
    part : Part
        A letter may mean something else in another part.
    symbol : str
        LaTeX, with its arguments.
    meaning, unit : str
        In this book's words; the unit of a pure number is a dash.
    layer : str or None
        Layer of its value; None where the question does not arise.
    defined : str
        Label of an equation (``eq-...``) or a section.
    """

    part: Part
    symbol: str
    meaning: str
    unit: str
    layer: Literal["observed", "constructed", "derived"] | None
    defined: str


def load_symbols(path: Path = paths.REGISTRY / "symbols.yml") -> list[Symbol]:
    """Return the symbols in the order of the file.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry, or a key given twice.
    """
    return read_list(Symbol, path)
