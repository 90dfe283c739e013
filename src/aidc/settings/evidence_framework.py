"""Parameters of notebook 21_evidence_framework (section 2.1)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from aidc.settings.base import NotebookSettings


class EvidenceFramework(NotebookSettings):
    """The map of inputs, and what misuse of evidence looks like."""

    notebook: ClassVar[str] = "21_evidence_framework"
    section: ClassVar[str] = "2.1"

    slack_min: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="slack of the deadlines that show a setting at work",
        json_schema_extra={"unit": "min"},
    )
