"""`crossbandit new-study`: a commented study file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossbandit.cli.terminal import say
from crossbandit.errors import StudyFileError


def new_study(
    path: Annotated[Path, typer.Argument(help="The file to write, such as my-study.toml.")],
) -> None:
    """Write a commented study file to start from. An existing file is not changed."""
    from crossbandit.studies import template

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError as error:
        raise StudyFileError(f"{path} already exists. Choose another name.") from error
    say(f"Wrote {path}. Edit it, then: crossbandit run {path}")
