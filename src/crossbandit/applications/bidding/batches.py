"""Bid and settle in many auctions at once: outcomes are checked, and then learned from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.algorithms.learners.law_learner import HELD, Made, Payments, ShownMany, repeated
from crossbandit.algorithms.learners.shell import only_decides
from crossbandit.applications.action import required_action, rows_of
from crossbandit.applications.bidding.bid_core import plain_numbers
from crossbandit.applications.bidding.bids import Bid, Bids, reason_of, reasons
from crossbandit.applications.bidding.inputs import (
    column_of,
    flags_of,
    is_column,
    label_columns,
    numbers_to_reach,
    price_of,
    rules_of,
)
from crossbandit.core.types import Feedback
from crossbandit.core.validation import because_of, reject
from crossbandit.errors import (
    CrossbanditError,
    DecisionError,
    ForeignDecisionError,
    InvalidContextError,
    InvalidLossesError,
)
from crossbandit.laws.state import TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Learner
    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.applications.bidding.campaigns import Accounts
    from crossbandit.applications.bidding.spending import Spending, Time
    from crossbandit.applications.first_price import FirstPriceBidder
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.laws.levels import Label


_SHOWN = 5  # how many bad rows a message names, each with its reason


def as_bids(bids: Any, learner: Any) -> Bids:
    """Return what `settle_many` is given as one batch; raise if it is something else."""
    if not learner.learns:
        raise only_decides("settle_many")
    if isinstance(bids, Bids):
        made, by_law = bids.made, learner.law is not None
        if by_law and isinstance(made, Made):
            if made.learner != learner.learner and made.learner not in learner.former:
                raise ForeignDecisionError(
                    f"The bids were made by another learner ({made.learner}). Give them to the "
                    "learner that made them, or drop them."
                )
        elif (
            by_law
            or isinstance(made, Made)
            or any(one.decision and one.decision.by_law for one in made)
        ):
            # `Learner.learn_many` checks decisions of its own kind.
            _each(lambda one: required_action(one, Bid, learner), bids, DecisionError)
        return bids
    if isinstance(bids, str | bytes) or not isinstance(bids, Sequence):
        raise DecisionError(
            f"settle_many takes the Bids that bid_many returned, or a list of bids or tokens. Got "
            f"a {type(bids).__name__}."
        )
    none = Bid(None, None, 0.0)  # the token of a bid that was not made is None
    read = _each(
        lambda one: none if one is None else required_action(one, Bid, learner),
        bids,
        DecisionError,
    )
    return Bids.of(read)


class Outcomes(NamedTuple):
    """The outcomes of the bids of a batch; all (n,)."""

    won: Booleans  # whether each won
    told: Floats  # the highest competing bids; NaN where they are not known
    reserves: Floats | None
    numbers: Floats  # the number that each bid had to reach


def outcomes_of(
    rules: AuctionRules, feedback: Feedback, bids: Bids, won: Any, told: Any, reserve: Any
) -> Outcomes:
    """Return the outcomes of a batch, as `settle_many` is given them.

    One call of compiled code checks all rows. What it finds unusual is looked at row by row: it may
    be a tie up to rounding, or wrong. So are auctions with a reserve price of their own.
    """
    count, after, bad = len(bids), TOLD_AFTER[feedback], InvalidLossesError
    if not (is_column(won, np.bool_, (count,)) and is_column(told, float, (count,))):
        won = np.ascontiguousarray(flags_of("settle_many", "won", won, count))
        told = column_of("settle_many", "highest_competing_bid", told, count, bad)
    floors, numbers = None, np.empty(count)
    told_after, strict = (False in after, True in after), rules.ties == "lose"
    lowest = float(rules.reserve), float(rules.least)
    odd = plain_numbers(told_after, strict, lowest, bids.amounts, won, told, numbers)
    if reserve is not None:
        floors = column_of("settle_many", "reserve", reserve, count, bad)
        odd = sorted({*odd, *np.flatnonzero(~np.isnan(floors)).tolist()})
    if odd:
        column_of("settle_many", "highest_competing_bid", told, count, bad)

    def one(i: int) -> None:
        amount, at = float(bids.amounts[i]), rules
        if np.isnan(amount):
            if won[i]:
                raise InvalidLossesError("No bid was made, so it cannot have won.")
            numbers[i] = numbers_to_reach(rules, np.inf if np.isnan(told[i]) else told[i])
            return
        if floors is not None and not np.isnan(floors[i]):
            at = rules_of(rules, bids[i], float(floors[i]))
        price = None if np.isnan(told[i]) else float(told[i])
        numbers[i] = numbers_to_reach(at, price_of(at, feedback, amount, price, won=bool(won[i])))

    _each(one, odd, bad)
    return Outcomes(won, told, floors, numbers)


def _each(
    task: Callable[[Any], Any], rows: Sequence[Any], error: type[CrossbanditError]
) -> list[Any]:
    """Return the result of each row; raise an error whose `rows` are all that fail."""
    done: list[Any] = []
    failed: dict[int, CrossbanditError] = {}
    for row in rows:
        try:
            done.append(task(row))
        except error as problem:
            failed[row if isinstance(row, int) else len(done) + len(failed)] = problem
    if failed:
        shown = [f"row {row}: {problem}" for row, problem in list(failed.items())[:_SHOWN]]
        more = f" And {len(failed) - _SHOWN} more rows." if len(failed) > _SHOWN else ""
        kind = type(next(iter(failed.values())))
        text = f"{len(failed)} rows are wrong. Nothing was learned. {' '.join(shown)}{more}"
        raise because_of(failed, kind(text))
    return done


def by_decider(bids: Bids, shown: Booleans) -> tuple[list[Made], npt.NDArray[np.int64]]:
    """Return the decisions of bids, grouped by decider, and the rows of these decisions."""
    if isinstance(bids.made, Made):
        made = bids.made
        rows = np.arange(len(bids)) if made.run else np.flatnonzero((made.arms >= 0) & shown)
        if rows.size < len(bids):
            made = made.part(rows)
        return [made], rows
    groups: dict[str, list[int]] = {}
    for i, bid in enumerate(bids.made):
        if bid.decision is not None and shown[i]:
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


def unless_known(
    learner: Learner, rules: AuctionRules, feedback: Feedback, decisions: list[Any]
) -> list[Any]:
    """Learn from decisions not to bid, if that needs nothing but what is known: that they lose."""
    if False in TOLD_AFTER[feedback] or not decisions:
        return decisions
    losses = rules.rows([np.inf])[0]
    learner.learn_many(decisions, [rows_of(losses, one.revealed) for one in decisions])
    return [None] * len(decisions)


# --- many auctions -------------------------------------------------------------------------------


def bid_batch(
    bidder: FirstPriceBidder,
    accounts: Accounts,
    values: npt.ArrayLike,
    reserve: npt.ArrayLike | None,
    at: Time,
    classes: Mapping[str, Any],
    taken: list[Any],
) -> Bids:
    """Do what `FirstPriceBidder.bid_many` does.

    accounts: the limits of the bidder. taken: as in `Spending.choose`.
    """
    low, high = bidder.possible_values
    bad = InvalidContextError
    worths = column_of("bid_many", "values", values, None, bad, low=low, high=high)
    count, least = worths.size, bidder.rules.reserve
    floors = column_of("bid_many", "reserve", reserve, count, bad, low=least)
    columns, labels = label_columns(bidder.classes, classes, count)
    learner = bidder.learner
    by_law = learner.law is not None and not bidder.lays
    firsts, lasts = _ranges(bidder.rules, worths, floors)
    if by_law and learner.guard is None:
        found, parts = [], accounts.parts(labels, count)
        sets = [accounts.of(labels[rows[0]]) if labels else accounts.only for _, rows in parts]
        for spending, (_, rows) in zip(sets, parts, strict=True):
            auctions = tuple(one[rows] for one in (worths, floors, firsts, lasts))
            given = {name: column[rows] for name, column in columns.items()}
            own = [labels[i] for i in rows.tolist()] if len(parts) > 1 else labels
            found.append(_law_bids(bidder, spending, auctions, given, own, at, taken))
        return found[0] if len(found) == 1 else Bids.joined(found, [rows for _, rows in parts])
    if not accounts.limited and learner.law is None and learner.learns:
        return _graph_bids(bidder, learner, worths, floors, firsts, lasts)
    each = zip(worths.tolist(), floors.tolist(), labels or [()] * count, strict=True)
    asked = []
    for value, floor, names in each:
        levels = dict(zip(bidder.classes, names, strict=True))
        known = None if np.isnan(floor) else floor
        asked.append(partial(bidder.bid, value, reserve=known, at=at, **levels))
    taken.extend(map(call, asked))  # an interrupt in between loses none of them
    return Bids.of(taken.copy())


def _law_bids(
    bidder: FirstPriceBidder,
    spending: Spending | None,
    auctions: tuple[Any, ...],
    columns: Mapping[str, npt.NDArray[Any]],
    labels: Sequence[tuple[Label, ...]],
    at: Time,
    taken: list[Any],
) -> Bids:
    """Return the bids of a law under one set of limits. auctions: values, reserves and ranges."""
    worths, floors, firsts, lasts = auctions
    learner, rules = bidder.learner, bidder.rules
    if spending is None:
        costs, limits = np.zeros(worths.size), None
        made = learner.act_many(worths, columns, worths.copy(), costs, firsts, lasts)
    else:
        made, limits = spending.choose_many(learner, worths, columns, firsts, lasts, at, taken)
    amounts = rules.amounts[made.arms]
    amounts[(made.arms < 0) | (amounts == 0.0)] = np.nan  # a bid of 0 means not to bid
    why = reasons(rules, amounts, (worths, floors, firsts, lasts), limits)
    return Bids(amounts, worths, floors, labels, made, why)


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
    bidder: FirstPriceBidder,
    learner: Learner,
    worths: Floats,
    floors: Floats,
    firsts: Integers,
    lasts: Integers,
) -> Bids:
    rules = bidder.rules
    active = np.flatnonzero(firsts <= lasts)
    numbers = np.arange(rules.arms)
    may = (numbers >= firsts[active, None]) & (numbers <= lasts[active, None])
    features = rules.contexts(worths[active])
    decisions: dict[int, Any]
    decisions = dict(zip(active.tolist(), learner.act_many(features, may), strict=True))
    arms = {i: one.arm for i, one in decisions.items() if rules.amounts[one.arm] > 0}
    silent = {i: one for i, one in decisions.items() if i not in arms}
    kept = unless_known(learner, rules, bidder.feedback, [*silent.values()])
    decisions |= dict(zip(silent, kept, strict=True))
    made = []
    for i in range(worths.size):
        value, known = float(worths[i]), None if np.isnan(floors[i]) else float(floors[i])
        amount, reason = None, None
        if i in arms:
            amount = float(rules.amounts[arms[i]])
        else:
            reason = reason_of(rules, value, known, int(firsts[i]), int(lasts[i]))
        made.append(Bid(decisions.get(i), amount, value, known, (), reason))
    return Bids.of(made)


def bids_as_placed(
    bidder: FirstPriceBidder, accounts: Accounts, bids: Any, placed: npt.ArrayLike
) -> Bids:
    """Return a batch of bids with the amounts that were placed, where these are given."""
    made, learner = as_bids(bids, bidder.learner), bidder.learner
    if learner.law is None or learner.guard is not None or accounts.limited:
        expected = "left out, unless a law bids without limits and without a guard: use settle"
        reject("settle_many", "placed", expected, placed, error=InvalidLossesError)
    sent = column_of("settle_many", "placed", placed, len(made), InvalidLossesError)
    given = ~np.isnan(sent)
    if (sent[given] <= 0.0).any() or np.isnan(made.amounts[given]).any():
        expected = "above 0, and NaN where no bid was made"
        reject("settle_many", "placed", expected, placed, error=InvalidLossesError)
    amounts = np.where(given, sent, made.amounts)
    return Bids(amounts, made.values, made.reserves, made.classes, made.made, made.reasons)


def settle_auctions(
    bidder: FirstPriceBidder,
    accounts: Accounts,
    bids: Bids | Sequence[Bid | bytes | str | None],
    won: npt.ArrayLike,
    highest_competing_bid: npt.ArrayLike | None,
    reserve: npt.ArrayLike | None,
) -> None:
    """Do what `FirstPriceBidder.settle_many` does."""
    made, learner = as_bids(bids, bidder.learner), bidder.learner
    given = (made, won, highest_competing_bid, reserve)
    has_won, told, floors, numbers = outcomes_of(bidder.rules, bidder.feedback, *given)
    payments = None
    if accounts.limited:
        own = getattr(learner, "own", None)
        steps = partial(accounts.settled_many, made, (has_won, numbers), own)
        payments = Payments(accounts.lock, steps)
    shown = ~np.isnan(made.amounts)
    if False in TOLD_AFTER[bidder.feedback]:  # losers are told the price, even without a bid
        shown |= np.isfinite(numbers)
    if learner.law is not None and learner.guard is None:
        decisions, rows = by_decider(made, shown)
        order = np.sort(rows)
        labels = [made.classes[i] for i in order.tolist()] if learner.law.classes else []
        amounts = made.amounts[order]
        amounts[np.isnan(amounts)] = 0.0
        outcomes = ShownMany(made.values[order], labels, amounts, has_won[order], numbers[order])
        if rows.size:
            learner.learn_many(decisions, rows, len(made), outcomes, payments)
    elif learner.law is None and (floors is None or np.isnan(floors).all()):
        _settle_by_graph(learner, bidder.rules, made, shown, numbers, payments)
    else:
        _check_all(learner, made)
        nothing = np.full(len(made), np.nan)
        columns = (has_won, told, nothing if floors is None else floors)
        for bid, *outcome in zip(made, *(one.tolist() for one in columns), strict=True):
            wins, price, floor = outcome
            bidder.settle(
                bid,
                won=wins,
                highest_competing_bid=None if np.isnan(price) else price,
                reserve=None if np.isnan(floor) else floor,
            )


def _settle_by_graph(
    learner: Learner,
    rules: AuctionRules,
    bids: Bids,
    shown: Booleans,
    numbers: Floats,
    payments: Payments | None,
) -> None:
    """Learn from the outcomes that are shown, with a learner that uses a feedback graph."""
    made = [bid.decision for bid in bids]
    rows = [i for i in np.flatnonzero(shown).tolist() if made[i] is not None]
    if not rows:
        return
    decisions: list[Any] = [made[i] for i in rows]
    losses = rules.rows(numbers[rows])
    rows_shown = [rows_of(losses[k], one.revealed) for k, one in enumerate(decisions)]
    try:
        if payments is None:
            learner.learn_many(decisions, rows_shown)
            return
        steps = payments.steps
        with payments.lock:
            learner.learn_many_with(
                lambda k: steps() if k is None else steps(rows[k]), decisions, rows_shown
            )
    except DecisionError as error:
        raise because_of((rows[k] for k in error.rows), error) from None


def _check_all(learner: Any, bids: Bids) -> None:
    """Raise if one of the bids cannot be learned from, before any of them is."""
    given: set[tuple[str, int]] = set()
    again = np.zeros(len(bids), dtype=bool)
    for i, bid in enumerate(bids):
        decision = bid.decision
        if decision is None:
            continue
        learner.expects(decision)
        name = (decision.decider, decision.round)
        again[i] = name in given or (learner.law is not None and learner.code(decision) > HELD)
        given.add(name)
    if again.any():
        raise repeated(again)
