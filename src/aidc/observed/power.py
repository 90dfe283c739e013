"""What a power log says: times, watts per device, and the boundary they were measured at.

A `PowerProfile` is one file as it was read. Nothing in it is repaired: what is wrong is
found by `aidc.observed.power_clean`, and files of one job are added up by
`aidc.observed.aggregate`.
"""

from __future__ import annotations

import dataclasses
import re
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc import paths
from aidc.evidence import Carrier, InputError
from aidc.observed.textfile import TextFile, checked_path

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# A raw log of a week at 0.1 s stays below this; more would not fit in memory anyway.
MAX_TEXT_BYTES = 1 << 30
MAX_SHOWN_TEXT = 200


class Boundary(StrEnum):
    """What a watt of the log includes."""

    COMPONENT = "component"
    NODE_AC = "node_ac"
    NODE_DC = "node_dc"
    SITE = "site"
    UNSTATED = "unstated"


class PowerKind(StrEnum):
    """What one reading of the sensor stands for."""

    AVERAGE_1S = "average_1s"
    INSTANT = "instant"
    UNKNOWN = "unknown"


class Domain(StrEnum):
    """Which part of a node a channel measures; the last three lie inside others."""

    GPU = "gpu"
    CPU = "cpu"
    DRAM = "dram"
    TOTAL = "total"
    CORE = "core"
    UNCORE = "uncore"
    PLATFORM = "platform"


# Core and uncore are part of the package; the platform counter contains the package.
OVERLAPPING = frozenset({Domain.CORE, Domain.UNCORE, Domain.PLATFORM})


@dataclasses.dataclass(frozen=True)
class Channel:
    """One device of a log.

    Attributes
    ----------
    name : str
        As in the file, without the unit: ``"gpu-0"``, ``"cpu-0-core"``.
    domain : Domain
        What it measures.
    unit : str
        Unit found in the header or the cells; watts are converted from it.
    counter : bool
        Whether watts are differences of an energy counter; they then stand for the
        interval that follows a row, not for its instant.
    """

    name: str
    domain: Domain
    unit: str
    counter: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerOptions:
    """What a reader may be told because the file does not say it.

    Attributes
    ----------
    boundary : Boundary or None
        Measurement boundary.
    power_kind : PowerKind or None
        Kind of reading.
    power_unit, time_unit : str or None
        Units of a column that has none ("W", "mW", "kW", "MW"; "s", "ms", "min", "h").
    base_w, per_unit_factor : float or None
        For a per-unit column: P[W] = base_w (1 + per_unit_factor x value).
    interval_s : float or None
        Sampling interval that the experiment declares, s.
    node : str or None
        Name of the node that the file comes from.
    """

    boundary: Boundary | None = None
    power_kind: PowerKind | None = None
    power_unit: str | None = None
    time_unit: str | None = None
    base_w: float | None = None
    per_unit_factor: float | None = None
    interval_s: float | None = None
    node: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerProfile(Carrier):
    """One power log as it was read.

    Attributes
    ----------
    times_s : ndarray, shape (n,)
        Time of each row in s since `start`, in file order.
    start : Timestamp or None
        Time of the first row. Without a time zone it is the local time of a machine whose
        zone the file does not name. None if the file counts from its own zero.
    watts : ndarray, shape (n, k)
        W per channel; NaN where the file has no readable value. For a counter it is the
        forward difference (E[i+1] - E[i]) / (t[i+1] - t[i]), NaN in the last row.
    channels : tuple of Channel, length k
        The devices, in file order.
    lines : ndarray of int32, shape (n,)
        Line of each row in the file, from 1.
    set_aside : DataFrame
        Rows that cannot be used: ``line``, ``reason``, ``text``.
    rows : int
        Rows in the file: ``len(times_s) + len(set_aside)``.
    boundary : Boundary
        What the watts include.
    power_kind : PowerKind
        Kind of reading of the channels that are no counters.
    power_kind_reason : str
        What that is inferred from.
    dialect : str
        "wattameter", "nlr-parquet", "nvidia-smi", "mlperf" or "two-column".
    path : Path
        The file (or archive member).
    node, job : str
        Node and job that the file or its name gives; "" if neither does.
    incomplete : ndarray of bool, shape (n,), or None
        Rows that end before the file's own watts, as the last of each write batch does;
        None for a format without such watts.
    counters_j : dict of str to ndarray, shape (n,)
        Energy counters in J by channel name.
    stated_w : dict of str to ndarray, shape (n,)
        The file's own watts of a counter by channel name, NaN where a row has none.
    interval_s : float or None
        Declared sampling interval, s.
    markers : dict of str to float
        Stated instants ("start", "stop") in s since `start`.
    cells : dict of str to int
        Unreadable cells, counted by their text ("[Not Supported]", "nan").
    synthetic : bool
        Whether the file itself says that it is no measurement.
    notes : tuple of str
        What a reader has to know of how the file was read.
    """

    times_s: Floats
    start: pd.Timestamp | None
    watts: Floats
    channels: tuple[Channel, ...]
    lines: npt.NDArray[np.int32]
    set_aside: pd.DataFrame
    rows: int
    boundary: Boundary
    power_kind: PowerKind
    power_kind_reason: str
    dialect: str
    path: Path
    node: str = ""
    job: str = ""
    incomplete: Mask | None = None
    counters_j: dict[str, Floats] = dataclasses.field(default_factory=dict)
    stated_w: dict[str, Floats] = dataclasses.field(default_factory=dict)
    interval_s: float | None = None
    markers: dict[str, float] = dataclasses.field(default_factory=dict)
    cells: dict[str, int] = dataclasses.field(default_factory=dict)
    synthetic: bool = False
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The file as a reader should see it."""
        return paths.display(self.path)

    def of(self, *domains: Domain) -> list[int]:
        """Return the columns of the channels of some domains."""
        return [i for i, channel in enumerate(self.channels) if channel.domain in domains]


def set_aside_frame(faults: list[tuple[int, str, str]]) -> pd.DataFrame:
    """Return rows set aside (line, reason, text) as a frame, in file order."""
    ordered = sorted(faults)
    return pd.DataFrame(
        {
            "line": np.array([line for line, _, _ in ordered], np.int64),
            "reason": pd.Series([reason for _, reason, _ in ordered], dtype="str"),
            "text": pd.Series([text[:MAX_SHOWN_TEXT] for _, _, text in ordered], dtype="str"),
        }
    )


def no_usable_row(where: str, faults: list[tuple[int, str, str]], example: str) -> InputError:
    """Return the refusal of a log of which no row (line, reason, text) can be used."""
    if not faults:
        return InputError(
            f"{where}: found a header and no row, expected rows such as {example!r}; "
            "check how the log was written"
        )
    line, reason, text = min(faults)
    return InputError(
        f"{where}, line {line}: found {text[:MAX_SHOWN_TEXT]!r} ({reason}) and no row that can be "
        f"used, expected rows such as {example!r}; write the log in that form"
    )


def read_bytes(path: str | Path) -> tuple[Path, bytes]:
    """Return a plain, gzip, xz or zip file's whole content, capped.

    Raises
    ------
    InputError
        From `TextFile`, or if the file is empty or too large.
    """
    file = checked_path(path)
    held: list[bytes] = []
    size = 0
    with TextFile(file) as text:
        while block := text.read(1 << 22):
            held.append(block)
            size += len(block)
            if size > MAX_TEXT_BYTES:
                raise InputError(
                    f"{text.where}: found more than {MAX_TEXT_BYTES} bytes, expected fewer; "
                    "split the log by time"
                )
        where = text.where
    if not size:
        raise InputError(
            f"{where}: found an empty file, expected a power log; check how it was written"
        )
    return file, held[0] if len(held) == 1 else b"".join(held)


_WATTS = {"W": 1.0, "mW": 1e-3, "uW": 1e-6, "kW": 1e3, "MW": 1e6}
_JOULES = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}


def watts_per(unit: str) -> float | None:
    """Return how many watts one ``unit`` is, or None if it is no unit of power.

    Case counts: ``mW`` is a milliwatt, ``MW`` a megawatt.
    """
    return _WATTS.get(unit)


def joules_per(unit: str) -> float | None:
    """Return how many joules one ``unit`` is, or None if it is no unit of energy."""
    return _JOULES.get(unit)


def seconds_per(unit: str) -> float | None:
    """Return how many seconds one ``unit`` is, or None if it is no unit of time."""
    return _SECONDS.get(unit)


_NODE = re.compile(r"node_([A-Za-z0-9.-]+?)(?=\.(?:log|txt|csv)|$)")
_JOB = re.compile(r"(?:slurmid_|run )([A-Za-z0-9.-]+)")


def node_in(name: str) -> str:
    """Return the node that a file name gives, or an empty text."""
    found = _NODE.search(name)
    return found.group(1) if found else ""


def job_in(text: str) -> str:
    """Return the job that a file name or a banner line gives, or an empty text."""
    found = _JOB.search(text)
    return found.group(1) if found else ""


def forward_difference(energy_j: Floats, times_s: Floats) -> Floats:
    """Return the mean power of the interval that follows each row, W; NaN in the last row.

    Nothing is corrected: a counter that wrapped gives a negative power here.

    Examples
    --------
    >>> forward_difference(np.array([0.0, 5.0, 25.0]), np.array([0.0, 1.0, 3.0]))
    array([ 5., 10., nan])
    """
    watts = np.full(energy_j.size, np.nan)
    if energy_j.size > 1:
        length = np.diff(times_s)
        np.divide(np.diff(energy_j), length, out=watts[:-1], where=length > 0)
    return watts
