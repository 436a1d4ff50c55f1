"""The test of whether prices depend on values, and on classes.

A false alarm is one at any of the looks, one after every 500 of 6,000 auctions told after a loss,
in 200 runs. If each run raises one with a probability of 1 %, more than 5 of 200 have a probability
of 2 %. In the worlds of the class, prices depend on values alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.markets_worlds import World, log_normal
from benchmarks.measure import Result
from crossbandit.laws import IndependenceTest, OutcomeLaw
from crossbandit.laws.rounds import shown_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Floats, Integers

RUNS, AUCTIONS, LOOK = 200, 6_000, 500
POWER_RUNS, POWER_LOOK, POWER_AUCTIONS = 40, 10, 8_000
BIDS = np.linspace(0.0, 1.0, 41)


def priced(values: Floats, classes: Integers, noise: Floats) -> World:
    """Prices that depend on the value, whatever the class."""
    return World(values, 0.05 + 0.5 * values + 0.3 * noise, classes[:, None])


def two_classes(seed: int) -> World:
    """Two classes that nearly tell whether the value is above the middle."""
    draw = np.random.default_rng(seed)
    values = draw.random(AUCTIONS)
    classes = values + 0.05 * draw.standard_normal(AUCTIONS) > 0.5
    return priced(values, classes.astype(int), draw.random(AUCTIONS))


def twenty_classes(seed: int) -> World:
    """Twenty classes that nearly tell the value."""
    draw = np.random.default_rng(seed)
    values = draw.random(AUCTIONS)
    told = np.clip(values + 0.02 * draw.standard_normal(AUCTIONS), 0, 0.999)
    return priced(values, (20 * told).astype(int), draw.random(AUCTIONS))


def unequal_classes(seed: int) -> World:
    """Two classes, one of which has higher values."""
    draw = np.random.default_rng(seed)
    classes = draw.integers(0, 2, AUCTIONS)
    return priced(0.25 * classes + 0.7 * draw.random(AUCTIONS), classes, draw.random(AUCTIONS))


def changing_classes(seed: int) -> World:
    """Two classes, one of which has higher values and comes more and more often."""
    draw = np.random.default_rng(seed)
    classes = (draw.random(AUCTIONS) < np.linspace(0.2, 0.8, AUCTIONS)).astype(int)
    values = 0.6 * draw.random(AUCTIONS) + 0.4 * classes * draw.random(AUCTIONS)
    return priced(values, classes, draw.random(AUCTIONS))


def skewed_values(seed: int) -> World:
    """Log-normal values and prices of correlation 0.9, with a class that nearly tells the value."""
    world = log_normal(0.9, seed, AUCTIONS)
    noise = np.random.default_rng(seed + 1).standard_normal(AUCTIONS)
    classes = np.log(world.values) + 0.1 * noise > np.median(np.log(world.values))
    return world._replace(classes=classes.astype(int)[:, None])


def prices_by_class(seed: int) -> World:
    """Two classes of which one has higher values and higher prices; values do not matter."""
    draw = np.random.default_rng(seed)
    classes = draw.integers(0, 2, AUCTIONS)
    values = 0.25 * classes + 0.7 * draw.random(AUCTIONS)
    return World(values, 0.1 + 0.3 * classes + 0.3 * draw.random(AUCTIONS), classes[:, None])


def shifted(shift: float) -> Callable[[int], World]:
    """Ten classes, of which every second has prices that are higher."""

    def world(seed: int) -> World:
        draw = np.random.default_rng(seed)
        classes = draw.integers(0, 10, AUCTIONS)
        made = priced(draw.random(AUCTIONS), classes, draw.random(AUCTIONS))
        return made._replace(prices=made.prices + shift * (classes % 2))

    return world


def first_alarm(world: World, look: int, *, by_class: bool, seed: int) -> float:
    """Return after how many auctions the test first speaks; infinite if it does not."""
    classes = {} if world.classes is None else {"site": world.classes[:, 0]}
    law = OutcomeLaw(BIDS, (0, 1), classes=tuple(classes), class_limit=64, seed=seed)
    test = IndependenceTest(law)
    played = law.play(world.values, world.prices, classes=classes)
    kinds, indices, _ = shown_to(law, law.cells(world.prices), played)
    for start in range(0, world.values.size, look):
        part = slice(start, start + look)
        columns = {name: column[part] for name, column in classes.items()}
        given = (world.values[part], kinds[part], indices[part])
        test.learn_all(*given, played=played[part], classes=columns)
        found = test.evidence(by_class=by_class)
        if found >= np.log(100):
            return float(start + look)
    return np.inf


def results() -> Iterator[Result]:
    """Measure false alarms, and how soon a dependence is found."""
    silent: dict[str, tuple[Callable[[int], World], bool]] = {
        "two classes that nearly tell the value": (two_classes, True),
        "twenty classes that nearly tell the value": (twenty_classes, True),
        "a class with higher values": (unequal_classes, True),
        "a class with higher values that becomes more frequent": (changing_classes, True),
        "log-normal values that a class nearly tells": (skewed_values, True),
        "values, if prices depend on the class alone": (prices_by_class, False),
        "values, without classes": (lambda seed: log_normal(0.0, seed, AUCTIONS), False),
    }
    for name, (world, by_class) in silent.items():
        found = [first_alarm(world(s), LOOK, by_class=by_class, seed=s) for s in range(RUNS)]
        share = 100 * float(np.isfinite(found).mean())
        yield Result(f"false alarms: {name}", share, 2.5, "% of runs")
    for correlation, aim in ((0.1, 1_500), (0.25, 470), (0.6, 470)):

        def world(seed: int, correlation: float = correlation) -> World:
            return log_normal(correlation, seed, POWER_AUCTIONS)

        name = f"auctions until dependence on values is found, correlation {correlation:g}"
        yield Result(name, _median(world, by_class=False), aim, "auctions")
    for shift, aim in ((0.03, 4_000), (0.06, 1_500)):
        name = f"auctions until ten classes are found, prices {shift:g} higher in five"
        yield Result(name, _median(shifted(shift), by_class=True), aim, "auctions")


def _median(world: Callable[[int], World], *, by_class: bool) -> float:
    looks = (
        first_alarm(world(s), POWER_LOOK, by_class=by_class, seed=s) for s in range(POWER_RUNS)
    )
    return float(np.median(list(looks)))
