"""Limits that no public data hold: supply cap, site overhead, reserve and fleet.

Component power is what an audited profile measures; a supply cap is at the site's
connection. `SiteOverhead` stands between them and is never implied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aidc.constructed.setting import declared, number
from aidc.evidence import Carrier, InputError, Layer, step

SECONDS_PER_HOUR = 3600.0
MINUTES_PER_HOUR = 60.0
WATTS_PER_KW = 1000.0


@dataclass(frozen=True, kw_only=True)
class SiteOverhead(Carrier):
    """Site power over component power, the declared bridge between two boundaries.

    Attributes
    ----------
    factor : float
        At least 1.
    """

    factor: float

    def __post_init__(self) -> None:
        number("site_overhead", self.factor, "site kW per component kW", least=1.0)

    @classmethod
    def of_factor(cls, factor: float) -> SiteOverhead:
        """Return the experimental setting ``site_overhead``."""
        return cls(factor=factor, evidence=declared("site_overhead"))


@dataclass(frozen=True, kw_only=True)
class SupplyCap(Carrier):
    """The most power that the site may draw from outside.

    Attributes
    ----------
    value : float
        In kW, or a share of a statistic of the load; above 0.
    relative_to : str
        ``"kw"``, ``"mean"`` or ``"peak"`` (of the site load without slack).
    """

    value: float
    relative_to: str = "kw"

    def __post_init__(self) -> None:
        if self.relative_to not in ("kw", "mean", "peak"):
            raise InputError(
                f"supply_cap_share: found relative_to={self.relative_to!r}, "
                "expected 'kw', 'mean' or 'peak'"
            )
        name = "supply_cap_kw" if self.relative_to == "kw" else "supply_cap_share"
        unit = "kW" if self.relative_to == "kw" else f"share of the {self.relative_to} load"
        number(name, self.value, unit, above=True)

    @classmethod
    def of_kw(cls, kw: float) -> SupplyCap:
        """Return the experimental setting ``supply_cap_kw``."""
        return cls(value=kw, evidence=declared("supply_cap_kw"))

    @classmethod
    def of_share(cls, share: float, relative_to: str = "peak") -> SupplyCap:
        """Return the experimental setting ``supply_cap_share`` of the mean or peak load."""
        return cls(value=share, relative_to=relative_to, evidence=declared("supply_cap_share"))


@dataclass(frozen=True, kw_only=True)
class Reserve(Carrier):
    """Energy and power kept for an outage: carry a share of the load for some minutes.

    Attributes
    ----------
    minutes : float
        How long; 0 is no reserve.
    share : float
        Share of the running load, 0 to 1.
    """

    minutes: float = 0.0
    share: float = 1.0

    def __post_init__(self) -> None:
        number("reserve_min", self.minutes, "min")
        number("reserve_share", self.share, "share of the running load", most=1.0)

    @classmethod
    def of_minutes(cls, minutes: float, share: float = 1.0) -> Reserve:
        """Return the experimental settings ``reserve_min`` and ``reserve_share``."""
        evidence = declared("reserve_min", "reserve_share")
        return cls(minutes=minutes, share=share, evidence=evidence)

    @property
    def required(self) -> bool:
        """Whether anything has to be kept."""
        return self.minutes > 0 and self.share > 0

    @property
    def hours(self) -> float:
        """The duration in h."""
        return self.minutes / MINUTES_PER_HOUR


@dataclass(frozen=True, kw_only=True)
class Fleet(Carrier):
    """How many counterfactual blocks exist, and what an idle one draws.

    Attributes
    ----------
    blocks : float or None
        None is no limit on concurrent blocks; then idle power cannot be told.
    idle_kw_per_block : float
        Component power of an idle block, kW.
    """

    blocks: float | None = None
    idle_kw_per_block: float = 0.0

    def __post_init__(self) -> None:
        number("idle_kw_per_block", self.idle_kw_per_block, "kW")
        if self.blocks is not None:
            number("fleet_blocks", self.blocks, "blocks", above=True)
        elif self.idle_kw_per_block > 0:
            raise InputError(
                f"idle_kw_per_block: found {self.idle_kw_per_block:g} kW without fleet_blocks, "
                "expected both; an idle power needs a number of blocks, or set it to 0"
            )

    @classmethod
    def of_blocks(cls, blocks: float | None, idle_kw_per_block: float = 0.0) -> Fleet:
        """Return the experimental settings ``fleet_blocks`` and ``idle_kw_per_block``."""
        evidence = declared("fleet_blocks", "idle_kw_per_block")
        return cls(blocks=blocks, idle_kw_per_block=idle_kw_per_block, evidence=evidence)

    @property
    def idle_kw(self) -> float:
        """Component power of the whole fleet when idle, kW."""
        return self.idle_kw_per_block * (self.blocks or 0.0)


@dataclass(frozen=True, kw_only=True)
class BlockMapping(Carrier):
    """How jobs become counterfactual homogeneous blocks.

    Attributes
    ----------
    gpus_per_block : int
        At least 1.
    rule : str
        ``"linear"`` (g GPUs are g / n of a block) or ``"whole"`` (rounded up).
    """

    gpus_per_block: int = 8
    rule: str = "linear"

    def __post_init__(self) -> None:
        number("gpus_per_block", self.gpus_per_block, "GPUs", least=1)
        if self.gpus_per_block != int(self.gpus_per_block):
            raise InputError(
                f"gpus_per_block: found {self.gpus_per_block!r}, expected a whole number"
            )
        if self.rule not in ("linear", "whole"):
            raise InputError(f"block_mapping: found {self.rule!r}, expected 'linear' or 'whole'")

    @classmethod
    def of(cls, gpus_per_block: int = 8, rule: str = "linear") -> BlockMapping:
        """Return the experimental settings ``gpus_per_block`` and ``block_mapping``."""
        evidence = declared("gpus_per_block", "block_mapping")
        return cls(gpus_per_block=gpus_per_block, rule=rule, evidence=evidence)


class HasMeanPower(Protocol):
    """An audited power profile, as far as a replay needs it."""

    @property
    def mean_w(self) -> float:
        """Time-weighted mean component power, W."""


@dataclass(frozen=True, kw_only=True)
class BlockPower(Carrier):
    """Component power of one running block.

    Attributes
    ----------
    kw : float
        Above 0.
    """

    kw: float

    def __post_init__(self) -> None:
        number("power per block", self.kw, "kW", above=True)

    @classmethod
    def of_kw(cls, kw: float) -> BlockPower:
        """Return the power as an experimental setting ``block_kw``, without a profile."""
        return cls(kw=kw, evidence=declared("block_kw"))


@step(Layer.CONSTRUCTED)
def block_power(profile: HasMeanPower) -> BlockPower:
    """Return the power of a block from the mean of an audited profile.

    Raises
    ------
    EvidenceError
        If ``profile`` carries no evidence: `BlockPower.of_kw` declares a setting.
    """
    return BlockPower(kw=profile.mean_w / WATTS_PER_KW)
