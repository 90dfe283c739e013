"""Whether stored results still belong to the code, the inputs and the lock they came from."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aidc import paths


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def dependencies() -> dict[str, Any]:
    """Return what the results of this process depend on, as hashes.

    Every loaded module of the package, every file recorded as read, the lock, and the
    minor version of Python.
    """
    modules = {
        name: file_hash(Path(module.__file__))
        for name, module in sorted(sys.modules.items())
        if name.split(".")[0] == "aidc" and module.__file__
    }
    files = {_stored_name(path): file_hash(path) for path in paths.recorded_inputs()}
    return {
        "modules": modules,
        "files": dict(sorted(files.items())),
        "lock": file_hash(paths.LOCK),
        "python": _python(),
    }


def stale_code(record: Mapping[str, Any]) -> list[str]:
    """Return what changed in the code or the lock since ``record`` was written."""
    reasons = []
    for name, digest in record["modules"].items():
        source = _module_file(name)
        if source is None:
            reasons.append(f"module {name} is gone")
        elif file_hash(source) != digest:
            reasons.append(f"module {name} changed")
    if record["lock"] != file_hash(paths.LOCK):
        reasons.append(f"{paths.display(paths.LOCK)} changed")
    return reasons


def stale_inputs(record: Mapping[str, Any]) -> list[str]:
    """Return which inputs (files and Python itself) changed since ``record`` was written."""
    reasons = []
    if record["python"] != _python():
        reasons.append(f"Python is {_python()}, was {record['python']}")
    for name, digest in record["files"].items():
        path = paths.ROOT / name
        if not path.is_file():
            reasons.append(f"input {name} is gone")
        elif file_hash(path) != digest:
            reasons.append(f"input {name} changed")
    return reasons


def stale_results(folder: Path, record: Mapping[str, Any]) -> list[str]:
    """Return which of the results in ``folder`` are not as they were written."""
    expected = {name: entry["sha256"] for name, entry in record["artefacts"].items()}
    expected["numbers.json"] = record["numbers_sha256"]
    reasons = []
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            reasons.append(f"result {name} is gone")
        elif file_hash(path) != digest:
            reasons.append(f"result {name} was edited")
    return reasons


def stale_cells(notebook: Path, executed: Path) -> list[str]:
    """Return ["cells changed"] if an executed copy has other sources than its notebook."""
    if not executed.is_file():
        return ["executed copy is gone"]
    return [] if _sources(notebook) == _sources(executed) else ["cells changed"]


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the ``run.json`` of a results folder, or None if there is no complete one."""
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.get("schema") == 1 else None


def _sources(notebook: Path) -> list[tuple[str, str]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [
        (cell["cell_type"], "".join(cell["source"]))
        for cell in cells
        if "injected-parameters" not in cell["metadata"].get("tags", [])
    ]


def _module_file(name: str) -> Path | None:
    stem = paths.ROOT / "src" / Path(*name.split("."))
    for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _stored_name(path: Path) -> str:
    inside = path.is_relative_to(paths.ROOT)
    return path.relative_to(paths.ROOT).as_posix() if inside else str(path)


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
