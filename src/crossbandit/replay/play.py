"""Replay a log. It is read once for all strategies and all seeds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.errors import LogError, LogWarning
from crossbandit.logs.auctions import ClassTable
from crossbandit.logs.faults import check_survey
from crossbandit.logs.log import AuctionLog
from crossbandit.logs.survey import survey_with_prices
from crossbandit.problem import Problem
from crossbandit.progress import progress
from crossbandit.replay.learning import LawStrategy
from crossbandit.replay.limited import ReplayLimits, check_limits
from crossbandit.replay.limited_strategies import comparator_of
from crossbandit.replay.lineup import USUAL, always_present, build_strategies
from crossbandit.replay.notes import (
    find_bids_note,
    find_dependence,
    find_notes,
    find_warnings,
    mostly,
)
from crossbandit.replay.oracles import BestPolicy, collect_hindsight
from crossbandit.replay.results import Replay
from crossbandit.replay.rules import AUTO, ReplayRules, suitable_bids
from crossbandit.replay.runs import Ledger, StrategyResult, StrategyRun, play_log
from crossbandit.replay.spending import Account, LimitedResult, find_limit_notes
from crossbandit.replay.strategies import KINDS, OwnBids, Setting, Shading
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import pandas as pd

    from crossbandit.algorithms import Algorithm
    from crossbandit.limits import Limit
    from crossbandit.logs.auctions import Auctions
    from crossbandit.logs.survey import Survey
    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.strategies import Strategy
    from crossbandit.types import Floats, Integers

_POINTS = 500
_VALUES = 101
_ENTRIES = 2**18  # the size of a chunk's table of losses: auctions times bids


def replay(
    log: AuctionLog | str | os.PathLike[str] | pd.DataFrame | object,
    *,
    rules: ReplayRules | None = None,
    strategies: Sequence[str | Algorithm | Strategy] = USUAL,
    limits: Sequence[Limit] = (),
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
            `Shading(0.5)`, or names. "law" is the price law, which uses class columns, and
            "guarded law" its guarded form. "learners" are the price law and the usual algorithms
            that can play this log.
            "best responses" are "best response" and "best response, all told". "fractions" are
            "shading 0.1" to "shading 0.95" and "truthful". The oracles always take part, and so
            do the log's own bids if it has them.
        limits: Budgets and targets that every strategy has to keep, such as
            `[Budget(500, per="day"), ReturnOnSpend(3)]`. Learners and best responses bid for
            pseudo-values; others leave out bids that are ahead of the plan, or could break a limit.
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
    >>> result.outcome("shading 0.50").mean_surplus
    1.5
    """
    numbers = _seeds(seeds)
    if jobs is not None:
        integer("replay", "jobs", jobs, at_least=1)
    log = log if isinstance(log, AuctionLog) else AuctionLog(log)
    rules = ReplayRules() if rules is None else rules
    if not isinstance(rules, ReplayRules):
        reject("replay", "rules", "a ReplayRules", rules)
    log, survey = survey_with_prices(log)
    check_survey(log, survey)
    spacing = suitable_bids(log, survey) if rules.bids == AUTO else None
    rules = rules.completed(log, survey)
    feedback = str(rules.feedback)
    top = survey.highest_value if log.highest_value is None else log.highest_value
    auction_rules = rules.auction_rules(top)
    graph = auction_rules.graph(feedback)
    problem = Problem(graph, features=2, horizon=survey.auctions)
    classes = ClassTable([*log.class_places])
    asked: object = limits
    limited = None
    if asked or not isinstance(asked, Sequence):
        limited = ReplayLimits(check_limits(limits, log), survey.auctions)
    setting = Setting(auction_rules, feedback, problem, len(classes.names), limited)
    players, notes = build_strategies(strategies, setting, numbers)
    size = max(64, _ENTRIES // auction_rules.arms // 2 * 2)  # even, for pairs of rounds
    counted = _counted(log.chunks(size, classes), classes)
    hindsight = collect_hindsight(counted, auction_rules, limited)
    players += always_present(setting, hindsight, has_own_bids="bid" in log.places)
    points = _points(survey.auctions)
    runs = [
        StrategyRun(
            player,
            Ledger(points, classes.sizes),
            None if limited is None else Account(limited, points),
        )
        for player in sorted(players, key=lambda player: KINDS.index(player.kind))
    ]
    with progress("auctions", survey.auctions, show=show_progress) as tell:
        play_log(runs, log.chunks(size, classes), setting, jobs, tell)
    if runs[0].ledger.auctions != survey.auctions:
        raise LogError(f"{log.source.name} has changed while it was read. Try again.")
    notes += find_bids_note(spacing)
    return _replay_of(log, survey, setting, classes, numbers, runs, hindsight, notes)


def _replay_of(
    log: AuctionLog,
    survey: Survey,
    setting: Setting,
    classes: ClassTable,
    seeds: tuple[int, ...],
    runs: Sequence[StrategyRun],
    hindsight: Hindsight,
    notes: list[str],
) -> Replay:
    """Return what the runs have recorded, with notes and warnings; `replay` is the caller."""
    rules, limited = setting.rules, setting.limits
    values = np.linspace(0.0, rules.highest_value, _VALUES)
    outcomes = _outcomes(runs, values, survey.own_bids, classes)
    laws = [run.strategy for run in runs if isinstance(run.strategy, LawStrategy)]
    diagnosis = laws[0].diagnosis() if laws else None
    doubts = tuple(find_warnings(log, survey, rules, outcomes))
    for doubt in doubts:
        warnings.warn(doubt, LogWarning, stacklevel=3)
    notes += find_notes(log, survey, rules, hindsight, outcomes)
    if limited is not None:
        notes += find_limit_notes(limited, outcomes)
    notes += find_dependence(diagnosis, classes, outcomes)
    return Replay(
        auctions=survey.auctions,
        bad=survey.bad,
        faults=survey.faults,
        notes=(*doubts, log.description, *log.remarks, *notes),
        rules=rules,
        feedback=setting.feedback,
        seeds=seeds,
        points=_points(survey.auctions),
        values=values,
        outcomes=outcomes,
        reserve_column=log.label("reserve"),
        warnings=doubts,
        classes=tuple(classes.column(i) for i in range(len(classes.names))),
        diagnosis=diagnosis,
        comparator=BestPolicy.name if limited is None else comparator_of(limited),
        limits=limited,
    )


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
    runs: Sequence[StrategyRun], values: Floats, own_bids: int, classes: ClassTable
) -> tuple[StrategyResult, ...]:
    """Return one result per strategy, with notes that depend on the numbers."""
    by_name: dict[str, list[StrategyRun]] = {}
    for run in runs:
        by_name.setdefault(run.strategy.name, []).append(run)
    results = {name: _result(group, values, classes) for name, group in by_name.items()}
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


def _result(runs: Sequence[StrategyRun], values: Floats, classes: ClassTable) -> StrategyResult:
    strategy, ledgers = runs[0].strategy, [run.ledger for run in runs]
    accounts = [run.account for run in runs if run.account is not None]
    return StrategyResult(
        strategy=strategy.name,
        kind=strategy.kind,
        note=strategy.note,
        surplus=np.array([ledger.surplus for ledger in ledgers]),
        spend=np.array([ledger.spend for ledger in ledgers]),
        wins=np.array([ledger.wins for ledger in ledgers]),
        curve=np.array([ledger.curve for ledger in ledgers]),
        bids=np.mean([run.strategy.curve(values) for run in runs], axis=0),
        by_class=tuple(_shown(ledgers, classes, i) for i in range(len(classes.names))),
        limited=LimitedResult.of(accounts) if accounts else None,
    )


def _shown(ledgers: Sequence[Ledger], classes: ClassTable, column: int) -> Floats:
    """Return surplus, spend and wins by the levels of a column that tables show; (3, levels)."""
    mean = np.mean([ledger.by_class[column] for ledger in ledgers], axis=0)
    places, size = classes.places(column), len(classes.column(column).levels)
    shown: Floats = np.array([np.bincount(places, row, size)[:size] for row in mean])
    return shown
