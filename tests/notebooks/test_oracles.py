"""Worked examples through the whole notebook: a hand-made trace at 1 kW a GPU."""

from pathlib import Path

import pandas as pd
import pytest

from tests.notebooks.hand_made import execute

pytestmark = pytest.mark.slow
IDEAL = {
    "initial_soc": "full",
    "eta_charge": 1,
    "eta_discharge": 1,
    "soc_min": 0,
    "soc_max": 1,
    "power_to_energy_per_h": None,
}


def sizing(folder: Path, jobs: list[tuple[int, int, int]], **parameters: object) -> pd.DataFrame:
    """Return the bounds of A2."""
    results = execute("A2_storage_sizing", folder, jobs, **IDEAL, **parameters)
    frame = pd.read_csv(results / "sizing.csv")
    return frame.set_index(["slack_min", "bound"])[["power_kw", "energy_kwh"]]


def test_o4_one_job(tmp_path: Path) -> None:
    found = sizing(tmp_path, [(0, 1, 200)], step_min=30, slack_min=[0, 30, 60], supply_cap_kw=[100])
    for slack_h in (0.0, 0.5, 1.0):
        energy = 100 - 100 * slack_h
        for bound in ("closed_form", "malleable_lower", "malleable_certified"):
            expected = (energy / (1 + slack_h), energy)
            assert tuple(found.loc[(60 * slack_h, bound)]) == pytest.approx(expected, abs=1e-3)
    for side in ("lower", "feasible"):
        assert tuple(found.loc[(30, f"on_off_{side}")]) == pytest.approx((100, 50), abs=1e-3)
        assert tuple(found.loc[(30, f"rigid_{side}")]) == pytest.approx((100, 100), abs=1e-3)


def test_o5_ten_jobs(tmp_path: Path) -> None:
    found = sizing(tmp_path, [(0, 1, 10)] * 10, step_min=60, slack_min=[60], supply_cap_kw=[40])
    for bound in ("closed_form", "malleable_lower", "malleable_certified"):
        assert tuple(found.loc[(60, bound)]) == pytest.approx((10, 20), abs=1e-3)


def test_o5_with_storage_that_is_too_small(tmp_path: Path) -> None:
    """How much is short, never which jobs."""
    results = execute(
        "A1_task_schedule",
        tmp_path,
        [(0, 1, 10)] * 10,
        **IDEAL,
        step_min=60,
        slack_min=[60],
        supply_cap_kw=[40],
        storage_power_kw=5,
        storage_energy_kwh=10,
    )
    found = pd.read_csv(results / "schedule.csv").set_index("flexibility")
    expected = {"malleable": 10, "on_off": 20, "rigid": 20}
    assert found["unserved_kwh"].to_dict() == pytest.approx(expected, abs=1e-3)
    assert found["missed_jobs"].to_dict() == {"malleable": 1, "on_off": 2, "rigid": 2}
