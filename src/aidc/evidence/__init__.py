"""What a number is allowed to claim: layers, provenance and the rules that join them."""

from aidc.evidence.core import (
    Carrier,
    Evidence,
    Layer,
    Provenance,
    Setting,
    evidence_of,
    step,
)
from aidc.evidence.errors import EvidenceError, InputError

__all__ = [
    "Carrier",
    "Evidence",
    "EvidenceError",
    "InputError",
    "Layer",
    "Provenance",
    "Setting",
    "evidence_of",
    "step",
]
