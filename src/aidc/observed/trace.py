"""Load a job trace into one canonical frame; set aside the rows that cannot be read.

A row is set aside when a field that it needs cannot be read. Whether what it says is
plausible (an end before the start, an unknown state) is for the audit to judge, not for
the loader, and a value that is merely missing stays missing.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from aidc.evidence import Carrier, Evidence, InputError
from aidc.observed import columns
from aidc.observed.columns import Faults, Mask, Numbers
from aidc.observed.formats import (
    AUTO,
    FIELDS,
    GPU_UNITS,
    SECONDS_PER_UNIT,
    Dialect,
    Kind,
    choose,
)
from aidc.observed.sieve import Fault, Sieve
from aidc.observed.textfile import TextFile, checked_path
from aidc.observed.times import TimeColumn, elapsed, fixed_timezone, formatted_times, times

# Longer rows are cut where they are shown.
MAX_SHOWN_TEXT = 4096

Lines = npt.NDArray[np.int32]
Cells = dict[str, pa.ChunkedArray]
Field: TypeAlias = "Numbers | TimeColumn | pd.Series[Any]"
Fields: TypeAlias = dict[str, Field]


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobTrace(Carrier):
    """A job trace in canonical form.

    Attributes
    ----------
    jobs : pandas.DataFrame
        One row a job kept, in file order. Columns, of which those that the dialect lacks
        are absent: ``job_id`` (str); ``user``, ``type``, ``state`` (categorical);
        ``node_num``, ``gpu_num``, ``cpu_num`` (int32; float64 where one is missing);
        ``submit_time``, ``start_time``, ``end_time`` (datetime64[ns] at the source's
        UTC offset, NaT = missing); ``duration_s``, ``queue_s`` (s; int64, or float64 where
        one is missing or has a fraction); ``gpu_time_s`` (GPU s, float64); ``line``
        (int32: line in the file, the header is line 1).
    extras : pandas.DataFrame
        The file's other columns as text, same index.
    set_aside : pandas.DataFrame
        Rows that cannot be used: ``line``, ``reason``, ``text``, ``field`` (the canonical
        field at fault; empty where the row does not split into fields).
    dialect : Dialect
        How the file was read.
    path : Path
        The file.
    rows : int
        Rows in the file: ``len(jobs) + len(set_aside)``.
    clock : str
        "calendar", or "elapsed" where `submit_time` counts from 1970-01-01 UTC and only
        differences mean anything.
    utc_offset : str
        Offset of all times in the file ("+08:00"); "mixed" where they differ (times are
        then in UTC), "none" where there is none.
    offsets : pandas.DataFrame or None
        Where they differ: the offset of each time (categorical), same index as ``jobs``.
    """

    jobs: pd.DataFrame
    extras: pd.DataFrame
    set_aside: pd.DataFrame
    dialect: Dialect
    path: Path
    rows: int
    clock: str
    utc_offset: str
    offsets: pd.DataFrame | None = None


def load_trace(
    path: str | Path, dialect: str | Dialect = AUTO, *, evidence: Evidence | None
) -> JobTrace:
    """Read a job trace from a plain, gzip, xz or zip file of comma-separated values.

    Parameters
    ----------
    path : str or Path
        The file; a relative path is taken from the current folder.
    dialect : str or Dialect
        "auto" (from the header), the key of a dialect, a YAML file that describes one,
        or a dialect.
    evidence : Evidence
        What is known of the file's origin; `aidc.catalog.trace.open_trace` finds it out.

    Raises
    ------
    InputError
        If the file as a whole cannot be used: one line that says where, what was found,
        what was expected and what to do.
    """
    file = checked_path(path)
    with TextFile(file) as text:
        header = text.header()
        chosen = choose(header, dialect, text.where)
        cells = _read(text, header)
        count = _rows(cells) if cells else 0
        clean = text.regular and text.lines == count + 1
    if cells and clean:
        lines, faults = np.arange(2, count + 2, dtype=np.int32), list[Fault]()
    else:
        cells, lines, faults = _read_sifted(file)
    rows = len(lines) + len(faults)
    if not rows:
        raise InputError(
            f"{text.where}: found a header and no rows, expected one row a job; "
            "check how the file was written"
        )
    fields, found = _parse(cells, chosen)
    kept = np.ones(len(lines), np.bool_)
    for name, reason, at in found:
        faults += [Fault(int(line), reason, field=name) for line in lines[at & kept]]
        kept &= ~at
    offset = _utc_offset(fields, kept) if chosen.clock == "calendar" else "none"
    return JobTrace(
        jobs=_jobs(fields, kept, lines, offset),
        extras=_extras(cells, kept),
        set_aside=_set_aside(file, faults),
        dialect=chosen,
        path=file,
        rows=rows,
        clock=chosen.clock,
        utc_offset=offset,
        offsets=_offsets(fields, kept) if offset == "mixed" else None,
        evidence=evidence,
    )


def _read(stream: TextFile | Sieve, header: list[str]) -> Cells | None:
    """Return every column as text, or None if a row does not split."""
    try:
        table = csv.read_csv(
            pa.PythonFile(stream, mode="r"),
            # One thread costs a third less time in all, and the wall time of two.
            read_options=csv.ReadOptions(column_names=header, use_threads=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return dict(zip(header, table.columns, strict=True))


def _read_sifted(path: Path) -> tuple[Cells, Lines, list[Fault]]:
    """Return the rows that split, the line of each, and the rows that do not."""
    with TextFile(path) as text:
        header = text.header()
        sieve = Sieve(text, len(header))
        cells = _read(sieve, header)
        lines = sieve.lines
    if not len(lines):  # an empty stream is an error to the parser
        cells = {name: pa.chunked_array([], pa.string()) for name in header}
    if cells is None or _rows(cells) != len(lines):
        raise InputError(
            f"{text.where}: the rows cannot be split into fields, expected comma-separated "
            "values; write the file anew without quotes"
        )
    return cells, lines, sieve.faults


def _rows(cells: Cells) -> int:
    return len(next(iter(cells.values())))


def _parse(cells: Cells, dialect: Dialect) -> tuple[Fields, list[tuple[str, str, Mask]]]:
    """Return the canonical fields; and which field is a reason not to use which rows.

    Each column is taken out of ``cells``, which frees its text and leaves the extras.
    """
    fields: Fields = {}
    found: list[tuple[str, str, Mask]] = []
    for name, source in dialect.columns.items():
        values, missing, faults = _parse_field(name, cells.pop(source), dialect)
        pa.default_memory_pool().release_unused()
        fields[name] = values
        found += [(name, f"{source}: {reason}", rows) for reason, rows in faults.items()]
        if FIELDS[name].required and missing.any():
            # Last, because a cell that holds nonsense has no value either.
            found.append((name, f"{source}: {columns.MISSING}", missing))
    return fields, found


def _parse_field(name: str, text: pa.ChunkedArray, dialect: Dialect) -> tuple[Field, Mask, Faults]:
    """Return the values of a field, where it has none, and where it has a faulty one."""
    scale = SECONDS_PER_UNIT[dialect.unit]
    match FIELDS[name].kind:
        case Kind.ID:
            names = columns.names(text)
            return names, names.isna().to_numpy(), {}
        case Kind.LABEL:
            words = columns.labels(text)
            return words, words.isna().to_numpy(), {}
        case Kind.TIME:
            moments = _parse_times(text, dialect)
            return moments, np.isnat(moments.stamps), moments.faults
        case Kind.COUNT:
            unit = GPU_UNITS[dialect.gpu_unit] if name == "gpu_num" else 1.0
            counts, faults = columns.numbers(text, columns.MAX_COUNT / unit, whole=unit == 1)
            return counts * unit, np.isnan(counts), faults
        case Kind.SECONDS:
            limit = columns.MAX_GPU_SECONDS if name == "gpu_time_s" else columns.MAX_SECONDS
            seconds, faults = columns.numbers(text, limit / scale)
            return seconds * scale, np.isnan(seconds), faults


def _parse_times(text: pa.ChunkedArray, dialect: Dialect) -> TimeColumn:
    if dialect.clock == "elapsed":
        return elapsed(text, SECONDS_PER_UNIT[dialect.unit])
    if dialect.time_format is not None and dialect.utc_offset is not None:
        return formatted_times(text, dialect.time_format, dialect.utc_offset)
    return times(text, dialect.utc_offset)


def _utc_offset(fields: Fields, kept: Mask) -> str:
    stamps = [field for field in fields.values() if isinstance(field, TimeColumn)]
    found = set[str]().union(*(column.offsets_of(kept) for column in stamps))
    if len(found) > 1:
        return "mixed"
    return found.pop() if found else "none"


def _offsets(fields: Fields, kept: Mask) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: field.offset_of_each()[kept].array
            for name, field in fields.items()
            if isinstance(field, TimeColumn)
        }
    )


def _jobs(fields: Fields, kept: Mask, lines: Lines, offset: str) -> pd.DataFrame:
    rows: Mask | slice = slice(None) if kept.all() else kept
    columns_of: dict[str, Any] = {}
    for name in FIELDS:
        if name in fields:
            columns_of[name] = _column(name, fields[name], rows, offset)
    columns_of["line"] = lines[rows]
    return pd.DataFrame(columns_of, copy=False)


def _column(
    name: str,
    values: Field,
    rows: Mask | slice,
    offset: str,
) -> Any:
    if isinstance(values, pd.Series):
        return values[rows].reset_index(drop=True)
    if isinstance(values, TimeColumn):
        stamps = pd.DatetimeIndex(values.stamps[rows].astype("datetime64[ns]"), tz="UTC")
        return stamps if offset in ("mixed", "none") else stamps.tz_convert(fixed_timezone(offset))
    found = values[rows]
    if name == "gpu_time_s" or not np.array_equal(found, np.floor(found)):  # NaN != NaN
        return found
    return found.astype(np.int32 if FIELDS[name].kind is Kind.COUNT else np.int64)


def _extras(cells: Cells, kept: Mask) -> pd.DataFrame:
    index = pd.RangeIndex(int(kept.sum()))
    frame = pd.DataFrame({name: text.to_pandas() for name, text in cells.items()})
    return frame[kept].set_index(index) if len(frame.columns) else pd.DataFrame(index=index)


def _set_aside(path: Path, faults: list[Fault]) -> pd.DataFrame:
    ordered = sorted(faults, key=lambda fault: fault.line)
    return pd.DataFrame(
        {
            "line": np.array([fault.line for fault in ordered], np.int64),
            "reason": pd.Series([fault.reason for fault in ordered], dtype="str"),
            "text": pd.Series(_texts(path, ordered), dtype="str"),
            "field": pd.Series([fault.field for fault in ordered], dtype="str"),
        }
    )


def _texts(path: Path, faults: list[Fault]) -> list[str]:
    """Return the text of rows, which are in file order, in one more pass over the file."""
    if not faults:
        return []
    texts: list[str] = []
    with TextFile(path) as text:
        text.header()
        first, held = 2, list[bytes]()
        for block in text.blocks():
            held += block.split(b"\n")[:-1]
            for fault in faults[len(texts) :]:
                start = fault.line - first
                if start + fault.span > len(held):
                    break
                texts.append(_shown(b"\n".join(held[start : start + fault.span])))
            if len(texts) == len(faults):
                break
            passed = min(len(held), faults[len(texts)].line - first)
            del held[:passed]
            first += passed
    return texts


def _shown(row: bytes) -> str:
    text = row.removesuffix(b"\r").decode("utf-8", errors="backslashreplace")
    if len(text) <= MAX_SHOWN_TEXT:
        return text
    return f"{text[:MAX_SHOWN_TEXT]}... ({len(text)} characters)"
