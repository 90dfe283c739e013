"""The second-by-second load agrees with exact slot averages and with a brute-force sum."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.constructed.limits import BlockMapping, Fleet, SiteOverhead, block_power
from aidc.constructed.replay import ComponentLoad, replay, site_load
from aidc.constructed.template import PowerTemplate, SecondLoad, power_template, second_load
from aidc.constructed.window import ReplayWindow
from aidc.evidence import Carrier, Evidence, EvidenceError, InputError, Layer, Provenance

KNOWN = Evidence(Layer.OBSERVED, Provenance.VERIFIED, frozenset({"acme-seren"}))
MEASURED = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"nlr-standin"}))
SECOND = 1 / 60
ONE = SiteOverhead.of_factor(1.0)


@dataclass(frozen=True, kw_only=True)
class Jobs(Carrier):
    jobs: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Series(Carrier):
    times_s: np.ndarray
    watts: np.ndarray


def jobs(*rows: tuple[float, float, int]) -> Jobs:
    """Rows of (submit, s since the start of the day; duration, s; GPUs)."""
    since, duration, gpus = zip(*rows, strict=True)
    frame = pd.DataFrame(
        {
            "submit_time": pd.Timestamp("2023-03-02") + pd.to_timedelta(since, unit="s"),
            "duration_s": np.array(duration, dtype=float),
            "gpu_num": gpus,
        }
    )
    return Jobs(jobs=frame, evidence=KNOWN)


def at_seconds(
    source: Jobs, template: PowerTemplate, fleet: Fleet | None = None
) -> tuple[ComponentLoad, SecondLoad]:
    window = ReplayWindow.of("2023-03-02", 1, SECOND)
    load = replay(
        source, window, BlockMapping.of(8), block_power(template), fleet or Fleet.of_blocks(None)
    )
    return load, second_load(source, load, template, ONE)


STEPS = PowerTemplate.of_two_levels(2.0, 1.5, 0.5, 4)


def test_a_declared_template_keeps_its_mean() -> None:
    assert STEPS.kw.tolist() == [3.0, 3.0, 1.0, 1.0]
    flat = PowerTemplate.of_two_levels(5.27, 1.0, 0.6667, 120)
    assert flat.kw == pytest.approx(np.full(120, 5.27))
    assert STEPS.mean_w == pytest.approx(2000)
    assert STEPS.evidence is not None
    assert "setting:template_period_s" in STEPS.evidence.inputs


def test_a_job_repeats_the_template_from_its_own_start() -> None:
    _, day = at_seconds(jobs((10, 6, 8), (86_398, 60, 16)), STEPS)
    assert day.kw[8:18].tolist() == pytest.approx([0, 0, 3, 3, 1, 1, 3, 3, 0, 0])
    assert day.flat_kw[8:18].tolist() == pytest.approx([0, 0, 2, 2, 2, 2, 2, 2, 0, 0])
    assert day.kw[-3:].tolist() == pytest.approx([0, 6, 6])


def test_a_job_that_ran_in_is_in_the_middle_of_its_template() -> None:
    _, day = at_seconds(jobs((-3, 6, 8), (50, 1, 8)), STEPS)
    assert day.kw[:5].tolist() == pytest.approx([1, 3, 3, 0, 0])


def test_a_part_of_a_second_counts_as_a_part() -> None:
    _, day = at_seconds(jobs((0.25, 0.5, 8), (10.5, 2.0, 8)), STEPS)
    assert day.kw[0] == pytest.approx(1.5)
    assert day.kw[10:13].tolist() == pytest.approx([1.5, 3, 0.5])


def test_idle_blocks_are_replaced_and_the_overhead_scales_all() -> None:
    source = jobs((10, 6, 8))
    load, plain = at_seconds(source, STEPS, Fleet.of_blocks(4, 0.5))
    assert plain.kw[9:13].tolist() == pytest.approx([2.0, 4.5, 4.5, 2.5])
    scaled = second_load(source, load, STEPS, SiteOverhead.of_factor(1.5))
    assert scaled.kw == pytest.approx(1.5 * plain.kw)
    assert scaled.evidence is not None
    assert {"setting:site_overhead", "setting:block_kw"} <= scaled.evidence.inputs


many = st.lists(
    st.tuples(st.integers(-500, 86_399), st.integers(1, 3000), st.integers(1, 64)),
    min_size=1,
    max_size=6,
).filter(lambda rows: any(since + duration > 0 for since, duration, _ in rows))


@given(rows=many, period=st.integers(2, 50))
def test_it_is_the_sum_of_the_jobs_and_its_flat_part_has_the_exact_averages(
    rows: list[tuple[int, int, int]], period: int
) -> None:
    source = jobs(*rows, (0, 1, 1))
    template = PowerTemplate.of_two_levels(2.0, 1.2, 0.5, period)
    _, day = at_seconds(source, template)
    expected = np.zeros(86_400)
    for since, duration, gpus in (*rows, (0, 1, 1)):
        for second in range(max(since, 0), min(since + duration, 86_400)):
            expected[second] += gpus / 8 * template.kw[(second - since) % period]
    assert day.kw == pytest.approx(expected, abs=1e-9)
    quarter = ReplayWindow.of("2023-03-02", 1, 15)
    none = Fleet.of_blocks(None)
    coarse = replay(source, quarter, BlockMapping.of(8), block_power(template), none)
    exact = site_load(coarse, ONE).load_kw
    assert day.averages(900, flat=True) == pytest.approx(exact, abs=1e-9)


def test_averaging_keeps_energy_and_hides_peaks() -> None:
    _, day = at_seconds(jobs((10, 600, 8), (300, 5000, 24)), STEPS)
    for step_s in (1, 60, 900, 3600):
        assert day.averages(step_s).mean() == pytest.approx(day.kw.mean())
    tops = [day.averages(step_s).max() for step_s in (1, 60, 900, 3600)]
    assert tops == sorted(tops, reverse=True)
    assert day.hidden_share(3600) == pytest.approx(1 - tops[-1] / tops[0])
    time_share, energy_kwh = day.above(5.0, 1)
    over = day.kw[day.kw > 5.0]
    assert time_share == pytest.approx(over.size / 86_400)
    assert energy_kwh == pytest.approx((over - 5.0).sum() / 3600)


def test_a_share_that_is_round_off_is_nought() -> None:
    # One job all day at a power that no binary number holds: every mean is the same.
    flat = PowerTemplate.of_two_levels(0.1, 1.0, 0.5, 7)
    _, day = at_seconds(jobs((0, 86_400, 3)), flat)
    shares = [day.hidden_share(step_s) for step_s in (1, 60, 900, 3600, 86_400)]
    assert shares == [0, 0, 0, 0, 0]


def test_a_measured_series_becomes_a_template_of_its_seconds() -> None:
    series = Series(
        times_s=np.array([0.0, 0.5, 1.0, 3.0, 3.4]),
        watts=np.array([0.0, 1000.0, 0.0, 2000.0, 9000.0]),
        evidence=MEASURED,
    )
    template = power_template(series)
    assert template.kw == pytest.approx([0.5, 0.5, 1.5])
    assert template.evidence is not None
    assert template.evidence.inputs == {"nlr-standin"}
    assert template.evidence.layer is Layer.CONSTRUCTED


def test_misuse_and_impossible_templates_are_one_line() -> None:
    source = jobs((10, 6, 8))
    load, _ = at_seconds(source, STEPS)
    with pytest.raises(EvidenceError, match="overhead is applied once"):
        second_load(source, site_load(load, ONE), STEPS, ONE)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="found a mean of 3 kW, expected the 2 kW"):
        second_load(source, load, PowerTemplate.of_two_levels(3.0, 1.0, 0.5, 4), ONE)
    hour = ReplayWindow.of("2023-03-02", 1, 60)
    slow = replay(source, hour, BlockMapping.of(8), block_power(STEPS), Fleet.of_blocks(None))
    with pytest.raises(InputError, match="found 3600 s, expected a replay with 1 s"):
        second_load(source, slow, STEPS, ONE)
    with pytest.raises(InputError, match="expected at most 2, above which the lower level"):
        PowerTemplate.of_two_levels(2.0, 2.1, 0.5, 4)
    short = Series(times_s=np.array([0.0, 1.5]), watts=np.ones(2), evidence=MEASURED)
    with pytest.raises(InputError, match="a series of 1 s, expected at least 2 s"):
        power_template(short)
    bare = Series(times_s=np.arange(5.0), watts=np.ones(5))
    with pytest.raises(EvidenceError, match="built by hand"):
        power_template(bare)
