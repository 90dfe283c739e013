"""The parameter that names power logs: apart, as a notebook on traces loads no power code."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from aidc.catalog.power import check_power_name

PowerName = Annotated[
    str,
    AfterValidator(check_power_name),
    Field(
        description="nlr-standin (synthetic), nlr, or path(s) of power logs, with commas between",
        json_schema_extra={"unit": "key or path(s)"},
    ),
]
