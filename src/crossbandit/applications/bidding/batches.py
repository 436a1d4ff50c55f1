"""The methods of a bidder that bid and settle in many auctions at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Learner
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.bidding.inputs import column_of, label_columns
from crossbandit.applications.bidding.limited import LimitedApplication
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
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.applications.bidding.spending import Time
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.types import Booleans, Floats, Integers


class AuctionBatches(LimitedApplication):
    """The part of a bidder that bids and settles in many auctions at once."""

    rules: AuctionRules
    value_range: tuple[float, float]
    feedback: str

    @abstractmethod
    def bid(self, value: Any, *, reserve: Any = None, at: Time = None, **classes: Any) -> Bid:
        """Choose a bid."""

    @abstractmethod
    def settle(
        self,
        bid: Any,
        *,
        won: Any,
        highest_competing_bid: Any = None,
        reserve: Any = None,
        correction: bool = False,
    ) -> None:
        """Learn from the outcome of an auction."""

    def bid_many(
        self,
        values: npt.ArrayLike,
        *,
        reserve: npt.ArrayLike | None = None,
        at: Time = None,
        **classes: Any,
    ) -> Bids:
        """Choose many bids at once, as separate calls of `bid` would, without learning in between.

        It is one call of compiled code, unless there is a guard, or an algorithm without such code.

        Args:
            values: What winning is worth, in each auction.
            reserve: The reserve price of all auctions, or of each; NaN where it is not known.
            at: The time of all auctions, as for `bid`.
            **classes: A level for all auctions, or a column of levels, of each class.

        Returns:
            The bids, a sequence of `Bid`.

        Raises:
            InvalidContextError: As for `bid`; the message names the rows. No bid is made.
        """
        low, high = self.value_range
        bad = InvalidContextError
        worths = column_of("bid_many", "values", values, None, bad, low=low, high=high)
        count, least = worths.size, self.rules.reserve
        floors = column_of("bid_many", "reserve", reserve, count, bad, low=least)
        columns, labels = label_columns(self.classes, classes, count)
        firsts, lasts = self._ranges(worths, floors)
        learner, spending = self.learner, self._spending
        if isinstance(learner, LawDecider) and learner.guard is None:
            if spending is None:
                costs, reasons = np.zeros(count), None
                made = learner.act_many(worths, columns, worths.copy(), costs, firsts, lasts)
            else:
                given = (learner, worths, columns, firsts, lasts, at)
                made, reasons = spending.choose_many(*given)
            amounts = np.where(made.arms < 0, np.nan, self.rules.amounts[made.arms])
            return Bids(amounts, worths, floors, labels, made, reasons)
        if spending is None and isinstance(learner, Learner):
            return self._graph_bids(learner, worths, floors, firsts, lasts)
        rows = zip(worths.tolist(), floors.tolist(), labels or [()] * count, strict=True)
        singles = []
        for value, floor, names in rows:
            levels = dict(zip(self.classes, names, strict=True))
            known = None if np.isnan(floor) else floor
            singles.append(self.bid(value, reserve=known, at=at, **levels))
        return Bids.of(singles)

    def _ranges(self, worths: Floats, floors: Floats) -> tuple[Integers, Integers]:
        """Return the lowest and the highest possible bid of each auction, by number."""
        amounts = self.rules.amounts
        lasts = np.full(worths.size, amounts.size - 1)
        if self.rules.at_most_value:
            lasts = np.searchsorted(amounts, worths, "right") - 1
        if np.isnan(floors).all():
            return np.zeros(worths.size, dtype=np.int64), lasts
        known = np.where(np.isnan(floors), -1.0, floors)
        return np.searchsorted(amounts, known, "left"), lasts

    def _graph_bids(
        self, learner: Learner, worths: Floats, floors: Floats, firsts: Integers, lasts: Integers
    ) -> Bids:
        active = np.flatnonzero(firsts <= lasts)
        numbers = np.arange(self.rules.arms)
        may = (numbers >= firsts[active, None]) & (numbers <= lasts[active, None])
        features = self.rules.contexts(worths[active])
        decisions = dict(zip(active.tolist(), learner.act_many(features, may), strict=True))
        made = []
        for i in range(worths.size):
            decision, floor = decisions.get(i), float(floors[i])
            amount = None if decision is None else float(self.rules.amounts[decision.arm])
            known = None if np.isnan(floor) else floor
            made.append(Bid(decision, amount, float(worths[i]), known))
        return Bids.of(made)

    def settle_many(
        self,
        bids: Bids | Sequence[Bid | bytes | str],
        *,
        won: npt.ArrayLike,
        highest_competing_bid: npt.ArrayLike | None = None,
        reserve: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from the outcomes of many auctions at once, as separate calls of `settle` would.

        It is one call of compiled code, unless there is a guard or an algorithm without such code.

        Args:
            bids: What `bid_many` returned; or a list of bids, or of their tokens.
            won: Whether each bid won.
            highest_competing_bid: As for `settle`; NaN where it is not known.
            reserve: As for `settle`; NaN where it is not given.

        Raises:
            DecisionError: As for `settle`; the message names the rows. Nothing is learned.
            InvalidLossesError: As for `settle`; the message names the rows. Nothing is learned.
            MissingOutcomesError: Wins or losses are missing with a bias. Nothing is learned.
        """
        made, learner = as_bids(bids, self.learner), self.learner
        given = (made, won, highest_competing_bid, reserve)
        has_won, told, floors, numbers = outcomes_of(self.rules, self.feedback, *given)
        if isinstance(learner, LawLearner) and learner.guard is None:
            settle_batch(learner, made, has_won, numbers)
            self._account(made, has_won, numbers)
            return
        if floors is None:
            floors = np.full(len(made), np.nan)
        if isinstance(learner, Learner) and np.isnan(floors).all():
            settle_rows(learner, self.rules, made, has_won, told)
            self._account(made, has_won, numbers)
            return
        _check_all(learner, made)
        for i, bid in enumerate(made):
            price, floor = float(told[i]), float(floors[i])
            self.settle(
                bid,
                won=bool(has_won[i]),
                highest_competing_bid=None if np.isnan(price) else price,
                reserve=None if np.isnan(floor) else floor,
            )

    def _account(self, bids: Bids, won: Booleans, numbers: Floats) -> None:
        """Account for the money of bids whose outcomes were learned."""
        if self._spending is not None:
            self._spending.account_many(bids, won, numbers)


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
