"""Exact search for a largest independent set, by NetworkX and by SciPy's HiGHS.

Which of the two is a matter of measurement. NetworkX searches for a clique of the complement,
which is quick when the graph is dense or small. HiGHS takes one variable per arm and one
constraint per clique, which is quick when neighbourhoods overlap much or are few.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.graphs.neighborhoods import all_members, matrix_of_runs

if TYPE_CHECKING:
    from crossbandit.graphs.neighborhoods import Ints
    from crossbandit.kernels.runs import Runs

_SMALL = 120  # arms up to which the clique search wins at every density
_DENSE = 0.25  # share of adjacent pairs from which it wins at every size
_DEEP = 400  # it recurses once per arm of the set; Python allows about 1,000
_COMPLEMENT_EDGES = 300_000  # beyond, NetworkX needs much memory and has no chance in time
_PROGRAM_EDGES = 500_000  # beyond, the constraints alone take minutes
_PROGRAM_ARMS = 2_000  # beyond, HiGHS may overrun its time limit by far; its relaxation does not
_ROUNDING = 1e-6  # HiGHS's own tolerance on a bound that would be an integer


def improved(closed: Runs, witness: Ints, upper: int, deadline: float) -> tuple[Ints, int]:
    """Return an independent set and an upper bound: equal in size if found before the deadline.

    Args:
        closed: the closed neighbourhoods of an undirected connected graph.
        witness: an independent set.
        upper: an upper bound on the size of every one.
        deadline: when to stop, in terms of `time.monotonic`.
    """
    arms = closed.starts.size - 1
    edges = (int((closed.last - closed.first + 1).sum()) - arms) // 2
    density = 2 * edges / (arms * (arms - 1))
    searchable = upper <= _DEEP and arms * (arms - 1) // 2 - edges <= _COMPLEMENT_EDGES
    if searchable and (arms <= _SMALL or density >= _DENSE):
        found = by_clique_search(closed, deadline)
        return (witness, upper) if found is None else (found, found.size)
    if edges > _PROGRAM_EDGES:
        return witness, upper
    return by_integer_program(closed, witness, upper, deadline)


class _OutOfTimeError(Exception):
    """The clique search has met its deadline."""


def by_clique_search(closed: Runs, deadline: float) -> Ints | None:
    """Return a largest clique of the complement, or None if the deadline came first."""
    import networkx as nx

    class TimedGraph(nx.Graph):  # type: ignore[misc]
        """A graph that stops the search: NetworkX has no time limit of its own."""

        def has_edge(self, u: int, v: int) -> bool:
            if time.monotonic() > deadline:
                raise _OutOfTimeError
            return v in self._adj[u]

    complement = TimedGraph()
    complement.add_nodes_from(range(closed.starts.size - 1))
    complement.add_edges_from(np.argwhere(np.triu(~matrix_of_runs(closed))).tolist())
    try:
        found, _ = nx.max_weight_clique(complement, weight=None)
    except _OutOfTimeError:
        return None
    return np.array(sorted(found), dtype=np.int64)


def by_integer_program(
    closed: Runs, witness: Ints, upper: int, deadline: float
) -> tuple[Ints, int]:
    """Maximise the number of arms, with at most one in each of the cliques that cover the edges."""
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp

    rows = _clique_rows(closed)
    cliques, arms = rows.shape
    gain = -np.ones(arms)
    # The relaxation alone often meets the witness, in a fraction of the time.
    relaxed = linprog(
        gain, rows, np.ones(cliques), bounds=(0, 1), options={"time_limit": _left(deadline)}
    )
    if relaxed.status == 0:
        upper = min(upper, _rounded_down(-relaxed.fun))
    if witness.size == upper or arms > _PROGRAM_ARMS:
        return witness, upper
    result = milp(
        gain,
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


def _clique_rows(closed: Runs) -> Any:
    """Return a sparse 0/1 matrix, one clique per row, so that every edge lies in a row."""
    from scipy.sparse import csr_array

    cliques = _edge_clique_cover(closed)
    ends = np.cumsum([0] + [len(clique) for clique in cliques])
    columns = np.concatenate(cliques)
    return csr_array(
        (np.ones(columns.size), columns, ends), shape=(len(cliques), len(closed.starts) - 1)
    )


def _edge_clique_cover(closed: Runs) -> list[list[int]]:
    """Cover every edge by a maximal clique, preferring arms whose edges are not yet covered."""
    near: list[set[int]] = [set() for _ in range(closed.starts.size - 1)]
    for arm, other in zip(*(side.tolist() for side in all_members(closed)), strict=True):
        if arm != other:
            near[arm].add(other)
    uncovered = [set(others) for others in near]
    cliques = []
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
            cliques.append(clique)
    return cliques
