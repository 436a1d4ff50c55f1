"""`crossbandit replay`: what learners and other strategies would have earned on a log."""

from __future__ import annotations

import shlex
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossbandit.cli.limits import Aim, Pacing, parse_limits
from crossbandit.cli.terminal import Modules, notify, stopping
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.replay import Shading
    from crossbandit.types import Floats

_GEOMETRIC = "geometric:"
_NOT_REPEATED = {"log", "out", "quiet", "jobs"}  # options that do not change the numbers
_COLUMN = "a name or a 1-based index."


class Feedback(StrEnum):
    """Who is told the highest competing bid."""

    after_loss = "after-loss"
    after_win = "after-win"
    always = "always"
    won_lost = "won-lost"


class Ties(StrEnum):
    """What happens to a bid that equals the highest competing bid."""

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
            help="A learner: law, guarded law or an algorithm; may be repeated. "
            "\\[default: law, cross-graph-adaptive, cross-graph]",
        ),
    ] = None,
    module: Modules = None,
    bids: Annotated[
        str,
        typer.Option(
            metavar="BIDS",
            help="The grid of bids: a number, a list 0,0.5,1, or geometric:COUNT:LOW:HIGH.",
        ),
    ] = "100",
    reserve: Annotated[float, typer.Option(min=0, help="The lowest bid that can win.")] = 0.0,
    ties: Annotated[
        Ties, typer.Option(help="What a bid does that equals the highest competing bid.")
    ] = Ties.win,
    highest_value: Annotated[
        float | None,
        typer.Option(help="A bound of the values. \\[default: the highest value of the log]"),
    ] = None,
    value_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help=f"Column with the value: {_COLUMN} \\[default: by usual names]"
        ),
    ] = None,
    price_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help=f"Column with the highest competing bid: {_COLUMN} \\[default: by usual names]",
        ),
    ] = None,
    bid_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help=f"Column with your own bids, to compare with: {_COLUMN}"
        ),
    ] = None,
    reserve_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help=f"Column with a reserve per auction: {_COLUMN}"),
    ] = None,
    class_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help=f"Column with a class, such as a site, that laws use; may be repeated: {_COLUMN}",
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help=f"Column with the time of each auction: {_COLUMN}"),
    ] = None,
    timezone: Annotated[
        str, typer.Option(help="Time zone of days and of times without an offset.")
    ] = "UTC",
    budget: Annotated[
        float | None,
        typer.Option(metavar="AMOUNT", help="What every strategy may spend in each period."),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD",
            help="Period of the budget: day, hour, a number of auctions, or log. \\[default: log]",
        ),
    ] = None,
    pacing: Annotated[
        Pacing | None,
        typer.Option(help="How the budget is spread over its period. \\[default: traffic]"),
    ] = None,
    target_roi: Annotated[
        float | None,
        typer.Option(metavar="RATIO", help="The values won must be this times the spend."),
    ] = None,
    target_cost: Annotated[
        float | None,
        typer.Option(metavar="AMOUNT", help="What a win may cost on average."),
    ] = None,
    aim: Annotated[
        Aim | None,
        typer.Option(help="What is to be high under a target. \\[default: value]"),
    ] = None,
    fractions: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Fixed fractions of the value to bid, as in 0.3,0.5. \\[default: 0.1 to 0.95]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of runs of each learner.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of lines to read. \\[default: all]")
    ] = None,
    max_bad: Annotated[
        int, typer.Option(min=0, help="Number of bad lines to leave out before stopping.")
    ] = 100,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of threads. \\[default: one per core]")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results/replay"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Replay a log of first-price auctions: what would each strategy have earned?

    Learners see only what their own bids would have revealed.
    """
    with stopping("Stopped. Nothing was written."):
        from crossbandit.cli.replay_output import print_replay
        from crossbandit.modules import load_modules
        from crossbandit.replay import AuctionLog, LogWarning, ReplayRules
        from crossbandit.replay import replay as replay_log
        from crossbandit.replay.page import WRITTEN, write
        from crossbandit.report import check_folder

        load_modules(module or [])
        check_folder(out, WRITTEN, "a replay")
        if not quiet:
            notify(f"Reading {log} ...")
        columns = {
            "value": value_column,
            "price": price_column,
            "bid": bid_column,
            "reserve": reserve_column,
            "time": time_column,
        }
        limits = parse_limits(
            budget=budget,
            per=per,
            pacing=pacing,
            target_roi=target_roi,
            target_cost=target_cost,
            aim=aim,
            timezone=timezone,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)  # printed with the notes below
            result = replay_log(
                AuctionLog(
                    log,
                    columns={role: column for role, column in columns.items() if column},
                    classes=class_column or [],
                    timezone=timezone,
                    highest_value=highest_value,
                    limit=limit,
                    max_bad=max_bad,
                ),
                rules=ReplayRules(
                    feedback=feedback.value,
                    bids=parse_bids(bids),
                    reserve=reserve,
                    ties=ties.value,
                ),
                strategies=[
                    *(algorithm or ["learners"]),
                    "best responses",
                    *(parse_fractions(fractions) if fractions is not None else ["fractions"]),
                ],
                limits=limits,
                seeds=range(seed, seed + seeds),
                jobs=jobs,
                show_progress=False if quiet else None,
            )
    with stopping(f"Stopped. The results in {out} may be incomplete."):
        paths = write(result, out, log=log.name, command=_command(context, log.name))
        if not quiet:
            print_replay(result, paths)


def parse_bids(text: str) -> int | list[float] | Floats:
    """Return the number of bids, or the bids, that `--bids` gives.

    >>> parse_bids("0,0.5,2")
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


def parse_fractions(text: str) -> list[Shading]:
    """Return the strategies that `--fractions` lists, and the truthful one.

    >>> [strategy.name for strategy in parse_fractions("0.5,0.25")]
    ['shading 0.25', 'shading 0.50', 'truthful']
    """
    from crossbandit.replay import Shading

    try:
        fractions = [float(fraction) for fraction in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"--fractions must be a list of numbers such as 0.3,0.5,0.7. Got {text!r}."
        ) from None
    return [Shading(fraction) for fraction in (*sorted(set(fractions)), 1.0)]


def _command(context: typer.Context, log: str) -> str:
    """Return the command without paths and options that do not change the numbers."""
    words = ["crossbandit", "replay", log]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in _NOT_REPEATED or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        for one in value if isinstance(value, list | tuple) else [value]:
            shown = Path(one).name if name == "module" else str(one)
            words += [parameter.opts[0], shown]
    return shlex.join(words)
