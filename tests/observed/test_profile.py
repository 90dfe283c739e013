"""Statistics of a curve, against curves whose figures are known by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.observed.aggregate import TotalPower, total_power
from aidc.observed.intervals import IntervalSettings
from aidc.observed.power import Boundary, PowerKind, PowerOptions
from aidc.observed.power_clean import clean
from aidc.observed.power_mean import mean_interval
from aidc.observed.power_read import read_power
from aidc.observed.power_response import Response, response_test
from aidc.observed.profile import (
    block_demand,
    load_duration,
    power_summary,
    ramps,
)
from aidc.observed.spectrum import spectrum

MEASURED = Evidence(Layer.OBSERVED, Provenance.UNVERIFIED, frozenset({"test"}))


def curve(
    times_s: npt.ArrayLike,
    watts: npt.ArrayLike,
    gap: npt.ArrayLike | None = None,
    kind: PowerKind = PowerKind.UNKNOWN,
) -> TotalPower:
    times, power = np.asarray(times_s, float), np.asarray(watts, float)
    return TotalPower(
        times_s=times,
        watts=power,
        parts={"gpu": 0.75 * power, "cpu": 0.25 * power},
        gap=np.zeros(times.size - 1, bool) if gap is None else np.asarray(gap, bool),
        start=None,
        interval_s=float(np.median(np.diff(times))),
        max_gap_s=5.0,
        boundary=Boundary.COMPONENT,
        power_kind=kind,
        aggregation="aidc",
        devices={"gpu": 1, "cpu": 1},
        nodes=1,
        left_out=(),
        trimmed_s=(0.0, 0.0),
        missing_share=0.0,
        refused=(),
        evidence=MEASURED,
    )


def test_summary_by_hand() -> None:
    # 0-10 s: 100 W; up to 300 W within 20 s (a gap); 300 W for 10 s.
    found = power_summary(curve([0, 10, 30, 40], [100, 100, 300, 300], [False, True, False]))
    assert found.mean_w == pytest.approx((1000 + 4000 + 3000) / 40)
    assert found.mean_w_without_gaps == pytest.approx(4000 / 20)
    assert found.mean_w_arithmetic == pytest.approx(200)
    assert found.energy_wh == pytest.approx(8000 / 3600)
    assert found.load_factor == pytest.approx(200 / 300)
    assert (found.gaps, found.gap_s, found.duration_s) == (1, 20.0, 40.0)
    assert found.shares == pytest.approx({"gpu": 0.75, "cpu": 0.25})
    assert found.idle_threshold_w == pytest.approx(110)
    assert found.idle_share == pytest.approx(0.5)
    assert found.evidence == MEASURED


def test_neighbouring_gap_intervals_are_one_gap() -> None:
    gap = [True, True, False, True, False, False, True]
    assert power_summary(curve(range(8), np.ones(8), gap)).gaps == 3


@given(
    st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 1e4)), min_size=3, max_size=40),
    st.floats(0.1, 10),
)
def test_energy_scales_and_the_mean_lies_between_extremes(
    samples: list[tuple[float, float]], scale: float
) -> None:
    times = np.cumsum([step for step, _ in samples])
    watts = np.array([power for _, power in samples])
    one, other = power_summary(curve(times, watts)), power_summary(curve(times, scale * watts))
    assert other.energy_wh == pytest.approx(scale * one.energy_wh)
    assert one.min_w - 1e-9 <= one.mean_w <= one.max_w + 1e-9
    assert one.mean_w == pytest.approx(one.energy_wh * 3600 / one.duration_s)


def test_load_duration_is_weighted_by_time() -> None:
    frame = load_duration(curve([0, 1, 1.001, 10], [500, 500, 100, 100]), points=101).frame
    assert frame["power_w"].is_monotonic_decreasing
    assert frame.loc[frame["power_w"] > 400, "share"].max() == pytest.approx(0.1, abs=0.011)


def test_block_demand_counts_full_blocks_only() -> None:
    times = np.arange(0, 16.5 * 60 + 1)
    watts = np.where((times >= 300) & (times < 600), 2000.0, 1000.0)
    frame = block_demand(curve(times, watts)).frame.set_index(["block_min", "step_min"])
    assert frame["blocks"].tolist() == [16, 3, 1, 1]
    assert frame.loc[(5, 5), "max_w"] == pytest.approx(2000, rel=2e-3)
    assert frame.loc[(15, 15), "max_w"] == pytest.approx(4000 / 3, rel=1e-3)
    assert frame.loc[(15, 5), "left_out_s"] == pytest.approx(90)
    assert frame.loc[(5, 5), "load_factor"] == pytest.approx((4000 / 3) / 2000, rel=2e-3)


def test_rolling_demand_steps_by_five_minutes() -> None:
    times = np.arange(0, 3601.0, 2.0)
    frame = block_demand(curve(times, times)).frame.set_index(["block_min", "step_min"])
    assert frame.loc[(15, 5), "blocks"] == 10
    assert frame.loc[(15, 15), "blocks"] == 4
    # Power equals time, so a block's mean is its middle.
    assert frame.loc[(15, 5), "min_w"] == pytest.approx(450)
    assert frame.loc[(15, 5), "max_w"] == pytest.approx(3600 - 450)


def test_a_run_shorter_than_a_block_has_no_demand() -> None:
    frame = block_demand(curve([0, 30], [1, 1])).frame
    assert frame["blocks"].tolist() == [0, 0, 0, 0]
    assert frame["max_w"].isna().all()
    assert frame["left_out_s"].tolist() == [30] * 4


def test_ramps_of_a_straight_line() -> None:
    times = np.arange(0, 100, 0.2)
    frame = ramps(curve(times, 7 * times), (0.2, 1, 5, 10, 60)).frame
    for name in ("p50_w_per_s", "p95_w_per_s", "max_w_per_s", "up_max_w_per_s"):
        assert frame[name].tolist() == pytest.approx([7] * 5)
    assert frame["down_max_w_per_s"].tolist() == pytest.approx([-7] * 5)
    assert frame["sensor_limited"].tolist() == [True, True, False, False, False]
    instant = ramps(curve(times, times, kind=PowerKind.INSTANT)).frame
    assert not instant["sensor_limited"].any()


def test_ramps_do_not_cross_gaps() -> None:
    times = np.arange(0, 10.0)
    watts = np.where(times < 5, 0.0, 1000.0)
    frame = ramps(curve(times, watts, times[:-1] == 4), (1,)).frame
    assert frame["max_w_per_s"].item() == 0
    assert frame["samples"].item() == 8


@pytest.mark.parametrize("period", [2.0, 10.5, 40.0])
def test_the_dominant_period_of_a_wave(period: float) -> None:
    times = np.arange(0, 3000, 0.2)
    drift = 500 * times / 3000
    found = spectrum(curve(times, 5000 + drift + 300 * np.sin(2 * np.pi * times / period)))
    assert found.dominant_period_s == pytest.approx(period, rel=0.03)
    assert found.sensor_limit_hz == pytest.approx(0.443)
    assert found.nyquist_hz == pytest.approx(2.5)


def test_short_pauses_have_the_period_of_their_cycle_and_not_of_a_harmonic() -> None:
    times = np.arange(0, 3000, 0.2)
    watts = np.where(times % 12.4 < 1.4, 2000.0, 5900.0)
    assert spectrum(curve(times, watts)).dominant_period_s == pytest.approx(12.4, rel=0.02)


def test_white_noise_has_its_variance_as_the_area_of_the_spectrum() -> None:
    noise = np.random.default_rng(1).normal(0, 20, 50_000)
    frame = spectrum(curve(0.2 * np.arange(noise.size), 1000 + noise)).frame
    area = float(np.trapezoid(frame["density_w2_per_hz"], frame["frequency_hz"]))
    assert area == pytest.approx(400, rel=0.05)


def test_a_constant_curve_has_no_period() -> None:
    assert np.isnan(spectrum(curve(np.arange(100.0), np.ones(100))).dominant_period_s)
    assert np.isnan(spectrum(curve([0, 1, 2], [1, 2, 1])).dominant_period_s)


def test_the_interval_of_the_mean_widens_with_memory() -> None:
    random = np.random.default_rng(3)
    white = random.normal(0, 100, 4000)
    remembering = np.empty_like(white)
    remembering[0] = white[0]
    for i in range(1, white.size):
        remembering[i] = 0.95 * remembering[i - 1] + np.sqrt(1 - 0.95**2) * white[i]
    widths = []
    for values in (white, remembering):
        found = mean_interval(curve(np.arange(4000.0), 5000 + values))
        assert found.low_w < found.mean_w < found.high_w
        widths.append(found.high_w - found.low_w)
    assert widths[0] == pytest.approx(2 * 1.96 * 100 / np.sqrt(4000), rel=0.4)
    # An autoregression of 0.95 has a standard error sqrt(39) times that of white noise.
    assert widths[1] / widths[0] > 3


def test_the_interval_is_the_same_for_the_same_seed_only() -> None:
    total = curve(np.arange(500.0), np.random.default_rng(0).normal(1000, 50, 500))
    one, two = mean_interval(total), mean_interval(total)
    assert one == two
    assert mean_interval(total, IntervalSettings(seed=1)).low_w != one.low_w
    assert np.isnan(mean_interval(total, IntervalSettings(resamples=0)).low_w)


def test_a_refused_curve_states_nothing() -> None:
    refused = dataclasses.replace(curve([0, 1], [1, 1]), refused=("gpu-0 has no readable value",))
    for function in (power_summary, load_duration, block_demand, ramps, spectrum, mean_interval):
        with pytest.raises(InputError, match="gpu-0 has no readable value"):
            function(refused)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: ramps(t, (0,)), "ramp_windows_s"),
        (lambda t: ramps(t, ()), "ramp_windows_s"),
        (lambda t: block_demand(t, (-1,)), "demand_min"),
    ],
)
def test_settings_that_make_no_sense_are_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(curve([0, 1], [1, 1]))  # type: ignore[operator]


def test_a_mean_over_a_second_is_told_from_an_instant_reading() -> None:
    step = np.concatenate([np.full(100, 75.0), np.full(100, 670.0)])
    averaged = np.convolve(np.pad(step, 9, mode="edge"), np.ones(10) / 10, "same")[9:-9]
    assert response_test(averaged, 0.1).verdict is Response.LIKE_MEAN
    assert response_test(step, 0.1).verdict is Response.FASTER
    assert response_test(np.linspace(75, 670, 200), 0.1).verdict is Response.UNDECIDED
    assert response_test(step, 2.0).verdict is Response.UNDECIDED
    assert response_test(np.full(9, np.nan), 0.1).verdict is Response.UNDECIDED


@settings(max_examples=20, deadline=None)
@given(st.integers(5, 60), st.floats(0.5, 0.999))
def test_a_true_mean_over_a_second_is_never_called_faster(length: int, share: float) -> None:
    random = np.random.default_rng(length)
    true = np.where(random.random(40 * length) < share, 90.0, 690.0)
    averaged = np.convolve(true, np.ones(10) / 10, "valid")
    assert response_test(averaged, 0.1).verdict is not Response.FASTER or np.ptp(averaged) < 450


@pytest.mark.real_data
def test_real_nlr_profile(real_data: Path) -> None:
    path = real_data / "power" / "nlr_llama2lora_16node_gpu" / "pscad_load_profile.csv"
    told = PowerOptions(base_w=34127.56, per_unit_factor=20, time_unit="s")
    total = total_power([clean(read_power(path, told))])
    found = power_summary(total)
    assert found.min_w == pytest.approx(4705, abs=0.5)
    assert found.max_w == pytest.approx(44037, abs=0.5)
    assert spectrum(total).dominant_period_s == pytest.approx(10.5, abs=0.1)
    assert ramps(total).frame["sensor_limited"].tolist() == [True, False, False, False]
