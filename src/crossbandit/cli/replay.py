"""`crossbandit replay`: what learners and other strategies would have earned on a log."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from crossbandit.cli import log_options as options
from crossbandit.cli.limits import LimitOptions
from crossbandit.cli.terminal import (
    Backend,
    Modules,
    compilation_said,
    new_table,
    notify,
    say,
    say_faults,
    say_paths,
    stopping,
)
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from crossbandit.replay import Replay, ReplaySet, Shading
    from crossbandit.types import Floats

_GEOMETRIC = "geometric:"
# Options that do not change the numbers.
_NOT_REPEATED = {"logs", "out", "quiet", "jobs", "backend", "address"}
_LONG = 9  # letters of a heading that may be broken
_PAID = (
    "± is a 95 % interval over the time of the log and the seeds; paid is the average price of a "
    "win."
)
_RETURN = "Return is the value won per money spent."
_USED = "Budget used is a share of all budgets of the log."


class Feedback(StrEnum):
    """Who is told the highest competing bid."""

    after_loss = "after-loss"
    after_win = "after-win"
    always = "always"
    won_lost = "won-lost"


@options.takes_options
def replay(
    context: typer.Context,
    log: options.LogOptions,
    *,
    feedback: Annotated[
        Feedback | None,
        typer.Option(
            help="Who is told the highest competing bid. "
            "\\[default: as notices in the log show; otherwise after-loss]"
        ),
    ] = None,
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
            help="The grid of bids: auto (100 bids that suit the values of the log), a number of "
            "evenly spread ones, a list 0,0.5,1, or geometric:COUNT:LOW:HIGH.",
        ),
    ] = "auto",
    highest_value: options.HighestValue = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column, such as the campaign; each level is replayed by itself."
        ),
    ] = None,
    limits: LimitOptions,
    fractions: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Fixed fractions of the value to bid, as in 0.3,0.5. \\[default: 0.1 to 0.95]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of runs of each learner.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of threads; with --by, of workers. \\[default: one per core]"
        ),
    ] = None,
    backend: Annotated[
        Backend, typer.Option(help="With --by, where the parts are replayed.")
    ] = Backend.local,
    address: Annotated[
        str | None, typer.Option(help="With --by, the address of a Ray or Dask cluster.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results. \\[default: results/replay; with --by, "
            "results/replay-by-COLUMN]"
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
) -> None:
    """Replay a log of first-price auctions: what would each strategy have earned?

    Learners see only what their own bids would have revealed.
    """
    with stopping("Stopped. Nothing was written."):
        from crossbandit import replay as replays
        from crossbandit.modules import load_modules
        from crossbandit.replay.page import WRITTEN, write
        from crossbandit.replay.page_by import WRITTEN_BY, write_by
        from crossbandit.report import check_folder

        if by is None and (backend is not Backend.local or address is not None):
            raise InvalidParameterError(
                "--backend and --address are for the parts of a log. Give --by, or leave them out."
            )
        modules = load_modules(module) if module else ()
        out = out or default_folder(by)
        if by is None:
            check_folder(out, WRITTEN, "a replay")
        else:
            check_folder(out, WRITTEN_BY, "replays with --by")
        if not quiet:
            notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open(highest_value=highest_value, by=by)
        settings: dict[str, Any] = {
            "limits": [] if limits == LimitOptions() else limits.limits(log.timezone),
            "rules": replays.ReplayRules(
                feedback=feedback and feedback.value,
                bids=parse_bids(bids),
                reserve=log.reserve,
                ties=log.ties_rule,
            ),
            "strategies": [
                *(algorithm or ["learners"]),
                "best responses",
                *(parse_fractions(fractions) if fractions is not None else ["fractions"]),
            ],
            "seeds": range(seed, seed + seeds),
            "jobs": jobs,
            "show_progress": False if quiet else None,
        }
        if by is not None:
            settings |= {"backend": backend.value, "address": address, "modules": modules}
        names = {"log": log.name, "command": options.command_line(context, log.name, _NOT_REPEATED)}
        with compilation_said(quiet=quiet):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", replays.LogWarning)  # printed below
                play = replays.replay if by is None else replays.replay_by
                result: Replay | ReplaySet = play(auctions, **settings)
            with stopping(f"Stopped. The results in {out} may be incomplete."):
                if isinstance(result, replays.Replay):
                    paths = write(result, out, **names)
                else:
                    paths = write_by(result, out, **names)
                if quiet:
                    return
                if isinstance(result, replays.Replay):
                    _print_replay(result)
                else:
                    _print_parts(result)
                say_paths(paths)


def default_folder(by: str | None) -> Path:
    """Return the folder of the results if none is given: each column of `--by` has its own.

    >>> default_folder("Campaign id").as_posix()
    'results/replay-by-Campaign-id'
    """
    from crossbandit.replay.page_by import plain_name

    return Path("results") / ("replay" if by is None else f"replay-by-{plain_name(by)}")


def parse_bids(text: str) -> int | str | list[float] | Floats:
    """Return "auto", the number of bids, or the bids, that `--bids` gives.

    >>> parse_bids("0,0.5,2")
    [0.0, 0.5, 2.0]
    """
    from crossbandit.environments.amounts import geometric_bids

    expected = "auto, a number of bids, a list such as 0,0.5,1, or geometric:COUNT:LOW:HIGH"
    if text == "auto":
        return text
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


def _print_replay(result: Replay) -> None:
    """Print warnings, the table, the comparison, tables by class, notes and bad lines."""
    for warning in result.warnings:
        notify(warning, "Warning:", "bold yellow")
    tables = [_table(result), _comparison(result)]
    if result.classes:
        tables += _by_class(result)
    for table in tables:
        Console().print(table)
    for note in result.notes:
        if note not in result.warnings:
            say(note)
    say_faults(result.bad, result.auctions, result.faults)


def _print_parts(results: ReplaySet) -> None:
    """Print what strategies earned in each part, and what went wrong."""
    from crossbandit.replay.page_by import overview

    for level, result in results.replays.items():
        for warning in result.warnings:
            notify(f"{level}: {warning}", "Warning:", "bold yellow")
    for level, reason in results.failed.items():
        notify(f"{results.column} {level!r} was not replayed: {reason}", "Warning:", "bold yellow")
    parts = overview(results)
    table = new_table(
        f"Surplus by {results.column}",
        "Of the fixed fractions, the best one of each part.",
        *(results.column, "auctions", *parts.head),
    )
    for row in parts.rows:
        table.add_row(row.level, row.auctions, *row.amounts)
    table.add_section()
    table.add_row("all", parts.auctions, *parts.sums, style="bold")
    Console().print(table)
    for note in results.notes:
        say(note)
    if results.bad:
        say(f"Lines that were left out: {results.bad:,}. The first of them:")
    for fault in results.faults:
        say(f"  {fault.place}: {fault.reason}")


def _explained(result: Replay) -> str:
    """Return what the columns of the table mean."""
    if result.limits is None:
        return _PAID
    return _RETURN if result.limits.targets else _USED


def _table(result: Replay) -> Table:
    """Return what every strategy earned."""
    from crossbandit.replay.page import summary
    from crossbandit.replay.page_parts import earning, limit_heads, rows

    lines = rows(result)
    doubtful = [line for line in lines if line.note.startswith("nearly all")]
    table = new_table(
        summary(result),
        _explained(result) + "".join(f" (!) {line.note}" for line in doubtful),
    )
    table.add_column("strategy")
    heads = ("won", "paid") if result.limits is None else limit_heads(result)
    for heading in (earning(result), "regret", "spend", *heads):
        table.add_column(heading, justify="right", no_wrap=len(heading) < _LONG)
    kind = ""
    for line in lines:
        if kind and line.kind != kind:
            table.add_section()
        kind = line.kind
        mark = (" (best)" if line.is_best else "") + (" (!)" if line in doubtful else "")
        table.add_row(
            line.strategy + mark,
            line.earned_interval if result.limits is None else line.earned,
            *(line.regret, line.spend),
            *((line.won, line.paid) if result.limits is None else line.limits),
            style="bold" if kind == "learner" else None,
        )
    return table


def _comparison(result: Replay) -> Table:
    """Return the differences between the first strategy and the others, without oracles."""
    from crossbandit.replay.page_parts import differences

    table = new_table(
        f"Difference to {result.outcomes[0].strategy}, in the same auctions",
        "95 % intervals over the time of the log and the seeds.",
    )
    table.add_column("strategy")
    for heading in ("difference", "95 % interval", "in percent"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in differences(result):
        mark = " (best)" if line.is_best else ""
        table.add_row(line.strategy + mark, line.difference, line.interval, line.percent)
    return table


def _by_class(result: Replay) -> Iterator[Table]:
    """Yield the surplus by the levels of each class column."""
    from crossbandit.replay.page_classes import class_tables
    from crossbandit.replay.page_parts import money_digits

    for one in class_tables(result, money_digits(result)):
        table = new_table(f"Surplus by {one.column}", one.note, one.column, "auctions", *one.head)
        for row in one.rows:
            table.add_row(*row)
        yield table
