"""The tables of every audit on a terminal: rules, and rows of which the first are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from aidc.observed.rule_count import RuleCount

MAX_SHOWN_ROWS = 20

Rule = TypeVar("Rule", bound=RuleCount)


def rule_table(
    rules: Sequence[Rule],
    asked: str,
    failures: Callable[[Rule], str],
    words: Mapping[str, Callable[[Rule], str]] | None = None,
) -> Table:
    """Return rules with their counts.

    Parameters
    ----------
    rules : sequence of RuleCount
        The rules.
    asked : str
        Head of the number of all that are counted.
    failures : function of a rule
        Its first failures.
    words : mapping of str to function of a rule, optional
        Further columns before the counts, by head.
    """
    further = words or {}
    table = plain_table("Rules", "rule", "field", *further)
    for column in (asked, "not evaluable", "passed", "failed"):
        table.add_column(column, justify="right")
    table.add_column("first failures", overflow="fold")
    for rule in rules:
        texts = (rule.id, rule.field, *(word(rule) for word in further.values()))
        counts = (rule.n, rule.not_evaluable, rule.passed, rule.failed)
        table.add_row(
            *map(plain, texts),
            *(f"{count:,}" for count in counts),
            plain(failures(rule)),
            style="bold" if rule.failed else None,
        )
    return table


def first_rows(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], total: int
) -> Table:
    """Return a table of the first of all rows, and how many more there are."""
    table = plain_table(title, *heads)
    for row in islice(rows, MAX_SHOWN_ROWS):
        table.add_row(*map(plain, row))
    more = total - MAX_SHOWN_ROWS
    if more > 0:
        table.caption = f"and {more:,} more; --json lists all"
    return table


def plain_table(title: str, *columns: str) -> Table:
    """Return an empty table whose texts fold."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def plain(text: str) -> Text:
    """Return text of a file without marks or control characters that a terminal obeys."""
    return Text(
        "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)
    )
