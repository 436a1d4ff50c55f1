"""Exact search for a largest independent set, by a clique search or by SciPy's HiGHS.

Measurements decide which of the two is used (docs/decisions/0003-independence-number.md). The
clique search looks for a clique of the complement. It is better for a few hundred arms, and for
more if the graph is dense. HiGHS has one variable per arm and one constraint per clique. It is
better for many arms whose neighbourhoods are few or overlap much, such as points in a plane.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.extras import installed
from crossbandit.graphs.neighborhoods import all_members, matrix_of_ranges
from crossbandit.graphs.set_covers import set_rows
from crossbandit.kernels import cliques

if TYPE_CHECKING:
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.types import Booleans, Integers

_SMALL = 300  # arms up to which the clique search is faster at every density
_DENSE = 0.2  # from this share of adjacent pairs on, it is always faster; below, both are tried
_SEARCH_ARMS = 5_000  # with more, its first steps alone take seconds
_PROGRAM_EDGES = 500_000  # with more, the constraints alone take minutes
_PROGRAM_ARMS = 2_000  # with more, HiGHS may exceed its time limit by far; its relaxation does not
_ROUNDING = 1e-6  # HiGHS's own tolerance on a bound that would be an integer
_SLICE = 0.05  # seconds of search between two checks of the time


def improved(
    closed: ArmRanges, witness: Integers, upper: int, deadline: float
) -> tuple[Integers, int]:
    """Return an independent set and an upper bound: equal in size if found before the deadline.

    Args:
        closed: The closed neighbourhoods of an undirected connected graph.
        witness: An independent set.
        upper: An upper bound on the size of every independent set.
        deadline: When to stop, in terms of `time.monotonic`.
    """
    arms = closed.starts.size - 1
    edges = (int((closed.last - closed.first + 1).sum()) - arms) // 2
    dense = 2 * edges >= _DENSE * arms * (arms - 1)
    if not dense and edges <= _PROGRAM_EDGES and installed("scipy"):
        witness, upper = _by_programs(closed, witness, upper, deadline)
    if witness.size < upper and arms <= (_SEARCH_ARMS if dense else _PROGRAM_ARMS):
        witness, upper = by_clique_search(closed, witness, upper, deadline)
    return witness, upper


def _by_programs(
    closed: ArmRanges, witness: Integers, upper: int, deadline: float
) -> tuple[Integers, int]:
    rows = clique_rows(closed)
    upper = min(upper, relaxed_bound(rows, deadline))
    if witness.size == upper or not _SMALL < rows.shape[1] <= _PROGRAM_ARMS:
        return witness, upper
    halfway = (time.monotonic() + deadline) / 2
    return by_integer_program(rows, witness, upper, halfway)


def by_clique_search(
    closed: ArmRanges, witness: Integers, upper: int, deadline: float
) -> tuple[Integers, int]:
    """Search for cliques of the complement that are larger than the witness, until none is left."""
    apart = ~matrix_of_ranges(closed)
    order = _most_neighbors_first(apart)
    search = cliques.begin(apart[np.ix_(order, order)], witness.size)
    steps, over = 1, False
    while not over and time.monotonic() < deadline:
        began = time.monotonic()
        over = cliques.advance(search, upper, steps)
        if time.monotonic() - began < _SLICE:
            steps *= 2
    record = int(search.counters[cliques.RECORD])
    if record > witness.size:
        witness = np.sort(order[search.clique[:record]])
    return witness, record if over else upper


def _most_neighbors_first(adjacency: Booleans) -> Integers:
    """Order the vertices so that each, counting only those up to it, has the fewest neighbours."""
    degree = adjacency.sum(axis=0)
    order = np.empty(degree.size, dtype=np.int64)
    for place in range(degree.size - 1, -1, -1):
        vertex = int(degree.argmin())
        order[place] = vertex
        degree -= adjacency[vertex]
        degree[vertex] = 2 * degree.size  # above every remaining vertex, permanently
    return order


def relaxed_bound(rows: Any, deadline: float) -> int:
    """Return an upper bound by a program with fractions of arms. It is often exact."""
    from scipy.optimize import linprog

    count, arms = rows.shape
    options = {"time_limit": _left(deadline)}
    relaxed = linprog(-np.ones(arms), rows, np.ones(count), bounds=(0, 1), options=options)
    return _rounded_down(-relaxed.fun) if relaxed.status == 0 else arms


def by_integer_program(
    rows: Any, witness: Integers, upper: int, deadline: float
) -> tuple[Integers, int]:
    """Maximise the number of arms, with at most one in each of the cliques that are the rows."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    arms = rows.shape[1]
    result = milp(
        -np.ones(arms),
        integrality=np.ones(arms),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, -np.inf, 1),
        options={"time_limit": _left(deadline)},
    )
    if result.x is not None:
        witness = max(witness, np.flatnonzero(result.x > 0.5), key=len)
    if result.mip_dual_bound is not None:
        upper = min(upper, _rounded_down(-result.mip_dual_bound))
    return witness, upper


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.01)


def _rounded_down(bound: float) -> int:
    return int(min(np.floor(bound + _ROUNDING), np.iinfo(np.int64).max))


def clique_rows(closed: ArmRanges) -> Any:
    """Return a sparse 0/1 matrix, one clique per row, so that every edge lies in a row."""
    cover = [np.array(clique) for clique in _edge_clique_cover(closed)]
    return set_rows(cover, closed.starts.size - 1)


def _edge_clique_cover(closed: ArmRanges) -> list[list[int]]:
    """Cover every edge by a maximal clique, preferring arms whose edges are not yet covered."""
    near: list[set[int]] = [set() for _ in range(closed.starts.size - 1)]
    for arm, other in zip(*(side.tolist() for side in all_members(closed)), strict=True):
        if arm != other:
            near[arm].add(other)
    uncovered = [set(others) for others in near]
    cover = []
    for root, missing in enumerate(uncovered):
        while missing:
            clique = [root]
            candidates = near[root]
            while candidates:
                arm = min(candidates & missing or candidates)
                clique.append(arm)
                candidates = candidates & near[arm]
            for arm in clique:
                uncovered[arm].difference_update(clique)
            cover.append(clique)
    return cover
