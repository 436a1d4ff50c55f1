"""Weakly dominating sets: which arms to play in order to observe the weakly observable ones.

A set of arms dominates the weakly observable arms if it reveals each of them (Alon et al. 2015).
The smallest size of such a set is the weak domination number; it is 0 if no arm is weakly
observable. The fractional number (Chen et al. 2021) is the least sum of weights x(a) >= 0 so that
the arms that reveal a weakly observable arm have a total weight of at least 1. It is at most the
weak domination number, and at least that divided by 1 + log K.

A greedy set is an upper bound. The linear program, rounded up, is a lower bound. If the program is
too large, the lower bound is a set of weakly observable arms of which no arm reveals two. If the
bounds differ, a short search is tried, and then HiGHS, for at most TIME_LIMIT seconds. On one core
that is enough for random graphs of 100 arms at every density, and for 1,000 arms that are revealed
by at most 5 arms each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from crossbandit.core.extras import require
from crossbandit.core.types import Floats, Integers
from crossbandit.graphs.graph import FeedbackGraph, weak_arms
from crossbandit.graphs.neighborhoods import Bounds, Found, members

TIME_LIMIT = 30.0  # seconds for the search of one graph
_PROGRAM_EDGES = 1_000_000  # with more, the constraints alone take minutes
_ROUNDING = 1e-6  # HiGHS's own tolerance


class FractionalDomination(NamedTuple):
    """The fractional weak domination number, and a weight for each arm that attains it."""

    number: float
    weights: Floats


def estimate(graph: FeedbackGraph) -> Found:
    """Return bounds without a search."""
    weak = weak_arms(graph)
    revealers = [members(graph.in_ranges, arm) for arm in weak]
    witness = _greedy_set(graph, weak)
    used, lower = np.zeros(graph.arms, dtype=np.bool_), 0
    for own in sorted(revealers, key=len):  # weakly observable arms of which no arm reveals two
        if not used[own].any():
            used[own] = True
            lower += 1
    if lower < len(witness) and sum(map(len, revealers)) <= _PROGRAM_EDGES:
        least = float(fractional_cover(revealers, graph.arms).sum())
        lower = max(lower, math.ceil(least - _ROUNDING))
    return Found(witness, Bounds(lower, len(witness)), searched=False)


def solve(graph: FeedbackGraph) -> Found:
    """Return the exact answer, or the best bounds after TIME_LIMIT."""
    witness, (lower, upper), _ = found = estimate(graph)
    revealers = [members(graph.in_ranges, arm) for arm in weak_arms(graph)]
    if lower == upper or sum(map(len, revealers)) > _PROGRAM_EDGES:
        return found._replace(searched=True)
    smaller = smallest_cover(revealers, graph.arms, lower, upper - 1)
    if smaller is not None:
        witness = smaller or witness
        lower = len(witness)
    else:
        rows = set_rows(revealers, graph.arms)
        chosen, bound = integer_program(1.0, rows, (1.0, math.inf), TIME_LIMIT)
        if chosen is not None:
            witness = min(witness, tuple(chosen.tolist()), key=len)
        if bound is not None and math.isfinite(bound):
            lower = max(lower, math.ceil(bound - _ROUNDING))
    return Found(witness, Bounds(min(lower, len(witness)), len(witness)), searched=True)


def integer_program(
    cost: float, rows: Any, limits: tuple[float, float], seconds: float
) -> tuple[Integers | None, float | None]:
    """Choose arms, with a number within the limits in each row, and the least `cost` times all.

    Returns the arms, and a lower bound on the least cost; None for what was not found in time.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    arms = rows.shape[1]
    result = milp(
        np.full(arms, cost),
        integrality=np.ones(arms),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, *limits),
        options={"time_limit": seconds},
    )
    return None if result.x is None else np.flatnonzero(result.x > 0.5), result.mip_dual_bound


def fractional(graph: FeedbackGraph) -> FractionalDomination:
    """Return the fractional weak domination number and weights that attain it."""
    revealers = [members(graph.in_ranges, arm) for arm in weak_arms(graph)]
    weights = fractional_cover(revealers, graph.arms)
    weights.flags.writeable = False
    return FractionalDomination(float(weights.sum()), weights)


def _greedy_set(graph: FeedbackGraph, weak: list[int]) -> tuple[int, ...]:
    """Repeatedly take the arm that reveals most of the arms that are not revealed yet.

    Ties go to the smallest arm. In the end, arms that the others make redundant are removed.
    """
    missing = np.zeros(graph.arms, dtype=np.bool_)
    missing[weak] = True
    gain = np.zeros(graph.arms, dtype=np.int64)
    for arm in weak:
        gain[members(graph.in_ranges, arm)] += 1
    taken: list[int] = []
    while missing.any():
        best = int(gain.argmax())
        taken.append(best)
        for arm in members(graph.out_ranges, best)[missing[members(graph.out_ranges, best)]]:
            gain[members(graph.in_ranges, int(arm))] -= 1
            missing[arm] = False
    times = np.zeros(graph.arms, dtype=np.int64)
    for arm in taken:
        times[members(graph.out_ranges, arm)] += 1
    wanted = np.zeros(graph.arms, dtype=np.bool_)
    wanted[weak] = True
    kept = []
    for arm in taken:
        shown = members(graph.out_ranges, arm)
        if (times[shown[wanted[shown]]] > 1).all():
            times[shown] -= 1
        else:
            kept.append(arm)
    return tuple(sorted(kept))


_SMALL = 100  # arms up to which programs are solved here
_PIVOTS = 10_000  # the most pivots of a linear program; 100 random arms take a few hundred
_NODES = 200_000  # the most nodes of the search for the fewest arms: about a second
_TINY = 1e-9


def fractional_cover(sets: Sequence[Integers], arms: int) -> Floats:
    """Return weights x >= 0 of least sum so that x(S) >= 1 for each set S.

    >>> fractional_cover([np.array([0, 1]), np.array([1, 2]), np.array([0, 2])], 3)
    array([0.5, 0.5, 0.5])
    """
    if not sets:
        return np.zeros(arms)
    weights = _simplex(sets, arms) if arms <= _SMALL else None
    return _by_linear_program(sets, arms) if weights is None else weights


def _simplex(sets: Sequence[Integers], arms: int) -> Floats | None:
    """Solve the dual program: maximise the sum of y over the sets, with at most 1 in each arm.

    y = 0 is feasible, so one phase is enough. By Bland's rule, the smallest index enters and the
    smallest leaves, so the method ends. The reduced costs of the slacks are the weights of the
    arms.
    """
    count = len(sets)
    table = np.zeros((arms + 1, count + arms + 1))
    for j, one in enumerate(sets):
        table[one, j] = 1.0
    table[:arms, count:-1] = np.eye(arms)
    table[:arms, -1] = 1.0
    table[arms, :count] = -1.0
    basis = np.arange(count, count + arms)
    for _ in range(_PIVOTS):
        entering = np.flatnonzero(table[arms, :-1] < -_TINY)
        if not entering.size:
            weights: Floats = np.maximum(table[arms, count:-1], 0.0)
            return weights
        column = table[:arms, entering[0]]
        ratios = np.full(arms, np.inf)
        np.divide(table[:arms, -1], column, out=ratios, where=column > _TINY)
        tied = np.flatnonzero(ratios <= ratios.min() + _TINY)
        row = tied[basis[tied].argmin()]
        table[row] /= table[row, entering[0]]
        factors = table[:, entering[0]].copy()
        factors[row] = 0.0
        table -= factors[:, None] * table[row]
        basis[row] = entering[0]
    return None


def _by_linear_program(sets: Sequence[Integers], arms: int) -> Floats:
    rows = set_rows(sets, arms)
    from scipy.optimize import linprog

    result = linprog(np.ones(arms), -rows, -np.ones(len(sets)))
    weights: Floats = np.maximum(result.x, 0.0)
    return weights


def set_rows(sets: Sequence[Integers], arms: int) -> Any:
    """Return a sparse 0/1 matrix: a row for each set, a column for each arm."""
    require("scipy", extra="graphs", owner=f"A program of {arms} arms")
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *map(len, sets)])
    columns = np.concatenate(list(sets))
    return csr_array((np.ones(columns.size), columns, ends), shape=(len(sets), arms))


def smallest_cover(
    sets: Sequence[Integers], arms: int, least: int, most: int
) -> tuple[int, ...] | None:
    """Search for a smallest set of arms that has an arm of each set.

    >>> smallest_cover([np.array([0, 1]), np.array([1, 2]), np.array([3])], 4, 1, 3)
    (1, 3)
    >>> smallest_cover([np.array([0, 1]), np.array([1, 2]), np.array([3])], 4, 1, 1)
    ()
    """
    if arms > _SMALL:
        return None
    search = _Search(sets, arms)
    for size in range(least, most + 1):
        found = search.cover(search.everything, size)
        if search.nodes > _NODES:
            return None
        if found is not None:
            return tuple(sorted(found))
    return ()


class _Search:
    """A depth-first search. Sets of sets are integers: bit j stands for set j."""

    def __init__(self, sets: Sequence[Integers], arms: int) -> None:
        self.everything = (1 << len(sets)) - 1
        self.nodes = 0
        self._met = [0] * arms
        for j, one in enumerate(sets):
            for arm in one.tolist():
                self._met[arm] |= 1 << j
        self._sets = [one.tolist() for one in sets]
        # The sets with the fewest arms come first: they leave the fewest branches.
        self._order = sorted(range(len(sets)), key=lambda j: len(sets[j]))
        self._joined = [reduce(or_, (self._met[arm] for arm in one)) for one in self._sets]

    def cover(self, left: int, size: int) -> list[int] | None:
        """Return at most `size` arms that meet all sets left; None if there are none."""
        if not left:
            return []
        self.nodes += 1
        if self.nodes > _NODES or self._needed(left) > size:
            return None
        branch = next(j for j in self._order if left >> j & 1)
        gains = [((self._met[arm] & left).bit_count(), arm) for arm in self._sets[branch]]
        for _, arm in sorted(gains, key=lambda gain: (-gain[0], gain[1])):
            rest = self.cover(left & ~self._met[arm], size - 1)
            if rest is not None:
                return [arm, *rest]
        return None

    def _needed(self, left: int) -> int:
        """Return a lower bound: the number of disjoint sets found, each of which needs an arm."""
        count, apart = 0, left
        for j in self._order:
            if apart >> j & 1:
                count += 1
                apart &= ~self._joined[j]
        return count
