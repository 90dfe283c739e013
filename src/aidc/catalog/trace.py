"""From the key or the path of a job trace to a carrier with its evidence.

It knows both real and synthetic inputs, so it is the place that decides what one may
claim: VERIFIED when its content equals a registered source, SYNTHETIC when a stand-in
generator drew it, UNVERIFIED otherwise.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from aidc import paths
from aidc.catalog.cache import fetched_file
from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.evidence.registry import Source, load_sources
from aidc.observed.formats import AUTO
from aidc.observed.identity import recognise
from aidc.observed.summary import ClusterSummary, load_summary
from aidc.observed.textfile import Content, checked_path
from aidc.observed.trace import JobTrace, load_trace
from aidc.standin import trace as standin
from aidc.standin.targets import KEY as STANDIN

# Name of a trace -> key of the registered source that it means.
SOURCE_OF: Mapping[str, str] = {"seren": "acme-seren", "kalos": "acme-kalos"}

TRACES = (STANDIN, *SOURCE_OF)

# The generator names its users like this; no real user id of the data set does.
_SYNTHETIC_USER = re.compile(r"usyn\d+")


def check_trace_name(name: str) -> str:
    """Return ``name`` if it is the key of a trace, else the full path of the file it names.

    Raises
    ------
    InputError
        If it is neither, with the keys that exist.
    """
    return name if name in TRACES else str(_file(name).resolve())


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
        "auto" (from the header), the key of a dialect or a YAML file that describes one.
    cache : Path, optional
        Folder of fetched files; default `aidc.paths.CACHE`.
    sources : mapping of str to Source, optional
        The registry; default ``data/registry/sources.yml``.

    Returns
    -------
    JobTrace
        Of the observed layer. A file with a user id of the stand-in is SYNTHETIC, wherever
        it lies; one whose user ids were changed cannot be told from other files.

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
        path = fetched_file(source, paths.CACHE if cache is None else cache)
        return _claiming(_load(path, dialect), Provenance.VERIFIED, source.key)
    path = _file(key_or_path)
    content = Content(path)
    key = recognise(content, registry)
    trace = _load(path, dialect)
    if key is not None:
        return _claiming(trace, Provenance.VERIFIED, key)
    digest = content.sha256[:12]
    if _holds_synthetic_rows(trace):
        # Perhaps a part of it, another draw or an edit: not the one that is calibrated.
        return _claiming(trace, Provenance.SYNTHETIC, f"{STANDIN}:{digest}")
    return _claiming(trace, Provenance.UNVERIFIED, f"file:{trace.dialect.key}:{digest}")


def open_summary(path: str, *, sources: Mapping[str, Source] | None = None) -> ClusterSummary:
    """Load a summary of clusters with what is known of its origin.

    Raises
    ------
    InputError
        One line: no such file, or it is no summary.
    """
    content = Content(checked_path(path))
    key = recognise(content, load_sources() if sources is None else sources)
    summary = load_summary(content.path, evidence=None)
    paths.record_input(content.path)
    provenance = Provenance.UNVERIFIED if key is None else Provenance.VERIFIED
    name = key or f"file:cluster-summary:{content.sha256[:12]}"
    evidence = Evidence(Layer.OBSERVED, provenance, frozenset({name}))
    return dataclasses.replace(summary, evidence=evidence)


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


def _holds_synthetic_rows(trace: JobTrace) -> bool:
    users = trace.jobs["user"].cat.categories if "user" in trace.jobs else ()
    return any(_SYNTHETIC_USER.fullmatch(str(user)) for user in users)
