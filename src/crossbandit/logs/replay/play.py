"""Replay a log, or its parts: it is read once for all strategies and all seeds."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications.bidding.auctions import (
    FEEDBACK,
    USUAL_COUNT,
    AuctionRules,
    BidSpacing,
    bid_spacing,
)
from crossbandit.applications.money import bid_grid
from crossbandit.core.backends import BackendName, open_pool
from crossbandit.core.modules import load_modules
from crossbandit.core.progress import progress
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.validation import choice, integer, number, reject
from crossbandit.errors import CrossbanditError, LogError, LogWarning
from crossbandit.logs.log import AuctionLog, ClassTable
from crossbandit.logs.replay.late import LateStrategy
from crossbandit.logs.replay.limits import (
    ReplayLimits,
    campaigns_of,
    check_delay,
    check_limits,
    of_all,
)
from crossbandit.logs.replay.results import (
    LimitedResult,
    Replay,
    StrategyResult,
    find_notes,
    find_warnings,
    in_tenders,
    mostly,
)
from crossbandit.logs.replay.strategies import (
    KINDS,
    USUAL,
    LawStrategy,
    OwnBids,
    ReplaySetting,
    Shading,
    Strategy,
    band_edges,
    build_strategies,
    collect_hindsight,
    comparator_of,
    kept_to_limits,
    make_chunk,
    oracles,
)
from crossbandit.logs.survey import (
    VALUE_BINS,
    check_bad_lines,
    check_survey,
    find_repeats,
    survey_log,
    survey_with_prices,
)
from crossbandit.logs.tenders import check_tenders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    import pandas as pd

    from crossbandit.algorithms import Algorithm
    from crossbandit.core.backends import Pool
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.limits import Limit
    from crossbandit.logs.log import Auctions
    from crossbandit.logs.replay.strategies import Chunk
    from crossbandit.logs.survey import Fault, Survey


AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class ReplayRules:
    """What is told about each auction, which bids may be made, and who wins.

    Args:
        feedback: Who is told the highest competing bid: the loser ("after-loss"), the winner
            ("after-win"), everyone ("always") or nobody ("won-lost"). None takes what the notices
            in the log show, and "after-loss" for other logs.
        bids: A number of bids, spread evenly from 0 to the highest value, or the bids themselves.
            A bid of 0 means not to bid; it is added if it is missing. "auto" chooses 100 bids by
            the values of the log, as `bids_for_values` does: evenly spread, or closer together
            where most values are.
        reserve: The lowest bid that can win.
        ties: Whether a bid that equals the highest competing bid wins ("win") or loses ("lose").
            None takes what the format of the log says, and "win" for other logs.

    Raises:
        InvalidParameterError: An argument is invalid.

    >>> ReplayRules(bids=[1, 2], ties="lose").auction_rules(10.0).amounts
    array([0., 1., 2.])
    """

    feedback: Feedback | None = None
    bids: int | str | Sequence[float] | Floats = AUTO
    reserve: float = 0.0
    ties: Ties | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.feedback is not None:
            choice(owner, "feedback", self.feedback, FEEDBACK)
        number(owner, "reserve", self.reserve, at_least=0)
        if self.ties is not None:
            choice(owner, "ties", self.ties, ("win", "lose"))
        bids: Any = self.bids
        if isinstance(bids, str):
            if bids != AUTO:
                reject(owner, "bids", f"a number of bids, the bids, or {AUTO!r}", bids)
            return
        grid = bid_grid(owner, bids, 1.0)
        object.__setattr__(self, "bids", bids if np.isscalar(bids) else tuple(grid.tolist()))

    def auction_rules(self, highest_value: float) -> AuctionRules:
        """Return the rules of auctions whose values are at most `highest_value`.

        Bids that are to be chosen by the values of a log are evenly spread until `completed`.

        Args:
            highest_value: An upper bound on the values.

        Returns:
            The rules that environments and applications use too.
        """
        bids = USUAL_COUNT if isinstance(self.bids, str) else self.bids
        grid = bid_grid(type(self).__name__, bids, highest_value)
        return AuctionRules(
            bids=np.union1d([0.0], grid),
            highest_value=highest_value,
            reserve=self.reserve,
            ties=self.ties or "win",
        )

    def completed(self, log: AuctionLog, survey: Survey) -> ReplayRules:
        """Return these rules with what a log says about feedback and ties, and suitable bids.

        Args:
            log: The log.
            survey: Its survey.

        Returns:
            The rules; neither `feedback` nor `ties` is None, and bids are not "auto".
        """
        told = survey.feedback if log.ties is not None else None  # notices of an exchange
        bids: Any = self.bids
        if isinstance(bids, str):
            spacing = suitable_bids(log, survey)
            bids = USUAL_COUNT if spacing.even else spacing.bids
        return replace(
            self,
            bids=bids,
            feedback=self.feedback or cast("Feedback", told) or "after-loss",
            ties=self.ties or log.ties or "win",
        )


def suitable_bids(log: AuctionLog, survey: Survey) -> BidSpacing:
    """Return bids for the values of a log. Prices are not looked at."""
    top = log.top(survey.highest_value)
    bins = sorted(survey.value_counts)
    middles = np.exp2((np.array(bins, dtype=float) + 0.5) / VALUE_BINS)
    counts = np.array([survey.value_counts[one] for one in bins], dtype=float)
    return bid_spacing(np.minimum(middles, top), counts, top)


class StrategyRun:
    """A strategy that bids, and what it has earned and spent so far: in all, over time, by class.

    With limits it also has what was spent by section and against the targets.
    """

    def __init__(
        self,
        strategy: Strategy,
        points: Integers,
        class_sizes: Sequence[int] = (),
        limits: ReplayLimits | None = None,
    ) -> None:
        self.strategy = strategy
        self._points = points
        self._targets = limits.targets if limits else ()
        self.auctions = 0
        self.surplus = self.spend = self.wins = self._spent = 0.0
        self.curve, self.spend_curve = np.empty(points.size), np.zeros(points.size)
        self.multipliers = np.full(points.size, np.nan)
        self.by_class = [np.zeros((3, size)) for size in class_sizes]  # surplus, spend, wins
        self.by_section = np.zeros((2, max(1, limits.sections) if limits else 1))  # spend, value
        self.slack = np.zeros((len(self._targets), 2))  # the least so far, and the present one

    def play(self, chunk: Chunk, rules: AuctionRules) -> None:
        """Let the strategy bid in a chunk, and add what it earns."""
        entries = self.strategy.entries(chunk)
        shares: list[Floats] = [
            np.where(rules.wins(one.bids, chunk.prices), one.shares, 0.0) for one in entries
        ]
        paid = _total(one.bids * won for one, won in zip(entries, shares, strict=True))
        multipliers = None
        if self.strategy.pseudo is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                multipliers = chunk.values / self.strategy.pseudo
        won = _total(shares)
        self.add(chunk.values * won, paid, won, chunk, multipliers)

    def add(
        self,
        values: Floats,
        paid: Floats,
        won: Floats | Booleans,
        chunk: Chunk | None = None,
        multipliers: Floats | None = None,
    ) -> None:
        """Add consecutive auctions: the values won, payments, and the shares that were won."""
        earned = values - paid
        sums, spent = self.surplus + np.cumsum(earned), self._spent + np.cumsum(paid)
        if chunk is not None and chunk.classes is not None:
            for table, column in zip(self.by_class, chunk.classes.T, strict=False):
                numbers = np.minimum(column, table.shape[1] - 1)
                for row, amounts in enumerate((earned, paid, won)):
                    table[row] += np.bincount(numbers, amounts, table.shape[1])
        if chunk is not None and chunk.sections is not None:
            for row, amounts in enumerate((paid, values)):
                size = self.by_section.shape[1]
                self.by_section[row] += np.bincount(chunk.sections, amounts, size)
        for i, target in enumerate(self._targets):
            base, slope = target.credit()
            slack = self.slack[i, 1] + np.cumsum(base * won + slope * values - paid)
            self.slack[i] = min(self.slack[i, 0], float(slack.min())), slack[-1]
        first, last = np.searchsorted(
            self._points, [self.auctions, self.auctions + paid.size], side="right"
        )
        places = self._points[first:last] - self.auctions - 1
        self.curve[first:last], self.spend_curve[first:last] = sums[places], spent[places]
        if multipliers is not None:
            self.multipliers[first:last] = multipliers[places]
        self.auctions += paid.size
        self.surplus, self._spent = float(sums[-1]), float(spent[-1])
        self.spend += float(paid.sum())
        self.wins += float(won.sum())


def play_log(
    runs: Sequence[StrategyRun],
    auctions: Iterator[Auctions],
    setting: ReplaySetting,
    jobs: int | None,
    tell: Callable[[int], None],
) -> None:
    """Let every strategy bid in every auction; a chunk is read once for all of them.

    Compiled code releases the interpreter, so strategies run in threads on all cores, and the next
    chunk is read at the same time.
    """

    def chunks() -> Iterator[Chunk]:
        start = 0
        for piece in auctions:
            yield make_chunk(piece, setting.rules, setting.problem, setting.limits, start)
            start += piece.values.size

    found = chunks()
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        chunk = next(found, None)
        while chunk is not None:
            following = reader.submit(next, found, None)
            for played in [threads.submit(run.play, chunk, setting.rules) for run in runs]:
                played.result()
            tell(runs[0].auctions)
            chunk = following.result()


def _total(amounts: Iterable[Floats]) -> Floats:
    first, *others = amounts
    return sum(others, first)


_POINTS = 500
_VALUES = 101
_ENTRIES = 2**18  # the size of a chunk's table of losses: auctions times bids


def replay(
    log: AuctionLog | str | os.PathLike[str] | pd.DataFrame | object,
    *,
    rules: ReplayRules | None = None,
    strategies: Sequence[str | Algorithm | Strategy] = USUAL,
    limits: Sequence[Limit] = (),
    delay: timedelta | float = 0.0,
    campaign: str | int | None = None,
    seeds: int | Sequence[int] = 5,
    jobs: int | None = None,
    show_progress: bool | None = None,
) -> Replay:
    """Return what learners and other strategies would have earned on a log.

    A learner is told only what its own bid in each auction would have revealed. The memory used
    does not grow with the log.

    Args:
        log: The log. A path, a data frame of pandas or polars, or an Arrow table stands for
            `AuctionLog(log)`.
        rules: The feedback, the grid of bids and who wins; None for `ReplayRules()`.
        strategies: Who takes part: ids of algorithms, algorithms, strategies such as
            `Shading(0.5)`, or names. "law" is the price distribution, which uses class columns, and
            "guarded law" its guarded form. "learners" are the price distribution and the usual
            algorithms that can play this log. "best responses" are "best response" and
            "full-information response". "fractions" are "10 % of value" to "95 % of value" and
            "truthful". The oracles always take part, and so do the log's own bids if it has them.
        limits: Budgets and targets that every strategy has to keep, such as
            `[Budget(500, per="day"), ReturnOnSpend(3)]`. Learners and best responses bid for
            pseudo-values; others leave out bids that are ahead of the plan, or could break a limit.
        delay: How long after its bid the outcome of an auction comes, as a timedelta or in seconds.
            The log needs times. Learners are then played by a `FirstPriceBidder`, auction by
            auction, with money reserved for bids without an outcome, which takes longer. A bidder
            that could make no bid is told nothing.
        campaign: A class column of the log, each level of which keeps the limits by itself: each
            may spend a budget of its own. A strategy learns from all of them together. They are
            played auction by auction, too. Oracles may move money between campaigns.
        seeds: The number of runs of each learner, with the seeds 0, 1, ..., or the seeds.
        jobs: The number of threads; None for one per core.
        show_progress: Whether to show a progress bar; None shows it on a terminal.

    Returns:
        The surplus, spend and wins of every strategy, over time.

    Raises:
        LogError: The log is missing, unreadable or has too many bad lines.
        InvalidParameterError: An argument is invalid.
        InvalidInputError: An algorithm that was asked for cannot play this log.

    Warns:
        LogWarning: The numbers are probably wrong, for example because auctions are missing.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"value": [3.0, 2.0, 3.0], "market_price": [1.0, 2.5, 2.0]})
    >>> result = replay(log, strategies=["truthful", Shading(0.5)], rules=ReplayRules(bids=7))
    >>> result.outcome("50 % of value").mean_surplus
    1.5
    """
    numbers = _seeds(seeds)
    if jobs is not None:
        integer("replay", "jobs", jobs, at_least=1)
    log = log if isinstance(log, AuctionLog) else AuctionLog(log)
    rules = ReplayRules() if rules is None else rules
    if not isinstance(rules, ReplayRules):
        reject("replay", "rules", "a ReplayRules", rules)
    given = not isinstance(rules.bids, str | int)
    check_tenders(log, rules.reserve, limits=limits, bids=given)
    log, survey = survey_with_prices(log)
    check_survey(log, survey)
    spacing = suitable_bids(log, survey) if rules.bids == AUTO else None
    rules = rules.completed(log, survey)
    feedback = cast("Feedback", rules.feedback)
    top = log.top(survey.highest_value)
    auction_rules = rules.auction_rules(top)
    graph = auction_rules.graph(feedback)
    problem = Problem(graph, features=2, horizon=survey.auctions)
    classes = ClassTable([*log.class_places])
    late, each = check_delay(delay, log), check_limits(limits, log)
    column, campaigns = campaigns_of(log, campaign)
    limited = ReplayLimits(of_all(each, campaigns), survey.auctions)
    known = (auction_rules, feedback, problem, len(classes.names), limited)
    setting = ReplaySetting(*known, late, column, each, log.lowest_wins)
    players, notes = build_strategies(strategies, setting, numbers)
    size = max(64, _ENTRIES // auction_rules.arms // 2 * 2)  # even, for pairs of rounds
    counted = _counted(log.chunks(size, classes), classes)
    hindsight = collect_hindsight(counted, auction_rules, band_edges(survey), limited)
    if "bid" in log.places:
        players.append(kept_to_limits(OwnBids(), setting))
    players += oracles(auction_rules, hindsight, limited)
    points = _points(survey.auctions)
    runs = [
        StrategyRun(player, points, classes.sizes, limited)
        for player in sorted(players, key=lambda player: KINDS.index(player.kind))
    ]
    with progress("auctions", survey.auctions, show=show_progress) as tell:
        play_log(runs, log.chunks(size, classes), setting, jobs, tell)
    if runs[0].auctions != survey.auctions:
        raise LogError(f"{log.source.name} has changed while it was read. Try again.")
    values = np.linspace(0.0, auction_rules.highest_value, _VALUES)
    outcomes = _outcomes(runs, values, survey.own_bids, classes, limited)
    comparator = comparator_of(limited, outcomes)
    outcomes = tuple(
        replace(one, note=f"{one.note}; regret is counted from it")
        if one.strategy == comparator
        else one
        for one in outcomes
    )
    players = [run.strategy.throttled or run.strategy for run in runs]
    laws = [one for one in players if isinstance(one, LawStrategy)]
    result = Replay(
        auctions=survey.auctions,
        bad=survey.bad,
        faults=survey.faults,
        notes=tuple(notes),
        rules=auction_rules,
        feedback=feedback,
        seeds=numbers,
        points=points,
        values=values,
        outcomes=outcomes,
        reserve_column=log.label("reserve"),
        classes=tuple(classes.column(i) for i in range(len(classes.names))),
        diagnosis=laws[0].diagnosis() if laws else None,
        comparator=comparator,
        limits=limited or None,
        delay=late,
        campaigns=0 if column is None else campaigns,
        currency=log.currency or "",
    )
    doubts = tuple(find_warnings(result, survey, hindsight))
    for doubt in doubts:
        warnings.warn(doubt, LogWarning, stacklevel=2)
    found = find_notes(result, log, survey, hindsight, classes, spacing)
    said = (*doubts, log.description, *log.remarks, *notes, *found)
    return in_tenders(replace(result, notes=said, warnings=doubts), log)


def _counted(chunks: Iterable[Auctions], classes: ClassTable) -> Iterator[Auctions]:
    """Yield chunks, and count the auctions of each class."""
    for chunk in chunks:
        if chunk.classes is not None:
            classes.count(chunk.classes)
        yield chunk


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Return the seeds of the learners."""
    if not isinstance(seeds, Iterable):
        return tuple(range(integer("replay", "seeds", seeds, at_least=1)))
    numbers = tuple(integer("replay", "seeds", seed, at_least=0) for seed in seeds)
    if not numbers or len(set(numbers)) < len(numbers):
        reject("replay", "seeds", "a number, or a list of different seeds", seeds)
    return numbers


def _points(auctions: int) -> Integers:
    """Return the auctions after which the surplus is recorded: evenly spaced, up to the last."""
    count = min(_POINTS, auctions)
    return np.arange(1, count + 1) * auctions // count


def _outcomes(
    runs: Sequence[StrategyRun],
    values: Floats,
    own_bids: int,
    classes: ClassTable,
    limits: ReplayLimits,
) -> tuple[StrategyResult, ...]:
    """Return one result per strategy, with notes that depend on the numbers."""
    by_name: dict[str, list[StrategyRun]] = {}
    for run in runs:
        by_name.setdefault(run.strategy.name, []).append(run)
    results = {name: _result(group, values, classes, limits) for name, group in by_name.items()}
    shading = [
        run.strategy.name
        for run in runs
        if isinstance(bare := run.strategy.throttled or run.strategy, Shading) and bare.fraction < 1
    ]
    notes = {}
    if shading:
        best = max(shading, key=lambda name: results[name].mean_surplus)
        notes[best] = "the best fraction, in hindsight"
    if OwnBids.name in results and (one := mostly(results[OwnBids.name].wins[0], own_bids)):
        other = "won" if one == "lost" else "lost"
        notes[OwnBids.name] = f"nearly all {one}: are the auctions that you {other} missing?"
    return tuple(
        replace(result, note=notes.get(name, result.note)) for name, result in results.items()
    )


def _result(
    runs: Sequence[StrategyRun], values: Floats, classes: ClassTable, limits: ReplayLimits
) -> StrategyResult:
    strategy = runs[0].strategy
    return StrategyResult(
        strategy=strategy.name,
        kind=strategy.kind,
        note=strategy.note,
        surplus=np.array([run.surplus for run in runs]),
        spend=np.array([run.spend for run in runs]),
        wins=np.array([run.wins for run in runs]),
        curve=np.array([run.curve for run in runs]),
        bids=np.mean([run.strategy.curve(values) for run in runs], axis=0),
        by_class=tuple(_shown(runs, classes, i) for i in range(len(classes.names))),
        limited=limited_result(runs) if limits else None,
    )


def limited_result(runs: Sequence[StrategyRun]) -> LimitedResult:
    """Return what the runs of a strategy did under limits."""
    by_section = np.mean([one.by_section for one in runs], axis=0)
    slack = np.min([one.slack for one in runs], axis=0)
    return LimitedResult(
        spend_curve=np.array([one.spend_curve for one in runs]),
        multipliers=np.array([one.multipliers for one in runs]).mean(axis=0),
        spend=by_section[0],
        value=by_section[1],
        least_slack=slack[:, 0],
        slack=slack[:, 1],
        held=np.mean([_held(one.strategy, one.auctions) for one in runs], axis=0),
    )


def _held(strategy: Strategy, auctions: int) -> tuple[float, float, float]:
    """Return what a strategy with late outcomes had reserved; see `LimitedResult`."""
    if not isinstance(strategy, LateStrategy):
        return 0.0, 0.0, 0.0
    looks = max(strategy.looks, 1)
    held_back = strategy.held_back / max(auctions, 1)
    return strategy.reserved / looks, strategy.expected / looks, held_back


def _shown(runs: Sequence[StrategyRun], classes: ClassTable, column: int) -> Floats:
    """Return surplus, spend and wins by the levels of a column that tables show; (3, levels)."""
    mean = np.mean([run.by_class[column] for run in runs], axis=0)
    places, size = classes.places(column), len(classes.column(column).levels)
    shown: Floats = np.array([np.bincount(places, row, size)[:size] for row in mean])
    return shown


@dataclass(frozen=True, eq=False)
class ReplaySet:
    """Replays of the parts of a log.

    Attributes:
        column: The column by which the log was split.
        replays: The replays by the levels of the column, the largest first.
        failed: The levels that could not be replayed, with the reasons.
        bad: The number of bad lines of the whole log.
        faults: The first of them.
        notes: How the log was read.
    """

    column: str
    replays: dict[str, Replay]
    failed: dict[str, str]
    bad: int = 0
    faults: tuple[Fault, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    def table(self) -> pd.DataFrame:
        """Return one row per level and strategy.

        Returns:
            A frame with the columns of `Replay.table`, and before them the level and the number of
            its auctions.
        """
        import pandas as pd

        frames = []
        for level, result in self.replays.items():
            frame = result.table()
            frame.insert(0, "auctions", result.auctions)
            frame.insert(0, "level", level)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


_Task = tuple[str, AuctionLog, dict[str, Any], tuple[str, ...]]  # level, log, options, modules


def replay_by(
    log: AuctionLog | object,
    *,
    by: str | int | None = None,
    jobs: int | None = None,
    backend: BackendName = "local",
    address: str | None = None,
    modules: Sequence[str] = (),
    show_progress: bool | None = None,
    **options: Any,
) -> ReplaySet:
    """Replay each part of a log separately. Nothing is learned from one part for another.

    Args:
        log: An `AuctionLog` that was made with `by`, or anything that stands for one.
        by: The column that separates the parts, if `log` is not an `AuctionLog`.
        jobs: The number of workers; None for one per core.
        backend: Where the parts are replayed: "local", "ray" or "dask". Workers on other machines
            must see the temporary folder of this one.
        address: The address of a Ray or Dask cluster; None to start one on this machine.
        modules: Python files or modules that workers load first, because they register algorithms.
        show_progress: Whether to show a progress bar; None shows it on a terminal.
        options: As for `replay`: rules, strategies, seeds and others.

    Returns:
        The replays. A part that cannot be replayed, for example because it has only one auction, or
        because a budget is below its lowest bid, is among the failed ones.

    Raises:
        LogError: The log is missing or unreadable, has too many bad lines, or none of its parts
            can be replayed.
        BackendError: The backend is not installed, or does not answer.
        InvalidParameterError: An argument is invalid, for all parts.

    Warns:
        LogWarning: The numbers of a part are probably wrong.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"value": 3.0, "market_price": [1.0, 2.0] * 4, "ad": list("aaaabbbb")})
    >>> results = replay_by(log, by="ad", jobs=1, strategies=["truthful", "50 % of value"])
    >>> [one.outcome("50 % of value").mean_surplus for one in results.replays.values()]
    [3.0, 3.0]
    """
    log = log if isinstance(log, AuctionLog) else AuctionLog(log, by=by)
    parts = log.split()
    whole = copy.copy(log)
    object.__setattr__(whole, "limit", None)  # the limit is for each part
    survey = survey_log(whole)
    check_bad_lines(log, survey)
    tasks: list[_Task] = [
        (level, part, copy.deepcopy(options), tuple(modules)) for level, part in parts.items()
    ]
    replays: dict[str, Replay] = {}
    failed: dict[str, CrossbanditError] = {}
    with (
        open_pool(backend, jobs, address, owner="replay_by", warning=LogWarning) as pool,
        progress("parts", len(tasks), show=show_progress) as tell,
    ):
        for level, result in _results(pool, tasks):
            if isinstance(result, CrossbanditError):
                failed[level] = result
            else:
                replays[level] = result
            tell(len(replays) + len(failed))
    if not replays:
        level, error = min(failed.items())
        raise type(error)(f"No part of {log.source.name} can be replayed. {level!r}: {error}")
    for level, result in sorted(replays.items()):
        for doubt in result.warnings:
            warnings.warn(f"{level}: {doubt}", LogWarning, stacklevel=2)
    in_order = sorted(replays, key=lambda level: (-replays[level].auctions, level))
    column = log.source.columns.shown(log.order["by"])
    notes = [log.description, *log.remarks, *find_repeats(whole, survey)]
    if options.get("limits"):
        notes.append(
            f"The limits hold for each {column} by itself: each may spend its own budget, not a "
            "share of one."
        )
    return ReplaySet(
        column=column,
        replays={level: replays[level] for level in in_order},
        failed={level: str(error) for level, error in sorted(failed.items())},
        bad=survey.bad,
        faults=survey.faults,
        notes=tuple(notes),
    )


def _results(pool: Pool, tasks: Sequence[_Task]) -> Iterator[tuple[str, Replay | CrossbanditError]]:
    """Yield the result of each part. If a worker dies, the missing parts run in this process."""
    done = set()
    try:
        for level, result in pool.map(_run, tasks):
            done.add(level)
            yield level, result
    except pool.died:
        yield from map(_run, [task for task in tasks if task[0] not in done])


def _run(task: _Task) -> tuple[str, Replay | CrossbanditError]:
    """Replay a part in one thread; return the error if that is impossible."""
    level, log, options, modules = task
    load_modules(list(modules))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # the replay keeps these warnings
        try:
            return level, replay(log, **{"jobs": 1, "show_progress": False, **options})
        except CrossbanditError as error:  # which another part may not have
            return level, error
