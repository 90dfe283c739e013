"""What a computed field is computed from: which identity holds in the data.

A field such as the duration can mean one thing in the documentation and another in the
file. Nothing here is told which: each field has candidates, and the rows that tell them
apart decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aidc.observed.columns import Mask, Numbers
from aidc.observed.rules import Rows


@dataclass(frozen=True)
class Identity:
    """One reading of a computed field.

    Attributes
    ----------
    text : str
        The right-hand side, e.g. ``"end - start"``.
    needs : tuple of str
        Canonical fields on the right-hand side.
    value : function of Rows
        The right-hand side of each row, in the field's unit; NaN where it has none.
    means : str
        What follows if this reading holds instead of the first one.
    """

    field: str
    text: str
    needs: tuple[str, ...]
    value: Callable[[Rows], Numbers]
    means: str = ""


def _times_gpus(seconds: Callable[[Rows], Numbers]) -> Callable[[Rows], Numbers]:
    return lambda rows: seconds(rows) * rows.numbers("gpu_num")


def _run_time(rows: Rows) -> Numbers:
    return rows.between("start_time", "end_time")


def _turnaround(rows: Rows) -> Numbers:
    return rows.between("submit_time", "end_time")


# The first candidate of a field is what the field is understood to be.
IDENTITIES: Mapping[str, tuple[Identity, ...]] = {
    "duration_s": (
        Identity("duration_s", "end - start", ("start_time", "end_time"), _run_time),
        Identity(
            "duration_s",
            "end - submit",
            ("submit_time", "end_time"),
            _turnaround,
            means="it includes the queue",
        ),
    ),
    "queue_s": (
        Identity(
            "queue_s",
            "start - submit",
            ("submit_time", "start_time"),
            lambda rows: rows.between("submit_time", "start_time"),
        ),
        Identity(
            "queue_s",
            "end - submit",
            ("submit_time", "end_time"),
            _turnaround,
            means="it includes the run",
        ),
    ),
    "gpu_time_s": (
        Identity(
            "gpu_time_s",
            "duration x gpu_num",
            ("duration_s", "gpu_num"),
            _times_gpus(lambda rows: rows.numbers("duration_s")),
        ),
        Identity(
            "gpu_time_s",
            "(end - start) x gpu_num",
            ("start_time", "end_time", "gpu_num"),
            _times_gpus(_run_time),
            means="it does not follow from the duration beside it",
        ),
        Identity(
            "gpu_time_s",
            "(end - submit) x gpu_num",
            ("submit_time", "end_time", "gpu_num"),
            _times_gpus(_turnaround),
            means="it includes the queue and does not follow from the duration beside it",
        ),
    ),
}


@dataclass(frozen=True)
class Reading:
    """How often one reading of a field holds.

    Attributes
    ----------
    field, identity, means : str
        Canonical field, the reading's right-hand side, and what follows from it.
    evaluable, holds : int
        Rows that have every value, and rows among them where both sides agree.
    telling, telling_holds : int
        Rows on which the readings of this field differ from each other, and rows among
        them where this one holds.
    """

    field: str
    identity: str
    means: str
    evaluable: int
    holds: int
    telling: int
    telling_holds: int


def holds(rows: Rows, identity: Identity) -> Mask:
    """Return where both sides of an identity are less than the clock's step apart."""

    def agreeing() -> Mask:
        difference = rows.numbers(identity.field) - identity.value(rows)
        return np.asarray(np.abs(difference) < rows.dialect.resolution_s)

    return rows.once(f"{identity.field} = {identity.text}", agreeing)


def readings(rows: Rows) -> list[Reading]:
    """Return every reading of every computed field that the trace can be asked about."""
    found: list[Reading] = []
    for field, candidates in IDENTITIES.items():
        possible = [c for c in candidates if rows.has(field, *c.needs)]
        if not possible:
            continue
        telling = _telling(rows, possible)
        for identity in possible:
            evaluable = rows.present(field) & ~np.isnan(identity.value(rows))
            agrees = holds(rows, identity)
            found.append(
                Reading(
                    field=field,
                    identity=identity.text,
                    means=identity.means,
                    evaluable=int(np.count_nonzero(evaluable)),
                    holds=int(np.count_nonzero(agrees)),
                    telling=int(np.count_nonzero(telling)),
                    telling_holds=int(np.count_nonzero(agrees & telling)),
                )
            )
    return found


def _telling(rows: Rows, candidates: list[Identity]) -> Mask:
    """Return the rows that have every candidate's value and on which some of them differ."""
    low = high = candidates[0].value(rows)
    for identity in candidates[1:]:
        value = identity.value(rows)
        low, high = np.minimum(low, value), np.maximum(high, value)  # NaN stays NaN
    return rows.present(candidates[0].field) & (high - low >= rows.dialect.resolution_s)
