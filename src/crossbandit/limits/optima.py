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

from crossbandit.limits.knapsack import Level, Steps, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.types import Floats, Integers

_STEPS = 500
_ROUNDING = 1e-12  # relative: a smaller gain is an error of rounding


class Solution(NamedTuple):
    """A choice, what it earns and what it uses."""

    objective: float
    use: float
    choice: Any


def tight(solve: Callable[[float], Solution], limit: float) -> list[tuple[float, Solution]]:
    """Return the best mixture of choices that uses at most `limit`: weights and choices.

    Args:
        solve: Returns a choice that maximises the objective less a multiplier times its use.
        limit: How much may be used. Some choice must use less.

    Returns:
        One choice, or two whose weights sum to 1.
    """
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
    """A limit on a sum over all auctions: the payments minus the credits of the wins.

    Attributes:
        per_value: The credit of a win for each unit of its value: 1 / the return on spend.
        per_win: The credit of a win in addition to that: the cost per win.
        amount: The largest sum that is allowed: a budget; 0 for a target.
    """

    per_value: float = 0.0
    per_win: float = 0.0
    amount: float = 0.0

    def use(self, values: Floats, spend: Floats, wins: Floats) -> Floats:
        """Return what is used, from the sums of values, payments and numbers of wins."""
        return spend - self.per_value * values - self.per_win * wins


class Terms(NamedTuple):
    """The limits, in the form that the optima are computed from.

    Attributes:
        budgets: (P,). How much may be spent in each section; infinite without a budget. A section
            is the shortest period.
        ceilings: Limits on all sections together.
        paid_counts: Whether payments reduce the objective: surplus is maximised, not value.
        longer: Budgets for periods of several sections, from the shortest to the longest. The
            periods of each must consist of whole periods of the one before.
    """

    budgets: Floats
    ceilings: tuple[Ceiling, ...] = ()
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
    """A bid for each band of each section, and the weight of the map in each section."""

    weights: Floats  # (P,)
    bids: Integers  # (P, bands): the number of the bid
    multipliers: tuple[float, ...] = ()  # of the ceilings


def best_maps(values: Floats, spend: Floats, wins: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps from bands to bids, for each section.

    Args:
        values: (P, bands, K). The sum of the values that each bid wins in a band of a section.
        spend: (P, bands, K). What these wins cost. A bid that costs nothing must be among them.
        wins: (P, bands, K). The number of these wins.
        terms: The limits.

    Returns:
        Maps. In each section their weights sum to 1.
    """
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

    Args:
        values: As in `best_maps`.
        spend: As in `best_maps`.
        wins: As in `best_maps`.
        terms: The limits.

    Returns:
        As `best_maps` does.
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
    """Return the maps that maximise worth minus a multiplier times spend, for all multipliers.

    Args:
        worth: (bands, K).
        spend: (bands, K). The first bid costs nothing.

    Returns:
        (maps, bands), from the multiplier 0 to one so large that nothing is spent.
    """
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
