"""Promote a default run: executed notebooks and results become the committed ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aidc import paths
from aidc.evidence import InputError
from aidc.publish import freshness

_RUN_METADATA = ("papermill", "widgets")


def accept(
    names: Sequence[str],
    run: Path = paths.RUNS / "default",
    notebooks: Path = paths.NOTEBOOKS,
    results: Path = paths.ACCEPTED,
) -> list[Path]:
    """Copy the executed notebooks and the results of a run to where git keeps them.

    Metadata of the run itself (papermill's, timings) is dropped and cells get stable
    ids, so that accepting an unchanged run changes no file.

    Raises
    ------
    InputError
        If a notebook has no complete results in ``run``, or ran with other parameters
        than its defaults. Nothing is copied then.
    """
    for name in names:
        if freshness.read_record(run / "results" / name) is None:
            raise InputError(
                f"{paths.display(run)}: no complete results of {name}; "
                f"run 'python -m aidc run {name}' first"
            )
        if "injected-parameters" in (run / f"{name}.ipynb").read_text(encoding="utf-8"):
            raise InputError(
                f"{paths.display(run)}: {name} ran with its own parameters; "
                "only a run with the defaults can be accepted"
            )
    written = []
    for name in names:
        document = json.loads((run / f"{name}.ipynb").read_text(encoding="utf-8"))
        target = notebooks / f"{name}.ipynb"
        target.write_text(_text(clean(document)), encoding="utf-8")
        written.append(target)
        folder = results / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run / "results" / name, folder)
        written.append(folder)
    return written


def clean(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without traces of its run: metadata, timings, random ids."""
    metadata = {k: v for k, v in notebook["metadata"].items() if k not in _RUN_METADATA}
    metadata.get("language_info", {}).pop("version", None)
    return {**notebook, "metadata": metadata, "cells": _cells(notebook["cells"])}


def _cells(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    cleaned = []
    for position, cell in enumerate(cells):
        tags = cell["metadata"].get("tags", [])
        cell = {**cell, "id": f"cell-{position:02d}", "metadata": {"tags": tags} if tags else {}}
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {**output, "metadata": {}} if "metadata" in output else output
                for output in cell["outputs"]
            ]
        cleaned.append(cell)
    return cleaned


def _text(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
