"""The register of experimental settings, with the levels that are frozen beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from aidc import paths
from aidc.evidence.registry import Entry, read_entries

OPEN = "none"
"""A level that leaves a setting open: no limit, or no value of this kind."""


class Scan(Entry):
    """An experimental setting: its default, the levels it is varied over, and why.

    Attributes
    ----------
    key : str
        Name of the parameter that takes it.
    group : str
        ``"battery"`` or ``"replay"``.
    default : float or str
        Used where nothing else is said; one of ``levels``.
    levels : tuple
        Frozen before any model runs.
    reason : str
        Why this default and this range.
    """

    key: str
    group: Literal["battery", "replay"]
    name: str
    name_zh: str
    unit: str
    default: float | str
    levels: tuple[float | str, ...] = Field(min_length=1)
    reason: str

    @model_validator(mode="after")
    def _default_is_a_level(self) -> Scan:
        if self.default not in self.levels:
            raise ValueError(f"default {self.default!r} is none of its levels")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("a level is given twice")
        return self


def load_scans(path: Path = paths.REGISTRY / "scans.yml") -> dict[str, Scan]:
    """Return the experimental settings and their frozen scans by key.

    Raises
    ------
    InputError
        Naming file, entry and field of the first bad entry.
    """
    return read_entries(Scan, path, "key")
