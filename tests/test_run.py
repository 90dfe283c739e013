"""The runner: checks first, runs only what changed, leaves nothing half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from aidc import paths
from aidc.evidence import InputError
from aidc.run import (
    accept,
    default_folder,
    notebooks,
    plan,
    read_parameters,
    reasons_to_run,
    run,
)
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
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(paths.ROOT), str(paths.ROOT / "src")]))
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


def test_a_refused_input_leaves_no_trace_in_a_new_folder(folder: Path) -> None:
    with pytest.raises(InputError, match="word: found 'refused'"):
        tiny(folder, word="refused")
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(InputError, match="word: found 'refused'"):
        tiny(folder, word="refused")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == []
    tiny(folder)
    assert {path.name for path in folder.iterdir()} == {"99_tiny.ipynb", "results"}


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


@pytest.fixture
def accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where accepted results go; the tiny notebook is the only one."""
    monkeypatch.setattr(paths, "ACCEPTED", tmp_path / "accepted")
    monkeypatch.setattr("aidc.run.notebooks", lambda: {"99_tiny": Tiny})
    return tmp_path / "accepted"


def test_accepting_twice_changes_nothing(folder: Path, accepted: Path) -> None:
    def files() -> dict[Path, bytes]:
        kept = (*paths.NOTEBOOKS.rglob("*"), *accepted.rglob("*"))
        return {p: p.read_bytes() for p in kept if p.is_file()}

    tiny(folder)
    accept(folder)
    first = files()
    assert b"papermill" not in first[paths.NOTEBOOKS / "99_tiny.ipynb"]
    assert accepted / "99_tiny" / "numbers.json" in first
    (folder / "99_tiny.ipynb").unlink()
    tiny(folder)
    accept(folder)
    assert files() == first


def test_only_a_complete_default_run_as_it_was_written_is_accepted(
    folder: Path, accepted: Path
) -> None:
    with pytest.raises(InputError, match=r"99_tiny cannot be accepted \(no results yet\)"):
        accept(folder)
    tiny(folder, size=4)
    with pytest.raises(InputError, match=r"99_tiny cannot be accepted \(parameters changed\)"):
        accept(folder)
    tiny(folder)
    numbers = folder / "results" / "99_tiny" / "numbers.json"
    numbers.write_text(numbers.read_text().replace("verified", "observed"))
    with pytest.raises(InputError, match=r"numbers\.json was edited"):
        accept(folder)
    assert not accepted.exists()


def test_a_folder_that_cannot_be_written_is_one_line(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        tiny(folder)


def test_what_a_killed_run_left_is_cleared(folder: Path) -> None:
    left = folder / "results" / "99_tiny" / ".staging-left"
    left.mkdir(parents=True)
    tiny(folder)
    assert not left.exists()


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


def test_one_results_dir_cannot_hold_two_notebooks() -> None:
    with pytest.raises(InputError, match="one folder for 2 notebooks"):
        plan(["31_task_pool", "90_standin_trace"], {"results_dir": "out"})


def test_the_same_name_in_another_folder_is_another_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "my.csv").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        (settings,) = plan(["31_task_pool"], {"trace": "my.csv"})
        recorded.append(settings.recorded()["trace"])
    assert recorded == [str(tmp_path / name / "my.csv") for name in ("a", "b")]


def test_a_changed_parameter_gets_a_folder_of_its_own() -> None:
    assert default_folder(plan(["31_task_pool"], {})) == paths.RUNS / "default"
    assert default_folder(plan(["31_task_pool"], {"seed": 7})) == paths.RUNS / "variant"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "found a list, expected lines NAME: VALUE; 'python -m aidc list' shows the names"),
        ("slack", "found 'slack', expected lines NAME: VALUE"),
        ("", "found no parameter, expected lines NAME: VALUE; write one, or leave out -f"),
        ("a: [1", "no valid YAML"),
    ],
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
        (["run", "-p", "seed", "1", "-p", "seed", "2"], "found twice"),
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
