import numpy as np
import pandas as pd
import pytest

from aidc.constructed.limits import BlockMapping, BlockPower, Fleet, SiteOverhead, SupplyCap
from aidc.constructed.replay import StartedJobs, above_cap, replay, site_load
from aidc.constructed.slack import Slack
from aidc.constructed.summary import (
    carried_in,
    compare_fleets,
    compare_mappings,
    compare_steps,
    gpu_time,
    may_run,
    replay_jobs,
    supply_caps,
)
from aidc.constructed.window import ReplayWindow
from aidc.evidence import EvidenceError, InputError, Layer, Setting
from aidc.observed.funnel import select_pool
from tests.constructed.test_template import KNOWN, Jobs, jobs
from tests.observed.factories import make_trace, seren_jobs

HOUR = 3600
POWER, NO_FLEET, TWICE = BlockPower.of_kw(4.0), Fleet.of_blocks(None), SiteOverhead.of_factor(2.0)
SOURCE = jobs((-HOUR, 2 * HOUR, 8), (HOUR / 2, HOUR / 2, 8), (20 * HOUR, 2 * HOUR, 1))


def loaded(source: Jobs = SOURCE, step_min: float = 60, rule: str = "linear", fleet=NO_FLEET):
    window = ReplayWindow.of("2023-03-02", 1, step_min)
    return replay(source, window, BlockMapping.of(8, rule), POWER, fleet)


def test_the_pool_holds_a_share_of_the_gpu_time() -> None:
    frame = seren_jobs([10.0, 30.0], gpu_num=np.array([1, 3]), state=["COMPLETED", "FAILED"])
    pool = select_pool(make_trace(frame))
    started = StartedJobs(jobs=frame, evidence=KNOWN)
    shares = gpu_time(pool, started)
    assert shares.pool_share == pytest.approx(10 / 100)
    assert shares.started_jobs == 2
    assert shares.frame["count"].tolist() == [1, 2]


def test_which_jobs_run_is_a_setting_of_the_replay() -> None:
    chosen = replay_jobs(SOURCE, Setting.of("jobs", "pool"))
    assert chosen.evidence is not None
    assert chosen.evidence.layer is Layer.CONSTRUCTED
    assert chosen.evidence.inputs == {"acme-seren", "setting:jobs"}
    with pytest.raises(InputError, match="found the setting 'days', expected 'jobs'"):
        replay_jobs(SOURCE, Setting.of("days", 7))


def test_block_time_of_jobs_from_before_the_window() -> None:
    held = carried_in(SOURCE, loaded())
    assert held.block_time_share == pytest.approx(1 / (1 + 0.5 + 0.25))


def test_a_fleet_adds_idle_power_and_may_be_too_small() -> None:
    fleet = Fleet.of_blocks(1, 1.0)
    loads = [loaded(), loaded(fleet=fleet), loaded(fleet=fleet)]
    frame = compare_fleets(loads, TWICE).frame
    assert frame["fleet_blocks"].tolist() == ["none", "1"]
    assert frame["idle_kw_per_block"].tolist() == [0, 1]
    # 1.5 blocks in the first hour, an eighth in two others: the rest of one block is idle.
    idle = 21 * 1.0 + 2 * 0.875
    assert frame["mean_kw"].tolist() == pytest.approx([2 * 7 / 24, 2 * (7 + idle) / 24])
    assert frame["highest_kw"].tolist() == pytest.approx([12, 12])
    assert frame["idle_energy_share"].tolist() == pytest.approx([0, idle / (idle + 7)])
    assert frame["over_fleet_time_share"].tolist() == pytest.approx([0, 1 / 24])


def test_nothing_is_above_a_cap_by_round_off_alone() -> None:
    # A tenth of a block for a third of each slot: sums that no binary number holds.
    source = jobs(*((20 * n, 20 * n + 1000 / 3, 1) for n in range(30)))
    coarse, fine = (site_load(loaded(source, step), SiteOverhead.of_factor(1.1)) for step in (5, 1))
    top = float(fine.load_kw.max())
    assert above_cap(fine.load_kw, top * (1 - 1e-15), 60) == (0, 0)
    frame = compare_steps([coarse, fine], supply_caps(fine, [SupplyCap.of_share(1.0)])).frame
    assert frame[["time_above_cap", "above_cap_kwh"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert above_cap(np.array([2.0, 4.0]), 3.0, 3600) == (0.5, 1.0)


def test_whole_blocks_against_linear() -> None:
    mappings = compare_mappings([loaded(), loaded(rule="whole")])
    assert mappings.ratio == pytest.approx((1 + 0.5 + 2) / (1 + 0.5 + 0.25))
    with pytest.raises(InputError, match="found 1 loads"):
        compare_mappings([loaded()])


def test_slack_lets_more_blocks_run_at_once_and_later() -> None:
    frame = may_run(loaded(), [Slack.of_minutes(m) for m in (0, 60, 180)]).frame
    assert frame["most_blocks"].tolist() == pytest.approx([1.5, 2.0, 2.0])
    assert frame["deadlines_after_window"].tolist() == [0, 0, 1]
    assert frame["mean_blocks"].iloc[0] == pytest.approx(1.75 / 24)


def test_steps_keep_energy_and_hide_what_is_above_the_cap() -> None:
    sites = [site_load(loaded(step_min=step), TWICE) for step in (30, 60)]
    caps = supply_caps(sites[1], [SupplyCap.of_kw(12.0), SupplyCap.of_share(0.5)])
    assert caps.kw == pytest.approx((12.0, 6.0))
    frame = compare_steps(sites, caps).frame
    assert frame["energy_mwh"].to_numpy() == pytest.approx(np.full(4, 8 * 1.75 / 1000))
    assert frame["highest_kw"].tolist() == [16, 16, 12, 12]
    assert frame["above_cap_kwh"].tolist() == pytest.approx([2.0, 6.0, 0.0, 6.0])
    assert frame["time_above_cap"].iloc[0] == pytest.approx(0.5 / 24)


def test_a_cap_on_component_power_is_refused() -> None:
    with pytest.raises(EvidenceError, match="a supply cap is at the site"):
        supply_caps(loaded(), [SupplyCap.of_kw(3.0)])
    caps = supply_caps(site_load(loaded(), TWICE), [SupplyCap.of_kw(3.0)])
    with pytest.raises(EvidenceError, match="a supply cap is at the site"):
        compare_steps([loaded()], caps)


def test_the_frames_hold_no_missing_value() -> None:
    table: pd.DataFrame = may_run(loaded(), [Slack.of_minutes(0)]).frame
    assert not table.isna().any().any()
