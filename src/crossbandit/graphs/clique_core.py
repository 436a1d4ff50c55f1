# cython: infer_types=True
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

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

import numpy as np

NONE = cython.declare(cython.Py_ssize_t, -1)
WORD = cython.declare(cython.Py_ssize_t, 64)
PRIME = cython.declare(cython.ulonglong, np.uint64(67))  # the first 64 powers of 2 differ mod 67
ZERO = cython.declare(cython.ulonglong, np.uint64(0))
ONE = cython.declare(cython.ulonglong, np.uint64(1))
_PLACES = np.zeros(67, dtype=np.int64)
_PLACES[[pow(2, place, 67) for place in range(64)]] = np.arange(64)

# The sets: uncoloured; free for a colour; open to proofs; not yet excluded.
UNCOLOURED = cython.declare(cython.Py_ssize_t, 0)
FREE = cython.declare(cython.Py_ssize_t, 1)
PROVABLE = cython.declare(cython.Py_ssize_t, 2)
ALIVE = cython.declare(cython.Py_ssize_t, 3)


@cython.cclass
class CliqueSearch:
    """A search for a clique of more than `record` vertices, for n vertices in sets of w words."""

    def __init__(self, adjacency, record) -> None:
        n = len(adjacency)
        words = (n + 63) // 64
        padded = np.zeros((n + 1, words * 64), dtype=np.bool_)
        padded[:n, :n] = adjacency
        padded[n, :n] = True
        bits = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        candidates = np.zeros((n + 1, words), dtype=np.uint64)
        candidates[0] = bits[n]
        self.vertices, self.words, self.depth, self.record = n, words, 0, record
        self.near, self.candidates = bits[:n].copy(), candidates
        self.branches = np.zeros_like(candidates)
        self.path, self.best = np.full(n + 1, n), np.zeros(n, dtype=np.int64)
        self.colours = np.zeros((n, words), dtype=np.uint64)
        self.sets = np.zeros((4, words), dtype=np.uint64)
        scratch = np.zeros((6, n), dtype=np.int64)
        self.colour_of, self.size, self.used, self.left, self.cause, self.queue = scratch
        self.places = _PLACES

    def clique(self) -> list[int]:
        """Return the largest clique that the search has found; it has `record` vertices."""
        return [int(self.best[i]) for i in range(self.record)]

    def advance(self, enough: cython.Py_ssize_t, steps: cython.Py_ssize_t) -> bool:
        """Search at most `steps` further nodes."""
        with cython.nogil:
            for step in range(steps):
                if self.depth == NONE or self.record >= enough:
                    break
                if self.path[self.depth] == self.vertices:
                    self.colour(self.record - self.depth)
                vertex = self.path[self.depth] - 1
                while vertex >= 0 and not self.branches_on(vertex):
                    vertex -= 1
                if vertex < 0:
                    self.depth -= 1
                    continue
                self.path[self.depth] = vertex
                more: cython.bint = False
                for w in range(self.words):
                    self.candidates[self.depth + 1, w] = (
                        self.candidates[self.depth, w] & self.near[vertex, w]
                    )
                    more = more or self.candidates[self.depth + 1, w] != ZERO
                self.candidates[self.depth, vertex // WORD] ^= bit_of(vertex)
                if more:
                    self.depth += 1
                    self.path[self.depth] = self.vertices
                elif self.depth + 1 > self.record:
                    self.record = self.depth + 1
                    for i in range(self.record):
                        self.best[i] = self.path[i]
        return self.depth == NONE or self.record >= enough

    def branches_on(self, vertex):
        return (self.branches[self.depth, vertex // WORD] & bit_of(vertex)) != ZERO

    def vertex_of(self, w, bit):
        return w * WORD + self.places[bit % PRIME]

    def colour(self, allowed):
        """Branch on the candidates outside `allowed` colours that no proof excludes."""
        colour: cython.Py_ssize_t = 0
        for w in range(self.words):
            self.sets[UNCOLOURED, w] = self.candidates[self.depth, w]
            self.branches[self.depth, w] = ZERO
        while True:
            more: cython.bint = False
            for w in range(self.words):
                self.sets[FREE, w] = self.sets[UNCOLOURED, w]
                more = more or self.sets[FREE, w] != ZERO
                self.sets[PROVABLE, w] = ZERO
            if not more:
                break
            if colour < allowed:
                for w in range(self.words):
                    self.colours[colour, w] = ZERO
                self.size[colour] = 0
                self.used[colour] = 0
            else:
                for other in range(allowed):
                    if self.used[other] == 0:
                        for w in range(self.words):
                            self.sets[PROVABLE, w] |= self.colours[other, w]
            for w in range(self.words):
                while self.sets[FREE, w] != ZERO:
                    bit = lowest(self.sets[FREE, w])
                    vertex = self.vertex_of(w, bit)
                    self.sets[UNCOLOURED, w] ^= bit
                    self.sets[FREE, w] ^= bit
                    for x in range(w, self.words):
                        self.sets[FREE, x] &= ~self.near[vertex, x]
                    if colour < allowed:
                        self.colours[colour, w] |= bit
                        self.colour_of[vertex] = colour
                        self.size[colour] += 1
                    elif not self.excluded(vertex, allowed):
                        self.branches[self.depth, w] |= bit
            colour += 1

    def excluded(self, vertex, colours):
        """Return whether a proof shows that no clique has `vertex` and one vertex of each colour.

        Only colours that are open to proofs count. Marks the colours that the proof uses.
        """
        reason: cython.Py_ssize_t = NONE
        empty: cython.Py_ssize_t = NONE
        head: cython.Py_ssize_t = 0
        tail: cython.Py_ssize_t = 0
        for w in range(self.words):
            self.sets[ALIVE, w] = self.sets[PROVABLE, w]
        for colour in range(colours):
            self.left[colour] = self.size[colour]
        while True:
            for w in range(self.words):
                gone: cython.ulonglong = self.sets[ALIVE, w] & ~self.near[vertex, w]
                self.sets[ALIVE, w] ^= gone
                while gone != ZERO:
                    bit = lowest(gone)
                    gone ^= bit
                    other = self.vertex_of(w, bit)
                    colour = self.colour_of[other]
                    self.cause[other] = reason
                    self.left[colour] -= 1
                    if self.left[colour] == 1:
                        self.queue[tail] = colour
                        tail += 1
                    elif self.left[colour] == 0:
                        empty = colour
                        break
                if empty != NONE:
                    break
            if empty != NONE:
                break
            if head == tail:
                return False
            reason = self.queue[head]
            head += 1
            for w in range(self.words):
                bit = self.sets[ALIVE, w] & self.colours[reason, w]
                if bit != ZERO:
                    vertex = self.vertex_of(w, bit)
                    self.cause[vertex] = NONE
                    self.sets[ALIVE, w] ^= bit
                    break
        self.trace(empty)
        return True

    def trace(self, empty):
        """Mark as used the colour that is empty, the colours that emptied it, and so on back."""
        head: cython.Py_ssize_t = 0
        tail: cython.Py_ssize_t = 1
        self.queue[0] = empty
        self.left[empty] = NONE
        while head < tail:
            colour = self.queue[head]
            head += 1
            self.used[colour] = 1
            for w in range(self.words):
                gone: cython.ulonglong = self.colours[colour, w]
                while gone != ZERO:
                    bit = lowest(gone)
                    gone ^= bit
                    reason = self.cause[self.vertex_of(w, bit)]
                    if reason != NONE and self.left[reason] != NONE:
                        self.left[reason] = NONE
                        self.queue[tail] = reason
                        tail += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def bit_of(vertex: cython.Py_ssize_t) -> cython.ulonglong:
    place: cython.ulonglong = cython.cast(cython.ulonglong, vertex % WORD)
    return ONE << place


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def lowest(word: cython.ulonglong) -> cython.ulonglong:
    return word & (~word + ONE)
