"""A guarded law under limits: one log in compiled code, and the same bids one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.algorithms.learners.decisions import Decision, GuardPart
from crossbandit.applications import FirstPriceBidder
from crossbandit.laws import GuardedLaw, OutcomeLaw
from crossbandit.limits import Budget, Limit, Pacer, ReturnOnSpend

if TYPE_CHECKING:
    from crossbandit.applications.bidding.bids import Bid

GRID = np.round(np.linspace(0.0, 1.0, 21), 2)
BUDGET, TARGET = Budget(6, per=200, pacing="asap"), ReturnOnSpend(2.5)
LIMITS: list[Limit] = [BUDGET, TARGET]


def made(**settings: Any) -> FirstPriceBidder:
    given = {"budget": BUDGET, "target": TARGET, "guarded": True, "seed": 4, **settings}
    return FirstPriceBidder(bids=GRID, value_range=(0, 1), **given)


def part_of(bid: Bid) -> GuardPart:
    assert isinstance(bid.decision, Decision)
    part = bid.decision.guard
    assert isinstance(part, GuardPart)
    return part


def guard_of(bidder: FirstPriceBidder) -> GuardedLaw:
    learner: Any = bidder.learner
    guard = learner.guard
    assert isinstance(guard, GuardedLaw)
    return guard


@pytest.mark.parametrize("feedback", ["after-loss", "won-lost"])
@pytest.mark.parametrize("reserve", [0.0, 0.2])
def test_a_log_of_a_guarded_law_is_its_bids_one_by_one(feedback: str, reserve: float) -> None:
    """The limits cut some bids, leave out others, and the period of the budget ends twice."""
    generator = np.random.default_rng(0)
    values, prices = generator.uniform(0.25, 1, 500), generator.uniform(0, 0.6, 500)
    bidder, other = (made(feedback=feedback) for _ in range(2))
    guard, first = guard_of(other), int(np.searchsorted(GRID, reserve))
    pacer = Pacer(GRID, LIMITS, value_range=(0, 1))
    log = pacer.play(guard, values, prices, firsts=np.full(500, first))
    lowered = 0
    for i, (value, price) in enumerate(zip(values.tolist(), prices.tolist(), strict=True)):
        bid = bidder.bid(value, reserve=reserve or None)
        if bid.decision is None:
            assert log.bids[i] == -1
            guard_of(bidder).law.uniforms.take(5)  # the log draws them, too
            continue
        assert float(bid) == GRID[log.bids[i]], i
        lowered += bool(part_of(bid).chances[bidder.bids <= value][-1] == 0)
        won = float(bid) >= price and float(bid) > 0
        told = feedback == "after-loss" and not won
        bidder.settle(bid, won=won, highest_competing_bid=price if told else None)
    assert 20 < (log.bids < 0).sum() < 480
    assert lowered > 20
    for name, array in guard_of(bidder).arrays().items():
        np.testing.assert_allclose(guard.arrays()[name], array, rtol=1e-9, err_msg=name)
    spending = bidder.spending
    assert spending is not None
    for one, same in zip(pacer.state, spending.pacer.state, strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-9)


def test_how_likely_an_outcome_is_shown_does_not_depend_on_what_was_drawn() -> None:
    """Two bidders that differ in their random numbers alone carry the same chances."""
    cheap = Budget(0.3, per=100, pacing="asap")  # 0.3 is left, so no more is ever bid
    parts = []
    for seed in range(6):
        bidder = made(budget=cheap, target=None, seed=seed)
        bid = bidder.bid(0.9)
        assert bid.amount is not None
        assert bid.amount <= 0.3
        parts.append(part_of(bid))
    for part in parts:  # of the 19 bids up to 0.9, the last 12 are lowered to 0.3
        np.testing.assert_allclose(part.chances[:6], 1 / 19)
        assert part.chances[6] == pytest.approx(13 / 19)
        assert part.chances[7:].sum() == 0
        assert part.law_amount <= 0.3


def test_a_guard_bids_the_lowest_bid_at_a_pseudo_value_below_it() -> None:
    """A bidder with limits makes no bid then. Who asks the guard itself gets the only amount."""
    guard = GuardedLaw(OutcomeLaw(GRID, (0, 1), seed=1))
    assert guard.decide(0.8, worth=0.1, first=6, last=6).index == 6
    assert guard.policy(0.8, worth=0.1, first=6, last=6)[6] == pytest.approx(1)
