"""Which verdict a number may earn: `reproduced` only on the verified source itself."""

from pathlib import Path
from typing import Any

import pytest

from aidc.evidence import InputError
from aidc.evidence.registry import Claim, Source
from aidc.publish.ledger import disagreements, read_numbers, verdict_table, verdicts

SOURCES = {
    "acme-seren": Source(
        key="acme-seren",
        title="t",
        path="p",
        url="u",
        git_blob="a" * 40,
        licence=("CC BY 4.0",),
        citation="c",
        dialect="seren",
    )
}


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "id": "pool.jobs",
        "value": 100,
        "unit": "jobs",
        "exact": True,
        "tolerance": 0,
        "population": "p",
        "definition": "d",
        "section": "3.1",
        "source": "paper",
        "input": "acme-seren",
        "calibrated": True,
        "number": "pool.jobs",
    }
    return Claim(**(fields | changes))


def number(value: Any, provenance: str, *inputs: str, **more: Any) -> dict[str, Any]:
    return {
        "value": value,
        "text": str(value),
        "provenance": provenance,
        "inputs": list(inputs),
        **more,
    }


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (number(100, "verified", "acme-seren"), "reproduced"),
        (number(101, "verified", "acme-seren"), "differs"),
        (number(100, "verified", "acme-kalos"), "not testable on this data"),
        (number(100, "unverified", "file:seren:0a"), "not testable on this data"),
        (number(101, "unverified", "file:seren:0a"), "differs"),
        (number(101, "unverified", "file:kalos:0a"), "not testable on this data"),
        (number(100, "synthetic", "seren-standin"), "by construction"),
        (number(101, "synthetic", "seren-standin"), "differs"),
        (number(None, "verified", "acme-seren"), "not testable on this data"),
        (
            number(100, "verified", "acme-seren", not_evaluable=["state"]),
            "not testable on this data",
        ),
        (number(100, "verified", "acme-seren", redefined=["states"]), "not testable on this data"),
        (None, "not yet recomputed here"),
    ],
)
def test_verdict(made: dict[str, Any] | None, verdict: str) -> None:
    numbers = {} if made is None else {"pool.jobs": made}
    assert verdicts([claim()], numbers, SOURCES)[0].kind.value == verdict


def test_agreement_with_an_uncalibrated_stand_in_says_nothing() -> None:
    numbers = {"pool.jobs": number(100, "synthetic", "seren-standin")}
    assert verdicts([claim(calibrated=False)], numbers, SOURCES)[0].kind.value == (
        "not testable on this data"
    )


@pytest.mark.parametrize(("value", "verdict"), [(100.5, "reproduced"), (100.51, "differs")])
def test_tolerance_is_absolute_and_inclusive(value: float, verdict: str) -> None:
    numbers = {"pool.jobs": number(value, "verified", "acme-seren")}
    found = verdicts([claim(exact=False, tolerance=0.5)], numbers, SOURCES)
    assert found[0].kind.value == verdict


@pytest.mark.parametrize(("first", "second", "open_"), [(100, 7, 0), (7, 8, 2), (100, 100, 0)])
def test_one_reading_that_agrees_settles_a_figure(first: int, second: int, open_: int) -> None:
    readings = [
        claim(id="a", number="a", reading="arrivals"),
        claim(id="b", number="b", reading="arrivals"),
    ]
    numbers = {
        "a": number(first, "verified", "acme-seren"),
        "b": number(second, "verified", "acme-seren"),
    }
    assert len(disagreements(verdicts(readings, numbers, SOURCES))) == open_


def test_a_claim_without_readings_that_differs_is_a_disagreement() -> None:
    numbers = {"pool.jobs": number(99, "verified", "acme-seren")}
    found = verdicts([claim(), claim(id="x", number="x")], numbers, SOURCES)
    assert [v.claim.id for v in disagreements(found)] == ["pool.jobs"]


def test_the_table_keeps_the_order_and_says_about() -> None:
    table = verdict_table(verdicts([claim(id="b", exact=False), claim(id="a")], {}, SOURCES))
    assert table["claim"].tolist() == ["b", "a"]
    assert table["published"].tolist() == ["about 100", "100"]


def test_one_id_belongs_to_one_notebook(tmp_path: Path) -> None:
    for notebook in ("21_a", "22_b"):
        folder = tmp_path / notebook
        folder.mkdir()
        (folder / "numbers.json").write_text('{"numbers": {"x": {"value": 1}}}')
    with pytest.raises(InputError, match="'x' found here and in 21_a"):
        read_numbers(tmp_path)
