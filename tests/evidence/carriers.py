"""Small carriers for tests."""

import dataclasses

from aidc.evidence import Carrier, Evidence, Layer, Provenance


@dataclasses.dataclass(frozen=True, kw_only=True)
class Amount(Carrier):
    """A carrier with one value."""

    value: float = 0.0


def amount(
    *inputs: str,
    layer: Layer = Layer.OBSERVED,
    provenance: Provenance = Provenance.VERIFIED,
    not_evaluable: tuple[str, ...] = (),
) -> Amount:
    """Return a carrier as a step would have made it."""
    evidence = Evidence(layer, provenance, frozenset(inputs or ("a-source",)))
    return Amount(evidence=evidence, not_evaluable=not_evaluable)
