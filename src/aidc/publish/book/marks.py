"""How a number, its evidence and a verdict look on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from aidc.evidence import Layer
from aidc.evidence.core import DECLARED
from aidc.evidence.registry import Claim, Status, Variable
from aidc.publish.book.domain import link
from aidc.publish.ledger import Number, VerdictKind, published_text

NO_BREAK_SPACE = "\u00a0"

ORIGIN = {
    "verified": "registered source, hash verified",
    "unverified": "unregistered file",
    "synthetic": "synthetic stand-in",
}

DECLARED_HERE = "declared in this book"

VERDICT = {
    VerdictKind.REPRODUCED: ("✓", "reproduced"),
    VerdictKind.DIFFERS: ("≠", "differs"),
    VerdictKind.BY_CONSTRUCTION: ("≡", "by-construction"),
    VerdictKind.NOT_TESTABLE: ("–", "not-testable"),
    VerdictKind.NOT_YET: ("…", "not-yet"),
}

STATUS = {
    Status.OBSERVED: "直接观测",
    Status.EXPERIMENTAL_SETTING: "实验设定",
    Status.DERIVED: "模型推导",
    Status.NOT_OBSERVED: "未观测",
    Status.INSUFFICIENT_EVIDENCE: "证据不足",
    Status.COMPUTED_FIELD: "可复算字段",
}


def quantity(text: str, unit: str) -> str:
    """Return a value with its unit, held together by a no-break space.

    Examples
    --------
    >>> quantity("300", "s").split()
    ['300', 's']
    >>> quantity("19", "")
    '19'
    """
    if not unit or not text:
        return text
    return f"{text}{NO_BREAK_SPACE}{unit}"


def number_text(entry: Number) -> str:
    """Return a number with its unit; without one where the data cannot answer."""
    return entry["text"] if entry["value"] is None else quantity(entry["text"], entry["unit"])


def is_declared(entry: Number) -> bool:
    """Return whether a result rests on nothing but settings and registers of this project."""
    return all(name.startswith(DECLARED) for name in entry["inputs"])


def origin_text(entry: Number) -> str:
    """Return in words how well the inputs of a result are known."""
    return DECLARED_HERE if is_declared(entry) else ORIGIN[entry["provenance"]]


def evidence_text(entry: Number) -> str:
    """Return layer and origin in words, as a tooltip shows them."""
    layer = Layer[entry["layer"].upper()]
    origin = f"{origin_text(entry)} ({', '.join(entry['inputs'])})"
    return f"{layer.key} layer {layer.chinese} · {origin}"


def marks(entry: Number) -> list[nodes.Node]:
    """Return the small marks of a result.

    A letter for the layer in a frame for the origin, and a word for whatever keeps the
    result from answering the paper's own question.
    """
    origin = "declared" if is_declared(entry) else entry["provenance"]
    classes = [f"aidc-{entry['layer']}", f"aidc-{origin}"]
    shown = [_mark(entry["layer"][0].upper(), evidence_text(entry), classes)]
    if steps := entry.get("not_evaluable"):
        tooltip = f"not evaluable: {', '.join(steps)} (this data cannot answer; passed through)"
        shown.append(_mark("n/e", tooltip, ["aidc-caveat"]))
    if names := entry.get("redefined"):
        tooltip = f"redefined in this run: {', '.join(names)}"
        shown.append(_mark("redef.", tooltip, ["aidc-caveat"]))
    return shown


def number_link(
    env: BuildEnvironment, number_id: str, entry: Number, *, with_unit: bool
) -> nodes.Node:
    """Return a number as prose shows it, linked to its entry in the ledger."""
    text = number_text(entry) if with_unit else entry["text"]
    content = [nodes.Text(text), *marks(entry)]
    return link(env, "num", number_id, content, f"{number_id}: {evidence_text(entry)}")


def absent(why: str) -> nodes.Node:
    """Return what stands in place of a result that the parameters of a run leave out."""
    return nodes.inline("", why, classes=["aidc-absent"])


def claim_link(env: BuildEnvironment, claim: Claim, *, with_unit: bool) -> nodes.Node:
    """Return a published figure as prose shows it, linked to its verdict."""
    text = published_text(claim) if with_unit else published_text(claim).removeprefix("about ")
    if with_unit:
        text = quantity(text, claim.unit)
    tooltip = f"{claim.id}: published ({claim.source}), not computed here"
    mark = _mark("P", tooltip, ["aidc-published"])
    return link(env, "claim", claim.id, [nodes.Text(text), mark], tooltip)


def variable_link(env: BuildEnvironment, variable: Variable) -> nodes.Node:
    """Return the name of a variable, linked to what it is and to its limitation."""
    tooltip = f"{variable.status.value.replace('_', ' ')}: {variable.limitation}"
    return link(env, "variable", variable.key, [nodes.Text(variable.name)], tooltip)


def verdict_pill(kind: VerdictKind) -> nodes.Node:
    """Return a verdict as a sign and words, so that colour adds nothing that they lack."""
    sign, name = VERDICT[kind]
    return nodes.inline("", f"{sign} {kind.value}", classes=["aidc-pill", f"aidc-verdict-{name}"])


def status_pill(status: Status) -> list[nodes.Node]:
    """Return a variable's status in English and Chinese."""
    name = status.value.replace("_", " ")
    pill = nodes.inline("", name, classes=["aidc-pill", f"aidc-status-{status.value}"])
    return [pill, nodes.Text(" "), nodes.inline("", STATUS[status], classes=["aidc-zh"])]


def _mark(letter: str, tooltip: str, classes: list[str]) -> nodes.Node:
    attributes: Mapping[str, Any] = {"explanation": tooltip, "classes": ["aidc-mark", *classes]}
    return nodes.abbreviation("", letter, **attributes)
