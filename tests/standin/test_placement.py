import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.standin.placement import Cluster, place


def _peak(start: np.ndarray, duration: np.ndarray, gpus: np.ndarray) -> int:
    """Count by brute force the GPUs in use at every start."""
    running = (start[None, :] <= start[:, None]) & (start[:, None] < (start + duration)[None, :])
    return int((running * gpus[None, :]).sum(axis=1).max())


def _random_jobs(seed: int, number: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "duration": rng.integers(1, 4_000, number),
        "queue": rng.integers(0, 50, number),
        "gpu_num": rng.choice([1, 2, 8, 64], number, p=[0.5, 0.2, 0.2, 0.1]),
    }


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(10, 200))
def test_every_time_is_used_once_by_its_own_class(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, number)
    slots = [np.sort(rng.integers(0, 200_000, int(n))) for n in np.bincount(group, minlength=3)]
    given_slots = [times.copy() for times in slots]
    submit = place(slots, group, **_random_jobs(seed, number), cluster=Cluster(gpus=64), rng=rng)
    for name, times in enumerate(given_slots):
        assert np.sort(submit[group == name]).tolist() == times.tolist()
        assert slots[name].tolist() == times.tolist()


def test_large_jobs_fit_where_random_ones_do_not() -> None:
    number = 400
    jobs = _random_jobs(7, number)
    rng = np.random.default_rng(8)
    slots = [np.sort(rng.integers(0, 100_000, number))]
    cluster = Cluster(gpus=160, reserve=20)
    at_random = rng.permutation(slots[0])
    placed = place(slots, np.zeros(number, dtype=np.int64), **jobs, cluster=cluster, rng=rng)
    wait, run, gpus = jobs["queue"], jobs["duration"], jobs["gpu_num"]
    assert _peak(placed + wait, run, gpus) <= cluster.gpus
    assert _peak(at_random + wait, run, gpus) > cluster.gpus


def test_crowded_hours_get_the_smaller_jobs() -> None:
    rng = np.random.default_rng(9)
    slots = [np.sort(np.concatenate([np.arange(0, 3_600, 12), 7_200 + 3_600 * np.arange(600)]))]
    jobs = _random_jobs(10, 900)
    cluster = Cluster(gpus=10_000, crowded=200)
    submit = place(slots, np.zeros(900, dtype=np.int64), **jobs, cluster=cluster, rng=rng)
    work = jobs["duration"] * jobs["gpu_num"]
    assert work[submit < 3_600].max() < np.quantile(work, 0.8)
