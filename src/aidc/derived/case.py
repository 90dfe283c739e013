"""One case: a load, its limits and the storage that may stand beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from aidc.constructed.limits import Reserve, SupplyCap
from aidc.constructed.overlap import Floats
from aidc.constructed.replay import SiteLoad, cap_kw, require_site_load
from aidc.constructed.setting import declared, number
from aidc.constructed.technology import Technology
from aidc.derived.horizon import Horizon
from aidc.evidence import Carrier, EvidenceError, InputError, Layer, step

CYCLIC, FULL = "cyclic", "full"


class HasMinutes(Protocol):
    """The slack of an experiment: a carrier, as it has to say that it was set."""

    @property
    def minutes(self) -> float:
        """Slack in min."""


@dataclass(frozen=True, kw_only=True)
class InitialCharge(Carrier):
    """How the state of charge begins.

    Attributes
    ----------
    rule : str
        ``"cyclic"`` (ends where it begins, at a free level) or ``"full"`` (begins full,
        ends anywhere: gives a full storage away; for comparison with closed forms).
    """

    rule: str = CYCLIC

    def __post_init__(self) -> None:
        if self.rule not in (CYCLIC, FULL):
            raise InputError(f"initial_soc: found {self.rule!r}, expected 'cyclic' or 'full'")

    @classmethod
    def of(cls, rule: str = CYCLIC) -> InitialCharge:
        """Return the experimental setting ``initial_soc``."""
        return cls(rule=rule, evidence=declared("initial_soc"))


@dataclass(frozen=True, kw_only=True)
class StorageCase(Carrier):
    """Everything a model takes as given.

    Attributes
    ----------
    horizon : Horizon
        What work may wait.
    cap_kw : array, shape (slots,)
        Supply cap of each slot.
    technologies : tuple of Technology
        Storage that may be built: one, or two for a hybrid.
    reserve : Reserve
        What has to be kept for an outage.
    cyclic : bool
        Whether the state of charge ends where it begins.
    slack_s : float
        Slack, s.
    load : SiteLoad or None
        The load it was made from: job-level answers need it.
    cap_share : float or None
        The cap over the peak or mean it was set by; None if it was set in kW.
    """

    horizon: Horizon
    cap_kw: Floats
    technologies: tuple[Technology, ...]
    reserve: Reserve
    cyclic: bool
    slack_s: float = 0.0
    load: SiteLoad | None = None
    cap_share: float | None = None

    def time(self, slot: int) -> str:
        """Return how a reader sees the beginning of a slot."""
        if self.load is None:
            return f"hour {slot * self.horizon.step_h:g}"
        return self.load.window.time(slot).strftime("%Y-%m-%d %H:%M")

    def require_jobs(self) -> SiteLoad:
        """Return the load with its jobs, or raise `InputError`."""
        if self.load is None:
            raise InputError("a job-level answer needs a case made from a replay, found an array")
        return self.load


@step(Layer.CONSTRUCTED)
def storage_case(
    load: SiteLoad,
    cap: SupplyCap,
    slack: HasMinutes,
    technologies: tuple[Technology, ...],
    reserve: Reserve,
    initial: InitialCharge,
) -> StorageCase:
    """Collect the settings of one case and check them against each other.

    Parameters
    ----------
    load : SiteLoad
        Replayed load at the site's connection.
    cap : SupplyCap
        At the same boundary.
    slack : carrier with ``minutes``
        Uniform slack, at least 0: set, never taken from historical queues.
    technologies : tuple of Technology
        One, or two for a hybrid.
    reserve : Reserve
        ``Reserve.of_minutes(0)`` for none.
    initial : InitialCharge
        How the state of charge begins.

    Raises
    ------
    EvidenceError
        If the load is component power, or the slack is a bare number.
    InputError
        Naming the setting that cannot be used.
    """
    require_site_load(load)
    if not isinstance(slack, Carrier):
        raise EvidenceError(
            f"rule 'slack is a declared setting': got a bare {type(slack).__name__}; "
            "allowed is the Slack of an experiment"
        )
    minutes = number("slack_min", slack.minutes, "min")
    if not 1 <= len(technologies) <= 2:
        raise InputError(f"technologies: found {len(technologies)}, expected one or two")
    horizon = Horizon.of(load, minutes * 60.0)
    return StorageCase(
        horizon=horizon,
        cap_kw=np.full(horizon.slots, cap_kw(cap, load)),
        technologies=technologies,
        reserve=reserve,
        cyclic=initial.rule == CYCLIC,
        slack_s=minutes * 60.0,
        load=load,
        cap_share=None if cap.relative_to == "kw" else cap.value,
    )


def slot_times(case: StorageCase) -> pd.DatetimeIndex:
    """Return the local time at which each active slot begins."""
    window = case.require_jobs().window
    step = pd.Timedelta(seconds=window.step_s)
    return pd.date_range(window.start, periods=case.horizon.active, freq=step)
