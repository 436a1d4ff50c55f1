"""The commands of studies: new, run, report, export and list, and the paper's evaluation."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from crossbandit import algorithms, environments, graphs
from crossbandit.cli.terminal import Backend, Count, notify, say, say_paths, stopping, takes_options
from crossbandit.core.modules import load_modules
from crossbandit.errors import StudyFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crossbandit.studies import Study
    from crossbandit.studies.page import Report


@takes_options
def new_study(path: Path) -> None:
    """Write a commented study file to start from. An existing file is not changed.

    Args:
        path: The file to write, such as my-study.toml.
    """
    from crossbandit.studies import template

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError as error:
        raise StudyFileError(f"{path} already exists. Choose another name.") from error
    say(f"Wrote {path}. Edit it, then: crossbandit run {path}")


# --- `crossbandit run`: compute the cells of a study that are missing ----------------------------


STOPPED = "Stopped. Finished cells are stored; run the same command again to continue."
_SHOWN_FAILURES = 10


@takes_options
def run(
    study: str,
    *,
    out: Path | None = None,
    jobs: Count | None = None,
    backend: Backend = Backend.local,
    address: str | None = None,
    quiet: bool = False,
) -> None:
    """Run a study. Cells that are already in the results are not computed again.

    Args:
        study (STUDY.toml): A study file, or the name of a shipped study: paper, quick, adaptive,
            budgets, graphs; also a benchmark or a paper, such as graphs-v1 and neu-2015. The code
            of the files in its list 'modules' is run.
        out: Folder of the results. [default: results/NAME]
        jobs: Number of workers. [default: all cores]
        backend: Where cells are run.
        address: Address of a Ray or Dask cluster.
        quiet: Print only errors and warnings.
    """
    with stopping(STOPPED):
        from crossbandit import studies  # DuckDB and pandas take long to load

        plan = _study(study, quiet=quiet)
        folder = Path("results") / plan.name if out is None else out
        with plain_warnings(), studies.display(quiet=quiet) as progress:
            summary = studies.run(
                plan, folder, jobs=jobs, backend=backend.value, address=address, progress=progress
            )
    if not quiet:
        kept = f", {summary.kept} kept from before" if summary.kept else ""
        failed = f", {summary.failed} failed" if summary.failed else ""
        say(
            f"{summary.computed} cells computed in {summary.seconds:.1f} s{kept}{failed}. "
            f"Results are in {folder}."
        )
        if summary.computed or summary.kept:
            say(f"Next: {shlex.join(['crossbandit', 'report', str(folder)])}")
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
    return studies.Study.from_toml(
        Path(name),
        announce=None if quiet else lambda module: notify(f"This study runs the code of {module}"),
    )


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


# --- `crossbandit export`: results for other programs --------------------------------------------


@takes_options
def export(source: Path, *, to: Literal["parquet", "csv"], out: Path | None = None) -> None:
    """Write the results of a study as Parquet or CSV, one row per cell.

    Cells that failed go to a second file, with "failures" in its name.

    Args:
        source (DIR): The folder of a study, or a results file.
        to: The kind of file to write.
        out: The file to write. [default: results.KIND in the folder]
    """
    from crossbandit import studies

    path = studies.export(source, to=to, out=out)
    say(f"Wrote {path}.")


# --- `crossbandit list`: the names that a study file can use -------------------------------------


# A period that ends a sentence: not one after an abbreviation or an initial.
_SENTENCE_END = re.compile(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\b[A-Z])\. (?=[^a-z(])")


@takes_options
def list_names(
    kind: Literal["algorithms", "environments", "graphs"], *, module: list[str] | None = None
) -> None:
    """List what a study file can name, one line each: name, parameters, meaning.

    Args:
        kind: What to list.
        module (FILE.py): A Python file or module that registers more of them. Its code is run. May
            be repeated.
    """
    if module:
        load_modules(module)
    known: dict[str, Callable[..., Any]] = {
        "algorithms": dict[str, Any](algorithms.registered()),
        "environments": environments.registered(),
        "graphs": graphs.registered(),
    }[kind]
    described = {}
    for name, builder in sorted(known.items()):
        parameters = ", ".join(  # as in a call; None means that a rule chooses the value
            word if parameter.default is parameter.empty else f"{word}={parameter.default!r}"
            for word, parameter in inspect.signature(builder).parameters.items()
        )
        described[f"{name}({parameters})"] = builder
    width = max(map(len, described))
    for text, builder in described.items():
        memory = " Needs memory." if getattr(builder, "needs_memory", False) else ""
        typer.echo(f"{text:<{width}}  {_first_sentence(builder)}{memory}")


def _first_sentence(builder: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring; a period after an abbreviation does not end it."""
    paragraph = " ".join(inspect.cleandoc(builder.__doc__ or "").partition("\n\n")[0].split())
    return _SENTENCE_END.split(paragraph, maxsplit=1)[0].rstrip(".") + "."


# --- `crossbandit reproduce` and `crossbandit benchmark`: shipped studies and what they show ------


_CURVES = ["curve_rounds", "curve_regret"]
_QUICK_SEEDS = 3


@takes_options
def reproduce(
    name: str = "paper",
    *,
    quick: bool = False,
    jobs: Count | None = None,
    out: Path | None = None,
    add: list[str] | None = None,
    module: list[str] | None = None,
    quiet: bool = False,
) -> None:
    """Run a paper's evaluation and judge its claims; write a page, tables and figures.

    Ends with status 1 if a claim is not met or a run failed.

    Args:
        name (NAME): "paper" for the paper behind this package, another paper, such as neu-2015, or
            a study file with claims of your own.
        quick: Run three seeds instead of all, and write to another folder.
        jobs: Number of workers. [default: all cores]
        out: Folder of the results. [default: results/NAME; results/quick or results/NAME-quick with
            --quick]
        add (ALGORITHM): Run one more algorithm: its id, or a Python file that registers it, whose
            code is run. Can be repeated.
        module (FILE.py): A Python file or module that registers more of them. Its code is run. May
            be repeated.
        quiet: Print only errors, warnings and failed claims.
    """
    from crossbandit import studies

    if quick and name == "paper":
        study = studies.shipped("quick")
    else:
        papers = ["paper", *studies.shipped_names("papers")]
        study = _chosen(name, papers, "paper", quiet=quiet)
    if quick and name != "paper":
        study = replace(study.with_seeds(_QUICK_SEEDS), name=f"{study.name}-quick")
    words = ["reproduce", *([] if name == "paper" else [name]), *(["--quick"] if quick else [])]
    _run_and_show(study, words, jobs, out, (module or [], add or []), quiet=quiet)


@takes_options
def benchmark(
    name: str = "graphs-v1",
    *,
    jobs: Count | None = None,
    out: Path | None = None,
    add: list[str] | None = None,
    module: list[str] | None = None,
    quiet: bool = False,
) -> None:
    """Run a frozen benchmark, and show its leaderboard; write a page, tables and figures.

    A benchmark never changes: new ones get the next version.

    Args:
        name (NAME): The benchmark with its version.
        jobs: Number of workers. [default: all cores]
        out: Folder of the results. [default: results/NAME]
        add (ALGORITHM): Run one more algorithm: its id, or a Python file that registers it, whose
            code is run. Can be repeated.
        module (FILE.py): A Python file or module that registers more of them. Its code is run. May
            be repeated.
        quiet: Print only errors and warnings.
    """
    from crossbandit import studies

    study = _chosen(name, studies.shipped_names("benchmarks"), "benchmark", quiet=quiet)
    words = ["benchmark", name]
    _run_and_show(study, words, jobs, out, (module or [], add or []), quiet=quiet)


def _chosen(name: str, known: Sequence[str], kind: str, *, quiet: bool) -> Study:
    """Return the shipped study of this name, or that of a study file."""
    from crossbandit import studies

    if name in known:
        return studies.shipped(name)
    if not Path(name).exists():
        near = get_close_matches(name, known, n=1)
        raise StudyFileError(
            f"There is no {kind} {name!r}, and no study file of this name. "
            + (f"Did you mean {near[0]!r}? " if near else "")
            + f"Known: {', '.join(known)}."
        )
    return _study(name, quiet=quiet)


def _run_and_show(
    study: Study,
    words: list[str],
    jobs: int | None,
    out: Path | None,
    more: tuple[Sequence[str], Sequence[str]],
    *,
    quiet: bool,
) -> None:
    """Run a study with more modules and algorithms, write its report, and print what it shows."""
    from crossbandit import studies
    from crossbandit.core.report import frame_csv, write_files
    from crossbandit.studies.page import compose, write

    module, add = more
    folder = Path("results") / study.name if out is None else out
    own = studies.load_modules([*module, *(one for one in add if one.endswith(".py"))])
    study = replace(study, modules=(*study.modules, *own)).with_algorithms(*_algorithms(add))
    with stopping(STOPPED), plain_warnings(), studies.display(quiet=quiet) as progress:
        outcome = studies.run(study, folder, jobs=jobs, progress=progress)
    frame = studies.load(folder)
    failed = studies.failures(folder)
    words = ["crossbandit", *words]
    words += [word for one in module for word in ("--module", Path(one).name)]
    words += [word for one in add for word in ("--add", Path(one).name)]
    result = compose(frame, command=shlex.join(words), failures=failed, study=study)
    runs = frame_csv(frame.drop(columns=_CURVES))  # the curves stay in the results file
    paths = [folder / "results.duckdb", *write_files(folder, {"runs.csv": runs})]
    _print_report(result, [*paths, *write(result, folder)], quiet=quiet)
    if outcome.failed:
        first = failed.iloc[0]
        notify(
            f"{outcome.failed} runs failed and are missing from the report. The first: "
            f"{first.algorithm_name}, seed {first.seed}: {first.error} To try them again, use the "
            "same command."
        )
    if outcome.failed or not result.met:
        raise typer.Exit(1)


def _algorithms(add: Sequence[str]) -> list[str]:
    """Return the ids of algorithms that are given by ids or by loaded files."""
    ids = []
    for one in add:
        if not one.endswith(".py"):
            ids.append(one)
            continue
        file = Path(one).resolve()
        modules = {id_: sys.modules.get(x.__module__) for id_, x in algorithms.registered().items()}
        files = {id_: getattr(module, "__file__", None) for id_, module in modules.items()}
        mine = [id_ for id_, path in files.items() if path and Path(path).resolve() == file]
        if not mine:
            raise StudyFileError(
                f"{one} registers no algorithm. Decorate its class with "
                "crossbandit.algorithms.register."
            )
        ids += mine
    return ids


def _print_report(result: Report, paths: Sequence[Path], *, quiet: bool = False) -> None:
    """Print the claims or the leaderboard, if there are any, what was written, and warnings."""
    from crossbandit.core.report.terminal import show
    from crossbandit.studies.page import claims_table, leaderboard

    board = leaderboard(result.sweeps)
    if board is not None and not result.claims and not quiet:
        show(board)
    if result.claims and not (quiet and result.met):
        show(claims_table(result.claims))
    if not quiet:
        say_paths(paths)
    for sentence in result.warnings:
        notify(sentence, "Warning:", "bold yellow")


# --- `crossbandit report`: the page, tables and figures of any study -----------------------------


@takes_options
def report(source: Path, *, out: Path | None = None) -> None:
    """Make the page, the tables and the figures of a study from its results.

    Nothing is run. Ends with status 1 if these are runs of the paper's evaluation and a claim is
    not met.

    Args:
        source (DIR): The folder of a study, or a results file.
        out: Folder of the report. [default: beside the results]
    """
    from crossbandit import studies
    from crossbandit.core.report import check_folder
    from crossbandit.studies.page import WRITTEN, compose, write

    frame = studies.load(source)
    folder = (source if source.is_dir() else source.parent) if out is None else out
    if out is not None or source.is_file():  # the study's own folder may hold any other file
        check_folder(folder, WRITTEN, "a study's results")
    command = f"crossbandit report {source.resolve().name}"
    result = compose(frame, command=command, failures=studies.failures(source))
    _print_report(result, write(result, folder))
    if result.failed:
        cells = "1 cell has" if len(result.failed) == 1 else f"{len(result.failed):,} cells have"
        notify(f"{cells} failed and cannot be in the report. The first: {result.failed[0]}")
    if not result.met:
        raise typer.Exit(1)
