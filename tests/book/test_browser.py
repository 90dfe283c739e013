"""The real book in a browser, offline: console, requests, search, maths, width."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from tests.book.conftest import RealBook
from tests.local_server import serving_folder

pytestmark = [pytest.mark.book, pytest.mark.browser, pytest.mark.xdist_group("book")]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="session")
def site(real_book: RealBook) -> Iterator[str]:
    """Address of the book on a local server."""
    with serving_folder(real_book.html) as address:
        yield address


@pytest.fixture(scope="session")
def browser(real_book: RealBook) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@dataclass
class Visitor:
    """A page of the browser that notes everything that goes wrong on it."""

    page: Page
    site: str
    folder: str
    troubles: list[str] = field(default_factory=list)

    def watch(self) -> None:
        self.page.on(
            "console",
            lambda message: (
                self.troubles.append(f"console: {message.text}")
                if message.type == "error"
                else None
            ),
        )
        self.page.on("pageerror", lambda error: self.troubles.append(f"script: {error}"))
        self.page.on("request", self._note)
        self.page.on(
            "response",
            lambda response: (
                self.troubles.append(f"{response.status}: {response.url}")
                if response.status >= 400
                else None
            ),
        )

    def open(self, path: str) -> None:
        self.page.goto(f"{self.site}/{path}")

    def open_file(self, path: str) -> None:
        self.page.goto(f"{self.folder}/{path}")

    def _note(self, request: Request) -> None:
        if not request.url.startswith((self.site, self.folder, "data:", "blob:")):
            self.troubles.append(f"request to another host: {request.url}")


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def visitor(
    request: pytest.FixtureRequest, browser: Browser, site: str, real_book: RealBook
) -> Iterator[Visitor]:
    with browser.new_context(viewport={"width": request.param, "height": 800}) as context:
        found = Visitor(context.new_page(), site, real_book.html.as_uri())
        found.watch()
        yield found


def test_every_page_is_quiet_and_as_wide_as_the_screen(
    visitor: Visitor, real_book: RealBook
) -> None:
    wide = []
    for path in real_book.files():
        visitor.open(path.relative_to(real_book.html).as_posix())
        if visitor.page.evaluate(OVERFLOW) > 0:
            wide.append(path.name)
    assert visitor.troubles == []
    assert wide == []


def test_the_book_opens_from_a_folder_without_an_error(visitor: Visitor) -> None:
    for name in ("index.html", "book/3_1_task_pool.html", "notebooks/31_task_pool.html"):
        visitor.open_file(name)
    assert visitor.troubles == []


def test_a_click_on_the_map_of_inputs_shows_the_limitation_on_the_screen(
    visitor: Visitor,
) -> None:
    visitor.open("book/2_1_evidence_framework.html")
    visitor.page.locator(".aidc-band a", has_text="historical queue time").click()
    limitation = visitor.page.locator("tr#variable-queue td").last
    limitation.wait_for()
    visitor.page.wait_for_timeout(300)  # the browser scrolls to the row
    assert "never a delay that a user permitted" in limitation.inner_text()
    inside = limitation.evaluate(
        """cell => {
          const box = cell.getBoundingClientRect();
          return box.left >= 0 && box.right <= innerWidth
            && box.top >= 0 && box.bottom <= innerHeight;
        }"""
    )
    assert inside
    assert visitor.troubles == []


def test_the_search_finds_the_median(visitor: Visitor) -> None:
    visitor.open("search.html?q=median")
    results = visitor.page.locator("#search-results ul.search li")
    # The text of a page that was found is fetched after its title is listed.
    found = results.filter(
        has_text=re.compile("usable task pool.*median", re.IGNORECASE | re.DOTALL)
    )
    found.first.wait_for()
    assert visitor.troubles == []


def test_formulas_are_set(visitor: Visitor) -> None:
    visitor.open("book/3_1_task_pool.html")
    formulas = visitor.page.locator("mjx-container")
    formulas.first.wait_for(state="attached")
    assert formulas.count() >= visitor.page.locator("div.math").count() > 0
    assert visitor.page.locator("mjx-merror").count() == 0
    assert visitor.troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_map_of_inputs_stands_out_from_its_background(
    browser: Browser, site: str, scheme: str
) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"{site}/book/2_1_evidence_framework.html", wait_until="networkidle")
        for selector in (".aidc-band-title", ".aidc-band li a", "abbr.aidc-declared"):
            for found in page.locator(selector).all():
                contrast = found.evaluate(CONTRAST)
                assert contrast >= 4.5, (selector, found.inner_text(), contrast)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(browser: Browser, site: str, scheme: str) -> None:
    """The marks, the banner and the tables are legible in both schemes."""
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"{site}/book/3_1_task_pool.html", wait_until="networkidle")
        for selector in ("p.aidc-banner", "abbr.aidc-mark", "table.aidc-table td", ".aidc-pill"):
            contrast = page.locator(selector).first.evaluate(CONTRAST)
            assert contrast >= 4.5, (selector, contrast)


# WCAG 2 contrast of a text with the nearest background behind it that is not transparent.
CONTRAST = """element => {
  const light = colour => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(part => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const opaque = colour => !/rgba\\(.*, 0\\)|transparent/.test(colour);
  let behind = element;
  while (behind.parentElement && !opaque(getComputedStyle(behind).backgroundColor)) {
    behind = behind.parentElement;
  }
  const pair = [light(getComputedStyle(element).color),
                light(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a);
  return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""
