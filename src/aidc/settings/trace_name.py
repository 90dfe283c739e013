"""Parameters that name a trace: types of their own, as not every notebook has one."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from aidc.catalog.trace import check_trace_name
from aidc.observed.formats import check_dialect_name

TraceName = Annotated[
    str,
    AfterValidator(check_trace_name),
    Field(
        description="seren-standin (synthetic), seren, kalos, or the path of a trace file",
        json_schema_extra={"unit": "key or path"},
    ),
]
DialectName = Annotated[
    str,
    AfterValidator(check_dialect_name),
    Field(
        description="auto (from the header), seren, kalos, philly-rfold, or a .yml file",
        json_schema_extra={"unit": "name or path"},
    ),
]
