"""The power of a running block second by second, and the load it makes on one day.

Slot averages use the mean power of a block. What they hide is looked at here, at one
second: every job repeats the template from its own start, all its blocks together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from aidc.constructed.limits import WATTS_PER_KW, SiteOverhead
from aidc.constructed.overlap import Floats
from aidc.constructed.replay import ROUND_OFF, ComponentLoad, HasJobs, above_cap
from aidc.constructed.setting import declared, number
from aidc.evidence import Carrier, EvidenceError, InputError, Layer, step


class HasPowerSeries(Protocol):
    """The audited power of one block, as far as a template needs it."""

    @property
    def times_s(self) -> Floats:
        """Time since the start, s, never decreasing, shape (n,)."""

    @property
    def watts(self) -> Floats:
        """Component power at each time, W, linear in between, shape (n,)."""


@dataclass(frozen=True, kw_only=True)
class PowerTemplate(Carrier):
    """Component power of a running block over one period.

    Attributes
    ----------
    kw : array, shape (seconds,)
        Mean power of each second, kW; it starts anew after the last.
    """

    kw: Floats

    @property
    def mean_w(self) -> float:
        """Mean power, W."""
        return float(self.kw.mean()) * WATTS_PER_KW

    @classmethod
    def of_two_levels(
        cls, block_kw: float, peak_ratio: float, high_share: float, period_s: float
    ) -> PowerTemplate:
        """Return a declared template: an upper level, then a lower one, with a given mean.

        Parameters
        ----------
        block_kw : float
            Mean power, kW.
        peak_ratio : float
            Upper level over the mean, at least 1.
        high_share : float
            Share of the period at the upper level, rounded to whole seconds.
        period_s : float
            Whole seconds, at least 2.

        Raises
        ------
        InputError
            If the lower level would be below zero, or a value is out of range.
        """
        number("block_kw", block_kw, "kW", above=True)
        number("template_peak_ratio", peak_ratio, "ratio", least=1.0)
        number("template_high_share", high_share, "share", above=True, most=1.0)
        number("template_period_s", period_s, "s", least=2)
        seconds = round(period_s)
        high = min(max(round(high_share * seconds), 1), seconds - 1)
        low = (1 - peak_ratio * high / seconds) / (1 - high / seconds)
        if low < 0:
            raise InputError(
                f"template_peak_ratio: found {peak_ratio:g} for {high_share:g} of the time, "
                f"expected at most {seconds / high:.3g}, above which the lower level is negative"
            )
        kw = block_kw * np.repeat([peak_ratio, low], [high, seconds - high])
        names = ("block_kw", "template_peak_ratio", "template_high_share", "template_period_s")
        return cls(kw=kw, evidence=declared(*names))


@step(Layer.CONSTRUCTED)
def power_template(series: HasPowerSeries) -> PowerTemplate:
    """Return the template of an audited series: the mean of each of its whole seconds.

    The series is the power of *one* block. Its linear interpolation is integrated
    exactly; a last part of a second is left out.

    Raises
    ------
    EvidenceError
        If ``series`` carries no evidence: `PowerTemplate.of_two_levels` declares one.
    InputError
        If it is shorter than two seconds.
    """
    times = np.asarray(series.times_s, dtype=np.float64)
    watts = np.asarray(series.watts, dtype=np.float64)
    seconds = int(times[-1] - times[0]) if times.size else 0
    if seconds < 2:
        raise InputError(f"power: found a series of {seconds} s, expected at least 2 s")
    at = times[0] + np.arange(seconds + 1, dtype=np.float64)
    grid = np.union1d(times, at)
    power = np.interp(grid, times, watts)
    energy = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(grid))])
    return PowerTemplate(kw=np.diff(np.interp(at, grid, energy)) / WATTS_PER_KW)


@dataclass(frozen=True, kw_only=True)
class SecondLoad(Carrier):
    """Site load of a window at one second.

    Attributes
    ----------
    start : Timestamp
        Local time of the trace.
    flat_kw : array, shape (seconds,)
        With the mean power of a block.
    kw : array, shape (seconds,)
        With the template's own shape.
    """

    start: pd.Timestamp
    flat_kw: Floats
    kw: Floats

    def averages(self, step_s: int, *, flat: bool = False) -> Floats:
        """Return the mean of every ``step_s`` seconds, kW; it divides the window."""
        power = self.flat_kw if flat else self.kw
        means: Floats = power.reshape(-1, step_s).mean(axis=1)
        return means

    def above(self, cap_kw: float, step_s: int) -> tuple[float, float]:
        """Return the share of time above a cap and the energy above it, kWh."""
        return above_cap(self.averages(step_s), cap_kw, step_s)

    def hidden_share(self, step_s: int) -> float:
        """Return how far the highest mean is below the highest second, as a share of it.

        What differs by round-off alone is equal.
        """
        hidden = 1.0 - float(self.averages(step_s).max()) / float(self.kw.max())
        return hidden if hidden > ROUND_OFF else 0.0


@step(Layer.CONSTRUCTED)
def second_load(
    source: HasJobs, load: ComponentLoad, template: PowerTemplate, overhead: SiteOverhead
) -> SecondLoad:
    """Return the load of a window at one second, with and without the template's shape.

    Parameters
    ----------
    source : HasJobs
        The jobs that were replayed: a job that runs into the window is in the middle of
        its template, so its true release counts.
    load : ComponentLoad
        Their replay with slots of 1 s and the template's mean power.

    Raises
    ------
    EvidenceError
        If ``load`` is not component power: the overhead is applied here.
    InputError
        If the slots of ``load`` are not 1 s, or its power is not the template's mean.
    """
    if not isinstance(load, ComponentLoad):
        raise EvidenceError(
            f"rule 'overhead is applied once, to component power': got a {type(load).__name__}; "
            "allowed is a ComponentLoad"
        )
    running_kw = load.kw_per_block + load.idle_kw / (load.fleet_blocks or 1.0)
    if round(load.window.step_s, 6) != 1:
        raise InputError(f"step: found {load.window.step_s:g} s, expected a replay with 1 s")
    if not np.isclose(running_kw, template.mean_w / WATTS_PER_KW):
        raise InputError(
            f"template: found a mean of {template.mean_w / WATTS_PER_KW:g} kW, expected the "
            f"{running_kw:g} kW that the blocks were replayed with"
        )
    swing = _swing(source, load, template)
    flat = load.load_kw
    return SecondLoad(
        start=load.window.start,
        flat_kw=flat * overhead.factor,
        kw=(flat + swing) * overhead.factor,
    )


def _swing(source: HasJobs, load: ComponentLoad, template: PowerTemplate) -> Floats:
    """Return what the template's shape adds to its mean in each second, kW."""
    deviation = template.kw - template.kw.mean()
    jobs = load.jobs
    began = np.floor(load.window.seconds(source.jobs["submit_time"])[jobs.row])
    phase = (np.floor(jobs.release_s) - began).astype(np.int64) % deviation.size
    end = jobs.release_s + jobs.processing_s
    first = np.floor(jobs.release_s).astype(np.int64)
    last = np.minimum(np.ceil(end), load.window.slots).astype(np.int64)
    swing = np.zeros(load.window.slots)
    for at, stop, shift, begin, finish, blocks in zip(
        first, last, phase, jobs.release_s, end, jobs.blocks, strict=True
    ):
        shape = np.resize(np.roll(deviation, -shift), stop - at) * blocks
        # A job that starts or ends inside a second holds only its part of it.
        if stop - at == 1:
            shape *= finish - begin
        else:
            shape[0] *= at + 1 - begin
            shape[-1] *= finish - (stop - 1)
        swing[at:stop] += shape
    return swing
