"""Dialects: how each public trace names, dates and counts what a job is.

A dialect is one `Dialect` object: which header column holds which canonical field, what
its clock is and which words its documentation lists. Everything else works on canonical
fields, so a new dialect is described here, or in one YAML file with the same attributes
(see `read_dialect`), and nowhere else.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict

from aidc.evidence import InputError
from aidc.evidence.registry import checked_entry, read_yaml


class Kind(StrEnum):
    """What the text of a field has to be."""

    ID = "id"
    LABEL = "label"
    COUNT = "count"
    SECONDS = "seconds"
    TIME = "time"


@dataclasses.dataclass(frozen=True)
class Field:
    """A canonical field: its kind, and whether a row without it can be used at all."""

    kind: Kind
    required: bool = False


FIELDS: Mapping[str, Field] = {
    "job_id": Field(Kind.ID, required=True),
    "user": Field(Kind.LABEL),
    "node_num": Field(Kind.COUNT),
    "gpu_num": Field(Kind.COUNT, required=True),
    "cpu_num": Field(Kind.COUNT),
    "type": Field(Kind.LABEL),
    "state": Field(Kind.LABEL),
    "submit_time": Field(Kind.TIME, required=True),
    "start_time": Field(Kind.TIME),
    "end_time": Field(Kind.TIME),
    "duration_s": Field(Kind.SECONDS, required=True),
    "queue_s": Field(Kind.SECONDS),
    "gpu_time_s": Field(Kind.SECONDS),
}

SECONDS_PER_UNIT: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}

CLOCKS = ("calendar", "elapsed")

GPU_UNITS: Mapping[str, float] = {"GPU": 1.0, "percent": 0.01}


_UTC_OFFSET = re.compile(r"[+-](0\d|1[0-4]):[0-5]\d", re.ASCII)
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Dialect:
    """How a family of trace files is to be read.

    Attributes
    ----------
    key : str
        Name used on the command line and in identifiers.
    title : str
        What the files are.
    columns : mapping of str to str
        Canonical field -> column of the header. Every column named must be present.
        A canonical field that is not named does not exist in this dialect.
    signature : tuple of str
        Further columns that must be present; they tell the dialect from its relatives
        and are kept aside like any column that has no canonical field.
    clock : str
        "calendar": times are ISO 8601 text with a UTC offset (``2023-03-01 00:18:22+08:00``).
        "elapsed": `submit_time` is a number, counted from the start of the trace.
    unit : str
        Unit of durations, queues, GPU time and elapsed times: "ms", "s", "min" or "h".
    utc_offset : str or None
        Offset ("+08:00") of times that are written without one. Without it such times
        are set aside: a local time that could be any moment is no time.
    time_format : str or None
        Form of the times as ``strptime`` describes it (``%Y/%m/%d %H:%M``) where it is
        not ISO 8601; needs ``utc_offset``.
    resolution_s : float
        Step of the clock in s; two sides of an identity agree when they are less than
        this apart.
    gpu_unit : str
        What GPUs are counted in: "GPU", or "percent" of one, where jobs share GPUs.
    gpus_per_node : int or None
        GPUs of a node, if all nodes are documented to have as many.
    window : pair of str or None
        First and last month of the collection as documented ("2023-03", "2023-08").
    states, types : tuple of str
        Words that the trace's own documentation lists (states) or that its publication
        uses (types); empty if there are none. Other words are kept, for the audit.
    completed : tuple of str
        States of a job that ended well.
    """

    # A file that describes a dialect may have no other entries, so that a typo is found.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    key: str
    title: str
    columns: Mapping[str, str]
    signature: tuple[str, ...] = ()
    clock: str = "calendar"
    unit: str = "s"
    utc_offset: str | None = None
    time_format: str | None = None
    resolution_s: float = 1.0
    gpu_unit: str = "GPU"
    gpus_per_node: int | None = None
    window: tuple[str, str] | None = None
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    completed: tuple[str, ...] = ("COMPLETED",)

    def __post_init__(self) -> None:
        unknown = [name for name in self.columns if name not in FIELDS]
        lacking = [n for n, field in FIELDS.items() if field.required and n not in self.columns]
        if unknown:
            self._refuse(f"field {unknown[0]!r}", f"one of {', '.join(FIELDS)}")
        if lacking:
            self._refuse(f"no column for {lacking[0]!r}", "one: no job is usable without it")
        if self.clock not in CLOCKS:
            self._refuse(f"clock {self.clock!r}", f"one of {', '.join(CLOCKS)}")
        if self.unit not in SECONDS_PER_UNIT:
            self._refuse(f"unit {self.unit!r}", f"one of {', '.join(SECONDS_PER_UNIT)}")
        if self.gpu_unit not in GPU_UNITS:
            self._refuse(f"gpu_unit {self.gpu_unit!r}", f"one of {', '.join(GPU_UNITS)}")
        if self.utc_offset is not None and not _UTC_OFFSET.fullmatch(self.utc_offset):
            self._refuse(f"utc_offset {self.utc_offset!r}", "one such as '+08:00'")
        if self.time_format is not None and self.utc_offset is None:
            self._refuse("time_format without utc_offset", "both: such times are local times")
        if self.time_format is not None and "%z" in self.time_format.lower():
            self._refuse(f"time_format {self.time_format!r}", "a form of times without an offset")
        if not self.resolution_s > 0:
            self._refuse(f"resolution_s {self.resolution_s}", "seconds greater than 0")
        if self.gpus_per_node is not None and self.gpus_per_node < 1:
            self._refuse(f"gpus_per_node {self.gpus_per_node}", "a whole number of at least 1")
        if self.window is not None and not all(map(_MONTH.fullmatch, self.window)):
            self._refuse(f"window {list(self.window)}", "two months such as '2023-03'")
        if not self.completed:
            self._refuse("completed without a word", "the states of a job that ended well")

    def _refuse(self, found: str, expected: str) -> None:
        raise InputError(f"dialect {self.key!r}: found {found}, expected {expected}")

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that a header of this dialect must have."""
        return (*self.columns.values(), *self.signature)

    def missing(self, header: Sequence[str]) -> list[str]:
        """Return the needed columns that ``header`` lacks."""
        return [column for column in self.needed if column not in header]


_ACME_COLUMNS = {
    "job_id": "job_id",
    "user": "user",
    "node_num": "node_num",
    "gpu_num": "gpu_num",
    "cpu_num": "cpu_num",
    "type": "type",
    "state": "state",
    "submit_time": "submit_time",
    "start_time": "start_time",
    "end_time": "end_time",
    "duration_s": "duration",
    "queue_s": "queue",
    "gpu_time_s": "gpu_time",
}
# The data card's own list; PREEMPTED and RUNNING occur in the files and are not on it.
_ACME_STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL")
_ACME_WINDOW = ("2023-03", "2023-08")
_ACME_GPUS_PER_NODE = 8

SEREN = Dialect(
    key="seren",
    title="AcmeTrace, cluster Seren: job trace",
    columns=_ACME_COLUMNS,
    gpus_per_node=_ACME_GPUS_PER_NODE,
    window=_ACME_WINDOW,
    states=_ACME_STATES,
    types=("CPU", "Debug", "Eval", "MLLM", "Other", "Pretrain", "SFT"),
)
KALOS = Dialect(
    key="kalos",
    title="AcmeTrace, cluster Kalos: job trace",
    columns=_ACME_COLUMNS,
    signature=("mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time"),
    gpus_per_node=_ACME_GPUS_PER_NODE,
    window=_ACME_WINDOW,
    states=_ACME_STATES,
    types=("CPU", "Debug", "Eval", "Other", "Pretrain", "SFT"),
)
PHILLY_RFOLD = Dialect(
    key="philly-rfold",
    title="Philly job trace in the RFold simulator's form",
    columns={
        "job_id": "#job id",
        "gpu_num": "size",
        "submit_time": "arrival time (sec)",
        "duration_s": "duration (sec)",
    },
    clock="elapsed",
)

DIALECTS: Mapping[str, Dialect] = {d.key: d for d in (SEREN, KALOS, PHILLY_RFOLD)}

AUTO = "auto"

DIALECT_FILES = (".yml", ".yaml")


def read_dialect(path: Path) -> Dialect:
    """Return the dialect that a YAML file describes by the attributes of `Dialect`.

    Raises
    ------
    InputError
        Naming the file and the field at fault.
    """
    described = read_yaml(path)
    if isinstance(described, Mapping) and described.get("key") in (AUTO, *DIALECTS):
        raise InputError(
            f"{path}, field 'key': found {described['key']!r}, which exists already; "
            "choose another name"
        )
    return checked_entry(Dialect, path, "dialect", described)


def named_dialect(name: str) -> Dialect | None:
    """Return the dialect of a key or of a file that describes one; None for "auto".

    Raises
    ------
    InputError
        If it is none of these, with the keys that exist, or if the file is no dialect.
    """
    if name == AUTO:
        return None
    if name in DIALECTS:
        return DIALECTS[name]
    if name.endswith(DIALECT_FILES):
        return read_dialect(Path(name).expanduser())
    raise InputError(
        f"dialect {name!r} is unknown; expected one of {_choices()} "
        "or a .yml file that describes one"
    )


def check_dialect_name(name: str) -> str:
    """Return ``name`` if it is "auto", the key of a dialect or a file that describes one.

    Raises
    ------
    InputError
        As `named_dialect`.
    """
    named_dialect(name)
    return name


def choose(header: Sequence[str], dialect: str | Dialect = AUTO, where: str = "header") -> Dialect:
    """Return the dialect to read a file with: the one asked for, or the detected one.

    Parameters
    ----------
    header : sequence of str
        Column names of the file, in file order.
    dialect : str or Dialect
        "auto", the key of a dialect, a YAML file that describes one, or a dialect.
    where : str
        How an error names the file.

    Raises
    ------
    InputError
        As `detect`, or if the header lacks a column of the dialect asked for.
    """
    chosen = dialect if isinstance(dialect, Dialect) else named_dialect(dialect)
    if chosen is None:
        return detect(header, where)
    missing = chosen.missing(header)
    if missing:
        raise InputError(
            f"{where}, line 1: missing {_columns(missing)} of dialect {chosen.key!r}; "
            f"found {_listed(header)}; rename the columns or leave the dialect to {AUTO!r}"
        )
    return chosen


def detect(header: Sequence[str], where: str = "header") -> Dialect:
    """Return the dialect that a header belongs to.

    When several fit, the one that explains most columns is meant: Kalos has all of
    Seren's columns and four more.

    Parameters
    ----------
    header : sequence of str
        Column names of the file, in file order.
    where : str
        How an error names the file.

    Raises
    ------
    InputError
        If none fits: which came closest and which columns it misses.
    """
    fitting = [d for d in DIALECTS.values() if not d.missing(header)]
    if fitting:
        return max(fitting, key=lambda d: len(d.needed))
    separator = _other_separator(header)
    if separator:
        raise InputError(
            f"{where}, line 1: found columns separated by {separator!r}, expected ','; "
            "convert the file to comma-separated values"
        )
    closest = min(DIALECTS.values(), key=lambda d: len(d.missing(header)) / len(d.needed))
    raise InputError(
        f"{where}, line 1: missing {_columns(closest.missing(header))} of the closest dialect, "
        f"{closest.key!r}; found {_listed(header)}; expected the columns of one of "
        f"{', '.join(DIALECTS)}; rename the columns or describe a new dialect"
    )


def _other_separator(header: Sequence[str]) -> str | None:
    for separator in (";", "\t", "|"):
        names = [name.strip().strip('"') for name in ",".join(header).split(separator)]
        if any(not dialect.missing(names) for dialect in DIALECTS.values()):
            return separator
    return None


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def _listed(header: Sequence[str], limit: int = 300) -> str:
    text = ", ".join(header)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(header)} columns)"


def _choices() -> str:
    return ", ".join((AUTO, *DIALECTS))
