"""Books to test with: a tiny one made of fabricated results, and the real one built once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from aidc import paths
from aidc.evidence import Carrier, Evidence, Layer, Provenance
from aidc.publish import freshness
from aidc.publish.results import Results

NOTEBOOK = "31_task_pool"
SYNTHETIC = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"seren-standin"}))
VERIFIED = Evidence(Layer.OBSERVED, Provenance.VERIFIED, frozenset({"acme-seren"}))

CONF = """
extensions = ["myst_nb", "sphinxcontrib.bibtex", "aidc.publish.sphinx_ext"]
nb_execution_mode = "off"
bibtex_bibfiles = ["refs.bib"]
html_theme = "basic"
html_secnumber_suffix = " "
html_sourcelink_suffix = ""
numfig = True
numfig_secnum_depth = 0
exclude_patterns = ["_build", "run*"]
"""
BIB = "@misc{paper, author={Akira}, title={The paper}, year={2026}}\n"
CLAIMS = """
pool.jobs:
  value: 207378
  unit: jobs
  exact: true
  tolerance: 0
  population: the trace
  definition: jobs in the pool
  section: "3.1"
  source: paper
  input: acme-seren
  calibrated: true
power.mean_w:
  value: 5270
  unit: W
  exact: false
  tolerance: 5
  population: one profile
  definition: mean power
  section: "2.3"
  source: paper
  number: null
"""
VARIABLES = """
- {key: slack_min, name: slack, name_zh: 时间余量, paper_label: 未观测, unit: min,
   status: experimental_setting, first_use: builds a deadline, limitation: no service level,
   source: paper, section: "3.2"}
"""
PAGES = {
    "index": "# Book\n\n```{toctree}\n:numbered:\nbook/one\nbook/two\n```\n\n"
    "```{toctree}\nbook/ledger\nbook/claims\nnotebooks/31_task_pool\n```\n",
    "book/one": "# One 一\n\nThe pool has {num}`pool.jobs`, that is {num}`pool.jobs|value`.\n\n"
    "## A heading of its own\n\nText.\n\n```{toctree}\none_one\n```\n",
    "book/one_one": "# One in one\n\n"
    "```{result-figure} 31_task_pool/ecdf.svg\n:name: fig-ecdf\n\nDurations.\n```\n\n"
    "```{result-table} 31_task_pool/funnel.csv\n:name: tab-funnel\n\nThe funnel.\n```\n\n"
    "See {numref}`fig-ecdf` and {numref}`tab-funnel`.\n",
    "book/two": "# Two\n\nHalf end within {num}`pool.duration_s.p50`.\n",
    "book/ledger": "# Ledger\n\n```{ledger}\n```\n",
    "book/claims": "# Claims\n\nPublished: {claim}`power.mean_w`.\n\n```{claims}\n```\n\n"
    "```{variables}\n```\n\n```{bibliography}\n```\n",
}


@dataclass(frozen=True, kw_only=True)
class Measured(Carrier):
    """A carrier with nothing in it but its evidence."""


def write_results(
    folder: Path,
    *,
    evidence: Evidence = SYNTHETIC,
    jobs: int = 207378,
    median_s: float = 300,
    not_evaluable: tuple[str, ...] = (),
    slack_min: float = 0,
    complete: bool = True,
) -> None:
    """Publish two numbers, a figure and a table as a notebook would; else one number only."""
    of = Measured(evidence=evidence, not_evaluable=not_evaluable)
    out = Results(NOTEBOOK, "3.1", folder / NOTEBOOK, {"slack_min": slack_min})
    out.number("pool.jobs", jobs, "jobs", of)
    if complete:
        out.number("pool.duration_s.p50", median_s, "s", of)
        figure = Figure()
        figure.subplots().plot([0, 1], [0, 1])
        out.figure("ecdf", figure, of, alt="A rising curve of durations")
        steps = ["all *rows*", "state_is"]
        rows = {"step": steps, "rows_in": [818327, 523350], "wait_s": [0.5, None]}
        out.table("funnel", pd.DataFrame(rows), of)
    out.finish()
    forget_code(out.folder / "run.json")


def forget_code(record: Path) -> None:
    """Take the hashes of the code out of a record of a run.

    Whether results are older than the code is the subject of another test; here it
    would fail every test of the book at once.
    """
    kept = json.loads(record.read_text(encoding="utf-8"))
    kept |= {"modules": {}, "files": {}, "lock": freshness.file_hash(paths.LOCK)}
    record.write_text(json.dumps(kept), encoding="utf-8")


def write_notebook(path: Path, text: str, *, error: bool = False) -> None:
    """Write an executed notebook with a title, a line of text and one cell."""
    outputs = [nbformat.v4.new_output("stream", text="out\n")]
    if error:
        outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="bad", traceback=[])]
    cells = [
        nbformat.v4.new_markdown_cell(f"# The notebook\n\n{text}", id="title"),
        nbformat.v4.new_code_cell("1", execution_count=1, outputs=outputs, id="code"),
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)


@dataclass(frozen=True)
class Build:
    """What one build did."""

    status: int
    output: str

    @property
    def read(self) -> set[str]:
        """Pages that were read."""
        return set(re.findall(r"reading sources\.\.\. \[ *\d+%\] (\S+)", self.output))

    @property
    def warnings(self) -> list[str]:
        """Lines with a warning or an error."""
        return [line for line in self.output.splitlines() if "WARNING" in line or "rror:" in line]


def build(command: Sequence[str], folder: Path, run: Path | None) -> Build:
    """Run a build command in ``folder``, on the accepted results or on those of ``run``."""
    environment = {name: text for name, text in os.environ.items() if name != paths.RUN_VARIABLE}
    if run is not None:
        environment[paths.RUN_VARIABLE] = str(run)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Build(done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr))


@dataclass(frozen=True)
class TinyBook:
    """A book of a few pages whose every part a test may change."""

    root: Path
    command: Sequence[str] = field(
        default=(
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "-n",
            "--keep-going",
            "--no-color",
            ".",
            "_build/html",
        )
    )

    @property
    def accepted(self) -> Path:
        return self.root / "book" / "results"

    def write(self, page: str, text: str) -> None:
        (self.root / page).with_name(f"{page.rpartition('/')[2]}.md").write_text(
            text, encoding="utf-8"
        )

    def build(self, run: Path | None = None) -> Build:
        return build(self.command, self.root, run)

    def page(self, name: str) -> BeautifulSoup:
        text = (self.root / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")
        return BeautifulSoup(text, "html.parser")


def make_tiny_book(root: Path) -> TinyBook:
    """Write a tiny book with synthetic results."""
    book = TinyBook(root)
    for folder in ("book", "data/registry", "notebooks"):
        (root / folder).mkdir(parents=True)
    for page, text in PAGES.items():
        book.write(page, text)
    (root / "conf.py").write_text(CONF)
    (root / "refs.bib").write_text(BIB)
    (root / "data/registry/claims.yml").write_text(CLAIMS)
    (root / "data/registry/variables.yml").write_text(VARIABLES, encoding="utf-8")
    write_results(book.accepted)
    write_notebook(root / "notebooks" / f"{NOTEBOOK}.ipynb", "committed copy")
    return book


@pytest.fixture
def tiny_book(tmp_path: Path) -> TinyBook:
    """A tiny book of the test's own, not built yet."""
    return make_tiny_book(tmp_path / "tiny")


@pytest.fixture(scope="session")
def built_tiny_book(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """A tiny book, built once; tests only look at it."""
    book = make_tiny_book(tmp_path_factory.mktemp("tiny") / "book")
    done = book.build()
    assert done.status == 0, done.output
    return book


REPOSITORY = Path(__file__).resolve().parents[2]
JUPYTER_BOOK = str(Path(sys.executable).with_name("jupyter-book"))
REAL_COMMAND = (JUPYTER_BOOK, "build", ".", "-W", "-n", "--keep-going")
REAL_PARTS = (
    "index.md",
    "book",
    "notebooks",
    "data/registry",
    "_config.yml",
    "_toc.yml",
    "requirements.txt",
)


@dataclass(frozen=True)
class RealBook:
    """A copy of the repository's book, built twice."""

    root: Path
    first: Build
    second: Build
    files_before: frozenset[str]

    @property
    def html(self) -> Path:
        return self.root / "_build" / "html"

    def pages(self) -> Iterator[tuple[Path, BeautifulSoup]]:
        for path in self.files():
            yield path, BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")

    def files(self) -> list[Path]:
        """Every page; the theme leaves templates of its own among the static files."""
        return [path for path in sorted(self.html.rglob("*.html")) if "_static" not in path.parts]


def files_below(root: Path) -> frozenset[str]:
    """Return every file of a copy that is not a product of the build."""
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return frozenset(str(path) for path in found if path.parts[0] != "_build")


def copy_book(root: Path) -> None:
    """Copy what the book is built from, and nothing else, to a clean folder."""
    for part in REAL_PARTS:
        source, target = REPOSITORY / part, root / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    for record in (root / "book" / "results").glob("*/run.json"):
        forget_code(record)


@pytest.fixture(scope="session")
def real_book(tmp_path_factory: pytest.TempPathFactory) -> RealBook:
    """The book as committed, built twice from a clean folder with warnings as errors."""
    root = tmp_path_factory.mktemp("real") / "book"
    copy_book(root)
    before = files_below(root)
    first = build(REAL_COMMAND, root, None)
    assert first.status == 0, first.warnings or first.output
    return RealBook(root, first, build(REAL_COMMAND, root, None), before)
