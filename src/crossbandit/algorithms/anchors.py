"""Which arms may be measured against another: those that a graph reveals together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.adaptive_arithmetic import Anchors

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.ranges import ArmRanges

NO_ANCHORS = Anchors(*np.empty((3, 0), dtype=np.int64))


def anchors_of(graph: FeedbackGraph) -> Anchors:
    """Return an anchor for each arm that has one.

    Arm b is an anchor of arm a if the arms that reveal b are those that reveal a, and b itself:
    N_in(b) = N_in(a) + {b}. So a play that reveals a also reveals b, and a play
    of another arm than b that reveals b also reveals a. Among bids that reveal all higher bids, the
    anchor is the next higher bid. If there are several anchors, the nearest is taken.

    >>> from crossbandit import graphs
    >>> anchors_of(graphs.threshold(4, reveals="higher")).anchor
    array([ 1,  2,  3, -1])
    >>> anchors_of(graphs.singletons(4)) is NO_ANCHORS
    True
    """
    runs = graph.in_ranges
    sets = [_runs_of(runs, a) for a in range(graph.arms)]
    known: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for b, own in enumerate(sets):
        without = _without(own, b)
        if without != own:
            known.setdefault(without, []).append(b)
    anchor = np.full(graph.arms, -1, dtype=np.int64)
    for a, own in enumerate(sets):
        if own and own in known:
            anchor[a] = min(known[own], key=lambda b: abs(b - a))
    if (anchor < 0).all():
        return NO_ANCHORS
    # An anchor is revealed by one arm more than the arm that it belongs to.
    sizes = [sum(last - first + 1 for first, last in own) for own in sets]
    order = np.argsort(-np.array(sizes), kind="stable")
    return Anchors(anchor, order, np.flatnonzero(anchor < 0))


def _runs_of(runs: ArmRanges, a: int) -> tuple[tuple[int, int], ...]:
    own = slice(runs.starts[a], runs.starts[a + 1])
    return tuple(zip(runs.first[own].tolist(), runs.last[own].tolist(), strict=True))


def _without(runs: tuple[tuple[int, int], ...], arm: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges of the same arms without one."""
    pieces = []
    for first, last in runs:
        if first <= arm <= last:
            pieces += [(first, arm - 1), (arm + 1, last)]
        else:
            pieces.append((first, last))
    return tuple((first, last) for first, last in pieces if first <= last)
