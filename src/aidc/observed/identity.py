"""Recognise registered files by what they hold, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aidc.evidence.registry import Source, load_sources
from aidc.observed.textfile import Content, is_compressed


def verify(path: Path, sources: Mapping[str, Source] | None = None) -> str | None:
    """Return the key of the registered source that a file equals, if any.

    A compressed copy counts as the file that it holds.
    """
    registry = load_sources() if sources is None else sources
    found = recognise(Content(path, unpack=False), registry)
    if found is None and is_compressed(path):
        return recognise(Content(path), registry)
    return found


def recognise(content: Content, sources: Mapping[str, Source]) -> str | None:
    """Return the key of the source that some content equals, if any."""
    return next((key for key, source in sources.items() if not mismatch(content, source)), None)


def mismatch(content: Content, source: Source) -> str | None:
    """Return in words how content differs from a source; None if it does not."""
    if source.bytes is not None and source.bytes != content.size:
        return f"found {content.size} bytes, expected {source.bytes}"
    if source.sha256 is not None and source.sha256 != content.sha256:
        return f"found SHA-256 {content.sha256}, expected {source.sha256}"
    if source.git_blob is not None and source.git_blob != content.git_blob:
        return (
            f"found git blob {content.git_blob} ({content.size} bytes), expected {source.git_blob}"
        )
    return None
