"""`crossbandit report`: the page, tables and figures of any study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from crossbandit.cli.reproduce import claims_table
from crossbandit.cli.terminal import notify, say_paths


def report(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a study, or a results file.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the report. \\[default: beside the results]")
    ] = None,
) -> None:
    """Make the page, the tables and the figures of a study from its results.

    Nothing is run. Ends with status 1 if these are runs of the paper's evaluation and a claim is
    not met.
    """
    from crossbandit import studies
    from crossbandit.report import check_folder
    from crossbandit.studies.page import WRITTEN, compose, write

    frame = studies.load(source)
    folder = (source if source.is_dir() else source.parent) if out is None else out
    if out is not None or source.is_file():  # the study's own folder may hold any other file
        check_folder(folder, WRITTEN, "a study's results")
    command = f"crossbandit report {source.resolve().name}"
    result = compose(frame, command=command, failures=studies.failures(source))
    paths = write(result, folder)
    if result.claims:
        Console().print(claims_table(result.claims))
    say_paths(paths)
    for sentence in result.warnings:
        notify(sentence, "Warning:", "bold yellow")
    if result.failed:
        cells = "1 cell has" if len(result.failed) == 1 else f"{len(result.failed):,} cells have"
        notify(f"{cells} failed and cannot be in the report. The first: {result.failed[0]}")
    if not result.met:
        raise typer.Exit(1)
