"""What the replay and the derived layer share: which load, and under which limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

from pydantic import field_validator

from aidc.constructed.limits import BlockMapping, Fleet, Reserve, SiteOverhead, SupplyCap
from aidc.constructed.slack import Slack
from aidc.constructed.window import ReplayWindow
from aidc.evidence import InputError
from aidc.settings.base import NotebookSettings
from aidc.settings.fields import (
    Blocks,
    Minutes,
    Positive,
    registered,
    registered_levels,
)
from aidc.settings.power_name import PowerName
from aidc.settings.trace_name import TraceName


class ReplaySettings(NotebookSettings):
    """Which jobs on which blocks, when, and under which limits.

    Every default but that of ``trace`` is one of ``data/registry/scans.yml``, so that all
    notebooks study the same load unless they are told otherwise.
    """

    trace: TraceName = "seren-standin"
    jobs: Literal["pool", "all_started"] = registered(
        "jobs", "pool (completed, by the paper's rules) or all_started (whatever became of them)"
    )
    start: str = registered("start", "start of the window, in the trace's local time")
    days: float = registered("days", gt=0, allow_inf_nan=False)
    step_min: float = registered(
        "step_min",
        "length of a slot, divides a day; a longer one hides peaks",
        gt=0,
        allow_inf_nan=False,
    )
    gpus_per_block: int = registered(
        "gpus_per_block", "GPUs in a counterfactual block, as many as the power log covers", ge=1
    )
    block_mapping: Literal["linear", "whole"] = registered(
        "block_mapping", "linear (g GPUs are g/n of a block) or whole (rounded up)"
    )
    power: PowerName = registered(
        "power",
        "power of a running block: nlr-standin (synthetic), nlr, or path(s) of power logs, "
        "whose first run is taken",
    )
    fleet_blocks: Blocks = registered("fleet_blocks", "blocks that exist; none or 0 is no limit")
    idle_kw_per_block: float = registered(
        "idle_kw_per_block",
        "component power of an idle block; needs fleet_blocks",
        ge=0,
        allow_inf_nan=False,
    )
    site_overhead: float = registered("site_overhead", ge=1, allow_inf_nan=False)
    supply_cap_share: tuple[Positive, ...] = registered(
        "supply_cap_share", "supply caps as shares of the peak load without slack", listed=True
    )
    supply_cap_kw: tuple[Positive, ...] = registered(
        "supply_cap_kw", "supply caps; they take the place of supply_cap_share", listed=True
    )
    slack_min: tuple[Minutes, ...] = registered_levels(
        "slack_min",
        description="extra time that every job gets; no service level",
        min_length=1,
    )
    reserve_min: float = registered(
        "reserve_min",
        "for so long the storage alone could carry the running load; 0 is none",
        ge=0,
        allow_inf_nan=False,
    )

    @field_validator("slack_min", "supply_cap_kw", "supply_cap_share")
    @classmethod
    def _in_order(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sorted(set(values)))

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Return checked settings, also against each other.

        Raises
        ------
        InputError
            One line, before anything is computed.
        """
        settings = super().parse(values)
        settings._require_consistent()
        return settings

    def _require_consistent(self) -> None:
        self.window()
        self.fleet()
        if self.supply_cap_kw and "supply_cap_share" in self.changed():
            raise InputError(
                f"{self.notebook}: found supply_cap_kw and supply_cap_share, expected one of them"
            )
        if not self.supply_cap_kw and not self.supply_cap_share:
            raise InputError(
                f"{self.notebook}: found no supply cap, expected supply_cap_kw or supply_cap_share"
            )

    def window(self, step_min: float | None = None) -> ReplayWindow:
        """Return the declared window, or the same with slots of another length."""
        return ReplayWindow.of(self.start, self.days, step_min or self.step_min)

    def mapping(self, rule: str | None = None) -> BlockMapping:
        """Return how jobs become blocks, or how they would under another rule."""
        return BlockMapping.of(self.gpus_per_block, rule or self.block_mapping)

    def fleet(self) -> Fleet:
        """Return the blocks that exist and what an idle one draws."""
        return Fleet.of_blocks(self.fleet_blocks, self.idle_kw_per_block)

    def overhead(self) -> SiteOverhead:
        """Return what leads from component power to site power."""
        return SiteOverhead.of_factor(self.site_overhead)

    def caps(self) -> tuple[SupplyCap, ...]:
        """Return the supply caps, in kW if any is given, else as shares of the peak."""
        make: Callable[[float], SupplyCap] = SupplyCap.of_kw
        if not self.supply_cap_kw:
            make = SupplyCap.of_share
        return tuple(make(value) for value in self.supply_cap_kw or self.supply_cap_share)

    def slacks(self) -> tuple[Slack, ...]:
        """Return the declared slacks."""
        return tuple(Slack.of_minutes(minutes) for minutes in self.slack_min)

    def reserve(self) -> Reserve:
        """Return the declared reserve: all of the running load for some minutes."""
        return Reserve.of_minutes(self.reserve_min)
