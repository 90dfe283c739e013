"""A bad registry entry is refused with its file, entry and field; the real ones load."""

from pathlib import Path

import pytest

from aidc.evidence import InputError
from aidc.evidence.registry import load_claims, load_sources, load_variables

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


def written(folder: Path, text: str) -> Path:
    path = folder / "registry.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_good_entries_load(tmp_path: Path) -> None:
    source = load_sources(written(tmp_path, SOURCE.format(blob="a" * 40)))["a-trace"]
    assert (source.key, source.licence) == ("a-trace", ("CC BY 4.0",))
    claim = load_claims(written(tmp_path, CLAIM))["pool.jobs"]
    assert (claim.id, claim.number) == ("pool.jobs", "pool.jobs")
    assert load_variables(written(tmp_path, VARIABLE))[0].key == "submit_time"


def test_a_claim_can_say_that_nothing_recomputes_it(tmp_path: Path) -> None:
    assert load_claims(written(tmp_path, CLAIM + "  number: null\n"))["pool.jobs"].number is None


@pytest.mark.parametrize(
    ("load", "text", "message"),
    [
        (load_sources, SOURCE.format(blob="xyz"), r"entry 'a-trace', field 'git_blob'"),
        (load_sources, SOURCE.replace("git_blob", "note").format(blob=""), r"needs git_blob or"),
        (load_sources, "- 1\n", "found list, expected a mapping"),
        (load_sources, "a-trace: 3\n", r"entry 'a-trace': found int, expected a mapping"),
        (load_claims, CLAIM + "  colour: red\n", r"entry 'pool.jobs', field 'colour'"),
        (load_claims, CLAIM.replace("tolerance: 0", "tolerance: -1"), r"field 'tolerance'"),
        (load_claims, "a: [1\n", r"registry.yml, line 2: "),
        (load_variables, VARIABLE.replace("observed", "guessed"), r"'submit_time', field 'status'"),
        (load_variables, VARIABLE + VARIABLE.lstrip(), r"field 'key': found twice"),
        (load_variables, "a: 1\n", "found dict, expected a list"),
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


def test_the_shipped_registries_are_valid_and_agree() -> None:
    sources, claims, variables = load_sources(), load_claims(), load_variables()
    assert {claim.input for claim in claims.values()} - {None} <= set(sources)
    assert variables
    assert all(claim.tolerance == 0 or not claim.exact for claim in claims.values())
