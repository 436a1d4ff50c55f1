"""Compute the most that can be earned under limits if everything is known beforehand.

A choice earns an *objective* and uses something that is limited: money, or the credit of a target.
Choices may be mixed, so the optimum is that of a linear program. It has a *multiplier*, the price
of what is used: each part of a choice maximises its objective minus the multiplier times its use.
At the right multiplier, a mixture of two such choices uses exactly what is allowed. `tight` finds
this multiplier exactly. The best value as a function of the multiplier is a maximum of lines. Where
two known lines meet, either no line is higher, or one is, and the search goes on with that line.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crossbandit.core.types import Floats, Integers


class Level(NamedTuple):
    """A budget for each of consecutive periods, which consist of whole sections."""

    of: Integers  # (sections,). The period of each section, ascending.
    budgets: Floats  # (periods,). What may be spent in each.


class LevelCut(NamedTuple):
    """Which rates are bought in the periods of a level.

    Rates above `high` are bought in full, those from `low` to `high` in part.
    """

    of: Integers  # (sections,)
    low: Floats  # (periods,)
    high: Floats  # (periods,)
    part: Floats  # (periods,)

    def shares(self, rates: Floats, sections: Integers) -> Floats:
        """Return which part of each item is bought."""
        periods = self.of[sections]
        shares = np.where(rates >= self.low[periods], self.part[periods], 0.0)
        shares[rates > self.high[periods]] = 1.0
        return shares


def spread(
    rates: Floats, prices: Floats, sections: Integers, levels: Sequence[Level], least: float
) -> tuple[Floats, list[LevelCut]]:
    """Return which part of each item is bought, and the cut of each level."""
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


# --- mixtures under ceilings ----------------------------------------------------------------


_STEPS = 500
_ROUNDING = 1e-12  # relative: a smaller gain is an error of rounding


class Solution(NamedTuple):
    """A choice, what it earns and what it uses."""

    objective: float
    use: float
    choice: Any


def tight(solve: Callable[[float], Solution], limit: float) -> list[tuple[float, Solution]]:
    """Return the best mixture of choices that uses at most `limit`: weights and choices."""
    above = solve(0.0)
    most = limit + _ROUNDING * (abs(above.objective) + abs(above.use))
    if above.use <= most:
        return [(1.0, above)]
    multiplier, below = 1.0, solve(1.0)
    while below.use > most:
        multiplier *= 4.0
        below = solve(multiplier)
    for _ in range(_STEPS):
        multiplier = (above.objective - below.objective) / (above.use - below.use)
        between = solve(multiplier)
        gain = between.objective - above.objective - multiplier * (between.use - above.use)
        if gain <= _ROUNDING * (abs(above.objective) + abs(multiplier * above.use)):
            break
        if between.use > most:
            above = between
        else:
            below = between
    weight = max(limit - below.use, 0.0) / (above.use - below.use)
    return [(weight, above), (1.0 - weight, below)]


class Ceiling(NamedTuple):
    """A limit on a sum over all auctions: the payments minus the credits of the wins."""

    per_value: float = 0.0
    per_win: float = 0.0  # the credit of a win in addition to that: the cost per win
    amount: float = 0.0  # the largest sum that is allowed: a budget; 0 for a target

    def use(self, values: Floats, spend: Floats, wins: Floats) -> Floats:
        """Return what is used, from the sums of values, payments and numbers of wins."""
        return spend - self.per_value * values - self.per_win * wins


class Terms(NamedTuple):
    """The limits, in the form that the optima are computed from."""

    budgets: Floats
    ceilings: tuple[Ceiling, ...] = ()  # limits on all sections together
    paid_counts: bool = True
    longer: tuple[Level, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """All budgets, from the shortest periods to the longest."""
        if self.longer and np.isinf(self.budgets).all():
            return self.longer
        return (Level(np.arange(self.budgets.size), self.budgets), *self.longer)

    def objective(self, values: Floats, spend: Floats) -> Floats:
        """Return what is maximised."""
        return values - spend if self.paid_counts else values


class Leaf(NamedTuple):
    """A choice for given multipliers of the ceilings, what it earns and what it uses of each."""

    objective: float
    uses: tuple[float, ...]
    choice: Any


def mixture(
    choose: Callable[[tuple[float, ...]], Leaf],
    ceilings: tuple[Ceiling, ...],
    multipliers: tuple[float, ...] = (),
) -> list[tuple[float, Leaf]]:
    """Return the best mixture of choices under all ceilings: weights and choices."""
    fixed = len(multipliers)
    if fixed == len(ceilings):
        return [(1.0, choose(multipliers))]

    def solve(multiplier: float) -> Solution:
        mixed = mixture(choose, ceilings, (*multipliers, multiplier))
        objective = sum(
            weight
            * (leaf.objective - sum(m * u for m, u in zip(multipliers, leaf.uses, strict=False)))
            for weight, leaf in mixed
        )
        return Solution(objective, sum(w * leaf.uses[fixed] for w, leaf in mixed), mixed)

    return [
        (weight * inner, leaf)
        for weight, one in tight(solve, ceilings[fixed].amount)
        for inner, leaf in one.choice
        if weight * inner > 0
    ]


# --- bids by band of values -------------------------------------------------------------------


class Map(NamedTuple):
    """A bid for each band of each section, and the weight of the map in each section."""

    weights: Floats  # (P,)
    bids: Integers  # (P, bands): the number of the bid
    multipliers: tuple[float, ...] = ()  # of the ceilings


def best_maps(values: Floats, spend: Floats, wins: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps from bands to bids, for each section."""
    objective = terms.objective(values, spend)
    uses = [one.use(values, spend, wins) for one in terms.ceilings]

    def choose(multipliers: tuple[float, ...]) -> Leaf:
        priced = objective
        for multiplier, use in zip(multipliers, uses, strict=True):
            priced = priced - multiplier * use
        steps = Steps(priced, spend)
        shares, _ = spread(steps.rates, steps.costs, steps.sections, terms.levels, 0.0)
        found = steps.chosen(shares)
        sums = tuple(_sum(use, *found) for use in uses)
        return Leaf(_sum(objective, *found), sums, (multipliers, *found))

    maps = []
    for weight, leaf in mixture(choose, terms.ceilings):
        multipliers, shares, first, second = leaf.choice
        maps.append(Map(weight * (1.0 - shares), first, multipliers))
        maps.append(Map(weight * shares, second, multipliers))
    return [one for one in maps if one.weights.any()]


def paced_maps(values: Floats, spend: Floats, wins: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps if sections may differ only in their multipliers.

    All sections choose among the maps that are best in all sections together at some multiplier.
    """
    worth, paid, number = (table.sum(axis=0) for table in (values, spend, wins))
    total = min(float(level.budgets.sum()) for level in terms.levels)
    together = terms._replace(budgets=np.array([total]), longer=())
    first = best_maps(worth[None], paid[None], number[None], together)[0]
    priced = worth
    for multiplier, one in zip(first.multipliers, terms.ceilings, strict=True):
        priced = priced + multiplier * (one.per_value * worth + one.per_win * number)
    maps = best_at_all_multipliers(priced, paid)
    rows = np.arange(maps.shape[1])
    by_map = [table[:, rows, maps].sum(axis=2)[:, None] for table in (values, spend, wins)]
    return [
        one._replace(bids=maps[one.bids[:, 0]])
        for one in best_maps(by_map[0], by_map[1], by_map[2], terms)
    ]


def best_at_all_multipliers(worth: Floats, spend: Floats) -> Integers:
    """Return the maps that maximise worth minus a multiplier times spend, for all multipliers."""
    corners = np.unique(np.concatenate([_corners(*one) for one in zip(worth, spend, strict=True)]))
    ends = [0.0, *corners[corners > 0].tolist()]
    middles = [(low + high) / 2 for low, high in pairwise(ends)]
    chosen = [(worth - one * spend).argmax(axis=1) for one in [0.0, *middles]]
    chosen.append(np.zeros(len(worth), dtype=np.int64))
    maps: Integers = np.unique(np.array(chosen), axis=0)
    return maps


def _corners(worth: Floats, spend: Floats) -> Floats:
    """Return the multipliers at which the best bid of one band changes."""
    corners = []
    at = int(worth.argmax())
    while spend[at] > 0:
        cheaper = np.flatnonzero(spend < spend[at])
        slopes = (worth[at] - worth[cheaper]) / (spend[at] - spend[cheaper])
        corners.append(float(slopes.min()))
        ties = cheaper[slopes <= slopes.min()]
        at = int(ties[spend[ties].argmin()])
    return np.array(corners)


def _sum(table: Floats, weights: Floats, first: Integers, second: Integers) -> float:
    """Return the sum of a table (P, bands, K) at two maps; weights: those of the second."""
    sums = [
        np.take_along_axis(table, bids[:, :, None], axis=2).sum(axis=(1, 2))
        for bids in (first, second)
    ]
    return float((1.0 - weights) @ sums[0] + weights @ sums[1])


# --- purchases at known prices --------------------------------------------------------------


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
