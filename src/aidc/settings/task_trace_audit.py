"""Parameters of notebook 22_task_trace_audit (section 2.2)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from aidc.catalog.trace import check_trace_name
from aidc.observed.formats import check_dialect_name
from aidc.settings.base import NotebookSettings


class TaskTraceAudit(NotebookSettings):
    """The audit of every column and row of a job trace."""

    notebook: ClassVar[str] = "22_task_trace_audit"
    section: ClassVar[str] = "2.2"

    trace: str = Field(
        default="seren-standin",
        description="seren-standin (synthetic), seren, kalos, or the path of a trace file",
        json_schema_extra={"unit": "key or path"},
    )
    dialect: str = Field(
        default="auto",
        description="auto (from the header), seren, kalos, philly-rfold, or a .yml file",
        json_schema_extra={"unit": "name or path"},
    )

    @field_validator("trace")
    @classmethod
    def _trace_exists(cls, value: str) -> str:
        return check_trace_name(value)

    @field_validator("dialect")
    @classmethod
    def _dialect_exists(cls, value: str) -> str:
        return check_dialect_name(value)
