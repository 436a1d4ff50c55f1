"""`crossbandit export`: results for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """The kind of file to write."""

    parquet = "parquet"
    csv = "csv"


def export(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="A study's folder, or a results file.")
    ],
    to: Annotated[Format, typer.Option(help="The kind of file to write.")],
    out: Annotated[
        Path | None, typer.Option(help="The file. \\[default: results.KIND in the folder]")
    ] = None,
) -> None:
    """Write the results of a study, one row per cell, as Parquet or CSV."""
    from crossbandit import studies

    path = studies.export(source, to=to.value, out=out)
    typer.echo(f"Wrote {path}.")
