"""The real book builds from a clean folder, twice, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.book.conftest import REAL_COMMAND, RealBook, build, copy_book, files_below

pytestmark = [pytest.mark.book, pytest.mark.xdist_group("book")]


def test_both_builds_are_free_of_warnings(real_book: RealBook) -> None:
    assert real_book.first.warnings == []
    assert (real_book.second.status, real_book.second.warnings) == (0, [])
    assert (real_book.html / "index.html").is_file()


def test_the_second_build_reads_nothing_again(real_book: RealBook) -> None:
    assert real_book.first.read
    assert real_book.second.read == set()


def test_a_build_writes_only_below_its_own_folder(real_book: RealBook) -> None:
    assert files_below(real_book.root) == real_book.files_before


def test_a_planted_warning_fails_both_builds(tmp_path: Path) -> None:
    copy_book(tmp_path)
    page = tmp_path / "book" / "6_conclusion.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n{num}`planted`\n", encoding="utf-8")
    for _ in range(2):
        done = build(REAL_COMMAND, tmp_path, None)
        assert done.status != 0
        (warning,) = done.warnings
        assert "6_conclusion.md" in warning
        assert "unknown number 'planted'" in warning
