"""`crossbandit reproduce`: the paper's tables and figure."""

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

    from crossbandit.report import Report, Verdict

_STYLES = {"met": "green", "not met": "bold red", "not judged": "yellow"}
_CURVES = ["curve_rounds", "curve_regret"]


def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A small part of it: three seeds instead of ten, and results in results/quick.",
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
        typer.Option(metavar="ALGORITHM", help="Run one more algorithm; may be repeated."),
    ] = None,
    module: Modules = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing but errors, warnings and failed claims.")
    ] = False,
) -> None:
    """Run the paper's evaluation and judge it: page, tables, figures, a verdict per claim.

    Ends with status 1 if a claim is not met or a run failed.
    """
    from crossbandit import report, studies

    name = "quick" if quick else "paper"
    folder = Path("results") / name if out is None else out
    modules = studies.load_modules(module or [])
    study = replace(studies.shipped(name).with_algorithms(*(add or [])), modules=modules)
    with stopping(STOPPED), plain_warnings(), studies.display(quiet=quiet) as progress:
        outcome = studies.run(study, folder, jobs=jobs, progress=progress)
    frame = studies.load(folder)
    command = _command(quick=quick, add=add or [], module=module or [])
    result = report.compose(frame, command=command, failures=studies.failures(folder))
    paths = [folder / "results.duckdb", _write_runs(frame, folder), *report.write(result, folder)]
    _print(result, paths, quiet=quiet)
    if outcome.failed:
        _print_failed(folder, outcome.failed)
    if outcome.failed or not result.met:
        raise typer.Exit(1)


def _command(*, quick: bool, add: Sequence[str], module: Sequence[str]) -> str:
    """Return the command without what only says where and how fast."""
    files = [word for name in module for word in ("--module", Path(name).name)]
    extra = [*files, *(word for name in add for word in ("--add", name))]
    return shlex.join(["crossbandit", "reproduce", *(["--quick"] if quick else []), *extra])


def _write_runs(frame: pd.DataFrame, folder: Path) -> Path:
    """Write one line per run; the curves stay in the results file."""
    path = folder / "runs.csv"
    frame.drop(columns=_CURVES).to_csv(path, index=False, lineterminator="\n")
    return path


def _print(result: Report, paths: Sequence[Path], *, quiet: bool) -> None:
    console = Console()
    if not quiet or not result.met:
        console.print(verdict_table(result.verdicts))
    if not quiet:
        say_paths(paths)


def _print_failed(folder: Path, count: int) -> None:
    from crossbandit import studies

    first = studies.failures(folder).iloc[0]
    notify(
        f"{count} runs failed and are missing from the report. The first: {first.algorithm_name}, "
        f"seed {first.seed}: {first.error} The same command tries them again."
    )


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Return the verdicts as a table for the terminal."""
    table = Table(title="The paper's claims", title_justify="left", title_style="bold")
    for heading in ("claim", "expected", "measured"):
        table.add_column(heading)
    table.add_column("verdict", no_wrap=True)
    for verdict in verdicts:
        style = _STYLES[verdict.status]
        status = f"[{style}]{verdict.status}[/]"
        table.add_row(verdict.name, verdict.expected, verdict.measured, status)
    return table
