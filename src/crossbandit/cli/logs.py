"""The commands about logs of auctions: replay, evaluate and make-log, and their options."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crossbandit.cli import terminal
from crossbandit.errors import InvalidParameterError

if TYPE_CHECKING:
    from crossbandit.core.types import Floats
    from crossbandit.limits import Limit
    from crossbandit.logs import AuctionLog
    from crossbandit.logs.evaluate import Evaluation
    from crossbandit.logs.evaluate.log import ReadLog
    from crossbandit.logs.replay import Replay, ReplaySet, Shading


WHOLE_LOG = "log"
# Options that do not change the numbers.
_NOT_REPEATED = {"logs", "out", "quiet", "jobs", "backend", "address"}


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Budgets and targets.

    Attributes:
        budget (AMOUNT/PERIOD): What every strategy may spend in each period, such as 500/day.
            Periods: hour, day, week, month, a number of auctions, or log. May be given several
            times. [default period: log]
        per (PERIOD): Period of a --budget that is given without one.
        pacing: How budgets are spread over their periods. [default: traffic]
        target_roi (RATIO): The least ratio of the values won to the spend.
        target_cost (AMOUNT): The highest average cost of a win.
        aim: What to maximize under a target. [default: value]
        delay (TIME): How late outcomes come, such as 30m or 2h. [default: at once]
        campaign (COLUMN): Column each of whose levels keeps the limits by itself; learners know it
            as a class, and learn from all.
    """

    budget: list[str] | None = None
    per: list[str] | None = None
    pacing: Literal["traffic", "even", "asap"] | None = None
    target_roi: float | None = None
    target_cost: float | None = None
    aim: Literal["value", "surplus"] | None = None
    delay: str | None = None
    campaign: str | None = None

    def limits(self, timezone: str) -> list[Limit]:
        """Return the limits that the options ask for.

        >>> LimitOptions(budget=["500/day", "30"], per=["hour"]).limits("UTC")
        [Budget(amount=500.0, per='day', pacing='traffic', timezone='UTC',
         worst_case=1.0),
         Budget(amount=30.0, per='hour', pacing='traffic', timezone='UTC',
         worst_case=1.0)]
        """
        from crossbandit.limits import Budget, CostPer, ReturnOnSpend

        has_target = self.target_roi is not None or self.target_cost is not None
        if not self.budget and (self.per or self.pacing):
            option = "--per" if self.per else "--pacing"
            raise InvalidParameterError(f"{option} belongs to --budget, which is missing.")
        if self.aim and not has_target:
            raise InvalidParameterError("--aim belongs to --target-roi or --target-cost.")
        spread: dict[str, Any] = {"pacing": self.pacing} if self.pacing else {}
        limits: list[Limit] = [
            Budget(amount, per=period, timezone=timezone, **spread)
            for amount, period in _budgets(self.budget or [], self.per or [])
        ]
        aims: dict[str, Any] = {"aim": self.aim} if self.aim else {}
        if self.target_roi is not None:
            limits.append(ReturnOnSpend(self.target_roi, timezone=timezone, **aims))
        if self.target_cost is not None:
            limits.append(CostPer(self.target_cost, timezone=timezone, **aims))
        return limits


def _budgets(budgets: list[str], periods: list[str]) -> list[tuple[float, str | int | None]]:
    """Return amounts and periods. Budgets without a period take those of --per, in their order."""
    bare = sum("/" not in text for text in budgets)
    if periods and len(periods) != bare:
        raise InvalidParameterError(
            f"--per must be given once for each --budget without a period. There are {bare} such "
            f"budgets, and {len(periods)} periods. Write --budget 500/day --budget 30/hour."
        )
    rest, found = iter(periods or [WHOLE_LOG] * bare), []
    for text in budgets:
        amount, slash, period = text.partition("/")
        try:
            money = float(amount)
        except ValueError:
            raise InvalidParameterError(
                f"--budget must be an amount, or an amount and its period, such as 500/day. Got "
                f"{text!r}."
            ) from None
        found.append(
            (money, _period("--budget", period) if slash else _period("--per", next(rest)))
        )
    return found


def _period(option: str, text: str) -> str | int | None:
    if text == WHOLE_LOG:
        return None
    if text in {"hour", "day", "week", "month"}:
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    what = "--per must be" if option == "--per" else "The period of --budget must be"
    raise InvalidParameterError(
        f"{what} hour, day, week, month, {WHOLE_LOG} or a number of auctions. Got {text!r}."
    )


# --- options about logs, which several commands have ---------------------------------------------


Unit = Literal["units", "cents", "micros", "cpm", "cpm-cents", "cpm-micros"]


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The log.

    Attributes:
        logs (LOG...): CSV, JSON lines or Parquet files, folders, patterns, or - for the standard
            input.
        format_: What the log holds. 'auto' recognises it from the content.
        value_column (COLUMN): Column with the value: a name, or a number from 1. [default: by usual
            names]
        price_column (COLUMN): Column with the highest competing bid: a name, or a number from 1.
            [default: by usual names]
        bid_column (COLUMN): Column with your own bids, which evaluate needs and replay compares
            with: a name, or a number from 1.
        won_column (COLUMN): Column with whether you won: a name, or a number from 1.
        reserve_column (COLUMN): Column with a reserve per auction: a name, or a number from 1.
        time_column (COLUMN): Column with the time: a name, or a number from 1.
        id_column (COLUMN): Column with the id of the auction; lines that repeat one are left out: a
            name, or a number from 1.
        class_column (COLUMN): Column with a class, such as a site, that prices may depend on; may
            be repeated: a name, or a number from 1.
        reserve: The lowest bid that can win.
        ties: Whether a bid that equals the highest competing bid wins. [default: as the format
            says; or as in the log, for evaluate; otherwise win]
        value_unit: Unit of the values. All amounts become units of money for one impression.
        price_unit: Unit of prices, bids and reserves; likewise.
        currency (CODE): Currency of the amounts, such as USD; if notices have several, the one to
            keep.
        price_loss (CODE): A code of losses that are about the price; may be repeated. [default: as
            the format says]
        lowest_wins: The lowest bid wins and is paid, as in tenders: values are costs, prices the
            lowest bids of the others.
        max_markup: With --lowest-wins, the highest markup on the cost to bid, as a share of it.
        sort_by (COLUMN): Column of times or numbers to sort the lines by.
        timezone (ZONE): Time zone of times without an offset.
        partitions: Read folder names such as day=5 as columns.
        limit: Number of lines to read; with replay --by, of each part. [default: all]
        max_bad: Number of bad lines to leave out before stopping.
    """

    logs: list[str] = field(kw_only=False)
    format_: Literal[
        "auto", "csv", "parquet", "jsonl", "openrtb", "google", "ipinyou", "prebid"
    ] = "auto"
    value_column: str | None = None
    price_column: str | None = None
    bid_column: str | None = None
    won_column: str | None = None
    reserve_column: str | None = None
    time_column: str | None = None
    id_column: str | None = None
    class_column: list[str] | None = None
    reserve: Annotated[float, terminal.Within(0)] = 0.0
    ties: Literal["win", "lose"] | None = None
    value_unit: Unit | None = None
    price_unit: Unit | None = None
    currency: str | None = None
    price_loss: list[str] | None = None
    lowest_wins: bool = False
    max_markup: float = 1.0
    sort_by: str | None = None
    timezone: str = "UTC"
    partitions: bool = False
    limit: terminal.Count | None = None
    max_bad: terminal.Natural = 100

    def open(self, **further: Any) -> AuctionLog:
        """Return the log that the options describe; `further` are columns and other options."""
        from crossbandit.logs import AuctionLog

        roles = ("value", "price", "bid", "won", "reserve", "time", "id")
        named = {role: getattr(self, f"{role}_column") for role in roles}
        named["propensity"] = further.pop("propensity", None)
        same = (
            *("value_unit", "price_unit", "currency", "sort_by", "timezone", "partitions"),
            *("lowest_wins", "max_markup"),
        )
        return AuctionLog(
            list(self.logs),
            columns={role: column for role, column in named.items() if column},
            classes=self.class_column or [],
            price_losses=self.price_loss or None,
            format=self.format_,
            limit=self.limit,
            max_bad=self.max_bad,
            **{name: getattr(self, name) for name in same},
            **further,
        )

    @property
    def name(self) -> str:
        """What pages call the logs."""
        return name_of(self.logs)


def command_line(context: typer.Context, logs: Sequence[str]) -> str:
    """Return a command, to be run in the folder of the logs.

    Pages show it. So it has no folders but those between several logs, and no options that do not
    change the numbers.
    """
    words = ["crossbandit", str(context.command.name), *without_folder(logs)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in _NOT_REPEATED or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        if value is True:
            words.append(parameter.opts[0])
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            is_path = isinstance(one, Path) or name == "module"
            words += [parameter.opts[0], Path(one).name if is_path else str(one)]
    return shlex.join(words)


def without_folder(logs: Sequence[str]) -> list[str]:
    """Return paths of logs as seen from the folder that has all of them.

    >>> without_folder(["a/b.csv"]), without_folder(["a/b/c.csv", "a/d/c.csv", "-"])
    (['b.csv'], ['b/c.csv', 'd/c.csv', '-'])
    """
    paths = {one: Path(one).absolute() for one in logs if one != "-"}
    try:
        folder = os.path.commonpath([path.parent for path in paths.values()])
    except ValueError:  # no paths, or on different drives
        return list(logs)
    return [str(paths[one].relative_to(folder)) if one in paths else one for one in logs]


def name_of(logs: Sequence[str]) -> str:
    """Return what pages call some logs.

    >>> name_of(["a/b.csv"]), name_of(["a/b.csv", "c.csv"]), name_of(["-"])
    ('b.csv', 'b.csv and 1 more', 'the standard input')
    """
    first = "the standard input" if logs[0] == "-" else Path(logs[0]).name
    return first if len(logs) == 1 else f"{first} and {len(logs) - 1} more"


# --- `crossbandit replay`: what learners and other strategies would have earned on a log ---------


_GEOMETRIC = "geometric:"


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """Strategies and rules.

    Attributes:
        feedback: Who is told the highest competing bid. [default: as notices in the log show;
            otherwise after-loss]
        algorithm (ID): A learner: law, guarded law or an algorithm; may be repeated. [default: law,
            cross-graph-adaptive, cross-graph]
        module (FILE.py): A Python file or module that registers more of them. Its code is run. May
            be repeated.
        bids (BIDS): The grid of bids: auto (100 bids that suit the values of the log), a number of
            evenly spread ones, a list 0,0.5,1, or geometric:COUNT:LOW:HIGH.
        highest_value: An upper bound on the values. [default: the highest value of the log]
        by (COLUMN): Column, such as the campaign; each level is replayed by itself.
    """

    feedback: Literal["after-loss", "after-win", "always", "won-lost"] | None = None
    algorithm: list[str] | None = None
    module: list[str] | None = None
    bids: str = "auto"
    highest_value: float | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Runs and results.

    Attributes:
        fractions (LIST): Fixed fractions of the value to bid, as in 0.3,0.5. [default: 0.1 to 0.95]
        seeds: Number of runs of each learner.
        seed: The seed of the first run.
        jobs: Number of threads; with --by, of workers. [default: one per core]
        backend: With --by, where the parts are replayed.
        address: With --by, the address of a Ray or Dask cluster.
        out: Folder of the results. [default: results/replay; with --by, results/replay-by-COLUMN]
        quiet: Print only errors.
    """

    fractions: str | None = None
    seeds: terminal.Count = 5
    seed: terminal.Natural = 0
    jobs: terminal.Count | None = None
    backend: terminal.Backend = terminal.Backend.local
    address: str | None = None
    out: Path | None = None
    quiet: bool = False


@terminal.takes_options
def replay(
    context: typer.Context,
    log: LogOptions,
    play: PlayOptions,
    limits: LimitOptions,
    run: RunOptions,
) -> None:
    """Replay a log of first-price auctions: what would each strategy have earned?

    Learners see only what their own bids would have revealed.
    """
    with terminal.stopping("Stopped. Nothing was written."):
        from crossbandit.core.modules import load_modules
        from crossbandit.core.report import check_folder
        from crossbandit.logs import replay as replays
        from crossbandit.logs.replay.page import WRITTEN, WRITTEN_BY, write, write_by

        by, quiet = play.by, run.quiet
        if by is None and (run.backend is not terminal.Backend.local or run.address is not None):
            raise InvalidParameterError(
                "--backend and --address are for the parts of a log. Give --by, or leave them out."
            )
        modules = load_modules(play.module) if play.module else ()
        out = run.out or default_folder(by)
        if by is None:
            check_folder(out, WRITTEN, "a replay")
        else:
            check_folder(out, WRITTEN_BY, "replays with --by")
        if not quiet:
            terminal.notify(f"Reading {' '.join(log.logs)} ...")
        known = log.class_column or []
        if limits.campaign is not None and limits.campaign not in known:
            log = replace(log, class_column=[*known, limits.campaign])
        auctions = log.open(highest_value=play.highest_value, by=by)
        settings: dict[str, Any] = {
            "limits": [] if limits == LimitOptions() else limits.limits(log.timezone),
            "campaign": limits.campaign,
            "delay": 0.0 if limits.delay is None else parse_time(limits.delay),
            "rules": replays.ReplayRules(
                feedback=play.feedback,
                bids=parse_bids(play.bids),
                reserve=log.reserve,
                ties=log.ties,
            ),
            "strategies": [
                *(play.algorithm or ["learners"]),
                "best responses",
                *(["fractions"] if run.fractions is None else shadings(run.fractions)),
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
        names = {"log": log.name, "command": command_line(context, log.logs)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", replays.LogWarning)  # printed below
            replayed = replays.replay if by is None else replays.replay_by
            result: Any = replayed(auctions, **settings)
        with terminal.stopping(f"Stopped. The results in {out} may be incomplete."):
            paths = (write if by is None else write_by)(result, out, **names)
            if not quiet:
                (_print_replay if by is None else _print_parts)(result)
                terminal.say_paths(paths)


def default_folder(by: str | None) -> Path:
    """Return the folder of the results if none is given: each column of `--by` has its own.

    >>> default_folder("Campaign id").as_posix()
    'results/replay-by-Campaign-id'
    """
    from crossbandit.logs.replay.page import plain_name

    return Path("results") / ("replay" if by is None else f"replay-by-{plain_name(by)}")


def parse_time(text: str) -> float:
    """Return the seconds of a time such as 30m.

    >>> parse_time("90s"), parse_time("1.5h")
    (90.0, 5400.0)
    """
    number, unit = text[:-1], text[-1:]
    try:
        seconds = float(number) * {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}[unit]
    except (KeyError, ValueError):
        raise InvalidParameterError(
            f"--delay must be a number and a unit, s, m, h or d, such as 30m. Got {text!r}."
        ) from None
    return seconds


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


def parse_fractions(text: str) -> list[float]:
    """Return what `--fractions` lists, ascending.

    >>> parse_fractions("0.5,0.25")
    [0.25, 0.5]
    """
    try:
        return sorted({float(fraction) for fraction in text.split(",")})
    except ValueError:
        raise InvalidParameterError(
            f"--fractions must be a list of numbers such as 0.3,0.5,0.7. Got {text!r}."
        ) from None


def shadings(text: str) -> list[Shading]:
    """Return the strategies that `--fractions` lists, and the truthful one."""
    from crossbandit.logs.replay import Shading

    return [Shading(fraction) for fraction in (*parse_fractions(text), 1.0)]


def _print_replay(result: Replay) -> None:
    """Print warnings, the table, the comparison, tables by class, notes and bad lines."""
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.replay.page import answer, class_tables, differences, earnings

    for warning in result.warnings:
        terminal.notify(warning, "Warning:", "bold yellow")
    terminal.say(answer(result))
    show(earnings(result), differences(result), *class_tables(result))
    for note in result.notes:
        if note not in result.warnings:
            terminal.say(note)
    terminal.say_faults(result.bad, result.auctions, result.faults)


def _print_parts(results: ReplaySet) -> None:
    """Print what strategies earned in each part, and what went wrong."""
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.replay.page import overview

    for level, result in results.replays.items():
        for warning in result.warnings:
            terminal.notify(f"{level}: {warning}", "Warning:", "bold yellow")
    for level, reason in results.failed.items():
        terminal.notify(
            f"{results.column} {level!r} was not replayed: {reason}", "Warning:", "bold yellow"
        )
    show(overview(results))
    for note in results.notes:
        terminal.say(note)
    if results.bad:
        terminal.say(f"Lines that were left out: {results.bad:,}. The first of them:")
    for fault in results.faults:
        terminal.say(f"  {fault.place}: {fault.reason}")


# --- `crossbandit evaluate`: what strategies would have earned on a log without all prices -------


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Strategies and results.

    Attributes:
        propensity_column (COLUMN): Column with the probability of your bid: a name, or a number
            from 1.
        bidder (FILE): A saved FirstPriceBidder; may be repeated.
        fractions (LIST): Fixed fractions of the value to bid, as in 0.3,0.5. [default: 0.1 to 0.9]
        random_bids: Bids were drawn at random from a few; estimate how likely each was.
        bands: Number of bands of values. [default: as many as useful]
        out: Folder of the results.
        quiet: Print only errors.
    """

    propensity_column: str | None = None
    bidder: list[Path] | None = None
    fractions: str | None = None
    random_bids: bool = False
    bands: terminal.Count | None = None
    out: Path = Path("results/evaluation")
    quiet: bool = False


@terminal.takes_options
def evaluate(context: typer.Context, log: LogOptions, what: EvaluateOptions) -> None:
    """Evaluate strategies on a log of your own bids, in which prices may be missing.

    For each strategy: what is known exactly, bounds, and an estimate with an interval.
    """
    with terminal.stopping("Stopped. Nothing was written."):
        from crossbandit.applications import FirstPriceBidder, TenderBidder
        from crossbandit.core.report import check_folder
        from crossbandit.logs.evaluate import evaluate
        from crossbandit.logs.evaluate.evaluation import FRACTIONS, in_tenders
        from crossbandit.logs.evaluate.log import open_censored
        from crossbandit.logs.evaluate.page import WRITTEN, write
        from crossbandit.logs.tenders import check_tenders

        check_folder(what.out, WRITTEN, "an evaluation")
        if not what.quiet:
            terminal.notify(f"Reading {' '.join(log.logs)} ...")
        auctions = log.open(propensity=what.propensity_column)
        kind = TenderBidder if log.lowest_wins else FirstPriceBidder
        bidders = {path.stem: kind.load(path) for path in what.bidder or []}
        check_tenders(auctions, log.reserve, bidders.values())
        read = open_censored(auctions, reserve=log.reserve, ties=log.ties)
        result = evaluate(
            read.log,
            fractions=FRACTIONS if what.fractions is None else parse_fractions(what.fractions),
            bidders=bidders,
            bands=what.bands,
            random_bids=what.random_bids,
        )
        result = in_tenders(result, auctions)
    with terminal.stopping(f"Stopped. The results in {what.out} may be incomplete."):
        command = command_line(context, log.logs)
        named = {"log": log.name, "command": command, "currency": log.currency or ""}
        paths = write(result, what.out, read=read, **named)
        if not what.quiet:
            _print_evaluation(result, read, log.currency or "")
            terminal.say_paths(paths)


def _print_evaluation(result: Evaluation, read: ReadLog[object], currency: str) -> None:
    from crossbandit.core.report.terminal import show
    from crossbandit.logs.evaluate.page import answer, by_propensities, earned

    terminal.say(answer(result, currency))
    show(*filter(None, (earned(result), by_propensities(result))))
    sound = [
        result.say(str(one)) for one in result.checks if not one.doubtful
    ]  # the others are in the notes
    for note in (*read.notes, *result.notes, *sound):
        terminal.say(note)
    terminal.say_faults(read.bad, result.auctions, read.faults)


# --- `crossbandit make-log`: a synthetic log to try a replay on ----------------------------------


@dataclass(frozen=True, kw_only=True)
class MadeLogOptions:
    """The log.

    Attributes:
        auctions: Number of auctions.
        seed: Seed. The same seed gives the same file.
        laws: 'realistic': like an ad exchange, with drift; 'known': independent draws.
        correlation: How strongly competing bids depend on values. [default: 0.26]
        sites: Number of sites, each with its own competition.
    """

    auctions: terminal.Count = 100_000
    seed: terminal.Natural = 0
    laws: Literal["realistic", "known"] = "realistic"
    correlation: Annotated[float, terminal.Within(0, 1)] | None = None
    sites: terminal.Natural = 0


@terminal.takes_options
def make_log(path: Path, like: MadeLogOptions, *, force: bool = False, quiet: bool = False) -> None:
    """Write a synthetic log of first-price auctions: timestamp, value, highest_competing_bid.

    Args:
        path (LOG): The file to write, .csv or .parquet.
        like: What it is like.
        force: Replace an existing file.
        quiet: Print only errors.
    """
    with terminal.stopping("Stopped. Nothing was written."):
        from crossbandit import logs

        logs.make_log(path, overwrite=force, **asdict(like))
        if not quiet:
            following = f"crossbandit replay {path}" + (
                " --class-column site" if like.sites else ""
            )
            typer.echo(f"Wrote {like.auctions:,} auctions to {path}. Next: {following}")
