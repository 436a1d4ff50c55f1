"""No bid is one thing: the amount is None, a reason says why, and there is nothing to settle."""

import json
from typing import Any

import numpy as np
import pytest

from crossbandit import CrossGraphAdaptive
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.bidding.auctions import FEEDBACK
from crossbandit.errors import DecisionError, InvalidLossesError, LearnedBeforeError
from crossbandit.limits import Budget, ReturnOnSpend

START = 1_600_000_000.0
BUDGET = Budget(300, per="day")
KINDS: dict[str, dict[str, Any]] = {
    **{feedback: {"feedback": feedback} for feedback in FEEDBACK},
    "equal bids lose": {"ties": "lose"},
    "guarded": {"guarded": True},
    "budget": {"budget": BUDGET},
    "target": {"target": ReturnOnSpend(2.0)},
    "guarded, budget": {"guarded": True, "budget": BUDGET},
}


def bidder(**settings: Any) -> FirstPriceBidder:
    return FirstPriceBidder(**{"bids": 41, "value_range": (0, 10), "seed": 7, **settings})


def auctions(count: int, seed: int = 0) -> list[tuple[float, float]]:
    """Return values, many of them low, and prices."""
    rng = np.random.default_rng(seed)
    values, prices = rng.uniform(0, 10, count) ** 2 / 10, 8 * rng.beta(2, 5, count)
    return list(zip(values.tolist(), prices.tolist(), strict=True))


def outcome(own: FirstPriceBidder, amount: float, price: float) -> dict[str, Any]:
    won = bool(own.rules.wins(amount, price))
    told = {"always": True, "after-loss": not won, "after-win": won, "won-lost": False}
    return {"won": won, "highest_competing_bid": price if told[own.feedback] else None}


@pytest.mark.parametrize("kind", KINDS)
def test_auctions_without_a_bid_are_never_settled(kind: str) -> None:
    own = bidder(**KINDS[kind])
    now = [START]
    learner = own.learner
    learner.clock = learner.seen.clock = learner.watch.clock = lambda: now[0]
    silent = 0
    for value, price in auctions(1_500):
        now[0] += 60.0
        bid = own.bid(value, at=now[0])
        assert (bid.amount is None) == (bid.reason is not None)
        if bid.amount is None:
            silent += 1
            with pytest.raises(DecisionError, match="nothing to settle: no bid was made"):
                _ = bid.token
        else:
            assert bid.amount > 0
            own.settle(bid, **outcome(own, bid.amount, price))
    assert silent > 150
    assert own.pending == 0
    assert own.rounds == 1_500 - silent
    assert own.missing_outcomes.share == 0.0
    assert own.missing_outcomes.verdict == "no sign"
    if own.limits:
        assert own.limits[0].reserved == 0
        assert own.state()["limits.keys"].size == 0
        reserved = own.spending.pacer.reserved  # type: ignore[union-attr]
        assert len(reserved.free) + 1 == len(reserved.table.held)  # one row is for the next bid


@pytest.mark.parametrize("kind", KINDS)
def test_settling_what_was_not_bid_changes_nothing(kind: str) -> None:
    own = bidder(**KINDS[kind])
    bid = own.bid(0.1, at=START)
    before = own.policy(9.0)
    own.settle(bid, won=False)
    own.settle(bid, won=False)
    assert own.learner.law.rounds == 0
    np.testing.assert_array_equal(own.policy(9.0), before)
    with pytest.raises(InvalidLossesError, match="No bid was made, so it cannot have won"):
        own.settle(bid, won=True)
    assert Bid.from_json(json.loads(json.dumps(bid.to_json()))).to_json() == bid.to_json()


def test_a_price_that_is_told_without_a_bid_is_learned_once() -> None:
    own = bidder(feedback="always")
    bid = own.bid(0.1)
    assert bid.amount is None
    own.settle(bid, won=False, highest_competing_bid=3.0)
    assert own.learner.law.rounds == 1
    assert own.pending == 0
    with pytest.raises(LearnedBeforeError):
        own.settle(bid, won=False, highest_competing_bid=3.0)
    again = Bid.from_json(json.loads(json.dumps(own.bid(0.1).to_json())))
    own.settle(again, won=False, highest_competing_bid=3.0)
    assert own.learner.law.rounds == 2
    batch = own.bid_many([0.1, 9.0, 0.1])
    own.settle_many(batch, won=[0, 0, 0], highest_competing_bid=[3.0, 9.5, np.nan])
    assert own.learner.law.rounds == 4
    with pytest.raises(LearnedBeforeError, match="Row 0 of 2 has"):
        own.settle_many(batch.part([0, 2]), won=[0, 0], highest_competing_bid=[3.0, 3.0])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "guarded" not in kind])
def test_a_batch_has_no_bid_where_single_calls_have_none(kind: str) -> None:
    one, many = bidder(**KINDS[kind]), bidder(**KINDS[kind])
    rows = auctions(600)
    for start in range(0, len(rows), 60):
        part, now = rows[start : start + 60], START + 60 * start
        singles = [one.bid(value, at=now) for value, _ in part]
        batch = many.bid_many([value for value, _ in part], at=now)
        assert [bid.amount for bid in batch] == [bid.amount for bid in singles]
        assert [bid.reason for bid in batch] == [bid.reason for bid in singles]
        assert [bid.reason is None for bid in batch] == (batch.amounts > 0).tolist()
        assert [token is None for token in batch.tokens] == np.isnan(batch.amounts).tolist()
        made = [
            outcome(one, float(bid), price) for bid, (_, price) in zip(batch, part, strict=True)
        ]
        for bid, shown in zip(singles, made, strict=True):
            if bid.amount is not None:
                one.settle(bid, **shown)
        prices = [shown["highest_competing_bid"] for shown in made]
        silent = np.isnan(batch.amounts)
        told = np.where(silent, np.nan, np.array(prices, dtype=float))
        many.settle_many(batch, won=[shown["won"] for shown in made], highest_competing_bid=told)
    np.testing.assert_allclose(one.policy(9.0), many.policy(9.0), atol=1e-12)
    assert (many.pending, many.rounds) == (0, one.rounds)


def test_the_reason_says_why() -> None:
    own = bidder()
    assert own.bid(0.1).reason == "The lowest bid above 0, 0.25, is above the value, 0.1."
    assert own.bid(3.0, reserve=4.0).reason == (
        "No bid lies between the reserve price, 4, and the value, 3."
    )
    high = bidder(max_bid=2.0, at_most_value=False)
    assert high.bid(3.0, reserve=4.0).reason == (
        "The highest bid, 2, is below the reserve price, 4."
    )
    assert own.bid(0.25).reason == "At a value of 0.25, the learner chose not to bid."


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_the_law_need_not_learn_that_no_bid_wins_nothing(feedback: str) -> None:
    """It is never told so. It bids wherever a bid can earn anything."""
    own = bidder(bids=11, feedback=feedback)
    for value, price in auctions(1_000):
        bid = own.bid(value)
        assert (bid.amount is None) == (value <= 1.0)
        if bid.amount is not None:
            own.settle(bid, **outcome(own, bid.amount, price))
    assert own.policy(1.5)[0] == 0.0
    assert own.price_law(1.5).chances[0] == 0.0


def test_an_algorithm_that_is_told_nothing_after_a_loss_needs_no_settling() -> None:
    """What not to bid earns is known: the algorithm has learned it when `bid` returns."""
    for feedback in ("won-lost", "after-win"):
        own = bidder(feedback=feedback, algorithm=CrossGraphAdaptive())
        silent = 0
        for value, price in auctions(400):
            bid = own.bid(value)
            if bid.amount is None:
                silent += 1
                own.settle(bid, won=False)
            else:
                own.settle(bid, **outcome(own, bid.amount, price))
        own.bid_many([0.1, 0.1])
        assert silent > 20
        assert (own.pending, own.rounds) == (0, 402)


def test_an_algorithm_may_be_told_a_price_without_a_bid() -> None:
    own = bidder(algorithm=CrossGraphAdaptive())
    bid = own.bid(0.1)
    own.settle(bid, won=False)
    assert own.pending == 1
    own.settle(bid, won=False, highest_competing_bid=3.0)
    assert own.pending == 0
    batch = own.bid_many([0.1, 0.1])
    own.settle_many(batch, won=[0, 0], highest_competing_bid=[3.0, np.nan])
    assert own.pending == 1
