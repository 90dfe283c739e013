"""Dialects: how each public trace names, dates and counts what a job is.

A dialect is one `Dialect` object: which header column holds which canonical field, what
its clock is and which words its documentation lists. Everything else in the loader
works on canonical fields, so a new dialect is described here and nowhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import StrEnum

from aidc.evidence import InputError


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
    states, types : tuple of str
        Words that the trace's own documentation lists (states) or that its publication
        uses (types); empty if there are none. Other words are kept, for the audit.
    """

    key: str
    title: str
    columns: Mapping[str, str]
    signature: tuple[str, ...] = ()
    clock: str = "calendar"
    unit: str = "s"
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

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

SEREN = Dialect(
    key="seren",
    title="AcmeTrace, cluster Seren: job trace",
    columns=_ACME_COLUMNS,
    states=_ACME_STATES,
    types=("CPU", "Debug", "Eval", "MLLM", "Other", "Pretrain", "SFT"),
)
KALOS = Dialect(
    key="kalos",
    title="AcmeTrace, cluster Kalos: job trace",
    columns=_ACME_COLUMNS,
    signature=("mem_per_pod_GB", "shared_mem_per_pod", "fail_time", "stop_time"),
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


def check_dialect_name(name: str) -> str:
    """Return ``name`` if it is "auto" or the key of a dialect.

    Raises
    ------
    InputError
        If it is neither, with the keys that exist.
    """
    if name != AUTO and name not in DIALECTS:
        raise InputError(f"dialect {name!r} is unknown; expected one of {_choices()}")
    return name


def choose(header: Sequence[str], dialect: str | Dialect = AUTO, where: str = "header") -> Dialect:
    """Return the dialect to read a file with: the one asked for, or the detected one.

    Parameters
    ----------
    header : sequence of str
        Column names of the file, in file order.
    dialect : str or Dialect
        "auto", the key of a dialect, or a dialect.
    where : str
        How an error names the file.

    Raises
    ------
    InputError
        As `detect`, or if the header lacks a column of the dialect asked for.
    """
    if dialect == AUTO:
        return detect(header, where)
    chosen = dialect if isinstance(dialect, Dialect) else DIALECTS[check_dialect_name(dialect)]
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
