"""Budgets as they are operated: campaigns, fleets, worlds that change, and bursts of auctions.

A fleet is compared with one bidder in the same auctions. Worlds that change are compared with the
best map with one multiplier, which may spend at any time, and knows when auctions are worth most.
Their seeds were not looked at while anything was chosen.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.budgets_hindsight import Maps
from benchmarks.markets_rivals import cells_of
from benchmarks.markets_worlds import BIDS, World, log_normal
from benchmarks.measure import Result
from crossbandit.applications import FirstPriceBidder
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Lease, Pacer, SharedBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.core.types import Floats

SEEDS = range(3)
DAY = 86_400.0


def results() -> Iterator[Result]:
    """Measure every claim."""
    yield from _campaigns()
    yield from _fleets()
    yield from _exceeded()
    yield from _changing()
    yield from _bursts()


CAMPAIGNS, EACH = 9, 8_000  # campaigns, and the auctions of each
ONE_LAW = (1, 8)  # the free spend divided by the budget of each campaign


def campaign_worlds(seed: int, spread: float) -> list[World]:
    """Return a world for each campaign: of other values, and at prices that differ by `spread`."""
    rng = np.random.default_rng(500 + seed)
    found = []
    for i in range(CAMPAIGNS):
        world = log_normal(float(rng.uniform(0.0, 0.5)), 5_000 + 100 * seed + i, EACH)
        values = np.minimum(world.values * rng.uniform(0.5, 1.0), 1.0)
        found.append(World(values, world.prices * np.exp(rng.uniform(-spread, spread))))
    return found


def surplus_of(bidders: list[Any], worlds: list[World]) -> float:
    """Return what campaigns earn whose auctions come in turn."""
    surplus = 0.0
    for i in range(EACH):
        for bidder, world in zip(bidders, worlds, strict=True):
            value, price = float(world.values[i]), float(world.prices[i])
            bid = bidder.bid(value, at=86_400.0 + i)
            if bid.amount is None:
                continue
            won = bid.amount >= price
            bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
            surplus += value - bid.amount if won else 0.0
    return surplus


def _campaigns() -> Iterator[Result]:
    """Compare one law for nine campaigns with nine laws, each campaign with its own budget."""
    for spread in (0.2, 0.8):
        for share in ONE_LAW:
            one = many = 0.0
            for seed in SEEDS:
                worlds = campaign_worlds(seed, spread)
                budgets = [Budget(Maps(world).free_spend() / share, per=EACH) for world in worlds]
                limits: list[dict[str, Any]]
                limits = [{} if share == 1 else {"budget": budget} for budget in budgets]
                given: Any = {"bids": BIDS, "value_range": (0, 1), "max_jump": None, "seed": seed}
                names = {f"campaign {i}": limit for i, limit in enumerate(limits)}
                bidder = FirstPriceBidder(campaigns=names, **given)
                many += surplus_of([FirstPriceBidder(**limit, **given) for limit in limits], worlds)
                one += surplus_of([_Settling(bidder, name) for name in names], worlds)
            label = f"{CAMPAIGNS} campaigns, prices that differ by {spread:g}"
            label += f", 1/{share} of the free spend: one law against a law for each"
            yield Result(label, one / many, 1.0, "times", at_least=True)


class _Settling:
    """A campaign that is settled like a bidder."""

    def __init__(self, bidder: FirstPriceBidder, name: str) -> None:
        self.bid, self.settle = bidder.campaigns[name].bid, bidder.settle


# --- fleets --------------------------------------------------------------------------------------

_MINUTES = 480


def fleet_day(workers: int, seed: int, *, killed: int | None = None) -> tuple[float, float]:
    """Return the share of a budget that a fleet spends in eight hours, and what it earns.

    Outcomes come 30 minutes late, and each process asks for money every ten minutes. One that is
    killed says nothing more; its outcomes are lost, and its auctions come to the others.

    Args:
        workers: The number of processes.
        seed: Of auctions and bidders.
        killed: The minute in which the first of them is killed.
    """
    rng = np.random.default_rng(600 + seed)
    shared: Any = SharedBudget(Budget(600, per="day"), max_jump=None)
    fleet: dict[int, Any] = {}
    waiting: deque[tuple[int, int, Any, Any, Any]] = deque()
    spent = earned = 0.0
    for minute in range(_MINUTES):
        now = 2 * DAY - 60.0 * (_MINUTES - minute)
        while waiting and waiting[0][0] <= minute - 30:
            _, one, bids, won, told = waiting.popleft()
            if one in fleet:
                fleet[one].settle_many(bids, won=won, highest_competing_bid=told)
        if minute == killed:
            del fleet[0]
        alive = [one for one in range(workers) if one > 0 or killed is None or minute < killed]
        values, prices = rng.uniform(0.2, 1, 60), 0.4 * rng.lognormal(0, 0.8, 60)
        for place, one in enumerate(alive):
            if one not in fleet:
                lease = Lease.from_bytes(
                    shared.next_lease(traffic=1 / len(alive), at=now).to_bytes()
                )
                settings: dict[str, Any] = {"bids": BIDS, "value_range": (0, 1), "seed": one}
                fleet[one] = FirstPriceBidder(
                    budget=lease, max_jump=None, missing="accept", **settings
                )
            elif minute % 10 == 0:
                used = fleet[one].renew()
                fleet[one].renew(shared.next_lease(*used, traffic=1 / len(alive), at=now))
            own = values[place :: len(alive)].copy()
            bids = fleet[one].bid_many(own, at=now)
            won = bids.amounts >= prices[place :: len(alive)]
            spent += float(bids.amounts[won].sum())
            earned += float((own - bids.amounts)[won].sum())
            told = np.where(won, np.nan, prices[place :: len(alive)])
            waiting.append((minute, one, bids, won, told))
    return spent / 600, earned


def _fleets() -> Iterator[Result]:
    """Compare fleets with one bidder."""
    alone = sum(fleet_day(1, seed)[1] for seed in SEEDS)
    kinds: dict[str, tuple[int, bool, float]] = {
        "3 processes": (3, False, 0.93),
        "30 processes": (30, False, 0.93),
        "3 processes, one of which is killed": (3, True, 0.90),
    }
    for name, (workers, kills, aim) in kinds.items():
        earned = 0.0
        for seed in SEEDS:
            minute = int(np.random.default_rng(700 + seed).integers(30, _MINUTES - 30))
            spent, one = fleet_day(workers, seed, killed=minute if kills else None)
            earned += one
            if spent > 1.01:
                raise AssertionError(f"{name}: {spent} of the budget was spent")
        label = f"{name}, outcomes 30 min late, money for ten minutes: against one bidder"
        yield Result(label, earned / alone, aim, "times", at_least=True)


# --- by how much a budget is exceeded ------------------------------------------------------------

WORLDS = 1_000


def exceeded(seed: int) -> float:
    """Return by which share a day's budget is exceeded in a random world, by default settings."""
    rng = np.random.default_rng(10_000 + seed)
    batches, size = 144, int(rng.integers(5, 60))
    late = int(rng.choice([0, 1, 3, 12]))  # batches of ten minutes
    world = log_normal(float(rng.uniform(0, 0.6)), 20_000 + seed, batches * size)
    amount = Maps(world).free_spend() / float(rng.choice([2, 4, 16, 64]))
    budget = Budget(max(amount, float(BIDS[1])), per="day")
    bidder = FirstPriceBidder(
        bids=BIDS, value_range=(0, 1), budget=budget, max_jump=None, seed=seed
    )
    waiting: deque[tuple[Any, Any, Any]] = deque()
    paid = 0.0
    for batch in range(batches):
        while len(waiting) > late:
            bids, won, told = waiting.popleft()
            bidder.settle_many(bids, won=won, highest_competing_bid=told)
        now = slice(batch * size, (batch + 1) * size)
        bids = bidder.bid_many(world.values[now].copy(), at=DAY + 600.0 * batch)
        won = bids.amounts >= world.prices[now]
        waiting.append((bids, won, np.where(won, np.nan, world.prices[now])))
        paid += float(bids.amounts[won].sum())
    return paid / budget.amount - 1


def _exceeded() -> Iterator[Result]:
    most = max(exceeded(seed) for seed in range(WORLDS))
    label = f"{WORLDS:,} worlds, outcomes up to 2 h late: the most by which a budget is exceeded"
    yield Result(label, 100 * most, 1.0, "%")


# --- worlds that change, and bursts --------------------------------------------------------------

CHANGES = ("prices jump", "values and prices jump", "trends", "weeks", "heavy tails", "all of it")


def changing(kind: str, seed: int, auctions: int) -> World:
    """Return a world in which values and prices change over time.

    Args:
        kind: One of `CHANGES`.
        seed: Of the world.
        auctions: How many there are.
    """
    rng = np.random.default_rng(30_000 + seed)
    first, second = rng.standard_normal((2, auctions))
    everything = kind == "all of it"
    if kind == "heavy tails" or everything:
        first = 0.7 * rng.standard_t(3, auctions)
    values, prices = 0.6 * first, 0.2 * np.clip(first, -3, 3) + 0.87 * second - 0.4
    time = np.arange(auctions) / auctions
    if "jump" in kind or everything:
        phase = np.searchsorted(np.sort(rng.random(4)), time)
        prices = prices + rng.uniform(-0.5, 0.5, 5)[phase]
        if kind != "prices jump":
            values = values + rng.uniform(-0.4, 0.4, 5)[phase]
    if kind == "trends":
        values = values + rng.choice([-0.6, 0.6]) * time
        prices = prices + rng.choice([-0.4, 0.4]) * time
    if kind == "weeks" or everything:
        values = values + 0.4 * np.sin(14 * np.pi * time + rng.uniform(0, 6))
        prices = prices + 0.3 * np.sin(14 * np.pi * time + rng.uniform(0, 6))
    top = np.quantile(values, 0.998)
    return World(np.minimum(np.exp(values - top), 1.0), np.exp(prices - top))


def surplus_under(world: World, budgets: list[Budget], seed: int, times: Floats | None) -> float:
    """Return what a law earns under budgets."""
    law = OutcomeLaw(BIDS, (0, 1), seed=seed)
    pacer, cells = Pacer(BIDS, budgets, value_range=(0, 1)), cells_of(world.prices)
    bids = pacer.play(law, world.values, world.prices, times=times, cells=cells).bids
    won = (cells <= bids) & (bids > 0)
    return float((world.values - BIDS[bids])[won].sum())


def _changing() -> Iterator[Result]:
    """Compare a tight budget in worlds that change with the best map with one multiplier."""
    for auctions, share in ((20_000, 64), (150_000, 64), (200, 32)):
        ours, theirs = 0.0, 0.0
        ratios = []
        for kind in CHANGES:
            for seed in range(3 if auctions > 1_000 else 40):
                world = changing(kind, seed, auctions)
                maps = Maps(world)
                money = max(maps.free_spend() / share, 2 * float(BIDS[1]))
                one = surplus_under(world, [Budget(money, per=auctions)], seed, None)
                best = maps.under_budget(money)
                ratios.append(one / best)
                ours, theirs = ours + one, theirs + best
        label = f"worlds that change, {auctions:,} auctions, 1/{share} of the free spend: "
        label += "against the best map with one multiplier"
        aim = 0.95 if auctions > 1_000 else 0.75
        yield Result(label, ours / theirs, aim, "times", at_least=True)
        if auctions > 1_000:
            yield Result(f"{label}, the worst log", min(ratios), 0.85, "times", at_least=True)


def _bursts() -> Iterator[Result]:
    """Compare a budget per day, with 12 bursts of auctions a day, with one per number of them."""
    days, each = 5, 250
    times = DAY + np.repeat(np.arange(12 * days) * 7_200.0, each)
    times = times + np.tile(0.2 * np.arange(each), 12 * days)
    for share in (8, 32):
        timed = counted = 0.0
        for seed in SEEDS:
            world = log_normal(0.25, 800 + seed, times.size)
            money = Maps(world).free_spend() / share / days
            timed += surplus_under(world, [Budget(money, per="day")], seed, times)
            counted += surplus_under(world, [Budget(money, per=12 * each)], seed, None)
        label = f"12 bursts a day of {each} auctions, 1/{share} of the free spend: against pacing"
        yield Result(f"{label} by auctions", timed / counted, 0.95, "times", at_least=True)
