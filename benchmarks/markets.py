"""Bidding by the price distribution.

A ratio is of what was earned, summed over the seeds. Hindsight by bands is one bid for each of 25
bands of values; hindsight by class is the best bid at each value by the prices of its class. The
Kaplan-Meier answers the product-limit estimate of prices with the best bid at each value. Competing
bids are told after a loss where nothing else is said.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.markets_rivals import (
    adaptive,
    bands,
    best_share,
    cells_of,
    exact_bands,
    pooled,
    responses,
    shrunk,
    starting_low,
    surplus,
    without_grid,
)
from benchmarks.markets_worlds import (
    AUCTIONS,
    BIDS,
    NOISES,
    OWN,
    SCALES,
    World,
    alternating,
    any_unit,
    atoms,
    heavy_tails,
    irrelevant_classes,
    log_normal,
    many_classes,
    narrow,
    shifted_classes,
    switching,
    trap,
    uniform_beta,
)
from benchmarks.measure import Result
from crossbandit.applications import bids_for_values
from crossbandit.core.types import Feedback
from crossbandit.laws import GuardedLaw, OutcomeLaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Floats

SEEDS = range(3)
NAMES = ("site", "device")
DEPENDENT: dict[str, Callable[[int], World]] = {
    "correlation 0.25": lambda seed: log_normal(0.25, seed),
    "correlation 0.6": lambda seed: log_normal(0.6, seed),
    "correlation 0.9": lambda seed: log_normal(0.9, seed),
    "drift, correlation 0.6": lambda seed: log_normal(0.6, seed, drift=0.5),
}


def earned(
    world: World, feedback: Feedback = "after-loss", seed: int = 0, *, guarded: bool = False
) -> float:
    """Return what a law earns on a log."""
    classes = (
        {}
        if world.classes is None
        else {NAMES[i]: world.classes[:, i] for i in range(world.classes.shape[1])}
    )
    law = OutcomeLaw(BIDS, (0, 1), classes=tuple(classes), feedback=feedback, seed=seed)
    player = GuardedLaw(law) if guarded else law
    return surplus(world, player.play(world.values, world.prices, classes=classes))


def ratio(
    worlds: Callable[[int], World],
    ours: Callable[[World, int], float],
    theirs: Callable[[World, int], float],
    seeds: range = SEEDS,
) -> float:
    """Return what we earn over what they earn, on all seeds together."""
    pairs = [(ours(world, s), theirs(world, s)) for s, world in enumerate(map(worlds, seeds))]
    return sum(mine for mine, _ in pairs) / sum(other for _, other in pairs)


def _law(world: World, seed: int) -> float:
    return earned(world, seed=seed)


def _better(world: World, seed: int) -> float:
    return max(adaptive(world, seed=seed), pooled(world))


def _hindsight(world: World, _: int) -> float:
    return bands(world)


def _by_class(world: World, _: int) -> float:
    return responses(world, None if world.classes is None else world.classes[:, 0])


def results() -> Iterator[Result]:
    """Measure every claim about laws."""
    yield from _beginnings()
    yield from _independent()
    yield from _dependent()
    yield from _orders()
    yield from _classes()
    yield from _many_classes()
    yield from _adversaries()
    yield from _cost()
    yield from _own()
    yield from _spacing()
    yield from _no_grid()


def _beginnings() -> Iterator[Result]:
    """Compare the first auctions with a Kaplan-Meier that bids low until it has seen prices."""
    worlds: dict[str, Callable[[int, int], World]] = {
        "uniform values, beta prices": uniform_beta,
        "correlation 0": lambda seed, auctions: log_normal(0.0, seed, auctions),
        "correlation 0.6": lambda seed, auctions: log_normal(0.6, seed, auctions),
        "narrow": narrow,
        "trap": trap,
        **{name: world for name, world in OWN.items() if name != "sorted by value"},
    }
    for auctions in (500, 2_000, 5_000):
        for name, world in worlds.items():

            def made(
                seed: int, world: Callable[[int, int], World] = world, auctions: int = auctions
            ) -> World:
                return world(seed, auctions)

            value = ratio(made, _law, _first, range(10))
            title = f"first {auctions:,} auctions, {name}: against a Kaplan-Meier"
            yield _bar(title, value, 0.98 if auctions == 500 else 0.995)


def _first(world: World, _: int) -> float:
    return starting_low(world)


def _independent() -> Iterator[Result]:
    worlds: dict[str, Callable[[int], World]] = {
        "correlation 0": lambda seed: log_normal(0.0, seed),
        "narrow": narrow,
        "irrelevant classes": lambda seed: irrelevant_classes(seed=seed),
    }
    for name, world in worlds.items():
        value = ratio(world, _law, _better)
        yield _bar(f"{name}: against the better of adaptive and pooled", value, 0.997)


def _pooled(world: World, _: int) -> float:
    return pooled(world)


def _dependent() -> Iterator[Result]:
    for name, world in DEPENDENT.items():
        yield _bar(f"{name}: against a Kaplan-Meier", ratio(world, _law, _pooled), 1.0)
    bars: dict[Feedback, float] = {"after-loss": 0.99, "always": 0.995, "won-lost": 0.93}
    for feedback, bar in bars.items():
        for name, world in DEPENDENT.items():

            def ours(log: World, seed: int, feedback: Feedback = feedback) -> float:
                return earned(log, feedback, seed)

            value = ratio(world, ours, _hindsight)
            yield _bar(f"{name}, told {feedback}: against hindsight by bands", value, bar)
    for correlation in (0.0, 0.6, 0.9):

        def told_nothing(log: World, seed: int) -> float:
            return earned(log, "won-lost", seed)

        value = ratio(partial(atoms, correlation), told_nothing, _hindsight)
        name = f"round prices, correlation {correlation:g}, told won-lost"
        yield _bar(f"{name}: against hindsight by bands", value, 0.97)
    yield _bar("trap: against hindsight by bands", ratio(trap, _law, _hindsight), 0.97)


def _orders() -> Iterator[Result]:
    """Compare the same auctions in order of time, shuffled and reversed.

    With drift, who follows it may earn more in order than the shuffled log has to give.
    """
    for drift in (0.0, 0.5):
        world = log_normal(0.6, 0, drift=drift)
        forward = np.arange(AUCTIONS)
        shuffled = np.random.default_rng(1).permutation(AUCTIONS)
        got = [earned(world.taken(order)) for order in (forward, shuffled, forward[::-1])]
        name = f"correlation 0.6, drift {drift:g}: in order, shuffled, reversed: spread"
        yield Result(name, 100 * (max(got) / min(got) - 1.0), 1.0, "%")


def _classes() -> Iterator[Result]:
    for levels, bar in ((24, 0.99), (500, 0.93)):

        def world(seed: int, levels: int = levels) -> World:
            return shifted_classes(levels, seed=seed)

        value = ratio(world, _law, _by_class)
        yield _bar(f"{levels} classes: against hindsight by class", value, bar)

        def pool(log: World, seed: int) -> float:
            return earned(log._replace(classes=None), seed=seed)

        yield _bar(f"{levels} classes: against the pool", ratio(world, _law, pool), 1.0)


def _many_classes() -> Iterator[Result]:
    """More levels than are told apart, in turn or far from equally frequent."""
    worlds: dict[str, Callable[[int], World]] = {
        f"{levels:,} classes{', in turn' if in_turn else ', few of them frequent'}": partial(
            many_classes, levels, in_turn=in_turn
        )
        for levels in (5_000, 50_000)
        for in_turn in (True, False)
    }
    for name, made in worlds.items():
        pool = frequent = hindsight = everything = 0.0
        for seed in SEEDS:
            world = made(seed)
            labels = world.classes[:, 0] if world.classes is not None else np.zeros(0, dtype=int)
            often = (np.bincount(labels) >= 500)[labels]
            law = OutcomeLaw(BIDS, (0, 1), classes=("site",), seed=seed)
            played = law.play(world.values, world.prices, classes={"site": labels})
            everything += surplus(world, played)
            pool += earned(world._replace(classes=None), seed=seed)
            if often.any():
                part = world.taken(np.flatnonzero(often))
                frequent += surplus(part, played[often])
                hindsight += responses(part, labels[often])
        yield _bar(f"{name}: against the pool", everything / pool, 1.0)
        if hindsight:
            value = frequent / hindsight
            yield _bar(f"{name}: those with 500 auctions, against hindsight by class", value, 0.97)


def _adversaries() -> Iterator[Result]:
    worlds: dict[str, Callable[[int], World]] = {
        "12 phases": switching,
        "40 phases": lambda seed: switching(seed, phases=40),
        "turns of 500": alternating,
        "turns of 100": lambda seed: alternating(seed, length=100),
    }

    def guarded(world: World, seed: int) -> float:
        return earned(world, seed=seed, guarded=True)

    def rival(world: World, seed: int) -> float:
        return adaptive(world, seed=seed)

    for name, world in worlds.items():
        yield _bar(f"switching, {name}: against adaptive", ratio(world, _law, rival), 0.99)
        value = ratio(world, guarded, rival)
        yield _bar(f"switching, {name}, guarded: against adaptive", value, 0.99)
    quiet = {"correlation 0": lambda seed: log_normal(0.0, seed), **DEPENDENT, "trap": trap}
    for name, world in quiet.items():
        value = ratio(world, guarded, _law)
        yield _bar(f"the guard where it is not needed, {name}: against the law", value, 0.997)


def _cost() -> Iterator[Result]:
    world = log_normal(0.6)
    cells = cells_of(world.prices)
    for feedback in ("after-loss", "won-lost"):
        best = np.inf
        for _ in range(3):
            law = OutcomeLaw(BIDS, (0, 1), feedback=feedback)
            began = time.process_time()
            law.play(world.values, world.prices, cells=cells)
            best = min(best, time.process_time() - began)
        name = f"compiled cost of an auction, 100 bids, told {feedback}"
        yield Result(name, 1e6 * best / AUCTIONS, 5.0, "microseconds")
    law = OutcomeLaw(BIDS, (0, 1))
    yield Result("memory of a law", sum(part.nbytes for part in law.state) / 2**20, 4, "MiB")


def _own() -> Iterator[Result]:
    """Look at other shapes and lengths: nothing may be lost against the adaptive learner."""
    for auctions in (5_000, 100_000):
        for name, world in OWN.items():

            def made(
                seed: int, world: Callable[[int, int], World] = world, auctions: int = auctions
            ) -> World:
                return world(seed, auctions)

            def rival(log: World, seed: int) -> float:
                return adaptive(log, seed=seed)

            value = ratio(made, _law, rival)
            yield _bar(f"own: {name}, {auctions:,} auctions: against adaptive", value, 0.99)


def _whole(made: Callable[[int, int], World]) -> Callable[[int], World]:
    return lambda seed: made(seed, AUCTIONS)


def _spacing() -> Iterator[Result]:
    """Compare bids that suit the values with as many evenly spaced bids, both by a law."""
    worlds: dict[str, Callable[[int], World]] = {
        "correlation 0": lambda seed: log_normal(0.0, seed),
        **DEPENDENT,
        "narrow": narrow,
        "trap": trap,
        "12 phases": switching,
        **{name: _whole(made) for name, made in OWN.items()},
    }
    tails = {f"heavy tails, spread {spread:g}": spread for spread in (1.0, 1.5, 2.0)}
    for name, spread in tails.items():
        worlds[name] = partial(heavy_tails, spread=spread)
    for name, world in worlds.items():
        value = ratio(world, _spaced, _evenly)
        bar = 1.05 if name in tails else 0.997
        yield _bar(f"own: bids by values, {name}: against even bids", value, bar)


def _spaced(world: World, seed: int) -> float:
    return _earned_on(bids_for_values(world.values, highest=1.0), world, seed)


def _evenly(world: World, seed: int) -> float:
    return _earned_on(BIDS, world, seed)


def _earned_on(grid: Floats, world: World, seed: int) -> float:
    law = OutcomeLaw(grid, (0, 1), seed=seed)
    chosen = law.play(world.values, world.prices)
    bids = np.where(chosen >= 0, grid[np.maximum(chosen, 0)], 0.0)
    won = (bids >= world.prices) & (bids > 0)
    return float(np.where(won, world.values - bids, 0.0).sum())


def _no_grid() -> Iterator[Result]:
    """A bidder without a grid; its constants were chosen on worlds of other seeds."""
    by_bands, first = list[float](), list[float]()
    for noise, scale in product(NOISES, SCALES):
        ratios = []
        for seed in (1000, 1001):
            world = any_unit(noise, scale, seed, 30_000)
            earned = without_grid(world, seed)
            best = best_share(world.values[:2_000], world.prices[:2_000])
            ratios.append((earned.sum() / exact_bands(world), earned[:2_000].sum() / best))
        by_bands.append(float(np.mean(ratios, axis=0)[0]))
        first.append(float(np.mean(ratios, axis=0)[1]))
    yield _bar("no grid, worst of 35 worlds: against hindsight by bands", min(by_bands), 0.96)
    yield _bar(
        "no grid, mean of 35 worlds: against hindsight by bands", float(np.mean(by_bands)), 0.96
    )
    title = "no grid, worst of 35 worlds: first 2,000 auctions, against the best share"
    yield _bar(title, min(first), 0.9)
    worlds: dict[str, Callable[[int, int], World]] = {
        **{f"correlation {c:g}": partial(log_normal, c) for c in (0.0, 0.25, 0.6, 0.9)},
        "drift, correlation 0.6": partial(log_normal, 0.6, drift=0.5),
        "narrow": narrow,
        "trap": trap,
        "12 phases": switching,
        **OWN,
    }
    for name, made in worlds.items():
        value = ratio(partial(made, auctions=50_000), _free, _spaced, range(2))  # type: ignore[call-arg]
        yield _bar(f"no grid, {name}: against 100 suitable bids", value, 0.998)
    for auctions in (500, 2_000, 10_000):
        values = [
            ratio(partial(made, auctions=auctions), _free, _shrunk, range(3))  # type: ignore[call-arg]
            for made in worlds.values()
        ]
        for what, value in (("worst", min(values)), ("mean", float(np.mean(values)))):
            title = f"no grid, first {auctions:,} auctions, {what} of {len(values)} worlds"
            yield _bar(f"{title}: against a shrunk Kaplan-Meier", value, 0.997)


def _free(world: World, seed: int) -> float:
    return float(without_grid(world._replace(prices=np.maximum(world.prices, 1e-12)), seed).sum())


def _shrunk(world: World, _: int) -> float:
    return shrunk(world, bids_for_values(world.values, highest=1.0))


def _bar(name: str, value: float, bar: float) -> Result:
    return Result(name, value, bar, "times", at_least=True)
