"""Results appear whole or not at all, each with its evidence."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from aidc.evidence import EvidenceError, Layer, Provenance
from aidc.publish.results import Results
from tests.evidence.carriers import Amount, amount


def results(folder: Path, **changes: object) -> Results:
    return Results("31_x", "3.1", folder, {"trace": "t"}, **changes)  # type: ignore[arg-type]


def figure() -> Figure:
    drawn = Figure(figsize=(3, 2))
    drawn.add_subplot().plot([0, 1], [0, 1])
    return drawn


def numbers(folder: Path) -> dict[str, dict[str, object]]:
    document = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    assert document["schema"] == 1
    return document["numbers"]


def test_a_number_keeps_its_evidence(tmp_path: Path) -> None:
    out = results(tmp_path / "r")
    pool = amount("seren-standin", provenance=Provenance.SYNTHETIC, not_evaluable=("state",))
    out.number("pool.jobs", np.int64(207378), "jobs", of=pool)
    out.finish()
    assert numbers(tmp_path / "r")["pool.jobs"] == {
        "value": 207378,
        "unit": "jobs",
        "layer": "observed",
        "provenance": "synthetic",
        "synthetic": True,
        "inputs": ["seren-standin"],
        "not_evaluable": ["state"],
        "section": "3.1",
        "text": "207,378",
    }


@pytest.mark.parametrize("of", [300.0, None, pd.DataFrame(), Amount(value=1.0)])
def test_without_evidence_nothing_is_published(tmp_path: Path, of: object) -> None:
    out = results(tmp_path / "r")
    with pytest.raises(EvidenceError):
        out.number("pool.jobs", 1, "jobs", of=of)  # type: ignore[arg-type]
    with pytest.raises(EvidenceError):
        out.table("t", pd.DataFrame(), of=of)  # type: ignore[arg-type]
    with pytest.raises(EvidenceError):
        out.figure("f", figure(), of=of, alt="a")  # type: ignore[arg-type]


def test_one_id_one_number_and_one_name_one_artefact(tmp_path: Path) -> None:
    out = results(tmp_path / "r")
    out.number("a", 1, "s", of=amount())
    out.table("t", pd.DataFrame({"x": [1]}), of=amount())
    with pytest.raises(EvidenceError, match="'a' is published twice"):
        out.number("a", 2, "s", of=amount())
    with pytest.raises(EvidenceError, match=r"'t.csv' is published twice"):
        out.table("t", pd.DataFrame({"x": [1]}), of=amount())


def test_not_evaluable_is_an_answer_and_infinity_is_none(tmp_path: Path) -> None:
    out = results(tmp_path / "r")
    with pytest.raises(ValueError, match="infinity cannot be published"):
        out.number("a", float("inf"), "s", of=amount())
    out.number("b", None, "s", of=amount())
    out.number("c", float("nan"), "s", of=amount())
    out.finish()
    for name in ("b", "c"):
        assert numbers(tmp_path / "r")[name]["value"] is None
        assert numbers(tmp_path / "r")[name]["text"] == "not evaluable"


def test_parameters_that_redefine_a_number_are_on_record(tmp_path: Path) -> None:
    out = results(tmp_path / "r", redefined=("states",))
    out.number("a", 1, "s", of=amount())
    out.finish()
    assert numbers(tmp_path / "r")["a"]["redefined"] == ["states"]


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    out = results(tmp_path / "r")
    out.number("a", 1, "s", of=amount())
    out.figure("f", figure(), of=amount(), alt="a line")
    assert not (tmp_path / "r").exists()
    del out
    assert list(tmp_path.iterdir()) == []


def test_the_record_joins_all_evidence_and_hashes_what_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    out = results(folder)
    out.number("a", 1, "s", of=amount("x"))
    out.table("t", pd.DataFrame({"x": [1]}), of=amount("setting:s", layer=Layer.CONSTRUCTED))
    out.figure("f", figure(), of=amount("y", provenance=Provenance.UNVERIFIED), alt="a line")
    out.finish()
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert (record["layer"], record["provenance"]) == ("constructed", "unverified")
    assert record["inputs"] == ["setting:s", "x", "y"]
    assert set(record["artefacts"]) == {"t.csv", "f.svg"}
    assert record["artefacts"]["f.svg"]["alt"] == "a line"
    assert record["artefacts"]["f.svg"]["provenance"] == "unverified"
    assert "aidc.publish.results" in record["modules"]
    assert (folder / "t.csv").read_text() == "x\n1\n"


def test_a_new_run_removes_what_it_no_longer_makes_and_keeps_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    first = results(folder)
    first.table("old", pd.DataFrame({"x": [1]}), of=amount())
    first.finish()
    (folder / "mine.txt").write_text("keep")
    second = results(folder)
    second.table("new", pd.DataFrame({"x": [1]}), of=amount())
    second.finish()
    names = {path.name for path in folder.iterdir()}
    assert names == {"new.csv", "numbers.json", "run.json", "mine.txt"}
    assert {path.name for path in tmp_path.iterdir()} == {"r"}


def test_two_equal_runs_write_equal_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        out = results(tmp_path / name)
        out.number("n", 1.5, "s", of=amount())
        out.figure("f", figure(), of=amount(), alt="a line")
        out.finish()
        written.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
    assert written[0] == written[1]


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    out = results(tmp_path / "r")
    frame = pd.DataFrame(
        {"line": [-2, 3], "text": ["=1+1", "1,-2"], "kind": pd.Categorical(["@", "a"])}
    )
    out.table("set_aside", frame, of=amount())
    out.number("a", 1, "s", of=amount())
    out.finish()
    written = pd.read_csv(tmp_path / "r" / "set_aside.csv")
    assert written["line"].tolist() == [-2, 3]
    assert written["text"].tolist() == ["'=1+1", "1,-2"]
    assert written["kind"].tolist() == ["'@", "a"]
