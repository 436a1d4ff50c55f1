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
from crossbandit.replay.log import MORE_COLUMNS, NO_PRICE, SHOWN_FAULTS, WITH_COMMA, open_log
from crossbandit.replay.notes import notes_on
from crossbandit.replay.oracles import look_back
from crossbandit.replay.outcomes import Ledger, Outcome, Replay
from crossbandit.replay.strategies import chunk_of
from crossbandit.simulation.progress import progress
from crossbandit.validation import choice, integer, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd

    from crossbandit.algorithms import Algorithm
    from crossbandit.replay.log import Log, Survey
    from crossbandit.replay.strategies import Chunk, Strategy
    from crossbandit.types import Floats, Integers

MAX_BAD = 100
_LEAST, _MOST = 1e-100, 1e100  # that the highest value may be: sums and quotients stay finite
_POINTS = 500
_VALUES = 101
_ENTRIES = 2**18  # of the table of losses of a chunk, auctions times bids


class Entrant(NamedTuple):
    """A strategy that bids, and what it has earned."""

    strategy: Strategy
    ledger: Ledger


def replay(
    log: str | Path | pd.DataFrame,
    *,
    algorithms: Sequence[str | Algorithm] | None = None,
    feedback: str = "after-loss",
    bids: Any = 100,
    reserve: float = 0.0,
    ties: str = "win",
    highest_value: float | None = None,
    value_column: str | int | None = None,
    price_column: str | int | None = None,
    bid_column: str | int | None = None,
    reserve_column: str | int | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = 5,
    seed: int = 0,
    limit: int | None = None,
    max_bad: int = MAX_BAD,
    jobs: int | None = None,
    show_progress: bool | None = None,
) -> Replay:
    """Return what learners and other strategies would have earned on a log.

    `log` is a CSV or Parquet file, or a DataFrame, with a value and a highest competing bid per
    auction; the latter is the highest bid of the others, also where you won. Learners, of which
    there is one per algorithm and seed, are told of each auction what their own bid reveals under
    `feedback`. `bids` is a number of bids from 0 to the highest value, or the bids themselves.
    `highest_value` is what bounds the values; None takes it from the log. `fractions` are what
    bidders who shade by a fixed fraction bid of the value.

    `bid_column` holds what you bid: these bids take part as well. `reserve_column` holds a reserve
    for each auction: no lower bid wins it, nor one below `reserve`.

    The memory taken does not grow with the file.
    """
    _check(feedback, seeds, seed, limit, max_bad, jobs)
    file = open_log(
        log,
        value_column=value_column,
        price_column=price_column,
        bid_column=bid_column,
        reserve_column=reserve_column,
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
    playing += others(rules, feedback, fractions, hindsight, own="bid" in file.places)
    points = _points(survey.auctions)
    entrants = [Entrant(strategy, Ledger(points)) for strategy in playing]
    with progress("auctions", survey.auctions, show=show_progress) as tell:
        _play(entrants, file, rules, problem, size, jobs, tell)
    if entrants[0].ledger.auctions != survey.auctions:
        raise LogError(f"{file.source.path} has changed while it was read. Try again.")
    values = np.linspace(0.0, top, _VALUES)
    outcomes = _outcomes(entrants, values)
    return Replay(
        auctions=survey.auctions,
        bad=survey.bad,
        faults=survey.faults,
        notes=(file.columns, *notes, *notes_on(file, survey, rules, hindsight, outcomes)),
        rules=rules,
        feedback=feedback,
        seeds=numbers,
        points=points,
        values=values,
        outcomes=outcomes,
        reserve_column=file.label("reserve"),
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
    return None if value is None else number("replay", name, value, at_least=_LEAST, at_most=_MOST)


def _surveyed(file: Log, max_bad: int) -> Survey:
    """Read the log once, and stop here if it is too faulty or too short."""
    survey = file.survey()
    if survey.bad > max_bad:
        raise LogError(f"{_too_faulty(file, survey, max_bad)}\n{file.columns}")
    if survey.auctions < 2:
        raise LogError(_too_short(file, survey))
    if survey.highest_value == 0:
        raise LogError(f"All values in {file.source.path} are 0. {file.columns}")
    if file.highest_value is None and not _LEAST <= survey.highest_value <= _MOST:
        raise LogError(
            f"The highest value in {file.source.path} is {survey.highest_value:g}. It must be "
            f"from {_LEAST:g} to {_MOST:g}: give the amounts in another unit. {file.columns}"
        )
    return survey


def _too_short(file: Log, survey: Survey) -> str:
    lines = "1 good line" if survey.auctions == 1 else "0 good lines"
    said = f"{file.source.path} holds {lines}. A replay needs at least 2 auctions."
    if not survey.bad:
        return said
    which = "The bad lines" if survey.bad <= SHOWN_FAULTS else "The first bad lines"
    return f"{said}{_advice(file, survey)} {which}:\n{_shown(survey)}\n{file.columns}"


def _too_faulty(file: Log, survey: Survey, max_bad: int) -> str:
    """Say what is wrong with a log; where most bad lines have one cause, say what that means."""
    path, cause = file.source.path, survey.main_reason
    if cause == NO_PRICE:
        return (
            f"{survey.reasons[cause]:,} of the {survey.lines:,} lines of {path} have no highest "
            "competing bid. If it is missing where you won, this log cannot be replayed: what is "
            "left are the auctions that you lost, and they would give a wrong answer. A replay "
            "needs the highest bid of the others in all auctions. (Only if it is missing by mere "
            "chance, let more lines pass with --max-bad, max_bad=... in Python.) The first of "
            f"them:\n{_shown(survey)}"
        )
    return (
        f"{path} has {survey.bad:,} bad lines, and at most {max_bad:,} are let pass (--max-bad, "
        f"max_bad=... in Python).{_advice(file, survey)} The first of them:\n{_shown(survey)}"
    )


def _shown(survey: Survey) -> str:
    return "\n".join(f"  line {fault.line}: {fault.reason}" for fault in survey.faults)


def _advice(file: Log, survey: Survey) -> str:
    """Return what to do about the commonest fault, if that is known."""
    if survey.main_reason.endswith(WITH_COMMA):
        return " Write decimals with a point, 1.5 and not 1,5, and nothing between thousands."
    if survey.main_reason == MORE_COLUMNS and file.source.separator == ",":
        return " Are there decimal commas? Write 1.5, not 1,5."
    return ""


def _points(auctions: int) -> Integers:
    """Return after which auctions the surplus is noted: evenly, the last among them."""
    count = min(_POINTS, auctions)
    return np.arange(1, count + 1) * auctions // count


def _play(
    entrants: Sequence[Entrant],
    file: Log,
    rules: AuctionRules,
    problem: Problem,
    size: int,
    jobs: int | None,
    tell: Callable[[int], None],
) -> None:
    """Let every entrant bid in every auction; a chunk is read once and shared by all of them.

    Compiled steps let other threads run, so entrants take turns on all cores, and the next chunk is
    read meanwhile.
    """
    chunks = (chunk_of(auctions, rules, problem) for auctions in file.chunks(size))
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        chunk = next(chunks, None)
        while chunk is not None:
            following = reader.submit(next, chunks, None)
            list(threads.map(_settle, entrants, repeat(chunk), repeat(rules)))
            tell(entrants[0].ledger.auctions)
            chunk = following.result()


def _settle(entrant: Entrant, chunk: Chunk, rules: AuctionRules) -> None:
    bids = entrant.strategy.bids(chunk)
    entrant.ledger.add(chunk.values - bids, bids, rules.wins(bids, chunk.prices))


def _outcomes(entrants: Sequence[Entrant], values: Floats) -> tuple[Outcome, ...]:
    """Gather the entrants of each strategy; the best of the fixed fractions is told so."""
    by_name: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        by_name.setdefault(entrant.strategy.name, []).append(entrant)
    outcomes = [_outcome(group, values) for group in by_name.values()]
    shading = [outcome for outcome in outcomes if outcome.strategy.startswith("shading")]
    best = max(shading, key=lambda outcome: outcome.mean_surplus, default=None)
    return tuple(
        replace(outcome, note="the best fraction, in hindsight") if outcome is best else outcome
        for outcome in outcomes
    )


def _outcome(entrants: Sequence[Entrant], values: Floats) -> Outcome:
    strategy, ledgers = entrants[0].strategy, [entrant.ledger for entrant in entrants]
    return Outcome(
        strategy=strategy.name,
        kind=strategy.kind,
        note=strategy.note,
        surplus=np.array([ledger.surplus for ledger in ledgers]),
        spend=np.array([ledger.spend for ledger in ledgers]),
        wins=np.array([float(ledger.wins) for ledger in ledgers]),
        curve=np.array([ledger.curve for ledger in ledgers]),
        bids=np.mean([entrant.strategy.curve(values) for entrant in entrants], axis=0),
    )
