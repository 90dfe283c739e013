"""Every symbol of the equations is registered, and every place that is named exists."""

import re
from pathlib import Path

import pytest

from aidc import paths
from aidc.evidence import InputError
from aidc.evidence.symbols import Part, load_symbols

BOOK = paths.ROOT / "book"
PAGES = sorted([*BOOK.glob("3_3*.md"), *BOOK.glob("A*.md"), BOOK / "nomenclature.md"])

MATHS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
NO_SYMBOL = re.compile(
    r"\\(begin|end)\{\w+\}|_\{\\text\{\w+\}\}|\\(text|mathrm)\{[^}]*\}"
    r"|\\(frac|max|min|le|ge|left|right|bigl|bigr|Bigl|Bigr|quad|qquad|cdot|sum|int)(?![A-Za-z])"
)
ATOM = re.compile(r"(?:\\bar )?(?:\\[A-Za-z]+|[A-Za-z])(?:_(?:\{[^}]*\}|\w))?(?:\^\*)?")


def atoms(latex: str) -> set[str]:
    """Return the symbols in a formula: letters with their indices and stars."""
    return set(ATOM.findall(NO_SYMBOL.sub(" ", latex)))


def formulas(text: str) -> list[str]:
    return [whole or inline for whole, inline in MATHS.findall(text)]


def test_the_symbols_of_a_formula_are_found() -> None:
    assert atoms(r"E^*(s) &= \max\bigl(0,\; E^*(0) - C s\bigr)") == {"E^*", "s", "C"}
    assert atoms(r"\frac{J_{\text{LFP}}(c_P)}{\eta_d} \le \kappa_0") == {
        "J",
        "c_P",
        r"\eta_d",
        r"\kappa_0",
    }
    assert atoms(r"t_{\mathrm{start},i} + \bar P \, \mathrm{d}t") == {
        "t_{ ,i}",
        r"\bar P",
        "t",
    }


def test_every_symbol_of_the_replay_and_the_derived_layer_is_on_the_page() -> None:
    known = set().union(*(atoms(one.symbol) for one in load_symbols()))
    for page in PAGES:
        used = set().union(*map(atoms, formulas(page.read_text(encoding="utf-8"))))
        assert used <= known, f"{page.name}: {sorted(used - known)} are not in symbols.yml"


def test_a_symbol_has_one_meaning_within_a_part() -> None:
    symbols = load_symbols()
    pairs = [(one.part, one.symbol) for one in symbols]
    assert len(set(pairs)) == len(pairs)
    assert {one.part for one in symbols} == set(Part)
    # Measured power is P(t) in the audit; the load of a site has a letter of its own.
    assert [one.part for one in symbols if one.symbol == "P(t)"] == [Part.AUDIT]


def test_every_place_that_is_named_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in BOOK.glob("*.md"))
    labels = set(re.findall(r"^\((sec-[\w-]+)\)=$", text, re.M))
    labels |= set(re.findall(r"^\$\$ \((eq-[\w-]+)\)$", text, re.M))
    assert {one.defined for one in load_symbols()} <= labels


def test_the_page_shows_every_part() -> None:
    page = (BOOK / "nomenclature.md").read_text(encoding="utf-8")
    assert re.findall(r"^```\{symbols\} (\w+)$", page, re.M) == [part.value for part in Part]


def test_a_bad_symbol_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "symbols.yml"
    path.write_text("- {key: a, part: audit, symbol: a, meaning: m, unit: s, layer: seen}\n")
    with pytest.raises(InputError, match=r"symbols\.yml, entry 'a', field 'layer'"):
        load_symbols(path)
