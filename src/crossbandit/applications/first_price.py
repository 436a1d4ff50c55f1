"""A bidder for first-price auctions."""

from __future__ import annotations

import math
import os
import warnings
from bisect import bisect_left, bisect_right
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crossbandit.algorithms import Decision
from crossbandit.algorithms.learners.law_learner import Round, Shown
from crossbandit.algorithms.learners.missing import MISSING, Missing
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications.action import action_of, required_action
from crossbandit.applications.bidding.auctions import FEEDBACK, AuctionRules
from crossbandit.applications.bidding.bid_core import BidCore
from crossbandit.applications.bidding.bids import Bid, first_key, reason_of
from crossbandit.applications.bidding.campaigns import (
    CAMPAIGN,
    Accounts,
    Campaign,
    Limited,
    belongs,
    pays,
)
from crossbandit.applications.bidding.inputs import BidBounds, possible_price, price_of, rules_of
from crossbandit.applications.hidden_number import LAW, HiddenNumberApplication, LawForm
from crossbandit.applications.money import (
    amount_of,
    as_floats,
    flag_of,
    possible_bids,
    span,
    tick_of,
)
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.validation import as_array, boolean, choice, number, reject
from crossbandit.errors import (
    CrossbanditWarning,
    ForeignDecisionError,
    InvalidContextError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.laws.laying import ANY, first_amounts
from crossbandit.laws.rounds import best_without
from crossbandit.laws.state import TOLD_AFTER
from crossbandit.limits.state import MAX_JUMP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.applications.bidding.bids import Bids
    from crossbandit.applications.bidding.logs import FitsBidders, Observed
    from crossbandit.applications.bidding.spending import Spending, Time
    from crossbandit.applications.bidding.views import Explanation, ShadingCurve
    from crossbandit.applications.money import Flag, Money
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label
    from crossbandit.limits import Limit
    from crossbandit.limits.settings import BudgetLike, TargetLike

_CURVE_POINTS, _PICTURE_POINTS = 101, 41
_BIDS = ("bids", "low", "high")  # of a curve


def _check_without_grid(
    owner: str, at_most_value: object, guarded: object, algorithm: object
) -> None:
    """Raise for settings that need a grid of bids."""
    grid = "without bids and a value_range"
    if at_most_value is not True:
        reject(owner, "at_most_value", f"True {grid}", at_most_value)
    if guarded is not False:
        why = "the guard counts how often each bid of a grid would have won, and this one changes"
        reject(owner, "guarded", f"False {grid}: {why}", guarded)
    if algorithm not in (None, LAW):
        reject(owner, "algorithm", f"'law' {grid}: a feedback graph is one of bids", algorithm)


class FirstPriceBidder(Limited, HiddenNumberApplication):
    """Learns what to bid where the value of winning is known, and the highest bid wins and pays.

    `feedback` says who is told the highest competing bid when an auction is over:

    - "after-loss": the losers. A win shows that higher bids would have won as well. A loss shows
      the outcome of all bids. So each bid reveals itself and all higher bids.
    - "after-win": the winner. Each bid reveals itself and all lower bids.
    - "always": everyone. Each bid reveals all bids.
    - "won-lost": nobody. A win then shows the higher bids and a loss the lower ones.

    By default the bidder learns the law of the highest competing bid, given the value and the
    classes (`crossbandit.laws.OutcomeLaw`). Where prices depend on values, it bids by value. Where
    they do not, it uses every auction at all values. The law assumes that others do not react to
    the bidder. With an `Algorithm`, such as `CrossGraphAdaptive()`, the bidder assumes only the
    feedback graph, and that prices do not depend on values. With the feedback "won-lost" it then
    learns from the bid itself only, which is slow.

    An auction may have a reserve price of its own. Give it to `bid` if it is known before bidding,
    and to `settle` otherwise.

    Args:
        bids: The amounts that may be bid; or their number, by default 100, to spread them evenly
            from 0 to the highest value. Without `bids` and `value_range` there is no grid: any
            amount may be bid, at any value above 0, in any unit. A guard and an `Algorithm` need
            a grid. `geometric_bids` makes one that is finer for small amounts.
        value_range: The lowest and the highest value to come, in any unit of money.
        feedback: Who is told the highest competing bid, as above.
        reserve: The reserve price. A lower bid never wins.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose".
        at_most_value: Whether bids above the value are never made.
        classes: Names of features, such as ("site", "floor"), for the law; `bid` then takes each: a
            text or an integer is a level of a category, a float is a number, None is unknown.
            Levels need not be known in advance.
        guarded: Whether to compare the law with a learner that assumes nothing, and to follow the
            one that seems to earn more; see `GuardedLaw`. No bound is proved for it.
        tick_size: The smallest unit of money, such as `Decimal("0.01")`. Bids are rounded to it.
        max_bid: The highest amount to bid. Bids above it are left out.
        missing: What to do if wins or losses are missing with a bias: "refuse" to learn, with a
            `MissingOutcomesError`; "warn"; or "accept".
        budget: A `Budget`, or a `Lease` of a slice of one, to be kept; an amount per day; or
            several of these.
        target: A `ReturnOnSpend` or `CostPer` to be kept; or several.
        campaigns: In place of both: a mapping of names of campaigns to limits of their own, such as
            `{"shoes": {"budget": Budget(500)}, "boots": {}}`. `bid` then takes the name as the
            class "campaign". All campaigns learn one law, and each is paced by itself.
        expires: The time after which a bid without an outcome counts as lost and its money is free
            again: a timedelta, or seconds; None for never. If the bid wins later, it is still paid.
        max_jump: Under limits, by how much the time of an auction may be ahead of both the clock
            and the latest auction: a timedelta, or seconds; None for any time.
        horizon: The number of auctions to come. The law and the usual algorithm do not need it.
        algorithm: None or "law" for the law; or an `Algorithm` that uses the feedback graph.
        seed: The seed of the bidder's random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> import numpy as np
    >>> bidder = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
    >>> for value, price in np.random.default_rng(0).uniform(0, [10, 6], size=(2_000, 2)):
    ...     bid = bidder.bid(value)
    ...     if bid.amount is not None:
    ...         won = bid.amount >= price
    ...         bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
    >>> bidder.shading_curve([4.0, 8.0]).bids
    array([2., 4.])
    """

    listed = (
        "bid bid_many bids campaign campaigns explain feedback fit max_bid observe possible_values "
        "price_law rules settle settle_many shading_curve tick_size value_range warm_up"
    )
    kind: ClassVar[str] = "first-price-bidder"
    words: ClassVar[tuple[str, str, str]] = ("prices", "values", "bidding by value")
    reserved: ClassVar[set[str]] = {
        "value",
        "values",
        "reserve",
        "reserves",
        "prices",
        "bids",
        "won",
        "at",
    }
    answers: ClassVar[tuple[str, str]] = ("won", "lost")
    later: ClassVar[frozenset[str]] = frozenset({"limits.paused", "limits.planned_from"})
    rules: AuctionRules

    def __init__(
        self,
        *,
        bids: int | npt.ArrayLike | None = None,
        value_range: tuple[Money, Money] | None = None,
        feedback: Feedback = "after-loss",
        reserve: float = 0.0,
        ties: Ties = "win",
        at_most_value: bool = True,
        classes: Sequence[str] = (),
        guarded: bool = False,
        tick_size: Money | None = None,
        max_bid: Money | None = None,
        missing: Missing = "refuse",
        budget: BudgetLike | Sequence[BudgetLike] | None = None,
        target: TargetLike | Sequence[TargetLike] | None = None,
        campaigns: Mapping[str, Mapping[str, Any]] | None = None,
        expires: timedelta | float | None = None,
        max_jump: timedelta | float | None = MAX_JUMP,
        horizon: int | None = None,
        algorithm: Algorithm | str | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self.lays, self._starts = bids is None and value_range is None, 0
        self.feedback = choice(owner, "feedback", feedback, FEEDBACK)
        self.tick_size, self.max_bid = tick_of(owner, tick_size), max_bid
        if self.lays:
            self._range, highest, grid = (0.0, ANY[1]), 1.0, first_amounts()
            self._most = ANY[1] if max_bid is None else amount_of(owner, "max_bid", max_bid)
            _check_without_grid(owner, at_most_value, guarded, algorithm)
        elif value_range is None:
            expected = "given with bids; or leave out both, for any value and any bid"
            reject(owner, "value_range", expected, value_range)
        else:
            self._range = span(owner, "value_range", as_floats(value_range))
            highest = number(owner, "value_range", self._range[1], above=0)
            count = 100 if bids is None else bids
            grid = possible_bids(owner, count, highest, self.tick_size, max_bid)
        self.missing = choice(owner, "missing", missing, MISSING)
        self.rules = AuctionRules(
            bids=grid,
            highest_value=highest,
            reserve=number(owner, "reserve", reserve, at_least=0),
            ties=ties,
            at_most_value=boolean(owner, "at_most_value", at_most_value),
            owner=owner,
        )
        self._tells_losers = False in TOLD_AFTER[feedback]
        self._grid = self.rules.amounts.tolist()
        problem = Problem(self.rules.graph(feedback), features=2, horizon=horizon)
        self.guarded = boolean(owner, "guarded", guarded)
        if guarded and not at_most_value:
            reject(owner, "guarded", "False if at_most_value is False", guarded)
        if campaigns is not None and not isinstance(classes, str):
            if budget is not None or target is not None:
                name = "target" if budget is None else "budget"
                reject(owner, name, "left out with campaigns: each has its own", budget or target)
            classes = classes if CAMPAIGN in classes else (CAMPAIGN, *classes)
        self._expires, self._max_jump = map(_in_seconds, (expires, max_jump))
        self._horizon = horizon
        self._accounts = Accounts(owner, classes, campaigns, self._spend)
        if campaigns is None:
            self._accounts.add(None, budget, target)
        form = LawForm(
            None if self.lays else self._range,
            feedback,
            "first-price",
            self.rules.ties,
            self.guarded,
            missing,
        )
        self._start(
            LAW if algorithm is None else algorithm,
            problem,
            seed,
            form,
            classes=classes,
            anchored=feedback == "after-loss",
        )
        self._core = None  # for the usual bid of a law
        if self.learner.law is not None and not guarded:
            quiet = True not in TOLD_AFTER[feedback]  # winners are told nothing
            given = ((Bid, Decision), self.rules, self._range, quiet)
            self._core = BidCore(*given, (reason_of, first_key))
        self._accounts.claim()

    def _spend(self, limits: Sequence[Limit], accounts: Accounts) -> Spending:
        """Return what keeps some limits of this bidder."""
        from crossbandit.applications.bidding.spending import Spending

        times = (self._horizon, self._expires, self._max_jump)
        name = type(self).__name__
        if self.lays:
            return Spending(name, None, limits, (0.0, 0.0), self._most, *times, accounts)
        return Spending(name, self.rules.amounts, limits, self._range, math.inf, *times, accounts)

    @property
    def bids(self) -> Floats:
        """The amounts that may be bid, ascending, in the order of `policy`.

        Without a grid, they are in a unit that depends on the value, and change as the bidder
        learns; `price_law` has them in money.
        """
        return self.learner.law.amounts if self.lays else self.rules.amounts

    @property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest value; without a grid, of the auctions learned from so far."""
        if not self.lays:
            return self._range
        seen: tuple[float, float] = self.learner.law.contexts_seen
        return seen

    @property
    def possible_values(self) -> tuple[float, float]:
        """The lowest and the highest value that `bid` takes."""
        return self._range

    def settings(self) -> dict[str, Any]:
        return {
            "bids": None if self.lays else self.bids.tolist(),
            "value_range": None if self.lays else list(self._range),
            "feedback": self.feedback,
            "reserve": self.rules.reserve,
            "ties": self.rules.ties,
            "at_most_value": self.rules.at_most_value,
            "classes": list(self.classes),
            "guarded": self.guarded,
            "tick_size": None if self.tick_size is None else float(self.tick_size),
            "max_bid": None if self.max_bid is None else float(self.max_bid),
            "missing": self.missing,
            **self._accounts.settings(),
            "expires": self._expires,
            "max_jump": self._max_jump,
            "horizon": self._horizon,
        }

    def bid(
        self, value: Money, *, reserve: Money | None = None, at: Time = None, **classes: Label
    ) -> Bid:
        """Choose a bid.

        Args:
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known; at least the bidder's. No
                bid is below it. It is a part of the context: what this auction shows is used for
                auctions with other reserve prices, assuming that others would have bid the same.
            at: The time of the auction, for budgets: a datetime with a time zone, or seconds since
                1970; by default now. An earlier time than that of the last auction is replaced by
                the latter. A time far ahead is refused; see `max_jump`.
            **classes: A text or an integer (a level), a float (a number), or None, of each of the
                bidder's classes.

        Returns:
            The bid. Place its `amount`, and pass it to `settle` when the outcome is known. If the
            amount is None, no bid is made: `reason` says why, and there is nothing to settle.
            Without a grid, that is so at a value of 0, below the lowest tick or reserve price.

        Raises:
            InvalidContextError: The value is outside the range, the reserve price is below the
                bidder's, a class is missing, or the time is far ahead.
        """
        labels = self._labels("bid", classes) if classes or self.classes else ()
        learner, core, accounts = self.learner, self._core, self._accounts
        spending = accounts.only if accounts.place is None else accounts.of(labels)
        taken: list[int] = []
        try:
            if self.lays:
                return self._bid_anything(value, reserve, labels, at, taken)
            if core is not None and reserve is None and (at is None or type(at) is float):
                usual: Bid | None = core.bid(learner, spending, value, at, labels, taken)
                if usual is not None:
                    return usual
            worth, floor, first, last = self._auction("bid", value, reserve)
            if spending is not None:
                made, why = spending.choose(
                    learner, worth, labels, first, last, self._choices, at, taken
                )
            else:
                made, why = self._act(Round(worth, worth, 0.0, labels), first, last), None
            amount = 0.0 if made is None else self._grid[made.arm]
            placed = Bid(made, amount, worth, floor, labels) if amount > 0.0 else None
        except BaseException:  # the caller will not place the bid
            if spending is not None:
                spending.withdraw(taken)
            raise
        if placed is not None:
            return placed
        if made is not None and learner.law is None and learner.learns:
            from crossbandit.applications.bidding.batches import unless_known

            made = unless_known(learner, self.rules, self.feedback, [made])[0]
        reason = why or reason_of(self.rules, worth, floor, first, last)
        return Bid(made, None, worth, floor, labels, reason)

    def _bid_anything(
        self, value: Money, reserve: Money | None, labels: tuple[Label, ...], at: Time, taken: Any
    ) -> Bid:
        """Return a bid without a grid."""
        worth, floor = self._worth("bid", value, reserve)
        bounds, spending = self._bounds(worth, floor), self._accounts.of(labels)
        low, high, most = bounds.under(worth, None)
        made, amount, why = None, 0.0, None
        if spending is not None:
            made, amount, why = spending.choose_between(
                self.learner, worth, labels, bounds, at, taken
            )
        elif 0.0 < low <= high:
            given = (worth, worth, 0.0, labels, low, high, most)
            made, amount, _ = self.learner.act_between(*given)
            amount = bounds.rounded(amount, low, high)
        if made is not None:
            return Bid(made, amount, worth, floor, labels)
        least = f"at least {low:.6g}" if low > 0.0 else "above 0"
        none = f"At a value of {worth:.6g}, no bid can be {least} and earn anything."
        return Bid(None, None, worth, floor, labels, why or none)

    def _bounds(self, worth: float, floor: float | None) -> BidBounds:
        """Return what bids are possible without a grid."""
        least = self.rules.reserve if floor is None else floor
        up = self.rules.ties == "lose"
        return BidBounds(worth, self._grid[0], least, self._most, self.tick_size, up)

    def settle(
        self,
        bid: Bid | bytes | str,
        *,
        won: Flag,
        highest_competing_bid: Money | None = None,
        reserve: Money | None = None,
        placed: Money | None = None,
        correction: bool = False,
    ) -> None:
        """Learn from the outcome of an auction.

        A snapshot with limits only accounts for the money of its bids: settle the same outcome with
        the bidder that it was taken from, which learns from it.

        Auctions may be settled late and in any order. An outcome may be missing by chance: whether
        it is missing must depend neither on the outcome nor on the bid. If the competing bid is
        often missing although it should be told, use the feedback "won-lost". To settle only the
        auctions in which it is known would mislead the bidder.

        An auction in which no bid was made has nothing to settle, and to settle it as lost does no
        harm. If its highest competing bid is known nevertheless, and the feedback tells it to
        losers, give it: the bidder learns from it.

        Args:
            bid: The bid, or its token.
            won: Whether it won.
            highest_competing_bid: Required where `feedback` says that it is told; `math.nan` if it
                is not, for once: a law then takes one that it deems possible. Elsewhere it is only
                checked for contradictions. It is 0 if nobody else bid. Give the competing bid
                itself, even if the reserve price was higher.
            reserve: The reserve price of this auction, if it was not known when bidding. It takes
                the place of the bidder's, and counts like a competing bid.
            placed: The amount that was really placed, above 0, if it is not that of the bid: after
                a multiplier, a floor of a deal, or rounding. Only a law can learn from it. Limits
                pay it, even where it is more than was reserved. Give it again with a correction.
            correction: Whether the bid was settled before with a wrong outcome, which this one
                replaces. Only the law can take an outcome back, and only without a guard. Without a
                grid, it must be one of the latest 2,048; of an older one, only its money counts.

        Raises:
            DecisionError: The bid is not one of this bidder's, was settled before, or has expired;
                or there is nothing to correct. See `crossbandit.errors` for the classes.
            MissingOutcomesError: Wins or losses are missing with a bias. Nothing is learned.
            InvalidLossesError: The outcome is incomplete or contradicts itself. Nothing is learned,
                and the bid can still be settled.
        """
        core, told, accounts = self._core, highest_competing_bid, self._accounts
        plain = core if correction is False and reserve is placed is None else None
        spending = accounts.only if accounts.place is None else accounts.paying(bid)
        if plain is not None and plain.settle(self.learner, bid, won, told, spending):
            if self.lays:
                self._say_new_start()
            return
        if not self.learner.learns and accounts.limited:
            self._pay(bid, won, told, placed)
            return
        if correction is not False:
            correction = self._corrects(correction)
        made = required_action(bid, Bid, self.learner)
        spending = accounts.paying(made)
        has_won = won if won is True or won is False else flag_of("settle", "won", won)
        decision: Any = made.decision
        amount = made.amount if placed is None else self._placed(made, placed)
        unknown = isinstance(told, float) and math.isnan(told)
        if decision is None or amount is None:
            if not self._shows_without_bid(made, None if unknown else told, won=has_won):
                return
            amount = 0.0
        rules = self.rules if reserve is None else rules_of(self.rules, made, reserve)
        # A decision by a feedback graph knows its own amount; that of the law does not.
        sent = amount if decision.by_law else self._grid[decision.arm]
        if unknown:
            told = self._possible(made, sent, rules, won=has_won)
        least = max(price_of(rules, self.feedback, sent, told, won=has_won), rules.least)
        payment = (
            None
            if spending is None
            else spending.payment(decision, getattr(self.learner, "own", None))
        )
        self._learn(
            decision,
            (made.value, made.classes),
            Shown(amount, has_won, least),
            correction=correction,
            rules=rules,
            payment=payment,
        )
        self._say_new_start()

    def _pay(self, bid: Any, won: Flag, told: Money | None, placed: Money | None) -> None:
        """Account for the money of a bid of this snapshot."""
        learner = self.learner
        made = bid if isinstance(bid, Bid) else action_of(bid, Bid, learner, learner.token_key)
        spending = self._accounts.paying(made)
        if made.amount is None or spending is None:
            return
        decision, has_won = made.decision, flag_of("settle", "won", won)
        if not pays(decision, {learner.id}):
            raise ForeignDecisionError(
                f"The bid was made by another decider ({decision and decision.decider}), which has "
                "its money. Settle it there."
            )
        price = math.inf if told is None else amount_of("settle", "highest_competing_bid", told)
        amount = made.amount if placed is None else self._placed(made, placed)
        spending.pay(decision, Shown(amount, has_won, amount if has_won else price), made)

    def _say_new_start(self) -> None:
        """Warn if values have moved out of their range, so that the law has started again."""
        if self.lays and self.learner.law.state.ring[1] > self._starts:
            self._starts = int(self.learner.law.state.ring[1])
            low, high = self.value_range
            warnings.warn(
                f"Most of the latest values, from {low:.4g} to {high:.4g}, lie outside the range "
                "of all before. The bidder forgets what it has learned and starts again with them. "
                "If their unit has changed by mistake, change it back.",
                CrossbanditWarning,
                stacklevel=3,
            )

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
        from crossbandit.applications.bidding.batches import bid_batch

        taken: list[Any] = []
        try:
            bids = bid_batch(self, self._accounts, values, reserve, at, classes, taken)
        except BaseException:
            self._accounts.withdraw(taken)
            raise
        return bids

    def settle_many(
        self,
        bids: Bids | Sequence[Bid | bytes | str | None],
        *,
        won: npt.ArrayLike,
        highest_competing_bid: npt.ArrayLike | None = None,
        reserve: npt.ArrayLike | None = None,
        placed: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from the outcomes of many auctions at once, as separate calls of `settle` would.

        It is one call of compiled code, unless there is a guard or an algorithm without such code.

        Args:
            bids: What `bid_many` returned; or a list of bids, or of their tokens. Rows in which no
                bid was made, with None as their token, may be left in, as lost.
            won: Whether each bid won.
            highest_competing_bid: As for `settle`; NaN where it is not known.
            reserve: As for `settle`; NaN where it is not given.
            placed: As for `settle`; NaN where it is the amount of the bid. Under limits or a guard,
                settle such bids one by one.

        Raises:
            DecisionError: As for `settle`; its `rows` are all that are wrong, and can be left out.
                Nothing is learned.
            InvalidLossesError: As for `settle`; its `rows` are all that are wrong. Nothing is
                learned.
            MissingOutcomesError: Wins or losses are missing with a bias. Nothing is learned.
        """
        from crossbandit.applications.bidding.batches import bids_as_placed, settle_auctions

        if placed is not None:
            bids = bids_as_placed(self, self._accounts, bids, placed)
        settle_auctions(self, self._accounts, bids, won, highest_competing_bid, reserve)
        self._say_new_start()

    @classmethod
    def fit(cls, log: FitsBidders, *, seed: Seed, **settings: Any) -> Self:
        """Make a bidder that has learned from a log; then embed it.

        Settings that are not given are chosen from the log: the range of values with some room
        above, the feedback by where prices are known, ties, classes, and a grid of bids.

        Args:
            log: A `crossbandit.logs.AuctionLog`, with a column of own bids and of who won unless
                all prices are known.
            seed: The seed of the bidder's random choices.
            **settings: Any settings of the bidder.

        Returns:
            The bidder.

        Raises:
            LogError: The log cannot be read, or the auctions that were won or lost are missing.
            InvalidParameterError: A setting is not possible.
            InvalidLossesError: The log contradicts itself.

        Warns:
            LogWarning: Values and bids seem to be in different units.

        >>> import pandas as pd
        >>> from crossbandit.logs import AuctionLog
        >>> frame = pd.DataFrame({"value": [8.0] * 60, "bid": [2.0, 3.0, 4.0] * 20})
        >>> frame["won"] = frame["bid"] > 2.5
        >>> log = AuctionLog(frame, columns={"bid": "bid", "won": "won"})
        >>> bidder = FirstPriceBidder.fit(log, bids=[0, 2, 3, 4], seed=1)
        >>> bidder.feedback
        'won-lost'
        >>> float(bidder.price_law(8.0).chances[2]) > 0.8
        True
        """
        if not hasattr(log, "fitting"):
            expected = "an AuctionLog, which takes files and data frames"
            reject("fit", "log", expected, type(log).__name__)
        found = log.fitting(settings)
        construct: Callable[..., Self] = cls
        bidder = construct(**found.settings, seed=seed)
        bidder.warm_up(**found.columns)
        return bidder

    def observe(
        self,
        value: npt.ArrayLike,
        *,
        bid: npt.ArrayLike | None = None,
        won: npt.ArrayLike | None = None,
        highest_competing_bid: npt.ArrayLike | None = None,
        **classes: Any,
    ) -> None:
        """Learn from auctions for which somebody else chose the bid: one, or a column of each.

        Nothing is paid, and nothing is settled. Of a batch, all auctions are learned, or none.

        Args:
            value: What winning was worth.
            bid: What was bid, any amount: only what it has shown is learned, by the bidder's
                feedback. Without bids, all prices must be known, and all are learned.
            won: Whether the bid won; needed where the price is unknown, unless the feedback is
                "after-loss" or "after-win".
            highest_competing_bid: 0 if nobody else bid, NaN where it is not known.
            **classes: A level of each of the bidder's classes, or columns of levels.

        Raises:
            InvalidContextError: A value is outside the range, or a class is missing.
            InvalidLossesError: The outcomes are incomplete or contradict each other. Nothing is
                learned.
            InvalidParameterError: This bidder does not learn by the law, or has a guard.

        >>> bidder = FirstPriceBidder(value_range=(0, 10), feedback="won-lost", seed=1)
        >>> bidder.observe(8.0, bid=2.5, won=False)
        >>> bidder.observe([8.0] * 60, bid=[4.0] * 60, won=[True] * 60)
        >>> float(bidder.price_law(8.0).chances[-1]) > 0.9
        True
        """
        from crossbandit.applications.bidding.logs import Observed

        self._observe(Observed.of(value, highest_competing_bid, bid, won, classes))

    def _observe(self, given: Observed) -> None:
        from crossbandit.applications.bidding.logs import log_outcomes

        learner = self._law(given.owner)
        if self.guarded:
            expected = "False, as the guard has to see how its own bids fare"
            reject(given.owner, "guarded", expected, self.guarded)
        learner.observe(*log_outcomes(learner.law, self.rules, self._range, given))

    def warm_up(
        self,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        bids: npt.ArrayLike | None = None,
        won: npt.ArrayLike | None = None,
        **classes: npt.ArrayLike,
    ) -> None:
        """Learn from a log of auctions in which this bidder did not bid; see `observe`.

        Args:
            values: What winning was worth, in each auction.
            prices: The highest competing bid; 0 if nobody else bid, NaN where it is not known.
            bids: What was bid.
            won: Whether each bid won.
            **classes: A column of levels for each of the bidder's classes.

        Raises:
            InvalidContextError: As for `observe`.
            InvalidLossesError: As for `observe`.
            InvalidParameterError: As for `observe`.
        """
        from crossbandit.applications.bidding.logs import Observed

        self._observe(Observed(values, prices, bids, won, classes))

    def policy(
        self, value: Money, *, reserve: Money | None = None, at: Time = None, **classes: Label
    ) -> Floats:
        """Return the probability with which each bid would be made now.

        Under the law, the random numbers of a bid are integrated over a fixed grid of quantiles:
        the answer is deterministic, with an error of at most 1/64.

        Args:
            value: What winning is worth.
            reserve: The reserve price of the auction, if it is known.
            at: As for `bid`, but by default the time of the latest auction.
            **classes: As for `bid`.

        Returns:
            A probability for each of `bids`; all 0 if no bid may be made. That of an amount of 0 is
            the probability of not bidding. Without a grid, `price_law` has the bids in money.

        Raises:
            InvalidContextError: As for `bid`.
        """
        return self._policy("policy", value, reserve, self._labels("policy", classes), at)

    def price_law(self, value: float, **classes: Label) -> LawView:
        """Return the law of the highest competing bid at a value, with its uncertainty.

        Args:
            value: What winning is worth.
            **classes: As for `bid`.

        Returns:
            The probability of winning with each bid, and how much of it comes from all auctions
            and how much from those like this one. `print` shows it in words, `plot` draws it.

        Raises:
            InvalidContextError: As for `bid`.
            InvalidParameterError: This bidder does not learn by the law.
        """
        worth = self._auction("price_law", value, None)[0]
        return self._view("price_law", worth, classes)

    def explain(
        self, value: Money | Bid, *, reserve: Money | None = None, **classes: Label
    ) -> Explanation:
        """Return which features move the bid at a value, and by how much.

        What a feature moves is the bid with all features minus that without this one. Limits, and
        what is tried at random, are left out.

        Args:
            value: What winning is worth; or a bid, whose value and features are taken.
            reserve: The reserve price of the auction, if it is known.
            **classes: As for `bid`.

        Returns:
            The explanation; `print` shows it in words.

        Raises:
            InvalidContextError: As for `bid`, or no bid is possible.
            InvalidParameterError: This bidder does not learn by the law.
        """
        from crossbandit.applications.bidding.views import Explanation

        learner = self.learner if self.learner.law is not None else self._law("explain")
        bid = value if isinstance(value, Bid) else None
        labels = self._labels("explain", classes) if bid is None else bid.classes
        at_value = value if bid is None else bid.value
        worth, _, first, last = self._auction("explain", at_value, reserve)
        if first > last:
            reject("explain", "value", "enough for a bid", worth, error=InvalidContextError)
        law, given = learner.law, (worth, labels, worth, 0.0, first, last)
        with learner.deciding:
            ends = [best_without(law, given, names) for names in (law.classes, ())]
            chance = float(law.core.chance(ends[1]))
            others = [best_without(law, given, (name,)) for name in law.classes]
        grid = learner.law.amounts_at(worth).tolist()
        moved = {
            name: (label, grid[ends[1]] - grid[other])
            for name, label, other in zip(law.classes, labels, others, strict=True)
        }
        return Explanation(worth, grid[ends[1]], grid[ends[0]], chance, moved)

    def shading_curve(
        self,
        values: npt.ArrayLike | None = None,
        *,
        reserve: float | None = None,
        **classes: Label,
    ) -> ShadingCurve:
        """Return what would be bid now at each of several values.

        Args:
            values: The values; by default 101 of them, evenly spread over the range.
            reserve: The reserve price of the auctions, if it is known.
            **classes: As for `bid`.

        Returns:
            The curve. It is NaN where no bid may be made.

        Raises:
            InvalidContextError: As for `bid`.
        """
        from crossbandit.applications.bidding.views import ShadingCurve

        if values is None:
            spread = np.geomspace if self.lays else np.linspace
            values = spread(*self.value_range, _CURVE_POINTS)
        expected = "values in the bidder's range"
        given = as_array("shading_curve", "values", expected, values, error=InvalidContextError)
        worths = np.atleast_1d(given)
        policies = np.empty((worths.size, self.rules.arms))
        labels = self._labels("shading_curve", classes)
        for i, value in enumerate(worths):
            policies[i] = self._policy("shading_curve", value, reserve, labels)
        policies[~policies.any(axis=1)] = np.nan
        curve = ShadingCurve.of(worths.astype(np.float64), self.bids, policies)
        if not self.lays:
            return curve
        units = worths ** self.learner.law.parts[0].power
        return replace(curve, **{name: getattr(curve, name) * units for name in _BIDS})

    def picture(self) -> str:
        if self.classes:
            return ""
        return self.shading_curve(np.linspace(*self.value_range, _PICTURE_POINTS)).picture()

    def state(self) -> dict[str, Any]:
        return dict(self._accounts.state())

    def _scope(self) -> str:
        if self.lays:
            return "any value, any bid, "
        low, high = self.value_range
        return f"values {low:g} to {high:g}, {self.bids.size} bids, "

    def restore(self, state: Mapping[str, Any]) -> None:
        if not all(belongs(name) for name in state):
            super().restore(state)
        self._accounts.restore(state)  # of limits that were neither added nor removed

    def snapshot(self, seed: Seed | None = None) -> Self:
        """Return a copy that only decides; see `Application.snapshot`.

        It holds none of the bidder's money. With budgets, it bids nothing until `renew` gives it a
        `Lease` of a `SharedBudget`, and each of its campaigns one. It keeps targets by itself, from
        nothing. Settle its bids twice: with it, for the money, and with this bidder, which learns.

        Args:
            seed: The seed of its random choices. If None, they differ from those of all others.

        Raises:
            InvalidParameterError: This is a snapshot, or has limits and no law.
        """
        if self._accounts.limited and self.learner.law is None:
            raise InvalidParameterError(
                "A bidder with limits has no snapshots unless it learns by the law. Give each "
                "process a bidder of its own with a Lease of a SharedBudget."
            )
        return super().snapshot(seed)

    def settings_of_copies(self) -> dict[str, Any]:
        return {**self.settings(), **self._accounts.settings(ended=True)}

    @property
    def spending(self) -> Spending | None:
        return self._accounts.only

    @property
    def accounts(self) -> Accounts:
        """Its sets of limits, by campaign."""
        return self._accounts

    @property
    def campaigns(self) -> dict[str, Campaign]:
        """The campaigns, by name. Each has limits of its own."""
        sets = self._accounts.sets.items()
        return {name: Campaign(self, name, one) for name, one in sets if name is not None}

    def campaign(
        self,
        name: str,
        *,
        budget: BudgetLike | Sequence[BudgetLike] | None = None,
        target: TargetLike | Sequence[TargetLike] | None = None,
    ) -> Campaign:
        """Add a campaign to a bidder that was made with `campaigns`.

        It begins with what the others have learned, and has limits of its own. A campaign that has
        ended may stay: it costs nothing.

        Args:
            name: Its name, which no other campaign has.
            budget: As for the bidder.
            target: As for the bidder.

        Returns:
            The campaign, whose bids are settled with this bidder.

        Raises:
            InvalidParameterError: There is one of this name, the limits are not possible, or the
                bidder was made without campaigns.

        >>> from crossbandit.limits import Budget
        >>> bidder = FirstPriceBidder(value_range=(0, 10), campaigns={}, seed=1)
        >>> shoes = bidder.campaign("shoes", budget=Budget(500, per="day"))
        >>> bid = shoes.bid(8.0)
        >>> bidder.settle(bid, won=False, highest_competing_bid=9.0)
        >>> bidder.campaigns["shoes"].limits[0].left
        Decimal('500')
        """
        found = self._accounts.add(name, budget, target, claims=True)
        return Campaign(self, name, found)

    def _auction(
        self, owner: str, value: object, reserve: object
    ) -> tuple[float, float | None, int, int]:
        """Return the value and the reserve price, and the lowest and the highest possible bid."""
        worth, reserve = self._worth(owner, value, reserve)
        grid = self._grid
        if self.lays:
            bounds = self._bounds(worth, reserve)
            return worth, reserve, *self._numbers(bounds, *bounds.under(worth, None)[:2])
        last = (bisect_right(grid, worth) if self.rules.at_most_value else len(grid)) - 1
        return worth, reserve, 0 if reserve is None else bisect_left(grid, reserve), last

    def _numbers(self, bounds: BidBounds, low: float, high: float) -> tuple[int, int]:
        """Return the lowest and the highest bid of those that are possible, by number."""
        if not 0.0 < low <= high:
            return 1, 0
        amounts = self.learner.law.amounts_at(bounds.value)
        first, last = (int(k) for k in amounts.searchsorted((low, high), "right") - 1)
        return max(first, 0), max(first, last, 0)

    def _worth(self, owner: str, value: object, reserve: object) -> tuple[float, float | None]:
        """Return the value and the reserve price of an auction, checked."""
        low, high = self._range
        bad = InvalidContextError
        worth = amount_of(owner, "value", value, at_least=low, at_most=high, error=bad)
        if reserve is None:
            return worth, None
        return worth, amount_of(owner, "reserve", reserve, at_least=self.rules.reserve, error=bad)

    def _policy(
        self,
        owner: str,
        value: object,
        reserve: object,
        labels: tuple[Label, ...],
        at: Time = None,
    ) -> Floats:
        worth, floor, first, last = self._auction(owner, value, reserve)
        spending = self._accounts.of(labels)
        if first > last or spending is None:
            return self._probabilities(Round(worth, worth, 0.0, labels), first, last)
        if self.lays:
            pseudo, left = spending.look_between(worth, at)
            bounds = self._bounds(worth, floor)
            low, high, most = bounds.under(pseudo, left)
            first, usable = self._numbers(bounds, low, high)
            cap = self._numbers(bounds, low, min(high, most))[1] if low <= most else -1
        else:
            pseudo, usable, cap = spending.look(worth, first, last, at)
        if cap < 0 or first > usable:
            return np.zeros(self.rules.arms)
        given = Round(worth, pseudo, spending.pacer.cost_of_holding, labels)
        chances = self._probabilities(given, first, cap if self.learner.law is None else usable)
        chances[cap] += chances[cap + 1 :].sum()  # bids that may not be made are lowered
        chances[cap + 1 :] = 0.0
        return chances

    def _placed(self, made: Bid, given: object) -> float:
        """Return the amount that was placed instead of a bid's."""
        found = amount_of("settle", "placed", given, error=InvalidLossesError)
        if found <= 0.0 or made.amount is None:
            expected = "above 0, and left out where no bid was made"
            reject("settle", "placed", expected, given, error=InvalidLossesError)
        if self.learner.law is None:
            expected = f"left out: {self.learner.algorithm.id} learns from its own bids only"
            reject("settle", "placed", expected, given, error=InvalidLossesError)
        return found

    def _possible(self, made: Bid, sent: float, rules: AuctionRules, *, won: bool) -> float | None:
        """Return a competing bid that the law deems possible, given an outcome; None if not needed.

        It is drawn by the number of the decision. An outcome without it would count for the lower
        or the higher competing bids only.
        """
        if won not in TOLD_AFTER[self.feedback]:
            return None
        learner = self._law("settle")
        with learner.deciding:
            return possible_price(learner.law, rules, made, sent, won=won)

    def _shows_without_bid(self, bid: Bid, told: object, *, won: bool) -> bool:
        """Return whether an auction in which no bid was made shows anything."""
        if won:
            raise InvalidLossesError("No bid was made, so it cannot have won.")
        return bid.decision is not None and told is not None and self._tells_losers

    def _features(self, worth: float, cost: float) -> Floats:
        del cost
        return self.rules.contexts(min(worth, self._range[1]))


def _in_seconds(time: timedelta | float | None) -> float | None:
    return time.total_seconds() if isinstance(time, timedelta) else time


def _finish_imports() -> None:
    """Import what bids may need, so that no child is forked in the middle of an import."""
    from crossbandit.applications.bidding import batches  # noqa: F401


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports)
