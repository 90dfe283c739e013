"""Fetch registered files.

A download goes to a temporary file and takes its name only once its hash is the
registered one, so a file in the cache is never replaced by anything worse.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pooch
import requests

from aidc import paths
from aidc.evidence import InputError
from aidc.evidence.registry import Source, load_sources
from aidc.observed.identity import mismatch
from aidc.observed.textfile import Content

# pooch's default of 1 KiB is about eight times slower.
CHUNK_BYTES = 1 << 20


class _FinalError(Exception):
    """A failure that another attempt would not mend: the server's last word."""


def fetch(
    keys: Sequence[str] = (),
    cache: Path | None = None,
    *,
    sources: Mapping[str, Source] | None = None,
    timeout_s: float = 30.0,
    retries: int = 3,
) -> dict[str, Path]:
    """Return the local files of registered sources, downloading those that are not there.

    Files already in the cache are verified and reused without a connection.

    Parameters
    ----------
    keys : sequence of str
        Keys of sources; none means all.
    cache : Path, optional
        Folder of fetched files; default `aidc.paths.CACHE`.
    sources : mapping of str to Source, optional
        The registry; default ``data/registry/sources.yml``.
    timeout_s : float
        Longest wait for the server to answer or to send more, in s.
    retries : int
        Further attempts after a failed one.

    Raises
    ------
    InputError
        For an unknown key, a cached file that is not the registered one, a failed
        download, or one that is not the registered file. Nothing is deleted.
    """
    known = load_sources() if sources is None else sources
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise InputError(
            f"source {unknown[0]!r} is not registered; expected one of {', '.join(known)}"
        )
    folder = paths.CACHE if cache is None else cache
    return {key: _fetched(known[key], folder, timeout_s, retries) for key in (keys or tuple(known))}


def _fetched(source: Source, cache: Path, timeout_s: float, retries: int) -> Path:
    path = cache / source.path
    if path.exists():
        difference = mismatch(Content(path, unpack=False), source)
        if difference:
            raise InputError(
                f"{paths.display(path)}: {difference} for {source.key}; it was left as it is: "
                f"move it away and run 'python -m aidc fetch {source.key}'"
            )
        return path
    return _download(source, path, timeout_s, retries)


def _download(source: Source, path: Path, timeout_s: float, retries: int) -> Path:
    """Download a source to ``path``; the file appears verified or not at all."""
    pooch.get_logger().setLevel(logging.WARNING)

    def verified(url: str, output_file: str, store: pooch.Pooch) -> None:
        answers: list[requests.Response] = []
        transfer = pooch.HTTPDownloader(
            progressbar=sys.stderr.isatty(),
            chunk_size=CHUNK_BYTES,
            timeout=timeout_s,
            hooks={"response": lambda answer, **_: answers.append(answer)},
        )
        try:
            transfer(url, output_file, store)
        except requests.HTTPError as error:
            if error.response is not None and error.response.status_code < 500:
                raise _FinalError(str(error)) from error
            raise
        finally:
            for answer in answers:  # pooch leaves the connection of a failed one open
                answer.close()
        difference = mismatch(Content(Path(output_file), unpack=False), source)
        if difference:
            raise ValueError(difference)

    store = pooch.create(
        path=path.parent,
        base_url="",
        registry={source.path: None},
        urls={source.path: source.url},
        retry_if_failed=retries,
    )
    try:
        store.fetch(source.path, downloader=verified)
    except (_FinalError, requests.RequestException, ValueError, OSError) as error:
        raise InputError(
            f"source {source.key}: {_reason(error)}; nothing was changed in "
            f"{paths.display(path.parent)}: try again later, or place the file there yourself as "
            f"{source.path} (from {source.url})"
        ) from error
    return path


def _reason(error: Exception) -> str:
    """Return why a download failed, in one line."""
    if isinstance(error, ValueError) and not isinstance(error, requests.RequestException):
        return f"the download is not the registered file: {error}"
    cause = _innermost(error)
    if isinstance(error, requests.Timeout) or "timed out" in cause:
        return f"the download stalled ({cause})"
    if isinstance(error, requests.ConnectionError):
        return f"no connection ({cause})"
    return f"the download failed ({cause})"


def _innermost(error: BaseException) -> str:
    """Return the text of the error at the bottom: requests and urllib3 wrap each other's."""
    inner = [getattr(error, "reason", None), *reversed(error.args)]
    wrapped = next((item for item in inner if isinstance(item, BaseException)), None)
    if wrapped is not None:
        return _innermost(wrapped)
    text = " ".join(str(error).split())
    # "<pool or connection>: what was tried: what happened"
    return text if isinstance(error, _FinalError) else text.rpartition(": ")[2]
