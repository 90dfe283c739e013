"""Read the CSV of ``nvidia-smi --query-gpu=... --format=csv -l``."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from aidc import paths
from aidc.evidence import Evidence, InputError
from aidc.observed.power import (
    Boundary,
    Channel,
    Domain,
    PowerKind,
    PowerOptions,
    PowerProfile,
    node_in,
    read_bytes,
    set_aside_frame,
    watts_per,
)

DIALECT = "nvidia-smi"
# The column that is read, if there are several; the driver documents the kind of each.
_POWER = {
    "power.draw.average": (PowerKind.AVERAGE_1S, "column power.draw.average"),
    "power.draw": (
        PowerKind.UNKNOWN,
        "column power.draw: a mean over 1 s or an instant reading, by the model of the GPU",
    ),
    "power.draw.instant": (PowerKind.INSTANT, "column power.draw.instant"),
}
_DEVICE = ("index", "gpu_uuid", "uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial")
_HEAD = re.compile(r"([\w.]+)\s*(?:\[([^\]]*)\])?$")
_CELL = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*$")


def is_nvidia_smi(head: bytes) -> bool:
    """Whether the first line of a file names a power column of nvidia-smi."""
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    return any(_name(cell) in _POWER for cell in first.split(","))


def read_nvidia_smi(
    path: str | Path, options: PowerOptions | None = None, *, evidence: Evidence | None
) -> PowerProfile:
    """Read one nvidia-smi CSV, plain or compressed, with units in cells or header.

    The rows of one sweep over the GPUs make one row of the profile, at the time of the
    sweep's first row.

    Raises
    ------
    InputError
        If the file as a whole cannot be used; a power column without a unit is refused
        unless the options state one.
    """
    options = options or PowerOptions()
    file, data = read_bytes(path)
    where = paths.display(file)
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline="")))
    names = [_name(cell) for cell in rows[0]]
    units = [_unit(cell) for cell in rows[0]]
    power = next((name for name in _POWER if name in names), None)
    if power is None or "timestamp" not in names:
        raise InputError(
            f"{where}, line 1: found columns {', '.join(names)}, expected timestamp and one of "
            f"{', '.join(_POWER)}; query them, and keep the header"
        )
    at, when = names.index(power), names.index("timestamp")
    device_at = next((names.index(name) for name in _DEVICE if name in names), None)
    faults: list[tuple[int, str, str]] = []
    cells: Counter[str] = Counter()
    seen: list[tuple[int, str, str, float]] = []
    found_units: set[str] = set()
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(names):
            faults.append((line, f"{len(row)} fields, expected {len(names)}", ",".join(row)))
            continue
        match = _CELL.match(row[at])
        unit = (match.group(2) if match else "") or units[at] or options.power_unit or ""
        watts = float("nan")
        if match:
            scale = watts_per(unit)
            if scale is None:
                raise InputError(
                    f"{where}, line {line}, column {power!r}: found {row[at].strip()!r} without a "
                    "unit of power, expected e.g. '75.83 W' or the header 'power.draw [W]'; "
                    "give power_unit"
                )
            found_units.add(unit)
            watts = float(match.group(1)) * scale
        else:
            cells[row[at].strip()] += 1
        device = row[device_at].strip() if device_at is not None else "0"
        seen.append((line, row[when].strip(), device, watts))
    stamps = pd.to_datetime(
        pd.Series([stamp for _, stamp, _, _ in seen], dtype="str"),
        format="%Y/%m/%d %H:%M:%S.%f",
        errors="coerce",
    )
    bad = stamps.isna().to_numpy()
    faults += [
        (line, "timestamp: not a time", ", ".join((stamp, device, str(watts))))
        for (line, stamp, device, watts), lost in zip(seen, bad, strict=True)
        if lost
    ]
    kept = [entry for entry, lost in zip(seen, bad, strict=True) if not lost]
    if not kept:
        raise InputError(
            f"{where}: found no row with a time, expected e.g. 2025/01/31 12:00:00.000"
        )
    frame = pd.DataFrame(kept, columns=["line", "stamp", "device", "watts"])
    frame["ns"] = stamps[~bad].to_numpy("datetime64[ns]").astype(np.int64)
    frame["sweep"] = frame.groupby("device").cumcount()
    wide = frame.pivot_table(index="sweep", columns="device", values="watts", dropna=False)
    first = frame.groupby("sweep").agg(ns=("ns", "min"), line=("line", "min"))
    kind, reason = _POWER[power]
    unit = "/".join(sorted(found_units)) or units[at] or options.power_unit or ""
    devices = sorted(wide.columns, key=lambda d: (not d.isdigit(), d.zfill(8)))
    ns = first["ns"].to_numpy()
    return PowerProfile(
        times_s=(ns - ns[0]) / 1e9,
        start=pd.Timestamp(int(ns[0]), unit="ns"),
        watts=wide[devices].to_numpy(np.float64),
        channels=tuple(Channel(f"gpu-{name}", Domain.GPU, unit) for name in devices),
        lines=first["line"].to_numpy(np.int32),
        set_aside=set_aside_frame(faults),
        rows=len(ns) + len(faults),
        boundary=options.boundary or Boundary.COMPONENT,
        power_kind=options.power_kind or kind,
        power_kind_reason="as declared" if options.power_kind else reason,
        dialect=DIALECT,
        path=file,
        node=options.node or node_in(file.name),
        interval_s=options.interval_s,
        cells=dict(cells),
        notes=("one row a sweep over the GPUs",) if len(devices) > 1 else (),
        evidence=evidence,
    )


def _name(cell: str) -> str:
    match = _HEAD.match(cell.strip().strip('"'))
    return match.group(1) if match else cell.strip()


def _unit(cell: str) -> str:
    match = _HEAD.match(cell.strip().strip('"'))
    return (match.group(2) or "") if match else ""
