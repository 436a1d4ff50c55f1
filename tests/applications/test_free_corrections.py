"""Outcomes that a bidder without a grid takes back, before and after its grid was laid again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.core.types import Feedback
from crossbandit.errors import DecisionError

if TYPE_CHECKING:
    from crossbandit.applications.bidding.bids import Bid

FEEDBACK = ("after-loss", "after-win", "always", "won-lost")
AT = 1_700_006_400.0


def told(feedback: str, price: float, *, won: bool) -> float | None:
    tells = {"always": True, "won-lost": False, "after-loss": not won, "after-win": won}
    return price if tells[feedback] else None


def settle(bidder: FirstPriceBidder, bid: Bid, price: float, **given: Any) -> None:
    won = (bid.amount or 0.0) >= price
    given |= {"won": won, "highest_competing_bid": told(bidder.feedback, price, won=won)}
    bidder.settle(bid, **given)


def made(bidder: FirstPriceBidder, count: int, seed: int) -> list[tuple[Bid, float]]:
    """Bids in auctions, each with a price."""
    noise = np.random.default_rng(seed).standard_normal((2, count))
    values = np.exp(noise[0])
    prices = 0.5 * values * np.exp(0.3 * noise[1])
    sites = ["a" if one > 0 else "b" for one in noise[1]]
    bids = bidder.bid_many(values, at=AT, **({"site": sites} if bidder.classes else {}))
    return list(zip(bids, prices.tolist(), strict=True))


@pytest.mark.parametrize("limits", [{}, {"budget": 1e5}])
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("counts", [(40, 30), (300, 90)])
def test_a_corrected_outcome_is_as_if_it_had_been_right_at_first(
    feedback: Feedback, counts: tuple[int, int], limits: dict[str, Any]
) -> None:
    """When the grid is laid next, all rounds that are kept are learned again."""
    before, total = counts[0], sum(counts)
    laid = 1 << (total - 1).bit_length()
    bidders, turned = [], range(5, before, 7)
    for is_wrong in (True, False):
        bidder = FirstPriceBidder(feedback=feedback, classes=("site",), seed=1, **limits)
        first, others = made(bidder, before, seed=3), made(bidder, laid - before, seed=4)
        for i, (bid, price) in enumerate(first):
            own = bid.amount or 0.0
            opposite = 2.0 * own if own >= price else 0.5 * own
            settle(bidder, bid, opposite if is_wrong and i in turned else price)
        for bid, price in others[: counts[1]]:
            settle_at(bidder, bid, price, 0.4 * bid.value)
        for i in turned if is_wrong else ():
            settle(bidder, *first[i], correction=True)
        for bid, price in others[counts[1] :]:
            settle_at(bidder, bid, price, 0.4 * bid.value)
        bidders.append(bidder)
    assert [one.spent for one in bidders[0].limits] == [one.spent for one in bidders[1].limits]
    for name, part in bidders[1].learner.law.arrays().items():
        np.testing.assert_array_equal(part, bidders[0].learner.law.arrays()[name], err_msg=name)


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_a_correction_moves_one_count_where_the_grid_stays(feedback: Feedback) -> None:
    counts, wrong = [], np.zeros(0)
    for is_wrong in (True, False):
        bidder = FirstPriceBidder(feedback=feedback, seed=1)
        first, others = made(bidder, 2060, seed=3), made(bidder, 150, seed=4)
        for bid, price in first:
            settle_at(bidder, bid, price, 0.5 * bid.value)
        for bid, price in others:
            opposite = 2.0 * price if (bid.amount or 0.0) >= price else 0.5 * price
            settle(bidder, bid, opposite if is_wrong else price)
        if is_wrong:
            wrong = bidder.learner.law.state.told[0].copy()
            for bid, price in others:
                settle(bidder, bid, price, correction=True)
        state = bidder.learner.law.state
        counts.append((state.grid, state.told[0], state.hidden[0], state.kept))
    for one, other in zip(*counts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (wrong != counts[0][1]).any()


def settle_at(bidder: FirstPriceBidder, bid: Bid, price: float, amount: float) -> None:
    """Settle a bid of which another amount was placed."""
    won = amount >= price
    price_told = told(bidder.feedback, price, won=won)
    bidder.settle(bid, won=won, highest_competing_bid=price_told, placed=amount)


def test_a_win_that_was_none_gives_its_money_back_also_long_after() -> None:
    bidder = FirstPriceBidder(feedback="always", classes=("site",), budget=1e5, seed=1)
    first = made(bidder, 2, seed=6)
    for bid, _ in first:
        bidder.settle(bid, won=True, highest_competing_bid=0.001)
    spent = bidder.limits[0].spent
    many = bidder.bid_many(np.full(2200, 2.0), at=AT, site="a")
    bidder.settle_many(
        many, won=np.zeros(2200, dtype=bool), highest_competing_bid=np.full(2200, 2.5)
    )
    assert bidder.limits[0].spent == spent
    for bid, _ in first:
        bidder.settle(bid, won=False, highest_competing_bid=9.0, correction=True)
        bidder.settle(bid, won=False, highest_competing_bid=9.0, correction=True)
    assert bidder.limits[0].spent == 0


def test_an_outcome_that_is_not_kept_any_more_cannot_be_taken_back() -> None:
    bidder = FirstPriceBidder(feedback="always", classes=("site",), seed=1)
    ((bid, price),) = made(bidder, 1, seed=6)
    settle(bidder, bid, price)
    bidder.observe([1.0] * 2048, highest_competing_bid=[0.5] * 2048, site=["a"] * 2048)
    with pytest.raises(DecisionError, match="latest 2048"):
        settle(bidder, bid, price, correction=True)


def test_a_number_that_was_wrong_is_replaced() -> None:
    bidder = FirstPriceBidder(feedback="always", seed=1)
    bids = [bidder.bid(1.0) for _ in range(60)]
    for bid in bids:
        bidder.settle(bid, won=False, highest_competing_bid=0.99)
    for bid in bids:
        won = (bid.amount or 0.0) >= 0.3
        bidder.settle(bid, won=won, highest_competing_bid=0.3, correction=True)
    assert bidder.price_law(1.0).quantile(0.5) == pytest.approx(0.3, rel=0.05)
    assert bidder.learner.law.rounds == 60
    with pytest.raises(DecisionError, match="not learned from"):
        bidder.settle(bidder.bid(1.0), won=True, highest_competing_bid=0.1, correction=True)
    assert math.isfinite(bidder.bid(1.0).amount or math.nan)
