"""The most that is possible under limits, with everything known beforehand.

What is chosen earns an *objective*, and uses up something that is limited: money, or the room that
a target leaves. Choices may be mixed, so the optimum is that of a linear program. It has a
*multiplier*, the price of what is used up: each part of the choice then maximises its objective
less the multiplier times its use. At the right multiplier two such choices, mixed, use up exactly
what there is. `tight` finds it exactly: the best value as a function of the multiplier is a maximum
of lines, and where two of them meet, either nothing lies above, or another line that is better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.types import Floats, Integers

_STEPS = 500
_ROUNDING = 1e-12  # relative: a smaller gain is an error of rounding
_MOST = 2**20  # auctions that are kept one by one; beyond that, similar ones are merged


class Solution(NamedTuple):
    """A choice, what it earns and what it uses up."""

    objective: float
    use: float
    choice: Any


def tight(solve: Callable[[float], Solution], limit: float) -> list[tuple[float, Solution]]:
    """Return the best mixture of choices that uses up at most `limit`: weights and choices.

    Args:
        solve: Returns a choice that maximises the objective less a multiplier times its use.
        limit: How much may be used up. Some choice must use less.

    Returns:
        One choice, or two whose weights sum to 1.
    """
    above = solve(0.0)
    if above.use <= limit:
        return [(1.0, above)]
    multiplier, below = 1.0, solve(1.0)
    while below.use > limit:
        multiplier *= 4.0
        below = solve(multiplier)
    for _ in range(_STEPS):
        multiplier = (above.objective - below.objective) / (above.use - below.use)
        between = solve(multiplier)
        gain = between.objective - above.objective - multiplier * (between.use - above.use)
        if gain <= _ROUNDING * (abs(above.objective) + abs(multiplier * above.use)):
            break
        if between.use > limit:
            above = between
        else:
            below = between
    weight = (limit - below.use) / (above.use - below.use)
    return [(weight, above), (1.0 - weight, below)]


class Ceiling(NamedTuple):
    """A limit on the sum over all auctions of payments less what wins allow for.

    Attributes:
        per_value: What a win allows for, for each unit of its value: 1 / a return on spend.
        per_win: What a win allows for in addition: a cost per win.
        amount: What the sum may be: a budget; 0 for a target.
    """

    per_value: float = 0.0
    per_win: float = 0.0
    amount: float = 0.0

    def use(self, values: Floats, spend: Floats, wins: Floats) -> Floats:
        """Return what is used up, by sums of values, payments and numbers of wins."""
        return spend - self.per_value * values - self.per_win * wins


class Terms(NamedTuple):
    """What limits ask for.

    Attributes:
        budgets: (P,). How much may be spent in each period; infinite without a budget.
        ceilings: Limits on all periods together.
        paid_counts: Whether payments reduce the objective: surplus is maximised, not value.
    """

    budgets: Floats
    ceilings: tuple[Ceiling, ...] = ()
    paid_counts: bool = True

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
    """Return the best mixture of choices under all ceilings: weights and choices.

    Args:
        choose: Returns a best choice for a multiplier of each ceiling.
        ceilings: The ceilings.
        multipliers: The multipliers of the first ceilings, if they are fixed.

    Returns:
        Choices with weights that sum to 1.
    """
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
    """Bids for the bands of each period, to be made with a weight of that period."""

    weights: Floats  # (P,)
    bids: Integers  # (P, bands): the number of the bid


def best_maps(values: Floats, spend: Floats, wins: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps from bands to bids, for each period.

    Args:
        values: (P, bands, K). The sum of the values that each bid wins in a band.
        spend: Likewise, what they cost. A bid that costs nothing must be among them.
        wins: Likewise, their number.
        terms: The limits.

    Returns:
        Maps. In each period their weights sum to 1.
    """
    objective = terms.objective(values, spend)
    uses = [one.use(values, spend, wins) for one in terms.ceilings]

    def choose(multipliers: tuple[float, ...]) -> Leaf:
        priced = objective
        for multiplier, use in zip(multipliers, uses, strict=True):
            priced = priced - multiplier * use
        parts = [
            tight(_chooser(priced[p], spend[p]), float(terms.budgets[p])) for p in range(len(spend))
        ]
        return Leaf(_sum(objective, parts), tuple(_sum(use, parts) for use in uses), parts)

    maps = []
    for weight, leaf in mixture(choose, terms.ceilings):
        for k in range(2):
            shares = [part[k][0] if k < len(part) else 0.0 for part in leaf.choice]
            bids = [part[min(k, len(part) - 1)][1].choice for part in leaf.choice]
            maps.append(Map(weight * np.array(shares), np.array(bids)))
    return [one for one in maps if one.weights.any()]


def _sum(table: Floats, parts: list[list[tuple[float, Solution]]]) -> float:
    """Return the sum over a table (P, bands, K) at the chosen bids, by weight."""
    return sum(
        weight * float(table[p, np.arange(one.choice.size), one.choice].sum())
        for p, part in enumerate(parts)
        for weight, one in part
    )


def _chooser(priced: Floats, spend: Floats) -> Callable[[float], Solution]:
    """Return how the bids of one period (bands, K) are chosen at a multiplier of its budget."""
    rows = np.arange(len(spend))

    def solve(multiplier: float) -> Solution:
        chosen = (priced - multiplier * spend).argmax(axis=1)
        return Solution(float(priced[rows, chosen].sum()), float(spend[rows, chosen].sum()), chosen)

    return solve


# --- single auctions with known prices --------------------------------------------------------


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
            value, spend, wins = bought
            low, high, part = np.array(cuts).T
            uses = tuple(float(one.use(value, spend, wins)) for one in terms.ceilings)
            cut = Cut(1.0, slope, bonus, low, high, part)
            return Leaf(float(terms.objective(value, spend)), uses, cut)

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
