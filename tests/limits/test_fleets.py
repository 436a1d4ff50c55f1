"""Processes that share a budget, though outcomes are later than their leases last."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget, Lease, Pacer, SharedBudget

GRID = np.linspace(0, 1, 21)
DAY, MINUTES, TEN = 86_400.0, 480, timedelta(minutes=10)


def lease_again(fleet: dict[int, Any], one: int, shared: Any, traffic: float, now: float) -> None:
    """Let a process report and lease; make it if it is new."""
    if one in fleet:
        fleet[one].renew(shared.next_lease(*fleet[one].renew(), traffic=traffic, at=now))
        return
    lease = Lease.from_bytes(shared.next_lease(traffic=traffic, at=now).to_bytes())
    settings: dict[str, Any] = {"bids": GRID, "value_range": (0, 1), "seed": one}
    fleet[one] = FirstPriceBidder(budget=lease, missing="accept", **settings)


def play_fleet(
    workers: int, late: int, *, killed: int | None = None, worst_case: float = 1.0
) -> tuple[float, float]:
    """Return what a fleet spends of a budget of 300 in eight hours, and what it wins.

    Each asks for money every ten minutes. A process that is killed says nothing more, and its
    outcomes are lost; from then on its auctions come to the others.
    """
    rng = np.random.default_rng(workers)
    shared: Any = Budget(300, per="day", worst_case=worst_case).share()
    at = 2 * DAY - 60.0 * MINUTES
    fleet: dict[int, Any] = {}
    waiting: deque[tuple[int, int, Any, Any, Any]] = deque()
    spent = won_value = 0.0
    for minute in range(MINUTES):
        now = at + 60.0 * minute
        while waiting and waiting[0][0] <= minute - late:
            _, one, bids, won, prices = waiting.popleft()
            if one in fleet:
                told = np.where(won, np.nan, prices)
                fleet[one].settle_many(bids, won=won, highest_competing_bid=told)
        if minute == killed:
            del fleet[0]
        alive = [one for one in range(workers) if one > 0 or killed is None or minute < killed]
        for one in alive:
            if minute % 10 == 0 or one not in fleet:
                lease_again(fleet, one, shared, 1 / len(alive), now)
            count = 36 // len(alive)
            values, prices = rng.uniform(0.2, 1, count), 0.4 * rng.lognormal(0, 0.8, count)
            bids = fleet[one].bid_many(values, at=now)
            won = bids.amounts >= prices
            spent += float(bids.amounts[won].sum())
            won_value += float((values - bids.amounts)[won].sum())
            waiting.append((minute, one, bids, won, prices))
        if minute % 50 == 0:
            shared = SharedBudget.from_bytes(shared.to_bytes())
    return spent, won_value


def test_a_fleet_spends_its_budget_though_outcomes_are_late() -> None:
    """Also if a process is killed: it takes the money of an hour with it, at most."""
    alone = play_fleet(1, 30)[1]
    for killed in (None, 205):
        spent, value = play_fleet(3, 30, killed=killed)
        assert 0.93 * 300 < spent <= 303
        assert value > (0.93 if killed is None else 0.9) * alone


def test_a_strict_budget_is_not_exceeded_by_a_fleet() -> None:
    assert play_fleet(3, 30, worst_case=0.0)[0] <= 300


def pacer_of(lease: Lease) -> Pacer:
    return Pacer(GRID[1:], [lease], value_range=(0, 1))


@pytest.mark.parametrize("worst_case", [0.0, 0.5])
def test_bids_without_an_outcome_stay_with_the_lease(worst_case: float) -> None:
    shared = Budget(100, per="day", worst_case=worst_case).share()
    pacer = pacer_of(shared.lease(10, pacing="asap", at=1_000.0))
    for key in range(8):
        pacer.open(1.0, 1_000.0, 0, 19)
        pacer.reserve(key, 1.0, 9, 9)  # 0.5
    for key in range(3):
        pacer.settle(key, 1.0, 0.5, won=True, least=0.1)
    name, used, most = pacer.periods.renew()
    assert most == 4
    assert 1.5 < used <= 4
    assert worst_case > 0 or used == 4
    assert pacer.open(1.0, 1_001.0, 0, 19)[2] == -1
    lease = shared.next_lease(name, used, most, traffic=0.5, lasts=TEN, at=1_600.0)
    assert lease.id == name
    assert lease.amount == pytest.approx(float(used) + (100 - float(used)) * 300 / 84_800)
    assert shared.left(at=1_600.0) + Decimal(repr(lease.amount)) == 100
    pacer.periods.renew(lease)
    pacer.periods.renew(lease)  # twice does no harm
    for key in range(3, 8):
        pacer.settle(key, 1.0, 0.5, won=key == 3, least=0.1)
    name, used, most = pacer.periods.renew()
    assert used == most == 2  # four bids have won
    assert shared.report(name, used, at=1_700.0)
    assert shared.left(at=1_700.0) == 98
    assert not shared.report("another", 1, at=1_700.0)
    assert shared.take_back(name, used, at=1_700.0)
    assert not shared.report(name, used, at=1_700.0)


def test_a_lease_of_an_earlier_day_is_replaced() -> None:
    shared = Budget(100, per="day").share()
    pacer = pacer_of(shared.next_lease(at=0.0))
    pacer.open(1.0, 0.0, 0, 19)
    pacer.reserve(1, 1.0, 9, 9)
    name, *used = pacer.periods.renew()
    lease = shared.next_lease(name, *used, at=DAY)
    assert lease.id != name
    pacer.periods.renew(lease)
    assert pacer.open(1.0, DAY, 0, 19)[2] >= 0
    assert pacer.state.money[0, :3].tolist()[1:] == [0, 0]


def test_nothing_can_be_leased_if_nothing_is_left() -> None:
    shared = Budget(10, per="day").share()
    lease = shared.lease(10, at=0.0)
    with pytest.raises(InvalidParameterError, match="Nothing is left to lease of the budget of 10"):
        shared.next_lease(at=0.0)
    with pytest.raises(InvalidParameterError, match="Nothing is left to lease"):
        shared.next_lease(lease.id, 11, at=0.0)
    for traffic in (0.0, 1.5):
        with pytest.raises(InvalidParameterError, match="'traffic' parameter of next_lease"):
            shared.next_lease(traffic=traffic, at=0.0)
