"""Checks and conversion of matrices, edges, ranges, NetworkX graphs and JSON into ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crossbandit.errors import InvalidGraphError
from crossbandit.graphs.neighborhoods import canonical
from crossbandit.types import Booleans, Integers
from crossbandit.validation import MAX_SIZE, array, as_array, integer, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crossbandit.kernels.ranges import ArmRanges


def checked_adjacency(adjacency: npt.ArrayLike) -> Booleans:
    """Return a square matrix of truth values as a boolean array."""
    owner, name = "FeedbackGraph", "adjacency"
    expected = "a square matrix of booleans (or of 0 and 1) with at least one arm"
    matrix = as_array(owner, name, expected, adjacency, error=InvalidGraphError)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        got = verbatim(f"an array of shape {matrix.shape}")
        reject(owner, name, expected, got, error=InvalidGraphError)
    if matrix.dtype.kind not in "biu":
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
