"""Find the fewest arms, or the least weights of arms, that cover given sets of arms.

Small programs are solved here, so that a learner needs no other package, and the arms that it
explores do not depend on the installed packages. HiGHS, in SciPy, solves larger ones.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.types import Floats, Integers

_SMALL = 100  # arms up to which programs are solved here
_PIVOTS = 10_000  # the most pivots of a linear program; 100 random arms take a few hundred
_NODES = 200_000  # the most nodes of the search for the fewest arms: about a second
_TINY = 1e-9


def fractional_cover(sets: Sequence[Integers], arms: int) -> Floats:
    """Return weights x >= 0 of least sum so that x(S) >= 1 for each set S.

    Args:
        sets: Sets of arms, none empty.
        arms: How many arms there are.

    Raises:
        MissingPackageError: There are many arms, and SciPy is not installed.

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
    """Return a sparse 0/1 matrix: a row for each set, a column for each arm.

    Args:
        sets: Sets of arms.
        arms: How many arms there are.

    Raises:
        MissingPackageError: SciPy is not installed.
    """
    require("scipy", extra="graphs", owner=f"A program of {arms} arms")
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *map(len, sets)])
    columns = np.concatenate(list(sets))
    return csr_array((np.ones(columns.size), columns, ends), shape=(len(sets), arms))


def smallest_cover(
    sets: Sequence[Integers], arms: int, least: int, most: int
) -> tuple[int, ...] | None:
    """Search for a smallest set of arms that has an arm of each set.

    Args:
        sets: Sets of arms, none empty.
        arms: How many arms there are.
        least: A lower bound on the size.
        most: The largest size to look for.

    Returns:
        The arms, ascending; empty if there are none of at most that size. None if the search takes
        too many steps, or there are many arms.

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
