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

    from crossbandit.theory import CheckProgress, CheckResult

_RATE = "the rate in"
_WIDE = 120  # columns from which a table is readable


def verify(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer instances, shorter runs: under a minute.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="TEXT", help='Check some statements only, such as "Lemma 9".')
    ] = "",
    rate: Annotated[
        bool,
        typer.Option(
            "--rate", help="Check only the rate of Theorem 1: regret over T, alpha and M."
        ),
    ] = False,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="Folder of the page.")] = Path("results/verify"),
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing but errors and failed checks.")
    ] = False,
) -> None:
    """Check the statements of the paper on this package's own algorithm, and write a page.

    Prints a line for each statement. Ends with status 1 if a check fails.
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
        results = theory.verify(
            effort=effort,
            only=_RATE if rate else only,
            jobs=jobs,
            progress=_telling(status),
        )
    paths = write(results, out, _facts(quick=quick, only=only, rate=rate))
    _print(results, paths, quiet=quiet)
    if not all(result.passed for result in results):
        raise typer.Exit(1)


def _telling(status: Status) -> Callable[[CheckProgress], None]:
    def tell(progress: CheckProgress) -> None:
        status.update(f"Checking: {progress.done} of {progress.total} parts of the paper done.")

    return tell


def _facts(*, quick: bool, only: str, rate: bool) -> Iterator[tuple[str, str]]:
    import crossbandit

    extra = " --rate" if rate else f' --only "{only}"' if only else ""
    yield "Command", f"crossbandit verify{' --quick' if quick else ''}{extra}"
    yield "Version", f"Crossbandit {crossbandit.__version__}"
    yield "Under test", "CrossGraph, Algorithm 2 of the paper"


def _print(results: Sequence[CheckResult], paths: Sequence[Path], *, quiet: bool) -> None:
    from crossbandit.theory.page import tally
    from crossbandit.theory.proofs import PROVED_BOUND

    console = Console()
    shown = [result for result in results if not (quiet and result.passed)]
    if shown and console.width >= _WIDE:
        console.print(_table(shown))
    else:
        for result in shown:
            _print_block(console, result)
    failed = [result for result in results if not result.passed and result.note]
    _print_notes(console, "Failed:", failed)
    if quiet:
        return
    corrected = [result for result in results if not result.as_written]
    _print_notes(console, "Does not hold as written; the correction was checked:", corrected)
    measured = [result for result in results if not result.judged]
    _print_notes(console, "Measured, and not judged:", measured)
    bounds = [result for result in results if result.statement == PROVED_BOUND]
    _print_notes(console, "The bound that is machine-checked, as a number:", bounds)
    say(f"\n{tally(results)}")
    checked = sum(bool(result.proofs) for result in results)
    say(f"Machine-checked in proofs/: {checked} of {len(results)} lines.")
    say_paths(paths)


def _print_notes(console: Console, heading: str, results: Sequence[CheckResult]) -> None:
    if results:
        console.print(f"\n[bold]{heading}[/]")
    for result in results:
        console.print(f"{escape(result.statement)}. {escape(result.note)}", highlight=False)


def _verdict(result: CheckResult) -> str:
    if not result.judged:
        return "[dim]measured[/]"
    if not result.passed:
        return "[bold red]failed[/]"
    return "[green]passed[/]" if result.as_written else "[yellow]corrected[/]"


def _table(results: Sequence[CheckResult]) -> Table:
    table = Table(
        title="The paper's statements", title_justify="left", title_style="bold", expand=True
    )
    table.add_column("statement", ratio=4)
    table.add_column("checked", ratio=6)
    table.add_column("instances", justify="right", no_wrap=True)
    table.add_column("worst case", ratio=4)
    table.add_column("machine-checked", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for result in results:
        table.add_row(
            escape(result.statement),
            f"[dim]{escape(result.checked)}[/]",
            f"{result.instances:,}",
            escape(result.worst),
            escape("\n".join(f"{proof.file}\n{proof.theorem}" for proof in result.proofs) or "no"),
            _verdict(result),
        )
    return table


def _print_block(console: Console, result: CheckResult) -> None:
    """Print the form for a narrow terminal: a heading, and what follows indented."""
    console.print(f"[bold]{escape(result.statement)}[/]: {_verdict(result)}", highlight=False)
    counted = f"{result.instances:,} instances; {escape(result.worst)}"
    lines = [f"[dim]{escape(result.checked)}[/]", counted]
    lines += [f"machine-checked: {escape(str(proof))}" for proof in result.proofs]
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 4), expand=False), highlight=False)
