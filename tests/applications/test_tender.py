"""Tenders: the lowest bid wins and is paid; an exact mirror of first-price auctions."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crossbandit.applications import FirstPriceBidder, TenderBidder
from crossbandit.core.types import Feedback
from crossbandit.errors import InvalidContextError, InvalidLossesError, InvalidParameterError
from crossbandit.logs import AuctionLog


def tenders(count: int, seed: int = 0) -> Iterator[tuple[float, float]]:
    """Yield costs over two orders of magnitude, and the lowest bids of the others."""
    rng = np.random.default_rng(seed)
    for cost in np.exp(rng.normal(4.0, 1.5, count)).tolist():
        yield cost, cost * float(rng.uniform(0.9, 1.6))


def settle(bidder: TenderBidder, bid: Any, cost: float, other: float) -> float:
    """Tell a bidder what its feedback tells."""
    won = bid.amount <= other
    told = {"after-loss": not won, "after-win": won, "always": True, "won-lost": False}
    price = other if told[bidder.feedback] else None
    bidder.settle(bid, won=won, lowest_competing_bid=price)
    return float((bid.amount - cost) * won)


@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
@pytest.mark.parametrize("markup", [0.5, 1.0, 3.0])
def test_bids_are_those_of_an_auction_mirrored_at_the_cost(
    feedback: Feedback, markup: float
) -> None:
    bidder = TenderBidder(max_markup=markup, feedback=feedback, seed=1)
    other = FirstPriceBidder(feedback=feedback, seed=1)
    for cost, price in tenders(300):
        bid: Any = bidder.bid(cost)
        mirrored: Any = other.bid(cost)
        assert cost <= bid.amount <= (1 + markup) * cost * (1 + 1e-12)
        assert bid.amount == pytest.approx(cost + markup * (cost - mirrored.amount))
        least = max(cost - (price - cost) / markup, 0.0)
        won = bid.amount <= price
        assert won == (mirrored.amount >= least)
        settle(bidder, bid, cost, price)
        told = {"after-loss": not won, "after-win": won, "always": True, "won-lost": False}
        shown = least if told[feedback] else None
        amount = cost - (bid.amount - cost) / markup  # the same but for rounding
        assert amount == pytest.approx(mirrored.amount)
        other.settle(mirrored, won=won, highest_competing_bid=shown, placed=amount)


def test_it_earns_most_of_what_the_best_markup_earns() -> None:
    bidder, earned, markups = TenderBidder(seed=1), 0.0, np.linspace(0.05, 0.6, 23)
    fixed = np.zeros(markups.size)
    for cost, other in tenders(6_000):
        earned += settle(bidder, bidder.bid(cost), cost, other)
        fixed += markups * cost * ((1 + markups) * cost <= other)
    assert earned > 0.9 * fixed.max()


def test_a_reserve_is_the_highest_bid_that_can_win() -> None:
    bidder = TenderBidder(seed=1)
    for cost, other in tenders(200):
        bid: Any = bidder.bid(cost, reserve=1.05 * cost)
        assert cost <= bid.amount <= 1.05 * cost
        assert bid.reserve == 1.05 * cost
        settle(bidder, bid, cost, other)
    none = bidder.bid(80.0, reserve=70.0)
    assert none.amount is None
    assert none.reason == "No bid lies between the cost, 80, and the highest, 70."
    bid = bidder.bid(80.0)
    bidder.settle(bid, won=False, lowest_competing_bid=0.0, reserve=bid.amount - 1.0)


def test_bids_are_whole_ticks_between_the_cost_and_the_highest() -> None:
    bidder = TenderBidder(tick_size=0.25, seed=1)
    for cost, other in tenders(200):
        bid: Any = bidder.bid(cost)
        if bid.amount is not None:
            assert bid.amount % 0.25 == 0
            assert cost <= bid.amount <= 2 * cost
            settle(bidder, bid, cost, other)
    assert bidder.bid(0.1).amount is None  # no tick from 0.1 to 0.2


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    one, many = (TenderBidder(classes=("buyer",), seed=1) for _ in range(2))
    known = list(tenders(60))
    for start in range(0, 60, 20):
        costs, others = np.array(known[start : start + 20]).T
        bids = many.bid_many(costs, buyer="city")
        won = bids.amounts <= others
        single = [one.bid(cost, buyer="city") for cost in costs]
        assert [bid.amount for bid in single] == bids.amounts.tolist()
        many.settle_many(bids, won=won, lowest_competing_bid=np.where(won, np.nan, others))
        for bid, cost, other in zip(single, costs, others, strict=True):
            settle(one, bid, cost, other)
    assert one.bid(50.0, buyer="city").amount == many.bid(50.0, buyer="city").amount


def test_rows_that_contradict_are_named() -> None:
    bidder = TenderBidder(seed=1)
    bids = bidder.bid_many([10.0, 20.0, 30.0])
    with pytest.raises(InvalidLossesError, match=r"3 bids, rows 1\. The lowest bid wins") as found:
        bidder.settle_many(bids, won=[False] * 3, lowest_competing_bid=[9.0, 99.0, 29.0])
    assert found.value.rows == (1,)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ({"won": True, "lowest_competing_bid": 8.0}, "won=True, lowest_competing_bid=8.0"),
        ({"won": False, "lowest_competing_bid": 99.0}, "won=False, lowest_competing_bid=99.0"),
        ({"won": False}, "feedback 'after-loss' tells it"),
        ({"won": False, "lowest_competing_bid": -1.0}, "lowest_competing_bid=-1.0"),
        ({"won": False, "lowest_competing_bid": "nine"}, "lowest_competing_bid=nine"),
    ],
)
def test_contradictions_are_said_in_the_amounts_of_the_tender(
    outcome: dict[str, Any], said: str
) -> None:
    bidder = TenderBidder(seed=1)
    bid: Any = bidder.bid(10.0)
    with pytest.raises(InvalidLossesError, match=r"cost=10\.0") as found:
        bidder.settle(bid, **outcome)
    assert said in str(found.value)
    bidder.settle(bid, won=False, lowest_competing_bid=9.0)  # nothing was learned before


def test_zero_means_that_nobody_else_has_bid() -> None:
    bidder = TenderBidder(feedback="always", seed=1)
    for _ in range(300):
        bidder.settle(bidder.bid(10.0), won=True, lowest_competing_bid=0.0)
    assert bidder.shading_curve([10.0]).bids[0] > 19.0


def test_it_goes_on_after_tokens_files_and_snapshots() -> None:
    bidder = TenderBidder(max_markup=0.5, tick_size=0.5, classes=("buyer",), seed=1)
    for cost, other in tenders(50):
        bid: Any = bidder.bid(cost, buyer="rail")
        if bid.amount is not None:
            won = bid.amount <= other
            bidder.settle(bid.token, won=won, lowest_competing_bid=None if won else other)
    file = io.BytesIO()
    bidder.save(file)
    file.seek(0)
    loaded = TenderBidder.load(file)
    assert loaded.settings() == bidder.settings()
    snapshot = TenderBidder.from_bytes(bidder.snapshot().to_bytes(), seed=3)
    bid = snapshot.bid(60.0, buyer="rail")
    assert 60.0 <= bid.amount <= 90.0
    bidder.settle(bid, won=False, lowest_competing_bid=59.0)
    assert loaded.bid(70.0, buyer="rail").amount == bidder.bid(70.0, buyer="rail").amount


def test_what_it_shows_is_in_the_amounts_of_tenders() -> None:
    bidder = TenderBidder(classes=("buyer",), feedback="always", seed=1)
    rng = np.random.default_rng(0)
    costs, buyers = rng.uniform(50, 100, 3_000), rng.choice(["near", "far"], 3_000)
    others = costs * np.where(buyers == "far", 1.5, 1.2) * rng.uniform(0.98, 1.02, 3_000)
    bidder.observe(costs, lowest_competing_bid=others, buyer=buyers)
    explained = bidder.explain(60.0, buyer="far")
    assert 84.0 < explained.bid < 91.0
    assert bidder.explain(60.0, buyer="near").moved["buyer"][1] < -5.0  # others bid less there
    law = bidder.price_law(60.0, buyer="near")
    assert 69.0 < law.quantile(0.5) < 75.0
    assert np.all(np.diff(law.amounts) < 0)
    curve = bidder.shading_curve([60.0], buyer="far")
    assert curve.low[0] <= curve.bids[0] <= curve.high[0]
    assert curve.bids[0] == pytest.approx(explained.bid, rel=0.1)


def test_it_learns_from_what_others_have_bid_and_from_logs() -> None:
    cost, other = np.array(list(tenders(400))).T
    frame = pd.DataFrame({"cost": cost, "other": other, "ours": 1.2 * cost})
    frame["won"] = frame["ours"] <= frame["other"]
    columns = {"value": "cost", "price": "other", "bid": "ours", "won": "won"}
    for markup in (0.5, 2.0):
        log = AuctionLog(frame, columns=columns, lowest_wins=True, max_markup=markup)
        fitted = TenderBidder.fit(log, feedback="after-loss", seed=1)
        one, two = (TenderBidder(max_markup=markup, seed=1) for _ in range(2))
        told = np.where(frame["won"], np.nan, other)
        one.observe(cost, bid=1.2 * cost, won=frame["won"], lowest_competing_bid=told)
        two.warm_up(cost, told, bids=1.2 * cost, won=frame["won"])
        amounts = [bidder.bid(60.0).amount for bidder in (fitted, one, two)]
        assert amounts == pytest.approx([amounts[0]] * 3)
    with pytest.raises(InvalidParameterError, match="lowest_wins=True"):
        TenderBidder.fit(AuctionLog(frame, columns=columns), seed=1)


@pytest.mark.parametrize("name", ["budget", "target", "campaigns"])
def test_limits_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{name}'.*the winner of a tender is paid"):
        TenderBidder(seed=1, **{name: 5})  # type: ignore[arg-type]


def test_what_is_not_possible_is_refused() -> None:
    with pytest.raises(TypeError, match="no parameter 'bids'"):
        TenderBidder(bids=5, seed=1)
    with pytest.raises(InvalidParameterError, match="max_markup"):
        TenderBidder(max_markup=0.0, seed=1)
    bidder = TenderBidder(seed=1)
    with pytest.raises(InvalidContextError, match="cost"):
        bidder.bid(-1.0)
    with pytest.raises(InvalidParameterError, match="left out in tenders"):
        bidder.shading_curve([5.0], reserve=3.0)
