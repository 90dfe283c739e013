"""What happens in each slot, and the balances it has to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aidc.constructed.overlap import Floats
from aidc.derived.case import StorageCase


@dataclass(frozen=True)
class Dispatch:
    """A schedule of load and storage over the active slots.

    Attributes
    ----------
    step_h : float
        Length of a slot, h.
    idle_kw : float
        Power drawn always.
    serve_kw : array, shape (slots,)
        Power of running jobs.
    charge_kw, discharge_kw : array, shape (technologies, slots)
        At the terminals.
    usable_kwh : array, shape (technologies, slots + 1)
        Energy stored above the least state of charge, at slot boundaries.
    backlog_kwh : array, shape (slots + 1,)
        Work released and not yet served.
    dropped_kwh : array, shape (slots,)
        Work given up in each slot.
    """

    step_h: float
    idle_kw: float
    serve_kw: Floats
    charge_kw: Floats
    discharge_kw: Floats
    usable_kwh: Floats
    backlog_kwh: Floats
    dropped_kwh: Floats

    @classmethod
    def of(
        cls,
        case: StorageCase,
        *,
        serve_kw: Floats,
        charge_kw: Floats,
        discharge_kw: Floats,
        first_kwh: Floats,
        dropped_kwh: Floats | None = None,
    ) -> Dispatch:
        """Return the dispatch of a solution, its states recomputed from its flows.

        Solvers keep each balance to a tolerance only; recomputed states keep them all.
        """
        horizon, active = case.horizon, case.horizon.active
        serve = np.maximum(serve_kw[:active], 0.0)
        charge = np.maximum(charge_kw[:, :active], 0.0)
        discharge = np.maximum(discharge_kw[:, :active], 0.0)
        dropped = np.zeros(active) if dropped_kwh is None else np.maximum(dropped_kwh[:active], 0.0)
        eta_in = np.array([[one.eta_charge] for one in case.technologies])
        eta_out = np.array([[one.eta_discharge] for one in case.technologies])
        stored = horizon.step_h * np.cumsum(eta_in * charge - discharge / eta_out, axis=1)
        first = first_kwh.reshape(-1, 1)
        left = horizon.arrivals_kwh[:active] - horizon.step_h * serve - dropped
        return cls(
            step_h=horizon.step_h,
            idle_kw=horizon.idle_kw,
            serve_kw=serve,
            charge_kw=charge,
            discharge_kw=discharge,
            usable_kwh=np.concatenate([first, first + stored], axis=1),
            backlog_kwh=np.concatenate([[0.0], np.cumsum(left)]),
            dropped_kwh=dropped,
        )

    @property
    def load_kw(self) -> Floats:
        """Power of the load after scheduling, shape (slots,)."""
        return self.idle_kw + self.serve_kw

    @property
    def supply_kw(self) -> Floats:
        """Power drawn from outside, shape (slots,)."""
        exchange: Floats = (self.charge_kw - self.discharge_kw).sum(axis=0)
        return self.load_kw + exchange

    @property
    def served_kwh(self) -> float:
        """Work served."""
        return float(self.serve_kw.sum()) * self.step_h

    @property
    def unserved_kwh(self) -> float:
        """Work given up."""
        return float(self.dropped_kwh.sum())

    @property
    def throughput_kwh(self) -> tuple[float, ...]:
        """Energy that each technology delivered at its terminals."""
        return tuple(float(total) * self.step_h for total in self.discharge_kw.sum(axis=1))

    @property
    def overlap_kw(self) -> float:
        """Most power that was charged and discharged at once."""
        return float(np.minimum(self.charge_kw, self.discharge_kw).max(initial=0.0))
