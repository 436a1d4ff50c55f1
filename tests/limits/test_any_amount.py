"""Limits of a bidder without a grid: any value, any amount, and grids laid in the middle."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidLossesError
from crossbandit.limits import Budget, CostPer, ReturnOnSpend

if TYPE_CHECKING:
    from pathlib import Path

    from crossbandit.applications.bidding.bids import Bid
    from crossbandit.core.types import Feedback
from crossbandit.core.types import Floats

FEEDBACK = ("after-loss", "after-win", "always", "won-lost")
AT = 1_700_006_400.0  # a midnight


def market(auctions: int, seed: int = 0, spread: float = 1.0) -> tuple[list[float], list[float]]:
    """Values, and prices that are half of them on average."""
    first, second = np.random.default_rng(seed).standard_normal((2, auctions))
    values = np.exp(spread * first)
    return values.tolist(), (0.5 * values * np.exp(0.3 * second)).tolist()


def settle(bidder: FirstPriceBidder, bid: Bid | bytes, amount: float, price: float) -> bool:
    won = amount >= price
    tells = {"always": True, "won-lost": False, "after-loss": not won, "after-win": won}
    told = price if tells[bidder.feedback] else None
    bidder.settle(bid, won=won, highest_competing_bid=told)
    return won


def play(
    bidder: FirstPriceBidder,
    log: tuple[list[float], list[float]],
    start: float = AT,
    step: float = 10.0,
) -> Floats:
    """Bid in all auctions, and settle each at once; return the bids, 0 for none."""
    bids = np.zeros(len(log[0]))
    for i, (value, price) in enumerate(zip(*log, strict=True)):
        bid = bidder.bid(value, at=start + step * i)
        if bid.amount is not None:
            bids[i] = bid.amount
            settle(bidder, bid, bid.amount, price)
    return bids


@pytest.mark.parametrize("unit", [1e-6, 1e7])
@pytest.mark.parametrize("worst_case", [0.0, 1.0])
@pytest.mark.parametrize("tick", [None, Decimal("0.03")])
@pytest.mark.parametrize("batch", [False, True])
def test_no_budget_is_exceeded_whatever_comes_when(
    unit: float, worst_case: float, tick: Decimal | None, batch: bool
) -> None:
    """Outcomes come late and in any order, and the grid is laid again and again."""
    rng = np.random.default_rng(int(8 + worst_case))
    values, prices = market(700, seed=4)
    tick = None if tick is None else tick * Decimal(repr(unit))
    amount = 40 * unit
    bidder = FirstPriceBidder(
        feedback="always",
        tick_size=tick,
        budget=Budget(amount, worst_case=worst_case),
        expires=None,
        seed=3,
    )
    most, exact = Decimal(repr(amount)), Decimal(0)
    smallest = Decimal(1).scaleb(math.floor(math.log10(amount)) - 17)
    waiting: list[tuple[Bid, float]] = []
    wins = 0
    for i in range(0, len(values), 4):
        rows = slice(i, i + 4)
        given = [unit * one for one in values[rows]]
        now = AT + 115 * i
        made = bidder.bid_many(given, at=now) if batch else [bidder.bid(v, at=now) for v in given]
        waiting += [
            (bid, unit * price)
            for bid, price in zip(made, prices[rows], strict=True)
            if bid.amount is not None
        ]
        while waiting and rng.uniform() < 0.85:
            bid, price = waiting.pop(int(rng.integers(len(waiting))))
            amount_ = bid.amount or 0.0
            if settle(bidder, bid.token if rng.uniform() < 0.5 else bid, amount_, price):
                exact += bid.decimal or 0
                wins += 1
        (status,) = bidder.limits
        due = sum((bid.decimal or Decimal(0) for bid, _ in waiting), Decimal(0))
        errors = (status.spent - exact, status.outstanding - due)
        assert all(0 <= error <= len(values) * smallest for error in errors)
        assert tick is None or not any(errors)
        assert status.spent + status.outstanding <= most * (1 + Decimal(worst_case))
        assert status.spent <= most
    assert bidder.learner.law.rounds > 60
    assert wins > 40
    assert exact > Decimal("0.8") * most


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize(
    "limits",
    [
        {"budget": 1e12},
        {"budget": Budget(1e12, pacing="asap"), "target": ReturnOnSpend(1e-9, aim="surplus")},
    ],
)
def test_limits_that_never_bind_change_no_bid(feedback: Feedback, limits: dict[str, Any]) -> None:
    values, _ = market(1100)
    prices = (0.1 * np.exp(0.5 * np.random.default_rng(2).standard_normal(1100))).tolist()
    free, limited = (FirstPriceBidder(feedback=feedback, seed=1, **one) for one in ({}, limits))
    bids = play(free, (values, prices))
    np.testing.assert_array_equal(play(limited, (values, prices)), bids)
    np.testing.assert_array_equal(limited.policy(2.0), free.policy(2.0))
    assert limited.limits[0].spent > 50


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
def test_a_budget_is_spent_in_any_unit_on_what_earns_most(scale: float) -> None:
    """It earns about what the same budget earns with bids that suit the values."""
    earned = []
    values, prices = (scale * np.array(one) for one in market(6000, seed=5))
    suitable: dict[str, Any] = {}
    for settings in (
        suitable,
        {"bids": scale * np.geomspace(0.01, 40, 120), "value_range": (0, 1e3 * scale)},
    ):
        made = FirstPriceBidder(budget=300 * scale, seed=1, **settings)
        kept = values < 39 * scale
        log = values[kept].tolist(), prices[kept].tolist()
        bids = play(made, log, step=14.0)
        won = (bids >= prices[kept]) & (bids > 0)
        assert 0.97 * 300 * scale < bids[won].sum() <= 300 * scale
        earned.append((values[kept] - bids)[won].sum())
    assert earned[0] > 0.95 * earned[1]


@pytest.mark.parametrize("target", [ReturnOnSpend(2.5), CostPer(0.4), CostPer(0.2, worth=0.7)])
@pytest.mark.parametrize("aim", ["value", "surplus"])
def test_targets_hold_at_any_time_over_many_orders_of_magnitude(target: Any, aim: str) -> None:
    """Values grow from thousandths to millions, so that money is counted in larger units."""
    values, prices = market(1500, seed=6)
    grown = np.geomspace(1e-3, 1e6, 1500)
    bidder = FirstPriceBidder(feedback="always", target=replace(target, aim=aim), seed=1)
    spent = credit = Decimal(0)
    base, slope = (Decimal(repr(one)) for one in target.credit())
    wins = 0
    for i in range(1500):
        bid = bidder.bid(values[i] * grown[i], at=AT + i)
        if bid.amount is None or not settle(bidder, bid, bid.amount, prices[i] * grown[i]):
            continue
        wins += 1
        spent += bid.decimal or 0
        credit += base + slope * Decimal(repr(bid.value))
        assert spent <= credit * (1 + Decimal("1e-15"))
        slack = bidder.limits[0].slack
        assert slack is not None
        assert 0 <= slack <= credit - spent
        assert slack > credit * Decimal("0.999") - spent
    assert wins > 30


def test_values_may_come_in_micros_after_dollars_under_a_target() -> None:
    bidder = FirstPriceBidder(target=ReturnOnSpend(2), seed=1)
    bids = [bidder.bid(value, at=AT) for value in (1e-30, 2.0, 1e4, 3.0, 1e100)]
    for bid in bids:
        assert bid.amount is not None
        bidder.settle(bid, won=True)
    assert bidder.limits[0].slack >= 0  # type: ignore[operator]


@pytest.mark.parametrize("limits", [{"budget": 30}, {"budget": 60, "target": ReturnOnSpend(1.5)}])
@pytest.mark.parametrize("auctions", [3, 700])
def test_saved_and_loaded_it_goes_on_exactly(
    limits: dict[str, Any], auctions: int, tmp_path: Path
) -> None:
    values, prices = market(1200)
    bidder = FirstPriceBidder(feedback="always", tick_size=0.001, seed=1, **limits)
    play(bidder, (values[:auctions], prices[:auctions]))
    open_bids = [bidder.bid(value, at=AT + 1e4) for value in (1.0, 3.0)]
    bidder.save(tmp_path / "bidder")
    other = FirstPriceBidder.load(tmp_path / "bidder")
    assert other.limits == bidder.limits
    rest = values[auctions:], prices[auctions:]
    later = play(bidder, rest, AT + 2e4)
    np.testing.assert_array_equal(play(other, rest, AT + 2e4), later)
    for one in (bidder, other):  # made on a grid that was laid since
        for bid in open_bids:
            one.settle(bid.token, won=True, highest_competing_bid=0.0001)
    assert other.limits == bidder.limits
    larger = FirstPriceBidder.load(tmp_path / "bidder", budget=Budget(1000))
    assert larger.limits[0].spent == FirstPriceBidder.load(tmp_path / "bidder").limits[0].spent


def test_merged_in_the_middle_it_keeps_its_money() -> None:
    values, prices = market(3000)
    parts = [FirstPriceBidder(feedback="always", budget=50, seed=i) for i in range(2)]
    for i, bidder in enumerate(parts):
        play(bidder, (values[i::2], prices[i::2]))
    before = parts[0].limits
    open_bid = parts[0].bid(2.0, at=AT + 2e4)
    parts[0].merge(parts[1])
    assert [one.spent for one in parts[0].limits] == [one.spent for one in before]
    parts[0].settle(open_bid, won=True, highest_competing_bid=0.001)
    assert parts[0].limits[0].outstanding == 0
    assert parts[0].limits[0].spent - before[0].spent == open_bid.decimal


def test_campaigns_and_snapshots_with_leases_have_money_of_their_own() -> None:
    values, prices = market(900)
    shared = Budget(30).share()
    bidder = FirstPriceBidder(feedback="always", campaigns={"a": {"budget": 20}}, seed=1)
    bidder.campaign("b", target=ReturnOnSpend(2))
    for i, (value, price) in enumerate(zip(values, prices, strict=True)):
        bid = bidder.bid(value, campaign="ab"[i % 2], at=AT + 10 * i)
        if bid.amount is not None:
            settle(bidder, bid.token, bid.amount, price)
    assert 0 < bidder.campaigns["a"].limits[0].spent <= 20
    assert (bidder.campaigns["b"].limits[0].slack or 0) >= 0
    single = FirstPriceBidder(feedback="always", budget=shared.lease(5, at=AT), seed=1)
    play(single, (values, prices), step=0.1)
    copy = single.snapshot(seed=2)
    assert copy.bid(2.0, at=AT + 100).amount is None
    copy.renew(shared.lease(10, at=AT + 100, pacing="asap"))
    paid = Decimal(0)
    for value, price in zip(values, prices, strict=True):
        bid = copy.bid(value, at=AT + 101)
        if bid.amount is not None:
            paid += (bid.decimal or 0) * (bid.amount >= price)
            settle(copy, bid, bid.amount, price)
            settle(single, bid, bid.amount, price)
    assert 5 < paid <= 10
    assert shared.left(at=AT + 200) == 15


def test_one_by_one_and_many_at_once_are_the_same() -> None:
    values, prices = market(600)
    one, many = (FirstPriceBidder(feedback="after-loss", budget=30, seed=1) for _ in range(2))
    for i in range(0, 600, 20):
        made = many.bid_many(values[i : i + 20], at=AT + i)
        bids = [one.bid(value, at=AT + i) for value in values[i : i + 20]]
        amounts = [bid.amount for bid in bids]
        assert [bid.amount for bid in made] == amounts
        won = np.array([(a or 0.0) >= p for a, p in zip(amounts, prices[i:], strict=False)])
        told = np.where(won, np.nan, prices[i : i + 20])
        many.settle_many(made, won=won, highest_competing_bid=told)
        for bid, has_won, price in zip(bids, won.tolist(), told.tolist(), strict=True):
            one.settle(bid, won=has_won, highest_competing_bid=None if has_won else price)
        assert one.limits == many.limits
    assert one.limits[0].spent > 0.5


def test_policies_are_those_of_bids() -> None:
    values, prices = market(500)
    bidder = FirstPriceBidder(feedback="always", budget=20, seed=1)
    play(bidder, (values, prices))
    later = AT + 5000
    policy, amounts = bidder.policy(2.0, at=later), bidder.learner.law.amounts_at(2.0)
    bid = bidder.bid(2.0, at=later)
    assert policy.max() == 1.0
    assert bid.amount == pytest.approx(float(amounts[policy.argmax()]), rel=1e-12)
    assert bidder.policy(2.0, reserve=1.99, at=later).sum() == 0.0
    assert bidder.bid(2.0, reserve=1.99, at=later).reason is not None
    assert bidder.shading_curve([0.5, 1.0, 2.0]).bids.max() < 2.0
    poor = FirstPriceBidder(budget=0.5, tick_size=1, seed=1)
    assert poor.policy(8.0, at=AT).sum() == 0.0
    assert "leaves 0.5 to bid at a value of 8" in (poor.bid(8.0, at=AT).reason or "")


def test_what_was_placed_is_paid_and_what_cannot_be_counted_is_refused() -> None:
    bidder = FirstPriceBidder(budget=50, seed=1)
    bid = bidder.bid(2.0, at=AT)
    with pytest.raises(InvalidLossesError, match="at most"):
        bidder.settle(bid, won=True, placed=1e30)
    bidder.settle(bid, won=True, placed=1.7)
    assert bidder.limits[0].spent == Decimal("1.7")
    assert bidder.limits[0].outstanding == 0


def test_limits_can_be_changed_paused_and_resumed() -> None:
    values, prices = market(900)
    bidder = FirstPriceBidder(budget=20, target=CostPer(0.6), tick_size=0.01, seed=1)
    play(bidder, (values[:300], prices[:300]))
    spent = bidder.limits[0].spent
    bidder.change_limits(budget=3, target=CostPer(0.5))
    assert [one.spent for one in bidder.limits] == [spent, spent]
    bidder.pause()
    assert "paused" in (bidder.bid(1.0, at=AT + 4000).reason or "")
    bidder.resume(at=AT + 4001)
    bidder.change_limits(budget=20)
    play(bidder, (values[300:], prices[300:]), AT + 5000)
    assert spent < bidder.limits[0].spent <= 20


@pytest.mark.parametrize(
    "target", [None, ReturnOnSpend(2), CostPer(1, keep="long-run"), CostPer(1, worth=3)]
)
def test_what_bids_that_may_have_been_made_can_cost_is_reserved(target: Any) -> None:
    budget = Budget(1000, per=10_000)
    for max_bid in (None, 1e90, 2.0):
        bidder = FirstPriceBidder(
            budget=budget if target is None else None,
            target=target,
            max_bid=max_bid,
            expires=1e6,
            seed=1,
        )
        for _ in range(5):
            settle(bidder, bidder.bid(4.0, at=AT), 5.0, 0.1)
        spending = bidder.spending
        assert spending is not None
        count = spending.spare(0.1, 20)
        if max_bid != 2.0:
            assert count == 0  # without a highest bid, nothing is a bound
            continue
        status = bidder.limits[0]
        if count:
            spending.reserve_unknown(bidder.learner.id, 5, count, AT)
            held = bidder.limits[0].outstanding - status.outstanding
            assert held == count * (2 if target is None else 2 - target.credit()[0])
            assert target is not None or bidder.limits[0].left == status.left - held
        assert count == (20 if target is None or target.keep == "long-run" else 0)
