"""What is placed is not always the bid, prices are not always told, and others bid as well."""

import math
from typing import Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidLossesError, InvalidParameterError
from crossbandit.limits import Budget, CostPer


def _bidder(**settings: object) -> FirstPriceBidder:
    given: dict[str, Any] = {"bids": 101, "value_range": (0, 10), "seed": 1, **settings}
    return FirstPriceBidder(**given)


def _same(one: FirstPriceBidder, other: FirstPriceBidder) -> None:
    mine, theirs = one.learner.law.state, other.learner.law.state
    for name in ("told", "hidden", "law", "weights"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_a_placed_amount_counts_as_if_somebody_else_had_bid_it(feedback: str) -> None:
    settled, many, observed = (_bidder(feedback=feedback) for _ in range(3))
    rng = np.random.default_rng(0)
    values, prices = rng.uniform(5, 10, 300), rng.uniform(1, 6, 300)
    made = [settled.bid(value) for value in values]
    batch = many.bid_many(values)
    placed = np.round(np.array([float(bid) for bid in made]) * 0.83 + 0.01, 4)
    won = placed >= prices
    told = {"after-loss": ~won, "after-win": won, "always": won | ~won, "won-lost": won & ~won}
    shown = np.where(told[feedback], prices, np.nan)
    for i, bid in enumerate(made):
        price = None if np.isnan(shown[i]) else float(shown[i])
        settled.settle(bid, won=bool(won[i]), highest_competing_bid=price, placed=placed[i])
        observed.observe(values[i], bid=placed[i], won=bool(won[i]), highest_competing_bid=price)
    many.settle_many(batch, won=won, highest_competing_bid=shown, placed=placed)
    _same(settled, observed)
    _same(settled, many)


def test_one_auction_is_observed_as_a_column_of_one_is() -> None:
    one, column = _bidder(classes=("site",)), _bidder(classes=("site",))
    one.observe(8, bid=3.3, won=False, highest_competing_bid=4.0, site="a")
    one.observe(6, bid=3.0, won=True, site="b")
    column.warm_up([8.0, 6.0], [4.0, np.nan], bids=[3.3, 3.0], won=[False, True], site=["a", "b"])
    _same(one, column)
    assert one.bid(8.0, site="a").amount is not None


def test_a_placed_amount_is_checked() -> None:
    bidder = _bidder()
    bid = bidder.bid(8.0)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidLossesError, match="placed"):
            bidder.settle(bid, won=True, placed=wrong)
    with pytest.raises(InvalidLossesError, match="bid of 2 contradicts itself"):
        bidder.settle(bid, won=True, highest_competing_bid=3.0, placed=2.0)
    nothing = bidder.bid(0.0)
    with pytest.raises(InvalidLossesError, match="no bid was made"):
        bidder.settle(nothing, won=False, placed=2.0)
    limited = _bidder(budget=Budget(100, per=100))
    batch = limited.bid_many([8.0])
    with pytest.raises(InvalidLossesError, match="use settle"):
        limited.settle_many(batch, won=[True], placed=[2.0])
    bidder.settle(bid, won=True, placed=2.0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_limits_pay_what_was_placed(factor: float) -> None:
    bidder = _bidder(budget=Budget(1_000, per=100), target=CostPer(9.0))
    paid = 0.0
    for i in range(40):
        bid = bidder.bid(9.0)
        if bid.amount is None:
            continue
        placed, won = round(bid.amount * factor, 2), i % 2 == 0
        price = None if won else placed + 1.0
        bidder.settle(bid, won=won, highest_competing_bid=price, placed=placed)
        paid += placed if won else 0.0
    assert paid > 0.0
    for limit in bidder.limits:
        assert float(limit.spent) == pytest.approx(paid, abs=1e-6)
        assert float(limit.reserved) == pytest.approx(0.0, abs=1e-9)


def test_a_placed_win_above_the_budget_is_paid_and_stops_the_bidder() -> None:
    bidder = _bidder(budget=Budget(20, per=100))
    bid = bidder.bid(9.0)
    bidder.settle(bid, won=True, placed=30.0)
    assert float(bidder.limits[0].spent) == pytest.approx(30.0)
    assert bidder.bid(9.0).amount is None


@pytest.mark.parametrize("ties", ["win", "lose"])
@pytest.mark.parametrize("feedback", ["after-loss", "always", "after-win"])
def test_prices_that_are_not_told_by_chance_change_little(feedback: str, ties: str) -> None:
    told, sometimes = (_bidder(feedback=feedback, ties=ties) for _ in range(2))
    rng = np.random.default_rng(3)
    for value, price in rng.uniform([6, 1], [10, 6], (1_500, 2)):
        silent = rng.random() < 0.2
        for bidder in (told, sometimes):
            bid = bidder.bid(value)
            assert bid.amount is not None
            won = bid.amount >= price
            shown = {"after-loss": not won, "after-win": won, "always": True}[feedback]
            known = price if shown else None
            if shown and silent and bidder is sometimes:
                known = math.nan
            bidder.settle(bid, won=won, highest_competing_bid=known)
    chances = [bidder.price_law(8.0).chances for bidder in (told, sometimes)]
    played = slice(25, 60)
    np.testing.assert_allclose(chances[0][played], chances[1][played], atol=0.1)
    dropped = np.abs(np.mean(chances[0][played] - chances[1][played]))
    assert dropped < 0.03


def test_only_a_law_takes_amounts_that_it_did_not_choose() -> None:
    from crossbandit import CrossGraphAdaptive

    bidder = _bidder(algorithm=CrossGraphAdaptive(), bids=11)
    bid = bidder.bid(8.0)
    if bid.amount is not None:
        with pytest.raises(InvalidLossesError, match="placed"):
            bidder.settle(bid, won=True, placed=2.0)
    with pytest.raises(InvalidParameterError):
        bidder.observe(8.0, bid=2.0, won=True)
