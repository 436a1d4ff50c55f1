"""Check the outcomes of many auctions, and learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications.action import required_action, rows_of
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.bidding.inputs import (
    column_of,
    flags_of,
    is_column,
    numbers_to_reach,
    price_of,
    rules_of,
)
from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.applications.law_learner.decisions import LawDecision, Made
from crossbandit.errors import DecisionError, ForeignDecisionError, InvalidLossesError
from crossbandit.kernels.bidding import plain_numbers
from crossbandit.kernels.feedback import TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.algorithms import Learner
    from crossbandit.applications.law_learner.learner import LawLearner
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.types import Booleans, Floats

_SHOWN = 5  # how many bad rows a message names, each with its reason


def as_bids(bids: Any, learner: Any) -> Bids:
    """Return what `settle_many` is given as one batch; raise if it is something else.

    Args:
        bids: A `Bids`, or a sequence of bids or tokens.
        learner: The learner that is to learn from them.

    Raises:
        DecisionError: A row is not a bid, or is the bid of another learner.
    """
    if isinstance(bids, Bids):
        made, by_law = bids.made, isinstance(learner, LawDecider)
        if by_law and isinstance(made, Made):
            _check_learner(learner, made.learner)
        elif by_law or isinstance(made, Made) or any(type(b.decision) is LawDecision for b in made):
            # `Learner.learn_many` checks decisions of its own kind.
            _each(lambda one: required_action(one, Bid, learner), bids, DecisionError)
        return bids
    if isinstance(bids, str | bytes) or not isinstance(bids, Sequence):
        raise DecisionError(
            f"settle_many takes the Bids that bid_many returned, or a list of bids or tokens. Got "
            f"a {type(bids).__name__}."
        )
    return Bids.of(_each(lambda one: required_action(one, Bid, learner), bids, DecisionError))


def _check_learner(learner: Any, maker: str) -> None:
    if maker != learner.learner and maker not in learner.former:
        raise ForeignDecisionError(
            f"The bids were made by another learner ({maker}). Give them to the learner that made "
            "them, or drop them."
        )


class Outcomes(NamedTuple):
    """The outcomes of the bids of a batch; all (n,).

    Attributes:
        won: Whether each won.
        told: The highest competing bids; NaN where they are not known.
        reserves: The reserve prices that were given with the outcomes, NaN where they were not;
            None if none was.
        numbers: The number that each bid had to reach.
    """

    won: Booleans
    told: Floats
    reserves: Floats | None
    numbers: Floats


def outcomes_of(
    rules: AuctionRules, feedback: str, bids: Bids, won: Any, told: Any, reserve: Any
) -> Outcomes:
    """Return the outcomes of a batch, as `settle_many` is given them.

    One call of compiled code checks columns of floats and booleans. If it finds anything unusual,
    each row is checked separately: it may have another form, be a tie up to rounding, or be wrong.

    Args:
        rules: The bidder's rules.
        feedback: Who is told the highest competing bid.
        bids: The bids.
        won: Whether each won.
        told: The highest competing bids.
        reserve: The reserve prices that are given with the outcomes.

    Raises:
        InvalidLossesError: Rows are incomplete or contradict themselves; the message names them.
    """
    count = len(bids)
    shape, after = (count,), TOLD_AFTER[feedback]
    if reserve is None and is_column(won, np.bool_, shape) and is_column(told, float, shape):
        numbers = np.empty(count)
        settings = (False in after, True in after, rules.ties == "lose")
        amounts = (float(rules.reserve), float(rules.least), bids.amounts)
        if plain_numbers(*settings, *amounts, won, told, numbers) == 0:
            return Outcomes(won, told, None, numbers)
    bad = InvalidLossesError
    has_won = np.ascontiguousarray(flags_of("settle_many", "won", won, count))
    prices = column_of("settle_many", "highest_competing_bid", told, count, bad)
    floors = column_of("settle_many", "reserve", reserve, count, bad)
    numbers = prices_of(rules, feedback, bids, has_won, prices, floors)
    return Outcomes(has_won, prices, None if reserve is None else floors, numbers)


def prices_of(
    rules: AuctionRules, feedback: str, bids: Bids, won: Booleans, told: Floats, reserves: Floats
) -> Floats:
    """Return the number that each bid had to reach; see `price_of`.

    Args:
        rules: The bidder's rules.
        feedback: Who is told the highest competing bid.
        bids: The bids.
        won: Whether each won.
        told: The highest competing bids; NaN where they are not known.
        reserves: The reserve prices that are given with the outcomes; NaN where they are not.

    Raises:
        InvalidLossesError: Rows are incomplete or contradict themselves; the message names them.
    """
    amounts, known = bids.amounts, ~np.isnan(told)
    must = np.isin(won, TOLD_AFTER[feedback])
    prices = np.where(known, told, np.where(won, -np.inf, np.inf))
    consistent = rules.wins(amounts, np.where(known, told, -np.inf)) == won
    consistent[~known & ~won] = True
    plain = consistent & (known | ~must) & np.isnan(reserves)
    least = numbers_to_reach(rules, prices)

    def one(i: int) -> None:
        if np.isnan(amounts[i]):
            if won[i]:
                raise InvalidLossesError("No bid was made, so it cannot have won.")
            return
        price = float(told[i]) if known[i] else None
        at = rules if np.isnan(reserves[i]) else rules_of(rules, bids[i], float(reserves[i]))
        found = price_of(at, feedback, float(amounts[i]), price, won=bool(won[i]))
        least[i] = numbers_to_reach(at, found)

    _each(one, np.flatnonzero(~plain).tolist(), InvalidLossesError)
    return least


def _each(task: Callable[[Any], Any], rows: Sequence[Any], error: type[Exception]) -> list[Any]:
    """Return the result of each row; raise an error that names all rows that fail."""
    done: list[Any] = []
    failed: dict[int, Exception] = {}
    for row in rows:
        try:
            done.append(task(row))
        except error as problem:
            failed[row if isinstance(row, int) else len(done) + len(failed)] = problem
    if failed:
        shown = [f"row {row}: {problem}" for row, problem in list(failed.items())[:_SHOWN]]
        more = f" And {len(failed) - _SHOWN} more rows." if len(failed) > _SHOWN else ""
        kind = type(next(iter(failed.values())))
        raise kind(f"{len(failed)} rows are wrong. Nothing was learned. {' '.join(shown)}{more}")
    return done


def by_decider(bids: Bids) -> tuple[list[Made], npt.NDArray[np.int64]]:
    """Return the decisions of bids, grouped by decider, and the rows of these decisions.

    Args:
        bids: The bids. A law without a guard made all of them.
    """
    if isinstance(bids.made, Made):
        made = bids.made
        rows = np.arange(len(bids)) if made.run else np.flatnonzero(made.arms >= 0)
        if rows.size < len(bids):
            made = made.part(rows)
        return [made], rows
    groups: dict[str, list[int]] = {}
    for i, bid in enumerate(bids.made):
        if isinstance(bid.decision, LawDecision):
            groups.setdefault(bid.decision.decider, []).append(i)
    found = []
    for decider, numbers in groups.items():
        decisions: list[Any] = [bids.made[i].decision for i in numbers]
        names = ("arm", "round", "score", "total")
        arms, rounds, scores, totals = (
            np.array([getattr(one, name) for one in decisions], dtype=np.int64) for name in names
        )
        times = np.array([one.time for one in decisions], dtype=float)
        ids = (decisions[0].learner, decider, None)
        found.append(Made(arms, rounds, scores, totals, times, *ids))
    return found, np.array([i for numbers in groups.values() for i in numbers], dtype=np.int64)


def settle_batch(learner: LawLearner, bids: Bids, won: Booleans, numbers: Floats) -> None:
    """Learn from many outcomes of a law without a guard, in one call of compiled code.

    Args:
        learner: The learner.
        bids: The bids.
        won: Whether each won.
        numbers: The number that each had to reach.
    """
    made, rows = by_decider(bids)
    if not rows.size:
        return
    if rows.size == len(bids) and len(made) == 1:  # each row has a decision, in order
        outcomes = (bids.amounts.copy(), won, numbers)  # compiled code takes one kind of array
        labels = bids.classes if learner.law.classes else []
        learner.learn_many(made, rows, len(bids), bids.values.copy(), labels, outcomes)
        return
    order = np.sort(rows)
    labels = [bids.classes[i] for i in order.tolist()] if learner.law.classes else []
    outcomes = (bids.amounts[order], won[order], numbers[order])
    learner.learn_many(made, rows, len(bids), bids.values[order], labels, outcomes)


def settle_rows(
    learner: Learner, rules: AuctionRules, bids: Bids, won: Booleans, told: Floats
) -> None:
    """Learn from many outcomes of a learner with a feedback graph.

    Args:
        learner: The learner.
        rules: The rules of the auctions.
        bids: The bids.
        won: Whether each won.
        told: The highest competing bids, which were checked; NaN where they are not known.
    """
    rows = [i for i, bid in enumerate(bids) if bid.decision is not None]
    if not rows:
        return
    decisions: list[Any] = [bids[i].decision for i in rows]
    prices = [
        price_of(
            rules,
            "won-lost",  # the competing bids were checked before
            float(bids.amounts[i]),
            None if np.isnan(told[i]) else float(told[i]),
            won=bool(won[i]),
        )
        for i in rows
    ]
    losses = rules.rows(prices)
    shown = [rows_of(losses[k], one.revealed) for k, one in enumerate(decisions)]
    learner.learn_many(decisions, shown)
