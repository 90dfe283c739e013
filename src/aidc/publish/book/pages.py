"""What happens to pages as they are read and written: the run's notebooks, banner, warnings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError
from sphinx.util import logging

from aidc import paths
from aidc.evidence import InputError, Provenance
from aidc.publish import freshness
from aidc.publish.book.domain import domain_of, link
from aidc.publish.book.shelf import NOTEBOOKS

LOGGER = logging.getLogger(__name__)

ENVIRONMENT = "environment.pickle"
_FONT_PRELOAD = re.compile(r'<link rel="preload" as="font"[^>]*>\s*')


def version() -> str:
    """Return a digest of the code that makes pages, so that a change rebuilds every page."""
    code = json.dumps(freshness.dependencies(), sort_keys=True)
    return hashlib.sha256(code.encode()).hexdigest()


def check_shelf(app: Sphinx) -> None:
    """Stop with one line when results or registries cannot be read."""
    shelf = domain_of(app.env).shelf
    try:
        _ = shelf.numbers, shelf.records, shelf.claims
        _ = shelf.variables, shelf.register, shelf.principles, shelf.symbols
        _ = shelf.accepted.numbers, shelf.accepted.records
    except (InputError, OSError, ValueError, KeyError) as error:
        raise ConfigError(f"results and registries of the book: {error}") from error


def warn_if_stale(app: Sphinx) -> None:
    """Warn when accepted results no longer belong to the code and the registries."""
    shelf = domain_of(app.env).shelf
    if shelf.run is not None:
        return
    for notebook, record in shelf.records.items():
        reasons = [*freshness.stale_code(record), *freshness.stale_registries(record)]
        if reasons:
            LOGGER.warning(
                "accepted results are stale (%s); run the notebook and accept it",
                "; ".join(reasons[:3]),
                location=f"{NOTEBOOKS}/{notebook}",
            )


def outdated(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """Return the pages that show something that changed since they were read."""
    return domain_of(env).outdated()


def swap_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a notebook's source by the executed copy of the current run."""
    notebook = _notebook(docname)
    if notebook is None:
        return
    domain = domain_of(app.env)
    domain.note_use("notebook", notebook)
    if domain.shelf.run is not None:
        path = domain.shelf.notebook_file(notebook)
        absence = domain.shelf.absence(("notebook", notebook)) if path is None else ""
        if absence:
            source[0] = _not_run(source[0], absence)
        elif path is None:
            LOGGER.warning(
                "the run %s holds no %s.ipynb; run the notebook first",
                paths.display(domain.shelf.run),
                notebook,
                location=docname,
            )
        else:
            source[0] = path.read_text(encoding="utf-8")
    _warn_of_errors(docname, source[0])


def add_banner(app: Sphinx, doctree: nodes.document) -> None:
    """Put one line under the title of a page that shows anything unverified or synthetic."""
    env = app.env
    title = next(doctree.findall(nodes.title), None)
    parent, position = (title.parent, 1) if title is not None else (doctree, 0)
    for provenance in (Provenance.UNVERIFIED, Provenance.SYNTHETIC):
        inputs = domain_of(env).inputs(env.docname, provenance)
        if inputs:
            parent.insert(position, _banner(env, provenance, inputs))


def track_results_by_content(app: Sphinx, doctree: nodes.document) -> None:
    """Take figures out of Sphinx's own tracking, which goes by time.

    A run writes every file anew, and most of them with the bytes that they had.
    """
    env = app.env
    results = os.path.relpath(domain_of(env).shelf.results, app.srcdir)
    followed = env.dependencies[env.docname]
    env.dependencies[env.docname] = {
        path for path in followed if not os.path.normpath(path).startswith(results)
    }


def offer_executed_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Let the download button give the notebook that the page shows."""
    if error is not None or app.builder.format != "html":
        return
    domain = domain_of(app.env)
    for docname in app.env.found_docs:
        path = domain.shelf.notebook_file(_notebook(docname) or "")
        target = Path(app.outdir) / "_sources" / f"{docname}.ipynb"
        if path is not None and target.is_file():
            shutil.copyfile(path, target)


def drop_font_preloads(app: Sphinx, error: Exception | None) -> None:
    """Take out the theme's hints to load icon fonts early.

    A browser refuses them with an error for a book that is opened from a folder; the
    fonts themselves load by the style sheet.
    """
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        kept = _FONT_PRELOAD.sub("", text)
        if kept != text:
            page.write_text(kept, encoding="utf-8")


def forget_after_warnings(app: Sphinx, error: Exception | None) -> None:
    """Make warnings sticky.

    Sphinx does not repeat the warnings of an unchanged page, so a second build would
    succeed; without its environment it reads every page, and warns, again.
    """
    if app._warncount:
        (Path(app.doctreedir) / ENVIRONMENT).unlink(missing_ok=True)


def _notebook(docname: str) -> str | None:
    folder, _, name = docname.rpartition("/")
    return name if folder == NOTEBOOKS else None


def _not_run(source: str, why: str) -> str:
    """Return a notebook without what another run put out, and a line that says why."""
    document = json.loads(source)
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    title, *rest = document["cells"]
    line = {"cell_type": "markdown", "id": "not-run", "metadata": {}, "source": [why]}
    return json.dumps(document | {"cells": [title, line, *rest]})


def _warn_of_errors(docname: str, source: str) -> None:
    cells = json.loads(source)["cells"]
    for position, cell in enumerate(cells, start=1):
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                LOGGER.warning(
                    "cell %d ended in %s: %s",
                    position,
                    output["ename"],
                    output["evalue"],
                    location=docname,
                )


_BANNERS = {
    Provenance.SYNTHETIC: (
        "Synthetic 合成数据. ",
        "Computed on the stand-in ",
        ": these figures show the method and say nothing about a real site. ",
    ),
    Provenance.UNVERIFIED: (
        "Unverified 未核验数据. ",
        "Computed on a file that is no registered source, ",
        ": it need not be the data that this book describes. ",
    ),
}


def _banner(env: BuildEnvironment, provenance: Provenance, inputs: list[str]) -> nodes.Node:
    word, before, after = _BANNERS[provenance]
    line = nodes.paragraph("", "", classes=["aidc-banner"])
    line += nodes.strong("", word)
    line += nodes.Text(before)
    line += nodes.literal("", ", ".join(inputs))
    line += nodes.Text(after)
    line += link(env, "ledger", "", [nodes.Text("What stands behind each number")])
    return line
