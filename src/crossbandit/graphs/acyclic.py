"""Bounds on the maximum acyclic subgraph number, which tuning rules and regret bounds use.

It is the largest number of arms whose edges among each other have no cycle. Self-loops do not
count. It is at least the independence number, and equal to it if edges go both ways.

In each strongly connected part, a greedy set is a lower bound. Cycles without a common arm give an
upper bound, because an acyclic set lacks an arm of each.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs import neighborhoods

if TYPE_CHECKING:
    from crossbandit.graphs.graph import FeedbackGraph

_EDGES = 1_000_000  # with more, no edge is listed, and the bounds are an independent set and K
_GREEDY_ARMS = 3_000  # the most arms of a part; with more, the search for cycles takes minutes

Edges = dict[int, set[int]]  # for each arm, the other arms that it reveals


class AcyclicBounds(NamedTuple):
    """The maximum acyclic subgraph number is at least `lower` and at most `upper`."""

    lower: int
    upper: int


def acyclic_bounds(graph: FeedbackGraph) -> AcyclicBounds:
    """Return bounds on the largest number of arms without a cycle, without a search."""
    if _in_order(graph):
        return AcyclicBounds(graph.arms, graph.arms)
    if graph.edge_count > _EDGES or _both_ways(graph):
        lower, upper = graph.independence(search=False).bounds
        return AcyclicBounds(lower, upper if _both_ways(graph) else graph.arms)
    parts = _parts(graph)
    upper = sum(len(part) - _disjoint_cycles(part) for part in parts)
    return AcyclicBounds(sum(_greedy(part) for part in parts), upper)


def _in_order(graph: FeedbackGraph) -> bool:
    """Return whether all edges between two arms go up, or all go down: then there is no cycle."""
    owner, ranges = neighborhoods.owners(graph.out_ranges), graph.out_ranges
    return bool((ranges.first >= owner).all() or (ranges.last <= owner).all())


def _both_ways(graph: FeedbackGraph) -> bool:
    pairs = zip(graph.out_ranges, graph.in_ranges, strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def _parts(graph: FeedbackGraph) -> list[Edges]:
    """Return the strongly connected parts."""
    heads: list[list[int]] = [[] for _ in range(graph.arms)]
    for a, b in graph.edges():
        heads[a].append(b)
    part = _part_numbers(heads)
    parts: list[Edges] = [{} for _ in range(max(part) + 1)]
    for arm, own in enumerate(part):
        parts[own][arm] = {head for head in heads[arm] if head != arm and part[head] == own}
    return parts


def _part_numbers(heads: list[list[int]]) -> list[int]:
    """Return the number of the strongly connected part of each arm (Tarjan 1972)."""
    part, found, low = [-1] * len(heads), [-1] * len(heads), [0] * len(heads)
    count = parts = 0
    open_: list[int] = []  # arms whose part is not known yet
    for root in range(len(heads)):
        path = [] if found[root] >= 0 else [(root, iter(heads[root]))]
        while path:
            arm, rest = path[-1]
            if found[arm] < 0:
                found[arm] = low[arm] = count
                count += 1
                open_.append(arm)
            for head in rest:
                if found[head] < 0:
                    path.append((head, iter(heads[head])))
                    break
                if part[head] < 0:
                    low[arm] = min(low[arm], low[head])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[arm])
                if low[arm] == found[arm]:
                    while part[arm] < 0:
                        part[open_.pop()] = parts
                    parts += 1
    return part


def _greedy(part: Edges) -> int:
    """Count the arms that close no cycle with those counted before, those with few edges first."""
    if len(part) > _GREEDY_ARMS:
        return 1
    into = dict.fromkeys(part, 0)
    for heads in part.values():
        for head in heads:
            into[head] += 1
    taken: set[int] = set()
    for arm in sorted(part, key=lambda a: (min(into[a], len(part[a])), a)):
        taken.add(arm)
        if _cycle(part, taken, arm):
            taken.discard(arm)
    return len(taken)


def _disjoint_cycles(part: Edges) -> int:
    """Return the number of cycles without a common arm that a greedy choice finds."""
    left = set(part)
    if len(part) > _GREEDY_ARMS:
        return 1
    count = 0
    for longest in (2, 3, len(part)):
        for arm in sorted(part):
            if arm in left and (cycle := _cycle(part, left, arm, longest)):
                left.difference_update(cycle)
                count += 1
    return count


def _cycle(part: Edges, among: set[int], start: int, longest: int = 2**62) -> list[int]:
    """Return a shortest cycle through `start` within `among`, of at most `longest` arms; or []."""
    came_from: dict[int, int] = {}
    queue = deque([(start, 1)])
    while queue:
        arm, length = queue.popleft()
        if start in part[arm]:
            path = [arm]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            return path
        if length == longest:
            continue
        for head in part[arm]:
            if head in among and head not in came_from and head != start:
                came_from[head] = arm
                queue.append((head, length + 1))
    return []
