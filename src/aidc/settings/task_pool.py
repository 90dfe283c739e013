"""Parameters of notebook 31_task_pool (section 3.1)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from aidc.settings.base import NotebookSettings
from aidc.settings.trace_name import DialectName, TraceName

Probability = Annotated[float, Field(gt=0, lt=1)]


class TaskPool(NotebookSettings):
    """The pool of usable tasks: which trace, which rules, which statistics."""

    notebook: ClassVar[str] = "31_task_pool"
    section: ClassVar[str] = "3.1"
    defining: ClassVar[tuple[str, ...]] = ("states", "min_gpu_num", "min_duration_s")

    trace: TraceName = "seren-standin"
    dialect: DialectName = "auto"
    states: tuple[str, ...] = Field(
        default=("COMPLETED",),
        min_length=1,
        description="final states that admit a job to the pool",
        json_schema_extra={"unit": "names"},
    )
    min_gpu_num: int = Field(
        default=1,
        ge=1,
        description="fewest GPUs that a job of the pool requests",
        json_schema_extra={"unit": "GPUs"},
    )
    min_duration_s: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="shortest run time of the pool; zero run time never enters",
        json_schema_extra={"unit": "s"},
    )
    quantiles: tuple[Probability, ...] = Field(
        default=(0.5, 0.9, 0.95),
        min_length=1,
        description="probabilities of the quantiles, each between 0 and 1",
        json_schema_extra={"unit": "probability"},
    )
    confidence: float = Field(
        default=0.95,
        gt=0,
        lt=1,
        description="coverage of every interval and band",
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
        default=20230301,
        ge=0,
        description="seed of the block bootstrap",
        json_schema_extra={"unit": "-"},
    )
