"""A sweep: every combination, checked first, in parallel, resumable, one tidy table."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aidc import paths
from aidc import sweep as module
from aidc.evidence import InputError
from aidc.sweep import Point, SweepStoppedError, collect, collect_tables, grid, points, sweep
from tests import tiny_notebook
from tests.tiny_elsewhere import VARIABLE, Elsewhere
from tests.tiny_notebook import Tiny

TABLE = """
import pandas as pd
frame = pd.DataFrame({"item": range(settings.size)})
"""


WAIT = """
import os, time
from pathlib import Path
if settings.word == "wait":
    Path(os.environ["AIDC_RUN"], "../../../kernel").resolve().write_text(str(os.getpid()))
    time.sleep(600)
"""


def wait_for(holds: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds; fail if it does not in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "not in time"
        time.sleep(0.1)


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

        def nthreads(self) -> dict[str, int]:
            return {"tcp://somewhere:1": 1}

        def submit(self, function: Any, *args: Any, pure: bool) -> Any:
            value = function(*args)
            return type("Future", (), {"result": lambda self: value})()

    fake = SimpleNamespace(Client=Client, as_completed=lambda futures: reversed(futures))
    monkeypatch.setattr(module, "_distributed", lambda: fake)
    outcomes = sweep(chosen, scheduler="tcp://somewhere:8786")
    assert asked == ["tcp://somewhere:8786"]
    assert [bool(outcome.error) for outcome in outcomes] == [False, True, False, True]


def test_a_point_whose_process_died_failed_and_the_others_are_there() -> None:
    class Died:
        def result(self) -> str:
            raise RuntimeError("the worker\nwas killed")

    assert module._ended(Died()) == "RuntimeError: the worker was killed"


def test_ctrl_c_counts_what_is_done(chosen: list[Point], monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    def two_then_ctrl_c(*_: object) -> Iterator[tuple[int, str]]:
        try:
            yield 0, ""
            yield 1, "refused"
            raise KeyboardInterrupt
        finally:
            closed.append(True)

    monkeypatch.setattr(module, "_by_processes", two_then_ctrl_c)
    with pytest.raises(SweepStoppedError, match="sweep stopped: 1 of 4 points are done"):
        sweep(chosen)
    assert closed == [True]


SLOW = """
import sys
import time
from dataclasses import replace
from pathlib import Path
import aidc.__main__ as command
from aidc.sweep import Point
from tests.tiny_elsewhere import Elsewhere

def points(notebook, axes, folder):
    chosen = [Elsewhere.parse({"size": size, "word": word}) for size, word in WORDS]
    return [Point({"size": str(s.size)}, s, folder / str(s.size)) for s in chosen]

WORDS = [(1, "a"), (2, WORD), (3, WORD)]
command.points = points
if __name__ == "__main__":
    command.main()
"""


def start_sweep(folder: Path, word: str) -> subprocess.Popen[str]:
    """Start a sweep of three points on one worker; two of them have the word."""
    script = folder / "slow.py"
    script.write_text(SLOW.replace("WORD)", f"{word!r})"))
    return subprocess.Popen(
        [sys.executable, str(script), "sweep", "99_tiny", "--out", "swept", "--workers", "1"],
        cwd=folder,
        env={**os.environ, VARIABLE: str(paths.NOTEBOOKS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_ends_a_sweep_in_one_line_that_says_how_to_go_on(
    chosen: list[Point], tmp_path: Path
) -> None:
    tiny_notebook.write(paths.NOTEBOOKS, WAIT + tiny_notebook.PUBLISH)
    running = start_sweep(tmp_path, "wait")
    first = tmp_path / "swept/99_tiny/1/99_tiny.ipynb"
    wait_for(lambda: first.is_file() and (tmp_path / "kernel").is_file(), seconds=60)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines() == [
        "sweep stopped: 1 of 3 points are done; to go on: "
        "python -m aidc sweep 99_tiny --out swept --workers 1"
    ]
    kernel = int((tmp_path / "kernel").read_text())
    wait_for(lambda: not Path(f"/proc/{kernel}").exists(), seconds=30)


def test_a_sweep_that_fails_in_part_says_which_and_ends_with_2(
    chosen: list[Point], tmp_path: Path
) -> None:
    running = start_sweep(tmp_path, "refused")
    out, err = running.communicate(timeout=120)
    assert running.returncode == 2
    assert "sweep.csv" in out
    refused = "word: found 'refused', expected another word"
    assert err.splitlines() == [
        f"error: size 2: {refused}",
        f"error: size 3: {refused}",
        "error: sweep: 2 of 3 points failed, see above",
    ]


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
