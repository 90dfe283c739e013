"""Parameters of notebook 24_battery_audit (section 2.4)."""

from __future__ import annotations

from typing import ClassVar

from aidc.settings.base import NotebookSettings


class BatteryAudit(NotebookSettings):
    """The audit reads registries that are frozen: only where the results go can be set."""

    notebook: ClassVar[str] = "24_battery_audit"
    section: ClassVar[str] = "2.4"
