"""Every setting of the replay is registered, and a bad one ends in one line."""

import pytest

from aidc.constructed.limits import BlockPower
from aidc.constructed.replay import replay, site_load
from aidc.evidence import InputError
from aidc.evidence.scans import load_scans
from aidc.settings.data_fusion import BUSIEST, DataFusion
from tests.constructed.test_template import jobs

REPLAY = {key: scan for key, scan in load_scans().items() if scan.group == "replay"}


def test_every_setting_is_registered_with_the_same_default() -> None:
    defaults = DataFusion()
    assert set(defaults.chosen()["setting"]) == set(REPLAY)
    for key, scan in REPLAY.items():
        value = getattr(defaults, key)
        if not isinstance(value, tuple):
            assert value == scan.default, key
        elif len(value) > 1:
            assert value == scan.levels, key
        else:
            assert (*value, "none")[0] == scan.default, key
    assert defaults.compare_step_min == REPLAY["step_min"].levels


@pytest.mark.parametrize("key", sorted(REPLAY))
def test_every_level_is_a_valid_setting(key: str) -> None:
    for level in REPLAY[key].levels:
        other = {"idle_kw_per_block": 0} if (key, level) == ("fleet_blocks", 0) else {}
        if level != "none":
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
        ({"fleet_blocks": 0}, "idle_kw_per_block: found 0.836 kW without fleet_blocks"),
        ({"idle_kw_per_block": 6}, "expected less than the 5.27 kW of a running block"),
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
    settings = DataFusion.parse(
        {"start": "2023-03-02", "days": 2, "fleet_blocks": 0, "idle_kw_per_block": 0}
    )
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
