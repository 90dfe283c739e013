import json
from pathlib import Path

import pytest

from aidc import paths
from aidc.constructed.scans import REGISTRY, FrozenScans
from aidc.evidence import InputError, Layer
from aidc.publish.freshness import file_hash


def test_the_scans_of_a_group_name_every_setting_as_their_origin() -> None:
    scans = FrozenScans.of("battery")
    assert scans.sha256 == file_hash(REGISTRY)
    assert scans.evidence is not None
    assert scans.evidence.layer is Layer.CONSTRUCTED
    assert scans.evidence.inputs == {f"setting:{key}" for key in scans.scans}
    one = scans.only("eta_charge")
    assert one.evidence is not None
    assert one.evidence.inputs == {"setting:eta_charge"}
    assert set(scans.frame["setting"]).isdisjoint(FrozenScans.of("replay").frame["setting"])


def test_an_unknown_setting_or_group_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no setting 'price', expected one of relative_cost"):
        FrozenScans.of("battery").only("price")
    path = tmp_path / "scans.yml"
    path.write_text("{}")
    with pytest.raises(InputError, match="found no scan of group 'replay'"):
        FrozenScans.of("replay", path)


def test_only_a_registered_level_is_one() -> None:
    scans = FrozenScans.of("replay")
    assert scans.level("fleet_blocks", 286) == 286
    with pytest.raises(InputError, match="found no level 287, expected one of none, 286, 572"):
        scans.level("fleet_blocks", 287)


@pytest.mark.parametrize(
    ("notebook", "number"),
    [("24_battery_audit", "scans.sha256"), ("33_data_fusion", "replay.scans_sha256")],
)
def test_a_level_cannot_move_behind_accepted_results(notebook: str, number: str) -> None:
    accepted = json.loads((paths.ACCEPTED / notebook / "numbers.json").read_text())
    assert accepted["numbers"][number]["value"] == file_hash(REGISTRY), "run make accept"
