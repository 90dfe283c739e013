"""What nbval cannot see: cleared outputs, injected cells, defaults that disagree, stale results."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest

from aidc import paths
from aidc.publish import freshness
from aidc.run import notebooks, run

SETTINGS = notebooks()
SCHEMA = json.loads((paths.ROOT / "src/aidc/publish/numbers.schema.json").read_text())

each_notebook = pytest.mark.parametrize("name", sorted(SETTINGS))


def document(name: str) -> dict[str, Any]:
    return json.loads((paths.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_cells(name: str) -> list[dict[str, Any]]:
    return [cell for cell in document(name)["cells"] if cell["cell_type"] == "code"]


def outputs(name: str) -> list[dict[str, Any]]:
    return [output for cell in code_cells(name) for output in cell["outputs"]]


@each_notebook
def test_every_cell_was_run_in_order_and_something_was_stored(name: str) -> None:
    counts = [cell["execution_count"] for cell in code_cells(name)]
    assert counts == list(range(1, len(counts) + 1))
    comparable = [o for o in outputs(name) if o["output_type"] in {"execute_result", "stream"}]
    assert len(comparable) >= 3


@each_notebook
def test_no_error_no_warning_and_no_trace_of_a_run(name: str) -> None:
    assert not [o for o in outputs(name) if o["output_type"] == "error"]
    assert not [o for o in outputs(name) if o.get("name") == "stderr"]
    tags = [tag for cell in document(name)["cells"] for tag in cell["metadata"].get("tags", [])]
    assert "injected-parameters" not in tags
    assert tags.count("parameters") == 1
    assert "papermill" not in document(name)["metadata"]


@each_notebook
def test_outputs_name_no_address_and_no_folder_of_a_machine(name: str) -> None:
    text = json.dumps([{k: v for k, v in o.items() if k != "data"} for o in outputs(name)])
    text += json.dumps([o["data"].get("text/plain", "") for o in outputs(name) if "data" in o])
    assert not re.search(r"0x[0-9a-f]{6,}", text)
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/", text)


@each_notebook
def test_the_parameters_cell_and_the_settings_agree(name: str) -> None:
    (cell,) = [c for c in code_cells(name) if "parameters" in c["metadata"].get("tags", [])]
    given = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse("".join(cell["source"])).body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    assert set(given) == set(SETTINGS[name].model_fields)
    assert SETTINGS[name].parse(given) == SETTINGS[name]()


@each_notebook
def test_accepted_results_belong_to_this_code(name: str) -> None:
    folder = paths.ACCEPTED / name
    record = freshness.read_record(folder)
    assert record is not None
    assert record["parameters"] == SETTINGS[name]().recorded()
    stale = freshness.stale_code(record) + freshness.stale_results(folder, record)
    stale += freshness.stale_registries(record)
    assert not stale, "run make accept"


def accepted_numbers() -> list[Path]:
    return sorted(paths.ACCEPTED.glob("*/numbers.json"))


def test_accepted_numbers_follow_the_schema() -> None:
    assert accepted_numbers()
    for path in accepted_numbers():
        jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"layer": "guessed"},
        {"inputs": []},
        {"synthetic": False},
        {"value": [1]},
        {"colour": "red"},
    ],
)
def test_the_schema_refuses_what_is_no_number(change: dict[str, Any]) -> None:
    number = {
        "value": 1,
        "unit": "s",
        "layer": "observed",
        "provenance": "synthetic",
        "synthetic": True,
        "inputs": ["seren-standin"],
        "section": "3.1",
        "text": "1",
    }
    good = {"schema": 1, "numbers": {"pool.jobs": number}}
    jsonschema.validate(good, SCHEMA)
    bad = {"schema": 1, "numbers": {"pool.jobs": number | change}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bad, SCHEMA)


def without_clock(path: Path) -> pd.DataFrame:
    """Return a table without how long a solver took, which no two runs share."""
    return pd.read_csv(path).drop(columns="seconds", errors="ignore")


@pytest.mark.slow
@each_notebook
def test_a_new_run_publishes_what_was_accepted(name: str, tmp_path: Path) -> None:
    """Compare every number and table, also those that no cell shows."""
    list(run([SETTINGS[name]()], tmp_path))
    new, accepted = tmp_path / "results" / name, paths.ACCEPTED / name
    numbers, expected = (
        json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["numbers"]
        for folder in (new, accepted)
    )
    assert numbers.keys() == expected.keys()
    for number_id, number in numbers.items():
        assert number == {
            **expected[number_id],
            "value": pytest.approx(expected[number_id]["value"]),
        }
    for path in sorted(accepted.glob("*.csv")):
        pd.testing.assert_frame_equal(
            without_clock(new / path.name), without_clock(path), check_dtype=False
        )
