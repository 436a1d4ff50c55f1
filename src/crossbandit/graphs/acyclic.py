"""Bounds on the maximum acyclic subgraph number, which tuning rules and regret bounds use.

It is the largest number of arms whose edges among each other have no cycle. Self-loops do not
count. It is at least the independence number, and equal to it if edges go both ways.

A greedy set is a lower bound. Cycles without a common arm give an upper bound, because an acyclic
set lacks an arm of each.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.graphs import neighborhoods
from crossbandit.graphs.neighborhoods import Bounds

if TYPE_CHECKING:
    from crossbandit.graphs.graph import FeedbackGraph

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
    return Bounds(free + _greedy(edges), graph.arms - _disjoint_cycles(edges))


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


def _greedy(edges: Edges) -> int:
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
