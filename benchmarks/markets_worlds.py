"""Auctions to learn from: values and highest competing bids of known laws.

Money is in units of the highest value; the bids go from 0 to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.core.types import Floats, Integers

AUCTIONS = 150_000
BIDS = np.linspace(0.0, 1.0, 100)


class World(NamedTuple):
    """A log: a value and a price per auction, and classes if there are any."""

    values: Floats
    prices: Floats
    classes: Integers | None = None  # (n, features)

    def taken(self, order: Integers) -> World:
        """Return the same auctions in another order, or some of them."""
        classes = None if self.classes is None else self.classes[order]
        return World(self.values[order], self.prices[order], classes)


def log_normal(
    correlation: float, seed: int = 0, auctions: int = AUCTIONS, drift: float = 0.0
) -> World:
    """Values and prices whose logarithms are normal; with `drift`, prices go up and down."""
    generator = np.random.default_rng(seed)
    first, second = generator.standard_normal((auctions, 2)).T
    mixed = correlation * first + np.sqrt(1 - correlation**2) * second
    waves = drift * np.sin(6 * np.pi * np.arange(auctions) / auctions)
    top = np.exp(2.6 * 0.6)
    values = np.minimum(np.exp(0.6 * first), top)
    return World(values / top, np.exp(-0.4 + 0.9 * mixed + waves) / top)


def atoms(correlation: float, seed: int = 0, auctions: int = AUCTIONS) -> World:
    """The same, but 45 % of the prices are rounded up to 20 levels, and 20 % have a floor."""
    world = log_normal(correlation, seed, auctions)
    generator = np.random.default_rng(seed + 5_000)
    rounded = np.ceil(world.prices / 0.05) * 0.05
    prices = np.where(generator.random(auctions) < 0.45, rounded, world.prices)
    prices = np.where(generator.random(auctions) < 0.2, np.maximum(prices, 0.06), prices)
    return world._replace(prices=prices)


def trap(seed: int = 0, auctions: int = AUCTIONS) -> World:
    """Cheap prices only in a band of high values, which has no reason to bid low."""
    generator = np.random.default_rng(seed)
    high = generator.random(auctions) < 0.3
    values = np.where(
        high, generator.uniform(0.75, 0.85, auctions), generator.uniform(0.1, 0.4, auctions)
    )
    cheap = generator.uniform(0.05, 0.1, auctions)
    dear = generator.uniform(0.45, 0.5, auctions)
    half = np.where(generator.random(auctions) < 0.5, cheap, dear)
    return World(values, np.where(high, half, generator.uniform(0.3, 0.5, auctions)))


def uniform_beta(seed: int = 0, auctions: int = AUCTIONS) -> World:
    """Independent values and prices, spread over most of the bids."""
    generator = np.random.default_rng(seed)
    return World(generator.uniform(0.1, 1.0, auctions), 0.8 * generator.beta(2, 4, auctions))


def narrow(seed: int = 0, auctions: int = AUCTIONS) -> World:
    """Values from 0.8 to 1, two clusters of prices."""
    generator = np.random.default_rng(seed)
    values = generator.uniform(0.8, 1.0, auctions)
    low, high = generator.uniform(0.05, 0.1, auctions), generator.uniform(0.4, 0.5, auctions)
    return World(values, np.where(generator.random(auctions) < 0.5, low, high))


def shifted_classes(
    levels: int, spread: float = 0.6, seed: int = 0, auctions: int = AUCTIONS
) -> World:
    """Classes of equal size that shift the logarithm of prices by up to `spread`."""
    world = log_normal(0.0, seed, auctions)
    generator = np.random.default_rng(seed + 77)
    classes = generator.integers(0, levels, (auctions, 1))
    shifts = generator.permutation(np.linspace(-spread, spread, levels))
    return World(world.values, world.prices * np.exp(shifts[classes[:, 0]]), classes)


def many_classes(
    levels: int, seed: int = 0, auctions: int = AUCTIONS, *, in_turn: bool = True
) -> World:
    """Classes that shift prices: 50 at a time, none of which comes again, or some far more often.

    Not in turn, the k-th most frequent class has a chance in proportion to k**-1.1.
    """
    generator = np.random.default_rng(seed)
    world = log_normal(0.0, seed, auctions)
    if in_turn:
        begun = np.arange(auctions) * (levels - 50) // auctions
        classes = begun + generator.integers(0, 50, auctions)
    else:
        chances = np.arange(1.0, levels + 1) ** -1.1
        classes = generator.choice(levels, auctions, p=chances / chances.sum())
    shifts = generator.uniform(-0.6, 0.6, levels)
    return World(world.values, world.prices * np.exp(shifts[classes]), classes[:, None])


def irrelevant_classes(levels: int = 24, seed: int = 0, auctions: int = AUCTIONS) -> World:
    """Two features that say nothing about prices."""
    world = log_normal(0.0, seed, auctions)
    generator = np.random.default_rng(seed + 78)
    classes = np.stack(
        [generator.integers(0, levels, auctions), generator.integers(0, 7, auctions)], axis=1
    )
    return world._replace(classes=classes)


def switching(seed: int = 0, auctions: int = AUCTIONS, phases: int = 12) -> World:
    """Prices whose law changes at unknown times to favour other bids than before."""
    generator = np.random.default_rng(seed)
    ends = np.sort(generator.choice(auctions, phases - 1, replace=False))
    phase = np.searchsorted(ends, np.arange(auctions), side="right")
    level = np.where(np.arange(phases) % 2 == 0, 0.1, 0.45) + generator.uniform(0, 0.15, phases)
    values = generator.uniform(0.3, 1.0, auctions)
    return World(values, level[phase] + generator.uniform(-0.05, 0.05, auctions))


def alternating(seed: int = 0, auctions: int = AUCTIONS, length: int = 500) -> World:
    """Prices that are low and high in turns of equal length."""
    generator = np.random.default_rng(seed)
    high = np.arange(auctions) // length % 2 == 1
    values = generator.uniform(0.3, 1.0, auctions)
    noise = generator.uniform(-0.04, 0.04, auctions)
    return World(values, np.where(high, 0.4, 0.12) + noise)


def exchange(seed: int = 0, auctions: int = AUCTIONS, correlation: float = 0.15) -> World:
    """Like an ad exchange: heavy tails, round prices, floors, busy hours, few levels of value."""
    generator = np.random.default_rng(seed)
    first, second = generator.standard_normal((2, auctions))
    hour = np.cos(2 * np.pi * np.arange(auctions) / auctions * 7)
    values = np.exp(0.9 * first + 0.1 * hour)
    tail = generator.standard_t(3, auctions) * 0.5
    mixed = correlation * first + np.sqrt(1 - correlation**2) * second
    prices = 0.5 * np.exp(0.6 * mixed + 0.35 * tail + 0.25 * hour)
    prices = np.where(generator.random(auctions) < 0.3, np.ceil(4 * prices) / 4, prices)
    prices = np.where(generator.random(auctions) < 0.2, 0.2, prices)
    values = np.where(generator.random(auctions) < 0.3, np.round(2 * values) / 2 + 0.1, values)
    top = float(np.quantile(values, 0.999))
    return World(np.minimum(values, top) / top, prices / top)


def levels(seed: int = 0, auctions: int = AUCTIONS) -> World:
    """Values known only in five levels; the higher ones meet higher prices."""
    generator = np.random.default_rng(seed)
    level = generator.choice(5, auctions, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    values = np.array([0.1, 0.2, 0.35, 0.6, 1.0])[level]
    prices = 0.5 * values**0.5 * np.exp(0.5 * generator.standard_normal(auctions))
    return World(values, prices * 0.6)


def heavy_tails(seed: int = 0, auctions: int = AUCTIONS, spread: float = 1.5) -> World:
    """Log-normal values and prices in a range that the highest value has set."""
    generator = np.random.default_rng(seed)
    first, second = generator.standard_normal((2, auctions))
    values = np.exp(spread * first)
    prices = 0.6 * np.exp(0.9 * spread * (0.3 * first + np.sqrt(1 - 0.3**2) * second))
    return World(values / values.max(), prices / values.max())


OWN: dict[str, Callable[[int, int], World]] = {
    "exchange": exchange,
    "exchange, independent": lambda seed, auctions: exchange(seed, auctions, 0.0),
    "five levels": levels,
    "sorted by value": lambda seed, auctions: _sorted(log_normal(0.25, seed, auctions)),
    "negative correlation": lambda seed, auctions: log_normal(-0.3, seed, auctions),
}


def _sorted(world: World) -> World:
    return world.taken(np.argsort(world.values))


NOISES = ("log-normal", "uniform", "gamma", "heavy", "two clusters", "round", "thin margins")
SCALES = ("level", "proportional", "root", "correlated", "Pareto")


def any_unit(noise: str, scale: str, seed: int, auctions: int = AUCTIONS) -> World:
    """Values of some scale in some unit, prices that follow them or not, times some noise."""
    generator = np.random.default_rng([seed, NOISES.index(noise), SCALES.index(scale)])
    first, second = generator.standard_normal((2, auctions))
    share, spread = generator.uniform(0.3, 0.8), generator.uniform(0.3, 1.0)
    if scale == "correlated":
        mixed = generator.uniform(0.4, 0.8)
        second = mixed * first + np.sqrt(1 - mixed**2) * second
    ranks = (second.argsort().argsort() + 0.5) / auctions
    if scale == "root":
        values = 10.0 ** generator.uniform(-2, 2, auctions)
    elif scale == "Pareto":
        values = generator.uniform(size=auctions) ** (-1.0 / generator.uniform(1.1, 1.6))
    else:
        widths = {"level": (0.4, 0.8), "proportional": (1.0, 2.0), "correlated": (0.6, 1.2)}
        values = np.exp(generator.uniform(*widths[scale]) * first)
    clusters = np.where(generator.random(auctions) < 0.5, generator.uniform(0.2, 0.4), 1.2)
    factors = {
        "uniform": 2 * ranks,
        "gamma": np.quantile(generator.gamma(generator.integers(1, 4), size=auctions), ranks),
        "heavy": np.quantile(np.exp(spread * generator.standard_t(3, auctions) / 2), ranks),
        "two clusters": np.quantile(clusters, ranks) * np.exp(0.1 * first),
        "thin margins": 1.0 + 0.1 * (ranks - 0.5),
    }
    prices = share * factors.get(noise, np.exp(spread * second))
    prices *= {"proportional": values, "root": np.sqrt(values)}.get(scale, np.ones(auctions))
    if noise == "round":
        unit = 10.0 ** np.floor(np.log10(prices))
        rounded = np.ceil(2 * prices / unit) * unit / 2
        prices = np.where(generator.random(auctions) < 0.5, rounded, prices)
        floor = np.maximum(prices, 0.3 * share)
        prices = np.where(generator.random(auctions) < 0.2, floor, prices)
    unit = 10.0 ** generator.uniform(-9, 9)
    return World(unit * values, unit * prices)
