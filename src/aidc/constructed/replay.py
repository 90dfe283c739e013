"""A synthetic replay: jobs of one site, on counterfactual hardware measured at another.

Every job starts when it is submitted: a counterfactual without queues, not history. Its
GPUs are homogeneous blocks that draw the mean power of an audited profile. Data centre,
hardware generation and year of the two sources differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from aidc.constructed.limits import (
    SECONDS_PER_HOUR,
    BlockMapping,
    BlockPower,
    Fleet,
    SiteOverhead,
    SupplyCap,
)
from aidc.constructed.overlap import Floats, clip_to, slot_averages
from aidc.constructed.window import ReplayWindow
from aidc.evidence import Carrier, EvidenceError, InputError, Layer, step

# A mean of many seconds differs from the power that all of them have by less than this share.
ROUND_OFF = 1e-9


class HasJobs(Protocol):
    """A pool or a trace, as far as a replay needs it (canonical columns)."""

    @property
    def jobs(self) -> pd.DataFrame:
        """One row a job: ``submit_time``, ``duration_s``, ``gpu_num`` and others."""


@dataclass(frozen=True, kw_only=True)
class StartedJobs(Carrier):
    """The GPU jobs of a trace that ran, whatever became of them.

    Attributes
    ----------
    jobs : DataFrame
        Canonical columns.
    """

    jobs: pd.DataFrame


@step(Layer.OBSERVED)
def started_jobs(trace: HasJobs) -> StartedJobs:
    """Return all jobs that held GPUs for some time: completed, failed, cancelled or other.

    The pool of completed jobs holds only a part of the GPU time of a trace; a load study
    on it alone understates the load.
    """
    jobs = trace.jobs
    ran = (jobs["gpu_num"] > 0) & (jobs["duration_s"] > 0)
    if "start_time" in jobs:
        ran &= jobs["start_time"].notna()
    return StartedJobs(jobs=jobs.loc[ran].reset_index(drop=True))


@dataclass(frozen=True)
class BlockJobs:
    """Jobs as they enter the window, times in s since its start.

    Attributes
    ----------
    row : array of int, shape (n,)
        Row of each job in the frame that was replayed.
    release_s : array, shape (n,)
        Submit time, 0 for a job that ran into the window.
    processing_s : array, shape (n,)
        Time it runs inside the window, above 0: what lies before or behind belongs to
        the neighbouring windows.
    blocks : array, shape (n,)
        Counterfactual blocks it occupies.
    """

    row: np.ndarray[tuple[int], np.dtype[np.int64]]
    release_s: Floats
    processing_s: Floats
    blocks: Floats

    def __len__(self) -> int:
        return self.row.size

    def running(self, step_s: float, slots: int, *, later_s: float = 0.0) -> Floats:
        """Return the mean blocks of each slot if every job starts ``later_s`` after release."""
        begin = self.release_s + later_s
        return slot_averages(begin, begin + self.processing_s, self.blocks, step_s, slots)

    def allowed(self, step_s: float, slots: int, slack_s: float) -> Floats:
        """Return the mean blocks of all jobs between release and deadline, for each slot."""
        end = self.release_s + self.processing_s + slack_s
        return slot_averages(self.release_s, end, self.blocks, step_s, slots)


@dataclass(frozen=True, kw_only=True)
class _Load(Carrier):
    """A replayed load; its subclasses say at which boundary.

    Attributes
    ----------
    window : ReplayWindow
        Window and resolution.
    jobs : BlockJobs
        What runs in it.
    carried_in : int
        How many of the jobs were submitted before the window.
    kw_per_block : float
        Power that one running block adds to an idle one, kW.
    idle_kw : float
        Power of the idle fleet, kW: drawn always.
    fleet_blocks : float or None
        Most blocks that can run at once.
    running_blocks : array, shape (slots,)
        Mean running blocks of each slot, when every job starts at its release.
    """

    window: ReplayWindow
    jobs: BlockJobs
    carried_in: int
    kw_per_block: float
    idle_kw: float
    fleet_blocks: float | None
    running_blocks: Floats

    @property
    def load_kw(self) -> Floats:
        """Mean power of each slot without slack, kW, shape (slots,).

        Where more blocks would run than exist, the surplus counts at its full power.
        """
        running: Floats = self.idle_kw + self.kw_per_block * self.running_blocks
        if self.fleet_blocks is None:
            return running
        surplus = np.maximum(self.running_blocks - self.fleet_blocks, 0.0)
        return running + surplus * (self.idle_kw / self.fleet_blocks)

    @property
    def energy_kwh(self) -> float:
        """Energy of the window without slack, kWh."""
        return float(self.load_kw.sum()) * self.window.step_s / SECONDS_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class ComponentLoad(_Load):
    """Power of the CPUs and GPUs of the jobs' blocks: what the profile measured."""


@dataclass(frozen=True, kw_only=True)
class SiteLoad(_Load):
    """Power at the site's connection: component power times a declared overhead."""


@step(Layer.CONSTRUCTED)
def replay(
    source: HasJobs, window: ReplayWindow, mapping: BlockMapping, power: BlockPower, fleet: Fleet
) -> ComponentLoad:
    """Replay jobs on counterfactual blocks within a window.

    Jobs that run into the window are part of it, as are those that run past its end, up
    to the end.

    Raises
    ------
    InputError
        If the window is outside the trace, no job runs in it, or idle power is not
        below running power.
    """
    frame = source.jobs
    window.require_inside(frame["submit_time"])
    if fleet.idle_kw_per_block >= power.kw:
        raise InputError(
            f"idle_kw_per_block: found {fleet.idle_kw_per_block:g} kW, expected less than the "
            f"{power.kw:g} kW of a running block"
        )
    begin = window.seconds(frame["submit_time"])
    end = begin + frame["duration_s"].to_numpy(np.float64)
    blocks = _blocks(frame["gpu_num"].to_numpy(np.float64), mapping)
    clipped, stop, weight, row = clip_to(begin, end, blocks, 0.0, window.length_s)
    busy = weight > 0
    if not busy.any():
        raise InputError(
            f"window {window.start} to {window.time(window.slots)}: found no GPU job that runs "
            "in it, expected at least one; change start or days"
        )
    jobs = BlockJobs(row[busy], clipped[busy], (stop - clipped)[busy], weight[busy])
    return ComponentLoad(
        window=window,
        jobs=jobs,
        carried_in=int(np.count_nonzero(begin[jobs.row] < 0)),
        kw_per_block=power.kw - fleet.idle_kw_per_block,
        idle_kw=fleet.idle_kw,
        fleet_blocks=fleet.blocks,
        running_blocks=jobs.running(window.step_s, window.slots),
    )


def _blocks(gpu_num: Floats, mapping: BlockMapping) -> Floats:
    share = gpu_num / mapping.gpus_per_block
    return np.ceil(share) if mapping.rule == "whole" else share


@step(Layer.CONSTRUCTED)
def site_load(load: ComponentLoad, overhead: SiteOverhead) -> SiteLoad:
    """Return the load at the site's connection.

    Raises
    ------
    EvidenceError
        If the load is no component load or the overhead was not declared.
    """
    if not isinstance(load, ComponentLoad):
        raise EvidenceError(
            f"rule 'overhead is applied once, to component power': got a {type(load).__name__}; "
            "allowed is a ComponentLoad"
        )
    if not isinstance(overhead, SiteOverhead):
        raise EvidenceError(
            f"rule 'site power needs a declared overhead': got a {type(overhead).__name__}; "
            "allowed is SiteOverhead.of_factor(...)"
        )
    return SiteLoad(
        window=load.window,
        jobs=load.jobs,
        carried_in=load.carried_in,
        kw_per_block=load.kw_per_block * overhead.factor,
        idle_kw=load.idle_kw * overhead.factor,
        fleet_blocks=load.fleet_blocks,
        running_blocks=load.running_blocks,
    )


def require_site_load(load: object) -> SiteLoad:
    """Return the load if it is at the boundary of a supply cap, else raise `EvidenceError`."""
    if not isinstance(load, SiteLoad):
        raise EvidenceError(
            f"rule 'a supply cap is at the site, a profile at its components': got a "
            f"{type(load).__name__}; allowed is site_load(load, SiteOverhead.of_factor(...))"
        )
    return load


def above_cap(power_kw: Floats, cap_kw: float, step_s: float) -> tuple[float, float]:
    """Return the share of time above a cap, and the energy above it, kWh.

    What is above by round-off alone is not above.
    """
    excess = np.where(power_kw > cap_kw * (1 + ROUND_OFF), power_kw - cap_kw, 0.0)
    return float(np.mean(excess > 0)), float(excess.sum()) * step_s / SECONDS_PER_HOUR


def cap_kw(cap: SupplyCap, load: SiteLoad) -> float:
    """Return a supply cap in kW, given the site load without slack.

    Raises
    ------
    EvidenceError
        If ``cap`` is no `SupplyCap`, or ``load`` is component power.
    """
    if not isinstance(cap, SupplyCap):
        raise EvidenceError(
            f"rule 'a supply cap is declared': got a {type(cap).__name__}; "
            "allowed is SupplyCap.of_kw(...) or SupplyCap.of_share(...)"
        )
    power = require_site_load(load).load_kw
    scale = {"kw": 1.0, "mean": float(power.mean()), "peak": float(power.max())}
    return cap.value * scale[cap.relative_to]
