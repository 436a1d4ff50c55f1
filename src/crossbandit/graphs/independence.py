"""The independence number: exact if possible, and proved bounds otherwise.

Two arms are adjacent if either reveals the other. The graph is first split: an arm that is adjacent
to all others is in no larger set, and components are solved one by one. Cliques are easy, and so is
every part in which a greedy set is as large as a clique cover: rings, thresholds, trees and points
on a line, of any size. The other parts are searched.

Bounds take the closed neighbourhoods of an undirected graph as ranges: for each arm, its neighbours
and itself. An independent set gives a lower bound. A cover by cliques gives an upper bound, because
an independent set has at most one arm in each.

On one core, these graphs were solved exactly within TIME_LIMIT: random graphs of 200 arms at every
density, in at most six seconds; random graphs of 300 arms if at most 2 % or at least 25 % of the
pairs are adjacent, of 600 arms if at least 50 % are, of 1,000 arms if at least 70 % are, and of
5,000 arms if at least 90 % are; and up to 2,000 points in a plane with a few neighbours each.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.core.extras import installed
from crossbandit.graphs import neighborhoods
from crossbandit.graphs.clique_core import CliqueSearch
from crossbandit.graphs.domination import integer_program, set_rows
from crossbandit.graphs.neighborhoods import Bounds, Found, all_members, matrix_of_ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.core.blocks import ArmRanges
    from crossbandit.core.types import Booleans, Integers
    from crossbandit.graphs.graph import FeedbackGraph


TIME_LIMIT = 60.0  # seconds for the search of one graph


class _Piece(NamedTuple):
    """A connected part of the graph in which no arm is adjacent to all others."""

    arms: Integers  # their numbers in the whole graph, ascending
    closed: ArmRanges  # the neighbours of each arm and itself


def estimate(graph: FeedbackGraph) -> Found:
    """Return bounds without a search."""
    return _assembled(graph, cover_bounds, searched=False)


def solve(graph: FeedbackGraph) -> Found:
    """Return the exact answer, or the best bounds after TIME_LIMIT."""
    deadline = time.monotonic() + TIME_LIMIT

    def settle(closed: ArmRanges) -> tuple[Integers, int]:
        witness, upper = cover_bounds(closed)
        if witness.size == upper:
            return witness, upper
        return improved(closed, witness, upper, deadline)

    return _assembled(graph, settle, searched=True)


def _assembled(
    graph: FeedbackGraph, settle: Callable[[ArmRanges], tuple[Integers, int]], *, searched: bool
) -> Found:
    witness, pieces = _split(graph)
    upper = len(witness)
    for piece in pieces:
        found, bound = settle(piece.closed)
        witness.extend(piece.arms[found].tolist())
        upper += bound
    return Found(tuple(sorted(witness)), Bounds(len(witness), upper), searched)


def _split(graph: FeedbackGraph) -> tuple[list[int], list[_Piece]]:
    """Return one arm of every part that is a clique, and the other parts."""
    settled: list[int] = []
    pieces: list[_Piece] = []
    closed = neighborhoods.closed_union(graph.out_ranges, graph.in_ranges)
    todo = [_Piece(np.arange(graph.arms), closed)]
    while todo:
        piece = todo.pop()
        degree = neighborhoods.sizes(piece.closed)
        universal = degree == piece.arms.size
        if universal.all():
            settled.append(int(piece.arms[0]))
            continue
        if universal.any():
            todo.append(_restricted(piece, ~universal))
            continue
        part = _components(piece.closed)
        size = np.bincount(part)
        if size.size == 1:
            pieces.append(piece)
            continue
        broken = np.bincount(part, weights=degree != size[part]) > 0
        _, first = np.unique(part, return_index=True)
        settled.extend(piece.arms[first[~broken]].tolist())
        todo.extend(_restricted(piece, part == c) for c in np.flatnonzero(broken))
    return settled, pieces


def _restricted(piece: _Piece, keep: Booleans) -> _Piece:
    return _Piece(piece.arms[keep], neighborhoods.induced(piece.closed, keep))


def cover_bounds(closed: ArmRanges) -> tuple[Integers, int]:
    """Return an independent set, ascending, and an upper bound on the size of every one."""
    natural = np.arange(closed.starts.size - 1)
    witness = _greedy_set(closed, natural)
    upper = min(_windows(closed), _clique_partition(closed, natural))
    if witness.size == upper:
        return witness, upper
    elimination = _elimination_order(closed)
    witness = max(witness, _greedy_set(closed, elimination), _sparse_first_set(closed), key=len)
    return witness, min(upper, _clique_partition(closed, elimination))


def _components(closed: ArmRanges) -> Integers:
    """Return for each arm the number of its connected component, in the order of first arms."""
    arms = closed.starts.size - 1
    part = np.full(arms, -1, dtype=np.int64)
    count, left = 0, arms
    for root in range(arms):
        if part[root] >= 0:
            continue
        part[root] = count
        left -= 1
        frontier = [root]
        while frontier and left:
            reached = neighborhoods.members(closed, frontier.pop())
            reached = reached[part[reached] < 0]
            part[reached] = count
            left -= reached.size
            frontier.extend(reached.tolist())
        count += 1
    return part


def _greedy_set(closed: ArmRanges, order: Integers) -> Integers:
    """Take each arm, in the given order, that is adjacent to none taken before."""
    free = np.ones(order.size, dtype=np.bool_)
    taken = []
    for arm in order.tolist():
        if free[arm]:
            taken.append(arm)
            free[neighborhoods.members(closed, arm)] = False
    return np.array(sorted(taken), dtype=np.int64)


def _sparse_first_set(closed: ArmRanges) -> Integers:
    """Repeatedly take an arm with the fewest remaining neighbours, and remove these."""
    degree = neighborhoods.sizes(closed)
    left = np.ones(degree.size, dtype=np.bool_)
    taken = []
    while left.any():
        arm = int(np.where(left, degree, degree.size + 1).argmin())
        taken.append(arm)
        near = neighborhoods.members(closed, arm)
        near = near[left[near]]
        left[near] = False
        for other in near.tolist():
            degree[neighborhoods.members(closed, other)] -= 1
    return np.array(sorted(taken), dtype=np.int64)


def _elimination_order(closed: ArmRanges) -> Integers:
    """Return the reverse of a maximum cardinality search.

    On a chordal graph (trees, points on a line) it makes both greedy bounds exact: the neighbours
    of each arm that come after it are a clique.
    """
    arms = closed.starts.size - 1
    seen_neighbors = np.zeros(arms, dtype=np.int64)
    order = np.empty(arms, dtype=np.int64)
    for place in range(arms - 1, -1, -1):
        arm = int(seen_neighbors.argmax())
        order[place] = arm
        seen_neighbors[neighborhoods.members(closed, arm)] += 1
        seen_neighbors[arm] = -arms  # below every remaining arm, permanently
    return order


def _windows(closed: ArmRanges) -> int:
    """Bound by cliques of consecutive arms around the circle, one that starts at each arm.

    If each arm is in at least m of these K cliques, an independent set has at most K // m arms, by
    a fractional cover. On rings this is the exact number.
    """
    arms = closed.starts.size - 1
    reach = _reach(closed)
    # Arms a to e are a clique iff none of them reaches less far than e: a minimum from the right.
    far = np.concatenate([reach, reach + arms])
    end = np.minimum.accumulate(far[::-1])[::-1][:arms]
    end = np.minimum(end, np.arange(arms) + arms - 1)
    step = np.zeros(2 * arms + 1, dtype=np.int64)
    step[:arms] += 1
    np.subtract.at(step, end + 1, 1)
    covered = np.cumsum(step[:-1])
    return arms // int((covered[:arms] + covered[arms:]).min())


def _reach(closed: ArmRanges) -> Integers:
    """Return for each arm a the last e for which a + 1, ..., e are all its neighbours.

    After the last arm, numbers continue around the circle: arms + 0, arms + 1, ...
    """
    arms = closed.starts.size - 1
    owner = neighborhoods.owners(closed)
    own = (closed.first <= owner) & (owner <= closed.last)
    reach = closed.last[own]  # exactly one run of each arm holds the arm itself
    begin = closed.starts[:-1]
    around = (reach == arms - 1) & (closed.first[begin] == 0)
    return np.where(around, arms + closed.last[begin], reach)


def _clique_partition(closed: ArmRanges, order: Integers) -> int:
    """Count the cliques of a partition of the arms, grown greedily from roots in this order."""
    left = np.ones(order.size, dtype=np.bool_)
    count = 0
    for root in order.tolist():
        if not left[root]:
            continue
        count += 1
        left[root] = False
        candidates = neighborhoods.members(closed, root)
        candidates = candidates[left[candidates]]
        while candidates.size:
            arm = int(candidates[0])
            left[arm] = False
            near = np.zeros(order.size, dtype=np.bool_)
            near[neighborhoods.members(closed, arm)] = True
            candidates = candidates[1:][near[candidates[1:]]]
    return count


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
    """Return an independent set and an upper bound: equal in size if found before the deadline."""
    arms = closed.starts.size - 1
    edges = (int((closed.last - closed.first + 1).sum()) - arms) // 2
    dense = 2 * edges >= _DENSE * arms * (arms - 1)
    if not dense and edges <= _PROGRAM_EDGES and installed("scipy"):
        rows = clique_rows(closed)
        upper = min(upper, relaxed_bound(rows, deadline))
        if witness.size < upper and _SMALL < arms <= _PROGRAM_ARMS:
            halfway = (time.monotonic() + deadline) / 2
            witness, upper = by_integer_program(rows, witness, upper, halfway)
    if witness.size < upper and arms <= (_SEARCH_ARMS if dense else _PROGRAM_ARMS):
        witness, upper = by_clique_search(closed, witness, upper, deadline)
    return witness, upper


def by_clique_search(
    closed: ArmRanges, witness: Integers, upper: int, deadline: float
) -> tuple[Integers, int]:
    """Search for cliques of the complement that are larger than the witness, until none is left."""
    apart = ~matrix_of_ranges(closed)
    order = _most_neighbors_first(apart)
    search = CliqueSearch(apart[np.ix_(order, order)], witness.size)
    steps, over = 1, False
    while not over and time.monotonic() < deadline:
        began = time.monotonic()
        over = search.advance(upper, steps)
        if time.monotonic() - began < _SLICE:
            steps *= 2
    record: int = search.record
    if record > witness.size:
        witness = np.sort(order[search.clique()])
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
    chosen, bound = integer_program(-1.0, rows, (-np.inf, 1.0), _left(deadline))
    if chosen is not None:
        witness = max(witness, chosen, key=len)
    return witness, upper if bound is None else min(upper, _rounded_down(-bound))


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


# --- the maximum acyclic subgraph number --------------------------------------------------------

# Tuning rules and regret bounds use bounds on the largest number of arms whose edges among each
# other have no cycle. Finding it is NP-hard. A greedy set is a lower bound. Cycles without a common
# arm give an upper bound, because an acyclic set lacks an arm of each.

_EDGES = 1_000_000  # with more, no edge is listed, and the bounds are an independent set and K
_GREEDY_ARMS = 3_000  # with more arms, the search for long cycles takes minutes

Edges = dict[int, set[int]]  # for each arm, the other arms that it reveals


def acyclic_bounds(graph: FeedbackGraph) -> Bounds:
    """Return bounds on the largest number of arms without a cycle, without a search."""
    if _in_order(graph):
        return Bounds(graph.arms, graph.arms)
    if graph.edge_count > _EDGES or _both_ways(graph):
        lower, upper = graph.independence(search=False).bounds
        return Bounds(lower, upper if _both_ways(graph) else graph.arms)
    edges = _cyclic(graph)
    free = graph.arms - len(edges)
    return Bounds(free + _greedy_acyclic(edges), graph.arms - _disjoint_cycles(edges))


def _in_order(graph: FeedbackGraph) -> bool:
    """Return whether all edges between two arms go up, or all go down: then there is no cycle."""
    owner, ranges = neighborhoods.owners(graph.out_ranges), graph.out_ranges
    return bool((ranges.first >= owner).all() or (ranges.last <= owner).all())


def _both_ways(graph: FeedbackGraph) -> bool:
    pairs = zip(graph.out_ranges, graph.in_ranges, strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def _cyclic(graph: FeedbackGraph) -> Edges:
    """Return the edges among the arms that are left without those that are on no cycle.

    An arm without an edge to another arm, or from one, is on no cycle, and is removed with its
    edges, until there is none.
    """
    heads: Edges = {arm: set() for arm in range(graph.arms)}
    tails: Edges = {arm: set() for arm in range(graph.arms)}
    for a, b in graph.edges():
        if a != b:
            heads[a].add(b)
            tails[b].add(a)
    loose = [arm for arm in heads if not heads[arm] or not tails[arm]]
    while loose:
        arm = loose.pop()
        for edges, reverse in ((heads, tails), (tails, heads)):
            for other in edges.pop(arm, ()):
                reverse[other].discard(arm)
                if not reverse[other]:
                    loose.append(other)
    return heads


def _greedy_acyclic(edges: Edges) -> int:
    """Count the arms that close no cycle with those counted before, those with few edges first."""
    if len(edges) > _GREEDY_ARMS:
        return 1
    into = dict.fromkeys(edges, 0)
    for heads in edges.values():
        for head in heads:
            into[head] += 1
    taken: set[int] = set()
    for arm in sorted(edges, key=lambda a: (min(into[a], len(edges[a])), a)):
        taken.add(arm)
        if _cycle(edges, taken, arm):
            taken.discard(arm)
    return len(taken)


def _disjoint_cycles(edges: Edges) -> int:
    """Return the number of cycles without a common arm that a greedy choice finds."""
    left = set(edges)
    count = 0
    for longest in (2, 3, len(edges))[: 2 if len(edges) > _GREEDY_ARMS else None]:
        for arm in sorted(edges):
            if arm in left and (cycle := _cycle(edges, left, arm, longest)):
                left.difference_update(cycle)
                count += 1
    return count


def _cycle(edges: Edges, among: set[int], start: int, longest: int = 2**62) -> list[int]:
    """Return a shortest cycle through `start` within `among`, of at most `longest` arms; or []."""
    came_from: dict[int, int] = {}
    queue = deque([(start, 1)])
    while queue:
        arm, length = queue.popleft()
        if start in edges[arm]:
            path = [arm]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            return path
        if length == longest:
            continue
        for head in edges[arm]:
            if head in among and head not in came_from and head != start:
                came_from[head] = arm
                queue.append((head, length + 1))
    return []
