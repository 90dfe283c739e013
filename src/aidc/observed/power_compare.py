"""One job added up by both rules, and what the choice of the rule moves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

from aidc.evidence import Carrier, Layer, step
from aidc.observed.aggregate import Aggregation, AggregationRules, TotalPower, total_power
from aidc.observed.power import Floats
from aidc.observed.power_audit import PowerAudit
from aidc.observed.profile import power_summary, require_total, sample_figures


@dataclasses.dataclass(frozen=True, kw_only=True)
class BothRules(Carrier):
    """The curve of one job under our rule and under the official one.

    Attributes
    ----------
    ours, official : TotalPower
        The curves. Ours has the audit's own grid, the official one a uniform grid.
    frame : DataFrame
        One row a rule: ``aggregation``, ``mean_w`` (by time), ``mean_of_samples_w``,
        ``p95_w``, ``p99_w``, ``max_w``, ``energy_wh``.
    figures : dict of str to float
        What the data set's own analyses count on the official curve, by name; see
        `aidc.observed.profile.sample_figures`.
    difference_w : float
        Mean by time, official less ours, W.
    nested_w, rest_w : float
        The part of it that counting cores beside their packages makes, and the rest:
        batch ends read as zero, and the grid.
    batch_ends_s : ndarray
        Times on our curve of the rows that lack the watts of their own, s.
    """

    ours: TotalPower
    official: TotalPower
    frame: pd.DataFrame
    figures: dict[str, float]
    difference_w: float
    nested_w: float
    rest_w: float
    batch_ends_s: Floats


@step(Layer.OBSERVED)
def both_rules(audit: PowerAudit, grid_s: float | None = None) -> BothRules:
    """Return one job under both rules.

    Parameters
    ----------
    audit : PowerAudit
        The logs, audited under either rule.
    grid_s : float or None
        Step of the official curve's grid, s; None takes the mean interval of the logs.

    Raises
    ------
    InputError
        If no total can be stated.
    """
    require_total(audit.total)
    ours = audit.total
    if ours.aggregation == Aggregation.NLR:
        ours = total_power(audit.logs, AggregationRules(aggregation=Aggregation.AIDC))
        require_total(ours)
    rules = AggregationRules(aggregation=Aggregation.NLR, official_step_s=grid_s)
    official = total_power(audit.logs, rules)
    frame = pd.DataFrame([_row(total) for total in (ours, official)])
    difference_w = float(frame["mean_w"].iloc[1] - frame["mean_w"].iloc[0])
    nested_w = audit.comparison.nested_w if audit.comparison else 0.0
    return BothRules(
        ours=ours,
        official=official,
        frame=frame,
        figures=sample_figures(official, windows_s=()),
        difference_w=difference_w,
        nested_w=nested_w,
        rest_w=difference_w - nested_w,
        batch_ends_s=_batch_ends_s(audit, ours),
    )


def start_after(one: TotalPower, other: TotalPower) -> float:
    """Return how much later one curve of a job starts than another, s."""
    if one.start is None or other.start is None:
        return 0.0
    return float((one.start - other.start).total_seconds())


def _batch_ends_s(audit: PowerAudit, total: TotalPower) -> Floats:
    found = []
    for log in audit.logs:
        profile = log.profile
        if profile.incomplete is not None and profile.start is not None:
            later_s = (profile.start - total.start).total_seconds() if total.start else 0.0
            found.append(profile.times_s[profile.incomplete] + later_s)
    return np.sort(np.concatenate(found)) if found else np.empty(0)


def _row(total: TotalPower) -> dict[str, float | str]:
    summary = power_summary(total)
    return {
        "aggregation": total.aggregation,
        "mean_w": summary.mean_w,
        "mean_of_samples_w": summary.mean_w_arithmetic,
        "p95_w": summary.p95_w,
        "p99_w": summary.p99_w,
        "max_w": summary.max_w,
        "energy_wh": summary.energy_wh,
    }
