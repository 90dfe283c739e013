"""Parameters of notebook 33_data_fusion (section 3.3): the settings of the replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import pandas as pd
from pydantic import Field, ValidationInfo, field_validator

from aidc.catalog.power import check_power_name, open_power
from aidc.catalog.trace import check_trace_name
from aidc.constructed.limits import BlockMapping, Fleet, Reserve, SiteOverhead, SupplyCap
from aidc.constructed.replay import SiteLoad
from aidc.constructed.slack import Slack
from aidc.constructed.template import PowerTemplate, power_template
from aidc.constructed.window import ReplayWindow
from aidc.evidence import InputError
from aidc.observed.formats import check_dialect_name
from aidc.observed.power_audit import examine
from aidc.settings.base import NotebookSettings

SECONDS_PER_MINUTE = 60
DECLARED = "declared"
BUSIEST = "busiest"

Minutes = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Step = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class DataFusion(NotebookSettings):
    """A replay: which jobs, on which blocks, when, and under which limits.

    Every parameter but ``trace``, ``dialect``, ``power``, ``compare_step_min`` and
    ``results_dir`` is an experimental setting with an entry, and a reason, in
    ``data/registry/scans.yml``.
    """

    notebook: ClassVar[str] = "33_data_fusion"
    section: ClassVar[str] = "3.3"

    trace: str = Field(
        default="seren-standin",
        description="seren-standin (synthetic), seren, kalos, or the path of a trace file",
        json_schema_extra={"unit": "key or path"},
    )
    dialect: str = Field(
        default="auto",
        description="auto (from the header), seren, kalos or philly-rfold",
        json_schema_extra={"unit": "name"},
    )
    jobs: Literal["pool", "all_started"] = Field(
        default="all_started",
        description="pool (completed jobs by the paper's rules) or all_started",
        json_schema_extra={"unit": "name"},
    )
    start: str = Field(
        default="2023-05-22",
        description="start of the window, in the trace's local time",
        json_schema_extra={"unit": "date"},
    )
    days: float = Field(
        default=7.0,
        gt=0,
        allow_inf_nan=False,
        description="length of the window, a whole number of slots",
        json_schema_extra={"unit": "days"},
    )
    step_min: float = Field(
        default=15.0,
        gt=0,
        allow_inf_nan=False,
        description="length of a slot; divides a day",
        json_schema_extra={"unit": "min"},
        validate_default=True,
    )
    compare_step_min: tuple[Step, ...] = Field(
        default=(1.0, 5.0, 15.0, 60.0),
        min_length=1,
        description="lengths of a slot that are compared, whole seconds",
        json_schema_extra={"unit": "min"},
        validate_default=True,
    )
    detail_date: str = Field(
        default=BUSIEST,
        description="day that is shown second by second; busiest has the highest slot",
        json_schema_extra={"unit": "date"},
    )
    gpus_per_block: int = Field(
        default=8,
        ge=1,
        description="GPUs in a counterfactual block",
        json_schema_extra={"unit": "GPUs"},
    )
    block_mapping: Literal["linear", "whole"] = Field(
        default="linear",
        description="linear (g GPUs are g/n of a block) or whole (rounded up)",
        json_schema_extra={"unit": "name"},
    )
    power: str = Field(
        default="nlr-standin",
        description="power of a running block: a key or path(s) of power logs, whose first run "
        "is taken, or declared (two levels, from block_kw and template_*)",
        json_schema_extra={"unit": "key or path"},
    )
    block_kw: float = Field(
        default=5.27,
        gt=0,
        allow_inf_nan=False,
        description="mean component power of a running block, where it is declared",
        json_schema_extra={"unit": "kW"},
    )
    idle_kw_per_block: float = Field(
        default=0.836,
        ge=0,
        allow_inf_nan=False,
        description="component power of an idle block, below block_kw",
        json_schema_extra={"unit": "kW"},
    )
    fleet_blocks: float = Field(
        default=286.0,
        ge=0,
        allow_inf_nan=False,
        description="blocks that exist; 0 is no limit, and needs idle_kw_per_block 0",
        json_schema_extra={"unit": "blocks"},
        validate_default=True,
    )
    template_peak_ratio: float = Field(
        default=1.145,
        ge=1,
        allow_inf_nan=False,
        description="upper level of the declared power template over its mean",
        json_schema_extra={"unit": "ratio"},
    )
    template_high_share: float = Field(
        default=0.6667,
        gt=0,
        le=1,
        description="share of time at the upper level of the template",
        json_schema_extra={"unit": "share"},
    )
    template_period_s: float = Field(
        default=120.0,
        ge=2,
        le=86_400,
        description="period of the template, whole seconds",
        json_schema_extra={"unit": "s"},
        validate_default=True,
    )
    site_overhead: float = Field(
        default=1.5,
        ge=1,
        allow_inf_nan=False,
        description="site power over component power",
        json_schema_extra={"unit": "ratio"},
    )
    supply_cap_share: tuple[Positive, ...] = Field(
        default=(0.8,),
        description="supply caps as shares of the peak load without slack",
        json_schema_extra={"unit": "share"},
    )
    supply_cap_kw: tuple[Positive, ...] = Field(
        default=(),
        description="supply caps; they take the place of supply_cap_share",
        json_schema_extra={"unit": "kW"},
    )
    slack_min: tuple[Minutes, ...] = Field(
        default=(0.0, 15.0, 60.0, 240.0),
        min_length=1,
        description="slack s, the same for all jobs",
        json_schema_extra={"unit": "min"},
    )
    reserve_min: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="reserve for an outage",
        json_schema_extra={"unit": "min"},
    )
    reserve_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="share of the load that the reserve carries",
        json_schema_extra={"unit": "share"},
    )

    @field_validator("trace")
    @classmethod
    def _trace_exists(cls, value: str) -> str:
        return check_trace_name(value)

    @field_validator("power")
    @classmethod
    def _power_exists(cls, value: str) -> str:
        return value if value == DECLARED else check_power_name(value)

    @field_validator("dialect")
    @classmethod
    def _dialect_exists(cls, value: str) -> str:
        return check_dialect_name(value)

    @field_validator("step_min", "compare_step_min")
    @classmethod
    def _slots_fit_the_window(
        cls, value: float | tuple[float, ...], info: ValidationInfo
    ) -> float | tuple[float, ...]:
        lengths = value if isinstance(value, tuple) else (value,)
        for step_min in lengths:
            if "start" in info.data and "days" in info.data:
                ReplayWindow.of(info.data["start"], info.data["days"], step_min)
            if not (step_min * SECONDS_PER_MINUTE).is_integer():
                raise InputError(f"found {step_min:g}, expected whole seconds")
        if len(set(lengths)) < len(lengths):
            raise InputError("found a length twice, expected each once")
        return value

    @field_validator("detail_date")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        if value == BUSIEST:
            return value
        day = ReplayWindow.of(value, 1, 1).start
        if day != day.normalize():
            raise InputError(f"found {value!r}, expected a date without a time")
        return value

    @field_validator("fleet_blocks")
    @classmethod
    def _idle_below_running(cls, value: float, info: ValidationInfo) -> float:
        idle_kw, block_kw = info.data.get("idle_kw_per_block"), info.data.get("block_kw")
        if idle_kw is not None:
            Fleet.of_blocks(value or None, idle_kw)
            if block_kw is not None and idle_kw >= block_kw:
                raise InputError(
                    f"idle_kw_per_block is {idle_kw:g} kW, expected less than the {block_kw:g} kW "
                    "of a running block"
                )
        return value

    @field_validator("template_period_s")
    @classmethod
    def _levels_are_possible(cls, value: float, info: ValidationInfo) -> float:
        if value != round(value):
            raise InputError(f"found {value:g}, expected whole seconds")
        names = ("block_kw", "template_peak_ratio", "template_high_share")
        if all(name in info.data for name in names):
            block_kw, peak_ratio, high_share = (float(info.data[name]) for name in names)
            PowerTemplate.of_two_levels(block_kw, peak_ratio, high_share, value)
        return value

    @field_validator("supply_cap_kw")
    @classmethod
    def _one_kind_of_cap(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        if not value and not info.data.get("supply_cap_share", (1.0,)):
            raise InputError("found no supply cap, expected supply_cap_share or supply_cap_kw")
        return value

    def window(self, step_min: float) -> ReplayWindow:
        """Return the window at a resolution."""
        return ReplayWindow.of(self.start, self.days, step_min)

    def detail_window(self, load: SiteLoad) -> ReplayWindow:
        """Return the day that is shown second by second, by the load of the window if asked."""
        day: str | pd.Timestamp = self.detail_date
        if day == BUSIEST:
            day = load.window.time(int(load.load_kw.argmax())).normalize()
        return ReplayWindow.of(day, 1, 1 / SECONDS_PER_MINUTE)

    def mapping(self, rule: str | None = None) -> BlockMapping:
        """Return how jobs become blocks, or how they would under another rule."""
        return BlockMapping.of(self.gpus_per_block, rule or self.block_mapping)

    def fleet(self) -> Fleet:
        """Return the blocks that exist and what an idle one draws."""
        return Fleet.of_blocks(self.fleet_blocks or None, self.idle_kw_per_block)

    def template(self) -> PowerTemplate:
        """Return the power of a running block: of the first run of the logs, or declared."""
        if self.power != DECLARED:
            return power_template(examine(open_power(self.power)[0].profiles).total)
        return PowerTemplate.of_two_levels(
            self.block_kw,
            self.template_peak_ratio,
            self.template_high_share,
            self.template_period_s,
        )

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
        """Return the slacks, one after the other."""
        return tuple(Slack.of_minutes(minutes) for minutes in self.slack_min)

    def reserve(self) -> Reserve:
        """Return what has to be kept for an outage."""
        return Reserve.of_minutes(self.reserve_min, self.reserve_share)

    def chosen(self) -> pd.DataFrame:
        """Return ``setting`` and ``this_run`` of every experimental setting, as text."""
        others = {"trace", "dialect", "power", "compare_step_min", "results_dir"}
        return pd.DataFrame(
            {"setting": name, "this_run": _text(getattr(self, name))}
            for name in type(self).model_fields
            if name not in others
        )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
