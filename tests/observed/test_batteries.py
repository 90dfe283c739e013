"""Products are anchors: their statements stand alone, and a contest of two is refused."""

import pytest

from aidc.evidence import EvidenceError, InputError, Layer, Provenance
from aidc.observed.batteries import (
    Battery,
    batteries,
    disclosure,
    implied_specific_energy,
    nameplate_spread,
    obstacles,
    statements,
)

ENERONE, TENER, *OTHERS = batteries()


def test_nothing_that_a_maker_says_is_verified() -> None:
    for battery in batteries():
        assert battery.evidence is not None
        assert battery.evidence.layer is Layer.OBSERVED
        assert battery.evidence.provenance is Provenance.UNVERIFIED
        assert all(name.startswith("document:") for name in battery.evidence.inputs)


@pytest.mark.parametrize("parameter", ["cycle_life", "energy_capacity", "power_to_energy"])
@pytest.mark.parametrize("pair", [(ENERONE, TENER), (TENER, OTHERS[0])])
def test_a_contest_of_two_products_is_refused(
    pair: tuple[Battery, Battery], parameter: str
) -> None:
    with pytest.raises(EvidenceError, match="never its chemistry") as caught:
        nameplate_spread(pair, parameter)
    message = str(caught.value)
    assert all(battery.product in message for battery in pair)
    assert "scans.yml" in message
    assert "\n" not in message


def test_two_anchors_never_share_a_table_of_values() -> None:
    with pytest.raises(EvidenceError, match="CATL EnerOne and CATL TENER Sodium side by side"):
        statements([ENERONE, TENER])
    table = statements([TENER]).frame
    assert len(table) == len(TENER.statements)
    assert set(table["product"]) == {TENER.product}
    assert len(statements(OTHERS).frame) == sum(len(other.statements) for other in OTHERS)


def test_statements_on_one_product_may_be_set_against_each_other() -> None:
    spread = nameplate_spread([ENERONE], "cycle_life")
    assert (spread.ratio, spread.statements) == (pytest.approx(10_000 / 3_500), 2)
    with pytest.raises(InputError, match="found 0 figures, expected at least two"):
        nameplate_spread([ENERONE], "price")
    with pytest.raises(InputError, match="found 1 figures"):
        nameplate_spread([TENER], "cycle_life")


def test_capacity_over_mass_of_one_product() -> None:
    assert implied_specific_energy(TENER).wh_per_kg == pytest.approx(30_000e3 / 42e3)
    with pytest.raises(InputError, match="CATL EnerOne: found no figure for mass"):
        implied_specific_energy(ENERONE)


def test_whether_a_parameter_is_disclosed_may_be_set_side_by_side() -> None:
    frame = disclosure([ENERONE, TENER]).frame.set_index("parameter")
    assert frame.loc["energy capacity"].tolist() == ["by the maker", "by the maker"]
    assert frame.loc["number of cycles"].tolist() == ["by third parties only", "by the maker"]
    assert frame.loc["price"].tolist() == ["not found", "not found"]
    assert "mass of a unit" not in frame.index
    shown = {value for row in frame.to_numpy() for value in row}
    assert shown == {"by the maker", "by third parties only", "not found"}


def test_every_parameter_has_an_obstacle() -> None:
    frame = obstacles(ENERONE, TENER).frame.set_index("parameter")["obstacle"]
    assert (frame != "").all()
    assert frame["round-trip efficiency"] == "found for neither"
    assert frame["years of life"] == "found for one only"
    assert "two products" in frame["energy capacity"]
    assert "different boundary" in frame["energy capacity"]
    assert "different unit" in frame["power for a given capacity"]
    assert "statements on one product disagree" in frame["number of cycles"]
