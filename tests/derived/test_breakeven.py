from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.breakeven import Integration, break_even, hybrid
from aidc.derived.envelope import least_cost, size
from aidc.derived.frontier import frontier
from aidc.derived.solver import HIGHS
from aidc.evidence import InputError, Layer

LFP = Technology.of(
    "lfp",
    eta_charge=0.96,
    eta_discharge=0.96,
    soc_min=0.05,
    soc_max=0.95,
    power_to_energy_per_h=1.0,
)
NA = Technology.of("na", eta_charge=0.92, eta_discharge=0.92, power_to_energy_per_h=0.4)
# Long and shallow, short and steep peaks: power and energy can replace each other.
LOAD = [130, 130, 0, 130, 130, 0, 0, 140, 90, 0, 135, 60, 120, 0, 0, 0]


@pytest.fixture(scope="module")
def pair(load_case):
    return (
        load_case(LOAD, technology=NA, initial="cyclic"),
        load_case(LOAD, technology=LFP, initial="cyclic"),
    )


def enumerated(challenger, known, weights):
    """Break-even by bisection over frontier vertices: no derivative, no tangent."""
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        below = challenger.cost(weights.of_energy_scaled(middle)) < known
        low, high = (middle, high) if below else (low, middle)
    return low


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_energy_only_equals_vertex_enumeration(pair, weight, order):
    challenger, reference = (pair[place] for place in order)
    weights = CostWeights.of(weight, 1.0)
    found = break_even(challenger, reference, weights, "energy")
    known = frontier(reference).cost(weights)
    assert found.ratio == pytest.approx(enumerated(frontier(challenger), known, weights), rel=1e-6)
    assert found.programmes <= 6
    assert found.evidence.layer is Layer.DERIVED


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_system_ratio_is_the_quotient_of_costs(pair, weight):
    challenger, reference = pair
    weights = CostWeights.of(weight, 1.0)
    found = break_even(challenger, reference, weights)
    assert found.ratio == pytest.approx(
        frontier(reference).cost(weights) / frontier(challenger).cost(weights)
    )


prices = st.floats(0.01, 10.0)


@settings(max_examples=30, deadline=None)
@given(prices, prices, prices, prices, st.floats(0.1, 10))
def test_least_cost_is_homogeneous_and_concave(pair, p1, e1, p2, e2, scale):
    case = pair[1]

    def cost(power, energy):
        return least_cost(case, (CostWeights.of(power, energy),), HIGHS).cost

    assert cost(scale * p1, scale * e1) == pytest.approx(scale * cost(p1, e1), rel=1e-7)
    middle = cost((p1 + p2) / 2, (e1 + e2) / 2)
    assert middle >= (cost(p1, e1) + cost(p2, e2)) / 2 - 1e-7 * middle


def test_frontier_vertices_are_convex_and_each_is_needed(pair):
    case = pair[1]
    found = frontier(case)
    assert found.power_kw.size >= 2
    slopes = np.diff(found.energy_kwh) / np.diff(found.power_kw)
    assert np.all(slopes < 0)
    assert np.all(np.diff(slopes) > 0)
    for power, energy in zip(found.power_kw, found.energy_kwh, strict=True):
        for weight in (0.01, 1.0, 30.0):
            weights = CostWeights.of(weight, 1.0)
            assert weight * power + energy >= size(case, (weights,)).cost - 1e-6


def test_energy_limited_ratio_is_that_of_usable_shares(load_case):
    """One vertex and no rate limit: what power costs does not matter."""
    load = [150, 150, 150, 150, 20, 20, 20, 20, 20, 20]
    loose = [replace(t, power_to_energy_per_h=None) for t in (NA, LFP)]
    challenger, reference = (load_case(load, technology=t) for t in loose)
    for weight in (0.0, 0.3, 3.0):
        found = break_even(challenger, reference, CostWeights.of(weight, 1.0), "energy")
        assert found.ratio == pytest.approx(NA.usable_share / LFP.usable_share)
        assert found.identifiable
        assert found.regime == "challenger energy-limited, reference energy-limited, one vertex"


def test_rate_limited_ratio_is_energy_times_limit_over_power(load_case):
    load = [150, 20, 20, 20]
    challenger = load_case(load, technology=replace(NA, power_to_energy_per_h=0.25))
    reference = load_case(load, technology=LFP)
    found = break_even(challenger, reference, CostWeights.of(0.7, 1.0), "energy")
    assert found.challenger_regime == "rate-limited"
    assert found.identifiable
    assert found.ratio == pytest.approx(found.reference_kwh * 0.25 / found.challenger_kw)


def test_a_vertex_that_depends_on_the_weights_is_said_so(pair):
    found = break_even(*pair, CostWeights.of(1.0, 1.0), "energy")
    assert not found.identifiable
    assert found.regime.endswith("vertex depends on the weights")


def test_never_cheaper_is_a_ratio_of_at_most_zero(load_case):
    """A challenger that needs more power than the reference costs, if power is dear."""
    load = [150, 150, 0, 0, 0]
    challenger = load_case(load, technology=Technology.of("poor", eta_charge=0.5), initial="cyclic")
    reference = load_case(load, technology=LFP, initial="cyclic")
    assert break_even(challenger, reference, CostWeights.of(0.0, 1.0), "energy").ratio > 0
    assert break_even(challenger, reference, CostWeights.of(1e4, 1.0), "energy").ratio < 0


def test_hybrid_bears_integration_up_to_its_advantage(load_case):
    """A power technology and an energy technology: each does what it is cheap for."""
    swift = Technology.of("swift")
    slow = Technology.of("slow", power_to_energy_per_h=0.2)
    load = [120, 120, 220, 120, 0, 0, 0, 0, 0, 0]
    both = replace(load_case(load, initial="cyclic"), technologies=(swift, slow))
    weights = (CostWeights.of(0.1, 3.0), CostWeights.of(0.1, 1.0))
    found = hybrid(both, weights, Integration.of_share(0.0))
    assert found.cheapest == "hybrid"
    assert found.bearable_share > 0.01
    for share, winner in (
        (found.bearable_share * 0.99, "hybrid"),
        (found.bearable_share * 1.01, None),
    ):
        again = hybrid(both, weights, Integration.of_share(share))
        assert again.hybrid_cost == pytest.approx(found.plan.cost * (1 + share))
        assert (again.cheapest == "hybrid") == (winner == "hybrid")
    assert "setting:integration_cost_share" in again.evidence.inputs


def test_a_hybrid_of_equals_bears_nothing(load_case):
    both = replace(load_case(LOAD, initial="cyclic"), technologies=(LFP, LFP))
    found = hybrid(both, (CostWeights.of(), CostWeights.of()), Integration.of_share(0.0))
    assert found.bearable_share == 0
    assert found.cheapest == "lfp"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b, none: break_even(a, b, CostWeights.of(), "lifetime"), "scaling: found"),
        (
            lambda a, b, none: break_even(a, b, CostWeights.of(1, 0), "energy"),
            "weight_energy: found 0",
        ),
        (lambda a, b, none: break_even(none, none, CostWeights.of()), "found no storage needed"),
        (
            lambda a, b, none: break_even(replace(a, technologies=(NA, LFP)), b, CostWeights.of()),
            "one technology on each side",
        ),
        (
            lambda a, b, none: hybrid(a, (CostWeights.of(),), Integration.of_share(0)),
            "hybrid: found 1 technologies",
        ),
        (
            lambda a, b, none: hybrid(
                replace(none, technologies=(NA, LFP)),
                (CostWeights.of(),) * 2,
                Integration.of_share(0),
            ),
            "hybrid: found no storage",
        ),
        (lambda a, b, none: Integration.of_share(-0.1), "integration_cost_share: found -0.1"),
        (lambda a, b, none: frontier(replace(a, technologies=(NA, LFP))), "frontier: found 2"),
    ],
)
def test_bad_questions_are_one_clear_line(pair, load_case, call, message):
    with pytest.raises(InputError) as caught:
        call(*pair, load_case([50, 60, 70]))
    assert message in str(caught.value)
