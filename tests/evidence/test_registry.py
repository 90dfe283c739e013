"""A bad registry entry is refused with its file, entry and field; the real ones load."""

import importlib
from collections import Counter
from pathlib import Path

import pytest

from aidc.evidence import InputError
from aidc.evidence.registry import (
    PrincipleKind,
    load_claims,
    load_principles,
    load_sources,
    load_variables,
    load_works,
)

SOURCE = """
a-trace:
  title: A trace
  path: trace.csv
  url: "http://127.0.0.1/trace.csv"
  git_blob: "{blob}"
  licence: [CC BY 4.0]
  citation: someone
"""
CLAIM = """
pool.jobs:
  value: 10
  unit: jobs
  exact: true
  tolerance: 0
  population: all jobs
  definition: count
  section: "3.1"
  source: someone
"""
VARIABLE = """
- key: submit_time
  name: submit time
  name_zh: 任务提交时间
  paper_label: 直接观测
  status: observed
  first_use: release time
  limitation: no deadline
  section: "3.2"
"""
PRINCIPLE = """
- key: no_guessing
  kind: principle
  name: no guessing
  name_zh: 不猜测
  statement: What is missing stays missing.
  section: "1"
"""


WORK = """
someone:
  name: A work
  gives: times
  boundary: no deadline
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "registry.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_good_entries_load(tmp_path: Path) -> None:
    source = load_sources(written(tmp_path, SOURCE.format(blob="a" * 40)))["a-trace"]
    assert (source.key, source.licence) == ("a-trace", ("CC BY 4.0",))
    claim = load_claims(written(tmp_path, CLAIM))["pool.jobs"]
    assert (claim.id, claim.number) == ("pool.jobs", "pool.jobs")
    variable = load_variables(written(tmp_path, VARIABLE))[0]
    assert (variable.key, variable.works, variable.paper_table) == ("submit_time", (), False)
    assert load_works(written(tmp_path, WORK))["someone"].name == "A work"


def test_a_variable_may_be_read_from_several_works(tmp_path: Path) -> None:
    text = VARIABLE + "  source: one, two\n"
    assert load_variables(written(tmp_path, text))[0].works == ("one", "two")


def test_a_claim_can_say_that_nothing_recomputes_it(tmp_path: Path) -> None:
    assert load_claims(written(tmp_path, CLAIM + "  number: null\n"))["pool.jobs"].number is None


@pytest.mark.parametrize(
    ("load", "text", "message"),
    [
        (load_sources, SOURCE.format(blob="xyz"), r"entry 'a-trace', field 'git_blob'"),
        (load_sources, SOURCE.replace("git_blob", "note").format(blob=""), r"needs git_blob or"),
        (load_sources, "- 1\n", "found list, expected a mapping"),
        (load_sources, "a-trace: 3\n", r"entry 'a-trace': found int, expected a mapping"),
        (load_works, WORK.replace("gives", "has"), r"entry 'someone', field 'gives'"),
        (load_claims, CLAIM + "  colour: red\n", r"entry 'pool.jobs', field 'colour'"),
        (load_claims, CLAIM.replace("tolerance: 0", "tolerance: -1"), r"field 'tolerance'"),
        (load_claims, "a: [1\n", r"registry.yml, line 2: "),
        (load_claims, CLAIM + CLAIM.lstrip(), r"key 'pool.jobs' is given twice"),
        (load_variables, VARIABLE.replace("observed", "guessed"), r"'submit_time', field 'status'"),
        (load_variables, VARIABLE + VARIABLE.lstrip(), r"field 'key': found twice"),
        (load_variables, "a: 1\n", "found dict, expected a list"),
        (load_principles, PRINCIPLE.replace("principle", "wish"), r"'no_guessing', field 'kind'"),
        (load_principles, PRINCIPLE + PRINCIPLE.lstrip(), r"field 'key': found twice"),
    ],
)
def test_a_bad_entry_names_file_entry_and_field(
    tmp_path: Path, load: object, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(written(tmp_path, text))  # type: ignore[operator]
    assert "registry.yml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_registry_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yml: cannot be read"):
        load_claims(tmp_path / "nowhere.yml")


def test_the_registered_content_is_the_one_that_was_published() -> None:
    blobs = {key: source.git_blob for key, source in load_sources().items()}
    assert blobs["acme-seren"] == "3133535311d36ecc404d4446e129036a1057c6f2"
    assert blobs["acme-kalos"] == "6e6c11a6308e403a2b75f3dec2d9cf48263c1a52"
    assert blobs["acme-cluster-summary"] == "c1a4e7dbd8397748c26e249661264ceb171ad604"


def test_the_shipped_registries_are_valid_and_agree() -> None:
    sources, claims, variables = load_sources(), load_claims(), load_variables()
    assert {claim.input for claim in claims.values()} - {None} <= set(sources)
    assert variables
    assert all(claim.tolerance == 0 or not claim.exact for claim in claims.values())


def test_the_shipped_principles_speak_of_variables_and_code_that_exist() -> None:
    principles = load_principles()
    variables = {variable.key for variable in load_variables()}
    for principle in principles:
        assert set(principle.variables) <= variables, principle.key
        for name in principle.enforced_by:
            module, attribute = name.rsplit(".", 1)
            assert hasattr(importlib.import_module(module), attribute), name


def test_the_shipped_principles_are_complete() -> None:
    kinds = Counter(principle.kind for principle in load_principles())
    assert kinds[PrincipleKind.LIMIT] == 5
    assert set(kinds) == set(PrincipleKind)
    forbidden = {p.key for p in load_principles() if p.kind is PrincipleKind.FORBIDDEN_USE}
    assert {"queue_as_flexibility", "type_as_flexibility", "priority_as_flexibility"} < forbidden
    assert "ai_fills_in" in forbidden


def test_a_yaml_file_in_another_encoding_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "registry.yml"
    path.write_bytes("ü: 1".encode("latin-1"))
    with pytest.raises(InputError, match=r"registry\.yml: no UTF-8 text"):
        load_claims(path)
