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
    from crossbandit.report.replay import ReplayReport

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
    from crossbandit.report.folders import check_folder
    from crossbandit.report.replay import WRITTEN, write_replay
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
    report = reported(result, log.name, _command(context, log.name))
    paths = write_replay(report, folder)
    if not quiet:
        _print(report, paths)


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


def reported(result: Replay, log: str, command: str) -> ReplayReport:
    """Return what there is to say of a replay."""
    import crossbandit
    from crossbandit.environments.auctions import FEEDBACK
    from crossbandit.replay.lineup import ALL_TOLD
    from crossbandit.replay.oracles import BestPolicy, PerfectKnowledge
    from crossbandit.report.replay import ReplayReport

    rules = result.rules
    bids = rules.amounts
    bad = f", {result.bad:,} bad lines left out" if result.bad else ""
    first, last = result.seeds[0], result.seeds[-1]
    return ReplayReport(
        title=f"{log}, replayed",
        lead=f"What each strategy would have earned in {result.auctions:,} first-price auctions.",
        table=result.table(),
        curves=result.curves(),
        bids=result.bid_curves(),
        notes=result.notes,
        faults=tuple((fault.line, fault.reason) for fault in result.faults),
        left_out=_left_out(result),
        facts=(
            ("Command", command),
            ("Version", f"Crossbandit {crossbandit.__version__}"),
            ("Log", f"{result.auctions:,} auctions{bad}"),
            ("Feedback", f"{result.feedback}: {FEEDBACK[result.feedback]}"),
            ("Bids", f"{bids.size} from {bids[0]:g} to {bids[-1]:g}"),
            (
                "Rules",
                f"reserve {_reserve(result)}, equal bids {rules.ties}, no bid above value",
            ),
            ("Seeds", str(first) if first == last else f"{first} to {last}"),
        ),
        comparator=BestPolicy.name,
        beyond_charts=PerfectKnowledge.name,
        first_to_go=ALL_TOLD,
    )


def _reserve(result: Replay) -> str:
    amount = f"{result.rules.reserve:g}"
    if result.reserve_column is None:
        return amount
    least = f", at least {amount}" if result.rules.reserve else ""
    return f"of each auction in column {result.reserve_column}{least}"


def _left_out(result: Replay) -> str:
    """Introduce the bad lines that are shown: a quotation mark may make many lines one fault."""
    were = "was" if result.bad == 1 else "were"
    said = f"{result.bad:,} of {result.auctions + result.bad:,} lines {were} left out"
    shown = sum(fault.lines for fault in result.faults)
    return f"{said}:" if shown == result.bad else f"{said}. The first ten:"


def _print(report: ReplayReport, paths: list[Path]) -> None:
    for note in report.notes:
        say(note)
    if report.faults:
        say(report.left_out)
    for line, reason in report.faults:
        say(f"  line {line}: {reason}")
    Console().print(_table(report))
    say_paths(paths)


def _table(report: ReplayReport) -> Table:
    from rich.box import SIMPLE_HEAD

    table = Table(
        title=report.lead,
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
    kind = report.table["kind"].iloc[0]
    for _, row in report.table.iterrows():
        if row["kind"] != kind:
            table.add_section()
            kind = row["kind"]
        best = row["strategy"] in report.charted and kind == "fixed"
        table.add_row(
            row["strategy"] + (" (best)" if best else ""),
            report.sum_of_money(row["surplus"], row["half_width"]),
            report.sum_of_money(row["regret"]),
            report.sum_of_money(row["spend"]),
            f"{100 * row['win_rate']:.1f} %",
            report.price(row),
            style="bold" if kind == "learner" else None,
        )
    return table
