"""Files fetched before: where one lies, and that it is the registered one."""

from __future__ import annotations

from pathlib import Path

from aidc import paths
from aidc.evidence import InputError
from aidc.evidence.registry import Source
from aidc.observed.identity import mismatch
from aidc.observed.textfile import Content


def fetched_file(source: Source, cache: Path, *, unpack: bool = True) -> Path:
    """Return the file of a source in the folder of fetched files.

    Raises
    ------
    InputError
        If it is not there, or is another file.
    """
    path = cache / source.path
    if not path.is_file():
        raise InputError(
            f"{paths.display(path)}: not there, expected {source.title}; "
            f"run 'python -m aidc fetch {source.key}'"
        )
    difference = mismatch(Content(path, unpack=unpack), source)
    if difference:
        raise InputError(
            f"{paths.display(path)}: {difference} for {source.key}; "
            f"move it away and run 'python -m aidc fetch {source.key}'"
        )
    return path
