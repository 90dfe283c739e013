"""The register of inputs: every status has a band, every work is registered and cited."""

import re
from collections import Counter
from pathlib import Path

import pytest

from aidc import paths
from aidc.evidence import InputError, Layer
from aidc.evidence.register import BANDS, read_register
from aidc.evidence.registry import Status
from tests.evidence.registers import small_register, write_registries

OBSERVED, MISSING, CONSTRUCTED, DERIVED = BANDS


def test_every_status_is_in_exactly_one_band() -> None:
    assert Counter(s for band in BANDS for s in band.statuses) == Counter(Status)


def test_every_variable_of_the_shipped_register_is_in_exactly_one_group() -> None:
    register = read_register()
    grouped = Counter(
        variable.key
        for band in BANDS
        for group in register.groups(band)
        for variable in group.variables
    )
    assert grouped == Counter(variable.key for variable in register.variables)
    shown = {file.key for group in register.groups(OBSERVED) for file in group.files}
    assert shown == set(register.sources)


def test_every_work_is_in_the_references() -> None:
    bibliography = (paths.ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    assert set(read_register().works) <= set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M))


def test_the_papers_own_rows_come_first() -> None:
    inside = [variable.paper_table for variable in read_register().variables]
    assert inside == sorted(inside, reverse=True)
    assert inside[0]


def test_groups_follow_the_works(tmp_path: Path) -> None:
    register = small_register(tmp_path)
    shown = [
        ([work.key for work in group.works], [v.key for v in group.variables])
        for group in register.groups(OBSERVED)
    ]
    assert shown == [(["a_work"], ["seen"]), (["a_work", "b_work"], ["follows"])]
    assert [v.key for v in register.in_band(MISSING)] == ["unseen"]
    assert register.groups(DERIVED) == []


def test_a_work_that_nothing_is_read_from_is_still_listed(tmp_path: Path) -> None:
    register = read_register(write_registries(tmp_path, works=("a_work", "unused")))
    last = register.groups(OBSERVED)[-1]
    assert ([work.key for work in last.works], last.variables) == (["unused"], ())
    assert all(not register.groups(band) for band in (MISSING, CONSTRUCTED, DERIVED))


def test_a_register_is_declared(tmp_path: Path) -> None:
    evidence = small_register(tmp_path).evidence
    assert evidence is not None
    assert (evidence.layer, evidence.declared) == (Layer.CONSTRUCTED, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": [("v", "observed", "gone")]}, r"variables\.yml, entry 'v': found the work"),
        ({"files": [("f", "gone")]}, r"sources\.yml, entry 'f': found the work 'gone', expected"),
    ],
)
def test_a_work_that_is_not_registered_is_one_line(
    tmp_path: Path, change: dict[str, list[tuple[str, ...]]], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_register(write_registries(tmp_path, **change))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
