"""Where things are: the repository's folders and the folder of the current run."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
REGISTRY = ROOT / "data" / "registry"
CALIBRATION = ROOT / "data" / "calibration"
CACHE = ROOT / "data" / "cache"
RUNS = ROOT / "runs"
ACCEPTED = ROOT / "book" / "results"
LOCK = ROOT / "requirements.txt"

RUN_VARIABLE = "AIDC_RUN"


def run_folder() -> Path:
    """Return the folder of the current run: ``AIDC_RUN``, else ``runs/interactive``."""
    named = os.environ.get(RUN_VARIABLE)
    return Path(named).resolve() if named else RUNS / "interactive"


def results_folder(notebook: str, results_dir: str = "") -> Path:
    """Return the folder that a notebook writes its results to.

    Parameters
    ----------
    notebook : str
        Name of the notebook, without its ending.
    results_dir : str
        The notebook's parameter: a folder of the caller's, or "" for the folder
        of the current run.
    """
    if results_dir:
        return Path(results_dir).expanduser().resolve()
    return run_folder() / "results" / notebook


_inputs: dict[Path, None] = {}


def record_input(path: Path) -> None:
    """Remember that this process read ``path``: its results depend on it."""
    _inputs[Path(path).resolve()] = None


def recorded_inputs() -> list[Path]:
    """Return every file recorded so far, in the order of first use."""
    return list(_inputs)


def display(path: Path | str) -> str:
    """Return a path as a reader should see it: relative to the repository or to here."""
    resolved = Path(path).resolve()
    for base in (ROOT, Path.cwd()):
        if resolved.is_relative_to(base):
            return resolved.relative_to(base).as_posix()
    return str(path)
