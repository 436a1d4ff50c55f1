"""The best purchases under limits, with every price known: a fractional knapsack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.limits.optima import Leaf, Terms, mixture

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

_MOST = 2**20  # auctions that are kept one by one; beyond that, similar ones are merged


class Cut(NamedTuple):
    """Which auctions are bought: those whose value is high enough for their price.

    The *rate* of an auction is (slope * value + bonus) / price. Rates above `high` are bought in
    full, those from `low` to `high` in part.
    """

    weight: float
    slope: float
    bonus: float
    low: Floats  # (P,)
    high: Floats  # (P,)
    part: Floats  # (P,)

    def shares(self, values: Floats, prices: Floats, periods: Integers) -> Floats:
        """Return which part of each auction is bought."""
        rates = _rates(self.slope * values + self.bonus, prices)
        shares = np.where(rates >= self.low[periods], self.part[periods], 0.0)
        shares[rates > self.high[periods]] = 1.0
        shares[prices > values] = 0.0
        return shares


class Purchases:
    """The auctions of each period that may be worth their price, in bounded memory.

    If more than `most` are to be kept, neighbours in the order of value per price are merged in
    pairs. The optimum of so many auctions is not exact, but the error is tiny: what is bought in
    part is one of at least 2**19 merged auctions.

    Args:
        most: How many auctions are kept one by one.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: list[Floats] = []  # of each period: (3, n), values, prices and numbers of wins
        self._size = 0

    def add(self, values: Floats, prices: Floats, periods: Integers) -> None:
        """Add auctions. Those that cost more than they are worth do not count."""
        worth = prices <= values
        values, prices, periods = values[worth], prices[worth], periods[worth]
        for period in np.unique(periods):
            while len(self._kept) <= period:
                self._kept.append(np.empty((3, 0)))
            inside = periods == period
            new = np.stack([values[inside], prices[inside], np.ones(int(inside.sum()))])
            self._kept[period] = np.hstack([self._kept[period], new])
            self._size += new.shape[1]
        if self._size > self._most:
            self._kept = [_merged(kept) for kept in self._kept]
            self._size = sum(kept.shape[1] for kept in self._kept)

    def best(self, terms: Terms) -> list[Cut]:
        """Return the best purchases: cuts whose weights sum to 1."""
        missing = terms.budgets.size - len(self._kept)
        kept = [*self._kept, *[np.empty((3, 0))] * missing]

        def choose(multipliers: tuple[float, ...]) -> Leaf:
            pairs = list(zip(multipliers, terms.ceilings, strict=True))
            slope = 1.0 + sum(m * one.per_value for m, one in pairs)
            bonus = sum(m * one.per_win for m, one in pairs)
            least = float(terms.paid_counts) + sum(multipliers)
            bought, cuts = np.zeros(3), []
            for one, budget in zip(kept, terms.budgets, strict=True):
                rates = _rates(slope * one[0] + bonus * one[2], one[1])
                shares, cut = _cut(rates, one[1], budget, least)
                bought += one @ shares
                cuts.append(cut)
            value, spend, wins = bought[:, None]
            low, high, part = np.array(cuts).T
            uses = tuple(float(one.use(value, spend, wins)[0]) for one in terms.ceilings)
            objective = float(terms.objective(value, spend)[0])
            return Leaf(objective, uses, Cut(1.0, slope, bonus, low, high, part))

        found = mixture(choose, terms.ceilings)
        return [leaf.choice._replace(weight=weight) for weight, leaf in found]


def _rates(worth: Floats, prices: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        found: Floats = worth / prices
    return np.minimum(found, np.finfo(float).max)


def _cut(
    rates: Floats, prices: Floats, budget: float, least: float
) -> tuple[Floats, tuple[float, float, float]]:
    """Return the shares to buy in one period, and the bounds of rates (low, high, part).

    Rates up to `least` are not worth their price.
    """
    shares = np.zeros(rates.size)
    order = np.argsort(-rates, kind="stable")
    ordered = rates[order]
    ordered = ordered[ordered > least]
    if not ordered.size:
        return shares, (np.inf, np.inf, 0.0)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))  # of equal rates
    ends = np.append(starts[1:], ordered.size)
    spent = np.cumsum(prices[order[: ordered.size]])[ends - 1]
    i = int(np.searchsorted(spent, budget, "right"))  # the first that is not bought in full
    shares[order[: starts[i] if i < starts.size else ordered.size]] = 1.0
    if i == starts.size:
        return shares, (np.inf, least, 0.0)
    before = spent[i - 1] if i else 0.0
    part = float((budget - before) / (spent[i] - before))
    shares[order[starts[i] : ends[i]]] = part
    rate = ordered[starts[i]]
    low = (rate + ordered[ends[i]]) / 2 if ends[i] < ordered.size else np.nextafter(least, np.inf)
    high = rate + (ordered[starts[i] - 1] - rate) / 2 if i else np.inf
    return shares, (low, high, part)


def _merged(kept: Floats) -> Floats:
    """Return auctions in the order of value per price, neighbours added in pairs."""
    kept = kept[:, np.argsort(-_rates(kept[0], kept[1]), kind="stable")]
    even = kept[:, : kept.shape[1] // 2 * 2]
    return np.hstack([even.reshape(3, -1, 2).sum(axis=2), kept[:, even.shape[1] :]])
