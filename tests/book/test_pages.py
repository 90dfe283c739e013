"""Every page of the real book: links, assets, section numbers, banner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from aidc.evidence.registry import load_variables
from tests.book.conftest import RealBook

pytestmark = [pytest.mark.book, pytest.mark.xdist_group("book")]

# The paper's own table of contents, then the appendix.
SECTIONS = {
    "1": "研究背景与问题",
    "2": "数据与方法",
    "2.1": "审计框架",
    "2.2": "任务轨迹审计",
    "2.3": "功率测量审计",
    "2.4": "电池参数审计",
    "3": "审计结果",
    "3.1": "AcmeTrace Seren 的可用任务池",
    "3.2": "数据边界总表",
    "3.3": "第一版数据融合原则",
    "4": "讨论",
    "5": "局限",
    "6": "结论",
    # Ours, and no claim of the paper: an appendix.
    "A": "输入所允许的推导",
    "A.1": "任务调度",
    "A.2": "储能容量",
    "A.3": "盈亏平衡",
}
NUMBERED = re.compile(r"(?:\d|[A-Z]\.\d|[A-Z] )")
REMOTE = re.compile(r"^(?:https?:)?//")
CSS_URL = re.compile(r"url\(\s*['\"]?(?P<url>[^'\")]+)|@import\s+['\"](?P<imported>[^'\"]+)")
ASSETS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


@pytest.fixture(scope="session")
def pages(real_book: RealBook) -> dict[Path, BeautifulSoup]:
    return dict(real_book.pages())


def addresses(page: BeautifulSoup, tags: dict[str, str]) -> Iterator[str]:
    for tag, attribute in tags.items():
        for found in page.find_all(tag):
            # A canonical link or a licence is followed by a reader, never loaded by a page.
            if found.get(attribute) and "license" not in found.get("rel", []):
                yield str(found[attribute])


def test_internal_links_lead_somewhere(pages: dict[Path, BeautifulSoup]) -> None:
    ids = {path: {tag["id"] for tag in page.find_all(id=True)} for path, page in pages.items()}
    dead = []
    for path, page in pages.items():
        for address in addresses(page, {"a": "href", **ASSETS}):
            link = urlsplit(address)
            if link.scheme or link.netloc:
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            if not target.is_file():
                dead.append(f"{path.name} -> {address}")
            elif link.fragment and target in ids and unquote(link.fragment) not in ids[target]:
                dead.append(f"{path.name} -> {address} (no such anchor)")
    assert dead == []


def test_no_page_loads_from_another_host(pages: dict[Path, BeautifulSoup]) -> None:
    remote = [
        f"{path.name}: {address}"
        for path, page in pages.items()
        for address in addresses(page, ASSETS)
        if REMOTE.match(address)
    ]
    inline = [
        f"{path.name}: {script.string[:80]}"
        for path, page in pages.items()
        for script in page.find_all("script")
        if script.string and re.search(r"https?://", script.string)
    ]
    assert remote + inline == []


def test_no_stylesheet_loads_from_another_host(real_book: RealBook) -> None:
    remote = []
    for path in real_book.html.rglob("*.css"):
        for found in CSS_URL.finditer(path.read_text(encoding="utf-8")):
            address = found["url"] or found["imported"]
            if REMOTE.match(address):
                remote.append(f"{path.name}: {address}")
    assert remote == []


def test_the_sidebar_shows_every_section_with_the_papers_number(
    pages: dict[Path, BeautifulSoup],
) -> None:
    for path, page in pages.items():
        sidebar = page.select_one("nav.bd-links")
        if sidebar is None:  # the page at the root only leads to the first one
            continue
        shown = [" ".join(link.get_text().split()) for link in sidebar.select("a.internal")]
        numbered = dict(entry.split(" ", 1) for entry in shown if NUMBERED.match(entry))
        assert list(numbered) == list(SECTIONS), path
        for number, name in SECTIONS.items():
            assert name in numbered[number], path
        assert any("参考文献" in entry for entry in shown)


def test_titles_carry_the_papers_numbers_and_headings_carry_none(
    pages: dict[Path, BeautifulSoup],
) -> None:
    for path, page in pages.items():
        if stem := re.match(r"(\d|[A-Z])(?:_(\d))?_", path.name):
            title = page.select_one("article h1")
            assert title is not None
            number = ".".join(filter(None, stem.groups()))
            assert title.get_text().startswith(f"{number} "), path
        assert page.select("h2 .section-number, h3 .section-number") == [], path


def article(page: BeautifulSoup) -> Tag:
    found = page.select_one("article")
    assert found is not None
    return found


def test_a_page_has_a_banner_for_each_weak_origin_of_what_it_shows(
    pages: dict[Path, BeautifulSoup],
) -> None:
    with_banner = 0
    for path, page in pages.items():
        if page.select_one("article") is None:
            continue
        banners = article(page).select("p.aidc-banner")
        weak = [
            origin
            for origin in ("synthetic", "unverified")
            if article(page).select(f"abbr.aidc-{origin}")
        ]
        if "notebooks" not in path.parts:
            assert len(banners) == len(weak), path
        with_banner += len(banners)
    assert with_banner > 0


def test_every_number_leads_to_its_row_of_the_ledger(pages: dict[Path, BeautifulSoup]) -> None:
    links = [
        str(link["href"])
        for page in pages.values()
        for link in page.select("a.aidc-link:has(> .aidc-num)")
    ]
    assert links
    assert [link for link in links if "ledger.html#num-" not in link] == []


def test_the_limits_of_any_variable_are_two_clicks_from_the_map_of_inputs(
    pages: dict[Path, BeautifulSoup],
) -> None:
    """The first click leads from the figure's page to a row; the row has the limitation."""
    (start,) = (path for path, page in pages.items() if page.select("#fig-input-map"))
    registered = {variable.key: variable for variable in load_variables()}
    reached = {}
    for link in pages[start].select(".aidc-band a[href]"):
        target = urlsplit(str(link["href"]))
        if target.fragment.startswith("variable-"):
            row = pages[(start.parent / target.path).resolve()].find(id=target.fragment)
            assert isinstance(row, Tag)
            reached[target.fragment.removeprefix("variable-")] = plain(row)
    assert set(reached) == set(registered)
    for key, variable in registered.items():
        assert plain(variable.limitation) in reached[key]
        assert plain(variable.first_use) in reached[key]


def test_both_parts_of_the_boundary_table_hold_every_variable_once(
    pages: dict[Path, BeautifulSoup],
) -> None:
    (chapter,) = (page for path, page in pages.items() if path.stem == "3_2_data_boundaries")
    shown = [[row["id"] for row in t.select("tbody tr")] for t in chapter.select(".aidc-variables")]
    variables = load_variables()
    assert shown == [
        [f"variable-{v.key}" for v in variables if v.paper_table == inside]
        for inside in (True, False)
    ]


def plain(text: str | Tag) -> str:
    """Return the letters and digits of a text: typography and spacing are the page's."""
    words = text if isinstance(text, str) else text.get_text(" ")
    return re.sub(r"\W+", "", words)


def test_every_picture_is_described(pages: dict[Path, BeautifulSoup]) -> None:
    pictures = [image for page in pages.values() for image in page.select("figure img")]
    assert pictures
    assert [image["src"] for image in pictures if not image.get("alt")] == []


def test_every_page_has_a_title_a_language_and_a_licence(
    pages: dict[Path, BeautifulSoup],
) -> None:
    for path, page in pages.items():
        if page.find("article") is None:
            continue
        assert page.html is not None
        assert page.html["lang"] == "en", path
        assert page.title is not None, path
        assert page.select_one('a[rel~="license"]'), path
