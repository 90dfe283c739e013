"""Open a power log of any known format."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from aidc import paths
from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.observed.mlperf import is_mlperf, read_mlperf
from aidc.observed.nlr import read_parquet
from aidc.observed.nvidia_smi import is_nvidia_smi, read_nvidia_smi
from aidc.observed.power import PowerOptions, PowerProfile
from aidc.observed.powerfile import read_two_column
from aidc.observed.textfile import Content, TextFile, checked_path
from aidc.observed.wattameter import is_wattameter, read_wattameter

_HEAD_BYTES = 1 << 16
AUTO = "auto"

READERS: dict[str, Callable[..., PowerProfile]] = {
    "wattameter": read_wattameter,
    "nlr-parquet": read_parquet,
    "mlperf": read_mlperf,
    "nvidia-smi": read_nvidia_smi,
    "two-column": read_two_column,
}


def power_dialect(path: str | Path) -> str:
    """Return the format of a power log, judged by its first bytes.

    Raises
    ------
    InputError
        If it is none that is known.
    """
    file = checked_path(path)
    with file.open("rb") as raw:
        if raw.read(4) == b"PAR1":
            return "nlr-parquet"
    with TextFile(file) as text:
        head = text.read(_HEAD_BYTES)
    if not head:
        raise InputError(
            f"{paths.display(file)}: found an empty file, expected a power log; "
            "check how it was written"
        )
    for key, test in (
        ("wattameter", is_wattameter),
        ("mlperf", is_mlperf),
        ("nvidia-smi", is_nvidia_smi),
    ):
        if test(head):
            return key
    first = head.split(b"\n", 1)[0]
    if first.count(b",") == 1:
        return "two-column"
    shown = first[:80].decode("utf-8", "replace").strip()
    raise InputError(
        f"{paths.display(file)}, line 1: found {shown!r}, expected a WattAMeter log, an MLPerf "
        "power log, nvidia-smi CSV, an NLR parquet or a CSV of a time and a power; "
        "write it in one of these forms, e.g. as 'time_s,power_w' with one row a reading"
    )


def read_power(
    path: str | Path,
    options: PowerOptions | None = None,
    dialect: str = AUTO,
    *,
    evidence: Evidence | None = None,
) -> PowerProfile:
    """Read one power log.

    Parameters
    ----------
    path : str or Path
        The file, plain or compressed.
    options : PowerOptions
        What the file does not say.
    dialect : str
        "auto" (from the first bytes) or a key of `READERS`.
    evidence : Evidence
        What is known of the file's origin; by default an unverified file, named by its
        hash, or a synthetic one if it says so. `aidc.catalog.power` verifies.

    Raises
    ------
    InputError
        If the file as a whole cannot be used, or ``dialect`` is unknown.
    """
    if dialect != AUTO and dialect not in READERS:
        raise InputError(
            f"dialect: found {dialect!r}, expected one of {', '.join((AUTO, *READERS))}"
        )
    key = power_dialect(path) if dialect == AUTO else dialect
    profile = READERS[key](path, options, evidence=evidence)
    if evidence is not None:
        return profile
    digest = Content(checked_path(path)).sha256
    found = Evidence(
        layer=Layer.OBSERVED,
        provenance=Provenance.SYNTHETIC if profile.synthetic else Provenance.UNVERIFIED,
        inputs=frozenset({f"file:{key}:{digest[:12]}"}),
    )
    return dataclasses.replace(profile, evidence=found)
