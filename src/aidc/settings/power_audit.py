"""Parameters of notebook 23_power_audit (section 2.3)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from aidc.settings.base import NotebookSettings
from aidc.settings.power_name import PowerName

# A finer grid than any sensor here, and a coarser one than any statistic here means.
FINEST_S, COARSEST_S = 0.01, 60.0

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class PowerMeasurement(NotebookSettings):
    """The power audit: which logs, which rule adds them up, which statistics.

    No parameter is `defining`: the numbers that recompute published figures are always
    those of the official rule on its own grid.
    """

    notebook: ClassVar[str] = "23_power_audit"
    section: ClassVar[str] = "2.3"

    power: PowerName = "nlr-standin"
    aggregation: Literal["aidc", "nlr"] = Field(
        default="aidc",
        description="rule of the profile: aidc (by time, package only), or nlr (the official one)",
        json_schema_extra={"unit": "name"},
    )
    resample_s: float = Field(
        default=0.0,
        ge=0,
        le=COARSEST_S,
        description="step of a uniform grid for the profile; 0 keeps the times of the logs",
        json_schema_extra={"unit": "s"},
    )
    ramp_windows_s: tuple[Positive, ...] = Field(
        default=(1.0, 5.0, 10.0, 60.0),
        min_length=1,
        description="windows over which power's change is taken",
        json_schema_extra={"unit": "s"},
    )
    demand_min: tuple[Positive, ...] = Field(
        default=(1.0, 5.0, 15.0),
        min_length=1,
        description="lengths of the blocks of demand",
        json_schema_extra={"unit": "min"},
    )
    confidence: float = Field(
        default=0.95,
        gt=0,
        lt=1,
        description="coverage of the mean's interval",
        json_schema_extra={"unit": "probability"},
    )
    bootstrap_resamples: int = Field(
        default=200,
        ge=20,
        le=20_000,
        description="resamples of the block bootstrap",
        json_schema_extra={"unit": "resamples"},
    )
    seed: int = Field(
        default=20250901,
        ge=0,
        description="seed of the block bootstrap",
        json_schema_extra={"unit": "-"},
    )

    @field_validator("resample_s")
    @classmethod
    def _no_finer_than_a_sensor(cls, value: float) -> float:
        if 0 < value < FINEST_S:
            raise ValueError(f"expected 0, or at least {FINEST_S}")
        return value
