"""Parameters of notebook A3_break_even (section A.3)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from aidc.constructed.technology import Technology
from aidc.settings.storage import Flexible, Minutes, Positive, StorageSettings

Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Efficiency = Annotated[float, Field(gt=0, le=1)]

CHALLENGER, REFERENCE = "sodium-ion", "LFP"


class BreakEvenScan(StorageSettings):
    """Sodium-ion against LFP: scans frozen before the run, no facts about products.

    The parameters without a prefix describe the reference.
    """

    notebook: ClassVar[str] = "A3_break_even"
    section: ClassVar[str] = "A.3"

    step_min: float = Field(
        default=15.0,
        gt=0,
        allow_inf_nan=False,
        description="length of a slot; divides a day; a longer one hides peaks",
        json_schema_extra={"unit": "min"},
    )
    slack_min: tuple[Minutes, ...] = Field(
        default=(0.0, 30.0),
        min_length=1,
        description="extra time that every job gets, one case each; no service level",
        json_schema_extra={"unit": "min"},
    )
    supply_cap_share: tuple[Positive, ...] = Field(
        default=(0.6,),
        description="supply caps as shares of the peak of the load without slack",
        json_schema_extra={"unit": "share of peak"},
    )
    flexibility: tuple[Flexible, ...] = Field(
        default=("malleable",),
        min_length=1,
        description="malleable only: the boundary is exact for it",
        json_schema_extra={"unit": "names"},
    )
    challenger_eta: tuple[Efficiency, ...] = Field(
        default=(0.85, 0.9, 0.95),
        min_length=1,
        description="one-way efficiency of sodium-ion, charging and discharging alike",
        json_schema_extra={"unit": "-"},
    )
    challenger_power_to_energy_per_h: tuple[Positive, ...] = Field(
        default=(0.125, 0.25, 0.5),
        min_length=1,
        description="most power per nominal energy of sodium-ion",
        json_schema_extra={"unit": "1/h"},
    )
    challenger_soc_min: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="least state of charge of sodium-ion",
        json_schema_extra={"unit": "share of nominal energy"},
    )
    challenger_soc_max: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="highest state of charge of sodium-ion",
        json_schema_extra={"unit": "share of nominal energy"},
    )
    cost_ratio: tuple[Positive, ...] = Field(
        default=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
        min_length=1,
        description="cost of sodium-ion over LFP, power and energy alike: scan of the hybrid",
        json_schema_extra={"unit": "-"},
    )
    integration_cost_share: tuple[Share, ...] = Field(
        default=(0.0, 0.05, 0.1),
        min_length=1,
        description="extra cost of building both, a share of the hybrid's storage cost",
        json_schema_extra={"unit": "-"},
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
