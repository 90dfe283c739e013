"""Every setting of the replay is registered, and a bad one ends in one line."""

import pytest

from aidc.constructed.limits import BlockPower
from aidc.constructed.replay import replay, site_load
from aidc.evidence import InputError
from aidc.evidence.scans import load_scans
from aidc.settings.data_fusion import BUSIEST, DataFusion
from tests.constructed.test_template import jobs

REPLAY = {key: scan for key, scan in load_scans().items() if scan.group == "replay"}


def test_every_setting_of_the_replay_is_a_parameter() -> None:
    assert set(DataFusion().chosen()["setting"]) == set(REPLAY)


def test_what_a_run_does_not_use_is_marked_with_the_reason() -> None:
    def shown(**given: object) -> dict[str, str]:
        return dict(DataFusion.parse(given).chosen().to_numpy())

    default = shown()
    assert default["power"] == "nlr-standin"
    assert default["fleet_blocks"] == "none"
    assert default["idle_kw_per_block"] == "not used: no fleet"
    assert default["reserve_share"] == "not used: no reserve"
    assert default["supply_cap_kw"] == "not used: a cap as a share"
    for name in ("block_kw", "template_peak_ratio", "template_high_share", "template_period_s"):
        assert default[name] == "not used: power is a log"
        assert shown(power="declared")[name] == f"{REPLAY[name].default:g}"
    other = shown(fleet_blocks=286, idle_kw_per_block=0.836, reserve_min=5, supply_cap_kw=900)
    assert other["idle_kw_per_block"] == "0.836"
    assert other["reserve_share"] == "1"
    assert (other["supply_cap_kw"], other["supply_cap_share"]) == ("900", "not used: a cap in kW")


@pytest.mark.parametrize("key", sorted(REPLAY))
def test_every_level_is_a_valid_setting(key: str) -> None:
    for level in REPLAY[key].levels:
        other = {"fleet_blocks": 286} if key == "idle_kw_per_block" else {}
        if (key, level) != ("supply_cap_kw", "none"):
            DataFusion.parse({key: str(level), **other})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"slack_min": "-1"}, "parameter 'slack_min', item 0: found '-1'"),
        ({"step_min": 7}, "step_min: found 7, expected minutes that divide a day"),
        ({"compare_step_min": "7"}, "parameter 'compare_step_min'.*divide a day"),
        ({"compare_step_min": "5,5"}, "found a length twice"),
        ({"step_min": 0.0125}, "found 0.0125, expected whole seconds"),
        ({"days": 0}, "parameter 'days': found 0"),
        ({"days": 0.001}, "days: found 0.001, expected a whole number of slots"),
        ({"start": "soon"}, "start: found 'soon'"),
        ({"detail_date": "2023-05-03 04:00"}, "expected a date without a time"),
        ({"supply_cap_share": "0"}, "parameter 'supply_cap_share', item 0"),
        ({"supply_cap_kw": "0"}, "parameter 'supply_cap_kw', item 0"),
        ({"supply_cap_share": "", "supply_cap_kw": ""}, "found no supply cap"),
        ({"idle_kw_per_block": 0.836}, "idle_kw_per_block: found 0.836 kW without fleet_blocks"),
        (
            {"power": "declared", "fleet_blocks": 9, "idle_kw_per_block": 6},
            "expected less than the 5.27 kW of a running block",
        ),
        ({"supply_cap_kw": "900", "supply_cap_share": "0.9"}, "expected one of them"),
        ({"slack_min": ""}, "parameter 'slack_min': found no value, expected at least 1"),
        ({"site_overhead": 0.9}, "parameter 'site_overhead': found 0.9"),
        ({"template_peak_ratio": 1.6}, "above which the lower level is negative"),
        ({"template_period_s": 2.5}, "expected whole seconds"),
        ({"jobs": "some"}, "parameter 'jobs': found 'some'"),
        ({"block_mapping": "round"}, "parameter 'block_mapping': found 'round'"),
        ({"trace": "nope.csv"}, "nope.csv"),
    ],
)
def test_a_bad_setting_is_one_line_before_anything_is_computed(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        DataFusion.parse(given)
    assert "\n" not in str(caught.value)


def test_absolute_caps_take_the_place_of_shares() -> None:
    assert [cap.relative_to for cap in DataFusion().caps()] == ["peak"]
    caps = DataFusion.parse({"supply_cap_kw": "900,1200"}).caps()
    assert [(cap.value, cap.relative_to) for cap in caps] == [(900, "kw"), (1200, "kw")]


def test_the_busiest_day_has_the_highest_slot() -> None:
    settings = DataFusion.parse({"start": "2023-03-02", "days": 2})
    source = jobs((3600, 3600, 8), (86_400 + 3600, 3600, 16))
    load = replay(
        source, settings.window(15), settings.mapping(), BlockPower.of_kw(5), settings.fleet()
    )
    site = site_load(load, settings.overhead())
    assert settings.detail_date == BUSIEST
    assert str(settings.detail_window(site).start.date()) == "2023-03-03"
    named = DataFusion.parse({"detail_date": "2023-03-02"}).detail_window(site)
    assert (str(named.start.date()), named.step_s, named.slots) == ("2023-03-02", 1, 86_400)


def test_the_template_is_the_audited_run_or_declared() -> None:
    measured = DataFusion().template()
    declared = DataFusion.parse({"power": "declared"}).template()
    assert measured.evidence is not None
    assert "nlr-standin" in measured.evidence.inputs
    assert measured.kw.size > declared.kw.size
    assert declared.mean_w == pytest.approx(1000 * DataFusion().block_kw)
    with pytest.raises(InputError, match="nowhere"):
        DataFusion.parse({"power": "nowhere"})
