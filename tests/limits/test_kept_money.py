"""Money under corrections, lost outcomes, leases that end, and strange clocks and contexts."""

from __future__ import annotations

import io
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget, Lease, Limit, Pacer, SharedBudget
from crossbandit.limits.state import OPEN
from crossbandit.limits.status import reason, status

GRID = np.round(np.linspace(0.0, 1.0, 21), 2)
DAY = 86_400.0


def made(*limits: Limit) -> Pacer:
    return Pacer(GRID, limits, value_range=(0, 1))


@pytest.mark.parametrize("batches", [False, True])
def test_a_correction_of_an_earlier_day_gives_no_money_back(batches: bool) -> None:
    bidder = FirstPriceBidder(
        bids=[0.0, 1.0],
        value_range=(0, 10),
        budget=Budget(2, per="day", pacing="asap"),
        missing="accept",
        seed=1,
    )
    days = []
    for day in (1, 2):
        at, bids = day * DAY, []
        for _ in range(2):
            bids += list(bidder.bid_many([9.0], at=at)) if batches else [bidder.bid(9.0, at=at)]
            bidder.settle(bids[-1], won=True)
        assert bidder.bid(9.0, at=at).amount is None
        days.append(bids)
    wrong: dict[str, Any] = {"won": False, "highest_competing_bid": 5.0, "correction": True}
    bidder.settle(days[0][0], **wrong)
    assert bidder.bid(9.0, at=2 * DAY).amount is None
    bidder.settle(days[1][1], **wrong)  # of this day: one more bid is possible
    assert bidder.limits[0].spent == 1
    bidder.settle(bidder.bid(9.0, at=2 * DAY), won=True)
    assert bidder.bid(9.0, at=2 * DAY).amount is None


def test_lost_outcomes_of_a_day_do_not_depress_the_bids_of_the_next() -> None:
    pacer = made(Budget(2, per="day", pacing="even"), Budget(3_000, per=10_000))
    for day in range(12):
        for i in range(20):
            key = 20 * day + i
            cap = pacer.open(0.9, day * DAY + i * 4_000.0, 0, 18)[2]
            pacer.reserve(key, 0.9, min(2, cap), 2)
            if i:  # the first outcome of each day is lost
                pacer.settle(key, 0.9, 0.1, won=False, least=0.8)
        assert set(pacer.reserved.rows) == {20 * one for one in range(day + 1)}
    pacer = made(Budget(2, per="day", pacing="even"))
    for day in range(12):
        pacer.open(0.9, day * DAY, 0, 18)
        assert pacer.state.duals[0, OPEN] == 0.0
        pacer.reserve(day, 0.9, 2, 2)
        pacer.open(0.9, day * DAY + 600.0, 0, 18)
        pacer.reserve(100 + day, 0.9, 2, 2)
        pacer.settle(100 + day, 0.9, 0.1, won=False, least=0.8)
    assert set(pacer.reserved.rows) == set(range(4, 12))  # those of the last eight days
    pacer.settle(4, 0.9, 0.1, won=True, least=0.1)  # of an earlier day: not paid today
    assert status(pacer)[0].spent == 0


def test_money_does_not_depend_on_the_context_of_decimals() -> None:
    with localcontext(Context(prec=3)):
        pacer = made(Budget(1.2346, per="day", pacing="asap"))
        for key in range(2):
            pacer.open(1.0, 0.0, 0, 20)
            pacer.reserve(key, 1.0, 12, 12)
            pacer.settle(key, 1.0, 0.6, won=True, least=0.1)
        found = status(pacer)[0]
    assert (found.spent, found.left) == (Decimal("1.2"), Decimal("0.0346"))


def test_a_lease_that_was_given_back_cannot_be_spent() -> None:
    amount: Any = Decimal("0.9")
    shared = Budget(amount, per="day").share()
    pacer = made(shared.lease(0.9, at=0.0))
    assert pacer.periods.renew()[1] == 0  # before any auction
    assert pacer.open(1.0, 1.0, 0, 20)[2] == -1
    assert "Lease money again" in reason(pacer, 1.0, 1.0, 0.05)
    with pytest.raises(InvalidParameterError, match="must be a Lease, or None"):
        pacer.periods.renew(20)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="at most one Lease"):
        made(*(Lease(name, 0.4, 0.0, 9.0) for name in "ab"))


def test_a_lease_that_was_exceeded_is_counted() -> None:
    """Bids that win after they have expired are paid all the same."""
    shared = Budget(5, per="day").share()
    lease = shared.lease(1, at=0.0)
    assert shared.take_back(lease.id, 3, at=1.0)
    assert not shared.take_back(lease.id, 3, at=1.0)
    assert shared.left(at=1.0) == 2
    assert shared.take_back(shared.lease(2, at=2.0).id, Decimal(9), at=3.0)
    assert SharedBudget.from_bytes(shared.to_bytes()).left(at=3.0) == 0


def test_what_was_spent_of_a_lease_is_not_that_of_another() -> None:
    saved = made(Lease("a", 1.0, 0.0, 100.0)).freeze()()
    made(Lease("a", 1.0, 0.0, 100.0)).restore(saved)
    with pytest.raises(InvalidParameterError, match="To go on with another lease"):
        made(Lease("b", 1.0, 0.0, 900.0)).restore(saved)


def test_a_clock_that_was_ahead_is_named_in_the_reason() -> None:
    budget = Budget(1, pacing="asap")
    bidder = FirstPriceBidder(bids=[0.0, 1.0], value_range=(0, 10), budget=budget, seed=1)
    bidder.settle(bidder.bid(9.0, at=10 * DAY), won=True)
    assert "before that of an earlier auction, 1970-01-11" in str(bidder.bid(9.0, at=DAY).reason)
    assert "earlier auction" not in str(bidder.bid(9.0, at=10 * DAY - 1).reason)


@pytest.mark.parametrize("batches", [False, True])
def test_wins_that_were_reported_as_lost_are_paid_and_stop_the_bidder(batches: bool) -> None:
    """The money of a lost bid is free. If it has won after all, the truth counts."""
    bidder = FirstPriceBidder(
        bids=[0.0, 5.0],
        value_range=(0, 10),
        budget=Budget(10, per="day", pacing="asap"),
        missing="accept",
        seed=1,
    )
    bids = []
    for _ in range(23):
        bids += list(bidder.bid_many([9.0], at=DAY)) if batches else [bidder.bid(9.0, at=DAY)]
        bidder.settle(bids[-1], won=False, highest_competing_bid=6.0)
    assert bidder.limits[0].overspent == 0
    for bid in bids[:3]:
        bidder.settle(bid, won=True, correction=True)
    status = bidder.limits[0]
    assert [status.spent, status.overspent, status.left] == [15, 5, 0]
    assert "spent 15, which is 5 too much" in str(status)
    refused = bidder.bid_many([9.0], at=DAY)[0] if batches else bidder.bid(9.0, at=DAY)
    assert refused.amount is None
    assert refused.reason == "The budget of 10 per day is exceeded by 5, so nothing is bid."
    file = io.BytesIO()
    bidder.save(file)
    again = FirstPriceBidder.load(io.BytesIO(file.getvalue()))
    assert again.limits[0].overspent == 5
    assert again.bid(9.0, at=DAY).amount is None
    bidder.settle(bids[0], won=False, highest_competing_bid=6.0, correction=True)
    assert bidder.limits[0].overspent == 0
    assert bidder.bid(9.0, at=DAY).amount is None
    bidder.settle(bids[1], won=False, highest_competing_bid=6.0, correction=True)
    assert bidder.bid(9.0, at=DAY).amount == 5.0
    assert bidder.bid(9.0, at=2 * DAY).amount == 5.0  # another day, another budget


def test_a_lease_that_was_exceeded_is_reported_as_it_is() -> None:
    shared = Budget(20, per="day").share()
    bidder = FirstPriceBidder(
        bids=[0.0, 5.0], value_range=(0, 10), budget=shared.lease(10, pacing="asap", at=DAY), seed=1
    )
    bids = []
    for _ in range(3):
        bids.append(bidder.bid(9.0, at=DAY))
        bidder.settle(bids[-1], won=False, highest_competing_bid=6.0)
    for bid in bids:
        bidder.settle(bid, won=True, correction=True)
    assert bidder.limits[0].overspent == 5
    assert shared.take_back(*bidder.renew(), at=DAY)
    assert shared.left(at=DAY) == 5
