"""`crossbandit verify`: the paper's statements, executed."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from crossbandit import CrossGraph, algorithms
from crossbandit.cli.terminal import Count, say, say_paths, stopping, takes_options
from crossbandit.core.modules import load_modules
from crossbandit.core.progress import ProgressLine
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crossbandit.algorithms import Algorithm
    from crossbandit.verify.theory import CheckResult

_VERDICTS = {
    "passed": "[green]passed[/]",
    "measured": "[dim]measured[/]",
    "failed": "[bold red]failed[/]",
    "could not run": "[bold red]could not run[/]",
}


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options.

    Attributes:
        quick: Check fewer instances and shorter runs: less than a minute.
        only (TEXT): Check only some statements, such as "Equation 2", or "the rate": regret over T,
            alpha and M.
        algorithm (ID): Check another algorithm against the estimator that it declares: an id, or
            the JSON form. [default: cross-graph, against the paper]
        module (FILE.py): A Python file or module that registers more of them. Its code is run. May
            be repeated.
        jobs: Number of workers. [default: all cores]
        out: Folder of the page.
        quiet: Print only errors and failed checks.
    """

    quick: bool = False
    only: str = ""
    algorithm: str = ""
    module: list[str] | None = None
    jobs: Count | None = None
    out: Path = Path("results/verify")
    quiet: bool = False


@takes_options
def verify(what: VerifyOptions) -> None:
    """Check the paper's statements on this package's implementation, and write a page.

    With --algorithm, check another algorithm of the FTRL kind instead: everything that it can do
    on tiny instances is compared with the estimator that it declares. Prints a line for each
    statement. Ends with status 1 if a check fails.
    """
    from crossbandit.core import building
    from crossbandit.core.report import check_folder
    from crossbandit.verify import theory
    from crossbandit.verify.theory.verify import WRITTEN, write

    building.load_all()  # which refuses machine code of other sources
    if what.module:
        load_modules(what.module)
    subject = algorithms.from_json(_json_form(what.algorithm)) if what.algorithm else None
    check_folder(what.out, WRITTEN, "an earlier verify")
    effort = theory.Effort.QUICK if what.quick else theory.Effort.FULL
    line = ProgressLine()

    def tell(progress: theory.CheckProgress) -> None:
        text = f"Checking: {progress.done} of {progress.total} parts done."
        line.show(text, last=progress.done == progress.total)

    if line.live and not what.quiet:
        line.show("Checking.")
    with stopping("Stopped. Nothing was written."), closing(line):
        results = theory.verify(
            subject=subject,
            effort=effort,
            only=what.only,
            jobs=what.jobs,
            progress=None if what.quiet else tell,
        )
    declared = "" if subject is None or isinstance(subject, CrossGraph) else str(subject)
    facts = _facts(subject, what)
    paths = write(results, what.out, facts, declared)
    _print(results, paths, quiet=what.quiet, declared=declared)
    if not all(result.passed for result in results):
        raise typer.Exit(1)


def _json_form(text: str) -> dict[str, Any]:
    """Return the JSON form of an algorithm. An id alone means the defaults."""
    if not text.lstrip().startswith("{"):
        return {"id": text}
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidParameterError(
            f"--algorithm must be an id, such as exp3-ix, or a JSON object with an id and "
            f"parameters. Got {text!r}: {error}."
        ) from error
    return data


def _facts(subject: Algorithm | None, what: VerifyOptions) -> Iterator[tuple[str, str]]:
    import crossbandit
    from crossbandit.core.building import fingerprint

    extra = f' --only "{what.only}"' if what.only else ""
    named = "" if subject is None else f" --algorithm '{json.dumps(subject.to_json())}'"
    yield "Command", f"crossbandit verify{' --quick' if what.quick else ''}{named}{extra}"
    yield "Version", f"Crossbandit {crossbandit.__version__}"
    yield "Cores", fingerprint()
    yield "Under test", "CrossGraph, Algorithm 2 of the paper" if subject is None else str(subject)


def _print(
    results: Sequence[CheckResult], paths: Sequence[Path], *, quiet: bool, declared: str
) -> None:
    from crossbandit.core.building import fingerprint
    from crossbandit.verify.theory.statements import PROVED_BOUND
    from crossbandit.verify.theory.verify import tally, worst_first

    console = Console()
    shown = [result for result in worst_first(results) if not (quiet and result.passed)]
    if shown and declared:
        say(declared)
    for result in shown:
        _print_block(console, result)
    for heading, verdict in (("Failed:", "failed"), ("Could not run:", "could not run")):
        said = [result for result in results if result.verdict == verdict and result.note]
        _print_notes(console, heading, said)
    if quiet:
        return
    measured = [result for result in results if not result.judged]
    _print_notes(console, "Measured, not judged:", measured)
    bounds = [result for result in results if result.statement == PROVED_BOUND]
    _print_notes(console, "The machine-checked bound, as a number:", bounds)
    say(f"\n{tally(results)}")
    say(f"Cores: {fingerprint()}.")
    if not declared:
        checked = sum(bool(result.proofs) for result in results)
        say(f"Machine-checked in proofs/: {checked} of {len(results)} lines.")
    say_paths(paths)


def _print_notes(console: Console, heading: str, results: Sequence[CheckResult]) -> None:
    if results:
        console.print(f"\n[bold]{heading}[/]")
    for result in results:
        console.print(f"{escape(result.statement)}. {escape(result.note)}", highlight=False)


def _print_block(console: Console, result: CheckResult) -> None:
    """Print a result: a heading, and indented lines."""
    console.print(
        f"[bold]{escape(result.statement)}[/]: {_VERDICTS[result.verdict]}", highlight=False
    )
    counted = f"{result.instances:,} instances; {escape(result.worst)}"
    lines = [f"[dim]{escape(result.checked)}[/]", counted]
    lines += [f"machine-checked: {escape(str(proof))}" for proof in result.proofs]
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 4), expand=False), highlight=False)
