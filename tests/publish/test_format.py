"""Numbers are written as a reader expects them, and never lose more than they may."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aidc.publish.format import display_number


def read_back(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@given(st.integers(-(10**12), 10**12))
def test_integers_are_written_in_full(value: int) -> None:
    assert read_back(display_number(value)) == value


@given(st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-9))
def test_other_numbers_keep_four_digits(value: float) -> None:
    assert math.isclose(read_back(display_number(value)), value, rel_tol=5.1e-4)


@given(st.floats(1e4, 1e12))
def test_the_integer_part_is_never_rounded_away(value: float) -> None:
    assert abs(read_back(display_number(value)) - value) <= 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="no number to publish"):
        display_number(value)
