"""From the key or the path(s) of power logs to carriers with their evidence.

It knows both real and synthetic inputs, so it is the place that decides what one may
claim: VERIFIED when its content equals a registered source, SYNTHETIC when a stand-in
generator drew it, UNVERIFIED otherwise.
"""

from __future__ import annotations

import dataclasses
import functools
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc import paths
from aidc.catalog.cache import fetched_file
from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.evidence.registry import Source, load_sources
from aidc.observed.identity import recognise
from aidc.observed.nlr import AGGREGATED, RAW, NlrArchive
from aidc.observed.power import PowerOptions, PowerProfile
from aidc.observed.power_read import read_power
from aidc.observed.power_runs import (
    NLR_INTERVAL_S,
    NLR_RUNS,
    PowerRun,
    log_files,
    nlr_run,
    run_of,
    runs_of,
)
from aidc.observed.textfile import Content, checked_path
from aidc.standin import power as standin
from aidc.standin import power_logs

# Name of the power profiles -> key of the registered archive that holds them.
ARCHIVE_OF: Mapping[str, str] = {"nlr": "nlr-profiles"}
ARCHIVE = "nlr-archive"
STANDIN = standin.KEY
POWERS = (STANDIN, *ARCHIVE_OF)

_BY_CHANCE = 0.01  # share of rows at equal microseconds that means nothing


def check_power_name(name: str) -> str:
    """Return ``name`` if it is a key of power profiles, else the full path(s) that it names.

    Raises
    ------
    InputError
        If it is neither, with the keys that exist.
    """
    if name in POWERS:
        return name
    return ",".join(str(path.resolve()) for path in _power_paths(name))


def open_power(
    key_or_paths: str | Path | Sequence[str | Path],
    *,
    cache: Path | None = None,
    sources: Mapping[str, Source] | None = None,
) -> tuple[PowerRun, ...]:
    """Read power logs with what is known of their origin.

    Parameters
    ----------
    key_or_paths : str, Path or a sequence of them
        "nlr-standin" (two synthetic runs, drawn on first use), "nlr" (the same two runs of
        the archive fetched before), or path(s): one file; a folder, in which the logs that
        name the same job are one run; several, also as one text with commas, which are
        the nodes and domains of one job; or the NLR archive.
    cache : Path, optional
        Folder of fetched files; default `aidc.paths.CACHE`.
    sources : mapping of str to Source, optional
        The registry; default ``data/registry/sources.yml``.

    Returns
    -------
    tuple of PowerRun
        Of the observed layer. A log that says it is synthetic, or has rows at the times of
        the stand-in's, is SYNTHETIC, wherever it lies and whatever was done to it.

    Raises
    ------
    InputError
        One line: no such input, not fetched yet, not the registered file, or not readable.
    """
    if key_or_paths == STANDIN:
        return tuple(nlr_run(name, _drawn(name)) for name in standin.runs())
    registry = load_sources() if sources is None else sources
    if isinstance(key_or_paths, str) and key_or_paths in ARCHIVE_OF:
        source = registry[ARCHIVE_OF[key_or_paths]]
        path = fetched_file(source, paths.CACHE if cache is None else cache, unpack=False)
        return _archived(path, source.key if source.verifiable else None)
    chosen = _power_paths(key_or_paths)
    if len(chosen) == 1 and _is_archive(chosen[0]):
        return _archived(chosen[0], recognise(Content(chosen[0], unpack=False), registry))
    files: list[Path] = []
    passed_over: tuple[str, ...] = ()
    for path in chosen:
        found, others = log_files(path) if path.is_dir() else ([path], ())
        files += found
        passed_over += others
    profiles = [_read_log(file, registry) for file in files]
    if len(chosen) == 1 and chosen[0].is_dir():
        return tuple(runs_of(profiles, passed_over))
    return (run_of(profiles, passed_over),)


def _drawn(name: str) -> list[PowerProfile]:
    evidence = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({STANDIN}))
    options = PowerOptions(interval_s=NLR_INTERVAL_S)
    files = standin.cached(name)
    for file in files:
        paths.record_input(file)
    return [read_power(file, options, evidence=evidence) for file in files]


def _archived(path: Path, key: str | None) -> tuple[PowerRun, ...]:
    """Return the paper's two runs from the archive, VERIFIED as source ``key`` if it has one."""
    name = key or f"file:{ARCHIVE}:{Content(path, unpack=False).sha256[:12]}"
    provenance = Provenance.VERIFIED if key else Provenance.UNVERIFIED
    evidence = Evidence(Layer.OBSERVED, provenance, frozenset({name}))
    options = PowerOptions(interval_s=NLR_INTERVAL_S)
    paths.record_input(path)
    with NlrArchive(path) as archive:
        return tuple(
            nlr_run(run, archive.raw_logs(known.job, options, evidence=evidence))
            for run, known in NLR_RUNS.items()
        )


def _is_archive(path: Path) -> bool:
    if path.is_dir() or not zipfile.is_zipfile(path):
        return False
    with NlrArchive(path) as archive:
        return any(f"{folder}/" in name for name in archive.names() for folder in (RAW, AGGREGATED))


def _read_log(path: Path, registry: Mapping[str, Source]) -> PowerProfile:
    paths.record_input(path)
    profile = read_power(path)
    key = recognise(Content(path), registry)
    if key is not None:
        known = Evidence(Layer.OBSERVED, Provenance.VERIFIED, frozenset({key}))
        return dataclasses.replace(profile, evidence=known)
    if profile.synthetic or _has_synthetic_times(profile):
        drawn = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({STANDIN}))
        return dataclasses.replace(profile, synthetic=True, evidence=drawn)
    return profile


def _power_paths(given: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files and folders that were named; a text with commas is a list."""
    if isinstance(given, (str, Path)):
        whole = Path(given).expanduser()
        one = isinstance(given, Path) or "," not in given or whole.exists()
        pieces = [str(given)] if one else [piece.strip() for piece in str(given).split(",")]
    else:
        pieces = [str(piece) for piece in given]
    return [_power_path(piece) for piece in pieces if piece] or [_power_path("")]


def _power_path(name: str) -> Path:
    path = Path(name).expanduser()
    if "://" not in name and name and path.is_dir():
        return path
    if "://" not in name and not (name and path.exists()):
        raise InputError(
            f"power {name!r}: no such file or folder in {Path.cwd()}; expected one of "
            f"{', '.join(POWERS)} or path(s) of power logs"
        )
    return checked_path(name)


def _has_synthetic_times(profile: PowerProfile) -> bool:
    """Whether rows lie at the very times of the stand-in's: a banner is easily lost.

    Logs of the same day may share a microsecond by chance, so one row in a hundred has to.
    """
    day = pd.Timedelta(days=1)
    first = pd.Timestamp(power_logs.START)
    if profile.start is None or abs(profile.start.tz_localize(None) - first) > day:
        return False
    return float(np.isin(_microseconds(profile), _synthetic_times()).mean()) > _BY_CHANCE


@functools.cache
def _synthetic_times() -> npt.NDArray[np.int64]:
    logs = [profile for name in standin.runs() for profile in _drawn(name)]
    return np.unique(np.concatenate([_microseconds(log) for log in logs]))


def _microseconds(profile: PowerProfile) -> npt.NDArray[np.int64]:
    start = 0 if profile.start is None else profile.start.tz_localize(None).value // 1000
    return np.asarray(start + np.rint(profile.times_s * 1e6), dtype=np.int64)
