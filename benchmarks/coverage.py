"""How often 95 % intervals cover the truth, on full logs that are censored here.

`python -m benchmarks.coverage [LOGS] [AUCTIONS] [SEED]` prints a table by world, censoring and
estimator. The truth is what a strategy earns with all prices. Strategies bid 0.3, 0.45 and 0.7 of
the value. Own bids are a random fraction of the value, from 0.25 to 0.95; for
estimates by propensities they are drawn from five fractions, 0.3, 0.45 and 0.7 among them. In the
worlds below the line the assumption behind bands fails: see the notes. `results` also has the
coverage near the outermost own bids if only won and lost are known, and that of small logs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.markets_worlds import (
    World,
    alternating,
    exchange,
    log_normal,
    narrow,
    shifted_classes,
    switching,
    trap,
)
from benchmarks.measure import Result
from crossbandit.logs.evaluate import CensoredLog, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crossbandit.core.types import Booleans, Floats
    from crossbandit.logs.evaluate import Evaluation

LOGS, AUCTIONS = 40, 10_000
FIRST = 5_000  # seeds from 0 to 39 were looked at when group sizes and edges were chosen
SHADINGS = (0.3, 0.45, 0.7)
FRACTIONS = np.array([0.3, 0.45, 0.6, 0.7, 0.9])
CHANCES = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
FEEDBACK = ("after-loss", "after-win", "won-lost", "mixed")
METHODS = ("by band", "inverse propensity", "doubly robust")
BAR = 0.93

HOLDS: dict[str, Callable[[int, int], World]] = {
    "correlation 0": lambda seed, count: log_normal(0.0, seed, count),
    "correlation 0.25": lambda seed, count: log_normal(0.25, seed, count),
    "correlation 0.6": lambda seed, count: log_normal(0.6, seed, count),
    "drift, correlation 0.6": lambda seed, count: log_normal(0.6, seed, count, drift=0.5),
    "exchange": exchange,
    "two clusters": narrow,
    "trap": trap,
    "alternating": alternating,
    "switching": switching,
    "classes, known": lambda seed, count: shifted_classes(6, 0.6, seed, count),
}
# Here bids or values go with prices within a cell, by more than bands can remove.
FAILS: dict[str, Callable[[int, int], World]] = {
    "correlation 0.9": lambda seed, count: log_normal(0.9, seed, count),
    "hidden classes correlated with bids": lambda seed, count: shifted_classes(6, 0.6, seed, count),
}
# Strategies by the place of their bids in the range of own bids.
PLACES = {
    "near the lowest own bids": (0.26, 0.3),
    "inside the own bids": (0.45, 0.7),
    "near the highest own bids": (0.9, 0.94),
}
HIDDEN = "hidden classes correlated with bids"


class Cell(NamedTuple):
    """What was found for one world, censoring and estimator."""

    covered: int
    tried: int
    error: float  # mean relative error of the estimate
    width: float  # mean relative half-width


def own_bids(world: World, seed: int, *, drawn: bool, hidden: bool) -> tuple[Floats, Floats | None]:
    """Return own bids, and their probabilities if they were drawn from few."""
    generator = np.random.default_rng(seed + 10_000)
    if drawn:
        places = generator.choice(FRACTIONS.size, world.values.size, p=CHANCES)
        return FRACTIONS[places] * world.values, CHANCES[places]
    fractions = generator.uniform(0.25, 0.95, world.values.size)
    if hidden and world.classes is not None:  # the bidder knew the class, and the log does not
        shares = world.classes[:, 0] / (world.classes.max() or 1)
        level = np.array([world.prices[world.classes[:, 0] == k].mean() for k in range(6)])
        ranks = np.argsort(np.argsort(level))[world.classes[:, 0]] / 5
        fractions = 0.25 + 0.4 * ranks + 0.3 * generator.random(shares.size)
    return fractions * world.values, None


def censored(world: World, feedback: str, seed: int, *, drawn: bool, hidden: bool) -> CensoredLog:
    """Return the log that a bidder would have."""
    bids, chances = own_bids(world, seed, drawn=drawn, hidden=hidden)
    won = (bids >= world.prices) & (bids > 0)
    told = _told(won, feedback, seed)
    classes = {}
    if world.classes is not None and not hidden:
        classes = {"site": world.classes[:, 0]}
    return CensoredLog(
        world.values, bids, won, np.where(told, world.prices, np.nan), chances, classes
    )


def _told(won: Booleans, feedback: str, seed: int) -> Booleans:
    """Return in which auctions the price is told."""
    return {
        "after-loss": ~won,
        "after-win": won,
        "won-lost": np.zeros(won.size, dtype=bool),
        "mixed": np.random.default_rng(seed).random(won.size) < 0.3,
    }[feedback]


def _truth(world: World, fraction: float) -> float:
    bids = fraction * world.values
    won = (bids >= world.prices) & (bids > 0)
    return float(np.where(won, world.values - bids, 0.0).sum())


def measure(
    name: str, feedback: str, logs: int, auctions: int, first: int = FIRST
) -> dict[str, Cell]:
    """Return the coverage of each estimator in one world under one kind of censoring."""
    found: dict[str, list[tuple[bool, float, float]]] = {method: [] for method in METHODS}
    make, hidden = {**HOLDS, **FAILS}[name], name == HIDDEN
    for seed in range(first, first + logs):
        world = make(seed, auctions)
        for drawn in (False, True):
            log = censored(world, feedback, seed, drawn=drawn, hidden=hidden)
            result = evaluate(log, fractions=SHADINGS)
            for method in METHODS if drawn else METHODS[:1]:
                if not (drawn and method == METHODS[0]):
                    found[method] += _outcomes(result, world, method)
    return {method: _cell(outcomes) for method, outcomes in found.items()}


def _outcomes(
    result: Evaluation, world: World, method: str, fractions: Iterable[float] = SHADINGS
) -> Iterator[tuple[bool, float, float]]:
    for fraction in fractions:
        estimate = result[f"{100 * fraction:.15g} % of value"].estimate(method)
        truth = _truth(world, fraction)
        if estimate is not None and truth > 0:
            half = (estimate.high - estimate.low) / 2
            close = 1e-9 * truth
            covers = estimate.low - close <= truth <= estimate.high + close
            yield covers, estimate.value / truth - 1, half / truth


def _cell(outcomes: list[tuple[bool, float, float]]) -> Cell:
    if not outcomes:
        return Cell(0, 0, np.nan, np.nan)
    covers, errors, widths = zip(*outcomes, strict=True)
    return Cell(sum(covers), len(covers), float(np.mean(errors)), float(np.mean(widths)))


def results() -> Iterator[Result]:
    """Yield the coverage of each estimator, over the worlds in which its assumption holds."""
    cells = [
        measure(name, feedback, 10, 5_000)
        for name in ("correlation 0", "correlation 0.25", "exchange")
        for feedback in FEEDBACK
    ]
    for method in METHODS:
        covered = sum(cell[method].covered for cell in cells)
        tried = sum(cell[method].tried for cell in cells)
        yield Result(
            f"coverage of 95 % intervals, {method}", covered / tried, BAR, "", at_least=True
        )

    yield from _by_place(10, 3_000)
    yield Result(
        "coverage of 95 % intervals, 20 to 60 auctions on a lattice",
        float(np.mean([_covers_lattice(seed, one) for seed in range(60) for one in FEEDBACK])),
        BAR,
        "",
        at_least=True,
    )


def _by_place(logs: int, auctions: int) -> Iterator[Result]:
    """Yield the coverage by the place of a strategy's bids, if only won and lost are known."""
    found: dict[str, list[bool]] = {place: [] for place in PLACES}
    for name in ("correlation 0", "correlation 0.6", "exchange", "two clusters"):
        for seed in range(FIRST, FIRST + logs):
            world = HOLDS[name](seed, auctions)
            log = censored(world, "won-lost", seed, drawn=False, hidden=False)
            result = evaluate(log, fractions=[one for some in PLACES.values() for one in some])
            for place, fractions in PLACES.items():
                outcomes = _outcomes(result, world, METHODS[0], fractions)
                found[place] += [covers for covers, _, _ in outcomes]
    for place, covers in found.items():
        title = f"coverage of 95 % intervals, {place}, won or lost only"
        yield Result(title, float(np.mean(covers)), BAR, "", at_least=True)


def _covers_lattice(seed: int, feedback: str) -> bool:
    """Return whether the interval of a small log covers; all amounts are whole numbers."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(20, 61))
    prices, bids = (generator.integers(1, top, count).astype(np.float64) for top in (13, 10))
    amount = int(generator.integers(1, 10))
    won = bids >= prices
    told = _told(won, feedback, seed)
    log = CensoredLog(np.full(count, 10.0), bids, won, np.where(told, prices, np.nan))
    found = evaluate(log, fractions=[amount / 10]).results[-1].best
    truth = (10 - amount) * int((amount >= prices).sum())
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def main() -> None:
    """Print the table."""
    given = [int(one) for one in sys.argv[1:]]
    logs, auctions, first = [*given, *(LOGS, AUCTIONS, FIRST)[len(given) :]]
    table = Table(
        title=f"Coverage of 95 % intervals: {logs} logs of {auctions:,} auctions, 3 strategies",
        caption="In brackets the mean relative error and half-width of the estimate.",
    )
    table.add_column("world")
    table.add_column("price told")
    for method in METHODS:
        table.add_column(method, justify="right")
    for names in (HOLDS, FAILS):
        for name in names:
            for feedback in FEEDBACK:
                cells = measure(name, feedback, logs, auctions, first)
                texts = [
                    f"{cell.covered / cell.tried:.3f} ({cell.error:+.3f}, {cell.width:.3f})"
                    if cell.tried
                    else "-"
                    for cell in cells.values()
                ]
                table.add_row(name, feedback, *texts)
                sys.stderr.write(f"{name}, {feedback}: {'; '.join(texts)}\n")
        table.add_section()
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
