"""The feedback graph: which arms playing an arm reveals.

The algorithms behind its methods are in the other files of this folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from crossbandit.extras import require
from crossbandit.graphs import neighborhoods
from crossbandit.graphs.properties import GraphProperties
from crossbandit.kernels.ranges import ArmRanges, range_masses, ranges_of_graph
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from crossbandit.kernels.ranges import GraphBlock


@final
class FeedbackGraph(GraphProperties):
    """A directed graph on the arms: playing `a` reveals `b` iff `adjacency[a, b]`.

    A graph is immutable. It is stored as ranges of consecutive arms, so a large structured graph
    takes little memory. The matrix `adjacency` is computed on request.

    Args:
        adjacency: A square matrix of booleans, or of 0 and 1.

    Raises:
        InvalidGraphError: The matrix is not square, is empty, or has other entries.

    >>> graph = FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> graph
    FeedbackGraph(arms=3, edges=6, observability='strong')
    >>> graph.out_neighbors(0), graph.in_neighbors(0)
    (array([0, 1]), array([0, 2]))
    >>> graph.observation_mass([0.5, 0.25, 0.25])
    array([0.75, 0.75, 0.5 ])
    >>> graph.independence_number
    1
    """

    __slots__ = ("_in_ranges", "_known", "_out_ranges")

    _out_ranges: ArmRanges
    _in_ranges: ArmRanges
    _known: dict[str, Any]

    def __init__(self, adjacency: npt.ArrayLike) -> None:
        matrix = neighborhoods.checked_adjacency(adjacency)
        self._fill(neighborhoods.ranges_of_matrix(matrix), neighborhoods.ranges_of_matrix(matrix.T))

    @classmethod
    def from_edges(cls, arms: int, edges: Iterable[Sequence[int]]) -> FeedbackGraph:
        """Return the graph with the given edges (a, b): playing a reveals b.

        Args:
            arms: The number of arms, at least 1.
            edges: Pairs of arms. Repeated pairs count once.

        Raises:
            InvalidGraphError: An edge is not a pair of arms from 0 to arms - 1.

        >>> FeedbackGraph.from_edges(3, [(0, 0), (0, 1), (0, 2)]).out_neighbors(0)
        array([0, 1, 2])
        """
        return cls._of(neighborhoods.ranges_of_edges("FeedbackGraph.from_edges", arms, edges))

    @classmethod
    def from_ranges(cls, arms: int, ranges: Iterable[Sequence[int]]) -> FeedbackGraph:
        """Return the graph with the given ranges (a, first, last): a reveals first, ..., last.

        No K x K matrix is made.

        Args:
            arms: The number of arms, at least 1.
            ranges: Triples of arms with first <= last, in any order. They may overlap.

        Raises:
            InvalidGraphError: A range is not such a triple.

        >>> FeedbackGraph.from_ranges(1_000, [(0, 1, 999), (5, 5, 5)])
        FeedbackGraph(arms=1000, edges=1000, observability='none')
        """
        return cls._of(neighborhoods.ranges_of_triples("FeedbackGraph.from_ranges", arms, ranges))

    @classmethod
    def from_block(cls, block: GraphBlock, graph: int, arms: int) -> FeedbackGraph:
        """Return one graph of a block of graphs, as compiled code has them.

        Args:
            block: The graphs of some rounds.
            graph: The number of the graph in the block.
            arms: The number of arms.
        """
        return cls._of(
            ranges_of_graph(block.out_ranges, graph, arms),
            ranges_of_graph(block.in_ranges, graph, arms),
        )

    @classmethod
    def from_networkx(cls, digraph: Any) -> FeedbackGraph:
        """Return the graph of a NetworkX DiGraph.

        Args:
            digraph: A directed graph whose nodes are the integers 0, ..., K - 1. Other nodes are
                refused, because their numbering as arms would be a guess.

        Raises:
            InvalidGraphError: It is not a directed graph, or has other nodes.
        """
        return cls._of(neighborhoods.ranges_of_networkx(digraph))

    @classmethod
    def from_json(cls, data: object) -> FeedbackGraph:
        """Return the graph that `to_json` wrote.

        Args:
            data: What `to_json` returned.

        Raises:
            InvalidGraphError: The data has another form.
        """
        return cls._of(neighborhoods.ranges_of_json(data))

    @classmethod
    def _of(cls, out_ranges: ArmRanges, in_ranges: ArmRanges | None = None) -> FeedbackGraph:
        graph = cls.__new__(cls)
        graph._fill(  # noqa: SLF001 - its own
            out_ranges, neighborhoods.transposed(out_ranges) if in_ranges is None else in_ranges
        )
        return graph

    def _fill(self, out_ranges: ArmRanges, in_ranges: ArmRanges) -> None:
        for array in (*out_ranges, *in_ranges):
            array.flags.writeable = False
        self._out_ranges = out_ranges
        self._in_ranges = in_ranges
        self._known = {}

    @property
    def arms(self) -> int:
        """The number of arms."""
        return self._out_ranges.starts.size - 1

    @property
    def out_ranges(self) -> ArmRanges:
        """For each arm, the ranges of arms that it reveals. Read-only."""
        return self._out_ranges

    @property
    def in_ranges(self) -> ArmRanges:
        """For each arm, the ranges of arms that reveal it. Read-only."""
        return self._in_ranges

    @property
    def adjacency(self) -> npt.NDArray[np.bool_]:
        """A new read-only K x K matrix: `adjacency[a, b]` is True if a reveals b."""
        matrix = neighborhoods.matrix_of_ranges(self._out_ranges)
        matrix.flags.writeable = False
        return matrix

    @property
    def edge_count(self) -> int:
        """The number of edges, self-loops included."""
        return int((self._out_ranges.last - self._out_ranges.first + 1).sum())

    def edges(self) -> list[tuple[int, int]]:
        """Return all edges (a, b) in lexicographic order.

        >>> FeedbackGraph([[0, 1], [1, 1]]).edges()
        [(0, 1), (1, 0), (1, 1)]
        """
        tail, head = neighborhoods.all_members(self._out_ranges)
        return list(zip(tail.tolist(), head.tolist(), strict=True))

    def out_neighbors(self, arm: int) -> npt.NDArray[np.int64]:
        """Return the arms that playing `arm` reveals, ascending.

        Args:
            arm: An arm.
        """
        return neighborhoods.members(self._out_ranges, self._checked_arm("out_neighbors", arm))

    def in_neighbors(self, arm: int) -> npt.NDArray[np.int64]:
        """Return the arms that reveal `arm`, ascending.

        Args:
            arm: An arm.
        """
        return neighborhoods.members(self._in_ranges, self._checked_arm("in_neighbors", arm))

    def _checked_arm(self, method: str, arm: int) -> int:
        owner = f"FeedbackGraph.{method}"
        if integer(owner, "arm", arm, at_least=0) >= self.arms:
            reject(owner, "arm", f"an arm from 0 to {self.arms - 1}", arm)
        return int(arm)

    def edge_not_in(self, other: FeedbackGraph) -> tuple[int, int] | None:
        """Return the first edge of this graph that another graph lacks; None if it has all.

        Args:
            other: A graph of as many arms.

        Raises:
            InvalidParameterError: The other graph has another number of arms.

        >>> FeedbackGraph([[1, 1], [0, 1]]).edge_not_in(FeedbackGraph([[1, 0], [0, 1]]))
        (0, 1)
        """
        if other.arms != self.arms:
            expected = f"a FeedbackGraph of {self.arms} arms"
            reject("FeedbackGraph.edge_not_in", "other", expected, other)
        return neighborhoods.first_outside(self._out_ranges, other._out_ranges)

    def observation_mass(self, p: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return for each arm the mass p(N_in(a)) of the arms that reveal it.

        If p is a policy, this is the probability that the arm is observed. The time is proportional
        to the number of arms plus the number of ranges.

        Args:
            p: A finite number of at least 0 for each arm, of shape (K,). The sum need not be 1.
        """
        mass = neighborhoods.checked_mass(p, self.arms)
        scratch = np.empty((2, self.arms + 1))
        out = np.empty(self.arms)
        range_masses(self._in_ranges, mass, scratch, out)
        return out

    @property
    def arms_without_self_loop(self) -> tuple[int, ...]:
        """The arms that do not reveal themselves, ascending."""
        return tuple(np.flatnonzero(~neighborhoods.self_loops(self._out_ranges)).tolist())

    def to_networkx(self) -> Any:
        """Return a NetworkX DiGraph on the nodes 0, ..., K - 1.

        Raises:
            MissingPackageError: NetworkX is not installed.
        """
        require("networkx", extra="graphs", owner="FeedbackGraph.to_networkx")
        import networkx as nx

        digraph = nx.DiGraph()
        digraph.add_nodes_from(range(self.arms))
        digraph.add_edges_from(self.edges())
        return digraph

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary that `json` can write: the arms and the ranges (a, first, last).

        >>> FeedbackGraph([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).to_json()
        {'arms': 3, 'ranges': [[0, 0, 1], [1, 1, 2], [2, 0, 0], [2, 2, 2]]}
        """
        ranges = self._out_ranges
        table = np.stack([neighborhoods.owners(ranges), ranges.first, ranges.last], axis=1)
        return {"arms": self.arms, "ranges": table.tolist()}

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the graph with Matplotlib and return the axes.

        Up to 40 arms are drawn on a circle. More are drawn as an adjacency matrix.

        Args:
            ax: The axes to draw on; a new figure by default.

        Returns:
            The axes with the drawing.

        Raises:
            MissingPackageError: Matplotlib is not installed.
        """
        from crossbandit.graphs import drawing

        return drawing.draw(self, ax)

    def _repr_html_(self) -> str:
        from crossbandit.graphs import drawing

        return drawing.html(self)

    def __repr__(self) -> str:
        return (
            f"FeedbackGraph(arms={self.arms}, edges={self.edge_count}, "
            f"observability={self.observability!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeedbackGraph):
            return NotImplemented
        pairs = zip(self._out_ranges, other._out_ranges, strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self._out_ranges))

    def __reduce__(self) -> tuple[Any, ...]:
        return FeedbackGraph._of, (self._out_ranges, self._in_ranges)
