"""A bidder under load for 75 minutes of simulated time.

Four threads make 2,000 bids a second of simulated time. Outcomes come half an hour late, a fifth of
them never; some come twice. The bidder is restarted from its file several times, and gets a new
grid in the middle. Its surplus is compared with that of the same law in the same auctions, one
after the other, each with its outcome at once. It takes some minutes.

Memory of decisions seen is measured by itself: 2 bytes for each decision that was made, up to the
limit of `SeenDecisions` (64 MB), which this run does not reach. All else must not grow.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.measure import Result
from crossbandit.applications import FirstPriceBidder
from crossbandit.errors import LearnedBeforeError

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE, THREADS, DELAY, NEVER, WARM = 2_000, 4, 1_800, 0.2, 200_000
PERIOD = 4 * 3_600  # of the drift of prices, in seconds


class Second(NamedTuple):
    """What happens in a part of a second: values, prices, and which outcomes will come."""

    values: Any
    prices: Any
    comes: Any


def second(at: int, part: int, size: int) -> Second:
    """Return the auctions of one thread in one second; always the same."""
    generator = np.random.default_rng([at, part])
    values = generator.uniform(0.2, 1.0, size)
    level = 0.45 + 0.1 * np.sin(2 * np.pi * at / PERIOD)
    prices = np.minimum(values * level * generator.gamma(4.0, 0.25, size), 1.0)
    return Second(values, prices, generator.random(size) >= NEVER)


class Soak:
    """The bidder and what the exchange owes it."""

    def __init__(self, bidder: FirstPriceBidder, path: Path) -> None:
        self.bidder, self.path = bidder, path
        self.now = [time.time()]
        self.surplus = 0.0
        self.owed: deque[list[tuple[Any, Second]]] = deque()
        self.again = 0
        self.restart()

    def restart(self, **changes: Any) -> None:
        """Save, and load again, perhaps with other settings."""
        self.bidder.save(self.path)
        self.bidder = FirstPriceBidder.load(self.path, **changes)
        learner = self.bidder.learner
        learner.clock = learner.seen.clock = learner.watch.clock = lambda: self.now[0]

    def trade(self, at: int, part: int) -> tuple[Any, Second]:
        """Make the bids of one thread in one second."""
        given = second(at, part, RATE // THREADS)
        return self.bidder.bid_many(given.values), given

    def settle(self, made: Any, given: Second) -> None:
        """Report the outcomes of one thread in one second; one of them alone, by its text."""
        rows = np.flatnonzero(given.comes)
        won = (made.amounts >= given.prices) & (made.amounts > 0)
        told = np.where(won, np.nan, given.prices)
        first, rest = int(rows[0]), made.part(rows[1:])
        price = None if won[first] else float(given.prices[first])
        text = made[first].text
        self.bidder.settle(text, won=won[first], highest_competing_bid=price)
        self.bidder.settle_many(rest, won=won[rows[1:]], highest_competing_bid=told[rows[1:]])
        try:
            self.bidder.settle(text, won=won[first], highest_competing_bid=price)
        except LearnedBeforeError:
            self.again += 1

    def step(self, at: int, threads: ThreadPoolExecutor) -> None:
        """Let one second pass."""
        self.now[0] += 1.0
        made = list(threads.map(lambda part: self.trade(at, part), range(THREADS)))
        self.owed.append(made)
        for bids, given in made:
            won = (bids.amounts >= given.prices) & (bids.amounts > 0)
            self.surplus += float(np.where(won, given.values - bids.amounts, 0.0).sum())
        if len(self.owed) > DELAY:
            list(threads.map(lambda one: self.settle(*one), self.owed.popleft()))


def memory() -> float:
    """Return the resident memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def prompt_surplus(bidder: FirstPriceBidder, seconds: int) -> float:
    """Return what the law earns with all outcomes at once, one auction after the other."""
    law, total = bidder.learner.law, 0.0
    for at in range(seconds):
        parts = [second(at, part, RATE // THREADS) for part in range(THREADS)]
        values = np.concatenate([part.values for part in parts])
        prices = np.concatenate([part.prices for part in parts])
        amounts = law.amounts[law.play(values, prices)]
        won = (amounts >= prices) & (amounts > 0)
        total += float(np.where(won, values - amounts, 0.0).sum())
    return total


def results(minutes: int = 75) -> Iterator[Result]:
    """Measure the surplus and the memory. Any exception not expected ends it."""
    seconds = 60 * minutes
    warm = FirstPriceBidder(bids=101, value_range=(0, 1), seed=1)
    for at in range(WARM // RATE):
        given = second(-1 - at + 10**6, 0, RATE)
        warm.warm_up(given.values, given.prices)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(THREADS) as threads:
        warm.save(Path(folder) / "warm")
        soak = Soak(FirstPriceBidder.load(Path(folder) / "warm"), Path(folder) / "bidder")
        levels = []
        for at in range(seconds):
            soak.step(at, threads)
            if at % (seconds // 5) == seconds // 10:
                soak.restart(**({"bids": 161} if at == seconds // 2 else {}))
            if at > DELAY and at % 120 == 0:
                levels.append(memory() - soak.bidder.learner.seen.nbytes / 1e6)
        took = time.perf_counter() - began
        prompt = prompt_surplus(FirstPriceBidder.load(Path(folder) / "warm"), seconds)
    note = f"{RATE * seconds:,} bids in {took:.0f} s, {soak.bidder.learner.law.rounds:,} learned"
    ratio = soak.surplus / prompt
    yield Result("surplus against prompt outcomes", ratio, 0.99, "times", at_least=True, note=note)
    growth = max(levels) / levels[0]
    title = "memory besides decisions seen, most against after the first half hour"
    yield Result(title, growth, 1.1, "times", note=f"{levels[0]:.0f} to {max(levels):.0f} MB")
    yield Result("memory of decisions seen", soak.bidder.learner.seen.nbytes / 1e6, 100, "MB")
    yield Result("outcomes told twice that were refused", soak.again, 1, "", at_least=True)
