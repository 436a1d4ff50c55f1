"""What a bidder would do now, what it believes, and what it can learn from a log."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.bid_logs import log_outcomes
from crossbandit.applications.law_decider import LawDecider, Round
from crossbandit.applications.limited import LimitedApplication
from crossbandit.applications.shading import ShadingCurve
from crossbandit.errors import InvalidContextError
from crossbandit.validation import as_array, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.applications.money import Money
    from crossbandit.applications.spending import Time
    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats

_CURVE_POINTS = 101
_PICTURE_POINTS = 41


class AuctionViews(LimitedApplication):
    """The part of a bidder that looks at what was learned, and at logs."""

    rules: AuctionRules
    value_range: tuple[float, float]
    guarded: bool

    @abstractmethod
    def _auction(
        self, owner: str, value: object, reserve: object
    ) -> tuple[float, float | None, int, int]:
        """Return the value and the reserve price, and the lowest and the highest possible bid."""

    @abstractmethod
    def _features(self, worth: float) -> Any:
        """Return the context of a value, as the learner takes it."""

    def policy(
        self, value: Money, *, reserve: Money | None = None, at: Time = None, **classes: Label
    ) -> Floats:
        """Return the probability with which each bid would be made now.

        Under the law, the random numbers of a bid are integrated over a fixed grid of quantiles:
        the answer is always the same, and right up to 1/64.

        Args:
            value: What winning is worth.
            reserve: The reserve price of the auction, if it is known.
            at: As for `bid`, but by default the time of the latest auction.
            **classes: As for `bid`.

        Returns:
            A probability for each of `bids`; all 0 if no bid may be made.

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
        with learner.learning, learner.deciding:
            learner.law.learn_all(
                log.values, log.kinds, log.indices, played=log.played, classes=log.classes
            )
            learner.test.learn_all(
                log.values, log.kinds, log.indices, played=log.played, classes=log.classes
            )

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
        return ShadingCurve.of(worths.astype(np.float64), self.rules.amounts, policies)

    def picture(self) -> str:
        if self.classes:
            return ""
        return self.shading_curve(np.linspace(*self.value_range, _PICTURE_POINTS)).picture()

    def _policy(
        self,
        owner: str,
        value: object,
        reserve: object,
        labels: tuple[Label, ...],
        at: Time = None,
    ) -> Floats:
        worth, _, first, last = self._auction(owner, value, reserve)
        if first > last:
            return np.zeros(self.rules.arms)
        if self._spending is not None:
            opened = self._spending.look(worth, first, last, at)
            return self._limited_policy(opened, worth, labels, first)
        given = Round(worth, worth, 0.0, labels)
        return self._probabilities(self._features(worth), given, first, last)

    def _limited_policy(
        self, opened: tuple[float, int, int], value: float, labels: tuple[Label, ...], first: int
    ) -> Floats:
        """Return the probabilities at the pseudo-value; bids that may not be made are lowered."""
        worth, usable, cap = opened
        if cap < 0:
            return np.zeros(self.rules.arms)
        features = self._features(min(worth, self.value_range[1]))
        last = usable if isinstance(self.learner, LawDecider) else cap
        cost = 0.0 if self._spending is None else self._spending.pacer.cost_of_holding
        given = Round(value, worth, cost, labels)
        chances = self._probabilities(features, given, first, last)
        chances[cap] += chances[cap + 1 :].sum()
        chances[cap + 1 :] = 0.0
        return chances
