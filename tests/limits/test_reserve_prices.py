"""Reserve prices above the pseudo-value: no bid is made, whoever learns and however it is asked."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit import Problem
from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.laws import GuardedLaw, OutcomeLaw
from crossbandit.limits import Budget, Pacer
from crossbandit.limits.state import LOG
from crossbandit.logs import Auctions
from crossbandit.logs.replay.limits import ReplayLimits
from crossbandit.logs.replay.strategies import (
    BestResponse,
    LawStrategy,
    LearnerStrategy,
    ReplaySetting,
    make_chunk,
)

if TYPE_CHECKING:
    from crossbandit.applications.bidding.bids import Bid
    from crossbandit.logs.replay import Strategy

COUNT, TOP, RESERVE = 600, 10.0, 1.0
LEARNERS: dict[str, dict[str, Any]] = {
    "law": {},
    "won-lost": {"feedback": "won-lost"},
    "guarded": {"guarded": True},
    "guarded, won-lost": {"guarded": True, "feedback": "won-lost"},
    "graph": {"algorithm": CrossGraphAdaptive()},
}
LAWS = [name for name in LEARNERS if name != "graph"]
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_law = pytest.mark.parametrize("name", LAWS)


def made(name: str, **settings: Any) -> FirstPriceBidder:
    given = {"bids": 30, "value_range": (0, TOP), "budget": Budget(40.0, per=COUNT), "seed": 1}
    return FirstPriceBidder(**{**given, **LEARNERS[name], **settings})


def pacer_of(bidder: FirstPriceBidder) -> Pacer:
    assert bidder.spending is not None
    return bidder.spending.pacer


def law_of(bidder: FirstPriceBidder) -> OutcomeLaw | GuardedLaw:
    learner: Any = bidder.learner
    found: OutcomeLaw | GuardedLaw = learner.law if learner.guard is None else learner.guard
    return found


def auctions(seed: int = 0) -> tuple[Any, Any, Any]:
    """Values, prices, and a reserve price in every fifth auction."""
    rng = np.random.default_rng(seed)
    values, prices = rng.uniform(0, TOP, COUNT), rng.uniform(0, 6, COUNT)
    prices[::7] = 0.0
    return values, prices, np.where(np.arange(COUNT) % 5 == 0, RESERVE, np.nan)


def settle(bidder: FirstPriceBidder, bid: Bid, price: float) -> float:
    """Settle a bid, and return what it costs."""
    if bid.decision is None:
        return 0.0
    won = float(bid) >= max(price, bid.reserve or 0.0) and float(bid) > 0
    told = bidder.feedback == "after-loss" and not won
    bidder.settle(bid, won=won, highest_competing_bid=price if told else None)
    return float(bid) if won else 0.0


def known(reserve: float) -> float | None:
    return None if np.isnan(reserve) else float(reserve)


@every_learner
def test_no_bid_is_above_the_pseudo_value(name: str) -> None:
    bidder = made(name)
    pacer, spent, refused, relaxed, planned = pacer_of(bidder), 0.0, 0, 0, 0
    for value, price, reserve in zip(*auctions(), strict=True):
        floor, before = known(reserve), pacer.state.duals[0, LOG]
        worth, _, _ = pacer.look(value, 0, 29)
        possible = [one for one in bidder.bids.tolist() if one >= (floor or 0.0) and one <= value]
        policy = bidder.policy(value, reserve=floor)
        bid = bidder.bid(value, reserve=floor)
        assert (bid.decision is None) == (policy.sum() == 0)
        if bid.amount is not None:
            assert bid.amount <= worth
        elif floor is not None and possible and possible[0] > worth:
            refused += 1
            relaxed += bool(pacer.state.duals[0, LOG] > before)
            if bidder.limits[0].left < possible[0]:  # near the end, this is said instead
                assert "The budget of 40 per 600 auctions leaves" in str(bid.reason)
                continue
            assert bid.reason == (
                f"To keep to the plan, a value of {value:.6g} counts as {worth:.6g}. "
                f"The lowest bid is {possible[0]:.6g}."
            )
            planned += 1
        spent += settle(bidder, bid, price)
        assert spent <= 40.0 + 1e-9
    assert planned > 10
    assert relaxed > 0.9 * refused  # without a bid, the multiplier adapts nevertheless
    assert spent > 36.0  # and the budget is used
    kept = io.BytesIO()
    bidder.save(kept)
    kept.seek(0)
    again = FirstPriceBidder.load(kept)
    np.testing.assert_array_equal(again.policy(8.0), bidder.policy(8.0))


@every_learner
def test_the_outcomes_of_a_day_that_began_with_a_rush_are_learned_and_saved(name: str) -> None:
    """Nearly all money is planned for later, so pseudo-values are far below the reserve price."""
    bidder = made(name, budget=Budget(500.0), horizon=1500)
    reasons = 0
    for i, (value, price, reserve) in enumerate(zip(*auctions(1), strict=True)):
        bid = bidder.bid(value, reserve=known(reserve), at=1e9 + 0.01 * i)
        reasons += bid.reason is not None and not np.isnan(reserve)
        settle(bidder, bid, price)
    assert reasons > 50
    kept = io.BytesIO()
    bidder.save(kept)
    kept.seek(0)
    FirstPriceBidder.load(kept)


@every_learner
def test_a_batch_makes_no_bid_where_a_single_one_is_not_made(name: str) -> None:
    single, many = made(name), made(name)
    values, prices, reserves = auctions(2)
    refused = 0
    for start in range(0, COUNT, 20):
        now = slice(start, start + 20)
        batch = many.bid_many(values[now], reserve=reserves[now], at=1e9)
        ones = [
            single.bid(value, reserve=known(reserve), at=1e9)
            for value, reserve in zip(values[now], reserves[now], strict=True)
        ]
        shown = [(one.amount, one.reason) for one in ones]
        assert shown == [(one.amount, one.reason) for one in batch]
        refused += sum("To keep" in str(one.reason) and one.reserve is not None for one in ones)
        for one, other, price in zip(ones, batch, prices[now], strict=True):
            settle(single, one, price)
            settle(many, other, price)
        np.testing.assert_array_equal(pacer_of(single).state.duals, pacer_of(many).state.duals)
    assert refused > 10


@every_law
def test_a_compiled_log_makes_the_bids_of_single_auctions(name: str) -> None:
    bidder, other = made(name), made(name)
    values, prices, reserves = auctions(3)
    firsts = np.searchsorted(bidder.bids, np.where(np.isnan(reserves), 0.0, reserves))
    cells = bidder.rules.cells(np.maximum(prices, np.nan_to_num(reserves)))
    pacer = pacer_of(other)
    log = pacer.play(law_of(other), values, prices, firsts=firsts, cells=cells)
    compare(bidder, values, prices, reserves, log.bids)
    refused = (log.bids < 0) & (firsts > 0) & (bidder.bids[firsts] <= values)
    assert refused.sum() > 10
    for one, same in zip(pacer.state, pacer_of(bidder).state, strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-9, atol=1e-12)


def compare(bidder: FirstPriceBidder, values: Any, prices: Any, reserves: Any, bids: Any) -> None:
    """Bid one by one, and compare with bids by number; -1 is none."""
    for i, (value, price, reserve) in enumerate(zip(values, prices, reserves, strict=True)):
        bid = bidder.bid(value, reserve=known(reserve), at=0.0)
        settle(bidder, bid, price)
        if bid.decision is not None:
            assert float(bid) == bidder.bids[bids[i]], i
            continue
        assert bids[i] == -1, i
        first = np.searchsorted(bidder.bids, np.nan_to_num(reserve))
        if bidder.guarded and bidder.bids[first] <= value:
            law: Any = bidder.learner
            law.law.uniforms.take(5)  # a log draws random numbers also where it makes no bid


def replayed(rules: AuctionRules, limits: list[Any]) -> ReplaySetting:
    problem = Problem(rules.graph("after-loss"), features=2, horizon=COUNT)
    return ReplaySetting(rules, "after-loss", problem, limits=ReplayLimits(tuple(limits), COUNT))


@pytest.mark.parametrize("name", ["law", "guarded"])
def test_a_replay_with_a_reserve_makes_the_bids_of_single_auctions(name: str) -> None:
    bidder, other = made(name), made(name)
    rules = AuctionRules(bids=30, highest_value=TOP, reserve=RESERVE)
    setting = replayed(rules, [Budget(40.0, per=COUNT)])
    strategy = LawStrategy(setting, 0, guarded=name == "guarded")
    strategy._player = law_of(other)
    strategy.law = other.learner.law
    values, prices, _ = auctions(4)
    bids = strategy.bids(make_chunk(Auctions(values, prices), rules, setting.problem))
    numbers = np.searchsorted(rules.amounts, bids)
    compare(bidder, values, prices, np.full(COUNT, RESERVE), np.where(bids > 0, numbers, -1))


@pytest.mark.parametrize("name", ["law", "guarded", "graph", "response"])
def test_no_bid_of_a_replay_is_above_the_pseudo_value(name: str) -> None:
    rules = AuctionRules(bids=30, highest_value=TOP, reserve=RESERVE)
    setting = replayed(rules, [Budget(40.0, per=COUNT)])
    strategies: dict[str, Strategy] = {
        "law": LawStrategy(setting, 0),
        "guarded": LawStrategy(setting, 0, guarded=True),
        "graph": LearnerStrategy("graph", CrossGraphAdaptive(), setting, 0),
        "response": BestResponse(rules, "after-loss", "response", "", setting.pacer()),
    }
    values, prices, _ = auctions(5)
    strategy = strategies[name]
    bids = strategy.bids(make_chunk(Auctions(values, prices), rules, setting.problem))
    assert strategy.pseudo is not None
    assert ((strategy.pseudo < 1.03) & (values >= 1.04)).sum() > 10
    assert (bids <= strategy.pseudo).all()
    won = rules.wins(bids, prices)
    assert 0 < bids[won].sum() <= 40.0 + 1e-9


@pytest.mark.parametrize("guarded", [False, True])
def test_a_replay_without_a_reserve_bids_as_a_bidder_does(guarded: bool) -> None:
    """It makes no bid above the pseudo-value, not even the lowest one above 0."""
    rules = AuctionRules(bids=30, highest_value=TOP)
    setting = replayed(rules, [Budget(12.0, per=COUNT)])
    strategy = LawStrategy(setting, 0, guarded=guarded)
    values, prices, _ = auctions(6)
    bids = strategy.bids(make_chunk(Auctions(values, prices), rules, setting.problem))
    lowest = float(rules.amounts[1])
    assert strategy.pseudo is not None
    assert ((strategy.pseudo < lowest) & (values >= lowest)).sum() > 10
    assert (bids <= strategy.pseudo).all()
    assert (bids > 0).any()


@every_learner
def test_without_a_bid_of_0_none_is_made_at_a_pseudo_value_below_the_lowest(name: str) -> None:
    bidder = made(name, bids=np.linspace(1.0, 8.0, 29))
    pacer, refused = pacer_of(bidder), 0
    for value, price, _ in zip(*auctions(7), strict=True):
        worth, _, _ = pacer.look(value, 0, 28)
        bid = bidder.bid(value)
        assert bid.amount is None if worth < 1.0 else bid.amount is None or bid.amount <= worth
        refused += value > 1.0 > worth
        settle(bidder, bid, price)
    assert refused > 10


def test_a_guard_that_has_lost_money_is_restored() -> None:
    grid = np.linspace(0.0, 1.0, 21)
    guard, again = (GuardedLaw(OutcomeLaw(grid, (0, 1), seed=1)) for _ in range(2))
    guard.learn(guard.decide(0.8, worth=0.1, first=6, last=6), reached=True)
    assert guard.gains[0] < 0
    again.restore(guard.arrays())
    np.testing.assert_array_equal(again.gains, guard.gains)
