import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.constructed.overlap import clip_to, slot_averages

SLOTS, STEP = 12, 900.0
moments = st.floats(0, SLOTS * STEP, allow_nan=False)


@given(st.lists(st.tuples(moments, moments, st.integers(1, 64)), min_size=1, max_size=30))
def test_equals_the_overlap_of_every_interval_with_every_slot(rows):
    begin, end, weight = np.array([(min(a, b), max(a, b), w / 8) for a, b, w in rows]).T
    edges = np.arange(SLOTS + 1) * STEP
    overlap = np.minimum(end[:, None], edges[1:]) - np.maximum(begin[:, None], edges[:-1])
    expected = weight @ np.maximum(overlap, 0.0) / STEP
    assert slot_averages(begin, end, weight, STEP, SLOTS) == pytest.approx(expected, abs=1e-9)


def test_a_long_horizon_loses_no_digits():
    begin = np.arange(0.0, 5e4) * 300 + 0.25
    load = slot_averages(begin, begin + 300.0, np.full(begin.size, 0.125), 300.0, begin.size + 1)
    assert np.max(np.abs(load[1:-1] - 0.125)) < 1e-13


def test_clip_keeps_what_lies_inside():
    begin, end = np.array([-5.0, 2.0, 9.0, 12.0]), np.array([1.0, 3.0, 20.0, 13.0])
    left, right, weight, which = clip_to(begin, end, np.array([1.0, 2.0, 3.0, 4.0]), 0.0, 10.0)
    assert left.tolist() == [0, 2, 9]
    assert right.tolist() == [1, 3, 10]
    assert weight.tolist() == [1, 2, 3]
    assert which.tolist() == [0, 1, 2]
