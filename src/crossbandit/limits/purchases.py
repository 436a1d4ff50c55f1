"""Find the best purchases under limits if every price is known: a fractional knapsack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.limits.knapsack import LevelCut, spread
from crossbandit.limits.optima import Leaf, Terms, mixture

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

_MOST = 2**20  # auctions that are stored one by one; if there are more, similar ones are merged


class Cut(NamedTuple):
    """Which auctions are bought: those whose value is high enough for their price.

    The *rate* of an auction is (slope * value + bonus) / price.
    """

    weight: float
    slope: float
    bonus: float
    levels: list[LevelCut]

    def shares(self, values: Floats, prices: Floats, sections: Integers) -> Floats:
        """Return which part of each auction is bought."""
        rates = _rates(self.slope * values + self.bonus, prices)
        shares = np.where(prices <= values, 1.0, 0.0)
        for level in self.levels:
            shares *= level.shares(rates, sections)
        return shares


class Purchases:
    """The auctions of each section that may be worth their price, in bounded memory.

    A section is a part of a log that lies in one period of each budget.

    If there are more than `most` auctions, they are sorted by value per price, and neighbours are
    merged in pairs. The optimum is then not exact, but the error is tiny: only one of at least
    2**19 merged auctions is bought in part.

    Args:
        most: How many auctions are stored one by one.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: list[Floats] = []  # per section, (3, n): values, prices and numbers of wins
        self._size = 0

    def add(self, values: Floats, prices: Floats, sections: Integers) -> None:
        """Add auctions. Those that cost more than they are worth do not count."""
        worth = prices <= values
        values, prices, sections = values[worth], prices[worth], sections[worth]
        for section in np.unique(sections):
            while len(self._kept) <= section:
                self._kept.append(np.empty((3, 0)))
            inside = sections == section
            new = np.stack([values[inside], prices[inside], np.ones(int(inside.sum()))])
            self._kept[section] = np.hstack([self._kept[section], new])
            self._size += new.shape[1]
        if self._size > self._most:
            self._kept = [_merged(kept) for kept in self._kept]
            self._size = sum(kept.shape[1] for kept in self._kept)

    def best(self, terms: Terms) -> list[Cut]:
        """Return the best purchases: cuts whose weights sum to 1."""
        sizes = [one.shape[1] for one in self._kept]
        sections = np.repeat(np.arange(len(sizes)), sizes)
        worth, prices, wins = all_kept = np.hstack([np.empty((3, 0)), *self._kept])

        def choose(multipliers: tuple[float, ...]) -> Leaf:
            pairs = list(zip(multipliers, terms.ceilings, strict=True))
            slope = 1.0 + sum(m * one.per_value for m, one in pairs)
            bonus = sum(m * one.per_win for m, one in pairs)
            least = float(terms.paid_counts) + sum(multipliers)
            rates = _rates(slope * worth + bonus * wins, prices)
            shares, cuts = spread(rates, prices, sections, terms.levels, least)
            value, spend, number = (all_kept @ shares)[:, None]
            uses = tuple(float(one.use(value, spend, number)[0]) for one in terms.ceilings)
            objective = float(terms.objective(value, spend)[0])
            return Leaf(objective, uses, Cut(1.0, slope, bonus, cuts))

        found = mixture(choose, terms.ceilings)
        return [leaf.choice._replace(weight=weight) for weight, leaf in found]


def _rates(worth: Floats, prices: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        found: Floats = worth / prices
    return np.minimum(found, np.finfo(float).max)


def _merged(kept: Floats) -> Floats:
    """Return auctions sorted by value per price, with neighbours added up in pairs."""
    kept = kept[:, np.argsort(-_rates(kept[0], kept[1]), kind="stable")]
    even = kept[:, : kept.shape[1] // 2 * 2]
    return np.hstack([even.reshape(3, -1, 2).sum(axis=2), kept[:, even.shape[1] :]])
