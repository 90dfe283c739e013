import pytest

from aidc.constructed.limits import Reserve
from aidc.constructed.technology import CostWeights, Technology
from aidc.evidence import InputError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta_charge": 1.2}, "eta_charge: found 1.2, expected a number above 0 and at most 1"),
        ({"eta_discharge": 0}, "eta_discharge: found 0"),
        ({"soc_min": 0.9, "soc_max": 0.1}, "expected soc_min below soc_max"),
        ({"soc_max": 1.5}, "soc_max: found 1.5"),
        ({"power_to_energy_per_h": 0}, "power_to_energy_per_h: found 0"),
        ({"eta_charge": float("nan")}, "eta_charge: found nan"),
        ({"eta_charge": True}, "eta_charge: found True"),
        ({"eta_charge": "high"}, "eta_charge: found 'high'"),
    ],
)
def test_bad_technology_is_one_clear_line(settings, message):
    with pytest.raises(InputError) as caught:
        Technology.of(**settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_usable_share_counts_what_a_full_discharge_delivers():
    assert Technology.of(eta_discharge=0.9, soc_min=0.1, soc_max=0.9).usable_share == pytest.approx(
        0.72
    )


def test_weights_scale_energy_alone():
    weights = CostWeights.of(2.0, 3.0).of_energy_scaled(0.5)
    assert (weights.power, weights.energy) == (2.0, 1.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CostWeights.of(0, 0),
        lambda: CostWeights.of(-1, 1),
        lambda: Reserve.of_minutes(-1),
        lambda: Reserve.of_minutes(10, 1.1),
    ],
)
def test_bad_weights_and_reserves(make):
    with pytest.raises(InputError):
        make()
