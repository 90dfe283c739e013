"""Types of parameters that several notebooks share, and defaults from the registry.

An experimental setting has one default: that of its entry in ``data/registry/scans.yml``.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from aidc.evidence import InputError
from aidc.evidence.scans import OPEN, Scan, load_scans

Minutes = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Efficiency = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Blocks = Annotated[Minutes | None, AfterValidator(lambda blocks: blocks or None)]
"""A number of blocks; 0 and none both say that there is no limit."""


@cache
def scans() -> dict[str, Scan]:
    """Return the registered settings by key, read once."""
    return load_scans()


def registered(
    key: str,
    description: str | None = None,
    *,
    level: str | None = None,
    listed: bool = False,
    **constraints: Any,
) -> Any:
    """Return a field with the default and the unit of a registered setting.

    Parameters
    ----------
    key : str
        Of the entry; the parameter itself may have another name.
    description : str, optional
        The entry's name if not given.
    level : str, optional
        A level that takes the place of the default; the notebook's page says why.
    listed : bool
        Whether the parameter takes a list, and the default is one of a single value.
    **constraints
        As for `pydantic.Field`.
    """
    scan = scans()[key]
    if level is not None:
        return _field(scan, _known(scan, level)[0], description, constraints)
    given = () if scan.default == OPEN else (scan.default,)
    default = given if listed else (*given, None)[0]
    return _field(scan, default, description, constraints)


def registered_levels(
    key: str, *levels: float | str, description: str | None = None, **constraints: Any
) -> Any:
    """Return a field with registered levels as its default; all of them if none is given.

    Raises
    ------
    InputError
        If a value is no level of the entry.
    """
    scan = scans()[key]
    default = tuple(level for level in _known(scan, *levels) or scan.levels if level != OPEN)
    return _field(scan, default, description, constraints)


def _known(scan: Scan, *levels: float | str) -> tuple[float | str, ...]:
    for level in levels:
        if level not in scan.levels:
            raise InputError(
                f"scans.yml, entry {scan.key!r}: found no level {level!r}, expected one of "
                f"{', '.join(str(known) for known in scan.levels)}"
            )
    return levels


def _field(scan: Scan, default: Any, description: str | None, constraints: dict[str, Any]) -> Any:
    return Field(
        default=default,
        description=description or scan.name,
        json_schema_extra={"unit": scan.unit, "setting": scan.key},
        **constraints,
    )
