"""Neighbourhoods that are stored as ranges: arithmetic on them, and how they are made from data.

Every function that returns ranges returns them in canonical form: within an arm they ascend and
neither overlap nor touch. Two equal graphs therefore have equal arrays. Arithmetic takes time
proportional to arms plus ranges.

Matrices, edges, ranges, NetworkX graphs and JSON are checked where they become ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crossbandit.core.blocks import ArmRanges
from crossbandit.core.types import Booleans, Integers
from crossbandit.core.validation import MAX_SIZE, array, as_array, integer, reject, verbatim
from crossbandit.errors import InvalidGraphError


class Bounds(NamedTuple):
    """A number of a graph is at least `lower` and at most `upper`."""

    lower: int
    upper: int


class Found(NamedTuple):
    """A set of arms, the bounds of the number that it attains, and whether a search found them."""

    witness: tuple[int, ...]
    bounds: Bounds
    searched: bool

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.bounds.lower == self.bounds.upper

    @property
    def final(self) -> bool:
        """Whether another search cannot improve the bounds."""
        return self.exact or self.searched


def canonical(arms: int, owner: Integers, first: Integers, last: Integers) -> ArmRanges:
    """Sort and merge ranges that are given in any order, also overlapping ones.

    owner, first, last: (ranges,); `owner[i]` reveals the arms `first[i], ..., last[i]`.
    """
    # All rows are put on one number line, two places apart, so that ranges of two rows never touch.
    stride = arms + 2
    order = np.argsort(owner * stride + first, kind="stable")
    owner, first, last = owner[order], first[order], last[order]
    end = np.maximum.accumulate(owner * stride + last)
    opens = np.ones(owner.size, dtype=np.bool_)
    opens[1:] = owner[1:] * stride + first[1:] > end[:-1] + 1
    closes = np.roll(opens, -1)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner[opens], minlength=arms), out=starts[1:])
    return ArmRanges(starts, first[opens], end[closes] - owner[closes] * stride)


def ranges_of_matrix(matrix: Booleans) -> ArmRanges:
    """Return the ranges of the rows of a square boolean matrix."""
    arms = len(matrix)
    padded = np.zeros((arms, arms + 2), dtype=np.bool_)
    padded[:, 1:-1] = matrix
    before, after = padded[:, :-1], padded[:, 1:]
    owner, first = np.nonzero(~before & after)
    _, end = np.nonzero(before & ~after)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=arms), out=starts[1:])
    return ArmRanges(starts, first.astype(np.int64), end.astype(np.int64) - 1)


def matrix_of_ranges(ranges: ArmRanges) -> Booleans:
    """Return the square boolean matrix whose rows are the ranges."""
    arms = ranges.starts.size - 1
    step = np.zeros((arms, arms + 1), dtype=np.int8)
    owner = owners(ranges)
    step[owner, ranges.first] = 1
    step[owner, ranges.last + 1] = -1
    return np.cumsum(step[:, :-1], axis=1, dtype=np.int8).astype(np.bool_)


def transposed(ranges: ArmRanges) -> ArmRanges:
    """Return the in-neighbourhoods of given out-neighbourhoods, or the reverse.

    A range of arm b begins or ends at a where rows a - 1 and a differ in b. Rows differ between the
    ends of their ranges, except between ends that both have. So no K x K matrix is needed.
    """
    arms = ranges.starts.size - 1
    stride = arms + 1
    ends = np.concatenate([ranges.first, ranges.last + 1])
    row = np.concatenate([owners(ranges)] * 2)
    toggles, times = np.unique(
        np.concatenate([row * stride + ends, (row + 1) * stride + ends]), return_counts=True
    )
    toggles = toggles[times == 1]
    row, first = np.divmod(toggles[0::2], stride)
    counts = toggles[1::2] - toggles[0::2]
    column = _expanded(first, counts)
    change = np.repeat(row, counts)[np.argsort(column, kind="stable")]
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(column, minlength=arms) // 2, out=starts[1:])
    return ArmRanges(starts, change[0::2].copy(), change[1::2] - 1)


def owners(ranges: ArmRanges) -> Integers:
    """Return the arm that owns each range."""
    return np.repeat(np.arange(ranges.starts.size - 1), np.diff(ranges.starts))


def members(ranges: ArmRanges, arm: int) -> Integers:
    """Return the arms in the neighbourhood of `arm`, ascending."""
    own = slice(int(ranges.starts[arm]), int(ranges.starts[arm + 1]))
    return _expanded(ranges.first[own], ranges.last[own] - ranges.first[own] + 1)


def all_members(ranges: ArmRanges) -> tuple[Integers, Integers]:
    """Return every pair (arm, neighbour) as two arrays, in lexicographic order."""
    counts = ranges.last - ranges.first + 1
    return np.repeat(owners(ranges), counts), _expanded(ranges.first, counts)


def sizes(ranges: ArmRanges) -> Integers:
    """Return the number of arms in each neighbourhood."""
    upto = np.zeros(ranges.first.size + 1, dtype=np.int64)
    np.cumsum(ranges.last - ranges.first + 1, out=upto[1:])
    return upto[ranges.starts[1:]] - upto[ranges.starts[:-1]]


def self_loops(ranges: ArmRanges) -> Booleans:
    """Return for each arm whether it is in its own neighbourhood."""
    owner = owners(ranges)
    present = np.zeros(ranges.starts.size - 1, dtype=np.bool_)
    present[owner[(ranges.first <= owner) & (owner <= ranges.last)]] = True
    return present


def closed_union(one: ArmRanges, other: ArmRanges) -> ArmRanges:
    """Return the union of two neighbourhoods of each arm and the arm itself."""
    itself = np.arange(one.starts.size - 1)
    return _union(one, other, ArmRanges(np.arange(one.starts.size), itself, itself))


def _union(*parts: ArmRanges) -> ArmRanges:
    ranges = zip(*((owners(part), part.first, part.last) for part in parts), strict=True)
    return canonical(parts[0].starts.size - 1, *map(np.concatenate, ranges))


def first_outside(ranges: ArmRanges, others: ArmRanges) -> tuple[int, int] | None:
    """Return the first pair (arm, neighbour) of `ranges` that `others` does not have."""
    more = np.flatnonzero(sizes(_union(ranges, others)) > sizes(others))
    if more.size == 0:
        return None
    arm = int(more[0])
    return arm, int(np.setdiff1d(members(ranges, arm), members(others, arm))[0])


def induced(ranges: ArmRanges, keep: Booleans) -> ArmRanges:
    """Return the neighbourhoods among the arms of `keep` (K,), which are renumbered from 0."""
    kept_before = np.zeros(keep.size + 1, dtype=np.int64)
    np.cumsum(keep, out=kept_before[1:])
    owner = owners(ranges)
    first = kept_before[ranges.first]
    last = kept_before[ranges.last + 1] - 1
    stays = keep[owner] & (first <= last)
    return canonical(int(kept_before[-1]), kept_before[owner[stays]], first[stays], last[stays])


def _expanded(first: Integers, counts: Integers) -> Integers:
    """Return first[0], first[0] + 1, ... (counts[0] of them), then first[1], ..."""
    offset = np.cumsum(counts) - counts
    return np.repeat(first - offset, counts) + np.arange(int(counts.sum()))


def checked_adjacency(adjacency: npt.ArrayLike) -> Booleans:
    """Return a square matrix of truth values as a boolean array."""
    owner, name = "FeedbackGraph", "adjacency"
    expected = "a square matrix of booleans (or of 0 and 1) with at least one arm"
    matrix = as_array(owner, name, expected, adjacency, error=InvalidGraphError)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        got = verbatim(f"an array of shape {matrix.shape}")
        reject(owner, name, expected, got, error=InvalidGraphError)
    if matrix.dtype.kind not in "biuf":
        got = verbatim(f"values of type {matrix.dtype}")
        reject(owner, name, expected, got, error=InvalidGraphError)
    strange = (matrix != 0) & (matrix != 1)
    if strange.any():
        row, column = np.argwhere(strange)[0]
        got = verbatim(f"{matrix[row, column]} at [{row}, {column}]")
        reject(owner, name, expected, got, error=InvalidGraphError)
    return matrix.astype(np.bool_)


def ranges_of_edges(owner: str, arms: object, edges: Iterable[Sequence[int]]) -> ArmRanges:
    """Return the ranges of edges (a, b): playing a reveals b."""
    count = integer(owner, "arms", arms, at_least=1, at_most=MAX_SIZE)
    table = _checked_table(owner, "edges", "pairs (a, b)", count, edges, width=2)
    return canonical(count, table[:, 0], table[:, 1], table[:, 1])


def ranges_of_triples(owner: str, arms: object, ranges: Iterable[Sequence[int]]) -> ArmRanges:
    """Return the canonical ranges of triples (a, first, last): playing a reveals first to last."""
    count = integer(owner, "arms", arms, at_least=1, at_most=MAX_SIZE)
    table = _checked_table(owner, "ranges", "triples (a, first, last)", count, ranges, width=3)
    backward = table[:, 1] > table[:, 2]
    if backward.any():
        expected = "triples (a, first, last) with first <= last"
        got = tuple(table[backward][0].tolist())
        reject(owner, "ranges", expected, got, error=InvalidGraphError)
    return canonical(count, table[:, 0], table[:, 1], table[:, 2])


def ranges_of_networkx(digraph: Any) -> ArmRanges:
    """Return the ranges of a NetworkX digraph whose nodes are the integers 0 to K - 1."""
    owner, name = "FeedbackGraph.from_networkx", "digraph"
    if not callable(getattr(digraph, "is_directed", None)):
        expected = "a NetworkX DiGraph"
        reject(
            owner, name, expected, verbatim(f"a {type(digraph).__name__}"), error=InvalidGraphError
        )
    if not digraph.is_directed():
        expected = "directed; for edges both ways, use digraph.to_directed()"
        reject(owner, name, expected, verbatim("an undirected graph"), error=InvalidGraphError)
    arms = len(digraph)
    foreign = [node for node in digraph if node not in range(arms)]
    if arms == 0 or foreign:
        expected = (
            "a graph on the nodes 0, 1, ..., K - 1; to number other nodes, use "
            "networkx.convert_node_labels_to_integers(digraph, ordering='sorted')"
        )
        got = verbatim(f"{arms} nodes, among them {foreign[0]!r}" if arms else "no nodes")
        reject(owner, name, expected, got, error=InvalidGraphError)
    return ranges_of_edges(owner, arms, [(int(a), int(b)) for a, b in digraph.edges()])


def ranges_of_json(data: object) -> ArmRanges:
    """Return the ranges in the JSON form of a graph."""
    owner = "FeedbackGraph.from_json"
    if isinstance(data, dict) and set(data) == {"arms", "runs"}:  # as version 0.1 wrote it
        data = {"arms": data["arms"], "ranges": data["runs"]}
    if not isinstance(data, dict) or set(data) != {"arms", "ranges"}:
        expected = "an object with the keys 'arms' and 'ranges'"
        got = verbatim(
            f"the keys {sorted(map(str, data))}" if isinstance(data, dict) else repr(data)
        )
        reject(owner, "data", expected, got, error=InvalidGraphError)
    return ranges_of_triples(owner, data["arms"], data["ranges"])


def checked_mass(p: npt.ArrayLike, arms: int) -> npt.NDArray[np.float64]:
    """Return a contiguous copy of one finite non-negative mass per arm."""
    owner = "FeedbackGraph.observation_mass"
    expected = f"{arms} finite numbers of at least 0, one per arm"
    mass = checked_numbers(owner, "p", expected, p)
    if mass.shape != (arms,):
        reject(owner, "p", expected, verbatim(f"an array of shape {mass.shape}"))
    wrong = np.flatnonzero(mass < 0)
    if wrong.size:
        reject(owner, "p", expected, verbatim(f"{mass[wrong[0]]} for arm {wrong[0]}"))
    return mass


def checked_numbers(
    owner: str, name: str, expected: str, values: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return a contiguous copy of finite real numbers, of any shape."""
    result = array(owner, name, expected, values)
    wrong = result[~np.isfinite(result)]
    if wrong.size:
        reject(owner, name, expected, verbatim(f"{wrong[0]} among them"))
    return result


def _checked_table(
    owner: str, name: str, what: str, arms: int, rows: Iterable[Sequence[int]], *, width: int
) -> Integers:
    """Return rows of arms as an integer array (rows, width)."""
    expected = f"{what} of arms from 0 to {arms - 1}"
    try:
        listed = rows if isinstance(rows, np.ndarray) else list(rows)
        table = as_array(owner, name, expected, listed, error=InvalidGraphError)
    except TypeError:
        reject(owner, name, expected, verbatim("something else"), error=InvalidGraphError)
    if table.size == 0:
        return np.zeros((0, width), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != width or table.dtype.kind not in "iu":
        got = verbatim(f"an array of shape {table.shape} and type {table.dtype}")
        reject(owner, name, expected, got, error=InvalidGraphError)
    outside = ((table < 0) | (table >= arms)).any(axis=1)
    if outside.any():
        stranger = tuple(table[outside][0].tolist())
        reject(owner, name, expected, stranger, error=InvalidGraphError)
    return table.astype(np.int64)
