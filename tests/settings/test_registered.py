"""One registered default for every experimental setting, in every notebook that has it."""

import pytest

from aidc.evidence import InputError
from aidc.evidence.scans import OPEN, load_scans
from aidc.settings.break_even import BreakEvenScan
from aidc.settings.data_fusion import DataFusion
from aidc.settings.evidence_framework import EvidenceFramework
from aidc.settings.fields import registered, registered_levels
from aidc.settings.replay import ReplaySettings
from aidc.settings.storage_sizing import StorageSizing
from aidc.settings.task_schedule import TaskSchedule

SCANS = load_scans()
ALL = (DataFusion, TaskSchedule, StorageSizing, BreakEvenScan)
# Their pages say why.
OTHER_LEVELS = {(BreakEvenScan, "jobs")}
PAIRS = [(settings, name) for settings in ALL for name in settings.model_fields]


@pytest.mark.parametrize(
    ("settings", "name"), PAIRS, ids=[f"{settings.notebook}-{name}" for settings, name in PAIRS]
)
def test_a_default_is_the_registered_one_or_some_of_its_levels(
    settings: type[ReplaySettings], name: str
) -> None:
    key = settings.registered_as(name)
    if name in SCANS:
        assert key == name
    if key is None:
        return
    scan, value = SCANS[key], getattr(settings(), name)
    assert settings.unit(name) == scan.unit
    if isinstance(value, tuple) and value:
        assert set(value) <= set(scan.levels)
    elif (settings, name) in OTHER_LEVELS:
        assert scan.default != value
        assert value in scan.levels
    else:
        assert (OPEN if value in (None, ()) else value) == scan.default


def test_all_notebooks_study_the_same_load() -> None:
    shared = set(ReplaySettings.model_fields) - {"slack_min", "supply_cap_share"}
    assert {"jobs", "start", "days", "step_min", "site_overhead", "power"} <= shared
    loads = [
        settings().model_dump(include=shared - {name for _, name in OTHER_LEVELS})
        for settings in ALL
    ]
    assert all(load == loads[0] for load in loads)


def test_the_weights_of_storage_have_the_registered_ratio() -> None:
    sizing = StorageSizing()
    ratio = sizing.weight_power / sizing.weight_energy
    assert ratio == SCANS["cost_ratio_power_to_energy"].default


def test_the_slack_that_shows_a_setting_at_work_is_a_registered_level() -> None:
    assert EvidenceFramework().slack_min in SCANS["slack_min"].levels


@pytest.mark.parametrize("settings", ALL)
@pytest.mark.parametrize("given", ["none", "0", 0, None])
def test_no_fleet_is_said_by_none_or_zero(settings: type[ReplaySettings], given: object) -> None:
    parsed = settings.parse({"fleet_blocks": given})
    assert parsed.fleet_blocks is None
    assert parsed.fleet().blocks is None
    assert parsed.changed() == {}
    assert settings.parse({"fleet_blocks": "286"}).fleet().blocks == 286


def test_only_registered_levels_can_be_a_default() -> None:
    with pytest.raises(InputError, match=r"'slack_min': found no level 45, expected one of 0.0"):
        registered_levels("slack_min", 45)
    with pytest.raises(InputError, match="'jobs': found no level 'some'"):
        registered("jobs", level="some")
