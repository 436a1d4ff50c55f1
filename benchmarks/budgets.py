"""Bidding under budgets and targets.

A ratio is of what was earned, summed over the seeds, to what the best fixed map with the best
multiplier earns in hindsight. A map has a bid for each of 25 bands of values. "The best map from
one law" is the best response to the law of all prices. "A bidder that knows the law" has the same
steps as ours and the true law. It keeps the return at any time, as ours does; hindsight keeps it at
the end. "What any bidder can expect" is a bound on the mean value of every bidder that does not
know prices in advance, so it is compared with means over many logs. Worlds under "own" and their
seeds were not looked at while anything was chosen.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import budgets_operated as operated
from benchmarks.budgets_hindsight import Maps, by_one_law, evenly_paced
from benchmarks.budgets_law import KnownLaw
from benchmarks.markets_rivals import cells_of
from benchmarks.markets_worlds import BIDS, OWN, World, log_normal, narrow
from benchmarks.measure import Result
from crossbandit.applications import FirstPriceBidder
from crossbandit.core.types import Feedback
from crossbandit.laws import OutcomeLaw
from crossbandit.limits import Budget, Pacer, ReturnOnSpend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Floats
    from crossbandit.limits import Limit

SEEDS = range(3)
SHARES = {2: 0.97, 4: 0.97, 8: 0.97, 16: 0.96, 32: 0.95}
RETURNS = (1.5, 2.0, 3.0, 5.0, 10.0)
KNOWN = (2.0, 10.0)  # returns at which bidders that know the law are compared, too
MANY_LOGS = 40
EXCEEDED = 1.01  # no day's budget by more
CORRELATIONS = (0.0, 0.25, 0.6)


def won(
    world: World, limits: list[Limit], *, feedback: Feedback = "after-loss", seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the values won and the money paid, by auction."""
    law = OutcomeLaw(BIDS, (0, 1), feedback=feedback, seed=seed)
    pacer = Pacer(BIDS, limits, value_range=(0, 1))
    cells = cells_of(world.prices)
    bids = pacer.play(law, world.values, world.prices, cells=cells).bids
    wins = (cells <= bids) & (bids > 0)
    return np.where(wins, world.values, 0.0), np.where(wins, BIDS[bids], 0.0)


def drifting_values(correlation: float, seed: int, drift: float = 0.5) -> World:
    """Values that go up and down three times, prices as before."""
    world = log_normal(correlation, seed)
    count = world.values.size
    waves = np.exp(drift * np.sin(6 * np.pi * np.arange(count) / count))
    return World(np.minimum(world.values * waves, 1.0), world.prices)


def results() -> Iterator[Result]:
    """Measure every claim about budgets and targets."""
    worlds: dict[str, Callable[[int], World]] = {
        f"correlation {one:g}": partial(log_normal, one) for one in CORRELATIONS
    }
    yield from _budgets(worlds, "hindsight", lambda world, money: Maps(world).under_budget(money))
    drifts: dict[str, Callable[[int], World]] = {
        f"values drift, {one:g}": partial(drifting_values, one) for one in CORRELATIONS
    }
    yield from _budgets(drifts, "evenly paced hindsight", evenly_paced)
    yield from _returns(worlds)
    yield from _expected(0.6, 10.0)
    own: dict[str, Callable[[int], World]] = {
        f"own: {name}": partial(_unseen, make)
        for name, make in OWN.items()
        if name != "sorted by value"
    }
    own["own: narrow"] = partial(_unseen, narrow)
    yield from _budgets(own, "evenly paced hindsight", evenly_paced, shares=(2, 8, 32))
    yield from _returns(own, (1.5, 3.0))
    yield from _feedback()
    yield from _late()
    yield from _late_days()
    yield from operated.results()
    yield from _speed()


def _unseen(make: Callable[[int, int], World], seed: int) -> World:
    return make(100 + seed, 100_000)


def _budgets(
    worlds: dict[str, Callable[[int], World]],
    rival: str,
    hindsight: Callable[[World, float], float],
    shares: tuple[int, ...] = tuple(SHARES),
) -> Iterator[Result]:
    for name, make in worlds.items():
        logs = [make(seed) for seed in SEEDS]
        free = [Maps(world).free_spend() for world in logs]
        for share in shares:
            ours = theirs = 0.0
            for seed, world in enumerate(logs):
                money = free[seed] / share
                values, paid = won(world, [Budget(money, per=world.values.size)], seed=seed)
                if paid.sum() > money:
                    raise AssertionError(f"{name}: {paid.sum()} of {money} was spent")
                ours += float(values.sum() - paid.sum())
                theirs += hindsight(world, money)
            bar = SHARES[share] if rival == "hindsight" else 0.97
            label = f"{name}, 1/{share} of the free spend: against {rival}"
            yield Result(label, ours / theirs, bar, "times", at_least=True)


def _returns(
    worlds: dict[str, Callable[[int], World]], ratios: tuple[float, ...] = RETURNS
) -> Iterator[Result]:
    for name, make in worlds.items():
        logs = [make(seed) for seed in SEEDS]
        for ratio in ratios:
            ours = theirs = 0.0
            for seed, world in enumerate(logs):
                values, paid = won(world, [ReturnOnSpend(ratio)], seed=seed)
                if (np.cumsum(values) < ratio * np.cumsum(paid) * (1 - 1e-12)).any():
                    raise AssertionError(f"{name}: a return of {ratio} was not kept")
                ours += float(values.sum())
                theirs += Maps(world).under_return(ratio)
            label = f"{name}, return {ratio:g}: value against hindsight, never violated"
            yield Result(label, ours / theirs, 0.97, "times", at_least=True)
            if name.startswith("correlation") and ratio in KNOWN:
                law = KnownLaw(float(name.split()[1]))
                theirs = sum(law.value_on(world, ratio) for world in logs)
                label = f"{name}, return {ratio:g}: value against a bidder that knows the law"
                yield Result(label, ours / theirs, 0.97, "times", at_least=True)
                theirs = sum(by_one_law(world, ratio) for world in logs)
                label = f"{name}, return {ratio:g}: value against the best map from one law"
                yield Result(label, ours / theirs, 0.97, "times", at_least=True)


def _expected(correlation: float, ratio: float) -> Iterator[Result]:
    """Compare means over many logs with what any bidder can expect to win at a return."""
    law = KnownLaw(correlation)
    each = law.most_value(ratio)
    ours = known = hindsight = most = 0.0
    for seed in range(MANY_LOGS):
        world = log_normal(correlation, seed)
        ours += float(won(world, [ReturnOnSpend(ratio)], seed=seed)[0].sum())
        known += law.value_on(world, ratio)
        hindsight += Maps(world).under_return(ratio)
        most += each * world.values.size
    label = f"correlation {correlation:g}, return {ratio:g}, {MANY_LOGS} logs"
    name = f"{label}: value against what any bidder can expect"
    yield Result(name, ours / most, 0.95, "times", at_least=True)
    name = f"{label}: a bidder that knows the law against what any can expect"
    yield Result(name, known / most, 0.97, "times", at_least=True)
    name = f"{label}: what any bidder can expect against hindsight"
    yield Result(name, most / hindsight, 1.0, "times")


def _feedback() -> Iterator[Result]:
    """Compare kinds of feedback, with a budget and a return at once."""
    for feedback in ("after-loss", "after-win", "always", "won-lost"):
        ours = theirs = 0.0
        for seed in SEEDS:
            world = log_normal(0.25, 200 + seed)
            maps = Maps(world)
            money = maps.free_spend() / 8
            limits: list[Limit] = [
                Budget(money, per=world.values.size),
                ReturnOnSpend(2.0, aim="surplus"),
            ]
            values, paid = won(world, limits, feedback=feedback, seed=seed)
            ours += float(values.sum() - paid.sum())
            theirs += maps.under_budget(money)
        label = f"told {feedback}, 1/8 of the free spend and a return of 2: against hindsight"
        yield Result(label, ours / theirs, 0.93, "times", at_least=True)


def won_late(world: World, money: float, delay: int, seed: int) -> float:
    """Return the surplus if nothing may be exceeded, with outcomes so many auctions late."""
    law = OutcomeLaw(BIDS, (0, 1), seed=seed)
    budget = Budget(money, per=world.values.size, worst_case=0)
    pacer = Pacer(BIDS, [budget], value_range=(0, 1))
    amounts, cells = [*BIDS.tolist(), np.inf], cells_of(world.prices).tolist()
    lasts = (np.searchsorted(BIDS, world.values, "right") - 1).tolist()
    waiting: deque[tuple[int, float, int]] = deque()
    surplus = paid = 0.0
    for i, value in enumerate(world.values.tolist()):
        while waiting and waiting[0][0] <= i - delay:
            key, worth, bid = waiting.popleft()
            has_won, least = cells[key] <= bid and bid > 0, amounts[cells[key]]
            pacer.settle(key, worth, amounts[bid], won=has_won, least=least)
            kind, index = ("at-most", bid) if has_won else ("told", cells[key])
            law.observe(worth, kind, index, amount=bid)
        _, _, bid = pacer.choose(i, law, (), (value, float(i), 0, lasts[i]))
        if bid < 0:
            continue
        waiting.append((i, value, bid))
        if cells[i] <= bid and bid > 0:
            surplus, paid = surplus + value - amounts[bid], paid + amounts[bid]
    if paid > money * (1 + 1e-12):
        raise AssertionError(f"{paid} of {money} was spent")
    return surplus


def _late() -> Iterator[Result]:
    """Compare late outcomes with prompt ones, and with hindsight, in 30,000 auctions."""
    aims = {(4, 100): 0.97, (32, 100): 0.95, (4, 1_000): 0.9, (32, 1_000): 0.65}
    worlds = [log_normal(0.25, 300 + seed, 30_000) for seed in SEEDS]
    free = [Maps(world).free_spend() for world in worlds]
    for (share, delay), aim in aims.items():
        prompt = late = theirs = 0.0
        for seed, world in enumerate(worlds):
            money = free[seed] / share
            prompt += won_late(world, money, 0, seed)
            late += won_late(world, money, delay, seed)
            theirs += Maps(world).under_budget(money, late=delay / world.values.size)
        label = f"outcomes {delay} auctions late, 1/{share} of the free spend: against "
        yield Result(f"{label}prompt ones", late / prompt, aim, "times", at_least=True)
        label += "the best map that holds its bids as long"
        yield Result(label, late / theirs, 0.9, "times", at_least=True)


def late_day(rate: int, share: float, minutes: int, seed: int) -> tuple[float, float]:
    """Return the surplus of a day, and the share of the budget that was spent.

    Auctions come in batches of a minute, and their outcomes so many minutes later.

    Args:
        rate: Auctions per second.
        share: The free spend divided by the budget.
        minutes: How late outcomes are.
        seed: Of the world and the bidder.
    """
    size = 60 * rate
    world = log_normal(0.25, 400 + seed, 1_440 * size)
    sample = World(world.values[:150_000], world.prices[:150_000])
    free = Maps(sample).free_spend() * world.values.size / sample.values.size
    budget = Budget(free / share, per="day")
    bidder = FirstPriceBidder(
        bids=BIDS, value_range=(0, 1), budget=budget, max_jump=None, seed=seed
    )
    surplus = paid = 0.0
    waiting: deque[tuple[Any, Any, Any]] = deque()
    for minute in range(1_440 + minutes):
        while waiting and (minute >= 1_440 or len(waiting) > minutes):
            bids, won, told = waiting.popleft()
            bidder.settle_many(bids, won=won, highest_competing_bid=told)
        if minute < 1_440:
            now = slice(minute * size, (minute + 1) * size)
            values, prices = world.values[now].copy(), world.prices[now]
            bids = bidder.bid_many(values, at=86_400.0 + 60.0 * minute)
            won = (bids.amounts >= prices) & (bids.amounts > 0)
            waiting.append((bids, won, np.where(won, np.nan, prices)))
            paid += float(bids.amounts[won].sum())
            surplus += float((values - bids.amounts)[won].sum())
        if not minutes and waiting:
            bids, won, told = waiting.popleft()
            bidder.settle_many(bids, won=won, highest_competing_bid=told)
    return surplus, paid / budget.amount


LATE = {5: 0.97, 30: 0.95, 120: 0.9}  # minutes, and what is to be earned of prompt outcomes
RATES = {2: LATE, 20: LATE, 200: {30: 0.95}}  # by auctions per second


def _late_days() -> Iterator[Result]:
    """Compare late outcomes with prompt ones, by the default settings."""
    for rate, aims in RATES.items():
        for share in (4, 16):
            prompt = late_day(rate, share, 0, 0)[0]
            for minutes, aim in aims.items():
                surplus, spent = late_day(rate, share, minutes, 0)
                if spent > EXCEEDED:
                    raise AssertionError(f"{spent} of the budget was spent")
                name = f"{rate} auctions a second, 1/{share} of the free spend, {minutes} min late"
                yield Result(
                    f"{name}: against prompt", surplus / prompt, aim, "times", at_least=True
                )


def _speed() -> Iterator[Result]:
    """Compare a bidder with and without limits, alternately, in one process."""
    world = log_normal(0.25, 0, 150_000)
    cells = cells_of(world.prices)

    def log(limits: list[Limit]) -> float:
        law = OutcomeLaw(BIDS, (0, 1))
        began = time.process_time()
        if limits:
            pacer = Pacer(BIDS, limits, value_range=(0, 1))
            pacer.play(law, world.values, world.prices, cells=cells)
        else:
            law.play(world.values, world.prices, cells=cells)
        return time.process_time() - began

    def steps(**limits: Any) -> float:
        bidder = FirstPriceBidder(bids=BIDS, value_range=(0, 1), seed=0, **limits)
        rows = list(zip(world.values[:4_000].tolist(), world.prices[:4_000].tolist(), strict=True))
        bids, settles = [], []
        for value, price in rows:
            began = time.perf_counter()
            bid = bidder.bid(value)
            bids.append(time.perf_counter() - began)
            if bid.amount is not None:
                lost = bid.amount < price or bid.amount == 0
                began = time.perf_counter()
                bidder.settle(bid, won=not lost, highest_competing_bid=price if lost else None)
                settles.append(time.perf_counter() - began)
        # Medians: the machine may do other things meanwhile.
        return statistics.median(bids) + statistics.median(settles)

    def batches(**limits: Any) -> float:
        bidder = FirstPriceBidder(bids=BIDS, value_range=(0, 1), seed=0, **limits)
        began = time.process_time()
        for start in range(0, 20_000, 1_000):
            now = slice(start, start + 1_000)
            bids = bidder.bid_many(world.values[now].copy())
            prices = world.prices[now]
            won = (bids.amounts >= prices) & (bids.amounts > 0)
            told = np.where(won, np.nan, prices)
            bidder.settle_many(bids, won=won, highest_competing_bid=told)
        return time.process_time() - began

    both: list[Limit] = [Budget(2_000, per=150_000), ReturnOnSpend(2)]
    pairs: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
        "log, compiled": (lambda: log(both), lambda: log([])),
        "bid and settle, a budget per day": (
            lambda: steps(budget=Budget(1e6, per="day")),
            steps,
        ),
        "bid_many and settle_many, a budget per day": (
            lambda: batches(budget=Budget(1e6, per="day")),
            batches,
        ),
    }
    for name, (limited, free) in pairs.items():
        limited(), free()
        ratio = statistics.median(limited() / free() for _ in range(9))
        yield Result(f"time with limits against without: {name}", ratio, 1.2, "times")
