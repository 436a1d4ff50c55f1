"""`crossbandit run`: compute the cells of a study that are missing."""

from __future__ import annotations

import shlex
import warnings
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossbandit.cli.terminal import Backend, Jobs, notify, say, stopping
from crossbandit.errors import StudyFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.studies import RunSummary, Study

STOPPED = "Stopped. Finished cells are stored; run the same command again to continue."
_SHOWN_FAILURES = 10


def run(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY.toml",
            help="A study file, or the name of a shipped study: paper, quick, adaptive, "
            "budgets, graphs. The code of the files in its list 'modules' is run.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results. \\[default: results/NAME]")
    ] = None,
    jobs: Jobs = None,
    backend: Annotated[Backend, typer.Option(help="Where cells are run.")] = Backend.local,
    address: Annotated[str | None, typer.Option(help="Address of a Ray or Dask cluster.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors and warnings.")] = False,
) -> None:
    """Run a study. Cells that are already in the results are not computed again."""
    with stopping(STOPPED):
        from crossbandit import studies  # DuckDB and pandas take long to load

        plan = _study(study, quiet=quiet)
        folder = Path("results") / plan.name if out is None else out
        with plain_warnings(), studies.display(quiet=quiet) as progress:
            summary = studies.run(
                plan, folder, jobs=jobs, backend=backend, address=address, progress=progress
            )
    if not quiet:
        _print_summary(summary, folder)
    if summary.failed:
        _print_failures(folder, summary.failed)
        raise typer.Exit(1)


def _study(name: str, *, quiet: bool) -> Study:
    from crossbandit import studies

    names = studies.shipped_names()
    if not Path(name).is_file() and name in names:
        return studies.shipped(name)
    if not Path(name).exists():
        near = get_close_matches(name, names, n=1)
        raise StudyFileError(
            f"There is no study file {name!r}. "
            + (f"Did you mean the shipped study {near[0]!r}? " if near else "")
            + f"Shipped studies: {', '.join(names)}. To write a file of your own, start with: "
            "crossbandit new-study my-study.toml"
        )
    return studies.Study.from_toml(Path(name), announce=None if quiet else _announce)


def _announce(module: str) -> None:
    notify(f"This study runs the code of {module}")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings of a study as sentences on the standard error, also when quiet.

    Failed cells are left out: the command prints them itself.
    """
    from crossbandit.studies import FailedCellsWarning, StudyWarning

    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, StudyWarning):
            others(message, category, *place, **more)
            return
        notify(str(message), "Warning:", "bold yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always", StudyWarning)
        warnings.simplefilter("ignore", FailedCellsWarning)
        warnings.showwarning = show
        yield


def _print_summary(summary: RunSummary, folder: Path) -> None:
    """Print what was done, and what to do next."""
    kept = f", {summary.kept} kept from before" if summary.kept else ""
    failed = f", {summary.failed} failed" if summary.failed else ""
    say(
        f"{summary.computed} cells computed in {summary.seconds:.1f} s{kept}{failed}. "
        f"Results are in {folder}."
    )
    if summary.computed or summary.kept:
        say(f"Next: {shlex.join(['crossbandit', 'report', str(folder)])}")


def _print_failures(folder: Path, count: int) -> None:
    """Print which cells failed, on the standard error: also when quiet."""
    from crossbandit import studies

    rows = studies.failures(folder).head(_SHOWN_FAILURES)
    for row in rows.itertuples():
        cell = f"{row.algorithm_name} on {row.environment_name}, seed {row.seed}"
        place = f" ({row.location})" if row.location else ""
        notify(f"Failed: {cell} (part {row.part}): {row.error}{place}")
    if count > len(rows):
        notify(f"... and {count - len(rows)} more")
    notify(
        "To try these cells again, run the study again. For all of them, with parameters and "
        f"tracebacks: crossbandit.studies.failures({str(folder)!r})"
    )
