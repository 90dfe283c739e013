"""Runs: which power logs belong together."""

from __future__ import annotations

import dataclasses

from aidc.observed.power import PowerProfile


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerRun:
    """The power logs of one job.

    Attributes
    ----------
    name, title : str
        For ids and for readers.
    profiles : tuple of PowerProfile
        Every node and domain, each once.
    """

    name: str
    title: str
    profiles: tuple[PowerProfile, ...]
