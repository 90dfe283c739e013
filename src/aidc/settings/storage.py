"""What the three notebooks of the derived layer share: a replayed load and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator

from aidc.catalog.power import check_power_name
from aidc.catalog.trace import check_trace_name
from aidc.constructed.limits import BlockMapping, Fleet, Reserve, SiteOverhead, SupplyCap
from aidc.constructed.replay import StartedJobs, started_jobs
from aidc.constructed.slack import Slack
from aidc.constructed.technology import CostWeights, Technology
from aidc.constructed.window import ReplayWindow
from aidc.derived.case import InitialCharge
from aidc.evidence import InputError
from aidc.observed.funnel import JobPool, PoolRules, select_pool
from aidc.observed.trace import JobTrace
from aidc.settings.base import NotebookSettings

Minutes = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# As in aidc.derived, whose import would make every command wait for the solvers.
Flexible = Literal["malleable", "on_off", "rigid"]
SolverName = Literal["HIGHS", "CLARABEL"]


def _unit(unit: str) -> dict[str, Any]:
    return {"unit": unit}


class StorageSettings(NotebookSettings):
    """Which jobs on which blocks, under which limits, beside which storage."""

    trace: str = Field(
        default="seren-standin",
        description="seren-standin (synthetic), seren, kalos, or the path of a trace file",
        json_schema_extra=_unit("key or path"),
    )
    power: str = Field(
        default="nlr-standin",
        description="power of one block: nlr-standin (synthetic) or the path of a power log",
        json_schema_extra=_unit("key or path"),
    )
    start: str = Field(
        default="2023-05-01",
        description="when the window begins, local time of the trace",
        json_schema_extra=_unit("date or time"),
    )
    days: float = Field(
        default=7.0,
        gt=0,
        allow_inf_nan=False,
        description="length of the window",
        json_schema_extra=_unit("d"),
    )
    step_min: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="length of a slot; divides a day; a longer one hides peaks",
        json_schema_extra=_unit("min"),
    )
    slack_min: tuple[Minutes, ...] = Field(
        default=(0.0, 60.0, 120.0, 240.0),
        min_length=1,
        description="extra time that every job gets, one case each; no service level",
        json_schema_extra=_unit("min"),
    )
    supply_cap_kw: tuple[Positive, ...] = Field(
        default=(),
        description="supply caps, one case each; empty: supply_cap_share counts",
        json_schema_extra=_unit("kW"),
    )
    supply_cap_share: tuple[Positive, ...] = Field(
        default=(0.4, 0.6, 0.8),
        description="supply caps as shares of the peak of the load without slack",
        json_schema_extra=_unit("share of peak"),
    )
    gpus_per_block: int = Field(
        default=8,
        ge=1,
        description="GPUs of one block, as many as the power log covers",
        json_schema_extra=_unit("GPUs"),
    )
    reserve_min: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="for so long the storage alone could carry the running load; 0 is none",
        json_schema_extra=_unit("min"),
    )
    initial_soc: Literal["cyclic", "full"] = Field(
        default="cyclic",
        description="cyclic (ends where it begins, at a free level) or full (free end)",
        json_schema_extra=_unit("name"),
    )
    eta_charge: float = Field(
        default=0.95,
        gt=0,
        le=1,
        description="efficiency of charging; no maker publishes it",
        json_schema_extra=_unit("-"),
    )
    eta_discharge: float = Field(
        default=0.95,
        gt=0,
        le=1,
        description="efficiency of discharging; no maker publishes it",
        json_schema_extra=_unit("-"),
    )
    soc_min: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="least state of charge",
        json_schema_extra=_unit("share of nominal energy"),
    )
    soc_max: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="highest state of charge",
        json_schema_extra=_unit("share of nominal energy"),
    )
    power_to_energy_per_h: float | None = Field(
        default=0.5,
        gt=0,
        allow_inf_nan=False,
        description="most power per nominal energy; none is no limit",
        json_schema_extra=_unit("1/h"),
    )
    weight_power: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="relative cost of one kW of storage",
        json_schema_extra=_unit("per kW"),
    )
    weight_energy: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="relative cost of one kWh of storage (nominal)",
        json_schema_extra=_unit("per kWh"),
    )
    flexibility: tuple[Flexible, ...] = Field(
        default=("malleable", "on_off", "rigid"),
        min_length=1,
        description="what jobs let be done to them; the trace says nothing about it",
        json_schema_extra=_unit("names"),
    )
    jobs: Literal["pool", "all_started"] = Field(
        default="pool",
        description="pool (the paper's: completed) or all_started (whatever became of them)",
        json_schema_extra=_unit("name"),
    )
    block_mapping: Literal["linear", "whole"] = Field(
        default="linear",
        description="GPUs to blocks: linear (shares of a block) or whole (rounded up)",
        json_schema_extra=_unit("name"),
    )
    fleet_blocks: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="blocks that exist; none is no limit",
        json_schema_extra=_unit("blocks"),
    )
    idle_kw_per_block: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="power of an idle block; needs fleet_blocks",
        json_schema_extra=_unit("kW"),
    )
    site_overhead: float = Field(
        default=1.3,
        ge=1,
        allow_inf_nan=False,
        description="site power over component power; a round figure, no source",
        json_schema_extra=_unit("-"),
    )
    time_limit_s: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        description="most time for each schedule of whole jobs",
        json_schema_extra=_unit("s"),
    )
    solver: SolverName = Field(
        default="HIGHS",
        description="HIGHS or CLARABEL; schedules of whole jobs always take HIGHS",
        json_schema_extra=_unit("name"),
    )
    seed: int = Field(
        default=0,
        ge=0,
        description="of random draws; this notebook makes none, and the solvers fix their own",
        json_schema_extra=_unit("-"),
    )

    @field_validator("trace")
    @classmethod
    def _trace_exists(cls, value: str) -> str:
        return check_trace_name(value)

    @field_validator("power")
    @classmethod
    def _power_exists(cls, value: str) -> str:
        return check_power_name(value)

    @field_validator("solver", mode="before")
    @classmethod
    def _solver_in_capitals(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("slack_min", "supply_cap_kw", "supply_cap_share")
    @classmethod
    def _in_order(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sorted(set(values)))

    @field_validator("flexibility")
    @classmethod
    def _classes_in_order(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in ("malleable", "on_off", "rigid") if name in values)

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
        self.technology()
        self.weights()
        self.fleet()
        if self.supply_cap_kw and "supply_cap_share" in self.changed():
            raise InputError(
                f"{self.notebook}: found supply_cap_kw and supply_cap_share, expected one of them"
            )
        if not self.supply_cap_kw and not self.supply_cap_share:
            raise InputError(
                f"{self.notebook}: found no supply cap, expected supply_cap_kw or supply_cap_share"
            )

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

    def window(self) -> ReplayWindow:
        """Return the declared window."""
        return ReplayWindow.of(self.start, self.days, self.step_min)

    def mapping(self) -> BlockMapping:
        """Return the declared blocks."""
        return BlockMapping.of(self.gpus_per_block, self.block_mapping)

    def fleet(self) -> Fleet:
        """Return the declared fleet."""
        return Fleet.of_blocks(self.fleet_blocks, self.idle_kw_per_block)

    def overhead(self) -> SiteOverhead:
        """Return the declared overhead between components and site."""
        return SiteOverhead.of_factor(self.site_overhead)

    def caps(self) -> tuple[SupplyCap, ...]:
        """Return the declared supply caps."""
        if self.supply_cap_kw:
            return tuple(SupplyCap.of_kw(kw) for kw in self.supply_cap_kw)
        return tuple(SupplyCap.of_share(share, "peak") for share in self.supply_cap_share)

    def slacks(self) -> tuple[Slack, ...]:
        """Return the declared slacks."""
        return tuple(Slack.of_minutes(minutes) for minutes in self.slack_min)

    def reserve(self) -> Reserve:
        """Return the declared reserve: all of the running load for some minutes."""
        return Reserve.of_minutes(self.reserve_min)

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
