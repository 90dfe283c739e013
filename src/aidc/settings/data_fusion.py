"""Parameters of notebook 33_data_fusion (section 3.3): the settings of the replay."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pandas as pd
from pydantic import AfterValidator, ValidationInfo, field_validator

from aidc.catalog.power import check_power_name, open_power
from aidc.constructed.limits import Reserve
from aidc.constructed.replay import SiteLoad
from aidc.constructed.template import PowerTemplate, power_template
from aidc.constructed.window import ReplayWindow
from aidc.evidence import InputError
from aidc.observed.power_audit import examine
from aidc.settings.fields import Positive, registered, registered_levels
from aidc.settings.replay import ReplaySettings
from aidc.settings.trace_name import DialectName

SECONDS_PER_MINUTE = 60
DECLARED = "declared"
BUSIEST = "busiest"
TEMPLATE = ("block_kw", "template_peak_ratio", "template_high_share", "template_period_s")


def _power_or_declared(value: str) -> str:
    return value if value == DECLARED else check_power_name(value)


class DataFusion(ReplaySettings):
    """A replay: which jobs, on which blocks, when, and under which limits.

    Every parameter but ``trace``, ``dialect``, ``compare_step_min`` and ``results_dir`` is
    an experimental setting with an entry, and a reason, in ``data/registry/scans.yml``.
    """

    notebook: ClassVar[str] = "33_data_fusion"
    section: ClassVar[str] = "3.3"

    dialect: DialectName = "auto"
    compare_step_min: tuple[Positive, ...] = registered_levels(
        "step_min", description="lengths of a slot that are compared, whole seconds", min_length=1
    )
    detail_date: str = registered(
        "detail_date", "day that is shown second by second; busiest has the highest slot"
    )
    power: Annotated[str, AfterValidator(_power_or_declared)] = registered(
        "power",
        "power of a running block: a key or path(s) of power logs, whose first run is taken, "
        "or declared (two levels, from block_kw and template_*)",
    )
    block_kw: float = registered(
        "block_kw",
        "mean component power of a running block, where it is declared",
        gt=0,
        allow_inf_nan=False,
    )
    template_peak_ratio: float = registered(
        "template_peak_ratio",
        "upper level of the declared power template over its mean",
        ge=1,
        allow_inf_nan=False,
    )
    template_high_share: float = registered(
        "template_high_share",
        "share of time at the upper level of the declared template",
        gt=0,
        le=1,
    )
    template_period_s: float = registered(
        "template_period_s", "period of the declared template, whole seconds", ge=2, le=86_400
    )
    reserve_share: float = registered("reserve_share", ge=0, le=1)

    @field_validator("compare_step_min")
    @classmethod
    def _each_length_once(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(values)) < len(values):
            raise InputError("found a length twice, expected each once")
        return values

    @field_validator("step_min", "compare_step_min")
    @classmethod
    def _slots_fit_the_window(
        cls, value: float | tuple[float, ...], info: ValidationInfo
    ) -> float | tuple[float, ...]:
        for step_min in value if isinstance(value, tuple) else (value,):
            if "start" in info.data and "days" in info.data:
                ReplayWindow.of(info.data["start"], info.data["days"], step_min)
            if not (step_min * SECONDS_PER_MINUTE).is_integer():
                raise InputError(f"found {step_min:g}, expected whole seconds")
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

    @field_validator("template_period_s")
    @classmethod
    def _levels_are_possible(cls, value: float, info: ValidationInfo) -> float:
        if value != round(value):
            raise InputError(f"found {value:g}, expected whole seconds")
        if all(name in info.data for name in TEMPLATE[:-1]):
            block_kw, peak_ratio, high_share = (float(info.data[name]) for name in TEMPLATE[:-1])
            PowerTemplate.of_two_levels(block_kw, peak_ratio, high_share, value)
        return value

    def _require_consistent(self) -> None:
        super()._require_consistent()
        if self.power == DECLARED and self.idle_kw_per_block >= self.block_kw:
            raise InputError(
                f"idle_kw_per_block: found {self.idle_kw_per_block:g} kW, expected less than the "
                f"{self.block_kw:g} kW of a running block"
            )

    def detail_window(self, load: SiteLoad) -> ReplayWindow:
        """Return the day that is shown second by second, by the load of the window if asked."""
        day: str | pd.Timestamp = self.detail_date
        if day == BUSIEST:
            day = load.window.time(int(load.load_kw.argmax())).normalize()
        return ReplayWindow.of(day, 1, 1 / SECONDS_PER_MINUTE)

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

    def reserve(self) -> Reserve:
        """Return what has to be kept for an outage."""
        return Reserve.of_minutes(self.reserve_min, self.reserve_share)

    def unused(self) -> dict[str, str]:
        """Return the experimental settings that this run does not use, each with the reason."""
        found: dict[str, str] = {}
        if self.power != DECLARED:
            found |= dict.fromkeys(TEMPLATE, "power is a log")
        if self.fleet_blocks is None:
            found["idle_kw_per_block"] = "no fleet"
        if not self.reserve().required:
            found["reserve_share"] = "no reserve"
        if self.supply_cap_kw:
            found["supply_cap_share"] = "a cap in kW"
        else:
            found["supply_cap_kw"] = "a cap as a share"
        return found

    def chosen(self) -> pd.DataFrame:
        """Return ``setting`` and ``this_run`` of every experimental setting, as text."""
        unused = self.unused()
        return pd.DataFrame(
            {
                "setting": name,
                "this_run": f"not used: {unused[name]}"
                if name in unused
                else text(getattr(self, name)),
            }
            for name in type(self).model_fields
            if self.registered_as(name) == name
        )


def text(value: object) -> str:
    """Return the value of a setting as a reader should see it."""
    if isinstance(value, tuple):
        return ", ".join(text(item) for item in value)
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
