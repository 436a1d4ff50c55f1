"""The independence number: exact if possible, and proved bounds otherwise.

Two arms are adjacent if either reveals the other. The graph is first split: an arm that is adjacent
to all others is in no larger set, and components are solved one by one. Cliques are easy, and so is
every part in which a greedy set is as large as a clique cover: rings, thresholds, trees and points
on a line, of any size. The other parts are searched.

Exact within TIME_LIMIT, as measured on one core: random graphs of 200 arms at every density, in
at most six seconds; of 300 arms if at most 2 % or at least 25 % of the pairs are adjacent, of 600
from 50 %, of 1,000 from 70 %, of 5,000 from 90 %; and up to 2,000 points in a plane with a few
neighbours each.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs import covers, neighborhoods, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.graphs.graph import FeedbackGraph
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.types import Booleans, Integers

TIME_LIMIT = 60.0  # seconds for the search of one graph


class IndependenceBounds(NamedTuple):
    """The independence number is at least `lower` and at most `upper`."""

    lower: int
    upper: int


class Independence(NamedTuple):
    """An independent set, an upper bound on every other one, and whether a search found them."""

    witness: tuple[int, ...]
    upper: int
    searched: bool

    @property
    def bounds(self) -> IndependenceBounds:
        """The bounds that the witness and the cover prove."""
        return IndependenceBounds(len(self.witness), self.upper)

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return len(self.witness) == self.upper

    @property
    def final(self) -> bool:
        """Whether another search cannot improve the bounds."""
        return self.exact or self.searched


class _Piece(NamedTuple):
    """A connected part of the graph in which no arm is adjacent to all others."""

    arms: Integers  # their numbers in the whole graph, ascending
    closed: ArmRanges  # of each, its neighbours and itself


def estimate(graph: FeedbackGraph) -> Independence:
    """Return bounds without a search."""
    return _assembled(graph, covers.bounds, searched=False)


def solve(graph: FeedbackGraph) -> Independence:
    """Return the exact answer, or the best bounds after TIME_LIMIT."""
    deadline = time.monotonic() + TIME_LIMIT

    def settle(closed: ArmRanges) -> tuple[Integers, int]:
        witness, upper = covers.bounds(closed)
        if witness.size == upper:
            return witness, upper
        return search.improved(closed, witness, upper, deadline)

    return _assembled(graph, settle, searched=True)


def _assembled(
    graph: FeedbackGraph, settle: Callable[[ArmRanges], tuple[Integers, int]], *, searched: bool
) -> Independence:
    witness, pieces = _split(graph)
    upper = len(witness)
    for piece in pieces:
        found, bound = settle(piece.closed)
        witness.extend(piece.arms[found].tolist())
        upper += bound
    return Independence(tuple(sorted(witness)), upper, searched)


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
        part = covers.components(piece.closed)
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
