"""The usual bids and outcomes are one call of a core; all others take a longer way, to the same."""

import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from crossbandit.algorithms.learners.missing import COHORT
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.core.types import Feedback
from crossbandit.errors import LearnedBeforeError
from crossbandit.laws.state import TOLD_AFTER
from crossbandit.limits import Budget, ReturnOnSpend

AFTER = 17 * COHORT  # decisions from here on are not watched


def bidder(feedback: Feedback = "after-loss", late: int = 0) -> FirstPriceBidder:
    made = FirstPriceBidder(bids=21, value_range=(0, 10), feedback=feedback, seed=3)
    made.learner.round = late
    return made


def test_a_usual_outcome_counts_once() -> None:
    own = bidder(late=AFTER)
    rng = np.random.default_rng(0)
    for value, price in rng.uniform(1, [10, 6], size=(40, 2)).tolist():
        bid = own.bid(value)
        if bid.amount is None:
            continue
        won = bid.amount >= price
        told = None if won else price
        before = own.learner.law.rounds
        own.settle(bid, won=won, highest_competing_bid=told)
        with pytest.raises(LearnedBeforeError):
            own.settle(bid, won=won, highest_competing_bid=told)
        with pytest.raises(LearnedBeforeError):
            own.settle(bid.token, won=won, highest_competing_bid=told)
        assert own.learner.law.rounds == before + 1
        assert own.learner.pending == AFTER


@pytest.mark.parametrize("late", [0, AFTER])
@pytest.mark.parametrize("feedback", ["after-loss", "after-win", "always", "won-lost"])
def test_both_ways_lead_to_the_same_bids_and_the_same_state(feedback: Feedback, late: int) -> None:
    usual, longer = bidder(feedback, late), bidder(feedback, late)
    rng = np.random.default_rng(1)
    for value, price in rng.uniform(0.3, [10, 6], size=(150, 2)).tolist():
        first, second = usual.bid(value), longer.bid(value, reserve=0)  # a reserve is not usual
        assert (first.amount, first.reason) == (second.amount, second.reason)
        assert _scores(first) == _scores(second)
        if first.amount is None:
            continue
        won = first.amount >= price
        told = price if won in TOLD_AFTER[feedback] else None
        usual.settle(first, won=won, highest_competing_bid=told)
        longer.settle(second.token, won=won, highest_competing_bid=told)  # nor is a token
    mine, theirs = usual.learner.law.arrays(), longer.learner.law.arrays()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    assert usual.diagnosis() == longer.diagnosis()
    assert usual.learner.test.settings() == longer.learner.test.settings()
    assert usual.learner.pending == longer.learner.pending


def _scores(bid: Bid) -> tuple[int, int, int]:
    made = bid.decision
    return made.round, made.score, made.total  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [False, True])  # whether the time is, by who asks
@pytest.mark.parametrize("amount", [3.0, 40.0, 1e6])
def test_both_ways_reserve_and_pay_the_same_money(
    amount: float, monkeypatch: pytest.MonkeyPatch, *, given: bool
) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr(time, "time", lambda: now + 9 * given)
    usual, longer = (
        FirstPriceBidder(
            bids=21,
            value_range=(0, 10),
            budget=Budget(amount, per="hour"),
            target=ReturnOnSpend(1.2),
            seed=3,
        )
        for _ in range(2)
    )
    for one in (usual, longer):
        one.learner.round = AFTER
        one.learner.seen.clock = one.learner.watch.clock = lambda: now
    spending: Any = usual.spending
    way = Mock(wraps=spending.choose)
    monkeypatch.setattr(spending, "choose", way)
    rng = np.random.default_rng(1)
    waiting = []
    for value, price in rng.uniform(0.3, [10, 6], size=(300, 2)).tolist():
        now += 40.0
        at = now if given else None
        first, second = usual.bid(value, at=at), longer.bid(value, reserve=0, at=at)
        assert (first.amount, first.reason) == (second.amount, second.reason)
        waiting.append((first, second, price))
        for mine, theirs, least in waiting[: len(waiting) - 3]:  # outcomes are late
            if mine.amount is not None:
                won = mine.amount >= least
                told = None if won else least
                usual.settle(mine, won=won, highest_competing_bid=told)
                longer.settle(theirs.token, won=won, highest_competing_bid=told)
        del waiting[: len(waiting) - 3]
        assert usual.limits == longer.limits
    assert 1 <= way.call_count < 30  # the first bids of periods are not usual
    state = usual.state()
    assert {*state} == {*longer.state()}
    for name, array in longer.state().items():
        if name not in ("limits.keys", "limits.firsts"):  # the id of a bidder is a part of these
            assert np.array_equal(array, state[name], equal_nan=True), name
