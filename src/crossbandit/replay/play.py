"""Play a log again: one reading serves all strategies and all seeds."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.environments.auctions import FEEDBACK, AuctionRules, bid_grid
from crossbandit.errors import LogError
from crossbandit.problem import Problem
from crossbandit.replay.lineup import FRACTIONS, learners, others
from crossbandit.replay.log import open_log
from crossbandit.replay.notes import notes_on
from crossbandit.replay.oracles import look_back
from crossbandit.replay.outcomes import Ledger, Outcome, Replay
from crossbandit.replay.strategies import chunk_of
from crossbandit.simulation.progress import progress
from crossbandit.validation import choice, integer, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crossbandit.algorithms import Algorithm
    from crossbandit.kernels.rounds import Floats, Integers
    from crossbandit.replay.log import Log, Survey
    from crossbandit.replay.strategies import Chunk, Strategy

MAX_BAD = 100
_POINTS = 500
_VALUES = 101
_ENTRIES = 2**18  # of the table of losses of a chunk, auctions times bids


class Run(NamedTuple):
    """A strategy that bids, and what it has earned."""

    strategy: Strategy
    ledger: Ledger


def replay(
    log: str | Path,
    *,
    algorithms: Sequence[str | Algorithm] | None = None,
    feedback: str = "after-loss",
    bids: Any = 100,
    reserve: float = 0.0,
    ties: str = "win",
    highest_value: float | None = None,
    value_column: str | int | None = None,
    price_column: str | int | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = 5,
    seed: int = 0,
    limit: int | None = None,
    max_bad: int = MAX_BAD,
    jobs: int | None = None,
    show_progress: bool | None = None,
) -> Replay:
    """Return what learners and other strategies would have earned on a log.

    `log` is a CSV or Parquet file with a value and a highest competing bid per auction. Learners,
    of which there is one per algorithm and seed, are told of each auction what their own bid
    reveals under `feedback`. `bids` is a number of bids from 0 to the highest value, or the bids
    themselves. `highest_value` is what bounds the values; None takes it from the log. `fractions`
    are what bidders who shade by a fixed fraction bid of the value.

    The memory taken does not grow with the log.
    """
    _check(feedback, seeds, seed, limit, max_bad, jobs)
    file = open_log(
        log,
        value_column=value_column,
        price_column=price_column,
        highest_value=_optional("highest_value", highest_value),
        limit=limit,
    )
    survey = _surveyed(file, max_bad)
    top = survey.highest_value if highest_value is None else highest_value
    grid = np.union1d([0.0], bid_grid("replay", bids, top))  # 0 stands for not bidding
    rules = AuctionRules(bids=grid, highest_value=top, reserve=reserve, ties=ties)
    problem = Problem(rules.graph(feedback), features=2, horizon=survey.auctions)
    numbers = tuple(range(seed, seed + seeds))
    playing, notes = learners(algorithms, problem, rules, feedback, numbers)
    size = max(64, _ENTRIES // rules.arms // 2 * 2)  # even: learners may play rounds in pairs
    hindsight = look_back(file.chunks(size), rules)
    playing += others(rules, feedback, fractions, hindsight)
    points = _points(survey.auctions)
    runs = [Run(strategy, Ledger(points)) for strategy in playing]
    with progress("auctions", survey.auctions, show=show_progress) as tell:
        _play(runs, file, rules, problem, size, jobs, tell)
    if runs[0].ledger.auctions != survey.auctions:
        raise LogError(f"{file.source.path} has changed while it was read. Try again.")
    values = np.linspace(0.0, top, _VALUES)
    outcomes = _outcomes(runs, values)
    return Replay(
        auctions=survey.auctions,
        bad=survey.bad,
        faults=survey.faults,
        notes=(file.columns, *notes, *notes_on(survey, rules, hindsight, outcomes)),
        rules=rules,
        feedback=feedback,
        seeds=numbers,
        points=points,
        values=values,
        outcomes=outcomes,
    )


def _check(
    feedback: str, seeds: int, seed: int, limit: int | None, max_bad: int, jobs: int | None
) -> None:
    choice("replay", "feedback", feedback, FEEDBACK)
    integer("replay", "seeds", seeds, at_least=1)
    integer("replay", "seed", seed, at_least=0)
    integer("replay", "max_bad", max_bad, at_least=0)
    for name, value in (("limit", limit), ("jobs", jobs)):
        if value is not None:
            integer("replay", name, value, at_least=1)


def _optional(name: str, value: float | None) -> float | None:
    return None if value is None else number("replay", name, value, above=0)


def _surveyed(file: Log, max_bad: int) -> Survey:
    """Read the log once, and stop here if it is too faulty or too short."""
    survey = file.survey()
    if survey.bad > max_bad:
        shown = "\n".join(f"  line {fault.line}: {fault.reason}" for fault in survey.faults)
        raise LogError(
            f"{file.source.path} has {survey.bad:,} bad lines, and at most {max_bad:,} are let "
            f"pass (--max-bad, max_bad=... in Python). The first of them:\n{shown}\n{file.columns}"
        )
    if survey.auctions < 2:
        raise LogError(
            f"{file.source.path} holds {survey.auctions} good line. A replay needs at least 2 "
            "auctions."
        )
    if survey.highest_value == 0:
        raise LogError(f"All values in {file.source.path} are 0. {file.columns}")
    return survey


def _points(auctions: int) -> Integers:
    """Return after which auctions the surplus is noted: evenly, the last among them."""
    count = min(_POINTS, auctions)
    return np.arange(1, count + 1) * auctions // count


def _play(
    runs: Sequence[Run],
    file: Log,
    rules: AuctionRules,
    problem: Problem,
    size: int,
    jobs: int | None,
    tell: Callable[[int], None],
) -> None:
    """Let every run bid in every auction; a chunk is read once and shared by all of them.

    Compiled steps let other threads run, so runs take turns on all cores, and the next chunk is
    read meanwhile.
    """
    chunks = (chunk_of(*auctions, rules, problem) for auctions in file.chunks(size))
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        chunk = next(chunks, None)
        while chunk is not None:
            following = reader.submit(next, chunks, None)
            list(threads.map(_settle, runs, repeat(chunk), repeat(rules)))
            tell(runs[0].ledger.auctions)
            chunk = following.result()


def _settle(run: Run, chunk: Chunk, rules: AuctionRules) -> None:
    bids = run.strategy.bids(chunk)
    run.ledger.add(chunk.values - bids, bids, rules.wins(bids, chunk.prices))


def _outcomes(runs: Sequence[Run], values: Floats) -> tuple[Outcome, ...]:
    """Gather the runs of each strategy; the best of the fixed fractions is told so."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.strategy.name, []).append(run)
    outcomes = [_outcome(group, values) for group in by_name.values()]
    shading = [outcome for outcome in outcomes if outcome.strategy.startswith("shading")]
    best = max(shading, key=lambda outcome: outcome.mean_surplus, default=None)
    return tuple(
        replace(outcome, note="the best fraction, in hindsight") if outcome is best else outcome
        for outcome in outcomes
    )


def _outcome(runs: Sequence[Run], values: Floats) -> Outcome:
    strategy = runs[0].strategy
    return Outcome(
        strategy=strategy.name,
        kind=strategy.kind,
        note=strategy.note,
        surplus=np.array([run.ledger.surplus for run in runs]),
        spend=np.array([run.ledger.spend for run in runs]),
        wins=np.array([float(run.ledger.wins) for run in runs]),
        curve=np.array([run.ledger.curve for run in runs]),
        bids=np.mean([run.strategy.curve(values) for run in runs], axis=0),
    )
