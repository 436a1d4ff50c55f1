"""`crossbandit run`: compute what is missing of a study."""

from __future__ import annotations

import shlex
import warnings
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossbandit.cli.terminal import Jobs, notify, say, stopping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.studies import Outcome, Study

STOPPED = "Stopped. Finished cells are kept; to go on, run the same command again."
_SHOWN_FAILURES = 10


class Backend(StrEnum):
    """Where cells are run."""

    local = "local"
    ray = "ray"
    dask = "dask"


def run(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY.toml", help="A study file, or a shipped one: paper, quick, adaptive."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results. \\[default: results/NAME]")
    ] = None,
    jobs: Jobs = None,
    backend: Annotated[Backend, typer.Option(help="Where cells are run.")] = Backend.local,
    address: Annotated[
        str | None, typer.Option(help="Where a Ray or Dask cluster answers.")
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing but errors and warnings.")
    ] = False,
) -> None:
    """Run a study: only what is missing is computed, and nothing finished is ever lost."""
    from crossbandit import studies  # DuckDB and pandas take long to load

    plan = _study(study)
    folder = Path("results") / plan.name if out is None else out
    with stopping(STOPPED), plain_warnings(), studies.display(quiet=quiet) as progress:
        outcome = studies.run(
            plan, folder, jobs=jobs, backend=backend, address=address, progress=progress
        )
    if not quiet:
        _print_outcome(outcome, folder)
    if outcome.failed:
        _print_failures(folder, outcome.failed)
        raise typer.Exit(1)


def _study(name: str) -> Study:
    from crossbandit import studies

    if not Path(name).is_file() and name in studies.shipped_names():
        return studies.shipped(name)
    return studies.Study.from_toml(Path(name))


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Make a warning of a study's a sentence on the standard error, also when quiet."""
    from crossbandit.studies import ChangedModulesWarning

    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ChangedModulesWarning):
            others(message, category, *place, **more)
            return
        notify(str(message), "Warning:", "bold yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ChangedModulesWarning)
        warnings.showwarning = show
        yield


def _print_outcome(outcome: Outcome, folder: Path) -> None:
    """Say what was done, and what to do next."""
    say(_sentence(outcome, folder))
    if outcome.computed or outcome.kept:
        say(f"Next: {shlex.join(['crossbandit', 'report', str(folder)])}")


def _sentence(outcome: Outcome, folder: Path) -> str:
    kept = f", {outcome.kept} kept from before" if outcome.kept else ""
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    return (
        f"{outcome.computed} cells computed in {outcome.seconds:.1f} s{kept}{failed}. "
        f"Results are in {folder}."
    )


def _print_failures(folder: Path, count: int) -> None:
    """Say which cells failed; on the standard error, so also when quiet."""
    from crossbandit import studies

    rows = studies.failures(folder).head(_SHOWN_FAILURES)
    for row in rows.itertuples():
        where = f"{row.algorithm_name} on {row.environment_name}, seed {row.seed}"
        notify(f"Failed: {where} (part {row.part}): {row.error}")
    if count > len(rows):
        notify(f"... and {count - len(rows)} more")
    notify(
        "Running the study again tries these cells again. All of them, with every parameter: "
        f"crossbandit.studies.failures({str(folder)!r})"
    )
