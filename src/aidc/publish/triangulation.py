"""Which published counts can be checked without the file, and what the check says.

Several texts publish counts of the same jobs. Where one follows from others, they can be
held against each other; nothing here is typed in, every figure comes from the registry of
claims. Agreement says that texts agree, not that the file was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from aidc.evidence.registry import Claim, load_claims
from aidc.publish.format import display_number

Values = Mapping[str, float]


class Agreement(StrEnum):
    """What a check without the file says about a published figure."""

    AGREES = "agrees"
    DIFFERS = "differs"
    BOUNDED = "within the bound, not settled"
    UNCHECKED = "needs the file"


@dataclass(frozen=True)
class Check:
    """A published figure, and how others lead to it.

    Attributes
    ----------
    claim : str
        Id of the claim that is checked.
    by : tuple of str
        Ids of the claims that it is computed from.
    how : str
        The computation in words.
    computed : function
        The computation, from the values of the claims ``by``.
    checked : function, optional
        What of ``claim`` is compared, if it is not the figure itself (a share of it, say);
        from the values of all claims involved.
    bound : bool
        Whether the computation only gives the largest value that the figure can have.
    """

    claim: str
    by: tuple[str, ...]
    how: str
    computed: Callable[[Values], float]
    checked: Callable[[Values], float] | None = None
    bound: bool = False


_SEREN_TYPES = tuple(
    f"figures.seren.gpu_jobs.{kind}"
    for kind in ("eval", "sft", "other", "mllm", "debug", "pretrain")
)
_ALL_GPU = "figures.seren.gpu_jobs.all"

CHECKS: tuple[Check, ...] = (
    Check(
        "pool.rows_total",
        (_ALL_GPU, "summary.seren.cpu_jobs"),
        "GPU jobs of the figures plus CPU jobs of the summary table",
        lambda v: v[_ALL_GPU] + v["summary.seren.cpu_jobs"],
    ),
    Check(
        _ALL_GPU,
        _SEREN_TYPES,
        "sum over the six types, each from its own figure",
        lambda v: sum(v[kind] for kind in _SEREN_TYPES),
    ),
    Check(
        "pool.completed",
        ("summary.seren.completed_cpu_share", "summary.seren.cpu_jobs", "pool.completed_gpu"),
        "share of CPU jobs completed: completed less completed GPU jobs, over the CPU jobs",
        lambda v: v["summary.seren.completed_cpu_share"],
        lambda v: (v["pool.completed"] - v["pool.completed_gpu"]) / v["summary.seren.cpu_jobs"],
    ),
    Check(
        "pool.completed_gpu",
        ("reported.seren.completed_gpu_share", _ALL_GPU),
        "share of GPU jobs completed, as third parties report it",
        lambda v: v["reported.seren.completed_gpu_share"],
        lambda v: v["pool.completed_gpu"] / v[_ALL_GPU],
    ),
    Check(
        "pool.jobs",
        ("pool.completed_gpu", "pool.zero_duration"),
        "completed GPU jobs less those of zero duration",
        lambda v: v["pool.completed_gpu"] - v["pool.zero_duration"],
    ),
    Check(
        "pool.zero_duration",
        ("figures.seren.gpu_duration_le_1s",),
        "no more than the GPU jobs of at most 1 s, in whatever state",
        lambda v: v["figures.seren.gpu_duration_le_1s"],
        bound=True,
    ),
    Check(
        "card.jobs",
        ("pool.rows_total", "summary.kalos.jobs"),
        "Seren's rows plus Kalos' jobs of the summary table",
        lambda v: v["pool.rows_total"] + v["summary.kalos.jobs"],
    ),
    Check(
        "card.gpu_jobs",
        (_ALL_GPU, "summary.kalos.gpu_jobs"),
        "Seren's GPU jobs of the figures plus Kalos' of the summary table",
        lambda v: v[_ALL_GPU] + v["summary.kalos.gpu_jobs"],
    ),
    Check(
        "summary.seren.jobs",
        ("pool.rows_total",),
        "rows of the released file",
        lambda v: v["pool.rows_total"],
    ),
    Check(
        "summary.seren.gpu_jobs",
        (_ALL_GPU,),
        "GPU jobs of the figures",
        lambda v: v[_ALL_GPU],
    ),
    Check(
        "summary.seren.completed_gpu_share",
        ("pool.completed_gpu", _ALL_GPU),
        "completed GPU jobs over the GPU jobs of the figures",
        lambda v: v["pool.completed_gpu"] / v[_ALL_GPU],
    ),
)


@dataclass(frozen=True)
class Triangulated:
    """A check with its outcome; ``computed`` and ``compared`` are in the same unit.

    ``check`` is None where no other figure leads to the claim.
    """

    claim: Claim
    check: Check | None
    compared: float | None
    computed: float | None
    agreement: Agreement


def triangulate(claims: Mapping[str, Claim] | None = None) -> list[Triangulated]:
    """Return the outcome of every check, and the pool's claims that nothing else leads to.

    Parameters
    ----------
    claims : mapping of str to Claim, optional
        The registry; default ``data/registry/claims.yml``.

    Raises
    ------
    KeyError
        If a claim that a check needs is not registered.
    """
    known = load_claims() if claims is None else claims
    outcomes = [_outcome(check, known) for check in CHECKS]
    return [*outcomes, *_unchecked(known, {check.claim for check in CHECKS})]


def triangulation_table(outcomes: list[Triangulated]) -> pd.DataFrame:
    """Return outcomes as a table of texts: claim, published, how, compared, computed, verdict."""
    rows = [
        {
            "claim": one.claim.id,
            "published": _shown(one.claim.value),
            "unit": one.claim.unit,
            "how": one.check.how if one.check else "no other published figure leads to it",
            "from": ", ".join(one.check.by) if one.check else "",
            "compared": _shown(one.compared),
            "computed": _shown(one.computed),
            "difference": _difference(one),
            "verdict": one.agreement.value,
        }
        for one in outcomes
    ]
    return pd.DataFrame(rows)


def _outcome(check: Check, claims: Mapping[str, Claim]) -> Triangulated:
    claim = claims[check.claim]
    involved = [claim, *(claims[name] for name in check.by)]
    values = {one.id: float(one.value) for one in involved}
    computed = check.computed(values)
    compared = float(claim.value) if check.checked is None else check.checked(values)
    # A share that is compared is only as sharp as the published share.
    tolerance = max(one.tolerance for one in involved)
    if check.bound:
        agreement = Agreement.BOUNDED if compared <= computed + tolerance else Agreement.DIFFERS
    else:
        agrees = abs(compared - computed) <= tolerance
        agreement = Agreement.AGREES if agrees else Agreement.DIFFERS
    return Triangulated(claim, check, compared, computed, agreement)


def _unchecked(claims: Mapping[str, Claim], checked: set[str]) -> Iterator[Triangulated]:
    for claim in claims.values():
        if claim.section == "3.1" and claim.id not in checked:
            yield Triangulated(claim, None, None, None, Agreement.UNCHECKED)


def _shown(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return display_number(value)


def _difference(one: Triangulated) -> str:
    if one.compared is None or one.computed is None:
        return ""
    return "0" if one.compared == one.computed else display_number(one.compared - one.computed)
