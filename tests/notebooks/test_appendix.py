"""Pages A.1 and A.3 hold whatever a reader sets: nothing that they show is ever missing."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aidc import paths
from tests.notebooks.hand_made import execute

SHOWN = re.compile(r"\{num\}`([^`|]+)")
ARTEFACT = re.compile(r"\{result-(?:figure|table)\} (\S+)")
pytestmark = pytest.mark.slow


def run(notebook: str, page: str, folder: Path, **parameters: object) -> Mapping[str, Any]:
    """Run a notebook on three jobs of 1 kW a GPU; return its numbers and check its page."""
    jobs = [(0, 2, 150), (4, 1, 110), (9, 1, 130)]
    settings = {"step_min": 60, "supply_cap_kw": [100], **parameters}
    results = execute(notebook, folder, jobs, **settings)
    document = json.loads((results / "numbers.json").read_text(encoding="utf-8"))
    numbers: Mapping[str, Any] = document["numbers"]
    text = (paths.ROOT / "book" / page).read_text(encoding="utf-8")
    assert set(SHOWN.findall(text)) <= set(numbers)
    for name in ARTEFACT.findall(text):
        assert (results / name.removeprefix(f"{notebook}/")).is_file()
    return numbers


def value(numbers: Mapping[str, Any], name: str) -> object:
    return numbers[name]["value"]


def test_a_schedule_states_its_settings(tmp_path: Path) -> None:
    numbers = run("A1_task_schedule", "A_1_task_schedule.md", tmp_path, slack_min=[60])
    for name, expected in (
        ("setting.jobs", None),
        ("start", "2023-03-01"),
        ("days", 1),
        ("step_min", 60),
        ("fleet_blocks", "any number of"),
        ("slack_min", 60),
    ):
        number = numbers[f"schedule.{name}"]
        assert number["layer"] == "constructed"
        assert number["inputs"] == [f"setting:{name.removeprefix('setting.')}"]
        assert expected in (None, number["value"])
    assert value(numbers, "schedule.supply_cap_share") == pytest.approx(100 / 150)
    assert "that malleable jobs need" in str(value(numbers, "schedule.storage_origin"))
    assert value(numbers, "schedule.malleable.unserved_share") == 0


def test_a_storage_that_a_reader_sets_is_said_to_be_set_and_lost_work_has_no_delay(
    tmp_path: Path,
) -> None:
    numbers = run(
        "A1_task_schedule",
        "A_1_task_schedule.md",
        tmp_path,
        slack_min=[0],
        storage_power_kw=0,
        storage_energy_kwh=0,
    )
    assert value(numbers, "schedule.storage_origin") == "set for this run"
    assert numbers["schedule.storage_power_kw"]["layer"] == "constructed"
    # 300, 110 and 130 kWh: 50 + 50, 10 and 30 kWh are above the cap.
    assert value(numbers, "schedule.malleable.unserved_share") == pytest.approx(140 / 540)
    assert value(numbers, "schedule.malleable.delay_h_p95") == pytest.approx(0, abs=1e-6)
    assert value(numbers, "schedule.rigid.unserved_share") == pytest.approx(1)
    assert value(numbers, "schedule.rigid.delay_h_p50") is None


def test_break_even_stands_on_the_frozen_scans(tmp_path: Path) -> None:
    numbers = run(
        "A3_break_even",
        "A_3_break_even.md",
        tmp_path,
        slack_min=[6, 0],
        supply_cap_kw=[120, 100],
        challenger_eta=[0.95, 0.9],
        challenger_power_to_energy_per_h=[0.5, 0.25, 3],
        challenger_soc_min=0.1,
        challenger_soc_max=0.9,
        cost_ratio=[0.6, 1.0],
        integration_cost_share=[0, 0.05],
    )
    scans = hashlib.sha256((paths.REGISTRY / "scans.yml").read_bytes()).hexdigest()
    assert value(numbers, "breakeven.scans_sha256") == scans
    assert value(numbers, "breakeven.scans_sha256.first_12") == scans[:12]
    # A rate that nobody registered shows.
    assert value(numbers, "breakeven.unregistered") == "largest power for a given energy"
    for name in (
        "breakeven.least_slack.slack_min",
        "breakeven.most_slack.slack_min",
        "breakeven.hybrid.cost_ratio",
        "breakeven.hybrid.challenger_power_to_energy_per_h",
    ):
        assert numbers[name]["layer"] == "constructed", name
    assert value(numbers, "breakeven.supply_cap_kw") == pytest.approx(100)
    assert value(numbers, "breakeven.least_slack.points") == 6
    assert value(numbers, "breakeven.same_values.points") == 2 * 2
    assert value(numbers, "breakeven.same_values.largest_difference") == 0
    assert value(numbers, "breakeven.hybrid.challenger_power_to_energy_per_h") == 0.25
    assert value(numbers, "breakeven.hybrid.challenger_eta") == 0.95
    frame = pd.read_csv(tmp_path / "results" / "break_even.csv")
    energy = frame[
        (frame["scaling"] == "energy") & (frame["supply_cap_kw"] == 100) & (frame["slack_min"] == 0)
    ]
    alike = (energy["ratio"] / energy["usable_share_ratio"] - 1).abs() < 1e-6
    assert value(numbers, "breakeven.least_slack.usable_shares") == alike.sum()
    assert 0 < alike.sum() < 6
