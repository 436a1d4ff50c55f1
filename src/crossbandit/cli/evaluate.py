"""`crossbandit evaluate`: what strategies would have earned on a log without all prices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from crossbandit.cli import log_options as options
from crossbandit.cli.terminal import new_table, notify, say, say_faults, say_paths, stopping

if TYPE_CHECKING:
    from crossbandit.evaluate import Evaluation
    from crossbandit.evaluate.reading import ReadLog

_NOT_REPEATED = {"logs", "out", "quiet"}  # options that do not change the numbers
_NAME = 14  # characters of the name of a strategy, at least
_METHOD = len("by band")


@options.takes_options
def evaluate(
    context: typer.Context,
    log: options.LogOptions,
    propensity_column: options.PropensityColumn = None,
    bidder: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A saved FirstPriceBidder; may be repeated."),
    ] = None,
    shading: Annotated[
        list[float] | None,
        typer.Option(
            help="A fraction of the value to bid; may be repeated. \\[default: 0.1 to 0.9]"
        ),
    ] = None,
    random_bids: Annotated[
        bool,
        typer.Option(
            "--random-bids",
            help="Bids were drawn at random from a few; estimate how likely each was.",
        ),
    ] = False,
    bands: Annotated[
        int | None,
        typer.Option(min=1, help="Number of bands of values. \\[default: as many as useful]"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results/evaluation"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
) -> None:
    """Evaluate strategies on a log of your own bids, in which prices may be missing.

    For each strategy: what is known exactly, bounds, and an estimate with an interval.
    """
    with stopping("Stopped. Nothing was written."):
        from crossbandit.applications import FirstPriceBidder
        from crossbandit.evaluate import evaluate_log
        from crossbandit.evaluate.evaluation import SHADINGS
        from crossbandit.evaluate.page import WRITTEN, write
        from crossbandit.evaluate.reading import open_censored
        from crossbandit.report import check_folder

        check_folder(out, WRITTEN, "an evaluation")
        if not quiet:
            notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open({"propensity": propensity_column})
        read = open_censored(auctions, reserve=log.reserve, ties=log.ties_rule)
        result = evaluate_log(
            read.log,
            shadings=SHADINGS if shading is None else shading,
            bidders={path.stem: FirstPriceBidder.load(path) for path in bidder or []},
            bands=bands,
            random_bids=random_bids,
        )
    with stopping(f"Stopped. The results in {out} may be incomplete."):
        command = options.command_line(context, log.name, _NOT_REPEATED)
        paths = write(result, out, read=read, log=log.name, command=command)
        if not quiet:
            _print(result, read)
            say_paths(paths)


def _print(result: Evaluation, read: ReadLog[object]) -> None:
    from crossbandit.evaluate.page import other_estimates, rows, summary

    table = new_table(
        summary(result),
        "Bounds assume only that the others would have bid the same. Intervals are 95 % intervals "
        "of what would have been earned in these auctions, if the assumption of the method holds.",
    )
    table.add_column("strategy", min_width=_NAME)
    for heading in ("exact\npart", "known", "bounds", "estimate", "95 % interval"):
        whole = heading not in {"bounds", "95 % interval"}  # these two have several words
        table.add_column(heading, justify="right", no_wrap=whole)
    table.add_column("method", min_width=_METHOD)
    kind = ""
    for row in rows(result):
        if kind and row.kind != kind:
            table.add_section()
        kind = row.kind
        mark = f" (open: {row.open})" if row.open else ""
        cells = (row.exact, row.known, row.bounds, row.estimate, row.interval, row.method)
        table.add_row(row.strategy + mark, *cells)
    Console().print(table)
    if others := other_estimates(result):
        table = new_table(
            "By propensities",
            "The mean weight should be near 1.",
            *("strategy", "doubly robust", "by band", "inverse propensity", "weight", "size"),
        )
        for cells_ in others:
            table.add_row(*cells_)
        Console().print(table)
    sound = [str(one) for one in result.checks if not one.doubtful]  # the others are in the notes
    for note in (*read.notes, *result.notes, *sound):
        say(note)
    say_faults(read.bad, result.auctions, read.faults)
