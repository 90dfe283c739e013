"""Read the power log of an MLPerf Training submission (``:::MLLOG`` lines)."""

from __future__ import annotations

import json
import math
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
    read_bytes,
    set_aside_frame,
)

DIALECT = "mlperf"
_TAG = ":::MLLOG"
_READING, _START, _STOP = "power_reading", "power_measurement_start", "power_measurement_stop"
_BOUNDARIES = {"ac_": Boundary.NODE_AC, "dc_": Boundary.NODE_DC}


def is_mlperf(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an MLPerf log."""
    return head.lstrip().startswith(_TAG.encode())


def read_mlperf(
    path: str | Path, options: PowerOptions | None = None, *, evidence: Evidence | None
) -> PowerProfile:
    """Read one MLPerf power log, plain or compressed.

    Readings are node power in W, by the benchmark's convention: the file states no unit.
    Whether they were taken before or behind the power supplies is read off the file name
    (``ac_...``, ``dc_...``) unless the options state a boundary.

    Raises
    ------
    InputError
        If the file as a whole cannot be used.
    """
    options = options or PowerOptions()
    file, data = read_bytes(path)
    times_ms: list[float] = []
    watts: list[float] = []
    lines: list[int] = []
    faults: list[tuple[int, str, str]] = []
    markers_ms: dict[str, float] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            key, time_ms, value = _event(line)
        except ValueError as error:
            faults.append((number, str(error), line))
            continue
        if key == _READING:
            times_ms.append(time_ms)
            watts.append(value)
            lines.append(number)
        elif key in (_START, _STOP):
            markers_ms["start" if key == _START else "stop"] = time_ms
    if not times_ms:
        raise InputError(
            f"{paths.display(file)}: found no event {_READING!r}, expected one a sample; "
            "is this the log of the power meter?"
        )
    boundary, note = _boundary(file, options)
    return PowerProfile(
        times_s=(np.array(times_ms) - times_ms[0]) / 1e3,
        start=pd.Timestamp(times_ms[0], unit="ms", tz="UTC"),
        watts=np.array(watts)[:, None],
        channels=(Channel("node", Domain.TOTAL, "W"),),
        lines=np.array(lines, np.int32),
        set_aside=set_aside_frame(faults),
        rows=len(times_ms) + len(faults),
        boundary=boundary,
        power_kind=options.power_kind or PowerKind.UNKNOWN,
        power_kind_reason="as declared" if options.power_kind else "the log does not say",
        dialect=DIALECT,
        path=file,
        node=options.node or file.stem.rpartition("node_")[2],
        interval_s=options.interval_s,
        markers={name: (at - times_ms[0]) / 1e3 for name, at in markers_ms.items()},
        notes=("watts by the benchmark's convention: the file states no unit", note),
        evidence=evidence,
    )


def _event(line: str) -> tuple[str, float, float]:
    """Return key, time in ms and value (NaN for a marker) of one line."""
    tag, _, text = line.partition(" ")
    if tag != _TAG:
        raise ValueError(f"found no {_TAG} at the start of the line")
    try:
        event = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error.msg})") from error
    if not isinstance(event, dict) or "key" not in event:
        raise ValueError("no event with a key")
    key, time_ms, value = str(event["key"]), event.get("time_ms"), event.get("value")
    if not _is_number(time_ms):
        raise ValueError("time_ms: no number")
    if key == _READING and not _is_number(value):
        raise ValueError("value: no number")
    return key, float(str(time_ms)), float(str(value)) if key == _READING else float("nan")


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(float(str(value)))


def _boundary(file: Path, options: PowerOptions) -> tuple[Boundary, str]:
    if options.boundary:
        return options.boundary, "boundary as declared"
    for prefix, boundary in _BOUNDARIES.items():
        if file.name.lower().startswith(prefix):
            return boundary, f"boundary {boundary} from the file name"
    return Boundary.UNSTATED, "boundary unstated: neither declared nor in the file name"
