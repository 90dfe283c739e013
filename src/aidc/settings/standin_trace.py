"""Parameters of notebook 90_standin_trace (the stand-in and how it fits)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aidc.settings.base import NotebookSettings
from aidc.standin.trace import FULL_ROWS, SMALLEST, TraceParameters


class StandinTrace(NotebookSettings):
    """Which synthetic trace to draw and compare with the published figures."""

    notebook: ClassVar[str] = "90_standin_trace"
    section: ClassVar[str] = "stand-in"

    rows: int = Field(
        default=FULL_ROWS,
        ge=SMALLEST,
        le=FULL_ROWS,
        description="jobs to draw; exact targets hold at the published number only",
        json_schema_extra={"unit": "jobs"},
    )
    seed: int = Field(
        default=TraceParameters.seed,
        ge=0,
        description="seed of all random numbers of the trace",
        json_schema_extra={"unit": "-"},
    )
