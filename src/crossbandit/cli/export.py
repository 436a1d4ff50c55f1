"""`crossbandit export`: results for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crossbandit.cli.terminal import say


class Format(StrEnum):
    """The kind of file to write."""

    parquet = "parquet"
    csv = "csv"


def export(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a study, or a results file.")
    ],
    to: Annotated[Format, typer.Option(help="The kind of file to write.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write. \\[default: results.KIND in the folder]")
    ] = None,
) -> None:
    """Write the results of a study as Parquet or CSV, one row per cell.

    Cells that failed go to a second file, with "failures" in its name.
    """
    from crossbandit import studies

    path = studies.export(source, to=to.value, out=out)
    say(f"Wrote {path}.")
