"""``python -m aidc audit`` on power logs: one job from several paths, JSON and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from aidc.__main__ import cli

KEYS = {"path", "dialect", "offset", "rows", "kept", "set_aside", "rules", "funnel", "findings"}
PROFILE = {
    "mean_w",
    "mean_w_without_gaps",
    "p95_w",
    "p99_w",
    "max_w",
    "energy_wh",
    "duration_s",
    "interval_s",
    "load_factor",
}


def audited(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["audit", "--json", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert set(found) >= KEYS
    assert found["rows"] == found["kept"] + len(found["set_aside"])
    for rule in found["rules"]:
        assert rule["n"] == rule["not_evaluable"] + rule["passed"] + rule["failed"]
    return found


@pytest.fixture
def constant(tmp_path: Path) -> Path:
    """One hour at 8 kW, a sample a second."""
    path = tmp_path / "constant.csv"
    path.write_text("time_s,power_w\n" + "".join(f"{i},8000\n" for i in range(3601)))
    return path


def test_a_constant_log_has_a_known_profile(constant: Path) -> None:
    found = audited(constant)
    assert set(found["profile"]) == PROFILE
    assert found["profile"]["mean_w"] == pytest.approx(8000)
    assert found["profile"]["energy_wh"] == pytest.approx(8000)
    assert found["profile"]["load_factor"] == pytest.approx(1)


def test_the_table_shows_rules_and_profile(constant: Path) -> None:
    done = CliRunner().invoke(cli, ["audit", str(constant)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "8,000" in done.stdout
    assert "time.gaps" in done.stdout


@pytest.mark.real_data
def test_two_domains_are_one_job(real_data: Path) -> None:
    folder = real_data / "power" / "1_wattameter_example"
    found = audited(folder / "nvml_wattameter.log", folder / "rapl_wattameter.log")
    assert len(found["path"]) == 2
    assert found["profile"]["mean_w"] > 0


@pytest.mark.real_data
def test_the_gaps_of_a_real_log_are_findings(real_data: Path) -> None:
    (log,) = (real_data / "power").glob("2_mlperf*/dc_result*_1_node_0.txt")
    found = audited(log)
    assert found["profile"]["mean_w"] == pytest.approx(6752.7, abs=0.05)
    assert found["profile"]["mean_w_without_gaps"] == pytest.approx(6778.9, abs=0.05)
    text = " ".join(found["findings"])
    assert "7 gaps" in text
    assert "6782.3" in text
    assert "given twice" in text
    assert "broken stop" in text
