"""What the three notebooks of the derived layer share: a replayed load beside a storage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from aidc.constructed.replay import StartedJobs, started_jobs
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.case import InitialCharge
from aidc.evidence import InputError
from aidc.observed.funnel import JobPool, PoolRules, select_pool
from aidc.observed.trace import JobTrace
from aidc.settings.fields import registered
from aidc.settings.replay import ReplaySettings

# As in aidc.derived, whose import would make every command wait for the solvers.
Flexible = Literal["malleable", "on_off", "rigid"]
SolverName = Literal["HIGHS", "CLARABEL"]


class StorageSettings(ReplaySettings):
    """The load of the replay under its limits, beside which storage."""

    initial_soc: Literal["cyclic", "full"] = Field(
        default="cyclic",
        description="cyclic (ends where it begins, at a free level) or full (free end)",
        json_schema_extra={"unit": "name"},
    )
    eta_charge: float = registered("eta_charge", gt=0, le=1)
    eta_discharge: float = registered("eta_discharge", gt=0, le=1)
    soc_min: float = registered("soc_min", ge=0, le=1)
    soc_max: float = registered("soc_max", ge=0, le=1)
    power_to_energy_per_h: float | None = registered(
        "power_to_energy_per_h",
        "largest power for a given nominal energy; none is no limit",
        gt=0,
        allow_inf_nan=False,
    )
    weight_power: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="relative cost of one kW of storage",
        json_schema_extra={"unit": "per kW"},
    )
    weight_energy: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="relative cost of one kWh of storage (nominal)",
        json_schema_extra={"unit": "per kWh"},
    )
    flexibility: tuple[Flexible, ...] = Field(
        default=("malleable", "on_off", "rigid"),
        min_length=1,
        description="what jobs let be done to them; the trace says nothing about it",
        json_schema_extra={"unit": "names"},
    )
    time_limit_s: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="most time for each schedule of whole jobs",
        json_schema_extra={"unit": "s"},
    )
    solver: SolverName = Field(
        default="HIGHS",
        description="HIGHS or CLARABEL; schedules of whole jobs always take HIGHS",
        json_schema_extra={"unit": "name"},
    )
    seed: int = Field(
        default=0,
        ge=0,
        description="by which HiGHS breaks ties; optimal costs do not depend on it",
        json_schema_extra={"unit": "-"},
    )

    @field_validator("solver", mode="before")
    @classmethod
    def _solver_in_capitals(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("flexibility")
    @classmethod
    def _classes_in_order(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in ("malleable", "on_off", "rigid") if name in values)

    def _require_consistent(self) -> None:
        super()._require_consistent()
        self.technology()
        self.weights()

    def _require_one(self, *names: str) -> None:
        for name in names:
            if len(getattr(self, name)) != 1:
                raise InputError(
                    f"{self.notebook}: {name}: found {len(getattr(self, name))} values, expected "
                    "one; 'python -m aidc sweep' runs several"
                )

    def offered(self, trace: JobTrace) -> JobPool | StartedJobs:
        """Return the jobs that are replayed."""
        return select_pool(trace, PoolRules()) if self.jobs == "pool" else started_jobs(trace)

    def initial(self) -> InitialCharge:
        """Return how the state of charge begins."""
        return InitialCharge.of(self.initial_soc)

    def technology(self) -> Technology:
        """Return the declared technology."""
        return Technology.of(
            "storage",
            eta_charge=self.eta_charge,
            eta_discharge=self.eta_discharge,
            soc_min=self.soc_min,
            soc_max=self.soc_max,
            power_to_energy_per_h=self.power_to_energy_per_h,
        )

    def weights(self) -> CostWeights:
        """Return the declared weights."""
        return CostWeights.of(self.weight_power, self.weight_energy)
