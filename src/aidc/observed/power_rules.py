"""The shape of a power audit's rules: what is asked, of how many, and what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from aidc.observed.aggregate import AggregationRules, TotalPower
from aidc.observed.power import Domain
from aidc.observed.power_clean import CleanProfile, CleanRules
from aidc.observed.rule_count import MAX_EXAMPLES, RuleCount
from aidc.observed.sampling import Sampling


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerAuditSettings:
    """What an audit of power logs is told.

    Attributes
    ----------
    tdp_w : dict of Domain to float
        Design power of one device, W; a domain that is not named is not evaluable.
    cleaning : CleanRules
        What no sound value can be.
    aggregation : AggregationRules
        How logs are added up.
    """

    tdp_w: dict[Domain, float] = dataclasses.field(default_factory=dict)
    cleaning: CleanRules = dataclasses.field(default_factory=CleanRules)
    aggregation: AggregationRules = dataclasses.field(default_factory=AggregationRules)


@dataclasses.dataclass(frozen=True)
class Job:
    """The logs of one job, cleaned, and their sum."""

    logs: tuple[CleanProfile, ...]
    samplings: tuple[Sampling, ...]
    total: TotalPower
    settings: PowerAuditSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuleResult(RuleCount):
    """What one rule found in the logs of a job.

    Attributes
    ----------
    examples : tuple of str
        Up to five of those that failed, with file and line: a job has several files.
    finding : str
        What that means, in a sentence; "" if there is nothing to say.
    """

    examples: tuple[str, ...] = ()
    finding: str = ""


def rules_frame(rules: Iterable[RuleResult]) -> pd.DataFrame:
    """Return rules as a table: id, field, n, not_evaluable, passed, failed, examples."""
    return pd.DataFrame([rule.counts() | {"examples": "; ".join(rule.examples)} for rule in rules])


def where(log: CleanProfile, row: int) -> str:
    """Return file and line of a row of a log's profile."""
    return f"{log.profile.label}, line {log.profile.lines[row]}"


def examples_of(
    log: CleanProfile, rows: npt.NDArray[np.int64] | Sequence[int], text: str
) -> list[str]:
    """Return the first rows as examples."""
    return [f"{where(log, int(row))}: {text}" for row in rows[:MAX_EXAMPLES]]


def count_of(number: int, thing: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_of(1, "gap"), count_of(2300, "row")
    ('1 gap', '2,300 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
