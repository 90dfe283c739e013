from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from aidc.constructed.limits import (
    BlockMapping,
    BlockPower,
    Fleet,
    SiteOverhead,
    SupplyCap,
    block_power,
)
from aidc.constructed.replay import cap_kw, replay, site_load, started_jobs
from aidc.constructed.window import ReplayWindow
from aidc.evidence import Carrier, Evidence, EvidenceError, InputError, Layer, Provenance

KNOWN = Evidence(Layer.OBSERVED, Provenance.VERIFIED, frozenset({"acme-seren"}))
MEASURED = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"nlr-standin"}))


@dataclass(frozen=True, kw_only=True)
class Jobs(Carrier):
    jobs: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Profile(Carrier):
    mean_w: float


def jobs(*rows, zone="+08:00"):
    """Rows of (submit, duration s, GPUs)."""
    submit, duration, gpus = zip(*rows, strict=True)
    frame = pd.DataFrame(
        {
            "submit_time": pd.to_datetime([f"{moment}{zone}" for moment in submit]),
            "duration_s": np.array(duration, dtype=float),
            "gpu_num": gpus,
        }
    )
    return Jobs(jobs=frame, evidence=KNOWN)


DAY = jobs(
    ("2023-03-01 23:00:00", 7200, 8),
    ("2023-03-02 00:30:00", 1800, 4),
    ("2023-03-02 23:30:00", 7200, 1),
    ("2023-03-03 12:00:00", 60, 1),
)
WINDOW = ReplayWindow.of("2023-03-02", 1, 60)
LINEAR, POWER, NO_FLEET = BlockMapping.of(8), BlockPower.of_kw(5.0), Fleet.of_blocks(None)


def test_carry_in_and_jobs_past_the_end_are_cut_at_the_window():
    load = replay(DAY, WINDOW, LINEAR, POWER, NO_FLEET)
    assert load.carried_in == 1
    expected = np.zeros(24)
    expected[0] = 1 + 0.5 * 0.5
    expected[23] = 0.5 / 8
    assert load.running_blocks == pytest.approx(expected)
    assert load.load_kw == pytest.approx(5 * expected)
    assert load.energy_kwh == pytest.approx(5 * expected.sum())
    assert load.jobs.processing_s.tolist() == [3600, 1800, 1800]


def test_local_time_of_the_source_counts():
    assert (
        replay(jobs(("2023-03-02 00:00:00", 60, 1)), WINDOW, LINEAR, POWER, NO_FLEET).carried_in
        == 0
    )


def test_whole_blocks_round_up():
    whole = replay(DAY, WINDOW, BlockMapping.of(8, "whole"), POWER, NO_FLEET)
    assert whole.running_blocks[0] == pytest.approx(1.5)
    assert whole.running_blocks[23] == pytest.approx(0.5)


def test_the_idle_fleet_draws_power_and_a_running_block_replaces_it():
    load = replay(DAY, WINDOW, LINEAR, POWER, Fleet.of_blocks(4, 0.8))
    assert load.load_kw[10] == pytest.approx(4 * 0.8)
    assert load.load_kw[0] == pytest.approx(1.25 * 5 + 2.75 * 0.8)


def test_more_blocks_than_the_fleet_count_at_full_power():
    load = replay(DAY, WINDOW, LINEAR, POWER, Fleet.of_blocks(1, 0.8))
    assert load.load_kw[0] == pytest.approx(1.25 * 5)


def test_evidence_names_every_setting_and_the_weakest_source():
    power = block_power(Profile(mean_w=5270.0, evidence=MEASURED))
    load = site_load(replay(DAY, WINDOW, LINEAR, power, NO_FLEET), SiteOverhead.of_factor(1.3))
    assert power.kw == pytest.approx(5.27)
    assert load.evidence.layer is Layer.CONSTRUCTED
    assert load.evidence.provenance is Provenance.SYNTHETIC
    settings = (
        "start days step_min gpus_per_block block_mapping fleet_blocks idle_kw_per_block "
        "site_overhead"
    )
    expected = {f"setting:{name}" for name in settings.split()} | {"acme-seren", "nlr-standin"}
    assert load.evidence.inputs == expected


def test_overhead_scales_the_load_and_is_needed_for_a_cap():
    component = replay(DAY, WINDOW, LINEAR, POWER, NO_FLEET)
    site = site_load(component, SiteOverhead.of_factor(1.2))
    assert site.load_kw == pytest.approx(1.2 * component.load_kw)
    assert cap_kw(SupplyCap.of_kw(3), site) == 3
    assert cap_kw(SupplyCap.of_share(0.5, "peak"), site) == pytest.approx(0.5 * site.load_kw.max())
    assert cap_kw(SupplyCap.of_share(2, "mean"), site) == pytest.approx(2 * site.load_kw.mean())
    with pytest.raises(EvidenceError, match="got a ComponentLoad; allowed is site_load"):
        cap_kw(SupplyCap.of_kw(3), component)
    with pytest.raises(EvidenceError, match="applied once"):
        site_load(site, SiteOverhead.of_factor(1.2))
    with pytest.raises(EvidenceError, match="declared overhead"):
        site_load(component, 1.2)
    with pytest.raises(EvidenceError, match="cap is declared"):
        cap_kw(3.0, site)


def test_all_started_jobs_include_those_that_did_not_complete():
    frame = pd.DataFrame(
        {
            "submit_time": pd.to_datetime(["2023-03-01"] * 4),
            "start_time": pd.to_datetime(["2023-03-01", None, "2023-03-01", "2023-03-01"]),
            "duration_s": [60.0, 60.0, 0.0, 60.0],
            "gpu_num": [1, 1, 1, 0],
            "state": ["FAILED", "CANCELLED", "COMPLETED", "COMPLETED"],
        }
    )
    started = started_jobs(Jobs(jobs=frame, evidence=KNOWN))
    assert started.jobs["state"].tolist() == ["FAILED"]
    assert started.evidence == KNOWN


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ReplayWindow.of("2023-03-02", 1, 7), "step_min: found 7, expected minutes that"),
        (lambda: ReplayWindow.of("2023-03-02", 1, 0), "step_min: found 0"),
        (lambda: ReplayWindow.of("2023-03-02", 0, 15), "days: found 0"),
        (lambda: ReplayWindow.of("2023-03-02", 0.01, 15), "days: found 0.01, expected a whole"),
        (lambda: ReplayWindow.of("yesterday-ish", 1, 15), "start: found 'yesterday-ish'"),
        (lambda: ReplayWindow.of(None, 1, 15), "start: found nothing"),
        (lambda: SupplyCap.of_kw(0), "supply_cap_kw: found 0"),
        (lambda: SupplyCap.of_share(-1), "supply_cap_share: found -1"),
        (lambda: SupplyCap.of_share(1, "median"), "expected 'kw', 'mean' or 'peak'"),
        (lambda: SiteOverhead.of_factor(0.9), "site_overhead: found 0.9"),
        (
            lambda: Fleet.of_blocks(None, 0.8),
            "idle_kw_per_block: found 0.8 kW without fleet_blocks",
        ),
        (lambda: Fleet.of_blocks(0), "fleet_blocks: found 0"),
        (lambda: BlockMapping.of(0), "gpus_per_block: found 0"),
        (lambda: BlockMapping.of(2.5), "gpus_per_block: found 2.5"),
        (lambda: BlockMapping.of(8, "round"), "block_mapping: found 'round'"),
        (lambda: BlockPower.of_kw(0), "power per block: found 0"),
        (
            lambda: replay(DAY, ReplayWindow.of("2023-03-03", 2, 60), LINEAR, POWER, NO_FLEET),
            "is outside the trace, which has submits from 2023-03-01 to 2023-03-03",
        ),
        (
            lambda: replay(
                DAY, ReplayWindow.of("2023-03-03 06:00", 0.125, 60), LINEAR, POWER, NO_FLEET
            ),
            "found no GPU job that runs in it",
        ),
        (
            lambda: replay(DAY, WINDOW, LINEAR, POWER, Fleet.of_blocks(4, 5.0)),
            "expected less than the 5 kW of a running block",
        ),
    ],
)
def test_bad_settings_are_one_clear_line(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_results_are_no_settings():
    with pytest.raises(EvidenceError, match="a setting is chosen"):
        SiteOverhead.of_factor(SiteOverhead.of_factor(1.2))
    with pytest.raises(EvidenceError, match="no evidence was passed"):
        block_power(type("Bare", (), {"mean_w": 1.0})())
