"""What a model answers: storage, schedule and what they leave undone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aidc.constructed.limits import SECONDS_PER_HOUR
from aidc.constructed.overlap import Floats
from aidc.constructed.setting import declared, number
from aidc.derived.case import StorageCase
from aidc.derived.dispatch import Dispatch
from aidc.derived.solver import SolverRun
from aidc.evidence import Carrier

# Unserved work below this share of all work is round-off of the solver.
ROUND_OFF = 1e-8
# By what share a later stage may exceed what an earlier one found, one after the other.
ROUND_OFFS = (ROUND_OFF, 1e-7, 1e-6)


@dataclass(frozen=True, kw_only=True)
class StorageSize(Carrier):
    """Storage that stands: nominal sizes, one entry a technology.

    Attributes
    ----------
    power_kw, energy_kwh : tuple of float
        At least 0.
    """

    power_kw: tuple[float, ...]
    energy_kwh: tuple[float, ...]

    def __post_init__(self) -> None:
        for power, energy in zip(self.power_kw, self.energy_kwh, strict=True):
            number("storage_power_kw", power, "kW")
            number("storage_energy_kwh", energy, "kWh")

    @classmethod
    def of(cls, power_kw: float, energy_kwh: float) -> StorageSize:
        """Return the settings ``storage_power_kw`` and ``storage_energy_kwh``."""
        evidence = declared("storage_power_kw", "storage_energy_kwh")
        return cls(power_kw=(power_kw,), energy_kwh=(energy_kwh,), evidence=evidence)


@dataclass(frozen=True, kw_only=True)
class StoragePlan(Carrier):
    """Storage and a schedule that it makes possible.

    Attributes
    ----------
    bound : str
        What kind of answer this is, e.g. ``"malleable_lower"``: no storage smaller (by
        the weights) suffices.
    cost : float
        Weighted size of the storage (sizing), or unserved work in kWh (operation).
    power_kw, energy_kwh : tuple of float
        Storage of each technology: kW, nominal kWh.
    dispatch : Dispatch
        Schedule of load and storage.
    unserved_kwh : float
        Work not served by its deadline.
    missed_jobs : int
        Least possible number of jobs that miss their deadline: the fewest largest jobs
        whose work covers what is unserved. *Which* jobs are short is not unique.
    cycles : tuple of float
        Equivalent full cycles: delivered energy over the energy of one full discharge;
        NaN without storage.
    cap_dual : array, shape (slots,)
        How much ``cost`` falls per kW of additional cap in each slot.
    run : SolverRun
        What solved it.
    """

    bound: str
    cost: float
    power_kw: tuple[float, ...]
    energy_kwh: tuple[float, ...]
    dispatch: Dispatch
    unserved_kwh: float
    missed_jobs: int
    cycles: tuple[float, ...]
    cap_dual: Floats
    run: SolverRun

    @property
    def cap_price(self) -> float:
        """Shadow price: how much ``cost`` falls per kW of additional cap in every slot."""
        return float(self.cap_dual.sum())

    @property
    def throughput_kwh(self) -> float:
        """Energy delivered by all storage, kWh."""
        return sum(self.dispatch.throughput_kwh)

    @property
    def size(self) -> StorageSize:
        """The storage alone, to operate it in another case."""
        return StorageSize(
            power_kw=self.power_kw, energy_kwh=self.energy_kwh, evidence=self.evidence
        )


def job_kwh(case: StorageCase) -> Floats:
    """Return the work of each job, kWh, shape (n,)."""
    load = case.require_jobs()
    return load.jobs.blocks * load.jobs.processing_s * (load.kw_per_block / SECONDS_PER_HOUR)


def least_missed(case: StorageCase, unserved_kwh: float) -> int:
    """Return the least number of jobs that can be short when so much work is unserved."""
    if unserved_kwh <= ROUND_OFF * case.horizon.work_kwh:
        return 0
    if case.load is None:
        return 1
    largest = np.sort(job_kwh(case))[::-1]
    enough = unserved_kwh - ROUND_OFF * case.horizon.work_kwh
    return min(int(np.searchsorted(np.cumsum(largest), enough)) + 1, largest.size)


def full_cycles(
    case: StorageCase, dispatch: Dispatch, energy_kwh: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the equivalent full cycles of each technology, NaN where there is none."""
    return tuple(
        delivered / (technology.usable_share * energy) if energy > 0 else math.nan
        for delivered, technology, energy in zip(
            dispatch.throughput_kwh, case.technologies, energy_kwh, strict=True
        )
    )


def delay_quantiles(case: StorageCase, dispatch: Dispatch, shares: Floats) -> Floats:
    """Return by how many hours served work is late, first released first served.

    Work that is lost leaves the queue when it is due and not served: no served work waits
    behind it. So nothing is later than the slack.

    Parameters
    ----------
    shares : array, shape (m,)
        Shares of the served work, 0 to 1: 0.5 is the median kWh.

    Returns
    -------
    array, shape (m,)
        Delay behind a start at release, h; NaN if nothing is served. Defined by the
        cumulative curves alone, so it does not depend on which job a kWh is given to.
    """
    horizon, active = case.horizon, case.horizon.active
    if dispatch.served_kwh <= ROUND_OFF * horizon.work_kwh:
        return np.full(shares.shape, math.nan)
    released, due = horizon.released_kwh[: active + 1], horizon.due_kwh[: active + 1]
    served = np.concatenate([[0.0], np.cumsum(dispatch.serve_kw) * horizon.step_h])
    # Served or lost: a kWh is lost once more is due than has left the queue.
    gone = served + np.maximum.accumulate(np.maximum(due - served, 0.0))
    hours = np.arange(active + 1) * horizon.step_h
    parts = (np.arange(4096) + 0.5) / 4096 * float(served[-1])
    began = np.interp(np.interp(parts, served, gone), released, hours)
    late = np.interp(parts, served, hours) - began
    quantiles: Floats = np.quantile(np.maximum(late, 0.0), shares)
    return quantiles
