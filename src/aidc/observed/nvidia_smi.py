"""Read the CSV of ``nvidia-smi --query-gpu=... --format=csv -l``."""

from __future__ import annotations

import csv
import dataclasses
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
    no_usable_row,
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
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline="")))
    except csv.Error as error:
        raise InputError(f"{where}: no CSV ({error}); expected that of nvidia-smi") from error
    columns = _columns(where, rows[0])
    found = _cells(where, rows, columns, options.power_unit or "")
    frame = _timed(where, found)
    # A device's k-th row belongs to the k-th sweep.
    frame["sweep"] = frame.groupby("device").cumcount()
    wide = frame.pivot_table(index="sweep", columns="device", values="watts", dropna=False)
    first = frame.groupby("sweep").agg(ns=("ns", "min"), line=("line", "min"))
    devices = sorted(wide.columns, key=lambda d: (not d.isdigit(), d.zfill(8)))
    unit = "/".join(sorted(found.units)) or columns.unit or options.power_unit or ""
    kind, reason = _POWER[columns.power]
    ns = first["ns"].to_numpy()
    return PowerProfile(
        times_s=(ns - ns[0]) / 1e9,
        start=pd.Timestamp(int(ns[0]), unit="ns"),
        watts=wide[devices].to_numpy(np.float64),
        channels=tuple(Channel(f"gpu-{name}", Domain.GPU, unit) for name in devices),
        lines=first["line"].to_numpy(np.int32),
        set_aside=set_aside_frame(found.faults),
        rows=len(ns) + len(found.faults),
        boundary=options.boundary or Boundary.COMPONENT,
        power_kind=options.power_kind or kind,
        power_kind_reason="as declared" if options.power_kind else reason,
        dialect=DIALECT,
        path=file,
        node=options.node or node_in(file.name),
        interval_s=options.interval_s,
        cells=dict(found.cells),
        notes=("one row a sweep over the GPUs",) if len(devices) > 1 else (),
        evidence=evidence,
    )


@dataclasses.dataclass(frozen=True)
class _Columns:
    """Where the columns are that matter."""

    names: list[str]
    power: str
    unit: str
    power_at: int
    time_at: int
    device_at: int | None


@dataclasses.dataclass
class _Found:
    """The rows of the file: (line, time, device, watts), and what could not be read."""

    rows: list[tuple[int, str, str, float]] = dataclasses.field(default_factory=list)
    faults: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)
    cells: Counter[str] = dataclasses.field(default_factory=Counter)
    units: set[str] = dataclasses.field(default_factory=set)


def _columns(where: str, header: list[str]) -> _Columns:
    names = [_name(cell) for cell in header]
    power = next((name for name in _POWER if name in names), None)
    if power is None or "timestamp" not in names:
        raise InputError(
            f"{where}, line 1: found columns {', '.join(names)[:200]}, expected timestamp and one "
            f"of {', '.join(_POWER)}; query them, and keep the header"
        )
    return _Columns(
        names=names,
        power=power,
        unit=_unit(header[names.index(power)]),
        power_at=names.index(power),
        time_at=names.index("timestamp"),
        device_at=next((names.index(name) for name in _DEVICE if name in names), None),
    )


def _cells(where: str, rows: list[list[str]], columns: _Columns, told_unit: str) -> _Found:
    """Return the rows in watts; a number without a unit anywhere is refused."""
    found = _Found()
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(columns.names):
            if row:
                reason = f"{len(row)} fields, expected {len(columns.names)}"
                found.faults.append((line, reason, ",".join(row)))
            continue
        cell = row[columns.power_at].strip()
        match = _CELL.match(cell)
        watts = float("nan")
        if match:
            unit = match.group(2) or columns.unit or told_unit
            scale = watts_per(unit)
            if scale is None:
                raise InputError(
                    f"{where}, line {line}, column {columns.power!r}: found {cell!r} without a "
                    "unit of power, expected e.g. '75.83 W' or the header 'power.draw [W]'; "
                    "give power_unit"
                )
            found.units.add(unit)
            watts = float(match.group(1)) * scale
        else:
            found.cells[cell] += 1
        device = "0" if columns.device_at is None else row[columns.device_at].strip()
        found.rows.append((line, row[columns.time_at].strip(), device, watts))
    return found


def _timed(where: str, found: _Found) -> pd.DataFrame:
    """Return the rows with a time (ns, local); set the others aside."""
    frame = pd.DataFrame(found.rows, columns=["line", "stamp", "device", "watts"])
    times = pd.to_datetime(
        frame["stamp"].astype("str"), format="%Y/%m/%d %H:%M:%S.%f", errors="coerce"
    )
    lost = times.isna()
    found.faults.extend(
        (int(line), "timestamp: not a time", f"{stamp}, {device}, {watts}")
        for line, stamp, device, watts in frame[lost].itertuples(index=False)
    )
    if lost.all():
        raise no_usable_row(where, found.faults, "2025/01/31 12:00:00.000, 0, 75.83 W")
    return frame[~lost].assign(ns=times[~lost].to_numpy("datetime64[ns]").astype(np.int64))


def _name(cell: str) -> str:
    match = _HEAD.match(cell.strip().strip('"'))
    return match.group(1) if match else cell.strip()


def _unit(cell: str) -> str:
    match = _HEAD.match(cell.strip().strip('"'))
    return (match.group(2) or "") if match else ""
