"""Evidence, and the carriers and steps that keep it attached to values.

Evidence travels on *carriers* (frozen dataclasses such as a job trace), never on
arrays: array attributes are lost by the first concatenation. A function that makes
one carrier from others is a *step*; it joins their evidence and raises it to its own
layer, so no result can be stronger than the weakest thing it was made from.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Any, ParamSpec, TypeVar

from aidc.evidence.errors import EvidenceError


class Layer(IntEnum):
    """How a value came about; a higher layer depends on more assumptions."""

    OBSERVED = 0
    CONSTRUCTED = 1
    DERIVED = 2

    @property
    def key(self) -> str:
        """Name used in files, e.g. ``"observed"``."""
        return self.name.lower()

    @property
    def chinese(self) -> str:
        """The paper's name of the layer."""
        return ("观测层", "构造层", "推导层")[self]


class Provenance(IntEnum):
    """How well the origin of an input is known; a higher value is weaker."""

    VERIFIED = 0
    UNVERIFIED = 1
    SYNTHETIC = 2

    @property
    def key(self) -> str:
        """Name used in files, e.g. ``"synthetic"``."""
        return self.name.lower()


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What stands behind a value.

    Attributes
    ----------
    layer : Layer
        Observed, constructed or derived.
    provenance : Provenance
        ``VERIFIED`` when the hash of every file equals a registered source,
        ``SYNTHETIC`` as soon as one input was drawn by a stand-in generator.
    inputs : frozenset of str
        Identifiers of everything it depends on: ``"acme-seren"`` (a registered
        source), ``"seren-standin"`` (a stand-in), ``"file:seren:0a1b2c3d4e5f"`` (any
        other file: its dialect and the start of its SHA-256) or
        ``"setting:slack_min"`` (an experimental setting).
    """

    layer: Layer
    provenance: Provenance
    inputs: frozenset[str]

    @property
    def synthetic(self) -> bool:
        """Whether any input is synthetic."""
        return self.provenance is Provenance.SYNTHETIC

    @classmethod
    def setting(cls, name: str) -> Evidence:
        """Return the evidence of a value that the experimenter chose."""
        return cls(Layer.CONSTRUCTED, Provenance.VERIFIED, frozenset({f"setting:{name}"}))

    @classmethod
    def join(cls, parts: Iterable[Evidence]) -> Evidence:
        """Return the evidence of a value that depends on all the parts.

        The weaker layer and provenance win, and inputs are united.

        Raises
        ------
        EvidenceError
            If there are no parts: a value cannot come from nowhere.
        """
        found = list(parts)
        if not found:
            raise EvidenceError(
                "rule 'every value has an origin': no evidence was passed; "
                "allowed are values made by a step from a trace, a profile or a setting"
            )
        return cls(
            layer=max(part.layer for part in found),
            provenance=max(part.provenance for part in found),
            inputs=frozenset().union(*(part.inputs for part in found)),
        )

    def __str__(self) -> str:
        """Return one line for readers, the same in every process."""
        inputs = ", ".join(sorted(self.inputs))
        return f"{self.layer.key} layer · {self.provenance.key} · from {inputs}"

    def raised_to(self, layer: Layer) -> Evidence:
        """Return this evidence at ``layer``, or unchanged if it is there already."""
        return dataclasses.replace(self, layer=max(self.layer, layer))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Carrier:
    """Base of every value that carries evidence.

    Attributes
    ----------
    evidence : Evidence or None
        None only inside a step, which sets it on what the step returns.
    not_evaluable : tuple of str
        Selection steps that the data could not answer and that passed every row
        through. Steps hand it on, and it is shown wherever a result is.
    """

    evidence: Evidence | None = None
    not_evaluable: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting(Carrier):
    """A value that the experimenter chose, such as the coverage of an interval.

    Attributes
    ----------
    name : str
        Name of the parameter.
    value : object
        What was chosen.
    """

    name: str
    value: object

    @classmethod
    def of(cls, name: str, value: object) -> Setting:
        """Return a setting with its evidence."""
        return cls(name=name, value=value, evidence=Evidence.setting(name))


def evidence_of(value: object) -> Evidence:
    """Return the evidence of a carrier.

    Raises
    ------
    EvidenceError
        If ``value`` is no carrier, or was not made by a step.
    """
    if not isinstance(value, Carrier):
        raise EvidenceError(
            "rule 'a number is published with its evidence': "
            f"got a bare {type(value).__name__}; allowed is the carrier it was computed from"
        )
    if value.evidence is None:
        raise EvidenceError(
            "rule 'evidence is set by a step': "
            f"this {type(value).__name__} was built by hand; allowed is the result of a step"
        )
    return value.evidence


def _carriers(value: object) -> Iterator[Carrier]:
    if isinstance(value, Carrier):
        yield value
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _carriers(item)
    elif isinstance(value, dict):
        yield from _carriers(list(value.values()))


P = ParamSpec("P")
R = TypeVar("R", bound=Carrier)


def step(layer: Layer) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as a step of a layer.

    The evidence of all carriers among its arguments (also inside lists, tuples, sets
    and dictionaries) is joined, raised to ``layer`` and set on the carrier it returns.
    What they could not evaluate is handed on, before what the step itself could not.

    Raises
    ------
    EvidenceError
        On a call without any carrier, or if the function returns none.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, kw_only=True)
    ... class Watts(Carrier):
    ...     value: float
    >>> @step(Layer.CONSTRUCTED)
    ... def doubled(watts: Watts) -> Watts:
    ...     return Watts(value=2 * watts.value)
    >>> measured = Evidence(Layer.OBSERVED, Provenance.VERIFIED, frozenset({"meter"}))
    >>> doubled(Watts(value=3.0, evidence=measured)).evidence.layer.key
    'constructed'
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            bound: dict[str, Any] = signature.bind(*args, **kwargs).arguments
            carriers = list(_carriers(bound))
            joined = Evidence.join(evidence_of(c) for c in carriers).raised_to(layer)
            result = function(*args, **kwargs)
            if not isinstance(result, Carrier):
                raise EvidenceError(
                    f"rule 'a step returns a carrier': {function.__name__} returned a bare "
                    f"{type(result).__name__}; allowed is a Carrier"
                )
            everyone: list[Carrier] = [*carriers, result]
            skipped = [name for carrier in everyone for name in carrier.not_evaluable]
            return dataclasses.replace(
                result, evidence=joined, not_evaluable=tuple(dict.fromkeys(skipped))
            )

        return wrapped

    return decorate
