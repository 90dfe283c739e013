"""Break-even over frozen scans of a challenger, and where a hybrid costs least."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pandas as pd

from aidc.constructed.technology import TECHNOLOGY_SETTINGS, CostWeights, Technology
from aidc.derived.breakeven import (
    ENERGY,
    SYSTEM,
    BreakEven,
    Integration,
    Side,
    hybrid,
    parity,
)
from aidc.derived.case import StorageCase
from aidc.derived.solver import HIGHS, Solver
from aidc.evidence import Carrier, Layer, step


@dataclass(frozen=True, kw_only=True)
class BreakEvenTable(Carrier):
    """Break-even cost of a challenger over a scan.

    Attributes
    ----------
    frame : DataFrame
        One row a case, challenger and scaling: ``slack_min``, ``supply_cap_kw``,
        ``challenger_eta``, ``challenger_power_to_energy_per_h``, ``scaling``, ``ratio``,
        storage of both at parity (kW, kWh), their regimes, ``identifiable``,
        ``usable_share_ratio`` (the challenger's over the reference's), ``same_values``
        (whether both technologies are one: then the ratio is 1).
    """

    frame: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class HybridTable(Carrier):
    """The least costly of a challenger, a reference and both together.

    Attributes
    ----------
    frame : DataFrame
        One row a cost ratio and integration cost: ``cost_ratio``,
        ``integration_cost_share``, ``bearable_share``, costs, storage of both in the
        hybrid, ``cheapest``.
    challenger, reference : str
        Names of the technologies.
    slack_min, supply_cap_kw : float
        Of the case.
    """

    frame: pd.DataFrame
    challenger: str
    reference: str
    slack_min: float
    supply_cap_kw: float


def slowest(challengers: tuple[Technology, ...], reference: Technology) -> Technology:
    """Return the challenger of least power per energy, nearest in efficiency to the reference.

    So it differs from the reference in its rate before all else, which is what a hybrid
    lives on. Of equals, the first.
    """

    def order(one: Technology) -> tuple[float, float]:
        limit = one.power_to_energy_per_h
        distance = abs(one.eta_discharge - reference.eta_discharge)
        return (math.inf if limit is None else limit, distance)

    return min(challengers, key=order)


@step(Layer.DERIVED)
def break_even_scan(
    cases: tuple[StorageCase, ...],
    challengers: tuple[Technology, ...],
    weights: CostWeights,
    solver: Solver = HIGHS,
) -> BreakEvenTable:
    """Return the exact break-even ratio for every case, challenger and scaling.

    Parameters
    ----------
    cases : tuple of StorageCase
        With the reference technology.
    challengers : tuple of Technology
        The frozen scan.
    weights : CostWeights
        Of the reference.
    solver : Solver
        HiGHS or Clarabel, with the seed of its ties.

    Raises
    ------
    InputError
        If no storage is needed in a case, or none suffices.
    """
    rows = []
    for case in cases:
        reference = Side.of(case, weights, solver)
        for challenger in challengers:
            other = Side.of(replace(case, technologies=(challenger,)), weights, solver)
            rows += [
                _row(case, challenger, parity(other, reference, weights, scaling, solver))
                for scaling in (SYSTEM, ENERGY)
            ]
    return BreakEvenTable(frame=pd.DataFrame(rows))


def _row(case: StorageCase, challenger: Technology, found: BreakEven) -> dict[str, object]:
    (reference,) = case.technologies
    return {
        "slack_min": case.slack_s / 60,
        "supply_cap_kw": float(case.cap_kw[0]),
        "challenger_eta": challenger.eta_discharge,
        "challenger_power_to_energy_per_h": challenger.power_to_energy_per_h,
        "scaling": found.scaling,
        "ratio": found.ratio,
        "challenger_kw": found.challenger_kw,
        "challenger_kwh": found.challenger_kwh,
        "reference_kw": found.reference_kw,
        "reference_kwh": found.reference_kwh,
        "challenger_regime": found.challenger_regime,
        "reference_regime": found.reference_regime,
        "identifiable": found.identifiable,
        "usable_share_ratio": challenger.usable_share / reference.usable_share,
        "same_values": all(
            getattr(challenger, name) == getattr(reference, name) for name in TECHNOLOGY_SETTINGS
        ),
    }


@step(Layer.DERIVED)
def hybrid_scan(
    case: StorageCase,
    challenger: Technology,
    weights: CostWeights,
    ratios: tuple[float, ...],
    integrations: tuple[Integration, ...],
    solver: Solver = HIGHS,
) -> HybridTable:
    """Return which of challenger, reference and hybrid costs least, over relative costs.

    Parameters
    ----------
    case : StorageCase
        With the reference technology.
    challenger : Technology
        The other one.
    weights : CostWeights
        Of the reference; the challenger's are these times the ratio.
    ratios : tuple of float
        Relative costs of the challenger.
    integrations : tuple of Integration
        Extra costs of a hybrid.
    solver : Solver
        HiGHS or Clarabel, with the seed of its ties.

    Raises
    ------
    InputError
        If no storage is needed, or none suffices.
    """
    (reference,) = case.technologies
    both = replace(case, technologies=(challenger, reference))
    rows = []
    for ratio in ratios:
        dear = CostWeights.of(weights.power * ratio, weights.energy * ratio)
        # Integration scales the hybrid's cost and changes nothing in the storage.
        found = hybrid(both, (dear, weights), Integration.of_share(0.0), solver)
        alone = min((found.first_cost, challenger.name), (found.second_cost, reference.name))
        for integration in integrations:
            cheapest = "hybrid" if integration.share < found.bearable_share else alone[1]
            rows.append(
                {
                    "cost_ratio": ratio,
                    "integration_cost_share": integration.share,
                    "bearable_share": found.bearable_share,
                    "hybrid_cost": found.hybrid_cost * (1.0 + integration.share),
                    "challenger_cost": found.first_cost,
                    "reference_cost": found.second_cost,
                    "hybrid_challenger_kw": found.plan.power_kw[0],
                    "hybrid_challenger_kwh": found.plan.energy_kwh[0],
                    "hybrid_reference_kw": found.plan.power_kw[1],
                    "hybrid_reference_kwh": found.plan.energy_kwh[1],
                    "cheapest": cheapest,
                }
            )
    return HybridTable(
        frame=pd.DataFrame(rows),
        challenger=challenger.name,
        reference=reference.name,
        slack_min=case.slack_s / 60,
        supply_cap_kw=float(case.cap_kw[0]),
    )
