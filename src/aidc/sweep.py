"""Run one notebook over a grid of parameters: in parallel, resumable, into one table."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import os
import signal
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from aidc.evidence import InputError
from aidc.publish.results import NUMBERS
from aidc.run import plan, run
from aidc.settings.base import NotebookSettings

TABLE = "sweep.csv"
MOST_POINTS = 10_000

Finished = Generator[tuple[int, str]]
"""Index and error of each point as it ends."""


@dataclass(frozen=True)
class Point:
    """One combination of values: what was asked, the checked settings, where they run."""

    asked: Mapping[str, str]
    settings: NotebookSettings
    folder: Path


@dataclass(frozen=True)
class PointOutcome:
    """What became of a point: an error in one line, or "" if its results are there."""

    point: Point
    error: str


class SweepStoppedError(Exception):
    """The user stopped a sweep; what is done is kept.

    Attributes
    ----------
    done, points : int
        Points whose results are there, of how many.
    """

    def __init__(self, done: int, points: int) -> None:
        super().__init__(f"sweep stopped: {done} of {points} points are done")
        self.done = done
        self.points = points


def grid(axes: Mapping[str, str]) -> list[dict[str, str]]:
    """Return every combination of the values of each parameter.

    Values are separated by commas; a list is one value in brackets.

    Examples
    --------
    >>> grid({"slack_min": "0,15", "supply_cap_share": "[0.6,0.8]"})
    [{'slack_min': '0', 'supply_cap_share': '[0.6,0.8]'}, \
{'slack_min': '15', 'supply_cap_share': '[0.6,0.8]'}]

    Raises
    ------
    InputError
        If a parameter has no value, or there are too many combinations.
    """
    values = {name: _values(name, text) for name, text in axes.items()}
    points = 1
    for found in values.values():
        points *= len(found)
    if points > MOST_POINTS:
        raise InputError(f"sweep: found {points:,} points, expected at most {MOST_POINTS:,}")
    return [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]


def _values(name: str, text: str) -> list[str]:
    """Split at the commas outside brackets."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    kept = list(dict.fromkeys(value.strip() for value in found if value.strip()))
    if not kept or depth:
        raise InputError(f"sweep: parameter {name!r}: found {text!r}, expected e.g. 0,15,60")
    return kept


def points(notebook: str, axes: Mapping[str, str], folder: Path) -> list[Point]:
    """Return every point of a sweep, its parameters checked.

    Raises
    ------
    InputError
        For an unknown notebook, parameter or value: before anything runs.
    """
    found = []
    for values in grid(axes):
        (settings,) = plan([notebook], values)
        text = json.dumps(settings.recorded(), sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        found.append(Point(values, settings, folder / name))
    return found


def sweep(
    chosen: Sequence[Point], workers: int | None = None, scheduler: str | None = None
) -> list[PointOutcome]:
    """Run every point; what is up to date is not run again, so a stopped sweep goes on.

    Parameters
    ----------
    chosen : sequence of Point
        From `points`.
    workers : int, optional
        Processes; default one a core.
    scheduler : str, optional
        Address of a Dask scheduler, e.g. "tcp://10.0.0.1:8786", whose workers see the
        same files.

    Returns
    -------
    list of PointOutcome
        In the order of ``chosen``. A point that fails does not stop the others.

    Raises
    ------
    InputError
        If Dask is asked for and is not there, or no scheduler answers.
    SweepStoppedError
        On Ctrl-C.
    """
    errors: dict[int, str] = {}
    finished = _by_dask(chosen, scheduler) if scheduler else _by_processes(chosen, workers)
    try:
        with tqdm(total=len(chosen), unit="point", disable=None) as bar, closing(finished):
            for index, error in finished:
                errors[index] = error
                bar.update()
    except KeyboardInterrupt:
        done = sum(not error for error in errors.values())
        raise SweepStoppedError(done, len(chosen)) from None
    return [PointOutcome(point, errors[index]) for index, point in enumerate(chosen)]


def _run_point(settings: NotebookSettings, folder: Path) -> str:
    try:
        list(run([settings], folder))
    except (InputError, RuntimeError) as error:
        return str(error)
    return ""


def _by_processes(chosen: Sequence[Point], workers: int | None) -> Finished:
    count = min(workers or os.cpu_count() or 1, len(chosen))
    # A forked process would share the threads of libraries that are loaded already.
    pool = ProcessPoolExecutor(count, get_context("spawn"), _ignore_interrupts)
    running = {
        pool.submit(_run_point, point.settings, point.folder): index
        for index, point in enumerate(chosen)
    }
    try:
        for future in as_completed(running):
            yield running[future], _ended(future)
    except BaseException:
        # A point that is killed runs again: its results are moved into place at the end.
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown()


def _ended(future: Any) -> str:
    """Return the error of a point that ended, also if its process did not live to tell."""
    try:
        return str(future.result())
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which every process of a terminal receives, to the one that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _by_dask(chosen: Sequence[Point], scheduler: str) -> Finished:
    distributed = _distributed()
    try:
        client = distributed.Client(scheduler)
    except (OSError, ValueError) as error:
        raise InputError(
            f"sweep: --scheduler {scheduler}: no scheduler answers ({error}); "
            "expected its address, e.g. tcp://10.0.0.1:8786"
        ) from error
    with client:
        if any(threads > 1 for threads in client.nthreads().values()):
            # A run names its folder in the environment, which threads share.
            raise InputError(
                f"sweep: --scheduler {scheduler}: found workers of several threads, expected one; "
                "start them with 'dask worker ADDRESS --nworkers -1 --nthreads 1'"
            )
        # Keys are drawn at random: a point depends on files that Dask knows nothing of.
        running = {
            client.submit(_run_point, point.settings, point.folder, pure=False): index
            for index, point in enumerate(chosen)
        }
        for future in distributed.as_completed(list(running)):
            yield running[future], _ended(future)


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise InputError(
            "sweep: --scheduler needs Dask; install it with 'pip install -e .[dask]'"
        ) from error


def collect(outcomes: Sequence[PointOutcome]) -> pd.DataFrame:
    """Return every number of every point as one tidy table.

    One row a point and number: the parameters of the sweep, then ``id``, ``value``,
    ``unit``, ``layer``, ``provenance``, ``error``. A point that failed is one row with its
    error.
    """
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        point = outcome.point
        name = point.settings.notebook
        path = point.folder / "results" / name / NUMBERS
        asked = {f"parameter.{key}": value for key, value in point.asked.items()}
        if outcome.error:
            rows.append({**asked, "error": outcome.error})
            continue
        numbers = json.loads(path.read_text(encoding="utf-8"))["numbers"]
        rows += [
            {**asked, "id": key}
            | {part: entry[part] for part in ("value", "unit", "layer", "provenance")}
            for key, entry in numbers.items()
        ]
    names = list(outcomes[0].point.asked) if outcomes else []
    columns = [f"parameter.{key}" for key in names]
    columns += ["id", "value", "unit", "layer", "provenance", "error"]
    return pd.DataFrame(rows, columns=columns)


def collect_tables(outcomes: Sequence[PointOutcome]) -> dict[str, pd.DataFrame]:
    """Return each table that the points published, all points one below the other."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for outcome in outcomes:
        if outcome.error:
            continue
        point = outcome.point
        for path in sorted((point.folder / "results" / point.settings.notebook).glob("*.csv")):
            frame = pd.read_csv(path)
            for position, (key, value) in enumerate(point.asked.items()):
                frame.insert(position, f"parameter.{key}", value)
            parts.setdefault(path.name, []).append(frame)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
