"""A sweep: every combination, checked first, in parallel, resumable, one tidy table."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aidc import paths
from aidc import sweep as module
from aidc.evidence import InputError
from aidc.sweep import Point, collect, collect_tables, grid, points, sweep
from tests import tiny_notebook
from tests.tiny_elsewhere import VARIABLE, Elsewhere
from tests.tiny_notebook import Tiny

TABLE = """
import pandas as pd
frame = pd.DataFrame({"item": range(settings.size)})
"""


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Point]:
    """Two sizes by two words, one of which is refused."""
    source = tmp_path / "notebooks"
    source.mkdir()
    publish = tiny_notebook.PUBLISH.replace(
        "out.finish()", TABLE + 'out.table("items", frame, of=amount("a-source"))\nout.finish()'
    )
    tiny_notebook.write(source, publish)
    monkeypatch.setattr(paths, "NOTEBOOKS", source)
    monkeypatch.setenv("PYTHONPATH", f"{paths.ROOT}:{paths.ROOT / 'src'}")
    asked = grid({"size": "1,2", "word": "a,refused"})
    return [Point(one, Tiny.parse(one), tmp_path / f"{one['size']}-{one['word']}") for one in asked]


def run_here(chosen: list[Point], **_: Any) -> list[Any]:
    return [module.PointOutcome(p, module._run_point(p.settings, p.folder)) for p in chosen]


def test_a_grid_is_every_combination_and_a_list_is_one_value() -> None:
    assert grid({"a": "1,2", "b": "x"}) == [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]
    assert grid({"a": "[1,2],3"}) == [{"a": "[1,2]"}, {"a": "3"}]
    assert grid({"a": "1,1, 1"}) == [{"a": "1"}]
    assert grid({}) == [{}]


@pytest.mark.parametrize("text", ["", ",", "[1,2"])
def test_no_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"sweep: parameter 'a'"):
        grid({"a": text})


def test_too_many_points_are_refused() -> None:
    many = ",".join(map(str, range(101)))
    with pytest.raises(InputError, match="found 10,201 points"):
        grid({"a": many, "b": many})


def test_every_point_is_checked_before_one_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="slack_min"):
        points("A2_storage_sizing", {"slack_min": "0,-1"}, tmp_path)
    found = points("A2_storage_sizing", {"slack_min": "0,15", "eta_charge": "0.9"}, tmp_path)
    assert len({point.folder for point in found}) == 2
    again = points("A2_storage_sizing", {"eta_charge": "0.90", "slack_min": "15"}, tmp_path)
    assert again[0].folder == found[1].folder
    assert not list(tmp_path.iterdir())


def test_results_are_collected_and_a_refused_point_is_a_row(chosen: list[Point]) -> None:
    outcomes = run_here(chosen)
    table = collect(outcomes)
    assert list(table.columns[:3]) == ["parameter.size", "parameter.word", "id"]
    assert len(table) == 4
    fine = table[table["error"].isna()]
    assert dict(zip(fine["parameter.size"], fine["value"], strict=True)) == {"1": 1, "2": 2}
    assert table["error"].str.contains("word: found 'refused'").sum() == 2
    items = collect_tables(outcomes)["items.csv"]
    assert list(items.columns) == ["parameter.size", "parameter.word", "item"]
    assert len(items) == 3


def test_a_second_sweep_runs_nothing_again(
    chosen: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    fine = [point for point in chosen if point.asked["word"] == "a"]
    run_here(fine)
    stamps = [(point.folder / "99_tiny.ipynb").stat().st_mtime_ns for point in fine]
    run_here(fine)
    assert [(p.folder / "99_tiny.ipynb").stat().st_mtime_ns for p in fine] == stamps


def test_points_run_in_other_processes(
    chosen: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(paths.NOTEBOOKS))
    elsewhere = [replace(point, settings=Elsewhere.parse(point.asked)) for point in chosen]
    outcomes = sweep(elsewhere, workers=2)
    assert [bool(outcome.error) for outcome in outcomes] == [False, True, False, True]
    assert sorted(collect(outcomes)["value"].dropna()) == [1, 2]


def test_dask_runs_the_points_when_a_scheduler_is_given(
    chosen: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Client:
        def __init__(self, address: str) -> None:
            asked.append(address)

        def __enter__(self) -> "Client":
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def submit(self, function: Any, *args: Any, pure: bool) -> Any:
            value = function(*args)
            return type("Future", (), {"result": lambda self: value})()

    fake = SimpleNamespace(Client=Client, as_completed=lambda futures: reversed(futures))
    monkeypatch.setattr(module, "_distributed", lambda: fake)
    outcomes = sweep(chosen, scheduler="tcp://somewhere:8786")
    assert asked == ["tcp://somewhere:8786"]
    assert [bool(outcome.error) for outcome in outcomes] == [False, True, False, True]


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="--scheduler needs Dask"):
        module._distributed()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "A9_none"], "A9_none"),
        (["sweep", "A2_storage_sizing", "-p", "slack_mni", "0,15"], "did you mean 'slack_min'?"),
        (["sweep", "A2_storage_sizing", "-p", "slack_min", "0,soon"], "soon"),
        (["sweep", "A2_storage_sizing", "-p", "slack_min", ","], "slack_min"),
    ],
)
def test_the_command_line_ends_in_one_line_and_status_2(
    words: list[str], message: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "aidc", *words, "--out", "swept"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []
