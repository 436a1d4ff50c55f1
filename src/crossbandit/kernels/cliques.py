"""The largest clique of a graph: branch and bound on sets of bits.

A node of the search is a clique and its candidates: the vertices adjacent to all of it. Candidates
are coloured so that adjacent ones differ; a clique has at most one vertex of each colour. If d
vertices must be added for a new record, a larger clique has a vertex outside the first d - 1
colours, and only those outside are branched on (Tomita and Seki 2003; as sets of bits, San Segundo
et al. 2011).

Most of these can be excluded too. Suppose that a clique has the vertex v and one vertex of each of
these colours. If only one vertex of a colour is adjacent to v, the clique must have that vertex,
which excludes vertices of further colours, and so on. If no vertex of a colour is left, there is no
such clique: v and the colours used in this proof contribute no more than these colours alone (Li
and Quan 2010, after unit propagation in MaxSAT). A colour is used for one such proof, or for all
vertices of one further colour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crossbandit.kernels.compilation import compiled, inlined

Bits = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

DEPTH, RECORD = 0, 1
_NONE = -1
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WORD = 64
_PRIME = np.uint64(67)  # the first 64 powers of two differ modulo 67
_PLACE = np.zeros(67, dtype=np.int64)
_PLACE[[pow(2, place, 67) for place in range(_WORD)]] = np.arange(_WORD)


class CliqueSearch(NamedTuple):
    """The state of a search, for n vertices in sets of w words."""

    near: Bits  # (n, w): the neighbours of each vertex
    candidates: Bits  # (n + 1, w): at each depth, without those already searched
    branches: Bits  # (n + 1, w): those of them on which to branch
    path: Integers  # (n + 1,): the vertex branched on last; n before the first
    clique: Integers  # (n,): the record, if the search set one
    counters: Integers  # (2,): depth, or _NONE once all is searched; size of the record
    colours: Bits  # (n, w), scratch: the vertices of each colour
    colour_of: Integers  # (n,), scratch
    size: Integers  # (n,), scratch: of each colour
    used: npt.NDArray[np.bool_]  # (n,), scratch: whether a proof has used the colour
    sets: Bits  # (4, w), scratch: uncoloured; free for a colour; open to proofs; not yet excluded
    left: Integers  # (n,), scratch: how many of each colour are left; _NONE once traced back
    cause: Integers  # (n,), scratch: the colour whose last vertex excluded this one
    queue: Integers  # (n,), scratch


def begin(adjacency: npt.NDArray[np.bool_], record: int) -> CliqueSearch:
    """Return a search for a clique of more than `record` vertices.

    adjacency: (n, n), symmetric, False on the diagonal. Vertices are coloured from the first on
    and branched on from the last: put vertices with few neighbours last.
    """
    n = len(adjacency)
    words = -(-n // _WORD)
    padded = np.zeros((n + 1, words * _WORD), dtype=np.bool_)
    padded[:n, :n] = adjacency
    padded[n, :n] = True
    bits = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    candidates = np.zeros((n + 1, words), dtype=np.uint64)
    candidates[0] = bits[n]
    colour_of, size, left, cause, queue = np.zeros((5, n), dtype=np.int64)
    return CliqueSearch(
        near=bits[:n],
        candidates=candidates,
        branches=np.zeros_like(candidates),
        path=np.full(n + 1, n),
        clique=np.zeros(n, dtype=np.int64),
        counters=np.array([0, record]),
        colours=np.zeros((n, words), dtype=np.uint64),
        colour_of=colour_of,
        size=size,
        used=np.zeros(n, dtype=np.bool_),
        sets=np.zeros((4, words), dtype=np.uint64),
        left=left,
        cause=cause,
        queue=queue,
    )


@compiled
def advance(search: CliqueSearch, enough: int, steps: int) -> bool:
    """Search at most `steps` further nodes. Changes `search`, which holds the best clique so far.

    Returns whether the search is over: all is searched, or the record is at least `enough`.
    """
    near, candidates, branches, path = search.near, search.candidates, search.branches, search.path
    n, words = near.shape
    depth, record = search.counters
    for _ in range(steps):
        if depth == _NONE or record >= enough:
            break
        if path[depth] == n:
            _colour(search, depth, record - depth)
        vertex = path[depth] - 1
        while vertex >= 0 and not _holds(branches[depth], vertex):
            vertex -= 1
        if vertex < 0:
            depth -= 1
            continue
        path[depth] = vertex
        more = False
        for w in range(words):
            candidates[depth + 1, w] = candidates[depth, w] & near[vertex, w]
            more |= candidates[depth + 1, w] != _ZERO
        candidates[depth, vertex // _WORD] ^= _bit(vertex)
        if more:
            depth += 1
            path[depth] = n
        elif depth + 1 > record:
            record = depth + 1
            for i in range(record):
                search.clique[i] = path[i]
    search.counters[DEPTH] = depth
    search.counters[RECORD] = record
    return bool(depth == _NONE or record >= enough)


@inlined
def _colour(search: CliqueSearch, depth: int, allowed: int) -> None:
    """Set `branches[depth]` to the candidates outside `allowed` colours that no proof excludes."""
    near, colours, branches = search.near, search.colours, search.branches
    words = near.shape[1]
    uncoloured, free, provable, _ = search.sets
    for w in range(words):
        uncoloured[w] = search.candidates[depth, w]
        branches[depth, w] = _ZERO
    colour = 0
    while True:
        more = False
        for w in range(words):
            free[w] = uncoloured[w]
            more |= free[w] != _ZERO
            provable[w] = _ZERO
        if not more:
            break
        if colour < allowed:
            for w in range(words):
                colours[colour, w] = _ZERO
            search.size[colour] = 0
            search.used[colour] = False
        else:
            for other in range(allowed):
                if not search.used[other]:
                    for w in range(words):
                        provable[w] |= colours[other, w]
        for w in range(words):
            while free[w] != _ZERO:
                bit = _lowest(free[w])
                vertex = w * _WORD + _PLACE[bit % _PRIME]
                uncoloured[w] ^= bit
                free[w] ^= bit
                for x in range(w, words):
                    free[x] &= ~near[vertex, x]
                if colour < allowed:
                    colours[colour, w] |= bit
                    search.colour_of[vertex] = colour
                    search.size[colour] += 1
                elif not _excluded(search, vertex, allowed):
                    branches[depth, w] |= bit
        colour += 1


@inlined
def _excluded(search: CliqueSearch, vertex: int, colours: int) -> bool:
    """Return whether a proof shows that no clique has `vertex` and one vertex of each colour.

    Only colours that are open to proofs count. Marks the colours that the proof uses.
    """
    near, left, cause, queue = search.near, search.left, search.cause, search.queue
    _, _, provable, alive = search.sets
    for w in range(alive.size):
        alive[w] = provable[w]
    for colour in range(colours):
        left[colour] = search.size[colour]
    reason, empty, head, tail = _NONE, _NONE, 0, 0
    while True:
        for w in range(alive.size):
            excluded = alive[w] & ~near[vertex, w]
            alive[w] ^= excluded
            while excluded != _ZERO:
                bit = _lowest(excluded)
                excluded ^= bit
                other = w * _WORD + _PLACE[bit % _PRIME]
                colour = search.colour_of[other]
                cause[other] = reason
                left[colour] -= 1
                if left[colour] == 1:
                    queue[tail] = colour
                    tail += 1
                elif left[colour] == 0:
                    empty = colour
                    break
            if empty != _NONE:
                break
        if empty != _NONE:
            break
        if head == tail:
            return False
        reason = queue[head]
        head += 1
        for w in range(alive.size):
            bit = alive[w] & search.colours[reason, w]
            if bit != _ZERO:
                vertex = w * _WORD + _PLACE[bit % _PRIME]
                cause[vertex] = _NONE
                alive[w] ^= bit
                break
    _trace(search, empty)
    return True


@inlined
def _trace(search: CliqueSearch, empty: int) -> None:
    """Mark as used the colour that is empty, the colours that emptied it, and so on back."""
    left, queue = search.left, search.queue
    queue[0] = empty
    left[empty] = _NONE
    head, tail = 0, 1
    while head < tail:
        colour = queue[head]
        head += 1
        search.used[colour] = True
        for w in range(search.near.shape[1]):
            excluded = search.colours[colour, w]
            while excluded != _ZERO:
                bit = _lowest(excluded)
                excluded ^= bit
                reason = search.cause[w * _WORD + _PLACE[bit % _PRIME]]
                if reason != _NONE and left[reason] != _NONE:
                    left[reason] = _NONE
                    queue[tail] = reason
                    tail += 1


@inlined
def _bit(vertex: int) -> np.uint64:
    return _ONE << np.uint64(vertex % _WORD)


@inlined
def _holds(members: Bits, vertex: int) -> bool:
    return bool(members[vertex // _WORD] & _bit(vertex) != _ZERO)


@inlined
def _lowest(word: np.uint64) -> np.uint64:
    return word & (~word + _ONE)
