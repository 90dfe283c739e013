"""Split the rows of a WattAMeter log: fast as they are written, patiently when not.

The writer puts two blanks before a row and one between fields, which a parser of
delimited text reads at full speed. A row that does not fit (the shorter last row of a
write batch, a row cut off) is handed back and looked at on its own; a file that does not
fit takes the tolerant way, which accepts any blanks and any text in a cell.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from aidc.observed.power import Floats, Mask

_PEEK_BYTES = 1 << 8
_TIME_BYTES = 26
# Positions of the digits of YYYY-mm-dd_HH:MM:SS.ffffff, and of its separators.
_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 22, 23, 24, 25]
_MARKS = [4, 7, 10, 13, 16, 19]
_MARK_BYTES = np.frombuffer(b"--_::.", np.uint8)
_INDENT = ("indent-1", "indent-2")

Fault = tuple[int, str, str]
Lines = npt.NDArray[np.int32]


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of a log that have a time and all their readings.

    Attributes
    ----------
    stamps_ns : ndarray of int64, shape (n,)
        ns since 1970-01-01, local time.
    numbers : dict of int to ndarray, shape (n,)
        Numbers by position of the column; NaN where there is none.
    incomplete : ndarray of bool, shape (n,)
        Rows that end before the derived columns.
    lines : ndarray of int32, shape (n,)
        Line of each row in the file.
    faults : list of (line, reason, text)
        The rows that are not among them.
    cells : dict of str to int
        Cells that hold no number, counted by their text.
    """

    stamps_ns: npt.NDArray[np.int64]
    numbers: dict[int, Floats]
    incomplete: Mask
    lines: Lines
    faults: list[Fault]
    cells: dict[str, int]


@dataclasses.dataclass(frozen=True)
class _Split:
    """All rows with at most as many fields as the header names."""

    times: npt.NDArray[np.uint8]
    numbers: dict[int, Floats]
    lacking: dict[int, Mask]
    lines: Lines
    cells: Counter[str]
    faults: list[Fault]


def split_rows(data: bytes, fields: int, readings: Sequence[int], derived: Sequence[int]) -> Rows:
    """Return the usable rows of a log and the others with reasons.

    Parameters
    ----------
    data : bytes
        The whole file.
    fields : int
        Fields of a whole row, the time (position 0) among them.
    readings, derived : sequence of int
        Positions of the numbers that every row must have, and of those that the last row
        of a batch lacks.
    """
    wanted = sorted({*readings, *derived})
    split = _straight(data, fields, wanted)
    if split is None:
        lines, body = _without_remarks(data)
        buffer = pa.py_buffer(body)
        split = _fast(lines, buffer, fields, wanted) or _tolerant(lines, body, fields, wanted)
    stamps, sound = _stamps(split.times)
    last = split.lacking[fields - 1]
    without_reading = np.logical_or.reduce([split.lacking[p] for p in readings])
    without_derived = np.logical_and.reduce([split.lacking[p] for p in derived] or [~last])
    incomplete = last & ~without_reading & without_derived
    cut = last & ~incomplete
    faults = list(split.faults)
    keep = sound & ~cut
    text = [] if keep.all() else data.split(b"\n")
    for row in np.flatnonzero(~keep):
        reason = "fewer fields than the header" if cut[row] else "timestamp: not a time"
        line = int(split.lines[row])
        faults.append((line, reason, text[line - 1].decode("utf-8", "replace").strip()))
    rows: Mask | slice = slice(None) if keep.all() else keep
    return Rows(
        stamps_ns=stamps[rows],
        numbers={p: split.numbers[p][rows] for p in wanted},
        incomplete=incomplete[rows],
        lines=split.lines[rows],
        faults=faults,
        cells=dict(split.cells),
    )


def _head_end(data: bytes) -> tuple[int, int]:
    """Return where the lines of the head end, and the number of the line after them."""
    end, line = 0, 1
    while data[end : end + _PEEK_BYTES].lstrip(b" \t").startswith((b"#", b"\n", b"\r\n")):
        end = data.find(b"\n", end) + 1 or len(data)
        line += 1
    return end, line


def _without_remarks(data: bytes) -> tuple[Lines, bytes]:
    """Return the line numbers of the rows and the rows alone, without comments and blanks."""
    numbered = [
        (number, line)
        for number, line in enumerate(data.split(b"\n"), start=1)
        if line.strip() and not line.lstrip().startswith(b"#")
    ]
    kept = np.array([number for number, _ in numbered], np.int32)
    return kept, b"\n".join(line for _, line in numbered)


def _straight(data: bytes, fields: int, wanted: list[int]) -> _Split | None:
    """Split a log whose head is followed by rows only, or return None."""
    end, first = _head_end(data)
    if data.find(b"#", end) >= 0:
        return None
    rows = data.count(b"\n", end) + (0 if data.endswith(b"\n") or end == len(data) else 1)
    lines = np.arange(first, first + rows, dtype=np.int32)
    return _fast(lines, pa.py_buffer(data).slice(end), fields, wanted)


def _fast(lines: Lines, body: pa.Buffer, fields: int, wanted: list[int]) -> _Split | None:
    """Split rows exactly as the writer spaces them, or return None if it cannot."""
    table, odd = _table(body, fields, wanted, pa.float64())
    if table is None:  # some cell is no number
        table, odd = _table(body, fields, wanted, pa.string())
    if table is None or len(table) + len(odd) != lines.size:
        return None
    if any(column.null_count for column in table.columns):
        return None
    stamps = b"".join(chunk.buffers()[1] for chunk in table["0"].chunks)
    times = np.frombuffer(stamps, np.uint8)[: len(table) * _TIME_BYTES]
    cells: Counter[str] = Counter()
    regular = _Split(
        times=times.reshape(-1, _TIME_BYTES),
        numbers={p: _numbers(table[str(p)], cells) for p in wanted},
        lacking={p: np.zeros(len(table), np.bool_) for p in {*wanted, fields - 1}},
        lines=np.delete(lines, [row for row, _ in odd]),
        cells=cells,
        faults=[],
    )
    return _with_odd_rows(regular, lines, odd, fields) if odd else regular


def _table(
    body: pa.Buffer, fields: int, wanted: list[int], kind: pa.DataType
) -> tuple[pa.Table | None, list[tuple[int, str]]]:
    """Return time and wanted columns, and the rows (number, text) with other field counts."""
    odd: list[tuple[int, str]] = []

    def hand_back(row: csv.InvalidRow) -> str:
        odd.append((row.number - 1, row.text))
        return "skip"

    used = [str(position) for position in wanted]
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            read_options=csv.ReadOptions(
                column_names=[*_INDENT, *map(str, range(fields))], use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=" ", invalid_row_handler=hand_back),
            convert_options=csv.ConvertOptions(
                include_columns=["0", *used],
                column_types=dict.fromkeys(used, kind) | {"0": pa.binary(_TIME_BYTES)},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None, []
    return table, odd


def _numbers(column: pa.ChunkedArray, cells: Counter[str]) -> Floats:
    """Return a column as numbers; count the cells that are none by their text."""
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    return _parsed(column.to_pandas(), cells)


def _parsed(text: pd.Series[str], cells: Counter[str]) -> Floats:
    number = pd.to_numeric(text, errors="coerce")
    for lost, count in text[number.isna() & text.notna()].value_counts().items():
        cells[str(lost)] += int(count)
    return np.asarray(number.to_numpy(np.float64), dtype=np.float64)


def _with_odd_rows(
    regular: _Split, lines: Lines, odd: list[tuple[int, str]], fields: int
) -> _Split:
    """Put the rows that were handed back where they belong in the file."""
    tolerant = _tolerant(
        lines[[row for row, _ in odd]],
        "\n".join(text for _, text in odd).encode(),
        fields,
        list(regular.numbers),
    )
    before = np.searchsorted(regular.lines, tolerant.lines)
    return _Split(
        times=np.insert(regular.times, before, tolerant.times, axis=0),
        numbers={p: np.insert(v, before, tolerant.numbers[p]) for p, v in regular.numbers.items()},
        lacking={p: np.insert(v, before, tolerant.lacking[p]) for p, v in regular.lacking.items()},
        lines=np.insert(regular.lines, before, tolerant.lines),
        cells=regular.cells + tolerant.cells,
        faults=tolerant.faults,
    )


def _tolerant(lines: Lines, body: bytes, fields: int, wanted: list[int]) -> _Split:
    """Split rows at any blanks; a row with more fields than the header is a fault."""
    used = sorted({0, fields - 1, *wanted})
    columns: dict[int, list[str | None]] = {position: [] for position in used}
    kept, faults = [], list[Fault]()
    for line, raw in zip(lines.tolist(), body.split(b"\n"), strict=False):
        cells = raw.decode("utf-8", "replace").split()
        if len(cells) > fields:
            faults.append((line, "more fields than the header", " ".join(cells)))
            continue
        kept.append(line)
        for position in used:
            columns[position].append(cells[position] if position < len(cells) else None)
    counted: Counter[str] = Counter()
    numbers = {p: _parsed(pd.Series(columns[p], dtype="object"), counted) for p in wanted}
    stamps = np.array([(text or "").encode() for text in columns[0]], dtype=f"S{_TIME_BYTES}")
    return _Split(
        times=stamps.view(np.uint8).reshape(-1, _TIME_BYTES),
        numbers=numbers,
        lacking={p: np.array([c is None for c in columns[p]], np.bool_) for p in used},
        lines=np.array(kept, np.int32),
        cells=counted,
        faults=faults,
    )


def _stamps(times: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], Mask]:
    """Return times in ns since 1970-01-01 local time, and which of them could be read."""
    digits = times[:, _DIGITS] - np.uint8(ord("0"))  # anything below "0" wraps above 9
    sound = np.all(times[:, _MARKS] == _MARK_BYTES, axis=1) & np.all(digits <= 9, axis=1)
    # A log spans few days: the calendar is asked once for each.
    date = np.where(sound, _decimal(digits[:, :8]), 0)
    distinct, inverse = np.unique(date, return_inverse=True)
    text = pd.Series([f"{day:08d}" for day in distinct])
    days = pd.to_datetime(text, format="%Y%m%d", errors="coerce").to_numpy("datetime64[ns]")
    hour, minute, second = (_decimal(digits[:, i : i + 2]) for i in (8, 10, 12))
    sound &= ~np.isnat(days)[inverse] & (hour < 24) & (minute < 60) & (second < 60)
    micro = _decimal(digits[:, 14:])
    in_day = (hour * 3600 + minute * 60 + second) * 1_000_000_000 + micro * 1_000
    return np.where(sound, days.astype(np.int64)[inverse] + in_day, 0), sound


def _decimal(digits: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    number = np.zeros(len(digits), np.int64)
    for column in digits.T:
        number = number * 10 + column
    return number
