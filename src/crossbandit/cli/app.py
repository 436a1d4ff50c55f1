"""The `crossbandit` command: its list of commands, and how errors are printed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import crossbandit
from crossbandit.cli.logs import evaluate, make_log, replay
from crossbandit.cli.serve import serve
from crossbandit.cli.study import export, list_names, new_study, report, reproduce, run
from crossbandit.cli.terminal import allow_any_encoding, notify
from crossbandit.cli.verify import verify

app = typer.Typer(
    help="Bandits in which one play teaches more than its own payoff.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
for _command in (
    *(reproduce, run, new_study, list_names, report, export),
    *(verify, replay, evaluate, make_log, serve),
):
    app.command("list" if _command is list_names else None)(_command)


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


def run_command() -> None:
    """Run the command line. Errors that a user can correct are printed without a traceback."""
    allow_any_encoding()
    try:
        app()
    except crossbandit.CrossbanditError as error:
        _print_error(error)
        sys.exit(2)
    except OSError as error:
        _print_error(error)
        sys.exit(1)
    except MemoryError as error:
        _print_error(f"There is not enough memory for this. {error}")
        sys.exit(1)
    except SystemExit as end:
        # Typer turns Ctrl-C into a silent end.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def _print_error(error: object) -> None:
    notify(str(error), "Error:", "bold red")
