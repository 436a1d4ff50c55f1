"""`crossbandit verify`: the paper's statements, executed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from crossbandit.cli.terminal import Jobs, say, say_paths, stopping
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.status import Status

    from crossbandit.theory import Outcome, Progress

_RATE = "the rate in"
_WIDE = 120  # columns from which a table is readable


def verify(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer instances, shorter runs: under a minute.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="TEXT", help='Some statements only, as in "Lemma 9".')
    ] = "",
    rate: Annotated[
        bool, typer.Option("--rate", help="Only Theorem 1: regret over T, alpha and M.")
    ] = False,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="Folder of the page.")] = Path("results/verify"),
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing but errors and failed checks.")
    ] = False,
) -> None:
    """Check what the paper states on this package's own algorithm: a line per statement, a page.

    Ends with status 1 if a check fails.
    """
    from crossbandit import theory
    from crossbandit.report import check_folder
    from crossbandit.theory.page import WRITTEN, write

    if rate and only:
        raise InvalidParameterError(
            f"--rate checks Theorem 1 only, and --only asks for {only!r}. Give one of the two."
        )
    check_folder(out, WRITTEN, "an earlier verify")
    effort = theory.Effort.QUICK if quick else theory.Effort.FULL
    console = Console(stderr=True, quiet=quiet)
    with stopping("Stopped. Nothing was written."), console.status("Checking.") as status:
        outcomes = theory.verify(
            effort=effort,
            only=_RATE if rate else only,
            jobs=jobs,
            progress=_telling(status),
        )
    paths = write(outcomes, out, _facts(quick=quick, only=only, rate=rate))
    _print(outcomes, paths, quiet=quiet)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def _telling(status: Status) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        status.update(f"Checking: {progress.done} of {progress.total} parts of the paper done.")

    return tell


def _facts(*, quick: bool, only: str, rate: bool) -> Iterator[tuple[str, str]]:
    import crossbandit

    extra = " --rate" if rate else f' --only "{only}"' if only else ""
    yield "Command", f"crossbandit verify{' --quick' if quick else ''}{extra}"
    yield "Version", f"Crossbandit {crossbandit.__version__}"
    yield "Under test", "CrossGraph, Algorithm 2 of the paper"


def _print(outcomes: Sequence[Outcome], paths: Sequence[Path], *, quiet: bool) -> None:
    from crossbandit.theory.page import tally

    console = Console()
    shown = [outcome for outcome in outcomes if not (quiet and outcome.passed)]
    if shown and console.width >= _WIDE:
        console.print(_table(shown))
    else:
        for outcome in shown:
            _print_block(console, outcome)
    if quiet:
        return
    corrected = [outcome for outcome in outcomes if not outcome.as_written]
    _print_notes(console, "Does not hold as written; the correction was checked:", corrected)
    measured = [outcome for outcome in outcomes if not outcome.judged]
    _print_notes(console, "Measured, and not judged:", measured)
    say(f"\n{tally(outcomes)}")
    say_paths(paths)


def _print_notes(console: Console, heading: str, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        console.print(f"\n[bold]{heading}[/]")
    for outcome in outcomes:
        console.print(f"{escape(outcome.statement)}. {escape(outcome.note)}", highlight=False)


def _verdict(outcome: Outcome) -> str:
    if not outcome.judged:
        return "[dim]measured[/]"
    if not outcome.passed:
        return "[bold red]failed[/]"
    return "[green]passed[/]" if outcome.as_written else "[yellow]corrected[/]"


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(
        title="The paper's statements", title_justify="left", title_style="bold", expand=True
    )
    table.add_column("statement", ratio=4)
    table.add_column("checked", ratio=6)
    table.add_column("instances", justify="right", no_wrap=True)
    table.add_column("worst case", ratio=4)
    table.add_column("verdict", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            escape(outcome.statement),
            f"[dim]{escape(outcome.checked)}[/]",
            f"{outcome.instances:,}",
            escape(outcome.worst),
            _verdict(outcome),
        )
    return table


def _print_block(console: Console, outcome: Outcome) -> None:
    """Print the form for a narrow terminal: a heading, and what follows indented."""
    console.print(f"[bold]{escape(outcome.statement)}[/]: {_verdict(outcome)}", highlight=False)
    counted = f"{outcome.instances:,} instances; {escape(outcome.worst)}"
    for line in (f"[dim]{escape(outcome.checked)}[/]", counted):
        console.print(Padding(line, (0, 0, 0, 4), expand=False), highlight=False)
