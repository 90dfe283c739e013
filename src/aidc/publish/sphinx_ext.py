"""The Sphinx extension of the book; its parts are in ``aidc.publish.book``."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from aidc.publish.book import directives, numbering, pages, principles, roles, symbols
from aidc.publish.book.domain import EvidenceDomain


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register roles, directives and what happens to pages."""
    numbering.install()
    app.add_domain(EvidenceDomain)
    app.add_role("num", roles.NumberRole())
    app.add_role("claim", roles.ClaimRole())
    app.add_role("variable", roles.VariableRole())
    app.add_directive("result-figure", directives.ResultFigure)
    app.add_directive("result-table", directives.ResultTable)
    app.add_directive("claims", directives.Claims)
    app.add_directive("ledger", directives.Ledger)
    app.add_directive("variables", directives.Variables)
    app.add_directive("input-map", directives.InputMap)
    app.add_directive("principles", principles.Principles)
    app.add_directive("symbols", symbols.Symbols)

    app.connect("builder-inited", pages.check_shelf)
    app.connect("builder-inited", pages.warn_if_stale)
    app.connect("env-get-outdated", pages.outdated)
    # Before anything else looks at the source, or it would see the notebook that was not run.
    app.connect("source-read", pages.swap_notebook, priority=100)
    app.connect("doctree-read", pages.add_banner)
    app.connect("doctree-read", pages.track_results_by_content, priority=900)
    app.connect("build-finished", pages.offer_executed_notebooks)
    app.connect("build-finished", pages.drop_font_preloads)
    app.connect("build-finished", pages.forget_after_warnings, priority=900)
    return {
        "version": "1",
        "env_version": pages.version(),  # type: ignore[typeddict-item]
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
