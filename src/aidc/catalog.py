"""From a key or a path to a carrier with its evidence.

This is the only module that knows both real and synthetic inputs, so it is the one
place that decides what an input may claim: VERIFIED when its content equals a
registered source, SYNTHETIC when a stand-in generator drew it, UNVERIFIED otherwise.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from aidc import paths
from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.evidence.registry import Source, load_sources
from aidc.observed.formats import AUTO
from aidc.observed.identity import mismatch, recognise
from aidc.observed.power_read import read_power
from aidc.observed.power_runs import PowerRun
from aidc.observed.textfile import Content, checked_path
from aidc.observed.trace import JobTrace, load_trace
from aidc.standin import power as power_standin
from aidc.standin import trace as standin
from aidc.standin.targets import KEY as STANDIN

# Name of a trace -> key of the registered source that it means.
SOURCE_OF: Mapping[str, str] = {"seren": "acme-seren", "kalos": "acme-kalos"}

TRACES = (STANDIN, *SOURCE_OF)

POWER_STANDIN = power_standin.KEY

# The generator names its users like this; no real user id of the data set does.
_SYNTHETIC_USER = re.compile(r"usyn\d+")


def check_trace_name(name: str) -> str:
    """Return ``name`` if it is the key of a trace or the path of a file.

    Raises
    ------
    InputError
        If it is neither, with the keys that exist.
    """
    if name not in TRACES:
        _file(name)
    return name


def open_trace(
    key_or_path: str,
    dialect: str = AUTO,
    *,
    cache: Path | None = None,
    sources: Mapping[str, Source] | None = None,
) -> JobTrace:
    """Load a job trace with what is known of its origin.

    Parameters
    ----------
    key_or_path : str
        "seren-standin" (synthetic; drawn on first use), "seren" or "kalos" (fetched
        before), or the path of a file, relative to the current folder.
    dialect : str
        "auto" (from the header) or the key of a dialect.
    cache : Path, optional
        Folder of fetched files; default `aidc.paths.CACHE`.
    sources : mapping of str to Source, optional
        The registry; default ``data/registry/sources.yml``.

    Returns
    -------
    JobTrace
        Of the observed layer. A file that holds any row of the stand-in is SYNTHETIC,
        wherever it lies and whatever was done to it.

    Raises
    ------
    InputError
        One line: no such trace, not fetched yet, not the registered file, or not readable.
    """
    if key_or_path == STANDIN:
        return _claiming(_load(standin.cached(), dialect), Provenance.SYNTHETIC, STANDIN)
    registry = load_sources() if sources is None else sources
    if key_or_path in SOURCE_OF:
        source = registry[SOURCE_OF[key_or_path]]
        path = _fetched_file(source, paths.CACHE if cache is None else cache)
        return _claiming(_load(path, dialect), Provenance.VERIFIED, source.key)
    path = _file(key_or_path)
    content = Content(path)
    key = recognise(content, registry)
    trace = _load(path, dialect)
    if key is not None:
        return _claiming(trace, Provenance.VERIFIED, key)
    if _holds_synthetic_rows(trace):
        return _claiming(trace, Provenance.SYNTHETIC, STANDIN)
    name = f"file:{trace.dialect.key}:{content.sha256[:12]}"
    return _claiming(trace, Provenance.UNVERIFIED, name)


def _load(path: Path, dialect: str) -> JobTrace:
    paths.record_input(path)
    return load_trace(path, dialect, evidence=None)


def _claiming(trace: JobTrace, provenance: Provenance, name: str) -> JobTrace:
    evidence = Evidence(Layer.OBSERVED, provenance, frozenset({name}))
    return dataclasses.replace(trace, evidence=evidence)


def _file(name: str) -> Path:
    if "://" not in name and not Path(name).expanduser().exists():
        raise InputError(
            f"trace {name!r}: no such file in {Path.cwd()}; expected one of "
            f"{', '.join(TRACES)} or the path of a trace file"
        )
    return checked_path(name)


def _fetched_file(source: Source, cache: Path) -> Path:
    path = cache / source.path
    if not path.is_file():
        raise InputError(
            f"{paths.display(path)}: not there, expected {source.title}; "
            f"run 'python -m aidc fetch {source.key}'"
        )
    difference = mismatch(Content(path), source)
    if difference:
        raise InputError(
            f"{paths.display(path)}: {difference} for {source.key}; "
            f"move it away and run 'python -m aidc fetch {source.key}'"
        )
    return path


def _holds_synthetic_rows(trace: JobTrace) -> bool:
    users = trace.jobs["user"].cat.categories if "user" in trace.jobs else ()
    return any(_SYNTHETIC_USER.fullmatch(str(user)) for user in users)


def check_power_name(name: str) -> str:
    """Return ``name`` if it is the key of power profiles or the path of a file.

    Raises
    ------
    InputError
        If it is neither.
    """
    if name != POWER_STANDIN:
        _power_file(name)
    return name


def open_power(key_or_path: str) -> tuple[PowerRun, ...]:
    """Read power logs with what is known of their origin.

    Parameters
    ----------
    key_or_path : str
        "nlr-standin" (two synthetic runs, drawn on first use) or the path of one log.

    Raises
    ------
    InputError
        One line: no such input, or not readable.
    """
    if key_or_path == POWER_STANDIN:
        return tuple(_drawn_run(name) for name in power_standin.runs())
    path = _power_file(key_or_path)
    paths.record_input(path)
    return (PowerRun(name=path.stem, title=path.name, profiles=(read_power(path),)),)


def _drawn_run(name: str) -> PowerRun:
    evidence = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({POWER_STANDIN}))
    files = power_standin.cached(name)
    for file in files:
        paths.record_input(file)
    profiles = tuple(read_power(file, evidence=evidence) for file in files)
    return PowerRun(name=name, title=name.replace("_", " "), profiles=profiles)


def _power_file(name: str) -> Path:
    if "://" not in name and not Path(name).expanduser().is_file():
        raise InputError(
            f"power {name!r}: no such file in {Path.cwd()}; expected {POWER_STANDIN} or the path "
            "of a power log"
        )
    return checked_path(name)
