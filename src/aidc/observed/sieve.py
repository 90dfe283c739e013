"""Keep the rows of a text file that can be split into fields; say why not of each other.

This is the slow way through a file, taken only when the fast one found that something
is wrong somewhere. Most lines are still judged in bulk: only a line whose bytes look
unusual is looked at on its own.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator, Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from aidc.observed.textfile import MAX_LINE_BYTES, TextFile

# A quoted field that stays open longer than this is a stray quote, not a long text.
MAX_RECORD_LINES = 20

_COMMA, _NEWLINE, _RETURN, _QUOTE = (ord(mark) for mark in ',\n\r"')


class _Verdict(Enum):
    """What a line is when it is no faulty row."""

    SOUND = "a row"
    BLANK = "no row"
    OPEN = "the first line of a row that may go on"


@dataclasses.dataclass(frozen=True)
class Fault:
    """A row set aside: its first line (the header is line 1), how many it spans, and why."""

    line: int
    reason: str
    span: int = 1


class Sieve(io.RawIOBase):
    """A binary stream of the sound rows of a file, in file order.

    A row is one line. A quoted field that continues on the next lines makes them one
    row, which is set aside. Blank lines are no rows.

    Parameters
    ----------
    text : TextFile
        The file, its header already read.
    fields : int
        How many fields a sound row has.

    Attributes
    ----------
    faults : list of Fault
        The rows set aside so far.
    """

    def __init__(self, text: TextFile, fields: int) -> None:
        self.faults: list[Fault] = []
        self._fields = fields
        self._kept_lines: list[npt.NDArray[np.int32]] = []
        self._sound = self._sifted(text)
        self._pending = b""

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    @property
    def lines(self) -> npt.NDArray[np.int32]:
        """Line number of every row let through so far."""
        return np.concatenate([np.empty(0, np.int32), *self._kept_lines])

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes of sound rows; b"" at the end."""
        while not self._pending:
            block = next(self._sound, None)
            if block is None:
                return b""
            self._pending = block
        end = len(self._pending) if size < 0 else size
        taken, self._pending = self._pending[:end], self._pending[end:]
        return taken

    def _sifted(self, text: TextFile) -> Iterator[bytes]:
        line, carry = 2, b""
        for block in text.blocks():
            sound, read_to, lines = self._sift(carry + block, line, last=False)
            carry = (carry + block)[read_to:]
            line += lines
            yield sound
        if carry:
            yield self._sift(carry, line, last=True)[0]

    def _sift(self, block: bytes, first_line: int, *, last: bool) -> tuple[bytes, int, int]:
        """Return the sound rows of a block, and how many bytes and lines were judged.

        Lines at the end of a block that may continue in the next one are not judged.
        """
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == _NEWLINE) + 1
        starts = np.concatenate(([0], ends[:-1]))
        keep = ~self._unusual(block, data, starts, ends)
        judged, done = len(ends), 0
        for index in np.flatnonzero(~keep).tolist():
            if index < done:  # inside a row that was set aside
                continue
            verdict, span = self._judge(block[starts[index] : ends[index]]), 1
            if verdict is _Verdict.OPEN:
                reach = ends[index : index + MAX_RECORD_LINES].tolist()
                if len(reach) < MAX_RECORD_LINES and not last:
                    judged = index
                    break
                verdict, span = self._judge_open(block, int(starts[index]), reach)
            done = index + span
            keep[index:done] = verdict is _Verdict.SOUND
            if isinstance(verdict, str):
                self.faults.append(Fault(first_line + index, verdict, span))
        keep[judged:] = False
        self._kept_lines.append((np.flatnonzero(keep) + first_line).astype(np.int32))
        read_to = int(starts[judged]) if judged < len(ends) else len(block)
        sound = block if keep.all() else data[np.repeat(keep, ends - starts)].tobytes()
        return sound, read_to, judged

    def _unusual(
        self,
        block: bytes,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.intp],
        ends: npt.NDArray[np.intp],
    ) -> npt.NDArray[np.bool_]:
        """Return which lines need a look of their own."""
        lengths = ends - starts
        unusual = np.add.reduceat(data == _COMMA, starts, dtype=np.int32) != self._fields - 1
        unusual |= lengths > MAX_LINE_BYTES
        if b'"' in block:
            unusual |= np.logical_or.reduceat(data == _QUOTE, starts)
        if b"\r" in block:
            returns = np.add.reduceat(data == _RETURN, starts, dtype=np.int32)
            unusual |= returns > ((lengths > 1) & (data[ends - 2] == _RETURN))
        if not _is_utf8(block):
            unusual |= np.maximum.reduceat(data, starts) > 127
        return np.asarray(unusual, np.bool_)

    def _judge(self, line: bytes) -> _Verdict | str:
        if len(line) > MAX_LINE_BYTES:
            return f"line longer than {MAX_LINE_BYTES} bytes"
        if not line.strip():
            return _Verdict.BLANK
        if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r"):
            return "carriage return inside the line"
        fields = _fields_of(line)
        if fields is None:
            return "not UTF-8 text"
        if fields[-1].endswith("\n"):
            return _Verdict.OPEN
        if len(fields) != self._fields:
            return f"{len(fields)} fields, expected {self._fields}"
        return _Verdict.SOUND

    def _judge_open(self, block: bytes, start: int, ends: Sequence[int]) -> tuple[str, int]:
        for span, end in enumerate(ends[1:], start=2):
            fields = _fields_of(block[start:end], strict=True)
            if fields is None or len(fields) > self._fields:
                break
            if not fields[-1].endswith("\n") and len(fields) == self._fields:
                return "line break inside a quoted field", span
        return "quoted field is never closed", 1


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _fields_of(record: bytes, *, strict: bool = False) -> list[str] | None:
    """Return the fields of a record that ends with a newline; None if it has none.

    The last field keeps the newline if and only if its quote is still open. Where it is
    ``strict``, a closing quote ends its field: a second stray quote closes nothing.
    """
    try:
        text = record.decode("utf-8")
        line = text.removesuffix("\n").removesuffix("\r") + "\n"
        return next(csv.reader([line], strict=strict))
    except (UnicodeDecodeError, csv.Error):
        return None
