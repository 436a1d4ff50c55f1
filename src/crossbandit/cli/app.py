"""The `crossbandit` command: its list of commands, and how errors are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand, TyperGroup

import crossbandit
from crossbandit.cli.logs import evaluate, make_log, replay
from crossbandit.cli.serve import serve
from crossbandit.cli.study import (
    benchmark,
    export,
    list_names,
    new_study,
    report,
    reproduce,
    run,
)
from crossbandit.cli.terminal import allow_any_encoding, notify
from crossbandit.cli.verify import verify

if TYPE_CHECKING:
    from click import Context, Option


class _PlainHelp:
    """What has a `--help` that is shown as a flag, which takes nothing."""

    def get_help_option(self, ctx: Context) -> Option | None:
        found: Option | None = super().get_help_option(ctx)  # type: ignore[misc]
        if found is not None:
            found.metavar = ""
        return found


class _Command(_PlainHelp, TyperCommand):  # type: ignore[misc]
    pass


class _Group(_PlainHelp, TyperGroup):  # type: ignore[misc]
    pass


app = typer.Typer(
    cls=_Group,
    help="Bandits in which one play teaches more than its own payoff.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
# The commands of each group, with an example.
COMMANDS: dict[str, dict[Callable[..., None], str]] = {
    "Auctions": {
        replay: "replay log.csv --feedback after-loss --bid-column our_bid",
        evaluate: "evaluate log.csv --bid-column our_bid --won-column won --fractions 0.6",
        make_log: "make-log log.csv --auctions 100000 --correlation 0.5 --seed 1",
        serve: "serve bidders.toml --store bidders.db --port 8000",
    },
    "Studies": {
        new_study: "new-study my-study.toml",
        list_names: "list algorithms",
        run: "run my-study.toml --jobs 4",
        report: "report results/my-study",
        export: "export results/my-study --to csv",
    },
    "Papers": {
        reproduce: "reproduce --quick",
        benchmark: "benchmark graphs-v1 --add my_algorithm.py",
        verify: "verify --quick",
    },
}

for _group, _commands in COMMANDS.items():
    for _command, _example in _commands.items():
        app.command(
            _example.split()[0],
            cls=_Command,
            rich_help_panel=_group,
            epilog=f"Example: crossbandit {_example}",
        )(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crossbandit {crossbandit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            help="Print the version.",
            is_eager=True,
            callback=_print_version,
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
