"""The command line: ``python -m aidc run | sweep | list | fetch | audit | check | accept``."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from aidc import __version__, paths
from aidc.evidence import EvidenceError, InputError
from aidc.evidence.registry import load_claims
from aidc.observed.fetch import fetch as fetch_sources
from aidc.publish.audit_report import audit_files
from aidc.publish.ledger import disagreements, read_numbers, verdict_table, verdicts
from aidc.run import accept as accept_run
from aidc.run import default_folder, notebooks, plan, read_parameters
from aidc.run import run as run_notebooks
from aidc.sweep import TABLE, SweepStoppedError, collect, collect_tables, points
from aidc.sweep import sweep as run_sweep

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Audit public data for task-storage co-scheduling studies, and run the notebooks."""


@cli.command()
@click.argument("names", metavar="[NOTEBOOK]...", nargs=-1)
@click.option("-p", "pairs", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter.")
@click.option("-f", "file", type=click.Path(path_type=Path), help="Parameters in a YAML file.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for notebooks and results.")
def run(
    names: tuple[str, ...], pairs: tuple[tuple[str, str], ...], file: Path | None, out: Path | None
) -> None:
    """Run notebooks (all, if none is named); what is up to date is not run again.

    Results go to runs/default, or to runs/variant as soon as one parameter is given,
    or to the folder named by --out.
    """
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise InputError(f"parameter {twice[0]!r}: found twice, expected once; drop one -p")
    parameters = {**(read_parameters(file) if file else {}), **dict(pairs)}
    settings = plan(names, parameters)
    folder = (out or default_folder(settings)).resolve()
    for outcome in run_notebooks(settings, folder):
        state = f"ran ({outcome.reason})" if outcome.reason else "up to date"
        click.echo(f"{outcome.notebook}: {state} -> {paths.display(outcome.executed)}")


@cli.command()
@click.argument("notebook")
@click.option("-p", "pairs", nargs=2, multiple=True, metavar="NAME V1,V2", help="A parameter.")
@click.option("--out", type=click.Path(path_type=Path), help="Default: runs/sweep.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one a core.")
@click.option("--scheduler", help="Address of a Dask scheduler.")
def sweep(
    notebook: str,
    pairs: tuple[tuple[str, str], ...],
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Run a notebook for every combination of values; one that is done is not run again.

    Values are separated by commas: -p slack_min 0,15,60. A list counts as one value in
    brackets: -p slack_min [0,15]. All numbers go to sweep.csv, and each table of the
    notebook to one file of all points. Exit status 2 if a point failed; the others are
    there. Ctrl-C keeps what is done, and the same command goes on from there.
    """
    folder = (out or paths.RUNS / "sweep").resolve() / notebook
    chosen = points(notebook, dict(pairs), folder)
    try:
        outcomes = run_sweep(chosen, workers, scheduler)
    except SweepStoppedError as stopped:
        again = shlex.join(["python", "-m", "aidc", *sys.argv[1:]])
        click.echo(f"{stopped}; to go on: {again}", err=True)
        sys.exit(INTERRUPTED)
    for name, frame in ({TABLE: collect(outcomes)} | collect_tables(outcomes)).items():
        frame.to_csv(folder / name, index=False, lineterminator="\n")
        click.echo(f"{len(frame)} rows -> {paths.display(folder / name)}")
    failed = [outcome for outcome in outcomes if outcome.error]
    for outcome in failed:
        values = ", ".join(f"{name} {value}" for name, value in outcome.point.asked.items())
        click.echo(f"error: {values}: {outcome.error}", err=True)
    if failed:
        raise InputError(f"sweep: {len(failed)} of {len(outcomes)} points failed, see above")


@cli.command("list")
def list_() -> None:
    """List the notebooks and their parameters: unit, default, meaning."""
    console = _console()
    for name, settings in notebooks().items():
        table = Table(title=f"{name} (section {settings.section})", title_justify="left")
        for column in ("parameter", "type", "unit", "default", "meaning"):
            table.add_column(column, overflow="fold")
        for parameter, field in settings.model_fields.items():
            kind = settings.type_name(parameter)
            default = settings.default_text(parameter)
            table.add_row(
                parameter, kind, settings.unit(parameter), default, field.description or ""
            )
        console.print(table)


@cli.command()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
def fetch(keys: tuple[str, ...]) -> None:
    """Fetch registered sources (all, if none is named) and verify their content."""
    for key, path in fetch_sources(keys).items():
        click.echo(f"{key}: verified -> {paths.display(path)}")


@cli.command()
@click.argument("files", metavar="PATH...", nargs=-1, required=True)
@click.option("--dialect", default="auto", help="A key, or a .yml file that describes one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def audit(files: tuple[str, ...], dialect: str, as_json: bool) -> None:
    """Audit job traces: every row by every rule, the funnel, and findings in words.

    PATH is a file or one of seren-standin, seren, kalos. Several traces are also compared
    with each other, and with a cluster_summary.csv among them. Exit status 0 when all
    could be audited, whatever was found.
    """
    report = audit_files(files, dialect)
    if as_json:
        click.echo(report.json())
    else:
        report.show(_console())


@cli.command()
@click.option("--run", "folder", type=click.Path(path_type=Path), help="Default: runs/default.")
def check(folder: Path | None) -> None:
    """Compare the published claims with the numbers of a run (default: runs/default).

    Exit status 1 if a number differs that ought to agree.
    """
    root = (folder or paths.RUNS / "default") / "results"
    numbers = read_numbers(root)
    if not numbers:
        raise InputError(f"{paths.display(root)}: no results; run 'python -m aidc run' first")
    inputs = sorted({name for number in numbers.values() for name in number["inputs"]})
    found = verdicts(load_claims().values(), numbers)
    table = Table(title=f"{paths.display(root)}, from {', '.join(inputs)}", title_justify="left")
    rows = verdict_table(found)[["claim", "published", "computed", "unit", "verdict"]]
    for column in rows.columns:
        table.add_column(column, overflow="fold")
    for row in rows.itertuples(index=False):
        table.add_row(*row)
    _console().print(table)
    if disagreements(found):
        sys.exit(1)


@cli.command()
def accept() -> None:
    """Promote runs/default to notebooks/ and book/results/, to be committed."""
    for path in accept_run(paths.RUNS / "default"):
        click.echo(paths.display(path))


def _console() -> Console:
    # Piped output is not a terminal 80 columns wide: do not fold it.
    return Console() if sys.stdout.isatty() else Console(width=160)


def main() -> None:
    """Run the command line; a refused input is one line on stderr and exit status 2."""
    try:
        cli.main(prog_name="python -m aidc", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        sys.exit(2)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except (InputError, EvidenceError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
