"""Bounds on the independence number that need no search.

All functions take the closed neighbourhoods of an undirected graph as ranges: for each arm, its
neighbours and itself. An independent set gives a lower bound. A cover by cliques gives an upper
bound, because an independent set has at most one arm in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.graphs.neighborhoods import members, sizes

if TYPE_CHECKING:
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.types import Integers


def bounds(closed: ArmRanges) -> tuple[Integers, int]:
    """Return an independent set, ascending, and an upper bound on the size of every one."""
    natural = np.arange(closed.starts.size - 1)
    witness = greedy_set(closed, natural)
    upper = min(_windows(closed), clique_partition(closed, natural))
    if witness.size == upper:
        return witness, upper
    elimination = elimination_order(closed)
    witness = max(witness, greedy_set(closed, elimination), sparse_first_set(closed), key=len)
    return witness, min(upper, clique_partition(closed, elimination))


def components(closed: ArmRanges) -> Integers:
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
            reached = members(closed, frontier.pop())
            reached = reached[part[reached] < 0]
            part[reached] = count
            left -= reached.size
            frontier.extend(reached.tolist())
        count += 1
    return part


def greedy_set(closed: ArmRanges, order: Integers) -> Integers:
    """Take each arm, in the given order, that is adjacent to none taken before."""
    free = np.ones(order.size, dtype=np.bool_)
    taken = []
    for arm in order.tolist():
        if free[arm]:
            taken.append(arm)
            free[members(closed, arm)] = False
    return np.array(sorted(taken), dtype=np.int64)


def sparse_first_set(closed: ArmRanges) -> Integers:
    """Repeatedly take an arm with the fewest remaining neighbours, and remove these."""
    degree = sizes(closed)
    left = np.ones(degree.size, dtype=np.bool_)
    taken = []
    while left.any():
        arm = int(np.where(left, degree, degree.size + 1).argmin())
        taken.append(arm)
        near = members(closed, arm)
        near = near[left[near]]
        left[near] = False
        for other in near.tolist():
            degree[members(closed, other)] -= 1
    return np.array(sorted(taken), dtype=np.int64)


def elimination_order(closed: ArmRanges) -> Integers:
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
        seen_neighbors[members(closed, arm)] += 1
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
    owner = np.repeat(np.arange(arms), np.diff(closed.starts))
    own = (closed.first <= owner) & (owner <= closed.last)
    reach = closed.last[own]  # exactly one run of each arm holds the arm itself
    begin = closed.starts[:-1]
    around = (reach == arms - 1) & (closed.first[begin] == 0)
    return np.where(around, arms + closed.last[begin], reach)


def clique_partition(closed: ArmRanges, order: Integers) -> int:
    """Count the cliques of a partition of the arms, grown greedily from roots in this order."""
    left = np.ones(order.size, dtype=np.bool_)
    count = 0
    for root in order.tolist():
        if not left[root]:
            continue
        count += 1
        left[root] = False
        candidates = members(closed, root)
        candidates = candidates[left[candidates]]
        while candidates.size:
            arm = int(candidates[0])
            left[arm] = False
            near = np.zeros(order.size, dtype=np.bool_)
            near[members(closed, arm)] = True
            candidates = candidates[1:][near[candidates[1:]]]
    return count
