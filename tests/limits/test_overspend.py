"""Nothing is ever overspent: random worlds with late, lost and reordered outcomes."""

from __future__ import annotations

import random
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from crossbandit.applications import FirstPriceBidder
from crossbandit.core.types import Pacing
from crossbandit.errors import InvalidParameterError
from crossbandit.limits import Budget, CostPer, Lease, Limit, Pacer, ReturnOnSpend, SharedBudget
from crossbandit.limits.state import SPENT
from tests.limits.rows import held

WORLDS = 10_000
AUCTIONS = 14
GRIDS = [np.linspace(0, 1, 12), np.array([0.0, 0.1, 0.2, 0.3, 0.7]), np.geomspace(0.003, 1, 9)]


def some_limits(rng: random.Random) -> list[Limit]:
    """Draw one to three limits."""
    per = rng.choice([7, 20, "hour", timedelta(minutes=7), None])
    pacing: Pacing = "asap" if per is None else rng.choice(["even", "traffic", "asap"])
    worst = rng.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    amount = rng.choice([0.3, 1.0, 1 / 3, 2.7, 50.0])
    limits: list[Limit] = [Budget(amount, per=per, pacing=pacing, worst_case=worst)]
    if rng.random() < 0.3:
        limits.append(Budget(rng.uniform(0.4, 3), per=rng.choice([5, 11]), worst_case=worst))
    target = rng.random()
    if target < 0.4:
        limits.append(ReturnOnSpend(rng.choice([0.5, 1.3, 3.0]), per=rng.choice([None, 9])))
    elif target < 0.6:
        limits.append(CostPer(rng.choice([0.1, 0.25]), worth=rng.choice([None, 0.7])))
    return limits if rng.random() < 0.8 or len(limits) == 1 else limits[1:]


def _exact(amount: float) -> int:
    """Return an amount in units of 1e-30: 0.1 is a tenth."""
    return int(Decimal(repr(amount)).scaleb(30))


class World:
    """Auctions under limits, and what they have cost, by the periods of the bids."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self.start = pacer.freeze()()
        self.only_budgets = all(isinstance(one, Budget) for one in pacer.limits)
        self.costs = [_exact(amount) for amount in pacer.rules.amounts.tolist()]

    def play(self, rng: random.Random) -> None:
        """Play some auctions; every third bidder bids all it may.

        Most bids win, and most are said to win in one of ten cases or less.
        """
        pacer, grid = self.pacer, self.pacer.rules.amounts
        pacer.restore(self.start)
        self.spent: dict[tuple[int, float], int] = defaultdict(int)
        self.earned: dict[tuple[int, float], float] = defaultdict(float)
        outstanding: list[tuple[int, float, int, list[float]]] = []
        greedy, lossy, now = rng.random() < 0.3, rng.random() * 0.5, 1e9
        for key in range(AUCTIONS):
            now += rng.choice([0.0, 1.0, 90.0, -30.0, 1200.0])
            value = rng.choice([rng.random(), 0.3, 1.0])
            if rng.random() < 0.02:  # a restart
                pacer.restore(pacer.freeze()())
            worth, last, cap = pacer.open(value, now, 0, grid.size - 1)
            assert worth >= 0
            if cap < 0:
                pacer.decline(value)
            else:
                wanted = last if greedy else rng.randint(0, last)
                amount = min(wanted, cap)
                pacer.reserve(key, value, amount, wanted, rng.choice([0.01, 0.1, 1.0]))
                periods = held(pacer, key).ticket[:, 2].tolist()
                outstanding.append((key, value, amount, periods))
            rng.shuffle(outstanding)
            while outstanding and rng.random() < 0.5:
                self.over(*outstanding.pop(), rng=rng, lossy=lossy)
        for one in outstanding:
            self.over(*one, rng=rng, lossy=lossy)

    def over(
        self,
        key: int,
        value: float,
        amount: int,
        periods: list[float],
        *,
        rng: random.Random,
        lossy: float,
    ) -> None:
        """An auction is over; if its outcome is lost, nobody is told, but it has to be paid."""
        won = rng.random() < 0.7
        if won:
            for i, limit in enumerate(self.pacer.limits):
                at = (i, periods[i])
                self.spent[at] += self.costs[amount]
                if not isinstance(limit, Budget | Lease):
                    base, slope = limit.credit()
                    self.earned[at] += base + slope * value
        if rng.random() >= lossy:
            money = float(self.pacer.rules.amounts[amount])
            self.pacer.settle(key, value, money, won=won, least=0.5)
            if won and self.only_budgets and rng.random() < 0.1:  # it was none
                self.pacer.correct(key, value, money, won=False)
                for i in range(len(self.pacer.limits)):
                    self.spent[i, periods[i]] -= self.costs[amount]

    def check(self) -> None:
        for (i, period), spent in self.spent.items():
            limit = self.pacer.limits[i]
            if isinstance(limit, Budget):
                most = Decimal(repr(limit.amount)) * (1 + Decimal(repr(limit.worst_case)))
                assert spent <= int(most.scaleb(30))
            else:  # up to the rounding of floats
                assert spent / 10**30 <= self.earned[i, period] + 1e-14


def test_nothing_is_overspent_in_ten_thousand_worlds() -> None:
    """Outcomes are late, in any order, and some never come; clocks jump and go back."""
    rng = random.Random(7)  # noqa: S311 - worlds, not secrets
    for _ in range(WORLDS // 50):
        limits = some_limits(rng)
        world = World(Pacer(rng.choice(GRIDS), limits, value_range=(0, 1)))
        for _ in range(50):
            world.play(rng)
            world.check()


def test_the_check_notices_an_overspent_budget() -> None:
    """Money that is not reserved is spent twice."""
    pacer = Pacer(GRIDS[1], [Budget(0.7, per=None, pacing="asap")], value_range=(0, 1))
    world = World(pacer)
    pacer.rules.prices[:] = 0  # what should be reserved and paid
    failures = 0
    for seed in range(20):
        world.play(random.Random(seed))  # noqa: S311
        try:
            world.check()
        except AssertionError:
            failures += 1
    assert failures > 10


class Fleet(RuleBasedStateMachine):
    """Processes that lease slices, spend them, give them back, or are lost."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = SharedBudget(Budget(10, per="hour"))
        self.now = 3_600_000.0
        self.held: dict[str, tuple[Lease, Fraction]] = {}
        self.spent: dict[int, Fraction] = defaultdict(Fraction)

    @rule(amount=st.sampled_from([0.1, 0.7, 1 / 3, 4.0, 9.9]))
    def lease(self, amount: float) -> None:
        left = self.shared.left(at=self.now)
        try:
            made = self.shared.lease(amount, at=self.now, lasts=timedelta(minutes=20))
        except InvalidParameterError:
            assert Fraction(str(amount)) > Fraction(left)
            return
        lease = Lease.from_bytes(made.to_bytes())
        assert lease == made
        self.held[lease.id] = (lease, Fraction(0))

    @rule(pick=st.integers(0, 99), share=st.sampled_from([0.25, 0.5, 1.0]))
    def spend(self, pick: int, share: float) -> None:
        if self.held:
            name = sorted(self.held)[pick % len(self.held)]
            lease, used = self.held[name]
            if self.now < lease.ends:
                more = (Fraction(str(lease.amount)) - used) * Fraction(share)
                self.held[name] = (lease, used + more)
                self.spent[int(self.now // 3600)] += more

    @rule(pick=st.integers(0, 99), lost=st.booleans())
    def give_back(self, pick: int, lost: bool) -> None:
        if self.held:
            name = sorted(self.held)[pick % len(self.held)]
            lease, used = self.held.pop(name)
            if not lost:
                # What is reported is rounded up, as money is.
                reported = min(float(used) * (1 + 1e-12), lease.amount)
                self.shared.take_back(lease.id, spent=reported, at=self.now)
                self.shared.take_back(lease.id, spent=0.0, at=self.now)  # twice: ignored

    @rule(step=st.sampled_from([-60.0, 1.0, 300.0, 1500.0]))
    def wait(self, step: float) -> None:
        self.now += step

    @rule()
    def restart(self) -> None:
        self.shared = SharedBudget.from_bytes(self.shared.to_bytes())

    @invariant()
    def together_they_keep_to_the_budget(self) -> None:
        assert all(spent <= 10 for spent in self.spent.values())
        assert 0 <= self.shared.left(at=self.now) <= 10


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_lost_lease_counts_as_spent_until_its_period_is_over() -> None:
    shared = SharedBudget(Budget(10, per="hour"))
    lease = shared.lease(4, at=7_201.0, lasts=timedelta(hours=1))
    assert lease.ends == 10_800.0
    assert shared.left(at=10_799.0) == 6
    assert shared.left(at=10_800.0) == 10
    shared.take_back(lease.id, spent=1.0, at=10_801.0)
    assert shared.left(at=10_801.0) == 10


@pytest.mark.parametrize("spent", [-0.1, np.nan, Decimal(-1), "1"])
def test_what_was_spent_is_a_number_of_at_least_0(spent: Any) -> None:
    shared = SharedBudget(Budget(10, per=None, pacing="asap"))
    lease = shared.lease(4, at=100.0)
    with pytest.raises(InvalidParameterError, match="'spent' parameter of take_back"):
        shared.take_back(lease.id, spent=spent, at=100.0)
    assert shared.left(at=100.0) == 6


def test_a_shared_budget_refuses_what_it_cannot_share() -> None:
    with pytest.raises(InvalidParameterError, match="'budget' parameter of SharedBudget"):
        SharedBudget(Budget(10, per=100))
    for lasts in (timedelta(0), timedelta(hours=25)):
        with pytest.raises(InvalidParameterError, match="'lasts' parameter of lease"):
            SharedBudget(Budget(10)).lease(1, lasts=lasts)
    with pytest.raises(InvalidParameterError, match="use lease instead of next_lease"):
        SharedBudget(Budget(10, per=None)).next_lease()
    for data in (b"", b"{}", b"[]", b'{"budget": 1}'):
        with pytest.raises(InvalidParameterError, match="'data' parameter"):
            SharedBudget.from_bytes(data)


def spend_slice(data: bytes) -> tuple[str, Decimal, float]:
    """Spend a slice in this process; return its id, what counts as spent, and what was paid."""
    bidder = FirstPriceBidder(bids=21, value_range=(0, 1), budget=Lease.from_bytes(data), seed=1)
    paid = 0.0
    for i in range(200):
        bid = bidder.bid(0.9, at=1e9 + i)
        if bid.amount is not None:
            won = i % 3 > 0 and bid.amount > 0
            bidder.settle(bid, won=won, highest_competing_bid=None if won else 1.0)
            paid += bid.amount if won else 0.0
    return (*bidder.renew()[:2], paid)


def test_a_fleet_of_processes_never_overspends() -> None:
    shared = Budget(3, per="day").share()
    leases = [shared.lease(1, pacing="asap", at=1e9).to_bytes() for _ in range(3)]
    with pytest.raises(InvalidParameterError, match="at most what is left"):
        shared.lease(0.01, at=1e9)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        done = list(pool.map(spend_slice, leases))
    for name, spent, paid in done:
        assert 0.5 < paid <= float(spent) <= 1
        shared.take_back(name, spent, at=1e9 + 300)
    assert shared.left(at=1e9 + 300) == 3 - sum(spent for _, spent, _ in done)


def _win(pacer: Pacer, key: int, at: float) -> None:
    pacer.open(1.0, at, 0, 1)
    pacer.reserve(key, 1.0, 1, 1)
    pacer.settle(key, 1.0, 0.7, won=True, least=0.7)


@pytest.mark.parametrize("restarted", ["from a file", "after a crash"])
def test_a_period_that_began_before_a_restart_gives_nothing_back_for_earlier_bids(
    restarted: str,
) -> None:
    """A win of an earlier period that was none leaves no room for another bid in this one."""
    first, pacer = (
        Pacer([0.0, 0.7], [Budget(1, per="hour", pacing="asap")], value_range=(0, 1))
        for _ in range(2)
    )
    _win(first, 1, 3600.0)
    first.open(1.0, 7200.0, 0, 1)  # a period begins
    first.decline(1.0)  # and has no bid so far
    if restarted == "from a file":
        pacer.restore(first.freeze()())
        _win(pacer, 2, 7201.0)
    else:
        pacer = first
        pacer.reserve_unknown(np.array([2]), 7200.0)
        pacer.settle(2, 1.0, 0.7, won=True, least=0.7)
    pacer.correct(1, 1.0, 0.7, won=False)
    assert pacer.state.money[0, SPENT] == pacer.rules.prices[1]
    assert pacer.open(1.0, 7202.0, 0, 1)[2] < 0
