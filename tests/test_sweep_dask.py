"""A sweep on a real Dask cluster; skipped where Dask, an optional extra, is not installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aidc import paths
from aidc.evidence import InputError
from aidc.sweep import Point, collect, sweep
from tests.test_sweep import chosen  # noqa: F401 - a fixture
from tests.tiny_elsewhere import VARIABLE, Elsewhere

distributed: Any = pytest.importorskip("distributed")

# What Dask and its event loop warn of is not for this project to repair.
pytestmark = pytest.mark.filterwarnings("ignore")


def cluster(threads: int) -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=threads, dashboard_address=None, host="127.0.0.1"
    )


def test_points_run_on_the_workers_of_a_cluster(
    chosen: list[Point],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, str(paths.NOTEBOOKS))
    elsewhere = [replace(point, settings=Elsewhere.parse(point.asked)) for point in chosen]
    with cluster(threads=1) as running:
        outcomes = sweep(elsewhere, scheduler=running.scheduler_address)
        stamps = [(p.folder / "99_tiny.ipynb").stat().st_mtime_ns for p in elsewhere[::2]]
        again = sweep(elsewhere[::2], scheduler=running.scheduler_address)
    assert [bool(outcome.error) for outcome in outcomes] == [False, True, False, True]
    assert sorted(collect(outcomes)["value"].dropna()) == [1, 2]
    assert [outcome.error for outcome in again] == ["", ""]
    assert [(p.folder / "99_tiny.ipynb").stat().st_mtime_ns for p in elsewhere[::2]] == stamps


def test_workers_of_several_threads_are_refused(chosen: list[Point]) -> None:  # noqa: F811
    with (
        cluster(threads=2) as running,
        pytest.raises(InputError, match="found workers of several threads, expected one"),
    ):
        sweep(chosen, scheduler=running.scheduler_address)
    assert not any(point.folder.exists() for point in chosen)


def test_a_scheduler_that_does_not_answer_is_one_line(chosen: list[Point]) -> None:  # noqa: F811
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as closed,
    ):
        address = closed.scheduler_address
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match="no scheduler answers"),
    ):
        sweep(chosen, scheduler=address)
