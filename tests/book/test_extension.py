"""The extension on a tiny book: roles, directives, re-reading, warnings, notebooks, banner."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from aidc.evidence import Evidence
from aidc.publish.results import Results
from tests.book.conftest import (
    NOTEBOOK,
    PAGES,
    VERIFIED,
    Measured,
    TinyBook,
    forget_code,
    make_tiny_book,
    write_notebook,
    write_results,
)
from tests.evidence.registers import write_registries


def text_of(page: BeautifulSoup) -> str:
    return " ".join(page.get_text(" ", strip=True).split())


def banner(page: BeautifulSoup) -> str:
    found = page.select("p.aidc-banner")
    assert len(found) <= 1
    return text_of(found[0]) if found else ""


# --- what a reader sees ----------------------------------------------------------------


def test_a_number_shows_value_unit_mark_and_leads_to_the_ledger(built_tiny_book: TinyBook) -> None:
    with_unit, bare = built_tiny_book.page("book/one").select("a.aidc-link:has(.aidc-num)")
    assert with_unit.get_text().split() == ["207,378", "jobsO"]
    assert bare.get_text() == "207,378O"
    assert with_unit["href"] == "ledger.html#num-pool.jobs"
    mark = with_unit.select_one("abbr.aidc-mark")
    assert mark is not None
    assert mark["title"] == "observed layer 观测层 · synthetic stand-in (seren-standin)"
    assert {"aidc-observed", "aidc-synthetic"} <= set(mark["class"])


def test_the_ledger_explains_every_number_figure_and_table(built_tiny_book: TinyBook) -> None:
    page = built_tiny_book.page("book/ledger")
    anchors = {row["id"] for row in page.select("tr[id]")}
    assert anchors == {
        "num-pool.jobs",
        "num-pool.duration_s.p50",
        "result-31_task_pool-ecdf.svg",
        "result-31_task_pool-funnel.csv",
    }
    assert page.select_one(f'a[href="../notebooks/{NOTEBOOK}.html"]')


def test_a_claim_is_marked_as_published_and_leads_to_its_verdict(
    built_tiny_book: TinyBook,
) -> None:
    page = built_tiny_book.page("book/claims")
    claim = page.select_one("a.aidc-link:has(.aidc-claim)")
    assert claim is not None
    assert claim["href"] == "#claim-power.mean_w"
    assert claim.get_text().split() == ["about", "5,270", "WP"]
    assert "not computed here" in claim["title"]
    rows = {row["id"]: text_of(row) for row in page.select("tr[id^=claim-]")}
    assert "by construction" in rows["claim-pool.jobs"]
    assert "207,378" in rows["claim-pool.jobs"]
    assert "not yet recomputed here" in rows["claim-power.mean_w"]


def test_the_boundary_table_shows_both_labels(built_tiny_book: TinyBook) -> None:
    (row,) = built_tiny_book.page("book/claims").select("tr[id^=variable-]")
    assert [text_of(cell) for cell in row.select("td")] == [
        "slack [min] 时间余量",
        "未观测",
        "experimental setting 实验设定",
        "builds a deadline",
        "no service level [ Aki26 ]",
    ]


@pytest.fixture(scope="module")
def mapped_book(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """A tiny book with a map of inputs and a table in two parts."""
    book = make_tiny_book(tmp_path_factory.mktemp("mapped") / "book")
    variables = (("seen", "observed", "paper"), ("chosen", "experimental_setting", None))
    write_registries(book.root / "data/registry", works=("paper",), files=(), variables=variables)
    book.write("book/two", "# Two\n\nSee {variable}`chosen`.\n\n```{input-map}\n```\n")
    parts = "\n\n".join(f"```{{variables}}\n:part: {p}\n```" for p in ("paper", "elsewhere"))
    book.write("book/one", f"# One\n\n{parts}\n\n```{{toctree}}\none_one\n```\n")
    done = book.build()
    assert done.status == 0, done.output
    return book


def test_a_variable_shows_its_name_and_leads_to_its_row(mapped_book: TinyBook) -> None:
    link = mapped_book.page("book/two").select_one("p > a.aidc-link:has(> .aidc-variable)")
    assert link is not None
    assert (link.get_text(), link["href"]) == ("name of chosen", "claims.html#variable-chosen")
    assert link["title"] == "experimental setting: limit"
    assert mapped_book.page("book/claims").select_one("tr#variable-chosen")


def test_the_map_has_a_box_a_band_and_a_link_a_variable(mapped_book: TinyBook) -> None:
    page = mapped_book.page("book/two")
    boxes = [text_of(box) for box in page.select(".aidc-band")]
    assert [box.split()[0] for box in boxes] == ["Observed", "Missing", "Constructed", "Derived"]
    assert "Name of paper [ Aki26 ] gives times. Ends. name of seen" in boxes[0]
    links = [link["href"] for link in page.select(".aidc-band li a.aidc-link")]
    assert links == ["claims.html#variable-seen", "claims.html#variable-chosen"]
    assert banner(page) == ""


def test_a_part_of_the_table_has_its_rows_only(mapped_book: TinyBook) -> None:
    tables = mapped_book.page("book/one").select("table.aidc-variables")
    rows = [[row["id"] for row in table.select("tbody tr")] for table in tables]
    assert rows == [["variable-seen"], ["variable-chosen"]]


def test_a_change_of_a_variable_reads_its_pages_again(tiny_book: TinyBook) -> None:
    tiny_book.write("book/two", "# Two\n\n{variable}`slack_min`\n")
    assert tiny_book.build().status == 0
    registry = tiny_book.root / "data/registry/variables.yml"
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace("name: slack,", "name: extra time,"), encoding="utf-8")
    assert tiny_book.build().read == {"book/two", "book/claims"}
    assert "extra time" in text_of(tiny_book.page("book/two"))


PRINCIPLES = """
- {key: first, kind: limit, name: ageing, name_zh: 退化, statement: Nobody measured it.,
   settles: What it costs., variables: [slack_min], section: "5"}
- {key: second, kind: forbidden_use, name: slack as an SLA, name_zh: 余量, statement: It is none.,
   enforced_by: [aidc.constructed.slack.Slack], section: "4"}
- {key: third, kind: forbidden_use, name: a price, name_zh: 报价, statement: None is known.,
   section: "4"}
"""


def test_what_binds_the_study_is_listed_from_the_registry(tiny_book: TinyBook) -> None:
    registry = tiny_book.root / "data/registry/principles.yml"
    registry.write_text(PRINCIPLES, encoding="utf-8")
    tiny_book.write(
        "book/two", "# Two\n\n```{principles} limit\n```\n\n```{principles} forbidden_use\n```\n"
    )
    done = tiny_book.build()
    assert done.status == 0, done.output
    page = tiny_book.page("book/two")
    limits, uses = page.select("dl.aidc-principles")
    assert text_of(limits) == (
        "ageing 退化 Nobody measured it. It would settle: What it costs. In the register: slack ."
    )
    link = limits.select_one("a.aidc-link")
    assert link is not None
    assert link["href"] == "claims.html#variable-slack_min"
    assert [text_of(term) for term in uses.select("dt")] == ["slack as an SLA 余量", "a price 报价"]
    assert "Kept out by constructed.slack.Slack ." in text_of(uses)
    assert "a reader has to notice" in text_of(uses.select("dd")[1])

    registry.write_text(PRINCIPLES.replace("Nobody measured", "No one measured"), encoding="utf-8")
    assert tiny_book.build().read == {"book/two"}
    assert "No one measured" in text_of(tiny_book.page("book/two"))


SYMBOLS = """
- {key: first, part: replay, symbol: 'P(t)', meaning: the power, unit: kW, layer: constructed,
   defined: sec-two}
- {key: second, part: audit, symbol: Q, meaning: something else, unit: s, layer: null,
   defined: sec-two}
"""


def test_the_symbols_of_a_part_are_listed_from_the_registry(tiny_book: TinyBook) -> None:
    registry = tiny_book.root / "data/registry/symbols.yml"
    registry.write_text(SYMBOLS, encoding="utf-8")
    tiny_book.write("book/two", "(sec-two)=\n# Two\n\n```{symbols} replay\n```\n")
    done = tiny_book.build()
    assert done.status == 0, done.output
    (table,) = tiny_book.page("book/two").select("table.aidc-symbols")
    (row,) = table.select("tbody tr")
    assert [text_of(cell) for cell in row.select("td")][1:] == [
        "the power",
        "kW",
        "constructed",
        "Two",
    ]
    assert row.select_one(".math") is not None

    registry.write_text(SYMBOLS.replace("the power", "the load"), encoding="utf-8")
    assert tiny_book.build().read == {"book/two"}
    tiny_book.write("book/two", "(sec-two)=\n# Two\n\n```{symbols} replays\n```\n")
    done = tiny_book.build()
    assert done.status != 0
    assert any("none of part 'replays'; nearest: replay" in line for line in done.warnings)


def test_a_statement_on_an_unknown_variable_fails_the_build(tiny_book: TinyBook) -> None:
    registry = tiny_book.root / "data/registry/principles.yml"
    registry.write_text(PRINCIPLES.replace("slack_min", "slack_h"), encoding="utf-8")
    tiny_book.write("book/two", "# Two\n\n```{principles} limit\n```\n")
    done = tiny_book.build()
    assert done.status != 0
    assert any("'first' names the unknown variable 'slack_h'" in line for line in done.warnings)


def test_what_is_declared_is_not_called_verified(tiny_book: TinyBook) -> None:
    write_results(tiny_book.accepted, evidence=Evidence.reading(["variables"]))
    assert tiny_book.build().status == 0
    mark = tiny_book.page("book/two").select_one("abbr.aidc-mark")
    assert mark is not None
    assert mark["title"] == "constructed layer 构造层 · declared in this book (registry:variables)"
    assert "aidc-declared" in mark["class"]
    assert "hash verified" not in text_of(tiny_book.page("book/ledger"))
    assert [name for name in PAGES if banner(tiny_book.page(name))] == []


def test_figures_and_tables_are_numbered_marked_and_described(built_tiny_book: TinyBook) -> None:
    page = built_tiny_book.page("book/one_one")
    image = page.select_one("figure#fig-ecdf img")
    assert image is not None
    assert image["alt"] == "A rising curve of durations"
    assert page.select_one("figcaption abbr.aidc-synthetic")
    assert page.select_one("table#tab-funnel caption abbr.aidc-synthetic")
    assert "See Fig. 1 and Table 1 ." in text_of(page)


def test_a_table_is_readable(built_tiny_book: TinyBook) -> None:
    table = built_tiny_book.page("book/one_one").select_one("table#tab-funnel")
    assert table is not None
    assert [text_of(head) for head in table.select("th")] == ["step", "rows in", "wait [s]"]
    cells = [[text_of(cell) for cell in row.select("td")] for row in table.select("tbody tr")]
    # Text is shown as it is: stars and underscores are no markup.
    assert cells == [["all *rows*", "818,327", "0.5"], ["state_is", "523,350", ""]]
    right = ["aidc-right" in cell.get("class", []) for cell in table.select("tbody tr td")][:3]
    assert right == [False, True, True]


def test_files_are_numbered_and_headings_are_not(built_tiny_book: TinyBook) -> None:
    titles = [
        text_of(heading).removesuffix(" ¶")
        for name in ("book/one", "book/one_one", "book/two", "book/ledger")
        for heading in built_tiny_book.page(name).select("h1, h2")
    ]
    assert titles == ["1 One 一", "A heading of its own", "1.1 One in one", "2 Two", "Ledger"]


def test_a_step_that_cannot_be_answered_shows_with_the_number(tiny_book: TinyBook) -> None:
    write_results(tiny_book.accepted, not_evaluable=("state", "times"))
    assert tiny_book.build().status == 0
    for page in ("book/one", "book/ledger", "book/claims"):
        mark = tiny_book.page(page).select_one("abbr.aidc-caveat")
        assert mark is not None
        assert "not evaluable: state, times" in mark["title"]


# --- the banner ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [*(page for page in PAGES if page != "index"), f"notebooks/{NOTEBOOK}"],
)
def test_a_page_with_anything_synthetic_says_so(built_tiny_book: TinyBook, name: str) -> None:
    page = built_tiny_book.page(name)
    assert "seren-standin" in banner(page)
    title = page.select_one("h1")
    assert title is not None
    following = title.find_next_sibling()
    assert following is not None
    assert "aidc-banner" in following["class"]


def test_a_page_without_results_has_no_banner(built_tiny_book: TinyBook) -> None:
    assert banner(built_tiny_book.page("index")) == ""


def test_verified_results_have_no_banner(tiny_book: TinyBook) -> None:
    write_results(tiny_book.accepted, evidence=VERIFIED)
    assert tiny_book.build().status == 0
    assert [name for name in PAGES if banner(tiny_book.page(name))] == []
    assert banner(tiny_book.page(f"notebooks/{NOTEBOOK}")) == ""
    assert "reproduced" in text_of(tiny_book.page("book/claims"))


# --- what is read again ----------------------------------------------------------------


def test_only_pages_that_show_a_changed_number_are_read_again(tiny_book: TinyBook) -> None:
    assert tiny_book.build().status == 0
    write_results(tiny_book.accepted, median_s=301)
    assert tiny_book.build().read == {"book/two", "book/ledger"}
    assert "301" in text_of(tiny_book.page("book/two"))


def test_rewritten_but_equal_numbers_read_nothing_again(tiny_book: TinyBook) -> None:
    assert tiny_book.build().status == 0
    numbers = tiny_book.accepted / NOTEBOOK / "numbers.json"
    numbers.write_bytes(numbers.read_bytes())
    os.utime(numbers)
    assert tiny_book.build().read == set()


def test_a_change_of_a_claim_reads_its_pages_again(tiny_book: TinyBook) -> None:
    assert tiny_book.build().status == 0
    registry = tiny_book.root / "data/registry/claims.yml"
    registry.write_text(registry.read_text().replace("5270", "5271"))
    assert tiny_book.build().read == {"book/claims"}
    assert "5,271" in text_of(tiny_book.page("book/claims"))


def test_a_run_replaces_notebook_and_numbers_and_goes_again(
    tiny_book: TinyBook, tmp_path: Path
) -> None:
    run = tmp_path / "elsewhere"
    write_results(run / "results", jobs=42)
    write_notebook(run / f"{NOTEBOOK}.ipynb", "copy of the run")
    notebook = f"notebooks/{NOTEBOOK}"

    assert tiny_book.build().status == 0
    assert "committed copy" in text_of(tiny_book.page(notebook))

    of_run = tiny_book.build(run)
    assert of_run.status == 0, of_run.output
    assert of_run.read == {"book/one", "book/one_one", "book/ledger", "book/claims", notebook}
    assert "copy of the run" in text_of(tiny_book.page(notebook))
    assert "The pool has 42 jobs" in text_of(tiny_book.page("book/one")).replace("\xa0", " ")
    offered = tiny_book.root / "_build/html/_sources" / f"{notebook}.ipynb"
    assert "copy of the run" in offered.read_text(encoding="utf-8")

    write_notebook(run / f"{NOTEBOOK}.ipynb", "second copy of the run")
    assert tiny_book.build(run).read == {notebook}
    assert "second copy" in text_of(tiny_book.page(notebook))

    shutil.rmtree(run)
    assert tiny_book.build().status == 0
    assert "committed copy" in text_of(tiny_book.page(notebook))
    assert "207,378" in text_of(tiny_book.page("book/one"))


# --- what the parameters of a run leave out --------------------------------------------

ABSENT = "(not computed with these parameters)"


def make_run(folder: Path, *, slack_min: float) -> Path:
    """Write a run that publishes one number only."""
    write_results(folder / "results", slack_min=slack_min, complete=False)
    write_notebook(folder / f"{NOTEBOOK}.ipynb", "copy of the run")
    return folder


def test_what_other_parameters_leave_out_is_marked(tiny_book: TinyBook, tmp_path: Path) -> None:
    tiny_book.write(
        "book/two", PAGES["book/two"] + "\n```{result-table} 31_task_pool/funnel.csv\n```"
    )
    done = tiny_book.build(make_run(tmp_path / "elsewhere", slack_min=15))
    assert (done.status, done.warnings) == (0, [])
    page = tiny_book.page("book/two")
    assert text_of(page.select_one(".aidc-absent").parent) == f"Half end within {ABSENT} ."
    assert [text_of(line) for line in page.select("p > .aidc-absent")] == [ABSENT, ABSENT]
    page = tiny_book.page("book/one_one")
    assert text_of(page.select_one("figure#fig-ecdf")) == f"Fig. 1 {ABSENT} ¶"
    assert text_of(page.select_one("table#tab-funnel")) == f"Table 1 {ABSENT} ¶"
    assert "See Fig. 1 and Table 1 ." in text_of(page)
    assert "207,378" in text_of(tiny_book.page("book/one"))

    # The same pages again, with the whole results.
    assert tiny_book.build().read >= {"book/two", "book/one_one"}
    assert "300" in text_of(tiny_book.page("book/two"))


def test_with_default_parameters_nothing_may_be_missing(
    tiny_book: TinyBook, tmp_path: Path
) -> None:
    done = tiny_book.build(make_run(tmp_path / "elsewhere", slack_min=0))
    assert done.status != 0
    for message in ("unknown number 'pool.duration_s.p50'", "no '31_task_pool/ecdf.svg'"):
        assert [line for line in done.warnings if message in line], message


def test_an_id_that_the_default_run_lacks_is_unknown_whatever_the_parameters(
    tiny_book: TinyBook, tmp_path: Path
) -> None:
    tiny_book.write("book/two", "# Two\n\n{num}`pool.job`\n")
    done = tiny_book.build(make_run(tmp_path / "elsewhere", slack_min=15))
    assert done.status != 0
    assert any("unknown number 'pool.job'" in line for line in done.warnings)


def test_a_run_of_one_notebook_with_other_parameters_says_what_was_not_run(
    tiny_book: TinyBook, tmp_path: Path
) -> None:
    for root, slack_min in ((tiny_book.accepted, 0), (tmp_path / "run/results", 15)):
        other = Results("A2_other", "A.2", root / "A2_other", {"slack_min": slack_min})
        other.number("other.size", 7, "items", Measured(evidence=VERIFIED))
        other.finish()
        forget_code(root / "A2_other" / "run.json")
    done = tiny_book.build(tmp_path / "run")
    assert (done.status, done.warnings) == (0, [])
    missing = "(not part of this run)"
    assert f"Half end within {missing}" in text_of(tiny_book.page("book/two"))
    page = tiny_book.page(f"notebooks/{NOTEBOOK}")
    assert missing in text_of(page)
    assert "out" not in [text_of(part) for part in page.select("pre")]


# --- what fails a build ----------------------------------------------------------------


PLANTED = {
    "Text {num}`pool.job`.": "unknown number 'pool.job'; nearest: pool.jobs",
    "Text {claim}`power.mean`.": "unknown claim 'power.mean'; nearest: power.mean_w",
    "Text {num}`pool.jobs|unit`.": "found form 'unit', expected `ID` or `ID|value`",
    "```{result-figure} 31_task_pool/ecd.svg\n```": "hold no '31_task_pool/ecd.svg'",
    "```{result-table} 31_task_pool/none.csv\n```": "hold no '31_task_pool/none.csv'",
    "```{claims} 9.9\n```": "no claim is registered for section '9.9'",
    "Text {variable}`slack`.": "unknown variable 'slack'; nearest: slack_min",
    "```{variables}\n:part: paper\n```": "{variables}: the registry has none",
    "```{input-map}\n```": "{input-map}: no register of works",
    "```{principles} limits\n```": "has none of kind 'limits'; nearest: limit",
}


def test_planted_warnings_fail_every_build_and_name_the_line(tiny_book: TinyBook) -> None:
    source = "\n\n".join(["# Two", *PLANTED])
    lines = source.splitlines()
    tiny_book.write("book/two", source)
    for _ in range(2):
        done = tiny_book.build()
        assert done.status != 0
        for text, message in PLANTED.items():
            place = f"two.md:{lines.index(text.splitlines()[0]) + 1}: "
            assert [line for line in done.warnings if place in line and message in line], message
    tiny_book.write("book/two", PAGES["book/two"])
    assert tiny_book.build().status == 0


def test_a_warning_of_sphinx_itself_fails_every_build(tiny_book: TinyBook) -> None:
    tiny_book.write("book/two", "# Two\n\n{ref}`nowhere`\n")
    assert [tiny_book.build().status != 0 for _ in range(2)] == [True, True]


def test_a_stored_error_fails_the_build(tiny_book: TinyBook) -> None:
    write_notebook(tiny_book.root / "notebooks" / f"{NOTEBOOK}.ipynb", "text", error=True)
    done = tiny_book.build()
    assert done.status != 0
    assert any("cell 2 ended in ValueError: bad" in line for line in done.warnings)


def test_a_run_without_the_notebook_fails_the_build(tiny_book: TinyBook, tmp_path: Path) -> None:
    write_results(tmp_path / "elsewhere" / "results")
    done = tiny_book.build(tmp_path / "elsewhere")
    assert done.status != 0
    assert any(f"holds no {NOTEBOOK}.ipynb" in line for line in done.warnings)


def test_edited_results_are_stale(tiny_book: TinyBook) -> None:
    table = tiny_book.accepted / NOTEBOOK / "funnel.csv"
    table.write_text(table.read_text().replace("818327", "818328"))
    done = tiny_book.build()
    assert done.status != 0
    assert "result funnel.csv was edited" in done.output


def test_a_bad_registry_is_named_in_one_line(tiny_book: TinyBook) -> None:
    registry = tiny_book.root / "data/registry/claims.yml"
    registry.write_text(registry.read_text().replace("tolerance: 5", "tolerance: wide"))
    done = tiny_book.build()
    assert done.status != 0
    assert "entry 'power.mean_w', field 'tolerance'" in done.output
    assert "Traceback" not in done.output


def test_without_a_ledger_a_number_leads_nowhere(tiny_book: TinyBook) -> None:
    tiny_book.write("book/ledger", "# Ledger\n")
    done = tiny_book.build()
    assert done.status != 0
    assert any("explains the number 'pool.jobs'" in line for line in done.warnings)
