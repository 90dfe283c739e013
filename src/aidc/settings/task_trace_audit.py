"""Parameters of notebook 22_task_trace_audit (section 2.2)."""

from __future__ import annotations

from typing import ClassVar

from aidc.settings.base import NotebookSettings
from aidc.settings.trace_name import DialectName, TraceName


class TaskTraceAudit(NotebookSettings):
    """The audit of every column and row of a job trace."""

    notebook: ClassVar[str] = "22_task_trace_audit"
    section: ClassVar[str] = "2.2"

    trace: TraceName = "seren-standin"
    dialect: DialectName = "auto"
