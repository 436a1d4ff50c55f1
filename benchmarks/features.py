"""Features of auctions: sites, hours, floors, campaigns.

A ratio is of what was earned, summed over the seeds. The four useful features are correlated: a
site, the device that goes with it, an hour, and a floor, at which a quarter of the prices lie. The
Kaplan-Meier per level starts from ten auctions with the prices of all.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.markets_rivals import cells_of, surplus
from benchmarks.markets_worlds import BIDS, World, log_normal
from benchmarks.measure import Result
from crossbandit.core.types import Feedback
from crossbandit.laws import OutcomeLaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Integers

    Columns = dict[str, Any]

SEEDS = range(9_000, 9_002)
AUCTIONS = 30_000
USEFUL = ("site", "device", "hour", "floor")


class Log(NamedTuple):
    """Auctions, and their features by name."""

    world: World
    columns: Columns

    def only(self, *names: str) -> Log:
        """Return the same auctions with some of the features."""
        return Log(self.world, {name: self.columns[name] for name in names})

    def part(self, rows: Any) -> Log:
        """Return some of the auctions."""
        world = World(self.world.values[rows], self.world.prices[rows])
        return Log(world, {name: column[rows] for name, column in self.columns.items()})


def four(seed: int, auctions: int = AUCTIONS) -> Log:
    """Four features that matter, and ten that do not."""
    generator = np.random.default_rng(seed)
    world = log_normal(0.3, seed, auctions)
    site = generator.choice(12, auctions, p=np.arange(12, 0, -1) / 78)
    device = (site % 3 + (generator.random(auctions) < 0.3)) % 3
    hour = generator.integers(0, 24, auctions)
    floor = np.round(generator.exponential(0.05, auctions) + 0.02 * device, 2)
    shift = generator.uniform(-0.5, 0.5, 12)[site] + 0.3 * (device - 1) - 0.1
    prices = world.prices * np.exp(shift + 0.25 * np.cos(hour * np.pi / 12))
    at_floor = (generator.random(auctions) < 0.25) | (prices < floor)
    columns = dict(zip(USEFUL, (site, device, hour, floor), strict=True))
    for i in range(10):
        columns[f"useless_{i}"] = generator.integers(0, (5, 30, 300)[i % 3], auctions)
    return Log(World(world.values, np.where(at_floor, floor, prices)), columns)


def shifted(seed: int, levels: int, auctions: int = AUCTIONS, correlation: float = 0.0) -> Log:
    """Levels that shift the logarithm of prices."""
    generator = np.random.default_rng(seed)
    world, x = log_normal(correlation, seed, auctions), generator.integers(0, levels, auctions)
    shift = generator.uniform(-0.6, 0.6, levels)
    return Log(World(world.values, world.prices * np.exp(shift[x])), {"x": x})


def number(seed: int) -> Log:
    """A number that shifts the logarithm of prices."""
    world, x = log_normal(0.3, seed, AUCTIONS), np.random.default_rng(seed).random(AUCTIONS)
    return Log(World(world.values, world.prices * np.exp(1.2 * (x - 0.5))), {"x": x})


def pair(seed: int) -> Log:
    """Two features that say nothing alone, and much together."""
    world, generator = log_normal(0.3, seed, AUCTIONS), np.random.default_rng(seed)
    a, b = generator.integers(0, 6, (2, AUCTIONS))
    shift = np.where((a + b) % 2 == 1, 0.5, -0.5)
    return Log(World(world.values, world.prices * np.exp(shift)), {"a": a, "b": b})


def earned(log: Log, feedback: Feedback = "after-loss", seed: int = 0) -> float:
    """Return what a law with these features earns."""
    law = OutcomeLaw(BIDS, (0, 1), classes=tuple(log.columns), feedback=feedback, seed=seed)
    world = log.world
    return surplus(world, law.play(world.values, world.prices, classes=log.columns))


def _ratio(
    logs: Callable[[int], Log], ours: Callable[[Log], float], theirs: Callable[[Log], float]
) -> float:
    pairs = [(ours(log), theirs(log)) for log in map(logs, SEEDS)]
    return sum(mine for mine, _ in pairs) / sum(other for _, other in pairs)


def _kaplan_meier(log: Log) -> float:
    """Return what the law of each level earns, if it starts from ten auctions of the pool."""
    world, x = log.world, log.columns["x"]
    size, cells = BIDS.size, cells_of(world.prices)
    pool, counts = np.full(size + 1, 0.1), np.zeros((x.max() + 1, size + 1))
    played: Integers = np.zeros(x.size, dtype=np.int64)
    for i, (level, value) in enumerate(zip(x.tolist(), world.values.tolist(), strict=True)):
        law = counts[level] + 10 * pool / pool.sum()
        chances = np.cumsum(law)[:-1] / law.sum()
        played[i] = np.where(value >= BIDS, (value - BIDS) * chances, -1.0).argmax()
        counts[level, cells[i]] += 1
        pool[cells[i]] += 1
    return surplus(world, played)


def _nine(log: Log) -> float:
    """Return what nine laws earn, one for each campaign."""
    x = log.columns["x"]
    return sum(earned(log.part(x == campaign).only()) for campaign in range(9))


def results() -> Iterator[Result]:
    """Measure every claim about features."""
    useful = USEFUL
    useless = tuple(f"useless_{i}" for i in range(10))
    for told in ("always", "after-loss"):
        for count in (1, 10):
            value = _ratio(
                four,
                lambda log, told=told, count=count: earned(  # type: ignore[misc]
                    log.only(*useful, *useless[:count]), told
                ),
                lambda log, told=told: earned(log.only(*useful), told),  # type: ignore[misc]
            )
            yield _bar(
                f"four features and {count} useless, told {told}: against four", value, 0.998
            )
    for told in ("always", "after-loss", "after-win", "won-lost"):
        for name, names, bar in (("four features", useful, 1.02), ("ten useless", useless, 0.998)):
            value = _ratio(
                four,
                lambda log, told=told, names=names: earned(log.only(*names), told),  # type: ignore[misc]
                lambda log, told=told: earned(log.only(), told),  # type: ignore[misc]
            )
            yield _bar(f"{name}, told {told}: against none", value, bar)
    worlds: dict[str, Callable[[int], Log]] = {
        "24 levels": lambda seed: shifted(seed, 24),
        "300 levels": lambda seed: shifted(seed, 300),
        "24 levels, correlation 0.6": lambda seed: shifted(seed, 24, correlation=0.6),
        "a number": number,
        "a pair": pair,
    }
    for name, world in worlds.items():
        for told in ("after-loss", "won-lost"):
            value = _ratio(
                world,
                lambda log, told=told: earned(log, told),  # type: ignore[misc]
                lambda log, told=told: earned(log.only(), told),  # type: ignore[misc]
            )
            yield _bar(f"{name}, told {told}: against none", value, 1.0)
    value = _ratio(
        lambda seed: shifted(seed, 3_000, 30_000),
        lambda log: earned(log, "always"),
        _kaplan_meier,
    )
    yield _bar("3,000 levels of ten auctions: against a Kaplan-Meier per level", value, 1.0)
    for auctions in (1_000, 10_000, 100_000):
        value = _ratio(
            lambda seed, auctions=auctions: shifted(seed, 9, auctions, 0.3),  # type: ignore[misc]
            earned,
            _nine,
        )
        yield _bar(f"nine campaigns, {auctions:,} auctions: against nine laws", value, 1.0)
    yield from _cost()


def _cost() -> Iterator[Result]:
    """Measure a bid and a settle in compiled code, with ten features and with none."""
    log = four(SEEDS[0], 10_000)
    for names in ((), (*USEFUL, *(f"useless_{i}" for i in range(6)))):
        part, best = log.only(*names), np.inf
        for _ in range(3):
            began = time.process_time()
            earned(part)
            best = min(best, time.process_time() - began)
        title = f"compiled cost of an auction with {len(names)} features"
        yield Result(title, 1e6 * best / 10_000, 5.0, "microseconds")


def _bar(name: str, value: float, bar: float) -> Result:
    return Result(name, value, bar, "times", at_least=True)
