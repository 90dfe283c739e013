import pytest

from aidc.standin.program import NearestCounts


def test_without_conditions_the_expected_counts_come_back() -> None:
    programme = NearestCounts()
    variables = [programme.count(expected) for expected in (3.0, 10.0, 0.0)]
    assert programme.solve()[variables].tolist() == [3, 10, 0]


def test_a_deviation_is_spread_in_proportion() -> None:
    programme = NearestCounts()
    variables = [programme.count(expected) for expected in (100.0, 300.0)]
    programme.require(dict.fromkeys(variables, 1.0), 440, 440)
    found = programme.solve(gap=0.0)[variables]
    assert found.sum() == 440
    # The penalty's first two slopes end at a tenth: neither count may move further.
    assert found.tolist() == [110, 330]


def test_an_upper_bound_holds() -> None:
    programme = NearestCounts()
    variable = programme.count(9.0, upper=4)
    assert programme.solve()[variable] == 4


def test_conditions_that_exclude_each_other_are_an_error() -> None:
    programme = NearestCounts()
    variable = programme.count(1.0)
    programme.require({variable: 1.0}, 2, 2)
    programme.require({variable: 1.0}, 3, 3)
    with pytest.raises(RuntimeError, match="no integer counts"):
        programme.solve()
