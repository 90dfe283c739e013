"""What a replay consists of, and how it depends on the settings of its construction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from aidc.constructed.limits import SECONDS_PER_HOUR, SiteOverhead, SupplyCap
from aidc.constructed.replay import (
    ComponentLoad,
    HasJobs,
    SiteLoad,
    StartedJobs,
    above_cap,
    cap_kw,
    require_site_load,
    site_load,
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
class CarriedIn(Carrier):
    """What the jobs submitted before a window hold of it.

    Attributes
    ----------
    block_time_share : float
        Share of the block time of all jobs.
    """

    block_time_share: float


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
def carried_in(source: HasJobs, load: ComponentLoad) -> CarriedIn:
    """Return what earlier jobs hold of a window; ``source`` is what was replayed."""
    jobs = load.jobs
    held = jobs.blocks * jobs.processing_s
    before = load.window.seconds(source.jobs["submit_time"])[jobs.row] < 0
    return CarriedIn(block_time_share=float(held[before].sum() / held.sum()))


@step(Layer.CONSTRUCTED)
def compare_fleets(loads: Sequence[ComponentLoad], overhead: SiteOverhead) -> Table:
    """Return what a number of blocks, and their idle power, add to the same jobs.

    Returns
    -------
    Table
        For each load, equal ones once: ``fleet_blocks`` (``"none"`` without a limit),
        ``idle_kw_per_block`` (component power), ``mean_kw`` and ``highest_kw`` of the
        site, ``idle_energy_share`` (drawn by idle blocks), ``over_fleet_time_share`` (of
        slots in which more blocks would run than exist).
    """
    rows = []
    for load in loads:
        site, blocks = site_load(load, overhead).load_kw, load.fleet_blocks
        idle_kw = load.idle_kw / blocks if blocks else 0.0
        resting = np.maximum((blocks or 0.0) - load.running_blocks, 0.0)
        rows.append(
            {
                "fleet_blocks": f"{blocks:g}" if blocks else "none",
                "idle_kw_per_block": idle_kw,
                "mean_kw": site.mean(),
                "highest_kw": site.max(),
                "idle_energy_share": idle_kw * resting.sum() / load.load_kw.sum(),
                "over_fleet_time_share": np.mean(load.running_blocks > (blocks or np.inf)),
            }
        )
    return Table(frame=pd.DataFrame(rows).drop_duplicates(ignore_index=True))


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
            time_share, energy_kwh = above_cap(power, cap, load.window.step_s)
            rows.append(
                {
                    "slot_min": load.window.step_min,
                    "energy_mwh": load.energy_kwh / MEGA,
                    "highest_kw": power.max(),
                    "cap_kw": cap,
                    "time_above_cap": time_share,
                    "above_cap_kwh": energy_kwh,
                }
            )
    return Table(frame=pd.DataFrame(rows))
