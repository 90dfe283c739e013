"""Read a WattAMeter log (NVML or RAPL, old and new file names).

The format: banner lines beginning with ``#``, the last of which names the columns as
``name[unit]``; then one row a read, separated by blanks: local time, duration of the
read in ns, the readings, and for an energy counter the watts derived from it. The last
row of a write batch has no derived watts, since the next reading was not there yet.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
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
    forward_difference,
    job_in,
    joules_per,
    no_usable_row,
    node_in,
    read_bytes,
    set_aside_frame,
    watts_per,
)
from aidc.observed.wattameter_rows import split_rows

DIALECT = "wattameter"
_HEAD_BYTES = 1 << 16
_HEADER = re.compile(rb"^[ \t]*#[ \t]*timestamp[ \t]+(\S.*?)\s*$", re.MULTILINE)
_COLUMN = re.compile(r"([^\s\[]+)\[([^\]]*)\]|(\S+)")


@dataclasses.dataclass(frozen=True)
class _Column:
    position: int
    name: str
    unit: str

    @property
    def watts(self) -> float | None:
        return watts_per(self.unit)

    @property
    def joules(self) -> float | None:
        return joules_per(self.unit)


def is_wattameter(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a WattAMeter log."""
    return head.lstrip().startswith(b"#") and _HEADER.search(head) is not None


def read_wattameter(
    path: str | Path, options: PowerOptions | None = None, *, evidence: Evidence | None
) -> PowerProfile:
    """Read one WattAMeter log, plain or compressed.

    Parameters
    ----------
    path : str or Path
        The file.
    options : PowerOptions
        What the file does not say: node, kind of reading, declared interval.
    evidence : Evidence
        What is known of the file's origin.

    Raises
    ------
    InputError
        If the file as a whole cannot be used.
    """
    file, data = read_bytes(path)
    return parse_wattameter(file, data, options or PowerOptions(), evidence=evidence)


def parse_wattameter(
    file: Path, data: bytes, options: PowerOptions, *, evidence: Evidence | None
) -> PowerProfile:
    """Return the profile of a log whose content is at hand (e.g. a member of an archive)."""
    where = paths.display(file)
    columns = _columns(where, data)
    power = [c for c in columns if c.watts or c.joules]
    if not power:
        raise InputError(
            f"{where}: found columns {', '.join(f'{c.name}[{c.unit}]' for c in columns)}, "
            "expected at least one in W, mW, J or uJ; is this a log of power?"
        )
    counted = {c.name for c in power if c.joules}
    derived = [c.position for c in power if c.watts and c.name in counted]
    readings = [c.position for c in power if c.position not in derived]
    rows = split_rows(data, len(columns) + 1, readings, derived)
    if not rows.lines.size:
        fields = " ".join(f"{column.name}[{column.unit}]" for column in columns)
        raise no_usable_row(where, rows.faults, f"2025-10-07_09:00:00.000000 {fields}")
    times_s = (rows.stamps_ns - rows.stamps_ns[0]) / 1e9
    channels, watts, counters, stated = _channels(power, rows.numbers, times_s)
    kind, reason = _kind(channels, options)
    banner = data[: data.find(b"timestamp")].decode("utf-8", "replace")
    return PowerProfile(
        times_s=times_s,
        start=pd.Timestamp(int(rows.stamps_ns[0]), unit="ns"),
        watts=watts,
        channels=channels,
        counters_j=counters,
        stated_w=stated,
        lines=rows.lines,
        incomplete=rows.incomplete if stated else None,
        set_aside=set_aside_frame(rows.faults),
        rows=times_s.size + len(rows.faults),
        boundary=options.boundary or Boundary.COMPONENT,
        power_kind=kind,
        power_kind_reason=reason,
        dialect=DIALECT,
        path=file,
        node=options.node or node_in(file.name),
        job=job_in(file.name) or job_in(banner),
        interval_s=options.interval_s,
        cells=rows.cells,
        synthetic="SYNTHETIC" in banner,
        evidence=evidence,
    )


def _columns(where: str, data: bytes) -> list[_Column]:
    """Return the columns after the timestamp; refuse a file whose headers disagree."""
    # Searching a whole log for headers costs as much as splitting it: look for a mark first.
    text = data if data.find(b"#", _HEAD_BYTES) >= 0 else data[:_HEAD_BYTES]
    found = [match.group(1).decode("utf-8", "replace") for match in _HEADER.finditer(text)]
    if not found:
        raise InputError(
            f"{where}: found no line '# timestamp ...' that names columns, expected a "
            "WattAMeter log"
        )
    if len({tuple(header.split()) for header in found}) > 1:
        raise InputError(
            f"{where}: found {len(found)} headers with different columns, expected one set; "
            "split the file where its columns change"
        )
    return [
        _Column(position, match.group(1) or match.group(3), match.group(2) or "")
        for position, match in enumerate(_COLUMN.finditer(found[0]), start=1)
    ]


def _channels(
    columns: list[_Column], values: dict[int, Floats], times_s: Floats
) -> tuple[tuple[Channel, ...], Floats, dict[str, Floats], dict[str, Floats]]:
    """Return channels, watts, counters and the file's own watts of the counters.

    A device with a sensor of its own (a GPU) keeps its reading and has its counter beside
    it; elsewhere the file's watts are only a derivative of the counter.
    """
    read = {c.name: c for c in columns if c.watts}
    counted = {c.name: c for c in columns if c.joules}
    counters = {name: values[c.position] * (c.joules or 1.0) for name, c in counted.items()}
    names = list(dict.fromkeys(c.name for c in columns))
    watts = np.empty((times_s.size, len(names)), order="F")
    channels, stated = [], dict[str, Floats]()
    for i, name in enumerate(names):
        domain = _domain(name)
        own = None
        if name in read:
            own = values[read[name].position] * (read[name].watts or 1.0)
        by_counter = name in counted and (own is None or domain is not Domain.GPU)
        if by_counter:
            watts[:, i] = forward_difference(counters[name], times_s)
            if own is not None:
                stated[name] = own
        elif own is not None:
            watts[:, i] = own
        unit = counted[name].unit if by_counter else read[name].unit
        channels.append(Channel(name, domain, unit, counter=by_counter))
    return tuple(channels), watts, counters, stated


def _domain(name: str) -> Domain:
    if name.startswith("gpu"):
        return Domain.GPU
    if "psys" in name:
        return Domain.PLATFORM
    for domain in (Domain.UNCORE, Domain.CORE, Domain.DRAM):
        if re.search(rf"(^|-){domain}(-|$)", name):
            return domain
    return Domain.CPU


def _kind(channels: tuple[Channel, ...], options: PowerOptions) -> tuple[PowerKind, str]:
    if options.power_kind:
        return options.power_kind, "as declared"
    if all(channel.counter for channel in channels):
        return PowerKind.UNKNOWN, (
            "differences of energy counters: a mean over each sampling interval, no reading"
        )
    return PowerKind.UNKNOWN, (
        "the log does not name the version of its writer: up to 0.9.1 WattAMeter asks the driver "
        "for its default reading (a mean over 1 s on recent data-centre GPUs), from 0.9.2 for the "
        "instant one where the driver has it"
    )
