"""The ledger: every published number of a run, and the verdict on every claim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from aidc import paths
from aidc.evidence import InputError
from aidc.evidence.registry import Claim, Source, load_sources

Number = Mapping[str, Any]


class VerdictKind(StrEnum):
    """What a run says about a published claim."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    BY_CONSTRUCTION = "by construction"
    NOT_TESTABLE = "not testable on this data"
    NOT_YET = "not yet recomputed here"


@dataclass(frozen=True)
class Verdict:
    """A claim, the number that recomputes it (if any) and what follows."""

    claim: Claim
    number: Number | None
    kind: VerdictKind


def read_numbers(root: Path) -> dict[str, dict[str, Any]]:
    """Return the numbers of every notebook below ``root`` by id.

    Each entry also holds ``notebook``, the name of the notebook that published it.

    Raises
    ------
    InputError
        If two notebooks publish the same id.
    """
    numbers: dict[str, dict[str, Any]] = {}
    for path in sorted(root.glob("*/numbers.json")):
        notebook = path.parent.name
        for number_id, entry in json.loads(path.read_text(encoding="utf-8"))["numbers"].items():
            if number_id in numbers:
                raise InputError(
                    f"{paths.display(path)}: id {number_id!r} found here and in "
                    f"{numbers[number_id]['notebook']}, expected once; rename one of them"
                )
            numbers[number_id] = {**entry, "notebook": notebook}
    return numbers


def verdicts(
    claims: Iterable[Claim],
    numbers: Mapping[str, Number],
    sources: Mapping[str, Source] | None = None,
) -> list[Verdict]:
    """Return the verdict on each claim, in order.

    Parameters
    ----------
    claims : iterable of Claim
        Published figures.
    numbers : mapping
        Entries of ``numbers.json`` by id.
    sources : mapping, optional
        Registered sources; default: the registry's.
    """
    known = load_sources() if sources is None else sources
    found = []
    for claim in claims:
        number = numbers.get(claim.number) if claim.number else None
        found.append(Verdict(claim, number, _judge(claim, number, known)))
    return found


def disagreements(found: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts that say `differs`.

    Where a figure has several readings, they count only if no reading agrees.
    """
    listed = list(found)
    agreeing = (VerdictKind.REPRODUCED, VerdictKind.BY_CONSTRUCTION)
    settled = {v.claim.reading for v in listed if v.claim.reading and v.kind in agreeing}
    return [v for v in listed if v.kind is VerdictKind.DIFFERS and v.claim.reading not in settled]


def verdict_table(found: Iterable[Verdict]) -> pd.DataFrame:
    """Return verdicts as a table: claim, published, unit, computed, verdict, definition."""
    rows = [
        {
            "claim": verdict.claim.id,
            "published": published_text(verdict.claim),
            "computed": verdict.number["text"] if verdict.number else "",
            "unit": verdict.claim.unit,
            "verdict": verdict.kind.value,
            "population": verdict.claim.population,
            "definition": verdict.claim.definition,
        }
        for verdict in found
    ]
    columns = ["claim", "published", "computed", "unit", "verdict", "population", "definition"]
    return pd.DataFrame(rows, columns=columns)


def published_text(claim: Claim) -> str:
    """Return a claim's value as published, with "about" where the text says so."""
    # As it was published: rounded no further.
    value = claim.value if isinstance(claim.value, str) else f"{claim.value:,}"
    return value if claim.exact else f"about {value}"


def _judge(claim: Claim, number: Number | None, sources: Mapping[str, Source]) -> VerdictKind:
    if claim.number is None or number is None:
        return VerdictKind.NOT_YET
    comparable = number["value"] is not None and not (
        number.get("not_evaluable") or number.get("redefined")
    )
    if not comparable:
        return VerdictKind.NOT_TESTABLE
    agrees = _agrees(claim, number["value"])
    if number["provenance"] == "synthetic":
        if not claim.calibrated:
            return VerdictKind.NOT_TESTABLE
        return VerdictKind.BY_CONSTRUCTION if agrees else VerdictKind.DIFFERS
    if number["provenance"] == "verified":
        if claim.input not in number["inputs"]:
            return VerdictKind.NOT_TESTABLE
        return VerdictKind.REPRODUCED if agrees else VerdictKind.DIFFERS
    # An unverified file may contradict a claim about its own kind of file, never confirm it.
    source = sources.get(claim.input or "")
    same_kind = source is not None and any(
        name.startswith(f"file:{source.dialect}:") for name in number["inputs"]
    )
    return VerdictKind.DIFFERS if same_kind and not agrees else VerdictKind.NOT_TESTABLE


def _agrees(claim: Claim, value: float | str) -> bool:
    if isinstance(claim.value, str) or isinstance(value, str):
        return claim.value == value
    return abs(value - claim.value) <= claim.tolerance
