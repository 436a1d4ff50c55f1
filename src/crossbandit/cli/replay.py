"""`crossbandit replay`: what learners and other strategies would have earned on a log."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crossbandit.cli import options
from crossbandit.cli.options import LimitOptions
from crossbandit.cli.terminal import (
    Backend,
    Modules,
    notify,
    say,
    say_faults,
    say_paths,
    stopping,
)
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.core.types import Floats
    from crossbandit.logs.replay import Replay, ReplaySet, Shading

_GEOMETRIC = "geometric:"
# Options that do not change the numbers.
_NOT_REPEATED = {"logs", "out", "quiet", "jobs", "backend", "address"}


@dataclass(frozen=True)
class PlayOptions:
    """Who plays, and by which rules."""

    feedback: Annotated[
        Literal["after-loss", "after-win", "always", "won-lost"] | None,
        typer.Option(
            help="Who is told the highest competing bid. "
            "\\[default: as notices in the log show; otherwise after-loss]"
        ),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="A learner: law, guarded law or an algorithm; may be repeated. "
            "\\[default: law, cross-graph-adaptive, cross-graph]",
        ),
    ] = None
    module: Modules = None
    bids: Annotated[
        str,
        typer.Option(
            metavar="BIDS",
            help="The grid of bids: auto (100 bids that suit the values of the log), a number of "
            "evenly spread ones, a list 0,0.5,1, or geometric:COUNT:LOW:HIGH.",
        ),
    ] = "auto"
    highest_value: Annotated[
        float | None,
        typer.Option(
            help="An upper bound on the values. \\[default: the highest value of the log]"
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column, such as the campaign; each level is replayed by itself."
        ),
    ] = None


@dataclass(frozen=True)
class RunOptions:
    """How often learners play, and where."""

    fractions: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Fixed fractions of the value to bid, as in 0.3,0.5. \\[default: 0.1 to 0.95]",
        ),
    ] = None
    seeds: Annotated[int, typer.Option(min=1, help="Number of runs of each learner.")] = 5
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 0
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of threads; with --by, of workers. \\[default: one per core]"
        ),
    ] = None
    backend: Annotated[Backend, typer.Option(help="With --by, where the parts are replayed.")] = (
        Backend.local
    )
    address: Annotated[
        str | None, typer.Option(help="With --by, the address of a Ray or Dask cluster.")
    ] = None


@options.takes_options
def replay(
    context: typer.Context,
    log: options.LogOptions,
    play: PlayOptions,
    limits: LimitOptions,
    run: RunOptions,
    *,
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
        from crossbandit.core.modules import load_modules
        from crossbandit.core.report import check_folder
        from crossbandit.logs import replay as replays
        from crossbandit.logs.replay.page import WRITTEN, WRITTEN_BY, write, write_by

        by = play.by
        if by is None and (run.backend is not Backend.local or run.address is not None):
            raise InvalidParameterError(
                "--backend and --address are for the parts of a log. Give --by, or leave them out."
            )
        modules = load_modules(play.module) if play.module else ()
        out = out or default_folder(by)
        if by is None:
            check_folder(out, WRITTEN, "a replay")
        else:
            check_folder(out, WRITTEN_BY, "replays with --by")
        if not quiet:
            notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open(highest_value=play.highest_value, by=by)
        settings: dict[str, Any] = {
            "limits": [] if limits == LimitOptions() else limits.limits(log.timezone),
            "rules": replays.ReplayRules(
                feedback=play.feedback,
                bids=parse_bids(play.bids),
                reserve=log.reserve,
                ties=log.ties,
            ),
            "strategies": [
                *(play.algorithm or ["learners"]),
                "best responses",
                *(["fractions"] if run.fractions is None else parse_fractions(run.fractions)),
            ],
            "seeds": range(run.seed, run.seed + run.seeds),
            "jobs": run.jobs,
            "show_progress": False if quiet else None,
        }
        if by is not None:
            settings |= {
                "backend": run.backend.value,
                "address": run.address,
                "modules": modules,
            }
        names = {"log": log.name, "command": options.command_line(context, log.logs, _NOT_REPEATED)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", replays.LogWarning)  # printed below
            replayed = replays.replay if by is None else replays.replay_by
            result: Any = replayed(auctions, **settings)
        with stopping(f"Stopped. The results in {out} may be incomplete."):
            paths = (write if by is None else write_by)(result, out, **names)
            if not quiet:
                (_print_replay if by is None else _print_parts)(result)
                say_paths(paths)


def default_folder(by: str | None) -> Path:
    """Return the folder of the results if none is given: each column of `--by` has its own.

    >>> default_folder("Campaign id").as_posix()
    'results/replay-by-Campaign-id'
    """
    from crossbandit.logs.replay.page import plain_name

    return Path("results") / ("replay" if by is None else f"replay-by-{plain_name(by)}")


def parse_bids(text: str) -> int | str | list[float] | Floats:
    """Return "auto", the number of bids, or the bids, that `--bids` gives.

    >>> parse_bids("0,0.5,2")
    [0.0, 0.5, 2.0]
    """
    from crossbandit.applications.bidding.auctions import geometric_bids

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
    from crossbandit.logs.replay import Shading

    try:
        fractions = [float(fraction) for fraction in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"--fractions must be a list of numbers such as 0.3,0.5,0.7. Got {text!r}."
        ) from None
    return [Shading(fraction) for fraction in (*sorted(set(fractions)), 1.0)]


def _print_replay(result: Replay) -> None:
    """Print warnings, the table, the comparison, tables by class, notes and bad lines."""
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.replay.page import class_tables, differences, earnings

    for warning in result.warnings:
        notify(warning, "Warning:", "bold yellow")
    show(earnings(result), differences(result), *class_tables(result))
    for note in result.notes:
        if note not in result.warnings:
            say(note)
    say_faults(result.bad, result.auctions, result.faults)


def _print_parts(results: ReplaySet) -> None:
    """Print what strategies earned in each part, and what went wrong."""
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.replay.page import overview

    for level, result in results.replays.items():
        for warning in result.warnings:
            notify(f"{level}: {warning}", "Warning:", "bold yellow")
    for level, reason in results.failed.items():
        notify(f"{results.column} {level!r} was not replayed: {reason}", "Warning:", "bold yellow")
    show(overview(results))
    for note in results.notes:
        say(note)
    if results.bad:
        say(f"Lines that were left out: {results.bad:,}. The first of them:")
    for fault in results.faults:
        say(f"  {fault.place}: {fault.reason}")
