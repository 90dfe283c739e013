"""What is stated about battery products (section 2.4): anchors of capability, no opponents.

No page of a maker is archived under a registered hash, so nothing here is verified. What
two products state is never set against each other: they differ in year, size and design,
and a reader would take the difference for one of chemistry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from aidc.evidence import Carrier, Evidence, EvidenceError, InputError, Layer, Provenance, step
from aidc.evidence.anchors import (
    Basis,
    BatteryParameter,
    Boundary,
    Disclosure,
    Storage,
    load_batteries,
)

TECHNOLOGY = {Storage.LFP: "LFP", Storage.SODIUM_ION: "sodium-ion"}
DISCLOSED = {
    Disclosure.MAKER: "by the maker",
    Disclosure.THIRD_PARTY: "by third parties only",
    Disclosure.NOT_FOUND: "not found",
}
KG_PER_T = WH_PER_KWH = 1000.0


@dataclass(frozen=True, kw_only=True)
class Battery(Carrier):
    """All statements about one product.

    Attributes
    ----------
    product : str
        Its name.
    technology : str
        What it is built on.
    anchor : bool
        Whether it is a capability anchor of the study.
    statements : tuple of BatteryParameter
        In the order of the registry; several may be about one parameter.
    """

    product: str
    technology: str
    anchor: bool
    statements: tuple[BatteryParameter, ...]

    def about(self, parameter: str) -> tuple[BatteryParameter, ...]:
        """Return the statements about a parameter; empty if it is no entry."""
        return tuple(entry for entry in self.statements if entry.parameter == parameter)

    def figure(self, parameter: str) -> float:
        """Return the first figure stated about a parameter, or the limit that is stated.

        Raises
        ------
        InputError
            If there is none.
        """
        for entry in self.about(parameter):
            figure = entry.value if entry.value is not None else entry.low
            if figure is not None:
                return figure
        raise InputError(f"batteries.yml: {self.product}: found no figure for {parameter}")


def batteries(entries: Mapping[str, BatteryParameter] | None = None) -> tuple[Battery, ...]:
    """Return the products of the registry, each with what is stated about it.

    Parameters
    ----------
    entries : mapping of str to BatteryParameter, optional
        By default ``data/registry/batteries.yml``.
    """
    known = load_batteries() if entries is None else entries
    products = dict.fromkeys(entry.product for entry in known.values())
    return tuple(_battery([e for e in known.values() if e.product == name]) for name in products)


def _battery(statements: Sequence[BatteryParameter]) -> Battery:
    first = statements[0]
    read = {entry.seen_in or entry.source for entry in statements} - {None}
    inputs = frozenset(f"document:{key}" for key in read) or frozenset({"document:none"})
    return Battery(
        product=first.product,
        technology=TECHNOLOGY[first.technology],
        anchor=first.anchor,
        statements=tuple(statements),
        evidence=Evidence(Layer.OBSERVED, Provenance.UNVERIFIED, inputs),
    )


def _row(entry: BatteryParameter) -> dict[str, object]:
    found = entry.disclosure is not Disclosure.NOT_FOUND
    unit = "" if entry.unit == "date" or not found else f" {entry.unit}"
    year = f", {entry.year}" if entry.year else ""
    return {
        "product": entry.product,
        "parameter": entry.name,
        "statement": entry.statement + unit,
        "boundary": _words(entry.boundary) if found else "",
        "basis": _words(entry.basis) if found else "",
        "condition": entry.condition or "",
        "stated": DISCLOSED[entry.disclosure] + year if found else "",
    }


def _words(value: Boundary | Basis) -> str:
    return value.value.replace("_", " ")


@dataclass(frozen=True, kw_only=True)
class BatteryTable(Carrier):
    """A table about several products that sets no value against another.

    Attributes
    ----------
    frame : DataFrame
        As the function that made it says.
    """

    frame: pd.DataFrame


@step(Layer.OBSERVED)
def statements(products: Sequence[Battery]) -> BatteryTable:
    """Return what is stated: one row a statement, with unit, boundary, basis and condition.

    Raises
    ------
    EvidenceError
        If the products hold more than one anchor: their values in one table would be read
        as a comparison of chemistries.
    """
    _require_one([p.product for p in products if p.anchor], "statements")
    rows = [_row(entry) for product in products for entry in product.statements]
    return BatteryTable(frame=pd.DataFrame(rows))


def _require_one(names: Sequence[str], what: str) -> None:
    different = sorted(set(names))
    if len(different) > 1:
        raise EvidenceError(
            f"rule 'an anchor is one product, never its chemistry': got the {what} of "
            f"{' and '.join(different)} side by side; allowed are statements about one product, "
            "and for technologies the scans of data/registry/scans.yml"
        )


@step(Layer.OBSERVED)
def disclosure(products: Sequence[Battery]) -> BatteryTable:
    """Return who states each parameter, one column a product: whether, never how much.

    Only parameters that were looked for in every product are rows.
    """
    names = _common_parameters(products)
    rows = [
        {"parameter": names[key]} | {p.product: _disclosed(p.about(key)) for p in products}
        for key in names
    ]
    return BatteryTable(frame=pd.DataFrame(rows))


@step(Layer.OBSERVED)
def obstacles(one: Battery, other: Battery) -> BatteryTable:
    """Return what stands between two products' statements, for each parameter of both.

    Returns
    -------
    BatteryTable
        ``parameter`` and ``obstacle``, in words. That the products are two is an obstacle
        of its own, so no row is without one.
    """
    rows = [
        {"parameter": name, "obstacle": "; ".join(_obstacles(one.about(key), other.about(key)))}
        for key, name in _common_parameters([one, other]).items()
    ]
    return BatteryTable(frame=pd.DataFrame(rows))


def _common_parameters(products: Sequence[Battery]) -> dict[str, str]:
    named = {entry.parameter: entry.name for p in products for entry in reversed(p.statements)}
    first = dict.fromkeys(entry.parameter for entry in products[0].statements)
    return {key: named[key] for key in first if all(p.about(key) for p in products)}


def _disclosed(entries: Sequence[BatteryParameter]) -> str:
    kinds = {entry.disclosure for entry in entries}
    for kind in (Disclosure.MAKER, Disclosure.THIRD_PARTY):
        if kind in kinds:
            return DISCLOSED[kind]
    return DISCLOSED[Disclosure.NOT_FOUND]


def _obstacles(ours: Sequence[BatteryParameter], theirs: Sequence[BatteryParameter]) -> list[str]:
    lost = [_disclosed(entries) == DISCLOSED[Disclosure.NOT_FOUND] for entries in (ours, theirs)]
    if all(lost):
        return ["found for neither"]
    if any(lost):
        return ["found for one only"]
    both = [*ours, *theirs]
    found = ["two products"]
    if any(entry.disclosure is Disclosure.THIRD_PARTY for entry in both):
        found.append("not stated by a maker")
    if len(ours) > 1 or len(theirs) > 1:
        found.append("statements on one product disagree")
    found += [
        f"different {name}"
        for name in ("unit", "boundary", "basis", "condition")
        if _differ(ours, theirs, name)
    ]
    if any(_unstated(entry) for entry in both):
        found.append("boundary or basis not stated")
    if _differ(ours, theirs, "year"):
        found.append("different years")
    return found


def _differ(
    ours: Sequence[BatteryParameter], theirs: Sequence[BatteryParameter], name: str
) -> bool:
    return {getattr(e, name) for e in ours} != {getattr(e, name) for e in theirs}


def _unstated(entry: BatteryParameter) -> bool:
    return entry.text is None and (
        entry.boundary is Boundary.NOT_STATED or entry.basis is Basis.NOT_STATED
    )


@dataclass(frozen=True, kw_only=True)
class Spread(Carrier):
    """How far the statements about one parameter of one product lie apart.

    Attributes
    ----------
    parameter : str
        In words.
    ratio : float
        Highest over lowest.
    statements : int
        How many there are.
    """

    parameter: str
    ratio: float
    statements: int


@step(Layer.OBSERVED)
def nameplate_spread(products: Sequence[Battery], parameter: str) -> Spread:
    """Return the ratio of the highest to the lowest statement about a parameter.

    Raises
    ------
    EvidenceError
        If the statements are about more than one product: that would be read as a
        comparison of chemistries, and the scans are there for it.
    InputError
        If the product has no two figures for the parameter in the same unit.
    """
    _require_one([product.product for product in products], parameter)
    entries = [entry for entry in products[0].about(parameter) if entry.value is not None]
    values = [entry.value for entry in entries if entry.value is not None]
    if len(values) < 2 or len({entry.unit for entry in entries}) > 1:
        raise InputError(
            f"batteries.yml: {products[0].product}, {parameter}: found {len(values)} figures, "
            "expected at least two in the same unit"
        )
    return Spread(
        parameter=entries[0].name, ratio=max(values) / min(values), statements=len(values)
    )


@dataclass(frozen=True, kw_only=True)
class SpecificEnergy(Carrier):
    """What a product's stated capacity and mass imply together.

    Attributes
    ----------
    wh_per_kg : float
        Stated capacity over stated mass, Wh/kg; a lower limit where the capacity is one.
    """

    wh_per_kg: float


@step(Layer.OBSERVED)
def implied_specific_energy(product: Battery) -> SpecificEnergy:
    """Return capacity over mass of one product: a check of its statements on each other.

    Raises
    ------
    InputError
        If either is no figure.
    """
    capacity, mass = product.figure("energy_capacity"), product.figure("mass")
    return SpecificEnergy(wh_per_kg=capacity * WH_PER_KWH / (mass * KG_PER_T))
