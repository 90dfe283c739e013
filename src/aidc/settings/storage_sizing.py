"""Parameters of notebook A2_storage_sizing (section A.2)."""

from __future__ import annotations

from typing import ClassVar

from aidc.settings.storage import StorageSettings


class StorageSizing(StorageSettings):
    """Needed storage against slack, for several caps and classes of flexibility."""

    notebook: ClassVar[str] = "A2_storage_sizing"
    section: ClassVar[str] = "A.2"
