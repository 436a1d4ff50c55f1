"""Bid and settle in many auctions at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Learner
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.bidding.inputs import column_of, label_columns
from crossbandit.applications.bidding.outcomes import (
    as_bids,
    outcomes_of,
    settle_batch,
    settle_rows,
)
from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.applications.law_learner.decisions import LawDecision
from crossbandit.applications.law_learner.learner import LawLearner
from crossbandit.applications.law_learner.outcome_codes import HELD, rows_named
from crossbandit.errors import InvalidContextError, LearnedBeforeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.applications.bidding.spending import Spending, Time
    from crossbandit.applications.first_price import FirstPriceBidder
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.types import Floats, Integers


def bid_batch(
    bidder: FirstPriceBidder,
    spending: Spending | None,
    values: npt.ArrayLike,
    reserve: npt.ArrayLike | None,
    at: Time,
    classes: Mapping[str, Any],
) -> Bids:
    """Do what `FirstPriceBidder.bid_many` does. spending: the limits of the bidder, if any."""
    low, high = bidder.value_range
    bad = InvalidContextError
    worths = column_of("bid_many", "values", values, None, bad, low=low, high=high)
    count, least = worths.size, bidder.rules.reserve
    floors = column_of("bid_many", "reserve", reserve, count, bad, low=least)
    columns, labels = label_columns(bidder.classes, classes, count)
    firsts, lasts = _ranges(bidder.rules, worths, floors)
    learner = bidder.learner
    if isinstance(learner, LawDecider) and learner.guard is None:
        if spending is None:
            costs, reasons = np.zeros(count), None
            made = learner.act_many(worths, columns, worths.copy(), costs, firsts, lasts)
        else:
            given = (learner, worths, columns, firsts, lasts, at)
            made, reasons = spending.choose_many(*given)
        amounts = np.where(made.arms < 0, np.nan, bidder.rules.amounts[made.arms])
        return Bids(amounts, worths, floors, labels, made, reasons)
    if spending is None and isinstance(learner, Learner):
        return _graph_bids(learner, bidder.rules, worths, floors, firsts, lasts)
    rows = zip(worths.tolist(), floors.tolist(), labels or [()] * count, strict=True)
    singles = []
    for value, floor, names in rows:
        levels = dict(zip(bidder.classes, names, strict=True))
        known = None if np.isnan(floor) else floor
        singles.append(bidder.bid(value, reserve=known, at=at, **levels))
    return Bids.of(singles)


def _ranges(rules: AuctionRules, worths: Floats, floors: Floats) -> tuple[Integers, Integers]:
    """Return the lowest and the highest possible bid of each auction, by number."""
    amounts = rules.amounts
    lasts = np.full(worths.size, amounts.size - 1)
    if rules.at_most_value:
        lasts = np.searchsorted(amounts, worths, "right") - 1
    if np.isnan(floors).all():
        return np.zeros(worths.size, dtype=np.int64), lasts
    known = np.where(np.isnan(floors), -1.0, floors)
    return np.searchsorted(amounts, known, "left"), lasts


def _graph_bids(
    learner: Learner,
    rules: AuctionRules,
    worths: Floats,
    floors: Floats,
    firsts: Integers,
    lasts: Integers,
) -> Bids:
    active = np.flatnonzero(firsts <= lasts)
    numbers = np.arange(rules.arms)
    may = (numbers >= firsts[active, None]) & (numbers <= lasts[active, None])
    features = rules.contexts(worths[active])
    decisions = dict(zip(active.tolist(), learner.act_many(features, may), strict=True))
    made = []
    for i in range(worths.size):
        decision, floor = decisions.get(i), float(floors[i])
        amount = None if decision is None else float(rules.amounts[decision.arm])
        known = None if np.isnan(floor) else floor
        made.append(Bid(decision, amount, float(worths[i]), known))
    return Bids.of(made)


def settle_auctions(
    bidder: FirstPriceBidder,
    spending: Spending | None,
    bids: Bids | Sequence[Bid | bytes | str],
    won: npt.ArrayLike,
    highest_competing_bid: npt.ArrayLike | None,
    reserve: npt.ArrayLike | None,
) -> None:
    """Do what `FirstPriceBidder.settle_many` does. spending: the limits of the bidder, if any."""
    made, learner = as_bids(bids, bidder.learner), bidder.learner
    given = (made, won, highest_competing_bid, reserve)
    has_won, told, floors, numbers = outcomes_of(bidder.rules, bidder.feedback, *given)
    if isinstance(learner, LawLearner) and learner.guard is None:
        settle_batch(learner, made, has_won, numbers)
        if spending is not None:
            spending.account_many(made, has_won, numbers)
        return
    if floors is None:
        floors = np.full(len(made), np.nan)
    if isinstance(learner, Learner) and np.isnan(floors).all():
        settle_rows(learner, bidder.rules, made, has_won, told)
        if spending is not None:
            spending.account_many(made, has_won, numbers)
        return
    _check_all(learner, made)
    for i, bid in enumerate(made):
        price, floor = float(told[i]), float(floors[i])
        bidder.settle(
            bid,
            won=bool(has_won[i]),
            highest_competing_bid=None if np.isnan(price) else price,
            reserve=None if np.isnan(floor) else floor,
        )


def _check_all(learner: Any, bids: Bids) -> None:
    """Raise if one of the bids cannot be learned from, before any of them is."""
    given: set[tuple[str, int]] = set()
    again = np.zeros(len(bids), dtype=bool)
    for i, bid in enumerate(bids):
        decision = bid.decision
        if decision is None:
            continue
        learner.expects(decision)
        maker = decision.learner
        if isinstance(decision, LawDecision):
            maker = decision.decider
            again[i] = learner.code(decision) > HELD
        again[i] |= (maker, decision.round) in given
        given.add((maker, decision.round))
    if again.any():
        raise LearnedBeforeError(
            f"{rows_named(again)} been learned from before, or come twice. Each counts once. "
            "Nothing was learned; leave them out."
        )
