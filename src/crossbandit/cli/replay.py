"""`crossbandit replay`: what learners and other strategies would have earned on a log."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from crossbandit.cli import limits
from crossbandit.cli import log_options as options
from crossbandit.cli.terminal import Backend, Modules, compilation_said, notify, stopping
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.logs import AuctionLog
    from crossbandit.replay import Shading
    from crossbandit.types import Floats

_GEOMETRIC = "geometric:"
_NOT_REPEATED = {
    "logs",
    "out",
    "quiet",
    "jobs",
    "backend",
    "address",
}  # options that do not change the numbers


class Feedback(StrEnum):
    """Who is told the highest competing bid."""

    after_loss = "after-loss"
    after_win = "after-win"
    always = "always"
    won_lost = "won-lost"


@options.takes_log_options
def replay(
    context: typer.Context,
    log: options.LogOptions,
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
    budget: limits.BudgetOption = None,
    per: limits.PerOption = None,
    pacing: limits.PacingOption = None,
    target_roi: limits.RoiOption = None,
    target_cost: limits.CostOption = None,
    aim: limits.AimOption = None,
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
        from crossbandit.modules import load_modules
        from crossbandit.replay import ReplayRules
        from crossbandit.replay.page import WRITTEN
        from crossbandit.replay.page_by import WRITTEN_BY
        from crossbandit.report import check_folder

        if by is None and (backend is not Backend.local or address is not None):
            raise InvalidParameterError(
                "--backend and --address are for the parts of a log. Give --by, or leave them out."
            )
        modules = load_modules(module or [])
        out = out or default_folder(by)
        if by is None:
            check_folder(out, WRITTEN, "a replay")
        else:
            check_folder(out, WRITTEN_BY, "replays with --by")
        if not quiet:
            notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open(highest_value=highest_value, by=by)
        settings: dict[str, Any] = {
            "limits": limits.parse_limits(
                budget=budget,
                per=per,
                pacing=pacing,
                target_roi=target_roi,
                target_cost=target_cost,
                aim=aim,
                timezone=log.timezone,
            ),
            "rules": ReplayRules(
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
        command = options.command_line(context, log.name, _NOT_REPEATED)
        page = _Page(out, log.name, command, quiet)
        with compilation_said(quiet=quiet):
            if by is None:
                _replay(auctions, settings, page)
            else:
                where = {"backend": backend.value, "address": address, "modules": modules}
                _replay_by(auctions, settings | where, page)


class _Page(NamedTuple):
    """Where the results go, and what they are called."""

    out: Path
    log: str
    command: str
    quiet: bool


def _replay(log: AuctionLog, settings: dict[str, Any], page: _Page) -> None:
    from crossbandit.cli.replay_output import print_replay
    from crossbandit.replay import LogWarning, replay
    from crossbandit.replay.page import write

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # printed with the notes below
        result = replay(log, **settings)
    with stopping(f"Stopped. The results in {page.out} may be incomplete."):
        paths = write(result, page.out, log=page.log, command=page.command)
        if not page.quiet:
            print_replay(result, paths)


def _replay_by(log: AuctionLog, settings: dict[str, Any], page: _Page) -> None:
    from crossbandit.cli.replay_output import print_parts
    from crossbandit.replay import LogWarning, replay_by
    from crossbandit.replay.page_by import write_by

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # on the pages
        results = replay_by(log, **settings)
    with stopping(f"Stopped. The results in {page.out} may be incomplete."):
        paths = write_by(results, page.out, log=page.log, command=page.command)
        if not page.quiet:
            print_parts(results, paths)


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
