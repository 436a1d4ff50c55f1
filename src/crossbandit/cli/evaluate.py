"""`crossbandit evaluate`: what strategies would have earned on a log without all prices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossbandit.cli import options
from crossbandit.cli.terminal import notify, say, say_faults, say_paths, stopping

if TYPE_CHECKING:
    from crossbandit.logs.evaluate import Evaluation
    from crossbandit.logs.evaluate.log import ReadLog

_NOT_REPEATED = {"logs", "out", "quiet"}  # options that do not change the numbers


@options.takes_options
def evaluate(
    context: typer.Context,
    log: options.LogOptions,
    propensity_column: Annotated[
        str | None, options.column_option("the probability of your bid")
    ] = None,
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
        from crossbandit.core.report import check_folder
        from crossbandit.logs.evaluate import evaluate
        from crossbandit.logs.evaluate.evaluation import SHADINGS
        from crossbandit.logs.evaluate.log import open_censored
        from crossbandit.logs.evaluate.page import WRITTEN, write

        check_folder(out, WRITTEN, "an evaluation")
        if not quiet:
            notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open(propensity=propensity_column)
        read = open_censored(auctions, reserve=log.reserve, ties=log.ties)
        result = evaluate(
            read.log,
            shadings=SHADINGS if shading is None else shading,
            bidders={path.stem: FirstPriceBidder.load(path) for path in bidder or []},
            bands=bands,
            random_bids=random_bids,
        )
    with stopping(f"Stopped. The results in {out} may be incomplete."):
        command = options.command_line(context, log.logs, _NOT_REPEATED)
        paths = write(result, out, read=read, log=log.name, command=command)
        if not quiet:
            _print(result, read)
            say_paths(paths)


def _print(result: Evaluation, read: ReadLog[object]) -> None:
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.evaluate.page import by_propensities, earned

    show(*filter(None, (earned(result), by_propensities(result))))
    sound = [str(one) for one in result.checks if not one.doubtful]  # the others are in the notes
    for note in (*read.notes, *result.notes, *sound):
        say(note)
    say_faults(read.bad, result.auctions, read.faults)
