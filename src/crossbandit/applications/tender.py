"""A bidder for tenders: the lowest bid wins, and is paid.

A tender with cost c, bid b and lowest competing bid p is a first-price auction with value c and
amounts b', p' that lie as far below the cost as b and p lie above it, divided by the highest markup
h: b' = c - (b - c) / h. The lower bid of a tender is the higher one of this auction, and what is
earned is the same up to a constant: b - c = h (c - b'). So `FirstPriceBidder` bids. Amounts are
mirrored here, where they come in and go out.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crossbandit.applications.action import required_action
from crossbandit.applications.bidding.batches import as_bids
from crossbandit.applications.bidding.bids import Bid, Bids
from crossbandit.applications.bidding.logs import Observed
from crossbandit.applications.first_price import FirstPriceBidder
from crossbandit.applications.money import amount_of, in_tick, tick_of
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.validation import as_array, because_of, number, reject, verbatim
from crossbandit.errors import InvalidContextError, InvalidLossesError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.algorithms.learners.missing import Missing
    from crossbandit.applications.bidding.logs import FitsBidders
    from crossbandit.applications.bidding.spending import Time
    from crossbandit.applications.bidding.views import Explanation, ShadingCurve
    from crossbandit.applications.money import Flag, Money
    from crossbandit.core.streams import Seed
    from crossbandit.laws import LawView
    from crossbandit.laws.levels import Label

_OF_FIT = ("feedback", "ties", "classes")  # what a log says about the settings
_SHOWN = 5  # how many bad rows a message names
_NO_LIMITS = "left out: the winner of a tender is paid, so there is no spend to limit"


def mirrored(costs: Any, amounts: Any, max_markup: float) -> Any:
    """Return amounts of tenders as those of auctions; 0 remains 0: no bid, nobody else, no reserve.

    >>> mirrored(100.0, np.array([0.0, 80.0, 130.0, 250.0]), 1.0)
    array([  0., 120.,  70.,   0.])
    """
    found = np.maximum(costs - (amounts - costs) / max_markup, 0.0)
    return np.where(np.equal(amounts, 0.0), 0.0, found)


class TenderBidder(FirstPriceBidder):
    """Learns what to bid in tenders: the lowest bid wins, and is paid what it asks.

    It is a `FirstPriceBidder` for the other side of the market, without a grid: it takes any cost
    above 0, and bids from the cost up to `max_markup` above it. What it is told is mirrored, too:
    read *lowest competing bid* for its `feedback`. Its values are costs.

    Args:
        max_markup: The highest markup on the cost, as a share of it: with 1, no bid is above twice
            the cost. A competing bid above that counts as none.
        feedback: Who is told the lowest competing bid; see `FirstPriceBidder`.
        ties: "win" if a bid beats an equal competing bid, otherwise "lose".
        classes: Names of features, such as ("buyer", "size"), for the law.
        tick_size: The smallest unit of money. Bids are rounded to it.
        missing: What to do if wins or losses are missing with a bias: "refuse", "warn" or "accept".
        algorithm: None or "law": a feedback graph needs a grid.
        seed: The seed of the bidder's random choices.
        **limits: Refused: the winner of a tender is paid, so that there is nothing to limit.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> bidder = TenderBidder(seed=1)
    >>> for cost, other in np.random.default_rng(0).uniform([50, 55], [60, 90], size=(2_000, 2)):
    ...     bid = bidder.bid(cost)
    ...     won = bid.amount <= other
    ...     bidder.settle(bid, won=won, lowest_competing_bid=None if won else other)
    >>> 66 < bidder.shading_curve([55.0]).bids[0] < 78  # (b - 55) (90 - b) is largest at 72.5
    np.True_
    """

    kind: ClassVar[str] = "tender-bidder"
    words: ClassVar[tuple[str, str, str]] = ("competing bids", "costs", "bidding by cost")
    listed = "max_markup"
    reserved: ClassVar[set[str]] = FirstPriceBidder.reserved | {"cost"}
    fixed: ClassVar[tuple[str, ...]] = (*FirstPriceBidder.fixed, "_tick")

    def __init__(
        self,
        *,
        max_markup: float = 1.0,
        feedback: Feedback = "after-loss",
        ties: Ties = "win",
        classes: Sequence[str] = (),
        tick_size: Money | None = None,
        missing: Missing = "refuse",
        algorithm: Algorithm | str | None = None,
        seed: Seed,
        **limits: object,
    ) -> None:
        owner = type(self).__name__
        for name, given in limits.items():
            if name not in ("budget", "target", "campaigns"):
                raise TypeError(f"{owner} has no parameter {name!r}.")
            reject(owner, name, _NO_LIMITS, given)
        self.max_markup = number(owner, "max_markup", max_markup, above=0)
        self._tick = tick_of(owner, tick_size)
        super().__init__(
            feedback=feedback,
            ties=ties,
            classes=classes,
            missing=missing,
            algorithm=algorithm,
            seed=seed,
        )

    def settings(self) -> dict[str, Any]:
        found, tick = super().settings(), None if self._tick is None else float(self._tick)
        names = ("feedback", "ties", "classes", "missing")
        kept = {name: found[name] for name in names}
        return {"max_markup": self.max_markup, **kept, "tick_size": tick}

    def settings_of_copies(self) -> dict[str, Any]:
        return self.settings()

    def bid(  # type: ignore[override]  # a value is a cost here
        self, cost: Money, *, reserve: Money | None = None, at: Time = None, **classes: Label
    ) -> Bid:
        """Choose a bid.

        Args:
            cost: What winning costs, above 0.
            reserve: The highest bid that can win, if there is one and it is known.
            at: As for `FirstPriceBidder.bid`.
            **classes: A text or an integer (a level), a float (a number), or None, of each of the
                bidder's classes.

        Returns:
            The bid; its `value` is the cost. Submit its `amount`, and pass it to `settle` when the
            outcome is known. If the amount is None, no bid is made: `reason` says why.

        Raises:
            InvalidContextError: The cost is not above 0, or a class is missing.
        """
        spent = amount_of("bid", "cost", cost, error=InvalidContextError)
        ceiling, tick = (1.0 + self.max_markup) * spent, self._tick
        if reserve is not None:
            ceiling = min(ceiling, amount_of("bid", "reserve", reserve, error=InvalidContextError))
        low, high = spent, ceiling
        if tick is not None:
            low, high = in_tick(low, tick, 1), in_tick(high, tick, -1)
        known = None if reserve is None else float(reserve)
        if not 0.0 < low <= high:
            labels = self._labels("bid", classes)
            reason = f"No bid lies between the cost, {spent:.6g}, and the highest, {ceiling:.6g}."
            return Bid(None, None, spent, known, labels, reason)
        least = float(mirrored(spent, high, self.max_markup))
        made = super().bid(spent, reserve=least, at=at, **classes)
        amount = spent + self.max_markup * (spent - float(made))
        if tick is not None:
            amount = in_tick(amount, tick, 0)
        elif self._mirrored(spent, amount) < float(made):  # by rounding: it would reach less
            amount = math.nextafter(amount, 0.0)
        return replace(made, amount=min(max(amount, low), high), reserve=known)

    def settle(  # type: ignore[override]  # the lowest competing bid decides here
        self,
        bid: Bid | bytes | str,
        *,
        won: Flag,
        lowest_competing_bid: Money | None = None,
        reserve: Money | None = None,
        placed: Money | None = None,
        correction: bool = False,
    ) -> None:
        """Learn from the outcome of a tender.

        Args:
            bid: The bid, or its token.
            won: Whether it won.
            lowest_competing_bid: Required where `feedback` says that it is told; `math.nan` if it
                is not, for once. It is 0 if nobody else bid.
            reserve: The highest bid that could win, if it was not known when bidding.
            placed: The amount that was really submitted, if it is not that of the bid.
            correction: Whether the bid was settled before with a wrong outcome, which this one
                replaces.

        Raises:
            DecisionError: As for `FirstPriceBidder.settle`.
            MissingOutcomesError: Wins or losses are missing with a bias. Nothing is learned.
            InvalidLossesError: The outcome is incomplete or contradicts itself. Nothing is learned.
        """
        made = required_action(bid, Bid, self.learner)
        told = {"lowest_competing_bid": lowest_competing_bid, "reserve": reserve, "placed": placed}
        given = {"bid": made.amount, "cost": made.value, "won": won, **told}
        with self._in_words(", ".join(f"{k}={v}" for k, v in given.items() if v is not None)):
            price, floor, sent = (self._mirrored(made.value, one) for one in told.values())
            super().settle(
                self._inner(made),
                won=won,
                highest_competing_bid=price,
                reserve=floor,
                placed=sent,
                correction=correction,
            )

    def settle_many(  # type: ignore[override]
        self,
        bids: Bids | Sequence[Bid | bytes | str | None],
        *,
        won: npt.ArrayLike,
        lowest_competing_bid: npt.ArrayLike | None = None,
        reserve: npt.ArrayLike | None = None,
        placed: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from the outcomes of many tenders at once, as separate calls of `settle` would.

        Args:
            bids: What `bid_many` returned; or a list of bids, or of their tokens.
            won: Whether each bid won.
            lowest_competing_bid: As for `settle`; NaN where it is not known.
            reserve: As for `settle`; NaN where it is not given.
            placed: As for `settle`; NaN where it is the amount of the bid.

        Raises:
            DecisionError: As for `settle`. Nothing is learned.
            MissingOutcomesError: Wins or losses are missing with a bias. Nothing is learned.
            InvalidLossesError: As for `settle`; its `rows` are all that are wrong.
        """
        made = as_bids(bids, self.learner)
        told = {"lowest_competing_bid": lowest_competing_bid, "reserve": reserve, "placed": placed}
        with self._in_words(f"{len(made)} bids"):
            price, floor, sent = (self._mirrored(made.values, one) for one in told.values())
            inner = Bids.of([self._inner(one) for one in made])
            columns = {"highest_competing_bid": price, "reserve": floor, "placed": sent}
            super().settle_many(inner, won=won, **columns)

    @classmethod
    def fit(cls, log: FitsBidders, *, seed: Seed, **settings: Any) -> Self:
        """Make a bidder that has learned from a log of tenders; see `FirstPriceBidder.fit`.

        Args:
            log: A `crossbandit.logs.AuctionLog` with `lowest_wins=True`.
            seed: The seed of the bidder's random choices.
            **settings: Any settings of the bidder.

        Returns:
            The bidder, whose `max_markup` is that of the log.

        Raises:
            LogError: The log cannot be read, or the tenders that were won or lost are missing.
            InvalidParameterError: A setting is not possible.
            InvalidLossesError: The log contradicts itself.
        """
        if not getattr(log, "lowest_wins", False):
            reject("fit", "log", "an AuctionLog(..., lowest_wins=True)", verbatim("another"))
        max_markup: float = log.max_markup  # type: ignore[attr-defined]
        found = log.fitting({**settings, "bids": 2})
        chosen = {name: found.settings[name] for name in _OF_FIT}
        bidder = cls(**{**chosen, **settings, "max_markup": max_markup}, seed=seed)
        columns: dict[str, Any] = dict(found.columns)
        known = [columns.pop(name, None) for name in ("values", "prices", "bids", "won")]
        for i, column in enumerate(known[:3]):  # values of the log are the highest margins
            known[i] = None if column is None else column / max_markup
        given = Observed(known[0], known[1], known[2], known[3], columns)
        FirstPriceBidder._observe(bidder, given)  # noqa: SLF001 - its own
        return bidder

    def observe(  # type: ignore[override]
        self,
        cost: npt.ArrayLike,
        *,
        bid: npt.ArrayLike | None = None,
        won: npt.ArrayLike | None = None,
        lowest_competing_bid: npt.ArrayLike | None = None,
        **classes: Any,
    ) -> None:
        """Learn from tenders for which somebody else chose the bid: one, or a column of each.

        Args:
            cost: What winning cost.
            bid: What was bid. Without bids, all lowest competing bids must be known.
            won: As for `FirstPriceBidder.observe`.
            lowest_competing_bid: 0 if nobody else bid, NaN where it is not known.
            **classes: A level of each of the bidder's classes, or columns of levels.

        Raises:
            InvalidContextError: A cost is not possible, or a class is missing.
            InvalidLossesError: The outcomes are incomplete or contradict each other. Nothing is
                learned.
        """
        super().observe(
            cost, bid=bid, won=won, highest_competing_bid=lowest_competing_bid, **classes
        )

    def _observe(self, given: Observed) -> None:
        with self._in_words("tenders that somebody else has bid in"):
            prices, bids = (self._mirrored(given.values, one) for one in (given.prices, given.bids))
            super()._observe(given._replace(prices=prices, bids=bids))

    def price_law(self, value: float, **classes: Label) -> LawView:
        """Return the law of the lowest competing bid at a cost.

        Args:
            value: What winning costs.
            **classes: As for `bid`.

        Returns:
            The probability of winning with each bid: its `amounts` descend.

        Raises:
            InvalidContextError: As for `bid`.
        """
        found = super().price_law(value, **classes)
        return replace(found, amounts=self._asks(value, found.amounts))

    def explain(
        self, value: Money | Bid, *, reserve: Money | None = None, **classes: Label
    ) -> Explanation:
        """Return which features move the bid at a cost, and by how much.

        Args:
            value: What winning costs; or a bid, whose cost and features are taken.
            reserve: The highest bid that can win, if it is known.
            **classes: As for `bid`.

        Returns:
            The explanation; its `value` is the cost.

        Raises:
            InvalidContextError: As for `bid`, or no bid is possible.
        """
        spent = value.value if isinstance(value, Bid) else float(value)
        least = self._mirrored(spent, reserve)
        found = super().explain(value, reserve=least, **classes)
        bid, without = (self._asks(spent, one) for one in (found.bid, found.without))
        moved = {k: (label, -self.max_markup * by) for k, (label, by) in found.moved.items()}
        return replace(found, bid=bid, without=without, moved=moved)

    def shading_curve(
        self,
        values: npt.ArrayLike | None = None,
        *,
        reserve: float | None = None,
        **classes: Label,
    ) -> ShadingCurve:
        """Return what would be bid now at each of several costs.

        Args:
            values: The costs; by default 101 of them, spread over those of the tenders so far.
            reserve: Left out: what can win differs from tender to tender.
            **classes: As for `bid`.

        Returns:
            The curve.

        Raises:
            InvalidContextError: As for `bid`.
        """
        if reserve is not None:
            reject("shading_curve", "reserve", "left out in tenders", reserve)
        found = super().shading_curve(values, reserve=None, **classes)
        bids, high, low = (
            self._asks(found.values, one) for one in (found.bids, found.low, found.high)
        )
        return replace(found, bids=bids, low=low, high=high)

    def _asks(self, cost: Any, amounts: Any) -> Any:
        """Return the bids of tenders that amounts of auctions stand for."""
        return cost + self.max_markup * (cost - amounts)

    def _mirrored(self, costs: Any, amounts: Any) -> Any:
        """Return amounts of tenders as those of auctions; None remains None, NaN remains NaN."""
        if amounts is None:
            return None
        given, spent = (as_array("settle", "amounts", "amounts", a) for a in (amounts, costs))
        try:
            given, spent = given.astype(float), spent.astype(float)
        except (TypeError, ValueError):
            given = np.array(-1.0)
        if (given < 0.0).any():
            expected = "amounts of at least 0"
            reject("settle", "bid", expected, amounts, error=InvalidLossesError)
        found = mirrored(spent, given, self.max_markup)
        return found if found.ndim else float(found)

    def _inner(self, made: Bid) -> Bid:
        """Return a bid as that of an auction."""
        amount, reserve = (self._mirrored(made.value, one) for one in (made.amount, made.reserve))
        return replace(made, amount=amount, reserve=reserve)

    @contextmanager
    def _in_words(self, given: str) -> Iterator[None]:
        """Say what is wrong with outcomes in the words and amounts of tenders."""
        try:
            yield
        except InvalidLossesError as error:
            rows = getattr(error, "rows", ())
            where = f", rows {', '.join(map(str, rows[:_SHOWN]))}" if rows else ""
            text = (
                f"The outcome is incomplete or contradicts itself: {given}{where}. The lowest bid "
                "wins if it is at most the reserve. Give the lowest competing bid where the "
                f"feedback {self.feedback!r} tells it: 0 if nobody else bid, math.nan if it is not "
                "known for once. Nothing was learned."
            )
            raise because_of(rows, InvalidLossesError(text)) from error
