"""Parameters of notebook A3_break_even (section A.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from aidc.constructed.technology import Technology
from aidc.settings.fields import (
    Efficiency,
    Minutes,
    Positive,
    Share,
    registered,
    registered_levels,
)
from aidc.settings.storage import StorageSettings

CHALLENGER, REFERENCE = "sodium-ion", "LFP"


class BreakEvenScan(StorageSettings):
    """Sodium-ion against LFP: scans frozen before the run, no facts about products.

    The parameters without a prefix describe the reference. Both technologies take their
    ranges from the same entries of the registry.
    """

    notebook: ClassVar[str] = "A3_break_even"
    section: ClassVar[str] = "A.3"

    # Its peaks are short, so that power counts beside energy.
    jobs: Literal["pool", "all_started"] = registered(
        "jobs",
        "pool (completed, by the paper's rules) or all_started (whatever became of them)",
        level="pool",
    )
    supply_cap_share: tuple[Positive, ...] = registered_levels(
        "supply_cap_share",
        0.6,
        description="supply caps as shares of the peak load without slack, one case each",
    )
    slack_min: tuple[Minutes, ...] = registered_levels(
        "slack_min",
        *(0, 60),
        description="extra time that every job gets, one case each; no service level",
        min_length=1,
    )
    flexibility: tuple[Literal["malleable"], ...] = Field(
        default=("malleable",),
        min_length=1,
        description="malleable only, since the boundary is exact for it; A2 has the other classes",
        json_schema_extra={"unit": "names"},
    )
    challenger_eta: tuple[Efficiency, ...] = registered_levels(
        "eta_charge",
        description="one-way efficiency of sodium-ion, charging and discharging alike",
        min_length=1,
    )
    challenger_power_to_energy_per_h: tuple[Positive, ...] = registered_levels(
        "power_to_energy_per_h",
        description="largest power for a given nominal energy of sodium-ion",
        min_length=1,
    )
    challenger_soc_min: float = registered(
        "soc_min", "lowest state of charge of sodium-ion", ge=0, le=1
    )
    challenger_soc_max: float = registered(
        "soc_max", "highest state of charge of sodium-ion", ge=0, le=1
    )
    cost_ratio: tuple[Positive, ...] = registered_levels(
        "relative_cost",
        description="cost of sodium-ion over LFP, power and energy alike: scan of the hybrid",
        min_length=1,
    )
    integration_cost_share: tuple[Share, ...] = registered_levels(
        "integration_cost",
        description="extra cost of building both, a share of the hybrid's storage cost",
        min_length=1,
    )

    def _require_consistent(self) -> None:
        super()._require_consistent()
        self.challengers()

    def reference(self) -> Technology:
        """Return the reference technology."""
        return Technology.of(
            REFERENCE,
            eta_charge=self.eta_charge,
            eta_discharge=self.eta_discharge,
            soc_min=self.soc_min,
            soc_max=self.soc_max,
            power_to_energy_per_h=self.power_to_energy_per_h,
        )

    def challengers(self) -> tuple[Technology, ...]:
        """Return every sodium-ion technology of the scan."""
        return tuple(
            Technology.of(
                CHALLENGER,
                eta_charge=eta,
                eta_discharge=eta,
                soc_min=self.challenger_soc_min,
                soc_max=self.challenger_soc_max,
                power_to_energy_per_h=limit,
            )
            for limit in self.challenger_power_to_energy_per_h
            for eta in self.challenger_eta
        )
