import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc import paths
from aidc.evidence import InputError
from aidc.standin import fit, targets, trace

HEADER = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    "duration,queue,gpu_time"
)
TIME = r"2023-\d\d-\d\d [0-2]\d:[0-5]\d:[0-5]\d\+08:00"
ROW = re.compile(
    rf"\d+,u\w+,[1-9]\d*,\d+,[1-9]\d*,[A-Za-z]+,[A-Z_]+,{TIME},{TIME},{TIME},\d+,\d+,(\d+\.0)?"
)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _assert_valid(jobs: pd.DataFrame) -> None:
    run = (jobs["end_time"] - jobs["start_time"]).dt.total_seconds()
    wait = (jobs["start_time"] - jobs["submit_time"]).dt.total_seconds()
    assert (run == jobs["duration"]).all()
    assert (wait == jobs["queue"]).all()
    assert (jobs[["duration", "queue"]] >= 0).all(axis=None)
    on_gpus = jobs["gpu_num"] > 0
    assert (on_gpus == (jobs["type"] != "CPU")).all()
    assert (jobs["gpu_time"].notna() == on_gpus).all()
    gpus = jobs[on_gpus]
    assert (gpus["gpu_time"] == gpus["gpu_num"] * gpus["duration"]).all()
    assert (jobs["node_num"] * 8 >= jobs["gpu_num"]).all()
    assert jobs["submit_time"].is_monotonic_increasing
    assert (jobs["job_id"].diff().dropna() > 0).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(trace.SMALLEST, 3_000), st.integers(0, 2**63))
def test_every_row_of_a_small_trace_is_valid(rows: int, seed: int) -> None:
    jobs = trace.generate(rows, seed)
    assert len(jobs) == rows
    assert tuple(jobs.columns) == trace.COLUMNS
    _assert_valid(jobs)


def test_the_file_speaks_the_seren_dialect(small: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    trace.write(small, path)
    header, *lines = path.read_bytes().decode("ascii").split("\n")
    assert header == HEADER
    assert lines.pop() == ""
    assert len(lines) == len(small)
    assert not [line for line in lines if not ROW.fullmatch(line)]
    assert {line.endswith(",") for line in lines} == {True, False}  # CPU jobs and GPU jobs


def test_what_is_written_is_what_was_drawn(small: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    trace.write(small, path)
    read = fit.read_rows(path)
    for name in trace.COLUMNS:
        drawn = small[name]
        if isinstance(drawn.dtype, pd.CategoricalDtype):
            drawn = drawn.astype(str)
        assert read[name].equals(drawn.astype(read[name].dtype)), name


def test_users_are_recognisably_synthetic(small: pd.DataFrame) -> None:
    assert small["user"].astype(str).str.fullmatch(r"usyn\d{3}").all()


def test_window_is_kept_by_a_small_trace(small: pd.DataFrame) -> None:
    known = targets.targets()
    local = small["submit_time"].dt.tz_localize(None)
    assert str(local.iloc[0]) == known["window.first_submit"].value
    assert str(local.iloc[-1]) == known["window.last_submit"].value


def test_a_small_trace_keeps_the_proportions() -> None:
    jobs = trace.generate(rows=20_000, seed=2)
    counted = fit.count(jobs)
    for key in ("rows.completed", "rows.completed_gpu", "pool.jobs", "four.jobs"):
        expected = targets.target(key) * 20_000 / trace.FULL_ROWS
        assert float(counted[key]) == pytest.approx(expected, rel=0.02), key
    for key in ("pool.duration_s.p50", "pool.duration_s.p90", "pool.duration_s.p95"):
        assert float(counted[key]) == pytest.approx(targets.target(key), rel=0.1), key


def test_same_seed_same_bytes_and_another_seed_differs(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        trace.write_trace(tmp_path / name, rows=2_000, seed=seed)
    first, again, other = (_sha256(tmp_path / name) for name in "abc")
    assert first == again
    assert first != other


def test_bytes_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from aidc.standin import trace;"
        "trace.write_trace(Path(sys.argv[1]), rows=2_000, seed=1)"
    )
    for threads in ("1", "4"):
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / threads)],
            check=True,
            env=os.environ | limits,
        )
    assert _sha256(tmp_path / "1") == _sha256(tmp_path / "4")


@pytest.mark.parametrize("rows", [0, trace.SMALLEST - 1, trace.FULL_ROWS + 1])
def test_a_size_out_of_range_is_one_clear_line(rows: int) -> None:
    with pytest.raises(InputError, match=f"found rows={rows}, expected 100 to 818327") as caught:
        trace.generate(rows=rows)
    assert "\n" not in str(caught.value)


def test_a_negative_seed_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="found seed=-1, expected 0 or more"):
        trace.generate(rows=trace.SMALLEST, seed=-1)


def test_a_failed_write_leaves_nothing_behind(
    small: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("good")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(trace.pa.csv, "write_csv", fail)
    with pytest.raises(OSError, match="disk full"):
        trace.write(small, path)
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


class TestCache:
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")

    def test_a_trace_is_drawn_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = trace.cached(rows=500, seed=1)
        assert path.parent == paths.CACHE
        assert re.fullmatch(r"seren-standin-[0-9a-f]{16}\.csv", path.name)
        monkeypatch.setattr(trace, "draw_trace", lambda _: pytest.fail("drawn again"))
        assert trace.cached(rows=500, seed=1) == path

    def test_parameters_and_tables_are_part_of_the_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = {
            trace.cached(rows=rows, seed=seed) for rows, seed in ((500, 1), (501, 1), (500, 2))
        }
        assert len(names) == 3
        table = tmp_path / "hours.csv"
        table.write_bytes(targets.HOURS.read_bytes() + b"\n")
        monkeypatch.setattr(targets, "HOURS", table)
        assert trace.cached(rows=500, seed=1) not in names

    def test_the_content_is_the_drawn_trace(self, tmp_path: Path) -> None:
        trace.write_trace(tmp_path / "direct.csv", rows=500, seed=1)
        assert _sha256(trace.cached(rows=500, seed=1)) == _sha256(tmp_path / "direct.csv")


@pytest.mark.slow
def test_full_size_rows_are_valid_and_same_seed_gives_same_bytes(
    full_file: Path, tmp_path: Path
) -> None:
    jobs = fit.read_rows(full_file)
    _assert_valid(jobs)
    assert np.isin(jobs["state"].unique(), trace.STATES).all()
    trace.write_trace(tmp_path / "again.csv")
    assert _sha256(full_file) == _sha256(tmp_path / "again.csv")
