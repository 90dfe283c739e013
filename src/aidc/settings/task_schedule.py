"""Parameters of notebook A1_task_schedule (section A.1)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aidc.evidence import InputError
from aidc.settings.fields import Minutes, Positive, registered, registered_levels
from aidc.settings.storage import StorageSettings


class TaskSchedule(StorageSettings):
    """One window, one slack, one cap, one storage: what each class of flexibility makes of it."""

    notebook: ClassVar[str] = "A1_task_schedule"
    section: ClassVar[str] = "A.1"

    slack_min: tuple[Minutes, ...] = registered_levels(
        "slack_min",
        60,
        description="extra time that every job gets, one value; no service level",
        min_length=1,
    )
    supply_cap_share: tuple[Positive, ...] = registered(
        "supply_cap_share",
        "supply cap as a share of the peak load without slack, one value",
        listed=True,
    )
    storage_power_kw: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="power of the storage; none: the least that malleable jobs need",
        json_schema_extra={"unit": "kW"},
    )
    storage_energy_kwh: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="nominal energy of the storage; none: the least that malleable jobs need",
        json_schema_extra={"unit": "kWh"},
    )

    def _require_consistent(self) -> None:
        super()._require_consistent()
        self._require_one(
            "slack_min", "supply_cap_kw" if self.supply_cap_kw else "supply_cap_share"
        )
        if (self.storage_power_kw is None) != (self.storage_energy_kwh is None):
            raise InputError(
                f"{self.notebook}: found one of storage_power_kw and storage_energy_kwh, expected "
                "both or none"
            )
