"""Run notebooks by papermill: parameters checked first, only what changed, nothing half-written."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import papermill
import yaml
from filelock import FileLock, Timeout
from papermill.exceptions import PapermillExecutionError

import aidc.settings
from aidc import paths
from aidc.evidence import InputError
from aidc.publish import freshness
from aidc.publish.accept import promote
from aidc.publish.results import STAGING
from aidc.settings.base import NotebookSettings

LOCK_FILE = ".lock"
USER_ERRORS = ("InputError", "EvidenceError")


@dataclass(frozen=True)
class Outcome:
    """What became of one notebook: its executed copy, and why it ran ("" if it did not)."""

    notebook: str
    executed: Path
    reason: str


def notebooks() -> dict[str, type[NotebookSettings]]:
    """Return the settings class of every notebook, by the notebook's name."""
    found = {}
    for module in pkgutil.iter_modules(aidc.settings.__path__):
        loaded = importlib.import_module(f"aidc.settings.{module.name}")
        for item in vars(loaded).values():
            if (
                isinstance(item, type)
                and issubclass(item, NotebookSettings)
                and item.__module__ == loaded.__name__
                and hasattr(item, "notebook")
            ):
                found[item.notebook] = item
    return dict(sorted(found.items()))


def read_parameters(path: Path) -> dict[str, Any]:
    """Return the parameters in a YAML file.

    Raises
    ------
    InputError
        If the file cannot be read or is no mapping.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise InputError(
            f"{path}: no valid YAML ({problem}); expected lines NAME: VALUE"
        ) from error
    if document is None:
        raise InputError(
            f"{path}: found no parameter, expected lines NAME: VALUE; write one, or leave out -f"
        )
    if not isinstance(document, dict):
        found = "a list" if isinstance(document, list) else repr(document)
        raise InputError(
            f"{path}: found {found}, expected lines NAME: VALUE; 'python -m aidc list' shows the "
            "names"
        )
    return {str(name): value for name, value in document.items()}


def plan(names: Sequence[str], parameters: Mapping[str, Any]) -> list[NotebookSettings]:
    """Return the checked settings of the notebooks to run; all of them if none is named.

    A parameter goes to every chosen notebook that has it.

    Raises
    ------
    InputError
        For an unknown notebook, a parameter that no chosen notebook has, or a wrong value.
    """
    known = notebooks()
    for name in names:
        if name not in known:
            raise InputError(f"notebook {name!r}: not found; expected one of {', '.join(known)}")
    chosen = [known[name] for name in (names or known)]
    if len(chosen) > 1 and parameters.get("results_dir"):
        raise InputError(
            f"parameter 'results_dir': found one folder for {len(chosen)} notebooks, expected one "
            "notebook; name it, or choose a folder for all of them with --out"
        )
    for parameter in parameters:
        if not any(parameter in settings.model_fields for settings in chosen):
            # Every chosen notebook would refuse it; let the one that may be meant say so.
            _nearest(chosen, parameter).parse({parameter: parameters[parameter]})
    return [
        settings.parse({k: v for k, v in parameters.items() if k in settings.model_fields})
        for settings in chosen
    ]


def _nearest(chosen: Sequence[type[NotebookSettings]], parameter: str) -> type[NotebookSettings]:
    """Return the notebook with the parameter that looks most like ``parameter``."""
    owner = {name: settings for settings in chosen for name in settings.model_fields}
    close = difflib.get_close_matches(parameter, owner, n=1)
    return owner[close[0]] if close else chosen[0]


def default_folder(settings: Iterable[NotebookSettings]) -> Path:
    """Return ``runs/default`` if every parameter has its default, else ``runs/variant``."""
    return paths.RUNS / ("variant" if any(item.changed() for item in settings) else "default")


def run(settings: Sequence[NotebookSettings], folder: Path) -> Iterator[Outcome]:
    """Run notebooks into a folder, one after the other; skip what is up to date.

    Yields
    ------
    Outcome
        One for each notebook, as it ends.

    Raises
    ------
    InputError
        If another process is running notebooks into the same folder, or a notebook
        refuses its input.
    """
    with _alone_in(folder):
        for item in settings:
            yield _run_one(item, folder)


def _run_one(settings: NotebookSettings, folder: Path) -> Outcome:
    executed = folder / f"{settings.notebook}.ipynb"
    reasons = reasons_to_run(settings, folder)
    if reasons:
        _execute(settings, folder, executed)
    return Outcome(settings.notebook, executed, reasons[0] if reasons else "")


def reasons_to_run(settings: NotebookSettings, folder: Path) -> list[str]:
    """Return why a notebook has to run again; empty if everything is up to date."""
    results = _results_folder(settings, folder)
    record = freshness.read_record(results)
    if record is None:
        return ["no results yet"]
    source = paths.NOTEBOOKS / f"{settings.notebook}.ipynb"
    reasons = freshness.stale_cells(source, folder / source.name)
    if record["parameters"] != settings.recorded():
        reasons.append("parameters changed")
    reasons += freshness.stale_code(record)
    reasons += freshness.stale_inputs(record)
    reasons += freshness.stale_results(results, record)
    return reasons


def accept(run_folder: Path) -> list[Path]:
    """Promote a default run to the committed notebooks and results.

    Raises
    ------
    InputError
        If any notebook of the run is not up to date with its defaults; nothing is
        copied then.
    """
    defaults = [settings() for settings in notebooks().values()]
    for settings in defaults:
        reasons = reasons_to_run(settings, run_folder)
        if reasons:
            raise InputError(
                f"{paths.display(run_folder)}: {settings.notebook} cannot be accepted "
                f"({reasons[0]}); run 'python -m aidc run --out {paths.display(run_folder)}' first"
            )
    return promote([settings.notebook for settings in defaults], run_folder)


def _execute(settings: NotebookSettings, folder: Path, executed: Path) -> None:
    partial = executed.with_name(f".{executed.name}.partial.ipynb")
    for left_by_a_kill in _results_folder(settings, folder).glob(f"{STAGING}*"):
        shutil.rmtree(left_by_a_kill)
    with _environment(paths.RUN_VARIABLE, str(folder)):
        try:
            papermill.execute_notebook(
                str(paths.NOTEBOOKS / executed.name),
                str(partial),
                parameters=settings.changed(),
                kernel_name="python3",
                progress_bar=False,
                extra_arguments=["--log-level=CRITICAL"],
            )
        except PapermillExecutionError as error:
            if error.ename in USER_ERRORS:
                partial.unlink(missing_ok=True)
                raise InputError(error.evalue) from error
            failed = partial.replace(executed.with_suffix(".failed.ipynb"))
            raise RuntimeError(
                f"{settings.notebook} failed in cell {error.exec_count}: {error.ename}: "
                f"{error.evalue}; the executed cells are in {paths.display(failed)}"
            ) from error
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    partial.replace(executed)
    executed.with_suffix(".failed.ipynb").unlink(missing_ok=True)


def _results_folder(settings: NotebookSettings, folder: Path) -> Path:
    if settings.results_dir:
        return paths.results_folder(settings.notebook, settings.results_dir)
    return folder / "results" / settings.notebook


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock file in the folder; leave neither it nor an empty folder behind."""
    lock, new = FileLock(folder / LOCK_FILE), not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            f"{paths.display(folder)}: another run is writing there; "
            "wait for it to end or choose another folder with --out"
        ) from None
    except OSError as error:
        raise InputError(
            f"{paths.display(folder)}: cannot be written ({error.strerror}); "
            "choose another folder with --out"
        ) from error
    try:
        yield
    finally:
        # Before the release, or it could be the next holder's.
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()
        if new:
            for left in (folder / "results", folder):
                with suppress(OSError):  # not empty
                    left.rmdir()


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
