"""Read a plain two-column CSV: a time and a power, units in the header."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc import paths
from aidc.evidence import Evidence, InputError
from aidc.observed.power import (
    Boundary,
    Channel,
    Domain,
    Floats,
    PowerKind,
    PowerOptions,
    PowerProfile,
    no_usable_row,
    read_bytes,
    seconds_per,
    set_aside_frame,
    watts_per,
)

DIALECT = "two-column"
_BRACKETED = re.compile(r"^(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]$")
# A suffix cannot tell milliwatts from megawatts where names are in lower case.
_SUFFIXES = {"_w": "W", "_kw": "kW", "_s": "s", "_ms": "ms", "_min": "min", "_h": "h"}
_AMBIGUOUS = ("_mw",)


def read_two_column(
    path: str | Path, options: PowerOptions | None = None, *, evidence: Evidence | None
) -> PowerProfile:
    """Read a CSV of two columns, plain or compressed.

    The first column is a time: numbers with a unit (``time_s``, ``timestep[s]``) or ISO
    8601 text. The second is power with a unit (``power_w``, ``power[kW]``). A per-unit
    column is read as P[W] = base_w (1 + per_unit_factor x value) when the options state
    both; what the header does not say must be stated in the options.

    Raises
    ------
    InputError
        If the file as a whole cannot be used, or a unit is neither in the header nor in
        the options.
    """
    options = options or PowerOptions()
    file, data = read_bytes(path)
    where = paths.display(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: found byte {data[error.start]:#04x}, expected UTF-8 text; save it as UTF-8"
        ) from error
    header, _, body = text.partition("\n")
    names = [name.strip().strip('"') for name in header.split(",")]
    if len(names) != 2:
        raise InputError(
            f"{where}, line 1: found {len(names)} columns, expected two: "
            "a time and a power, e.g. time_s,power_w"
        )
    scale, shift = _power_scale(where, names[1], options)
    cells, lines, faults = _rows(body)
    seconds, start, sound = _times(where, names[0], cells[0], options)
    value = pd.to_numeric(pd.Series(cells[1], dtype="str"), errors="coerce").to_numpy(np.float64)
    for row in np.flatnonzero(~sound):
        faults.append((int(lines[row]), "time: not readable", f"{cells[0][row]},{cells[1][row]}"))
    unread = sound & np.isnan(value)
    counted = pd.Series(np.array(cells[1], dtype=object)[unread]).value_counts()
    times_s = seconds[sound]
    if not times_s.size:
        raise no_usable_row(where, faults, "0.2,5267.8")
    unit = _unit_of(names[1]) or options.power_unit or "per unit"
    return PowerProfile(
        times_s=times_s - times_s[0],
        start=start,
        watts=(shift + scale * value[sound])[:, None],
        channels=(Channel("power", Domain.TOTAL, unit),),
        lines=lines[sound],
        set_aside=set_aside_frame(faults),
        rows=times_s.size + len(faults),
        boundary=options.boundary or Boundary.UNSTATED,
        power_kind=options.power_kind or PowerKind.UNKNOWN,
        power_kind_reason="as declared" if options.power_kind else "the file does not say",
        dialect=DIALECT,
        path=file,
        node=options.node or "",
        interval_s=options.interval_s,
        cells={str(text): int(count) for text, count in counted.items()},
        notes=() if options.boundary else ("boundary unstated: declare one",),
        evidence=evidence,
    )


def _rows(body: str) -> tuple[list[list[str]], npt.NDArray[np.int32], list[tuple[int, str, str]]]:
    first: list[str] = []
    second: list[str] = []
    lines: list[int] = []
    faults: list[tuple[int, str, str]] = []
    # Numbers need no quotes, and a stray one must not swallow lines: each line is a row.
    for number, line in enumerate(body.split("\n"), start=2):
        row = [cell.strip().strip('"') for cell in line.split(",")]
        if len(row) == 2:
            first.append(row[0])
            second.append(row[1])
            lines.append(number)
        elif line.strip():
            faults.append((number, f"{len(row)} fields, expected 2", line.strip()))
    return [first, second], np.array(lines, np.int32), faults


def _unit_of(name: str) -> str:
    bracketed = _BRACKETED.match(name)
    if bracketed:
        return bracketed.group(2)
    lower = name.lower()
    return next((unit for end, unit in _SUFFIXES.items() if lower.endswith(end)), "")


def _power_scale(where: str, name: str, options: PowerOptions) -> tuple[float, float]:
    """Return factor and offset from the column to watts."""
    if options.base_w is not None and options.per_unit_factor is not None:
        return options.base_w * options.per_unit_factor, options.base_w
    unit = _unit_of(name) or options.power_unit or ""
    scale = watts_per(unit)
    if scale is None:
        found = (
            f"the ambiguous unit of {name!r}" if name.lower().endswith(_AMBIGUOUS) else repr(name)
        )
        raise InputError(
            f"{where}, line 1, column 2: found {found}, expected a unit of power in the name, such "
            "as power_w, power[mW] or power[kW]; rename it, or give power_unit "
            "(base_w and per_unit_factor for per-unit data)"
        )
    return scale, 0.0


def _times(
    where: str, name: str, cells: list[str], options: PowerOptions
) -> tuple[Floats, pd.Timestamp | None, npt.NDArray[np.bool_]]:
    """Return seconds, the calendar start if there is one, and which could be read."""
    text = pd.Series(cells, dtype="str")
    number = pd.to_numeric(text, errors="coerce").to_numpy(np.float64)
    if np.isfinite(number).any():
        scale = seconds_per(_unit_of(name) or options.time_unit or "")
        if scale is None:
            raise InputError(
                f"{where}, line 1, column 1: found {name!r}, expected a unit of time in the name, "
                "such as time_s or time[ms]; rename it, or give time_unit"
            )
        return number * scale, None, np.isfinite(number)
    stamps = pd.to_datetime(text, format="ISO8601", errors="coerce", utc=True)
    sound = stamps.notna().to_numpy()
    if not sound.any():
        return np.zeros(len(cells)), None, sound
    ns = stamps.dt.tz_localize(None).to_numpy("datetime64[ns]").astype(np.int64)
    origin = int(ns[sound][0])
    zoned = bool(text[sound].str.contains(r"(?:Z|[+-]\d\d:?\d\d)$").all())
    start = pd.Timestamp(origin, unit="ns", tz="UTC" if zoned else None)
    return (ns - origin) / 1e9, start, sound
