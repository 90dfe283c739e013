"""Parameters of notebook A2_storage_sizing (section A.2)."""

from __future__ import annotations

from typing import ClassVar

from aidc.settings.fields import Minutes, Positive, registered_levels
from aidc.settings.storage import StorageSettings


class StorageSizing(StorageSettings):
    """Needed storage against slack, for several caps and classes of flexibility."""

    notebook: ClassVar[str] = "A2_storage_sizing"
    section: ClassVar[str] = "A.2"

    slack_min: tuple[Minutes, ...] = registered_levels(
        "slack_min",
        *(0, 15, 30, 60),
        description="extra time that every job gets, one case each; no service level",
        min_length=1,
    )
    supply_cap_share: tuple[Positive, ...] = registered_levels(
        "supply_cap_share",
        *(0.7, 0.8),
        description="supply caps as shares of the peak load without slack, one case each",
    )
