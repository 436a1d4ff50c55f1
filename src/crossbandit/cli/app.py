"""The `crossbandit` command: its list of commands, and how it fails."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

import crossbandit
from crossbandit.cli.compare import compare

app = typer.Typer(
    help="Bandits in which one play teaches more than its own payoff.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.command()(compare)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crossbandit {crossbandit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line; a mistake of the user's is a sentence, not a traceback."""
    try:
        app()
    except crossbandit.CrossbanditError as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {error}", highlight=False)
        sys.exit(2)
    except OSError as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {error}", highlight=False)
        sys.exit(1)
