"""Rules on reading: a row splits, each value is there, of its type and in range.

The loader has judged this already: a row whose needed value cannot be read is set aside
with one reason, and the other fields of such a row are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from aidc.observed.columns import MISSING, OUT_OF_RANGE
from aidc.observed.formats import FIELDS, Kind
from aidc.observed.rule_count import MAX_EXAMPLES
from aidc.observed.rules import MAX_EXAMPLE_TEXT, Example, Rows, RuleResult

TYPED = {
    Kind.COUNT: "a whole number",
    Kind.SECONDS: "a number",
    Kind.TIME: "a time with a UTC offset",
}
RANGED = {
    Kind.COUNT: "neither negative nor beyond any cluster",
    Kind.SECONDS: "neither negative nor longer than a century",
    Kind.TIME: "between 1970 and 2100",
}


def reading_rules(rows: Rows) -> Iterator[RuleResult]:
    """Yield the results of the rules on reading, for each field of the dialect.

    Of each field three questions are asked in turn, each only of the rows that pass the
    one before: does it have a value, is that of its type, is that in range?
    """
    aside = rows.trace.set_aside
    unsplit = aside[aside["field"] == ""]
    yield _result(
        rows, "row.fields", "", "the row splits into the header's fields", len(rows), unsplit
    )
    for name in rows.dialect.columns:
        at_fault = aside[aside["field"] == name]
        reason = at_fault["reason"].str.removeprefix(f"{rows.source(name)}: ")
        missing = reason == MISSING
        out_of_range = reason.str.startswith(OUT_OF_RANGE)
        kept = int(np.count_nonzero(rows.present(name)))
        empty = _examples_of_missing(rows, name)
        yield _result(
            rows,
            f"presence.{_short(name)}",
            name,
            "has a value",
            kept + int((~missing).sum()),
            at_fault[missing],
            len(rows) - kept,
            empty,
        )
        kind = FIELDS[name].kind
        if kind not in TYPED:
            continue
        typed = kept + int(out_of_range.sum())
        yield _result(
            rows,
            f"type.{_short(name)}",
            name,
            _type_text(rows, name),
            typed,
            at_fault[~missing & ~out_of_range],
        )
        yield _result(
            rows, f"range.{_short(name)}", name, RANGED[kind], kept, at_fault[out_of_range]
        )


def _result(
    rows: Rows,
    rule: str,
    name: str,
    text: str,
    passed: int,
    aside: pd.DataFrame,
    failed_kept: int = 0,
    examples_kept: Sequence[Example] = (),
) -> RuleResult:
    """Return a result from the rows set aside that fail, and the kept ones that do."""
    failed = len(aside) + failed_kept
    examples = sorted((*_aside_examples(aside), *examples_kept), key=lambda found: found.line)
    return RuleResult(
        id=rule,
        field=rows.source(name),
        text=text,
        n=rows.trace.rows,
        not_evaluable=rows.trace.rows - passed - failed,
        failed=failed,
        examples=tuple(examples[:MAX_EXAMPLES]),
    )


def _type_text(rows: Rows, name: str) -> str:
    kind = FIELDS[name].kind
    if name == "gpu_num" and rows.dialect.gpu_unit != "GPU":
        return TYPED[Kind.SECONDS]
    if kind is Kind.TIME and rows.dialect.clock == "elapsed":
        return TYPED[Kind.SECONDS]
    if kind is Kind.TIME and rows.dialect.utc_offset is not None:
        return "a time"
    return TYPED[kind]


def _examples_of_missing(rows: Rows, name: str) -> list[Example]:
    absent = np.flatnonzero(~rows.present(name))[:MAX_EXAMPLES]
    return [Example(int(rows.lines[at]), rows.shown((name,), at)) for at in absent.tolist()]


def _aside_examples(failed: pd.DataFrame) -> list[Example]:
    first = failed.head(MAX_EXAMPLES)
    return [
        Example(int(line), f"{reason}: {str(text)[:MAX_EXAMPLE_TEXT]}")
        for line, reason, text in zip(first["line"], first["reason"], first["text"], strict=True)
    ]


def _short(name: str) -> str:
    return name.removesuffix("_s")
