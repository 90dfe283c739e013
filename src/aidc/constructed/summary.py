"""What a replay consists of, and how it depends on the settings of its construction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from aidc.constructed.limits import SECONDS_PER_HOUR, SupplyCap
from aidc.constructed.replay import (
    ComponentLoad,
    HasJobs,
    SiteLoad,
    StartedJobs,
    cap_kw,
    require_site_load,
)
from aidc.constructed.slack import Slack
from aidc.evidence import Carrier, InputError, Layer, Setting, step
from aidc.observed.funnel import JobPool

MEGA = 1000.0


@dataclass(frozen=True, kw_only=True)
class Table(Carrier):
    """A table about one or several replays.

    Attributes
    ----------
    frame : DataFrame
        As the function that made it says; units in the column names.
    """

    frame: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class GpuTime(Table):
    """Jobs and GPU time of the pool and of all started jobs.

    Attributes
    ----------
    pool_share : float
        GPU time of the pool over that of all started jobs.
    started_jobs : int
        How many jobs started.
    """

    pool_share: float
    started_jobs: int


@step(Layer.OBSERVED)
def gpu_time(pool: JobPool, started: StartedJobs) -> GpuTime:
    """Return how much of the GPU time of a trace its pool holds (duration times GPUs)."""
    held = {
        name: float((jobs["duration_s"] * jobs["gpu_num"]).sum()) / SECONDS_PER_HOUR
        for name, jobs in (("pool", pool.jobs), ("all_started", started.jobs))
    }
    frame = pd.DataFrame(
        {
            "jobs": list(held),
            "count": [len(pool.jobs), len(started.jobs)],
            "gpu_time_h": list(held.values()),
            "share": [value / held["all_started"] for value in held.values()],
        }
    )
    return GpuTime(
        frame=frame,
        pool_share=held["pool"] / held["all_started"],
        started_jobs=len(started.jobs),
    )


@dataclass(frozen=True, kw_only=True)
class BlockHours(Carrier):
    """What the energy of a replay is made of.

    Attributes
    ----------
    carried_in_share : float
        Share of the block time that belongs to jobs submitted before the window.
    over_fleet_share : float
        Share of the slots in which more blocks would run than exist; 0 without a fleet.
    idle_energy_share : float
        Share of the energy that blocks draw while idle.
    """

    carried_in_share: float
    over_fleet_share: float
    idle_energy_share: float


@dataclass(frozen=True, kw_only=True)
class ReplayJobs(Carrier):
    """The jobs that a study replays, by a choice that is a setting.

    Attributes
    ----------
    jobs : DataFrame
        Canonical columns.
    """

    jobs: pd.DataFrame


@step(Layer.CONSTRUCTED)
def replay_jobs(source: HasJobs, choice: Setting) -> ReplayJobs:
    """Return the jobs of a source as what they are in a replay: chosen.

    Raises
    ------
    InputError
        If the choice is not the setting ``jobs``.
    """
    if choice.name != "jobs":
        raise InputError(f"jobs: found the setting {choice.name!r}, expected 'jobs'")
    return ReplayJobs(jobs=source.jobs)


@step(Layer.CONSTRUCTED)
def block_hours(source: HasJobs, load: ComponentLoad) -> BlockHours:
    """Return what the energy of a replay is made of; ``source`` is what was replayed."""
    jobs = load.jobs
    held = jobs.blocks * jobs.processing_s
    before = load.window.seconds(source.jobs["submit_time"])[jobs.row] < 0
    over, idle = 0.0, 0.0
    if load.fleet_blocks is not None:
        over = float(np.mean(load.running_blocks > load.fleet_blocks))
        resting = np.maximum(load.fleet_blocks - load.running_blocks, 0.0)
        idle_kw = load.idle_kw / load.fleet_blocks * resting
        idle = float(idle_kw.sum() / load.load_kw.sum())
    return BlockHours(
        carried_in_share=float(held[before].sum() / held.sum()),
        over_fleet_share=over,
        idle_energy_share=idle,
    )


@dataclass(frozen=True, kw_only=True)
class Mappings(Table):
    """A replay under two rules of mapping.

    Attributes
    ----------
    ratio : float
        Mean running blocks under the last rule over those under the first.
    """

    ratio: float


@step(Layer.CONSTRUCTED)
def compare_mappings(loads: Sequence[ComponentLoad]) -> Mappings:
    """Return the running blocks and the mean power of a linear and a whole mapping."""
    if len(loads) != 2:
        raise InputError(f"block_mapping: found {len(loads)} loads, expected linear and whole")
    frame = pd.DataFrame(
        {
            "mapping": ["linear", "whole"],
            "mean_blocks": [load.running_blocks.mean() for load in loads],
            "most_blocks": [load.running_blocks.max() for load in loads],
            "mean_component_kw": [load.load_kw.mean() for load in loads],
        }
    )
    linear, whole = frame["mean_blocks"]
    return Mappings(frame=frame, ratio=float(whole / linear))


@step(Layer.CONSTRUCTED)
def may_run(load: ComponentLoad, slacks: Sequence[Slack]) -> Table:
    """Return the blocks of all jobs between release and deadline, for each slack.

    Returns
    -------
    Table
        ``slack_min``, ``mean_blocks`` and ``most_blocks`` that may run at once in the
        window, ``deadlines_after_window``.
    """
    window, jobs = load.window, load.jobs
    end = jobs.release_s + jobs.processing_s
    rows = []
    for slack in slacks:
        # A deadline may lie behind the window: what is beyond it is not shown.
        beyond = math.ceil(slack.seconds / window.step_s)
        blocks = jobs.allowed(window.step_s, window.slots + beyond, slack.seconds)[: window.slots]
        rows.append(
            {
                "slack_min": slack.minutes,
                "mean_blocks": blocks.mean(),
                "most_blocks": blocks.max(),
                "deadlines_after_window": int(np.sum(end + slack.seconds > window.length_s)),
            }
        )
    return Table(frame=pd.DataFrame(rows))


@dataclass(frozen=True, kw_only=True)
class Caps(Carrier):
    """Supply caps of a site, resolved.

    Attributes
    ----------
    kw : tuple of float
        Each cap, kW.
    """

    kw: tuple[float, ...]


@step(Layer.CONSTRUCTED)
def supply_caps(site: SiteLoad, caps: Sequence[SupplyCap]) -> Caps:
    """Return supply caps in kW, as the site load without slack makes them."""
    return Caps(kw=tuple(cap_kw(cap, site) for cap in caps))


@step(Layer.CONSTRUCTED)
def compare_steps(loads: Sequence[SiteLoad], caps: Caps) -> Table:
    """Return what slots of several lengths show of the same window.

    Returns
    -------
    Table
        For each load and cap: ``slot_min``, ``energy_mwh``, ``highest_kw`` (of the slot
        means), ``cap_kw``, ``time_above_cap`` (a share), ``above_cap_kwh``.
    """
    rows = []
    for load in loads:
        power = require_site_load(load).load_kw
        for cap in caps.kw:
            excess = np.maximum(power - cap, 0.0)
            rows.append(
                {
                    "slot_min": load.window.step_min,
                    "energy_mwh": load.energy_kwh / MEGA,
                    "highest_kw": power.max(),
                    "cap_kw": cap,
                    "time_above_cap": np.mean(power > cap),
                    "above_cap_kwh": excess.sum() * load.window.step_s / SECONDS_PER_HOUR,
                }
            )
    return Table(frame=pd.DataFrame(rows))
