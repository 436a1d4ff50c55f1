"""`crossbandit replay`: what learners and other strategies would have earned on a log."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from crossbandit.cli.terminal import Modules, notify, say, say_paths, stopping
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.replay import Replay

_GEOMETRIC = "geometric:"
_ELSEWHERE = {"log", "out", "quiet", "jobs"}  # what a command repeats in another place, or need not


class Feedback(StrEnum):
    """Who is told the highest competing bid."""

    after_loss = "after-loss"
    after_win = "after-win"
    always = "always"
    won_lost = "won-lost"


class Ties(StrEnum):
    """What becomes of a bid that equals the highest competing bid."""

    win = "win"
    lose = "lose"


def replay(
    context: typer.Context,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A CSV or Parquet file.")],
    feedback: Annotated[
        Feedback, typer.Option(help="Who is told the highest competing bid.")
    ] = Feedback.after_loss,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A learner; may be repeated. Usually cross-graph-adaptive and cross-graph.",
        ),
    ] = None,
    module: Modules = None,
    bids: Annotated[
        str,
        typer.Option(
            metavar="BIDS", help="A number of bids, a list 0,0.5,1, or geometric:COUNT:LOW:HIGH."
        ),
    ] = "100",
    reserve: Annotated[float, typer.Option(min=0, help="The lowest bid that can win.")] = 0.0,
    ties: Annotated[Ties, typer.Option(help="What an equal bid does.")] = Ties.win,
    highest_value: Annotated[
        float | None, typer.Option(help="Bounds the values; usually the highest in the log.")
    ] = None,
    value_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Name, or number from 1; guessed if left out."),
    ] = None,
    price_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of the highest competing bid; likewise.")
    ] = None,
    bid_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of what you bid: a row for your own bids.")
    ] = None,
    reserve_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of a reserve for each auction.")
    ] = None,
    fractions: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Of the value, as in 0.3,0.5; usually 0.1 to 0.95."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of runs of each learner.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Read only so many lines.")] = None,
    max_bad: Annotated[
        int, typer.Option(min=0, help="Stop if more lines than this are bad.")
    ] = 100,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of threads; usually one per core.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; usually results/replay.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Play a log of first-price auctions again: what would each strategy have earned?

    Learners are told of each auction only what their own bid would have revealed.
    """
    from crossbandit import replay as replays
    from crossbandit.replay.lineup import FRACTIONS
    from crossbandit.replay.page import WRITTEN, write
    from crossbandit.report import check_folder
    from crossbandit.studies import load_modules

    load_modules(module or [])
    folder = Path("results/replay") if out is None else out
    check_folder(folder, WRITTEN, "a replay")
    if not quiet:
        notify(f"Reading {log} ...")
    with stopping("Stopped. Nothing was written."):
        result = replays.replay(
            log,
            algorithms=algorithm,
            feedback=feedback.value,
            bids=parsed_bids(bids),
            reserve=reserve,
            ties=ties.value,
            highest_value=highest_value,
            value_column=value_column,
            price_column=price_column,
            bid_column=bid_column,
            reserve_column=reserve_column,
            fractions=FRACTIONS if fractions is None else parsed_fractions(fractions),
            seeds=seeds,
            seed=seed,
            limit=limit,
            max_bad=max_bad,
            jobs=jobs,
            show_progress=False if quiet else None,
        )
    paths = write(result, folder, log=log.name, command=_command(context, log.name))
    if not quiet:
        _print(result, paths)


def parsed_bids(text: str) -> Any:
    """Return what `--bids` says: a number of bids, or the bids themselves.

    >>> parsed_bids("0,0.5,2")
    [0.0, 0.5, 2.0]
    """
    from crossbandit.environments.auctions import geometric_bids

    expected = "a number of bids, a list such as 0,0.5,1, or geometric:COUNT:LOW:HIGH"
    try:
        if text.startswith(_GEOMETRIC):
            count, low, high = text.removeprefix(_GEOMETRIC).split(":")
            return geometric_bids(int(count), float(low), float(high))
        return [float(bid) for bid in text.split(",")] if "," in text else int(text)
    except InvalidParameterError:
        raise
    except ValueError:
        raise InvalidParameterError(f"--bids must be {expected}. Got {text!r}.") from None


def parsed_fractions(text: str) -> list[float]:
    """Return the numbers that `--fractions` lists.

    >>> parsed_fractions("0.25,0.5")
    [0.25, 0.5]
    """
    try:
        return [float(fraction) for fraction in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"--fractions must be a list of numbers such as 0.3,0.5,0.7. Got {text!r}."
        ) from None


def _command(context: typer.Context, log: str) -> str:
    """Return the command without what only says where and how fast."""
    words = ["crossbandit", "replay", log]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in _ELSEWHERE or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for one in value if isinstance(value, list | tuple) else [value]:
            shown = Path(one).name if name == "module" else str(one)
            words += [parameter.opts[0], shown]
    return shlex.join(words)


def _print(result: Replay, paths: list[Path]) -> None:
    from crossbandit.replay.page import left_out

    for note in result.notes:
        say(note)
    if result.faults:
        say(left_out(result))
    for fault in result.faults:
        say(f"  line {fault.line}: {fault.reason}")
    Console().print(_table(result))
    say_paths(paths)


def _table(result: Replay) -> Table:
    from rich.box import SIMPLE_HEAD

    from crossbandit.replay.page import rows, summary

    table = Table(
        title=summary(result),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption="± is a 95 % interval over seeds; paid is the average price of a win.",
        caption_justify="left",
    )
    table.add_column("strategy")
    for heading in ("surplus", "regret", "spend", "won", "paid"):
        table.add_column(heading, justify="right", no_wrap=True)
    kind = ""
    for row in rows(result):
        if kind and row.kind != kind:
            table.add_section()
        kind = row.kind
        table.add_row(
            row.strategy + (" (best)" if row.is_best else ""),
            *(row.surplus_interval, row.regret, row.spend, row.won, row.paid),
            style="bold" if kind == "learner" else None,
        )
    return table
