"""The numeral gate: no number is typed into the prose of a chapter.

A chapter is read by the parser that the book is built with, so what counts as prose is
what a reader sees as prose. Roles, code, maths, citations, headings, link targets and
directive options may hold digits; text, table cells, captions and link texts may not,
except for the forms of `ALLOWED`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

EXTENSIONS = {"amsmath", "dollarmath", "colon_fence", "deflist", "attrs_inline", "substitution"}

ID_ROLES = frozenset({"num", "claim"})
"""Roles whose text is the id of a number: it is shown as a value, not as typed."""

LITERAL_ROLES = frozenset({"math", "eq", "cite", "cite:p", "cite:t", "code"})
"""Roles whose text is maths, code or the key of a work."""

TITLED_ROLES = frozenset({"ref", "numref", "doc", "term", "download"})
"""Roles of the form ``title <target>``: the title is prose, the target is not."""

LITERAL_DIRECTIVES = frozenset({"math", "code", "code-block", "bibliography", "toctree"})
"""Directives whose argument and content are no prose."""

TARGET_DIRECTIVES = frozenset(
    {
        "result-figure",
        "result-table",
        "figure",
        "image",
        "claims",
        "ledger",
        "variables",
        "principles",
        "symbols",
    }
)
"""Directives whose argument is a target, and whose content is prose."""


@dataclass(frozen=True)
class Allowed:
    """A form of text that may hold digits, and why."""

    name: str
    pattern: re.Pattern[str]
    reason: str


ALLOWED = (
    Allowed(
        "name of a model",
        re.compile(r"Llama2-70B"),
        "the published name of a model, with its size as part of the name",
    ),
    Allowed(
        "word that begins with a letter",
        re.compile(r"(?<![0-9A-Za-z_])[A-Za-z_]+[0-9]+[A-Za-z]*(?![0-9A-Za-z_])"),
        "H100 and p95 are names, and their digits are part of a word",
    ),
    Allowed(
        "date",
        re.compile(r"(?<!\d)(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)"),
        "a calendar date is no result",
    ),
    Allowed(
        "index of an equation",
        re.compile(r"\beqs?\. \(\d\)(?: and \(\d\))?"),
        "the paper's own number of an equation, where no label can be referred to",
    ),
    Allowed(
        "licence",
        re.compile(r"\bCC BY 4\.0\b"),
        "the version is part of the licence's name",
    ),
)


@dataclass(frozen=True)
class Prose:
    """A piece of text that a reader sees, and where it stands."""

    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """A typed number: the file, the line, the digits and the text around them."""

    path: Path
    line: int
    digits: str
    text: str

    def __str__(self) -> str:
        """Return the finding in the form of a compiler's message."""
        return (
            f"{self.path.name}:{self.line}: typed number {self.digits!r} in {self.text!r}; "
            "use {num}`id` or {claim}`id`"
        )


def check(path: Path) -> list[Finding]:
    """Return every number that is typed into a chapter."""
    return [
        Finding(path, piece.line, digits, piece.text.strip())
        for piece in prose(path.read_text(encoding="utf-8"))
        for digits in typed_numbers(piece.text)
    ]


def typed_numbers(text: str) -> list[str]:
    """Return the runs of digits in a text that no allowed form accounts for.

    Digits of every script count, also full-width ones and fractions. Chinese numerals
    are words.
    """
    for allowed in ALLOWED:
        text = allowed.pattern.sub(lambda found: " " * len(found.group()), text)
    marked = "".join(c if unicodedata.category(c).startswith("N") else " " for c in text)
    return marked.split()


def prose(source: str) -> list[Prose]:
    """Return the prose of a chapter: all a reader sees outside headings and computed parts."""
    return [
        Prose(piece.line, piece.text)
        for piece in _blocks(_parser().parse(source), offset=1)
        if piece.text.strip()
    ]


def headings(source: str) -> list[Prose]:
    """Return the headings of a chapter."""
    tokens = _parser().parse(source)
    return [
        Prose(_line(inline, 1), inline.content)
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open"
    ]


def _parser() -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)


def _line(token: Token, offset: int) -> int:
    return (token.map[0] if token.map else 0) + offset


def _blocks(tokens: list[Token], offset: int) -> Iterator[Prose]:
    in_heading = False
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            in_heading = token.type == "heading_open"
        elif token.type == "inline" and not in_heading:
            yield from _inline(token.children or [], _line(token, offset))
        elif token.type in ("fence", "colon_fence"):
            yield from _directive(token, _line(token, offset))
        elif token.type in ("html_block", "substitution_block"):
            yield Prose(_line(token, offset), _without_tags(token.content))


def _directive(token: Token, line: int) -> Iterator[Prose]:
    """Yield the prose of a directive; a fence without a name is code."""
    named = re.fullmatch(r"\{([^}]+)\}\s*(.*)", token.info.strip())
    if not named or named[1] in LITERAL_DIRECTIVES:
        return
    if named[1] not in TARGET_DIRECTIVES:
        yield from _blocks(_parser().parse(named[2]), line)
    lines = token.content.splitlines()
    options = _option_lines(lines)
    yield from _blocks(_parser().parse("\n".join(lines[options:])), line + 1 + options)


def _option_lines(lines: list[str]) -> int:
    """Return how many lines at the start of a directive's content are options."""
    if lines and lines[0].strip() == "---":
        ends = [number for number, line in enumerate(lines[1:], start=2) if line.strip() == "---"]
        return ends[0] if ends else 0
    count = 0
    for line in lines:
        if not re.match(r"\s*:[A-Za-z][\w-]*:", line):
            break
        count += 1
    return count


def _inline(children: Iterable[Token], line: int) -> Iterator[Prose]:
    """Yield one piece for each line of a paragraph or a cell, with its roles taken out."""
    text = ""
    is_address = False
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            yield Prose(line, text)
            text, line = "", line + 1
        elif token.type == "link_open":
            is_address = token.info == "auto"
        elif token.type == "link_close":
            is_address = False
        else:
            text += "" if is_address else _seen(token)
            line += token.content.count("\n")
    yield Prose(line, text)


def _seen(token: Token) -> str:
    """Return the words of an inline token that count as prose; a space stands for the rest."""
    if token.type == "myst_role":
        return _role(str(token.meta["name"]), token.content)
    if token.type in ("code_inline", "math_inline", "math_inline_double"):
        # A number in code or maths signs is still a typed number.
        return token.content if _is_only_a_number(token.content) else " "
    if token.type == "html_inline":
        return " "
    if token.type == "image":
        return "".join(_seen(child) for child in token.children or [])
    return token.content


def _role(name: str, content: str) -> str:
    if name in ID_ROLES | LITERAL_ROLES:
        return content if name == "math" and _is_only_a_number(content) else " "
    if name in TITLED_ROLES:
        title = re.fullmatch(r"(.*?)\s*<[^<>]+>", content, flags=re.DOTALL)
        return title[1] if title else " "
    return content


def _is_only_a_number(text: str) -> bool:
    """Whether code or maths holds nothing but a number, with or without sign and unit."""
    bare = re.sub(r"\\[A-Za-z]+|\\.|[{}]", " ", text)
    return bool(re.fullmatch(r"[^0-9A-Za-z]*[0-9][0-9.,\s]*[A-Za-z%/]{0,4}\s*", bare))


def _without_tags(html: str) -> str:
    return re.sub(r"<!--.*?-->|<[^>]*>", " ", html, flags=re.DOTALL)
