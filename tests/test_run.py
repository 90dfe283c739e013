"""The runner: checks first, runs only what changed, leaves nothing half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from aidc import paths
from aidc.evidence import InputError
from aidc.publish.accept import accept
from aidc.run import default_folder, notebooks, plan, read_parameters, reasons_to_run, run
from aidc.settings.task_pool import TaskPool
from tests import tiny_notebook
from tests.tiny_notebook import Tiny


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty run folder, with the tiny notebook where notebooks are looked for."""
    source = tmp_path / "notebooks"
    source.mkdir()
    tiny_notebook.write(source)
    monkeypatch.setattr(paths, "NOTEBOOKS", source)
    monkeypatch.setenv("PYTHONPATH", str(paths.ROOT))
    return tmp_path / "out"


def tiny(folder: Path, **values: object) -> str:
    """Run the tiny notebook and return why it ran."""
    (outcome,) = run([Tiny.parse(values)], folder)
    return outcome.reason


def size(folder: Path) -> int:
    path = folder / "results" / "99_tiny" / "numbers.json"
    return int(json.loads(path.read_text())["numbers"]["tiny.size"]["value"])


def test_a_run_publishes_and_an_unchanged_one_is_skipped(folder: Path) -> None:
    assert tiny(folder) == "no results yet"
    assert size(folder) == 3
    assert tiny(folder) == ""


def test_what_changed_is_named_and_runs_again(folder: Path) -> None:
    tiny(folder)
    assert tiny(folder, size=4) == "parameters changed"
    assert size(folder) == 4
    tiny_notebook.write(paths.NOTEBOOKS, tiny_notebook.PUBLISH + "# a comment")
    assert reasons_to_run(Tiny.parse({"size": 4}), folder) == ["cells changed"]
    numbers = folder / "results" / "99_tiny" / "numbers.json"
    numbers.write_text(numbers.read_text().replace("4", "5"))
    assert "result numbers.json was edited" in reasons_to_run(Tiny.parse({"size": 4}), folder)
    record = folder / "results" / "99_tiny" / "run.json"
    document = json.loads(record.read_text())
    document["modules"]["aidc.paths"] = "0" * 64
    document["lock"] = "0" * 64
    record.write_text(json.dumps(document))
    reasons = reasons_to_run(Tiny.parse({"size": 4}), folder)
    assert {"module aidc.paths changed", "requirements.txt changed"} <= set(reasons)


def test_a_default_run_has_no_injected_cell(folder: Path) -> None:
    tiny(folder)
    assert "injected-parameters" not in (folder / "99_tiny.ipynb").read_text()
    tiny(folder, size=4)
    assert "injected-parameters" in (folder / "99_tiny.ipynb").read_text()


def test_a_refused_input_leaves_what_was_there(folder: Path) -> None:
    tiny(folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match="word: found 'refused', expected another word"):
        tiny(folder, word="refused")
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_bug_is_no_input_error_and_its_cells_are_kept(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"99_tiny failed in cell \d: KeyError"):
        tiny(folder, word="bug")
    assert (folder / "99_tiny.failed.ipynb").is_file()
    assert not (folder / "99_tiny.ipynb").exists()
    tiny(folder)
    assert not (folder / "99_tiny.failed.ipynb").exists()


def test_two_runs_do_not_share_a_folder(folder: Path) -> None:
    folder.mkdir()
    with (
        FileLock(folder / ".lock"),
        pytest.raises(InputError, match="another run is writing there"),
    ):
        tiny(folder)


def test_accepting_twice_changes_nothing(folder: Path, tmp_path: Path) -> None:
    tiny(folder)
    target = tmp_path / "accepted"
    target.mkdir()
    accept(["99_tiny"], folder, target, target / "results")
    first = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}
    assert b"papermill" not in first[target / "99_tiny.ipynb"]
    (folder / "99_tiny.ipynb").unlink()
    tiny(folder)
    accept(["99_tiny"], folder, target, target / "results")
    assert {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} == first


def test_only_a_complete_default_run_is_accepted(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no complete results of 99_tiny"):
        accept(["99_tiny"], folder, tmp_path / "a", tmp_path / "b")
    tiny(folder, size=4)
    with pytest.raises(InputError, match="99_tiny ran with its own parameters"):
        accept(["99_tiny"], folder, tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_a_plan_checks_names_and_values_before_a_kernel_starts(tmp_path: Path) -> None:
    assert [type(item) for item in plan(["31_task_pool"], {"seed": "7"})] == [TaskPool]
    with pytest.raises(InputError, match=r"notebook '32_x': not found; expected one of .*31_task"):
        plan(["32_x"], {})
    with pytest.raises(InputError, match=r"unknown parameter 'sed'; did you mean 'seed'\?"):
        plan([], {"sed": 1})
    with pytest.raises(InputError, match="quantiles"):
        plan(["31_task_pool"], {"quantiles": "[2]"})
    with pytest.raises(InputError, match=r"nope\.csv"):
        plan(["31_task_pool"], {"trace": "nope.csv"})


def test_a_changed_parameter_gets_a_folder_of_its_own() -> None:
    assert default_folder(plan(["31_task_pool"], {})) == paths.RUNS / "default"
    assert default_folder(plan(["31_task_pool"], {"seed": 7})) == paths.RUNS / "variant"


@pytest.mark.parametrize(
    ("text", "message"),
    [("- 1", "found list, expected lines NAME: VALUE"), ("a: [1", "no valid YAML")],
)
def test_a_bad_parameter_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.yml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_parameters(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_parameters(tmp_path / "none.yml")


def test_every_notebook_has_settings_and_every_settings_a_notebook() -> None:
    assert {path.stem for path in paths.NOTEBOOKS.glob("*.ipynb")} == set(notebooks())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "31_task_pool", "-p", "trace", "nope.csv"], "nope.csv"),
        (["run", "31_task_pool", "-p", "quantile", "0.5"], "did you mean 'quantiles'?"),
        (["run", "31_task_pool", "-p", "quantiles", "[2]"], "quantiles"),
        (["run", "-f", "nowhere.yml"], "nowhere.yml"),
        (["fetch", "nowhere"], "nowhere"),
        (["walk"], "walk"),
    ],
)
def test_the_command_line_ends_in_one_line_and_status_2(
    words: list[str], message: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "aidc", *words]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_list_names_every_parameter_with_its_unit() -> None:
    command = [sys.executable, "-m", "aidc", "list"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    for settings in notebooks().values():
        for name in settings.model_fields:
            assert name in ended.stdout
            assert settings.unit(name) in ended.stdout
