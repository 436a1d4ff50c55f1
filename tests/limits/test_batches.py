"""Batches under limits are the same as bids and outcomes one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.bidding.bids import first_key
from crossbandit.core.steps import at_once
from crossbandit.errors import InvalidContextError, LearnedBeforeError
from crossbandit.limits import Budget, CostPer, Pacer, ReturnOnSpend
from crossbandit.limits.state import LOG

GRID = [round(0.05 * i, 2) for i in range(21)]
LIMITS: dict[str, dict[str, Any]] = {
    "per day": {"budget": Budget(6, per="day")},
    "per auctions": {"budget": [Budget(2, per=70), Budget(5, per="hour")], "expires": 900.0},
    "budget and targets": {
        "budget": Budget(8, per=400),
        "target": [ReturnOnSpend(2.0), CostPer(0.3)],
        "expires": 500.0,
    },
    "lists of classes": {"budget": Budget(6, per="day"), "classes": ("site",)},
    "asap": {"budget": Budget(1, per="day", pacing="asap"), "feedback": "won-lost"},
}


def told(bidder: FirstPriceBidder, price: float, *, won: bool) -> float | None:
    return price if bidder.feedback == "after-loss" and not won else None


@pytest.mark.parametrize("name", LIMITS)
def test_a_batch_is_the_same_as_bids_one_by_one(name: str) -> None:
    """Batches of up to 60 auctions, some below the reserve price; outcomes late, some lost."""
    settings = {"bids": GRID, "value_range": (0, 1), "seed": 1, **LIMITS[name]}
    single, many = FirstPriceBidder(**settings), FirstPriceBidder(**settings)
    rng = np.random.default_rng(4)
    waiting: list[tuple[Any, Any, float]] = []
    refused = placed = 0
    for step in range(12):
        count, at = int(rng.integers(0, 60)), 1e9 + 400.0 * step
        values = rng.uniform(0, 1, count)
        reserves = np.where(rng.random(count) < 0.3, 0.3, np.nan)
        prices = rng.uniform(0, 0.5, count)
        sites = rng.integers(0, 3, count)
        given: Any = {"site": sites} if "classes" in settings else {}
        batch = many.bid_many(values, reserve=reserves, at=at, **given)
        for i in range(count):
            floor = None if np.isnan(reserves[i]) else float(reserves[i])
            label = {"site": int(sites[i])} if given else {}
            one: Any = single.bid(float(values[i]), reserve=floor, at=at, **label)
            other: Any = batch[i]
            assert (one.amount, one.reason, one.value) == (other.amount, other.reason, other.value)
            if one.amount is None:
                refused += one.reason is not None
                continue
            placed += 1
            assert one.decision.round == other.decision.round
            assert one.decision.score == other.decision.score
            if rng.random() < 0.9:  # the others are lost
                waiting.append((one, other, float(prices[i])))
        assert_same(single, many)
        rng.shuffle(waiting)
        due, waiting = waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]
        won = [
            one.amount >= max(price, one.reserve or 0) and one.amount > 0 for one, _, price in due
        ]
        shown = [told(many, price, won=w) for (_, _, price), w in zip(due, won, strict=True)]
        for (one, _, _), w, price in zip(due, won, shown, strict=True):
            single.settle(one, won=w, highest_competing_bid=price)
        column = np.array([np.nan if one is None else one for one in shown])
        many.settle_many(
            [bid for _, bid, _ in due], won=np.array(won, bool), highest_competing_bid=column
        )
        assert_same(single, many)
    assert placed > 2
    assert refused > 0 or name == "lists of classes"


def assert_same(single: FirstPriceBidder, many: FirstPriceBidder) -> None:
    """Compare the limits; keys count from what is the bidder's own."""
    one, other = (bidder.spending.pacer.freeze()() for bidder in (single, many))  # type: ignore[union-attr]
    for arrays, bidder in ((one, single), (other, many)):
        arrays["keys"] = arrays["keys"] - first_key(bidder.learner.id)
        assert ((arrays["keys"] >= 0) & (arrays["keys"] < bidder.learner.round)).all()
        arrays["firsts"] = arrays["firsts"] - first_key(bidder.learner.id)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_a_part_of_a_batch_keeps_its_reasons() -> None:
    bidder = FirstPriceBidder(
        bids=GRID,
        value_range=(0, 1),
        seed=1,
        budget=Budget(0.3, per="day", pacing="asap", worst_case=0),
    )
    batch = bidder.bid_many(np.full(20, 0.9), at=1e9)
    assert np.nansum(batch.amounts) <= 0.3 + 1e-12
    last = batch.part([18, 19])[1]
    assert last.amount is None
    assert last.reason == batch[19].reason
    assert str(last.reason).startswith(
        "The budget of 0.3 per day leaves 0 to bid at a value of 0.9"
    )


def test_a_lost_bid_that_was_lowered_moves_the_multiplier_by_what_was_wanted() -> None:
    """It is told that 0.3 would have won. So the target knows that the 0.35 wanted would have."""
    pacers = [Pacer(np.array(GRID), [ReturnOnSpend(2.0)], value_range=(0, 1)) for _ in range(3)]
    for pacer in pacers:
        pacer.open(0.5, 1e9, 0, 20)
        pacer.reserve(7, 0.5, 5, 7)
    one, many, unknown = pacers
    one.settle(7, 0.5, 0.25, won=False, least=0.3)
    for pacer, least in ((many, 0.3), (unknown, np.inf)):
        columns = (np.array([0.5]), np.array([0.25]), np.array([False]), np.array([least]))
        at_once(*pacer.settled_many(np.array([7]), *columns))
    logs = [pacer.state.duals[0, LOG] for pacer in pacers]
    assert logs[0] == logs[1] < logs[2]


@pytest.mark.parametrize("settings", [{}, {"budget": Budget(50, per="day")}])
@pytest.mark.parametrize("repeated", [[0, 1, 2, 2], [0, 1, 2, 4]])
def test_nothing_is_learned_from_a_guarded_batch_with_a_bid_that_counts_twice(
    settings: dict[str, Any], repeated: list[int]
) -> None:
    bidder = FirstPriceBidder(bids=11, value_range=(0, 10), guarded=True, seed=1, **settings)
    bids = [bidder.bid(8.0) for _ in range(5)]
    bidder.settle(bids[4], won=False, highest_competing_bid=9.0)
    before = bidder.pending, bidder.limits
    given = [bids[i] for i in repeated]
    with pytest.raises(LearnedBeforeError, match="twice"):
        bidder.settle_many(given, won=[False] * 4, highest_competing_bid=[9.0] * 4)
    assert (bidder.pending, bidder.limits) == before
    bidder.settle_many(bids[:4], won=[False] * 4, highest_competing_bid=[9.0] * 4)
    assert bidder.pending == 0


def test_a_batch_of_no_auctions_has_no_labels() -> None:
    bidder = FirstPriceBidder(bids=GRID, value_range=(0, 1), seed=1, **LIMITS["lists of classes"])
    assert len(bidder.bid_many([], site=[])) == 0
    assert len(bidder.bid_many([], site="a")) == 0
    bidder.settle_many(bidder.bid_many([], site=np.array([])), won=[], highest_competing_bid=[])
    with pytest.raises(InvalidContextError, match="0 labels"):
        bidder.bid_many([], site=["a"])
