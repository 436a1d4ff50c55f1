"""What the best fixed map from values to bids earns under a limit, in hindsight and exactly.

A map has one bid for each of 25 bands of values; a bid above the value is lowered to it. For every
multiplier, each band takes its best bid. The multiplier is found by bisection. Where the best map
jumps there, the two maps next to the jump are mixed so that the limit is met exactly: that is the
optimum among all maps and their mixtures, and so at least what the best single map earns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.markets_rivals import BANDS
from benchmarks.markets_worlds import BIDS

if TYPE_CHECKING:
    from benchmarks.markets_worlds import World
    from crossbandit.core.types import Floats, Integers

_STEPS = 200
_MOST = 1e6  # a multiplier
_HIGHEST = 6.0  # multiple of a value that is bid for, where the value is the aim


class Maps:
    """The values won and the money spent by each bid in each band, on one log."""

    def __init__(self, world: World, bids: Floats = BIDS, bands: int = BANDS) -> None:
        band = np.minimum((world.values * bands).astype(np.int64), bands - 1)
        prices = np.where(world.prices > 0, world.prices, -np.inf)
        self.values, self.spend, self.bid = np.zeros((3, bands, bids.size))
        for k, bid in enumerate(bids):
            paid = np.minimum(bid, world.values)
            won = (prices <= paid) & (paid > 0)
            self.values[:, k] = np.bincount(band[won], world.values[won], bands)
            self.spend[:, k] = np.bincount(band[won], paid[won], bands)
            self.bid[:, k] = np.bincount(band, paid, bands)

    def best(self, gain: float, price: float) -> Integers:
        """Return the bid of each band with the most `gain` times value less `price` times spend."""
        found: Integers = (gain * self.values - price * self.spend).argmax(axis=1)
        return found

    def totals(self, bids: Integers) -> tuple[float, float]:
        """Return the values won and the money spent by a map."""
        rows = np.arange(bids.size)
        return float(self.values[rows, bids].sum()), float(self.spend[rows, bids].sum())

    def free_spend(self) -> float:
        """Return what is spent without limits, if the surplus is maximised."""
        return self.totals(self.best(1.0, 1.0))[1]

    def under_budget(self, budget: float, late: float = 0.0) -> float:
        """Return the most surplus for at most so much money.

        Args:
            budget: The money.
            late: The share of the log after which an outcome comes. At the end of the log, the bids
                of its last part are reserved, and those before have been paid for if they won.
        """
        rows = np.arange(len(self.spend))
        surplus, use = self.values - self.spend, (1 - late) * self.spend + late * self.bid

        def at(multiplier: float) -> tuple[float, float]:
            bids = (surplus - multiplier * use).argmax(axis=1)
            return float(surplus[rows, bids].sum()), float(use[rows, bids].sum())

        low, high = 0.0, _MOST
        earned, used = at(low)
        if used <= budget:
            return earned
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if at(middle)[1] > budget:
                low = middle
            else:
                high = middle
        above, below = at(low), at(high)
        share = (budget - below[1]) / (above[1] - below[1])
        return (1 - share) * below[0] + share * above[0]

    def under_return(self, ratio: float) -> float:
        """Return the most value with at least `ratio` times the spend in value."""
        low, high = 0.0, _MOST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            value, spent = self.totals(self.best(1.0 + middle, middle * ratio))
            if value < ratio * spent:
                low = middle
            else:
                high = middle
        above, below = (self.totals(self.best(1.0 + one, one * ratio)) for one in (low, high))
        missing, slack = ratio * above[1] - above[0], below[0] - ratio * below[1]
        share = slack / (slack + missing) if missing > 0 else 0.0
        return (1 - share) * below[0] + share * above[0]


def by_one_law(world: World, ratio: float, bids: Floats = BIDS) -> float:
    """Return the most value at a return on spend, by best responses to the law of all prices.

    This is the best fixed map of a bidder to whom prices do not depend on values: for a value v it
    bids what earns most at `multiplier * v`, with the multiplier that is best in hindsight.

    Args:
        world: The log.
        ratio: The return on spend.
        bids: The bids, ascending.
    """
    worths = np.linspace(0.0, _HIGHEST, 20_000)
    chances = (np.sort(world.prices).searchsorted(bids, "right")) / world.prices.size
    earned = (worths[:, None] - bids) * chances
    responses = earned.argmax(axis=1)
    highest = np.searchsorted(bids, world.values, "right") - 1
    most = 0.0
    for multiplier in np.geomspace(1 / (4 * ratio), _HIGHEST, 400):
        places = (world.values * multiplier / _HIGHEST * (worths.size - 1)).round().astype(np.int64)
        paid = bids[np.minimum(responses[np.minimum(places, worths.size - 1)], highest)]
        won = (paid >= world.prices) & (paid > 0)
        value, spent = world.values[won].sum(), paid[won].sum()
        if value >= ratio * spent:
            most = max(most, float(value))
    return most


def evenly_paced(world: World, budget: float, parts: int = 24) -> float:
    """Return what hindsight earns that spends the same in each part of the log.

    There is one best map for each multiplier, from the whole log. In each part, the two neighbours
    among 600 multipliers are mixed that spend its share.
    """
    whole = Maps(world)
    multipliers = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 600)])
    maps = [whole.best(1.0, 1.0 + one) for one in multipliers]
    total = 0.0
    for part in np.array_split(np.arange(world.values.size), parts):
        own = Maps(world.taken(part))
        values, spend = np.array([own.totals(bids) for bids in maps]).T
        surplus, allowed = values - spend, budget / parts
        k = int((spend <= allowed).argmax())
        if k == 0:
            total += surplus[0]
            continue
        share = (allowed - spend[k]) / (spend[k - 1] - spend[k])
        total += (1 - share) * surplus[k] + share * surplus[k - 1]
    return float(total)
