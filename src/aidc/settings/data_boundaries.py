"""Parameters of notebook 32_data_boundaries (section 3.2)."""

from __future__ import annotations

from typing import ClassVar

from aidc.settings.base import NotebookSettings


class DataBoundaries(NotebookSettings):
    """The table of data boundaries; it is read from the register and has no choices."""

    notebook: ClassVar[str] = "32_data_boundaries"
    section: ClassVar[str] = "3.2"
