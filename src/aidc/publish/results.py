"""The results of a notebook: numbers, tables and figures, each with its evidence.

Everything is staged and appears only when the notebook finishes, so a run that fails
leaves the results of the run before it as they were.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from aidc.evidence import Carrier, Evidence, EvidenceError, evidence_of
from aidc.publish import freshness
from aidc.publish.format import display_number
from aidc.publish.style import Shown, save_svg

SCHEMA = 1
NUMBERS = "numbers.json"
RUN = "run.json"
_NAMED_SETTINGS = 3


def describe(evidence: Evidence) -> dict[str, Any]:
    """Return evidence in the form that the results files hold it."""
    return {
        "layer": evidence.layer.key,
        "provenance": evidence.provenance.key,
        "synthetic": evidence.synthetic,
        "inputs": sorted(evidence.inputs),
    }


class Results:
    """Collects what one notebook publishes, and writes it when the notebook finishes.

    Parameters
    ----------
    notebook : str
        Name of the notebook, e.g. ``"31_task_pool"``.
    section : str
        The paper's section it belongs to, e.g. ``"3.1"``.
    folder : Path
        Where the results go.
    parameters : mapping
        The notebook's parameters, in JSON types.
    redefined : sequence of str
        Parameters that differ from the published definitions; numbers made under them
        cannot confirm or contradict a published claim.
    """

    def __init__(
        self,
        notebook: str,
        section: str,
        folder: Path,
        parameters: Mapping[str, Any],
        redefined: tuple[str, ...] = (),
    ) -> None:
        self.notebook = notebook
        self.section = section
        self.folder = folder
        self._parameters = dict(parameters)
        self._redefined = redefined
        self._evidence: list[Evidence] = []
        self._numbers: dict[str, dict[str, Any]] = {}
        self._artefacts: dict[str, dict[str, Any]] = {}
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))

    def number(
        self,
        number_id: str,
        value: object,
        unit: str,
        of: Carrier,
    ) -> None:
        """Publish one number.

        Parameters
        ----------
        number_id : str
            Subject, quantity with unit, statistic: ``"pool.duration_s.p50"``.
        value : float, str or None
            None or NaN says that this data cannot answer; infinity is refused.
        unit : str
            Unit in the field's usual notation; "" for a pure number.
        of : Carrier
            What it was computed from: its evidence, and the selection steps that the
            data could not answer, are published with the number.

        Raises
        ------
        EvidenceError
            If ``of`` carries no evidence, or the id was used already.
        ValueError
            If ``value`` is infinite.
        """
        if number_id in self._numbers:
            raise EvidenceError(
                f"rule 'one id, one number': {number_id!r} is published twice in {self.notebook}"
            )
        plain = _plain(value)
        if plain is None:
            text = "not evaluable"
        elif isinstance(plain, str):
            text = plain
        else:
            text = display_number(plain)
        entry = {"value": plain, "unit": unit, **self._record(of)}
        entry |= {"section": self.section, "text": text}
        if self._redefined:
            entry["redefined"] = list(self._redefined)
        self._numbers[number_id] = entry

    def numbers(self) -> dict[str, dict[str, Any]]:
        """Return the numbers published so far, as ``numbers.json`` will hold them."""
        return dict(self._numbers)

    def table(self, name: str, frame: pd.DataFrame, of: Carrier) -> pd.DataFrame:
        """Publish a table as CSV (columns carry their units) and return it for display.

        Text that a spreadsheet would run as a formula is written behind an apostrophe.
        """
        path = self._new_artefact(f"{name}.csv", of, alt=name.replace("_", " "))
        _without_formulas(frame).to_csv(
            path, index=False, lineterminator="\n", quoting=csv.QUOTE_MINIMAL
        )
        return frame

    def figure(self, name: str, figure: Figure, of: Carrier, alt: str) -> Shown:
        """Publish a figure as SVG with its evidence in the footer, and return it for display.

        ``alt`` says in one sentence what the figure shows, for those who cannot see it.
        """
        path = self._new_artefact(f"{name}.svg", of, alt=alt)
        save_svg(figure, path, footer(of))
        return Shown(figure, alt)

    def finish(self) -> None:
        """Write everything to `folder`; ``run.json`` comes last."""
        joined = Evidence.join(self._evidence)
        for name, entry in self._artefacts.items():
            entry["sha256"] = freshness.file_hash(self._staging / name)
        _write_json(self._staging / NUMBERS, {"schema": SCHEMA, "numbers": self._numbers})
        numbers_hash = freshness.file_hash(self._staging / NUMBERS)
        record = {
            "schema": SCHEMA,
            "notebook": self.notebook,
            "section": self.section,
            "parameters": self._parameters,
            **describe(joined),
            "artefacts": dict(sorted(self._artefacts.items())),
            "numbers_sha256": numbers_hash,
            **freshness.dependencies(),
        }
        _write_json(self._staging / RUN, record)
        self._publish()

    def _new_artefact(self, name: str, of: Carrier, alt: str) -> Path:
        if name in self._artefacts:
            raise EvidenceError(
                f"rule 'one name, one artefact': {name!r} is published twice in {self.notebook}"
            )
        self._artefacts[name] = {**self._record(of), "alt": alt}
        return self._staging / name

    def _record(self, of: Carrier) -> dict[str, Any]:
        evidence = evidence_of(of)
        self._evidence.append(evidence)
        described = describe(evidence)
        if of.not_evaluable:
            described["not_evaluable"] = list(of.not_evaluable)
        return described

    def _publish(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        record = self.folder / RUN
        if record.is_file():
            earlier = json.loads(record.read_text(encoding="utf-8"))
            record.unlink()
            for name in earlier.get("artefacts", {}):
                (self.folder / Path(name).name).unlink(missing_ok=True)
        for name in (*self._artefacts, NUMBERS, RUN):
            (self._staging / name).replace(self.folder / name)
        shutil.rmtree(self._staging)

    def __del__(self) -> None:
        """Drop what a failed notebook had staged."""
        shutil.rmtree(getattr(self, "_staging", ""), ignore_errors=True)


def footer(of: Carrier) -> str:
    """Return the line that a figure carries wherever it is copied to."""
    skipped = f" · not evaluable: {', '.join(of.not_evaluable)}" if of.not_evaluable else ""
    return f"{_short(evidence_of(of))}{skipped}"


def _short(evidence: Evidence) -> str:
    """Return evidence in one line that fits a figure: many settings are only counted."""
    settings = {name for name in evidence.inputs if name.startswith("setting:")}
    if len(settings) <= _NAMED_SETTINGS:
        return str(evidence)
    named = ", ".join(sorted(evidence.inputs - settings))
    start = f"{evidence.layer.key} layer · {evidence.provenance.key} · from "
    return f"{start}{named}{' and ' if named else ''}{len(settings)} settings"


def _without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    texts = frame.select_dtypes(["object", "string", "category"]).columns
    return frame.assign(**{name: frame[name].map(_escaped, na_action="ignore") for name in texts})


def _escaped(cell: object) -> object:
    runs = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if runs else cell


def _plain(value: object) -> int | float | str | None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (int, str)):
        return value
    if not isinstance(value, float):
        raise EvidenceError(
            f"rule 'a number is one value': got {type(value).__name__}; allowed are int, float, str"
        )
    if math.isinf(value):
        raise ValueError("infinity cannot be published")
    return None if math.isnan(value) else value


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
