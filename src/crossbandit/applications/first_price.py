"""A bidder for first-price auctions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.applications.action import Action, pending_decision, require_action
from crossbandit.applications.bid_logs import log_outcomes, numbers_to_reach
from crossbandit.applications.fitting import LogFitting
from crossbandit.applications.hidden_number import HiddenNumberApplication
from crossbandit.applications.law_learner import LawLearner, Round
from crossbandit.applications.shading import ShadingCurve
from crossbandit.environments.amounts import span
from crossbandit.environments.auctions import FEEDBACK, AuctionRules
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.problem import Problem
from crossbandit.validation import as_array, boolean, choice, number, reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats

_CURVE_POINTS = 101


@dataclass(frozen=True)
class Bid(Action):
    """One bid. Place it, keep it until its auction is over, then pass it to `settle`.

    Attributes:
        decision: The learner's decision; None if there was nothing to choose from.
        amount: The money to bid. None if no bid may be made, because every bid is above the value
            or below the reserve price.
        value: What winning is worth.
        reserve: The reserve price of the auction, if it was known.
        classes: The levels of the bidder's classes, in their order.
    """

    amount: float | None
    value: float
    reserve: float | None = None
    classes: tuple[Label, ...] = ()

    def __float__(self) -> float:
        return 0.0 if self.amount is None else self.amount


def usual_algorithm(feedback: str) -> CrossGraphAdaptive:
    """Return the usual algorithm with a feedback graph: with anchors where they help.

    With feedback after a loss, a bid reveals the next higher bid, and the two mostly win and lose
    together.

    Args:
        feedback: One of the kinds of `crossbandit.environments.auctions.FEEDBACK`.
    """
    return CrossGraphAdaptive(anchored=feedback == "after-loss")


class FirstPriceBidder(HiddenNumberApplication, LogFitting):
    """Learns what to bid for something of known value, where the highest bid wins and pays.

    `feedback` says who is told the highest competing bid once an auction is over:

    - "after-loss": the losers. A win shows that higher bids would have won as well, a loss shows
      everything. So each bid reveals itself and all higher bids.
    - "after-win": the winner. Each bid reveals itself and all lower bids.
    - "always": everyone. Each bid reveals all bids.
    - "won-lost": nobody. A win then shows the higher bids and a loss the lower ones.

    By default the bidder learns the law of the highest competing bid, given the value and the
    classes (`crossbandit.laws.OutcomeLaw`): where prices go with values it bids by value, and where
    they do not, every auction counts at all values. The law assumes that others do not react to the
    bidder. With an `Algorithm`, such as `CrossGraphAdaptive()`, the bidder assumes nothing but the
    feedback graph, and that prices do not go with values; told only won or lost, it then learns
    from the bid itself alone, which is slow.

    An auction may have a reserve price of its own. Give it to `bid` if it is known before bidding,
    and to `settle` otherwise.

    Args:
        bids: The amounts that may be bid; or their number, to spread them evenly from 0 to the
            highest value. `geometric_bids` makes a grid that is finer for small amounts.
        value_range: The lowest and the highest value to come, in any unit of money.
        feedback: Who is told the highest competing bid, as above.
        reserve: The reserve price. A lower bid never wins.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose".
        at_most_value: Whether to refrain from bids above the value.
        classes: Names of categorical features, such as ("site", "device"), for the law; `bid` then
            takes a level of each. Levels need not be known beforehand.
        guarded: Whether to hold the law against a learner that assumes nothing, and to follow
            whichever seems to earn more; see `GuardedLaw`. No bound is proved for it.
        horizon: The number of auctions to come. The law and the usual algorithm do not need it.
        algorithm: None or "law" for the law; or an `Algorithm` that uses the feedback graph.
        seed: The seed of the bidder's random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> bidder = FirstPriceBidder(bids=11, value_range=(0, 10), seed=1)
    >>> for value, price in np.random.default_rng(0).uniform(0, [10, 6], size=(2_000, 2)):
    ...     bid = bidder.bid(value)
    ...     won = bid.amount >= price
    ...     bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
    >>> bidder.shading_curve([4.0, 8.0]).bids
    array([2., 4.])
    """

    kind: ClassVar[str] = "first-price-bidder"
    words: ClassVar[tuple[str, str, str]] = ("prices", "values", "bidding by value")
    rules: AuctionRules

    def __init__(
        self,
        *,
        bids: int | npt.ArrayLike = 100,
        value_range: tuple[float, float],
        feedback: str = "after-loss",
        reserve: float = 0.0,
        ties: str = "win",
        at_most_value: bool = True,
        classes: Sequence[str] = (),
        guarded: bool = False,
        horizon: int | None = None,
        algorithm: Algorithm | str | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        self.value_range = span(owner, "value_range", value_range)
        self.feedback = choice(owner, "feedback", feedback, FEEDBACK)
        self.rules = AuctionRules(
            bids=bids,
            highest_value=number(owner, "value_range", self.value_range[1], above=0),
            reserve=number(owner, "reserve", reserve, at_least=0),
            ties=ties,
            at_most_value=boolean(owner, "at_most_value", at_most_value),
            owner=owner,
        )
        problem = Problem(self.rules.graph(feedback), features=2, horizon=horizon)
        self.guarded = boolean(owner, "guarded", guarded)
        if guarded and not at_most_value:
            reject(owner, "guarded", "False if at_most_value is False", guarded)
        self._start(
            algorithm,
            problem,
            seed,
            usual_algorithm(feedback),
            context_range=self.value_range,
            feedback=feedback,
            payoff="first-price",
            ties=self.rules.ties,
            classes=classes,
            reserved={"value", "values", "reserve", "prices", "bids", "won"},
            guarded=guarded,
            law_by_default=True,
        )

    @property
    def bids(self) -> Floats:
        """The amounts that may be bid, ascending, in the order of `policy`."""
        return self.rules.amounts

    def settings(self) -> dict[str, Any]:
        return {
            "bids": self.bids.tolist(),
            "value_range": list(self.value_range),
            "feedback": self.feedback,
            "reserve": self.rules.reserve,
            "ties": self.rules.ties,
            "at_most_value": self.rules.at_most_value,
            "classes": list(self.classes),
            "guarded": self.guarded,
            "horizon": self._horizon,
        }

    def bid(self, value: float, *, reserve: float | None = None, **classes: Label) -> Bid:
        """Choose a bid.

        Args:
            value: What winning is worth.
            reserve: The reserve price of this auction, if it is known; at least the bidder's. No
                bid is below it. It is a part of the context: what this auction shows is used for
                auctions with other reserve prices, assuming that others would have bid the same.
            **classes: A level, a text or an integer, of each of the bidder's classes.

        Raises:
            InvalidContextError: The value is outside the range, the reserve price is below the
                bidder's, or a class is missing.
        """
        worth, floor, available = self._auction("bid", value, reserve)
        labels = self._labels("bid", classes)
        if available is not None and not available.any():
            return Bid(None, None, worth, floor, labels)
        given = Round(worth, worth, 0.0, labels)
        decision = self._act(self.rules.contexts(worth), given, available)
        return Bid(decision, float(self.bids[decision.arm]), worth, floor, labels)

    def settle(
        self,
        bid: Bid,
        *,
        won: bool,
        highest_competing_bid: float | None = None,
        reserve: float | None = None,
    ) -> None:
        """Learn from the outcome of an auction.

        Auctions may be settled late and in any order. An outcome may be missing by chance: whether
        it is missing must depend neither on the outcome nor on the bid. If the competing bid is
        often missing although it should be told, use the feedback "won-lost". To settle only the
        auctions in which it is known would mislead the bidder.

        Args:
            bid: The bid.
            won: Whether it won.
            highest_competing_bid: Required where `feedback` says that it is told. Elsewhere it is
                only checked for contradictions. It is 0 if nobody else bid. Give the competing bid
                itself, even if the reserve price was higher.
            reserve: The reserve price of this auction, if it was not known when bidding. It takes
                the place of the bidder's, and counts like a competing bid.

        Raises:
            DecisionError: The bid is not one of this bidder's, or was settled before.
            InvalidLossesError: The outcome is incomplete or contradicts itself. Nothing is learned,
                and the bid can still be settled.
        """
        if require_action(bid, Bid).decision is None:
            if boolean("settle", "won", won, error=InvalidLossesError):
                raise InvalidLossesError("No bid was made, so it cannot have won.")
            return
        decision = pending_decision(bid, Bid, self.learner)
        amount = float(self.bids[decision.arm])
        rules = self.rules if reserve is None else self._rules(bid, reserve)
        has_won = boolean("settle", "won", won, error=InvalidLossesError)
        price = self._price(rules, amount, highest_competing_bid, won=has_won)
        if isinstance(self.learner, LawLearner):
            given = Round(bid.value, bid.value, 0.0, bid.classes)
            least = float(numbers_to_reach(rules, price))
            self.learner.learn(decision, given, reached=has_won, number=least)
            return
        rows = rules.block([price]).base[0]
        self.learner.learn(decision, rows[list(decision.revealed)])

    def policy(self, value: float, *, reserve: float | None = None, **classes: Label) -> Floats:
        """Return the probability with which each bid would be made now.

        Under the law, the random numbers of a bid are integrated over a fixed grid of quantiles:
        the answer is always the same, and right up to 1/64.

        Args:
            value: What winning is worth.
            reserve: The reserve price of the auction, if it is known.
            **classes: As for `bid`.

        Returns:
            A probability for each of `bids`; all 0 if no bid may be made.

        Raises:
            InvalidContextError: As for `bid`.
        """
        return self._policy("policy", value, reserve, self._labels("policy", classes))

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
        worth, _, _ = self._auction("price_law", value, None)
        return self._view("price_law", worth, classes)

    def warm_up(
        self,
        values: npt.ArrayLike,
        prices: npt.ArrayLike,
        *,
        bids: npt.ArrayLike | None = None,
        won: npt.ArrayLike | None = None,
        **classes: npt.ArrayLike,
    ) -> None:
        """Learn from a log of auctions in which this bidder did not bid.

        Args:
            values: What winning was worth, in each auction.
            prices: The highest competing bid; 0 if nobody else bid, NaN where it is not known.
            bids: What was bid, any amounts: only what these bids have shown is learned, by the
                bidder's feedback. Without bids, all prices must be known, and all are learned.
            won: Whether each bid won; needed where the price is not known and the feedback does
                not tell by that who has won.
            **classes: A column of levels for each of the bidder's classes.

        Raises:
            InvalidContextError: A value is outside the range, or a column of a class is missing.
            InvalidLossesError: The outcomes are incomplete or contradict each other. Nothing is
                learned.
            InvalidParameterError: This bidder does not learn by the law.
        """
        learner = self._law("warm_up")
        if self.guarded:
            expected = "False, as the guard has to see how its own bids fare"
            reject("warm_up", "guarded", expected, self.guarded)
        log = log_outcomes(
            learner.law,
            self.rules,
            self.value_range,
            values,
            prices,
            bids,
            won,
            classes,
        )
        learner.law.learn_all(
            log.values, log.kinds, log.indices, played=log.played, classes=log.classes
        )
        learner.test.learn_all(log.values, log.kinds, log.indices, log.recent_labels())

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
        if values is None:
            values = np.linspace(*self.value_range, _CURVE_POINTS)
        expected = "values in the bidder's range"
        given = as_array("shading_curve", "values", expected, values, error=InvalidContextError)
        worths = np.atleast_1d(given)
        policies = np.empty((worths.size, self.rules.arms))
        labels = self._labels("shading_curve", classes)
        for i, value in enumerate(worths):
            policies[i] = self._policy("shading_curve", value, reserve, labels)
        policies[~policies.any(axis=1)] = np.nan
        return ShadingCurve.of(worths.astype(np.float64), self.bids, policies)

    def _policy(
        self, owner: str, value: object, reserve: object, labels: tuple[Label, ...]
    ) -> Floats:
        worth, _, available = self._auction(owner, value, reserve)
        if available is not None and not available.any():
            return np.zeros(self.rules.arms)
        given = Round(worth, worth, 0.0, labels)
        return self._probabilities(self.rules.contexts(worth), given, available)

    def _auction(
        self, owner: str, value: object, reserve: object
    ) -> tuple[float, float | None, Booleans | None]:
        """Return the value and the reserve price of an auction, and which bids may be made."""
        low, high = self.value_range
        worth = number(owner, "value", value, at_least=low, at_most=high, error=InvalidContextError)
        affordable = self.rules.available([worth])
        available = None if affordable is None else affordable[0]
        if reserve is None:
            return worth, None, available
        least = self.rules.reserve
        floor = number(owner, "reserve", reserve, at_least=least, error=InvalidContextError)
        reaching = self.bids >= floor
        return worth, floor, reaching if available is None else reaching & available

    def _rules(self, bid: Bid, reserve: object) -> AuctionRules:
        """Return the rules of an auction whose reserve price is given when it is settled."""
        told = number("settle", "reserve", reserve, at_least=0, error=InvalidLossesError)
        if bid.reserve is None:
            return replace(self.rules, reserve=told)
        if told != bid.reserve:
            raise InvalidLossesError(
                f"The bid was made for a reserve price of {bid.reserve}. Got "
                f"reserve={told:.15g}. Nothing was learned; correct it, or leave the bid unsettled."
            )
        return self.rules

    def _price(self, rules: AuctionRules, amount: float, told: float | None, *, won: bool) -> float:
        """Return a competing bid for which all revealed bids win or lose as they would have."""
        if won and amount == 0:
            raise _contradiction(amount, "a bid of 0 means not to bid, so it cannot have won")
        if won and amount < rules.reserve:
            raise _contradiction(amount, f"it is below the reserve price, {rules.reserve:.15g}")
        if told is None:
            if self.feedback in ("always", "after-win" if won else "after-loss"):
                raise InvalidLossesError(
                    f"The bidder's feedback is {self.feedback!r}: "
                    f"{FEEDBACK[self.feedback].split(':')[0]}. Got won={won} and no "
                    "highest_competing_bid. Give it (0 if nobody else bid). A single bid may be "
                    "left unsettled; if it is often missing, that would mislead the bidder: make "
                    "one with feedback 'won-lost'."
                )
            return -math.inf if won else math.inf
        price = number(
            "settle", "highest_competing_bid", told, at_least=0, error=InvalidLossesError
        )
        if won != bool(rules.wins(amount, price)):
            outcome = "won" if won else "lost"
            equal = f", and equal bids {rules.ties}" if price == amount else ""
            against = f"against a highest competing bid of {price:.15g}{equal}"
            raise _contradiction(amount, f"it cannot have {outcome} {against}")
        return price


def _contradiction(amount: float, why: str) -> InvalidLossesError:
    return InvalidLossesError(
        f"The outcome of the bid of {amount:.15g} contradicts itself: {why}. Nothing was learned; "
        "correct the outcome (if the auction had a reserve price of its own, give it as 'reserve')."
    )
