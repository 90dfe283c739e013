"""PyPSA as an independent model of the same case (optional)."""

import pytest

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.envelope import size
from aidc.derived.solver import silence_highs
from tests.second_models import by_linopy, by_pypsa

pytest.importorskip("pypsa", reason="needs the extra 'oracle'")


@pytest.mark.parametrize("slack_min", [0.0, 30.0, 120.0])
@pytest.mark.parametrize("model", [by_pypsa, by_linopy])
def test_o10_other_models_give_the_same_storage(drawn, slack_min, model):
    silence_highs()
    technology = Technology.of(eta_charge=0.95, eta_discharge=0.93, soc_min=0.1, soc_max=0.9)
    case, weights = drawn(slack_min, technology=technology), CostWeights.of(1.7, 1.0)
    plan = size(case, (weights,))
    power, energy = model(case, weights)
    assert weights.power * power + energy == pytest.approx(plan.cost, abs=5e-4)
    assert (power, energy) == pytest.approx((plan.power_kw[0], plan.energy_kwh[0]), abs=5e-4)
