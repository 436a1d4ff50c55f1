"""A bidder with budgets and targets: every learner and feedback, late outcomes, files, threads."""

from __future__ import annotations

import copy
import json
import math
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.algorithms.learners.decisions import Decision, GuardPart
from crossbandit.applications import Bid, FirstPriceBidder
from crossbandit.applications.bidding.spending import cut
from crossbandit.errors import CheckpointError, InvalidContextError, InvalidParameterError
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, CostPer, Lease, Pacer, ReturnOnSpend, SharedBudget

if TYPE_CHECKING:
    from pathlib import Path

GRID = [round(0.05 * i, 2) for i in range(21)]
LEARNERS: dict[str, dict[str, Any]] = {
    "after-loss": {},
    "after-win": {"feedback": "after-win"},
    "always": {"feedback": "always"},
    "won-lost": {"feedback": "won-lost"},
    "guarded": {"guarded": True},
    "graph": {"algorithm": CrossGraphAdaptive()},
    "classes": {"classes": ("site",)},
}
AT = datetime(2026, 7, 1, 9, tzinfo=UTC)


def made(**settings: Any) -> FirstPriceBidder:
    return FirstPriceBidder(**{"bids": GRID, "value_range": (0, 1), "seed": 1, **settings})


def settle(bidder: FirstPriceBidder, bid: Bid, price: float) -> bool:
    """Settle a bid, if one was made, and return whether it won."""
    if bid.amount is None:
        return False
    won = bid.amount >= price and bid.amount > 0
    told = {"after-loss": not won, "after-win": won, "always": True, "won-lost": False}
    known = told[bidder.feedback]
    bidder.settle(bid, won=won, highest_competing_bid=price if known else None)
    return won


@pytest.mark.parametrize("name", LEARNERS)
def test_limits_are_kept_with_late_outcomes(name: str) -> None:
    """A budget, a target and outcomes that are up to 20 auctions late; nearly all is spent."""
    settings = LEARNERS[name]
    bidder = made(budget=Budget(15, per=500), target=ReturnOnSpend(2.5), **settings)
    rng = np.random.default_rng(3)
    spent, earned, late = Fraction(0), Fraction(0), []
    for i, (value, price) in enumerate(rng.uniform(0.05, [1, 0.5], size=(500, 2)).tolist()):
        classes: Any = {"site": "ab"[i % 2]} if "classes" in settings else {}
        late.append((bidder.bid(value, **classes), price))
        while late and rng.random() < 0.6:
            bid, against = late.pop(int(rng.integers(len(late))))
            if settle(bidder, bid, against) and bid.amount is not None:
                spent += Fraction(str(bid.amount))
                earned += Fraction(bid.value)
        assert spent <= 15
        assert earned >= Fraction(2.5) * spent
    assert spent > 13
    budget, target = bidder.limits
    assert Fraction(budget.spent) == spent
    assert Fraction(str(target.slack)) == pytest.approx(earned / Fraction(2.5) - spent, abs=1e-6)


def test_the_bidder_bids_as_the_pacer_and_its_law() -> None:
    rng = np.random.default_rng(0)
    values, prices = rng.uniform(0.05, 1, 300), rng.uniform(0, 0.5, 300)
    bidder = made(budget=Budget(5, per=100))
    bids = []
    for value, price in zip(values.tolist(), prices.tolist(), strict=True):
        bid = bidder.bid(value)
        bids.append(-1 if bid.decision is None else bid.decision.arm)
        settle(bidder, bid, price)
    law = OutcomeLaw(GRID, (0, 1), seed=1)
    pacer = Pacer(GRID, [Budget(5, per=100)], value_range=(0, 1))
    log = pacer.play(law, values, prices).bids
    assert bids == log.tolist()
    assert min(bids) < 0 < max(bids)


def test_if_nothing_can_be_afforded_the_reason_is_shown() -> None:
    bidder = made(budget=Budget(0.3, per="day", pacing="asap", worst_case=0))
    bids = [bidder.bid(0.9, at=AT) for _ in range(20)]
    assert sum(bid.amount or 0 for bid in bids) <= 0.3 + 1e-12
    last = bids[-1]
    assert last.amount is None
    assert last.reason == (
        "The budget of 0.3 per day leaves 0 to bid at a value of 0.9, as 0.3 are reserved for bids "
        "without an outcome. The lowest bid is 0.05."
    )
    assert Bid.from_json(json.loads(json.dumps(last.to_json()))) == last
    bidder.settle(last, won=False)
    assert bidder.policy(0.9).sum() == 0
    assert bidder.policy(0.9, at=AT + timedelta(days=1)).sum() == pytest.approx(1)
    assert bidder.policy(0.9).sum() == 0


def test_a_target_that_cannot_be_met_bids_nothing() -> None:
    bidder = made(target=ReturnOnSpend(1e6))
    for _ in range(20):
        bid = bidder.bid(0.9)
        assert bid.amount is None
        assert "The return on spend of 1e+06 leaves" in str(bid.reason)
    assert np.isfinite(bidder.limits[0].multiplier)


def test_without_a_possible_bid_the_reason_is_no_limit() -> None:
    bidder = made(bids=[0.5, 1.0], budget=Budget(10, per=100))
    assert bidder.bid(0.3).reason == "The lowest bid above 0, 0.5, is above the value, 0.3."
    assert bidder.bid(0.3).amount is None
    assert bidder.limits[0].auctions == 2


def test_the_policy_is_that_of_the_pseudo_value() -> None:
    bidder = made(target=ReturnOnSpend(4.0), feedback="always")
    bidder.warm_up(np.full(2_000, 0.8), np.random.default_rng(0).uniform(0, 0.8, 2_000))
    chances = bidder.policy(0.8)
    assert chances.sum() == pytest.approx(1)
    assert chances[5:].sum() == 0  # at most 0.8 / 4
    assert chances[4] > 0.9
    assert made(feedback="always").policy(0.8)[5:].sum() > 0
    assert bidder.shading_curve([0.8]).bids == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["after-loss", "graph", "guarded"])
def test_a_saved_bidder_goes_on_in_the_middle_of_a_day(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(5)
    rows = rng.uniform(0.05, [1, 0.5], size=(240, 2)).tolist()
    limits = {"budget": [Budget(3, per="day"), Budget(4, per=100)], "target": CostPer(0.3)}
    straight = made(**limits, expires=timedelta(hours=2), **LEARNERS[name])
    restarted = made(**limits, expires=timedelta(hours=2), **LEARNERS[name])
    open_bids: list[tuple[Bid, Bid, float]] = []
    for i, (value, price) in enumerate(rows):
        if i in (60, 171):
            assert any(status.reserved > 0 for status in restarted.limits)
            restarted.save(tmp_path / "bidder")
            restarted = FirstPriceBidder.load(tmp_path / "bidder")
        now = AT + timedelta(minutes=7 * i)
        one, two = straight.bid(value, at=now), restarted.bid(value, at=now)
        assert (one.amount, one.reason) == (two.amount, two.reason)
        open_bids.append((one, two, price))
        if i % 7:
            first, second, against = open_bids.pop(0)
            assert settle(straight, first, against) == settle(restarted, second, against)
    assert straight.limits == restarted.limits


def test_amounts_can_be_changed_in_the_middle_of_a_day(tmp_path: Path) -> None:
    bidder = made(budget=Budget(0.5, per="day", pacing="asap"))
    while (bid := bidder.bid(0.9, at=AT)).amount is not None:
        bidder.settle(bid, won=True)
    bidder.save(tmp_path / "bidder")
    richer = FirstPriceBidder.load(
        tmp_path / "bidder",
        budget=Budget(0.8, per="day", pacing="asap"),
        bids=[round(0.01 * i, 2) for i in range(101)],
    )
    assert richer.limits[0].spent == Decimal("0.5")
    assert richer.limits[0].left == Decimal("0.3")
    assert richer.bid(0.9, at=AT).amount is not None
    with pytest.raises(InvalidParameterError, match="the same kinds and periods"):
        FirstPriceBidder.load(tmp_path / "bidder", budget=Budget(0.8, per="hour"))
    assert FirstPriceBidder.load(tmp_path / "bidder", budget=None).limits == ()
    made().save(tmp_path / "free")
    assert FirstPriceBidder.load(tmp_path / "free", budget=Budget(3)).limits[0].left == 3


def test_a_copy_counts_its_own_money() -> None:
    bidder = made(budget=Budget(0.5, per="day", pacing="asap"))
    bid = bidder.bid(0.9, at=AT)
    twin = copy.deepcopy(bidder)
    assert twin.limits == bidder.limits
    bidder.settle(bid, won=True)
    assert twin.limits[0].spent == 0 < bidder.limits[0].spent
    twin.settle(bid, won=False, highest_competing_bid=0.95)
    assert twin.limits[0].left == Decimal("0.5")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    bidder = made(budget=Budget(3, per="day"))
    bidder.bid(0.9, at=AT)
    assert bidder.spending is not None
    bidder.spending.pacer.state.money[0, 2] = -5
    bidder.save(tmp_path / "bidder")
    with pytest.raises(CheckpointError, match="money is impossible"):
        FirstPriceBidder.load(tmp_path / "bidder")


def test_a_bid_that_has_expired_frees_its_money_and_a_late_win_is_paid() -> None:
    bidder = made(budget=Budget(0.5, per="day", pacing="asap"), expires=60)
    bids = []
    while (bid := bidder.bid(0.9, at=AT)).amount is not None:
        bids.append(bid)
    assert bidder.bid(0.9, at=AT + timedelta(seconds=59)).amount is None
    assert bidder.bid(0.9, at=AT + timedelta(seconds=61)).amount is not None
    before = bidder.limits[0]
    bidder.settle(bids[0], won=True)
    after = bidder.limits[0]
    assert after.spent - before.spent == bids[0].decimal
    assert after.late == bids[0].decimal


def test_a_correction_corrects_the_money() -> None:
    bidder = made(budget=Budget(5, per="day", pacing="asap"), feedback="always")
    bid = bidder.bid(0.9, at=AT)
    amount = bid.decimal or Decimal(0)
    assert amount > 0
    bidder.settle(bid, won=False, highest_competing_bid=0.99)
    bidder.settle(bid, won=True, highest_competing_bid=0.0, correction=True)
    assert bidder.limits[0].spent == amount
    bidder.settle(bid, won=True, highest_competing_bid=0.01, correction=True)
    assert bidder.limits[0].spent == amount
    bidder.settle(bid, won=False, highest_competing_bid=0.95, correction=True)
    assert bidder.limits[0].spent == 0


@pytest.mark.parametrize("name", ["after-loss", "graph"])
def test_many_bids_at_once_keep_the_limits(name: str) -> None:
    rng = np.random.default_rng(1)
    values, prices = rng.uniform(0.1, 1, 200), rng.uniform(0, 0.5, 200)
    bidder, single = (made(budget=Budget(4, per=200), **LEARNERS[name]) for _ in range(2))
    for part in (slice(0, 50), slice(50, 200)):
        bids = bidder.bid_many(values[part], at=AT)
        alone = [single.bid(value, at=AT) for value in values[part].tolist()]
        assert [bid.amount for bid in bids] == [bid.amount for bid in alone]
        won = np.nan_to_num(bids.amounts) >= prices[part]
        won &= np.nan_to_num(bids.amounts) > 0
        told = np.where(won | np.isnan(bids.amounts), np.nan, prices[part])
        bidder.settle_many(bids, won=won, highest_competing_bid=told)
        for bid, price in zip(alone, prices[part].tolist(), strict=True):
            settle(single, bid, price)
    assert bidder.limits == single.limits
    assert 0 < bidder.limits[0].spent <= 4
    assert bidder.limits[0].reserved == 0


def test_a_lower_bid_of_a_guard_has_the_chances_of_all_above() -> None:
    part = GuardPart(0.8, 0.6, 0.5, np.array([0.1, 0.2, 0.3, 0.4]))
    decision = Decision.of_law(0, 3, ("a", "a"), 0.0, 0, 0, part)
    cut(decision, 1, np.array([0.0, 0.2, 0.4, 0.6]))
    assert decision.arm == 1
    np.testing.assert_allclose(part.chances, [0.1, 0.9, 0.0, 0.0])
    assert part.law_amount == 0.2


def test_threads_never_overspend() -> None:
    bidder = made(budget=Budget(3, per="day", pacing="asap"))
    spent: list[Decimal] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(150):
            bid = bidder.bid(float(rng.uniform(0.3, 1)), at=AT)
            if settle(bidder, bid, float(rng.uniform(0, 0.5))):
                spent.append(bid.decimal or Decimal(0))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Decimal("2.9") < sum(spent) <= 3
    assert bidder.limits[0].spent == sum(spent)
    assert bidder.limits[0].reserved == 0


def test_a_fleet_shares_a_budget() -> None:
    shared = SharedBudget(Budget(4, per="day"))
    rng, spent = np.random.default_rng(0), Decimal(0)
    fleet = []
    for _ in range(3):
        lease = shared.lease(1, at=AT, lasts=timedelta(minutes=30), pacing="asap")
        fleet.append(made(budget=Lease.from_bytes(lease.to_bytes())))
    for minute in range(100):
        now = AT + timedelta(minutes=minute)
        for bidder in fleet:
            for value, price in rng.uniform(0.05, [1, 0.4], size=(3, 2)).tolist():
                bid = bidder.bid(value, at=now)
                if settle(bidder, bid, price):
                    spent += bid.decimal or 0
            if minute % 20 == 19:
                shared.take_back(*bidder.renew(), at=now)
                slice_of = min(shared.left(at=now), Decimal(1))
                if slice_of >= Decimal("0.05"):
                    bidder.renew(shared.lease(float(slice_of), at=now))
        assert spent <= 4
    assert spent > 3


def test_arguments_are_checked() -> None:
    for bad in (-5, "500", Lease, ReturnOnSpend(2)):
        with pytest.raises(InvalidParameterError, match="'budget' parameter of FirstPriceBidder"):
            made(budget=bad)
    with pytest.raises(InvalidParameterError, match="'target' parameter of FirstPriceBidder"):
        made(target=Budget(5))
    with pytest.raises(InvalidParameterError, match="'expires' parameter of FirstPriceBidder"):
        made(budget=Budget(5), expires=-1)
    with pytest.raises(InvalidParameterError, match="at least the lowest bid"):
        made(budget=Budget(0.01))
    with pytest.raises(InvalidContextError, match="'at' parameter of bid"):
        made(budget=Budget(5)).bid(0.5, at=datetime(2026, 7, 1))  # noqa: DTZ001
    with pytest.raises(InvalidParameterError, match="'lease' parameter of renew"):
        made().renew()
    assert made().limits == ()


@pytest.mark.parametrize("name", ["after-loss", "guarded", "graph"])
@pytest.mark.parametrize("batch", [False, True])
def test_outcomes_of_lost_bids_of_a_process_that_ended_free_no_money(
    name: str, batch: bool, tmp_path: Path
) -> None:
    """It bid on after it wrote its file, so its last bids have the rounds of the next ones."""
    before = made(budget=Budget(2, per="day", pacing="asap"), **LEARNERS[name])
    settle(before, before.bid(0.9, at=AT), 0.95)
    before.save(tmp_path / "file")
    lost = [before.bid(0.9, at=AT) for _ in range(30)]
    after = FirstPriceBidder.load(tmp_path / "file")
    bids = [after.bid(0.9, at=AT) for _ in range(30)]
    held = after.limits[0].reserved
    assert held > 0
    known = [bid for bid in lost if bid.amount is not None and bid.amount < 0.95]
    assert {bid.decision.round for bid in known if bid.decision is not None} & {
        bid.decision.round for bid in bids if bid.decision is not None
    }
    if batch:
        after.settle_many(known, won=[False] * len(known), highest_competing_bid=0.95)
    else:
        for bid in known:
            after.settle(bid, won=False, highest_competing_bid=0.95)
    assert after.limits[0].reserved == held
    assert after.limits[0].spent == 0
    after.save(tmp_path / "file")
    again = FirstPriceBidder.load(tmp_path / "file")
    for bid in bids:
        if bid.amount is not None:
            again.settle(bid, won=False, highest_competing_bid=1.0)
    assert again.limits[0].reserved == 0


@pytest.mark.parametrize("batch", [False, True])
def test_a_win_above_the_pseudo_value_is_paid(batch: bool) -> None:
    """A reserve price above the pseudo-value: a learner with a graph has to take the outcome."""
    budget, rng = Budget(20, per=300), np.random.default_rng(0)
    bidder = FirstPriceBidder(
        bids=11, value_range=(0, 10), algorithm=CrossGraphAdaptive(), budget=budget, seed=1
    )
    paid = 0.0
    for value, price in rng.uniform((0, 0.5), (10, 9), (200, 2)).tolist():
        bid = bidder.bid(value, reserve=2)
        if bid.amount is None:
            continue
        won = bid.amount >= price
        told = None if won else price
        if batch:
            bidder.settle_many([bid], won=[won], highest_competing_bid=[told or np.nan])
        else:
            bidder.settle(bid, won=won, highest_competing_bid=told)
        paid += bid.amount if won else 0.0
        assert bidder.limits[0].spent == paid
        assert bidder.limits[0].reserved == 0
    assert paid > 10


@pytest.mark.parametrize("name", ["budget", "target"])
@pytest.mark.parametrize("given", [0, 0.0, Decimal(0), False, True, "", -500, math.nan, 1j])
def test_what_is_not_a_limit_is_refused(name: str, given: Any) -> None:
    settings: dict[str, Any] = {"value_range": (0, 10), "seed": 1, name: given}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of FirstPriceBidder"):
        FirstPriceBidder(**settings)
    assert FirstPriceBidder(**settings | {name: []}).limits == ()


def test_an_amount_is_a_budget_per_day() -> None:
    amounts: list[Any] = [500, 0.1, Decimal("0.30"), np.float64(20)]
    for amount in amounts:
        bidder = FirstPriceBidder(
            value_range=(0, 1), budget=[amount, Budget(9, per="hour")], seed=1
        )
        assert [one.limit for one in bidder.limits] == [Budget(amount), Budget(9, per="hour")]
    with pytest.raises(InvalidParameterError, match="'target' parameter of FirstPriceBidder"):
        FirstPriceBidder(value_range=(0, 1), target=500, seed=1)  # type: ignore[arg-type]
