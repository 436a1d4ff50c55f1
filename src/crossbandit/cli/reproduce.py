"""`crossbandit reproduce`: the paper's tables and figures."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from crossbandit.cli.run import STOPPED, plain_warnings
from crossbandit.cli.terminal import Jobs, Modules, notify, say_paths, stopping

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from crossbandit.studies.page import Claim, Report

_STYLES = {"met": "green", "not met": "bold red", "not judged": "yellow"}
_CURVES = ["curve_rounds", "curve_regret"]


def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Run three seeds instead of ten, and write to results/quick.",
        ),
    ] = False,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results. \\[default: results/paper; results/quick with --quick]"
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="ALGORITHM", help="Run one more algorithm; can be repeated."),
    ] = None,
    module: Modules = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print only errors, warnings and failed claims.")
    ] = False,
) -> None:
    """Run the paper's evaluation and judge its claims; write a page, tables and figures.

    Ends with status 1 if a claim is not met or a run failed.
    """
    from crossbandit import studies
    from crossbandit.studies.page import compose, write

    name = "quick" if quick else "paper"
    folder = Path("results") / name if out is None else out
    modules = studies.load_modules(module or [])
    study = replace(studies.shipped(name).with_algorithms(*(add or [])), modules=modules)
    with stopping(STOPPED), plain_warnings(), studies.display(quiet=quiet) as progress:
        outcome = studies.run(study, folder, jobs=jobs, progress=progress)
    frame = studies.load(folder)
    command = _command(quick=quick, add=add or [], module=module or [])
    result = compose(frame, command=command, failures=studies.failures(folder))
    paths = [folder / "results.duckdb", _write_runs(frame, folder), *write(result, folder)]
    _print(result, paths, quiet=quiet)
    for sentence in result.warnings:
        notify(sentence, "Warning:", "bold yellow")
    if outcome.failed:
        _print_failed(folder, outcome.failed)
    if outcome.failed or not result.met:
        raise typer.Exit(1)


def _command(*, quick: bool, add: Sequence[str], module: Sequence[str]) -> str:
    """Return the command without the options that do not change the results."""
    files = [word for name in module for word in ("--module", Path(name).name)]
    extra = [*files, *(word for name in add for word in ("--add", name))]
    return shlex.join(["crossbandit", "reproduce", *(["--quick"] if quick else []), *extra])


def _write_runs(frame: pd.DataFrame, folder: Path) -> Path:
    """Write one line per run; the curves stay in the results file."""
    from crossbandit.report import frame_csv, write_files

    (path,) = write_files(folder, {"runs.csv": frame_csv(frame.drop(columns=_CURVES))})
    return path


def _print(result: Report, paths: Sequence[Path], *, quiet: bool) -> None:
    console = Console()
    if not quiet or not result.met:
        console.print(claims_table(result.claims))
    if not quiet:
        say_paths(paths)


def _print_failed(folder: Path, count: int) -> None:
    from crossbandit import studies

    first = studies.failures(folder).iloc[0]
    notify(
        f"{count} runs failed and are missing from the report. The first: {first.algorithm_name}, "
        f"seed {first.seed}: {first.error} To try them again, use the same command."
    )


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return the claims of the paper as a table for the terminal."""
    table = Table(title="Claims of the paper", title_justify="left", title_style="bold")
    for heading in ("claim", "expected", "measured"):
        table.add_column(heading)
    table.add_column("result", no_wrap=True)
    for claim in claims:
        style = _STYLES[claim.status]
        table.add_row(claim.name, claim.expected, claim.measured, f"[{style}]{claim.status}[/]")
    return table
