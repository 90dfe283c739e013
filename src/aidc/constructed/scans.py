"""The scans that are frozen before any model runs, and the file that freezes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from aidc import paths
from aidc.constructed.setting import declared
from aidc.evidence import Carrier, InputError
from aidc.evidence.scans import Scan, load_scans

REGISTRY = paths.REGISTRY / "scans.yml"


@dataclass(frozen=True, kw_only=True)
class FrozenScans(Carrier):
    """Registered settings with their defaults and ranges.

    Attributes
    ----------
    scans : mapping of str to Scan
        By key.
    sha256 : str
        Of the file that holds all scans.
    """

    scans: Mapping[str, Scan]
    sha256: str

    @classmethod
    def of(cls, group: str, path: Path = REGISTRY) -> FrozenScans:
        """Return the scans of a group, ``"battery"`` or ``"replay"``.

        Raises
        ------
        InputError
            If the registry is bad or has no such group.
        """
        scans = {key: scan for key, scan in load_scans(path).items() if scan.group == group}
        if not scans:
            raise InputError(f"{paths.display(path)}: found no scan of group {group!r}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return cls(scans=scans, sha256=digest, evidence=declared(*scans))

    @property
    def frame(self) -> pd.DataFrame:
        """``setting``, ``name``, ``unit``, ``default``, ``levels``, ``reason``, one row a scan."""
        rows = [
            {
                "setting": scan.key,
                "name": scan.name,
                "unit": scan.unit,
                "default": _text(scan.default),
                "levels": ", ".join(_text(level) for level in scan.levels),
                "reason": scan.reason,
            }
            for scan in self.scans.values()
        ]
        return pd.DataFrame(rows)

    def level(self, key: str, value: float) -> float:
        """Return a value that is one of the registered levels of a setting.

        Raises
        ------
        InputError
            If it is none of them.
        """
        levels = self.only(key).scans[key].levels
        if value not in levels:
            raise InputError(
                f"scans.yml, entry {key!r}: found no level {value!r}, expected one of "
                f"{', '.join(_text(level) for level in levels)}"
            )
        return value

    def only(self, key: str) -> FrozenScans:
        """Return one setting, with evidence that names it alone.

        Raises
        ------
        InputError
            If it is none of these.
        """
        if key not in self.scans:
            raise InputError(
                f"scans.yml: found no setting {key!r}, expected one of {', '.join(self.scans)}"
            )
        return FrozenScans(scans={key: self.scans[key]}, sha256=self.sha256, evidence=declared(key))


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
