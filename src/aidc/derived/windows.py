"""How much the edge of the window decides: the same question of windows that begin elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.envelope import size
from aidc.derived.solver import HIGHS, Solver
from aidc.evidence import Carrier, InputError, Layer, step


@dataclass(frozen=True, kw_only=True)
class WindowTable(Carrier):
    """Least storage of malleable jobs, window by window.

    Attributes
    ----------
    frame : DataFrame
        ``start``, ``slack_min``, ``power_kw``, ``energy_kwh``, ``lower_cost`` (weighted),
        one row a case; NaN where no storage suffices.
    """

    frame: pd.DataFrame


@step(Layer.DERIVED)
def window_table(
    cases: tuple[StorageCase, ...], weights: CostWeights, solver: Solver = HIGHS
) -> WindowTable:
    """Size the storage of each case, as far as there is one that suffices.

    A window closes on itself: what storage holds at its end it held at its beginning. A
    peak at the beginning is then served by what is charged at the end, and the answer
    depends on where the window begins.

    Parameters
    ----------
    cases : tuple of StorageCase
        Made from replays, of one technology.
    weights : CostWeights
        What 1 kW and 1 kWh weigh.
    """
    return WindowTable(frame=pd.DataFrame([_row(case, weights, solver) for case in cases]))


def _row(case: StorageCase, weights: CostWeights, solver: Solver) -> dict[str, object]:
    try:
        plan = size(case, (weights,), solver)
        found = (plan.power_kw[0], plan.energy_kwh[0], plan.cost)
    except InputError:
        found = (math.nan, math.nan, math.nan)
    power, energy, cost = (round(value, 6) for value in found)
    return {
        "start": case.time(0),
        "slack_min": case.slack_s / 60,
        "power_kw": power,
        "energy_kwh": energy,
        "lower_cost": cost,
    }
