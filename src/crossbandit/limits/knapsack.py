"""A fractional knapsack under budgets whose periods are nested, such as hours in days.

The items that are worth most for their price are bought first, until the money is spent. With
nested periods this is done from the shortest to the longest: for each longer period, the items
bought so far are taken together, and again only the best of them are kept. The result is exact: an
item that a shorter period does not buy is not bought by a longer one either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.types import Floats, Integers


class Level(NamedTuple):
    """A budget for each of consecutive periods, which consist of whole sections.

    Attributes:
        of: (sections,). The period of each section, ascending.
        budgets: (periods,). What may be spent in each.
    """

    of: Integers
    budgets: Floats


class LevelCut(NamedTuple):
    """Which rates are bought in the periods of a level.

    Rates above `high` are bought in full, those from `low` to `high` in part.
    """

    of: Integers  # (sections,)
    low: Floats  # (periods,)
    high: Floats  # (periods,)
    part: Floats  # (periods,)

    def shares(self, rates: Floats, sections: Integers) -> Floats:
        """Return which part of each item is bought.

        Args:
            rates: What each is worth per unit of its price.
            sections: The section of each.
        """
        periods = self.of[sections]
        shares = np.where(rates >= self.low[periods], self.part[periods], 0.0)
        shares[rates > self.high[periods]] = 1.0
        return shares


def spread(
    rates: Floats, prices: Floats, sections: Integers, levels: Sequence[Level], least: float
) -> tuple[Floats, list[LevelCut]]:
    """Return which part of each item is bought, and the cut of each level.

    Args:
        rates: What each item is worth per unit of its price.
        prices: The prices.
        sections: The section of each item, ascending.
        levels: The budgets, from the shortest periods to the longest.
        least: Only rates above it are bought.
    """
    shares, cuts = np.ones(rates.size), []
    for level in levels:
        edges = np.searchsorted(level.of[sections], np.arange(level.budgets.size + 1))
        bounds = []
        for q, budget in enumerate(level.budgets.tolist()):
            now = slice(edges[q], edges[q + 1])
            bought, bound = _cut(rates[now], prices[now] * shares[now], budget, least)
            shares[now] *= bought
            bounds.append(bound)
        cuts.append(LevelCut(level.of, *np.array(bounds).T))
    return shares, cuts


def _cut(
    rates: Floats, prices: Floats, budget: float, least: float
) -> tuple[Floats, tuple[float, float, float]]:
    """Return the shares to buy in one period, and the bounds of rates (low, high, part)."""
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


class Steps:
    """The steps of each band of each section, from a bid that costs nothing to its best bid.

    A step goes from one bid to a more expensive one. Its rate is the worth that it adds per unit of
    the cost that it adds. Only bids whose steps have falling rates are used: at any multiplier, one
    of them is best.

    Args:
        worth: (sections, bands, K). What each bid is worth.
        spend: (sections, bands, K). What it costs. A bid that costs nothing must be among them.

    Attributes:
        rates: The rate of each step.
        costs: What each costs.
        sections: The section of each, ascending.
    """

    def __init__(self, worth: Floats, spend: Floats) -> None:
        self._shape = worth.shape[:2]
        count = worth.shape[2]
        pairs = (worth.reshape(-1, count), spend.reshape(-1, count))
        self._bids = [_hull(*rows) for rows in zip(*pairs, strict=True)]
        sizes = [len(bids) - 1 for bids in self._bids]
        self._rows = np.repeat(np.arange(len(sizes)), sizes)
        low = np.array([k for bids in self._bids for k in bids[:-1]], dtype=np.int64)
        high = np.array([k for bids in self._bids for k in bids[1:]], dtype=np.int64)
        gains, costs = (one[self._rows, high] - one[self._rows, low] for one in pairs)
        self.rates, self.costs = gains / costs, costs
        self.sections: Integers = self._rows // worth.shape[1]

    def chosen(self, shares: Floats) -> tuple[Floats, Integers, Integers]:
        """Return the bids that result from taking these shares of the steps.

        In a section, all steps that are taken in part have the same rate and the same share.

        Args:
            shares: Which part of each step is taken.

        Returns:
            A weight w of each section (sections,), and two arrays of bids (sections, bands): the
            first is made with weight 1 - w, the second with weight w.
        """
        full = np.bincount(self._rows, shares >= 1.0, len(self._bids)).astype(np.int64)
        begun = (shares > 0.0) & (shares < 1.0)
        further = full + np.bincount(self._rows, begun, len(self._bids)).astype(np.int64)
        weights = np.zeros(self._shape[0])
        weights[self.sections[begun]] = shares[begun]
        first, second = (
            np.array([bids[at] for bids, at in zip(self._bids, reached, strict=True)])
            for reached in (full.tolist(), further.tolist())
        )
        return weights, first.reshape(self._shape), second.reshape(self._shape)


def _hull(worth: Floats, spend: Floats) -> list[int]:
    """Return the bids of one band that are best at some multiplier, the cheapest first."""
    earned, paid = worth.tolist(), spend.tolist()
    hull: list[int] = []
    for k in np.lexsort((-worth, spend)).tolist():
        if hull and earned[k] <= earned[hull[-1]]:
            continue
        while len(hull) > 1:
            last, before = hull[-1], hull[-2]
            gain, cost = earned[last] - earned[before], paid[last] - paid[before]
            if gain * (paid[k] - paid[last]) > (earned[k] - earned[last]) * cost:
                break
            hull.pop()
        hull.append(k)
    return hull
