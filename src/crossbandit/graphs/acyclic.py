"""The maximum acyclic subgraph number: exact if possible, and proved bounds otherwise.

It is the largest number of arms whose edges among each other have no cycle. Self-loops do not
count. It is at least the independence number, and equal to it if edges go both ways.

The strongly connected parts are solved one by one. In each, a greedy set is a lower bound. Cycles
without a common arm give an upper bound, because an acyclic set lacks an arm of each. If the bounds
differ, HiGHS searches for the fewest arms that have an arm in every cycle. There are too many
cycles to list, so a cycle becomes a constraint when a solution violates it. All this takes at most
TIME_LIMIT seconds. On one core that is enough for random graphs of 50 arms at every density, and of
200 arms with 2 edges per arm.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs import neighborhoods
from crossbandit.graphs.set_covers import set_rows

if TYPE_CHECKING:
    from crossbandit.graphs.graph import FeedbackGraph

TIME_LIMIT = 30.0  # seconds for the search of one graph
_EDGES = 1_000_000  # with more, no edge is listed, and the bounds are an independent set and K
_PROGRAM_ARMS = 500  # the most arms of a part; with more, the program takes too long
_GREEDY_ARMS = 3_000  # the most arms of a part; with more, the search for cycles takes minutes
_ROUNDING = 1e-6  # HiGHS's own tolerance

Edges = dict[int, set[int]]  # for each arm, the other arms that it reveals


class AcyclicBounds(NamedTuple):
    """The maximum acyclic subgraph number is at least `lower` and at most `upper`."""

    lower: int
    upper: int


class Acyclic(NamedTuple):
    """Arms without a cycle, an upper bound on their number, and whether a search found them."""

    witness: tuple[int, ...]
    upper: int
    searched: bool

    @property
    def bounds(self) -> AcyclicBounds:
        """The bounds that are proved."""
        return AcyclicBounds(len(self.witness), self.upper)


def find(graph: FeedbackGraph, *, search: bool) -> Acyclic:
    """Return bounds; with `search`, the exact answer or the best bounds after TIME_LIMIT."""
    if _in_order(graph):
        return Acyclic(tuple(range(graph.arms)), graph.arms, search)
    if graph.edge_count > _EDGES or _both_ways(graph):
        independence = graph.independence(search=search)
        upper = independence.upper if _both_ways(graph) else graph.arms
        return Acyclic(independence.witness, upper, search)
    deadline = time.monotonic() + TIME_LIMIT
    witness: list[int] = []
    upper = 0
    for part in _parts(graph):
        kept, bound = _greedy(part), len(part) - _disjoint_cycles(part)
        if search and len(kept) < bound and len(part) <= _PROGRAM_ARMS:
            kept, bound = _searched(part, kept, bound, deadline)
        witness.extend(kept)
        upper += bound
    return Acyclic(tuple(sorted(witness)), upper, search)


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


def _greedy(part: Edges) -> list[int]:
    """Take each arm that closes no cycle with the arms taken before, those with few edges first."""
    if len(part) > _GREEDY_ARMS:
        return [min(part)]
    into = dict.fromkeys(part, 0)
    for heads in part.values():
        for head in heads:
            into[head] += 1
    taken: set[int] = set()
    for arm in sorted(part, key=lambda a: (min(into[a], len(part[a])), a)):
        taken.add(arm)
        if _cycle(part, taken, arm):
            taken.discard(arm)
    return sorted(taken)


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


def _searched(part: Edges, kept: list[int], upper: int, deadline: float) -> tuple[list[int], int]:
    """Return a largest set of arms without a cycle, or what was found before the deadline."""
    cycles = [{a, b} for a in part for b in part[a] if a < b and a in part[b]]
    while len(kept) < upper and time.monotonic() < deadline:
        chosen, bound = _meeting(part, cycles, deadline)
        upper = min(upper, bound)
        if not chosen:
            break
        found = [set(cycle) for arm in sorted(chosen) if (cycle := _cycle(part, chosen, arm))]
        cycles.extend(cycle for i, cycle in enumerate(found) if cycle not in found[:i])
        while found:  # remove an arm of each cycle: the rest is a lower bound
            chosen.discard(min(found[0]))
            found = [set(cycle) for arm in sorted(chosen) if (cycle := _cycle(part, chosen, arm))]
        kept = max(kept, sorted(chosen), key=len)
    return kept, max(upper, len(kept))


def _meeting(part: Edges, cycles: list[set[int]], deadline: float) -> tuple[set[int], int]:
    """Return a largest set that lacks an arm of each listed cycle, and an upper bound."""
    arms = sorted(part)
    if not cycles:
        return set(arms), len(arms)
    place = {arm: i for i, arm in enumerate(arms)}
    rows = set_rows([np.array([place[arm] for arm in cycle]) for cycle in cycles], len(arms))
    from scipy.optimize import Bounds, LinearConstraint, milp

    result = milp(
        -np.ones(len(arms)),
        integrality=np.ones(len(arms)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, -np.inf, [len(cycle) - 1 for cycle in cycles]),
        options={"time_limit": max(deadline - time.monotonic(), 0.01)},
    )
    upper = len(arms)
    if result.mip_dual_bound is not None and math.isfinite(result.mip_dual_bound):
        upper = math.floor(-result.mip_dual_bound + _ROUNDING)
    if result.x is None:
        return set(), upper
    return {arm for arm, kept in zip(arms, result.x, strict=True) if kept > 0.5}, upper
