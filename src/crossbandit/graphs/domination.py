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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs.neighborhoods import members
from crossbandit.graphs.properties import weak_arms
from crossbandit.graphs.set_covers import fractional_cover, set_rows, smallest_cover

if TYPE_CHECKING:
    from crossbandit.graphs.graph import FeedbackGraph
    from crossbandit.types import Floats, Integers

TIME_LIMIT = 30.0  # seconds for the search of one graph
_PROGRAM_EDGES = 1_000_000  # with more, the constraints alone take minutes
_ROUNDING = 1e-6  # HiGHS's own tolerance


class DominationBounds(NamedTuple):
    """The weak domination number is at least `lower` and at most `upper`."""

    lower: int
    upper: int


class FractionalDomination(NamedTuple):
    """The fractional weak domination number, and a weight for each arm that attains it."""

    number: float
    weights: Floats


class Domination(NamedTuple):
    """A weakly dominating set, a lower bound on every one, and whether a search found them."""

    witness: tuple[int, ...]
    lower: int
    searched: bool

    @property
    def bounds(self) -> DominationBounds:
        """The bounds that are proved."""
        return DominationBounds(self.lower, len(self.witness))


def estimate(graph: FeedbackGraph) -> Domination:
    """Return bounds without a search."""
    weak = weak_arms(graph)
    revealers = [members(graph.in_ranges, arm) for arm in weak]
    witness = _greedy_set(graph, weak)
    lower = _packing(revealers, graph.arms)
    if lower < len(witness) and sum(map(len, revealers)) <= _PROGRAM_EDGES:
        lower = max(lower, math.ceil(_relaxed(revealers, graph.arms).number - _ROUNDING))
    return Domination(witness, lower, searched=False)


def solve(graph: FeedbackGraph, known: Domination | None = None) -> Domination:
    """Return the exact answer, or the best bounds after TIME_LIMIT."""
    found = estimate(graph) if known is None else known
    if found.lower == len(found.witness):
        return found._replace(searched=True)
    revealers = [members(graph.in_ranges, arm) for arm in weak_arms(graph)]
    if sum(map(len, revealers)) > _PROGRAM_EDGES:
        return found._replace(searched=True)
    smaller = smallest_cover(revealers, graph.arms, found.lower, len(found.witness) - 1)
    if smaller is not None:
        witness = smaller or found.witness
        return Domination(witness, len(witness), searched=True)
    return _by_integer_program(revealers, graph.arms, found)


def _by_integer_program(revealers: list[Integers], arms: int, found: Domination) -> Domination:
    rows = set_rows(revealers, arms)
    from scipy.optimize import Bounds, LinearConstraint, milp

    result = milp(
        np.ones(arms),
        integrality=np.ones(arms),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, 1, np.inf),
        options={"time_limit": TIME_LIMIT},
    )
    witness, lower = found.witness, found.lower
    if result.x is not None:
        chosen = tuple(np.flatnonzero(result.x > 0.5).tolist())
        witness = min(witness, chosen, key=len)
    if result.mip_dual_bound is not None and math.isfinite(result.mip_dual_bound):
        lower = max(lower, math.ceil(result.mip_dual_bound - _ROUNDING))
    return Domination(witness, min(lower, len(witness)), searched=True)


def fractional(graph: FeedbackGraph) -> FractionalDomination:
    """Return the fractional weak domination number and weights that attain it."""
    weak = weak_arms(graph)
    return _relaxed([members(graph.in_ranges, arm) for arm in weak], graph.arms)


def _relaxed(revealers: list[Integers], arms: int) -> FractionalDomination:
    weights = fractional_cover(revealers, arms)
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
    return tuple(sorted(_without_needless(graph, weak, taken)))


def _without_needless(graph: FeedbackGraph, weak: list[int], taken: list[int]) -> list[int]:
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
    return kept


def _packing(revealers: list[Integers], arms: int) -> int:
    """Return the size of a greedily chosen set of arms such that no arm reveals two of them."""
    used = np.zeros(arms, dtype=np.bool_)
    count = 0
    for own in sorted(revealers, key=len):
        if not used[own].any():
            used[own] = True
            count += 1
    return count
