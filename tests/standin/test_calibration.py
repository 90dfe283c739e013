"""Solving again gives a table that meets the conditions, whatever the solver's version."""

import itertools

import numpy as np
import pandas as pd
import pytest

from aidc.standin import calibration, hours, targets
from aidc.standin.targets import FOUR_TYPES, GPU_TYPES, TYPES, curve, target


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return calibration.solve_cells()


def test_solved_cells_meet_every_published_count(cells: pd.DataFrame) -> None:
    jobs = cells["completed"] + cells["other"]
    for kind in TYPES:
        for threshold, published in curve(kind, "duration").items():
            # The longest run time closes the last cell, below the last threshold.
            chosen = (cells["type"] == kind) & (cells["lower"] < threshold)
            assert jobs[chosen].sum() == published, (kind, threshold)


@pytest.mark.parametrize(
    ("key", "kinds", "q"),
    [
        *((f"pool.duration_s.{name}", GPU_TYPES, q) for name, q in (("p50", 0.5), ("p95", 0.95))),
        *((f"four.{kind}.duration_s.p50", (kind,), 0.5) for kind in FOUR_TYPES),
        *((f"four.{kind}.duration_s.p95", (kind,), 0.95) for kind in FOUR_TYPES),
    ],
)
def test_quantiles_fall_on_the_cells_around_them(
    cells: pd.DataFrame, key: str, kinds: tuple[str, ...], q: float
) -> None:
    chosen = cells[cells["type"].isin(kinds) & (cells["lower"] >= 0)].sort_values("upper")
    # With every job at the end of its cell, cells of one second keep the quantile.
    values = np.repeat(chosen["upper"].to_numpy(), chosen["completed"].to_numpy())
    assert np.quantile(values, q) == target(key)


def test_expected_cells_cover_every_run_time_once() -> None:
    for kind in TYPES:
        cells = calibration.expected_cells(kind)
        assert cells[0].lower == -1
        assert cells[-1].upper == target("rows.duration_s.max")
        assert all(a.upper == b.lower for a, b in itertools.pairwise(cells))


def test_the_committed_hours_are_the_solved_ones_in_total() -> None:
    committed, solved = pd.read_csv(targets.HOURS), hours.solve_hours()
    assert committed["hour"].tolist() == solved["hour"].tolist()
    for column in ("four_types", "other_types"):
        assert committed[column].sum() == solved[column].sum()
    pool = solved["four_types"] + solved["other_types"]
    assert pool.quantile(0.5) == target("pool.arrivals_per_hour.p50")
    assert pool.quantile(0.9) == target("pool.arrivals_per_hour.p90")
