"""Trace files as text: plain or compressed, read in one pass, checked on the way.

Compressed files are recognised by their first bytes and decompressed as a stream: no
file is ever extracted, and what comes out is capped.
"""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from aidc import paths
from aidc.evidence import InputError

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 16
# Five times the largest trace known: more than this out of a compressed file is a bomb.
MAX_DECOMPRESSED_BYTES = 1 << 29

_NEWLINE = ord("\n")
_RETURN = ord("\r")
_MAGIC_BYTES = 6
_UTF8_BOM = b"\xef\xbb\xbf"
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)


def checked_path(path: str | Path) -> Path:
    """Return ``path`` as a Path to a file that exists.

    Raises
    ------
    InputError
        For a URL, a missing file or a folder.
    """
    if "://" in str(path):
        raise InputError(f"{path}: found a URL, expected a path of a local file; download it first")
    file = Path(path).expanduser()
    try:
        if file.is_dir():
            raise InputError(f"{path}: found a folder, expected a trace file; name a file in it")
        if not file.is_file():
            raise InputError(f"{path}: no such file (looked in {Path.cwd()}); check the path")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)[:200]!r}: cannot be a path ({error})") from error
    return file


class TextFile(io.RawIOBase):
    """A text file opened for one pass from header to end.

    Use as a context manager: `header` first, then either `read` (as any binary stream,
    for a parser) or `blocks`.

    Parameters
    ----------
    path : Path
        A plain, gzip, xz or zip file; a zip holds exactly one member.
    unpack : bool
        Whether to decompress a compressed file.

    Attributes
    ----------
    where : str
        How messages name the file.

    Raises
    ------
    InputError
        From any method, in one line: unreadable, empty, cut off or damaged, larger than
        `MAX_DECOMPRESSED_BYTES`, or not text.
    """

    def __init__(self, path: Path, *, unpack: bool = True) -> None:
        self.where = paths.display(path)
        self._opened = ExitStack()
        self._newlines = 0
        self._returns = 0
        self._size = 0
        self._long_line = False
        self._last = b""
        self._pending = b""
        try:
            raw = self._opened.enter_context(path.open("rb"))
            self._kind, self._stream = self._unpacked(raw) if unpack else ("plain", raw)
        except OSError as error:
            self.close()
            raise self._unreadable(error) from error
        except InputError:
            self.close()
            raise

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def close(self) -> None:
        """Close the file and whatever decompresses it."""
        self._opened.close()
        super().close()

    @property
    def lines(self) -> int:
        """Lines read so far, the header and a last line without an end among them."""
        return self._newlines + (1 if self._last not in (b"", b"\n") else 0)

    @property
    def regular(self) -> bool:
        """Whether all lines so far end alike, and none is suspiciously long."""
        return self._returns in (0, self._newlines) and not self._long_line

    def header(self) -> list[str]:
        """Return the column names of the first line, without surrounding blanks."""
        line, newline, self._pending = self._next(MAX_LINE_BYTES).partition(b"\n")
        if not line and not newline:
            raise InputError(f"{self.where}: found an empty file, expected a header and rows")
        if not newline and len(line) == MAX_LINE_BYTES:
            raise InputError(
                f"{self.where}, line 1: found no line end in the first {MAX_LINE_BYTES} bytes, "
                "expected a header of column names; is this a comma-separated file?"
            )
        try:
            text = line.removeprefix(_UTF8_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.where}, line 1: found byte {line[error.start]:#04x}, expected UTF-8 text; "
                "save the file as UTF-8"
            ) from error
        names = [name.strip() for name in next(csv.reader([text]), [])]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"{self.where}, line 1: found column {twice[0]!r} {names.count(twice[0])} times, "
                "expected it once; rename or remove a column"
            )
        return names

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` of the bytes after the header; b"" at the end."""
        limit = BLOCK_BYTES if size < 0 else size
        if not self._pending:
            return self._next(limit)
        block, self._pending = self._pending[:limit], self._pending[limit:]
        return block

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes after the header in blocks of whole lines, each ended by a newline."""
        held: list[bytes] = []
        while block := self.read(BLOCK_BYTES):
            whole, newline, rest = block.rpartition(b"\n")
            if newline:
                yield b"".join((*held, whole, newline))
                held = []
            if rest:
                held.append(rest)
        if held:
            yield b"".join((*held, b"\n"))

    def raw_block(self, size: int) -> bytes:
        """Return up to ``size`` bytes as they come, header included; b"" at the end."""
        try:
            block = self._stream.read(size)
        except _DAMAGE as error:
            raise InputError(
                f"{self.where}: the {self._kind} data is cut off or damaged ({error}); "
                "expected a whole file; copy or fetch it again"
            ) from error
        except OSError as error:
            raise self._unreadable(error) from error
        self._size += len(block)
        if self._kind != "plain" and self._size > MAX_DECOMPRESSED_BYTES:
            raise InputError(
                f"{self.where}: found more than {MAX_DECOMPRESSED_BYTES} bytes in the "
                f"{self._kind} data, expected fewer; if the file is sound, decompress it first"
            )
        return block

    def _next(self, size: int) -> bytes:
        block = self.raw_block(size)
        if b"\0" in block:
            line = self._newlines + block[: block.index(b"\0")].count(b"\n") + 1
            raise InputError(
                f"{self.where}, line {line}: found a NUL byte, expected UTF-8 text; "
                "save the file as UTF-8 (UTF-16 and binary files hold NUL bytes)"
            )
        # Twice as fast as bytes.count for a byte that occurs once in a hundred.
        view = np.frombuffer(block, np.uint8)
        self._newlines += int(np.count_nonzero(view == _NEWLINE))
        if b"\r" in block:
            self._returns += int(np.count_nonzero(view == _RETURN))
        self._last = block[-1:] or self._last
        # A line longer than the limit leaves some half of the limit without a line end.
        half = MAX_LINE_BYTES // 2
        starts = range(0, len(block) - half + 1, half)
        self._long_line |= any(block.find(b"\n", at, at + half) < 0 for at in starts)
        return block

    def _unpacked(self, raw: IO[bytes]) -> tuple[str, IO[bytes] | io.BufferedIOBase]:
        kind = _compression(raw.read(_MAGIC_BYTES))
        raw.seek(0)
        match kind:
            case "gzip":
                return kind, self._opened.enter_context(gzip.GzipFile(fileobj=raw))
            case "xz":
                return kind, self._opened.enter_context(lzma.LZMAFile(raw))
            case "zip":
                return kind, self._only_member(raw)
            case _:
                return kind, raw

    def _only_member(self, raw: IO[bytes]) -> IO[bytes]:
        try:
            archive = self._opened.enter_context(zipfile.ZipFile(raw))
            members = archive.namelist()
            if len(members) != 1:
                raise InputError(
                    f"{self.where}: found a zip of {len(members)} members, expected exactly one; "
                    "pass one member as a file of its own"
                )
            return self._opened.enter_context(archive.open(members[0]))
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise InputError(
                f"{self.where}: the zip data cannot be read ({error}); "
                "expected one member, neither encrypted nor damaged; copy or fetch it again"
            ) from error

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(
            f"{self.where}: cannot be read ({error.strerror or error}); "
            "expected a readable file; check its permissions"
        )


def is_compressed(path: Path) -> bool:
    """Return whether a file is gzip, xz or zip data, by its first bytes."""
    with TextFile(path, unpack=False) as file:
        return _compression(file.raw_block(_MAGIC_BYTES)) != "plain"


def _compression(magic: bytes) -> str:
    if magic.startswith(b"\x1f\x8b"):
        return "gzip"
    if magic.startswith(b"\xfd7zXZ\0"):
        return "xz"
    return "zip" if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")) else "plain"


class Content:
    """What a file holds, by size and hashes; each is computed when it is first asked for.

    Parameters
    ----------
    path : Path
        The file.
    unpack : bool
        Whether a compressed file counts as what it holds, or as it is.
    """

    def __init__(self, path: Path, *, unpack: bool = True) -> None:
        self.path = path
        self._unpack = unpack

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._size_and_sha256[0]

    @property
    def sha256(self) -> str:
        """SHA-256 in hexadecimal digits."""
        return self._size_and_sha256[1]

    @functools.cached_property
    def _size_and_sha256(self) -> tuple[int, str]:
        digest, size = hashlib.sha256(), 0
        for block in self._blocks():
            digest.update(block)
            size += len(block)
        return size, digest.hexdigest()

    @functools.cached_property
    def git_blob(self) -> str:
        """Git's object id of the content."""
        digest = hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
        for block in self._blocks():
            digest.update(block)
        return digest.hexdigest()

    def _blocks(self) -> Iterator[bytes]:
        with TextFile(self.path, unpack=self._unpack) as file:
            yield from iter(lambda: file.raw_block(BLOCK_BYTES), b"")
