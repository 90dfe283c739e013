"""Published counts held against each other: the outcome follows from the registry alone."""

from __future__ import annotations

import inspect

import pytest

from aidc.evidence.registry import Claim, load_claims
from aidc.publish import triangulation
from aidc.publish.triangulation import (
    CHECKS,
    Agreement,
    triangulate,
    triangulation_table,
)


def outcomes(claims: dict[str, Claim]) -> dict[str, Agreement]:
    return {one.claim.id: one.agreement for one in triangulate(claims)}


def changed(claim: str, by: float) -> dict[str, Claim]:
    claims = load_claims()
    old = claims[claim]
    return claims | {claim: old.model_copy(update={"value": float(old.value) + by})}


def test_what_the_public_sources_say_of_each_other() -> None:
    found = outcomes(load_claims())
    assert found["pool.rows_total"] is Agreement.AGREES
    assert found["pool.completed"] is Agreement.AGREES
    assert found["card.jobs"] is Agreement.AGREES
    assert found["pool.zero_duration"] is Agreement.BOUNDED
    assert found["summary.seren.gpu_jobs"] is Agreement.DIFFERS
    assert found["pool.duration_s.p50"] is Agreement.UNCHECKED


@pytest.mark.parametrize("check", CHECKS, ids=[check.claim for check in CHECKS])
def test_every_check_can_fail(check: triangulation.Check) -> None:
    published = load_claims()[check.claim]
    far = 2 * abs(float(published.value)) + 1_000_000
    assert outcomes(changed(check.claim, far))[check.claim] is Agreement.DIFFERS


def test_a_difference_is_shown() -> None:
    table = triangulation_table(triangulate(load_claims())).set_index("claim")
    assert table.loc["summary.seren.gpu_jobs", "difference"] == "213,223"
    assert table.loc["pool.rows_total", "difference"] == "0"
    assert table.loc["pool.duration_s.p95", "from"] == ""


def test_a_claim_that_is_not_registered_is_missed() -> None:
    claims = load_claims()
    del claims["summary.kalos.jobs"]
    with pytest.raises(KeyError, match=r"summary\.kalos\.jobs"):
        triangulate(claims)


def test_no_published_figure_is_typed_into_the_code() -> None:
    source = inspect.getsource(triangulation)
    for claim in load_claims().values():
        if isinstance(claim.value, int) and claim.value > 100:
            assert str(claim.value) not in source
            assert f"{claim.value:_}" not in source
