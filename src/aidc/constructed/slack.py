"""Deadlines (the paper's equation 2), which need a slack that the experimenter sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

from aidc.evidence import (
    Carrier,
    Evidence,
    EvidenceError,
    InputError,
    Layer,
    step,
)
from aidc.observed.funnel import JobPool, require_jobs

SECONDS_PER_MINUTE = 60


@dataclass(frozen=True, kw_only=True)
class Slack(Carrier):
    """The extra time s that an experiment gives every job.

    It is an intervention, not a service-level agreement, and no public data hold it.

    Attributes
    ----------
    minutes : float
        At least 0.
    """

    minutes: float

    def __post_init__(self) -> None:
        """Refuse what is no number of minutes of at least 0."""
        if isinstance(self.minutes, (Carrier, pd.Series, np.ndarray)):
            raise EvidenceError(
                f"rule 'slack is set, not observed': got a {type(self.minutes).__name__}; "
                "allowed is a number of minutes that the experimenter chooses"
            )
        number = isinstance(self.minutes, Real) and not isinstance(self.minutes, bool)
        if not (number and math.isfinite(self.minutes) and self.minutes >= 0):
            raise InputError(
                f"slack_min: found {self.minutes!r}, expected minutes of at least 0; give e.g. 30"
            )

    @classmethod
    def of_minutes(cls, minutes: float) -> Slack:
        """Return the experimental setting ``slack_min``.

        Raises
        ------
        InputError
            If it is negative, infinite or no number.
        EvidenceError
            If it is a column or a result, such as historical queue times.
        """
        return cls(minutes=minutes, evidence=Evidence.setting("slack_min"))

    @property
    def seconds(self) -> float:
        """The slack in s."""
        return self.minutes * SECONDS_PER_MINUTE


@dataclass(frozen=True, kw_only=True)
class Deadlines(Carrier):
    """Experimental deadlines of a pool.

    Attributes
    ----------
    frame : DataFrame
        ``line`` (of the job in its file), ``release_time``, ``processing_s``,
        ``deadline_time`` (missing for a job without a submit time).
    slack_min : float
        The slack they hold, min.
    """

    frame: pd.DataFrame
    slack_min: float


@step(Layer.CONSTRUCTED)
def deadlines(pool: JobPool, slack: Slack) -> Deadlines:
    """Return ``d_i = r_i + p_i + s``: submit time plus duration plus slack (equation 2).

    Raises
    ------
    EvidenceError
        If ``slack`` is anything but a `Slack`: historical queue times are no permission
        to wait, and a bare number does not say that it was set.
    InputError
        If the pool is empty.
    """
    if not isinstance(slack, Slack):
        raise EvidenceError(
            f"rule 'deadlines take a slack that was set': got a {type(slack).__name__}; "
            "allowed is Slack.of_minutes(...), never historical queue times"
        )
    require_jobs(pool, "deadlines")
    jobs = pool.jobs
    allowed = pd.to_timedelta(jobs["duration_s"] + slack.seconds, unit="s")
    frame = pd.DataFrame(
        {
            "line": jobs["line"],
            "release_time": jobs["submit_time"],
            "processing_s": jobs["duration_s"],
            "deadline_time": jobs["submit_time"] + allowed,
        }
    )
    return Deadlines(frame=frame, slack_min=slack.minutes)
