import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.standin import draw
from aidc.standin.targets import GPU_TYPES, target


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30), st.integers(0, 5000))
def test_apportion_keeps_the_total_and_stays_within_one(weights: list[int], total: int) -> None:
    if sum(weights) == 0:
        weights[0] = 1
    parts = draw.apportion(weights, total)
    exact = np.array(weights) * (total / sum(weights))
    assert parts.sum() == total
    assert (parts >= 0).all()
    assert (np.abs(parts - exact) < 1 + 1e-6).all()


def test_apportion_of_counts_to_their_own_total_changes_nothing() -> None:
    counts = np.random.default_rng(0).integers(0, 10**6, 500)
    assert draw.apportion(counts, int(counts.sum())).tolist() == counts.tolist()


@given(st.integers(-1, 10**6), st.integers(1, 10**6), st.integers(0, 2**32))
def test_log_uniform_stays_in_its_cell(lower: int, width: int, seed: int) -> None:
    low, high = np.full(50, lower), np.full(50, lower + width)
    values = draw.log_uniform(low, high, np.random.default_rng(seed))
    assert values.min() > lower
    assert values.max() <= lower + width


def test_log_uniform_puts_equal_shares_into_octaves() -> None:
    size = 100_000
    values = draw.log_uniform(
        np.zeros(size, dtype=np.int64), np.full(size, 2**12 - 1), np.random.default_rng(1)
    )
    octave = np.bincount(np.log2(values).astype(int), minlength=12) / size
    assert octave == pytest.approx(1 / 12, abs=0.005)


@given(st.integers(0, 2000), st.integers(1, 2000))
def test_roundest_is_in_the_cell_and_no_rounder_number_is(lower: int, width: int) -> None:
    upper = lower + width
    value = draw.roundest(lower, upper)
    assert lower < value <= upper
    twos = value & -value
    assert all((other & -other) <= twos for other in range(lower + 1, upper + 1))


def test_gpu_counts_meet_the_gpu_hours_and_the_pools_share() -> None:
    rows = 50_000
    rng = np.random.default_rng(3)
    kind, completed, duration = draw.durations(rows, rng)
    gpus = draw.gpu_counts(kind, completed, duration, rng)
    on_gpus = kind < len(GPU_TYPES)
    assert (gpus[~on_gpus] == 0).all()
    assert (gpus[on_gpus] > 0).all()
    hours = gpus * duration / 3600
    assert hours.sum() == pytest.approx(target("gpu.hours") * rows / target("rows.total"), rel=0.1)
    share = hours[completed].sum() / hours.sum()
    assert share == pytest.approx(target("pool.gpu_hours_share"), abs=0.02)


def test_states_keep_completed_jobs_and_cancelled_ones_run_longer() -> None:
    rng = np.random.default_rng(4)
    kind = np.zeros(20_000, dtype=np.int64)
    completed = rng.random(20_000) < 0.4
    duration = rng.integers(0, 10_000, 20_000)
    state = draw.states(kind, completed, duration, rng)
    names = np.array(draw.STATES)[state]
    assert ((names == "COMPLETED") == completed).all()
    cancelled, failed = (duration[names == name].mean() for name in ("CANCELLED", "FAILED"))
    assert cancelled > failed
