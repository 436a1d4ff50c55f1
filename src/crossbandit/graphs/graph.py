"""The feedback graph: which arms playing an arm reveals.

The algorithms behind its methods are in the other files of this folder.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from crossbandit.core.blocks import ArmRanges, GraphBlock, ranges_of_graph
from crossbandit.core.extras import installed, pip_line, require
from crossbandit.core.losses import range_masses
from crossbandit.core.validation import choice, integer, reject, verbatim
from crossbandit.errors import (
    GraphNumberError,
    IndependenceNumberError,
    InvalidGraphError,
    InvalidInputError,
    InvalidParameterError,
)
from crossbandit.graphs import neighborhoods
from crossbandit.graphs.neighborhoods import Bounds, Found, self_loops, sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from matplotlib.axes import Axes

    from crossbandit.graphs.domination import FractionalDomination


Observability = Literal["strong", "weak", "none"]

_NAMED_ARMS = 3  # how many arms a message lists
_EXPECTED = {
    "strong": "strongly observable: each arm has a self-loop or is revealed by every other arm",
    "weak": "observable: each arm is revealed by some arm",
}
_ENOUGH = {"strong": "every other arm", "weak": "some arm"}


class _Arms(NamedTuple):
    """The arms that are not strongly observable, and those without a self-loop that are."""

    hidden: list[int]
    weak: list[int]
    seen_by_all_others: list[int]


def as_graph(
    owner: str,
    graph: object,
    arms: int | None = None,
    *,
    expected: str = "",
    error: type[InvalidInputError] = InvalidParameterError,
) -> FeedbackGraph:
    """Return a graph that was given itself or as a matrix; raise unless it has `arms` arms."""
    of = "" if arms is None else f" of {arms} arms"
    expected = expected or f"a FeedbackGraph{of}, or its matrix of 0 and 1"
    if isinstance(graph, np.ndarray | list | tuple):
        graph = FeedbackGraph(graph)
    if not isinstance(graph, FeedbackGraph):
        reject(owner, "graph", expected, graph, error=error)
    if arms not in {None, graph.arms}:
        reject(owner, "graph", expected, verbatim(f"one of {graph.arms} arms"), error=error)
    return graph


def weak_arms(graph: FeedbackGraph) -> list[int]:
    """Return the arms that are weakly observable, ascending."""
    return _sorted_arms(graph).weak


def _sorted_arms(graph: FeedbackGraph) -> _Arms:
    revealers = sizes(graph.in_ranges)
    loopless = ~self_loops(graph.out_ranges)
    # A single arm without self-loop is hidden, although all of its zero other arms reveal it.
    hidden = revealers == 0
    by_all_others = loopless & ~hidden & (revealers == graph.arms - 1)
    weak = loopless & ~hidden & ~by_all_others
    return _Arms(*(np.flatnonzero(kind).tolist() for kind in (hidden, weak, by_all_others)))


def _named(arms: Sequence[int]) -> str:
    """Return "arm 3", "arms 3 and 5" or "arms 3, 5, 6 and 12 more"."""
    if len(arms) == 1:
        return f"arm {arms[0]}"
    rest = len(arms) - _NAMED_ARMS
    shown = [str(arm) for arm in arms[:_NAMED_ARMS]]
    if rest > 0:
        shown.append(f"{rest} more")
    return f"arms {', '.join(shown[:-1])} and {shown[-1]}"


@final
class FeedbackGraph:
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
        masses: npt.NDArray[np.float64] = range_masses(self._in_ranges, mass)
        return masses

    @property
    def arms_without_self_loop(self) -> tuple[int, ...]:
        """The arms that do not reveal themselves, ascending."""
        return tuple(np.flatnonzero(~neighborhoods.self_loops(self._out_ranges)).tolist())

    @property
    def observability(self) -> Observability:
        """Whether every arm can be observed: "strong", "weak" or "none".

        An arm is strongly observable if it has a self-loop or every other arm reveals it, weakly
        observable if only some other arms reveal it, and unobservable if no arm does. The worst arm
        decides for the graph. `observability_reason` names it.
        """
        hidden, weak, _ = _sorted_arms(self)
        if hidden:
            return "none"
        return "weak" if weak else "strong"

    @property
    def observability_reason(self) -> str:
        """The reason for `observability`, with the arms that decide it.

        >>> from crossbandit import FeedbackGraph
        >>> FeedbackGraph([[0, 1, 1], [0, 0, 1], [0, 1, 1]]).observability_reason
        'no arm reveals arm 0'
        """
        hidden, weak, loopless = _sorted_arms(self)
        if hidden:
            return f"no arm reveals {_named(hidden)}"
        if weak:
            verb, them = ("has", "it") if len(weak) == 1 else ("have", "them")
            return f"{_named(weak)} {verb} no self-loop, and not every other arm reveals {them}"
        if not loopless:
            return "every arm has a self-loop"
        verb = "is" if len(loopless) == 1 else "are"
        return (
            f"every arm has a self-loop, except {_named(loopless)}, which {verb} revealed by all "
            "others"
        )

    @property
    def arm_observability(self) -> tuple[Observability, ...]:
        """The observability of each arm.

        >>> from crossbandit import FeedbackGraph
        >>> FeedbackGraph([[1, 1, 1], [0, 0, 0], [0, 0, 0]]).arm_observability
        ('strong', 'weak', 'weak')
        """
        hidden, weak, _ = _sorted_arms(self)
        grades: list[Observability] = ["strong"] * self.arms
        for arm in hidden:
            grades[arm] = "none"
        for arm in weak:
            grades[arm] = "weak"
        return tuple(grades)

    def require_observable(self, owner: str, least: str = "weak") -> None:
        """Raise unless every arm is at least weakly, or strongly, observable.

        Args:
            owner: The class or function that needs it, for the message.
            least: "weak" or "strong".

        Raises:
            InvalidGraphError: An arm is less observable. The message names it.
        """
        choice("require_observable", "least", least, ("weak", "strong"))
        hidden, weak, _ = _sorted_arms(self)
        if not hidden and (least == "weak" or not weak):
            return
        arm = (hidden or weak)[0]
        others = np.delete(np.arange(self.arms), arm)
        missing = np.setdiff1d(others, self.in_neighbors(arm)).tolist()
        lack = f"arm {arm} has no self-loop"
        cure = f"add the self-loop ({arm}, {arm})"
        if missing:
            lack += f" and is not revealed by {_named(missing)}"
            cure += f", or an edge to arm {arm} from {_ENOUGH[least]}"
        got = verbatim(f"a graph in which {lack}; {cure}")
        reject(owner, "graph", _EXPECTED[least], got, error=InvalidGraphError)

    @property
    def independence_number(self) -> int:
        """The largest number of arms none of which reveals another. Self-loops do not matter.

        The number is exact, and computed once. `crossbandit.graphs.independence` lists the sizes
        for which this is possible. For larger graphs an `IndependenceNumberError` is raised; use
        `independence_bounds` for them.
        """
        return len(self.independent_set)

    @property
    def independent_set(self) -> tuple[int, ...]:
        """A largest set of arms none of which reveals another, ascending."""
        from crossbandit.graphs.independence import TIME_LIMIT

        known = self.independence(search=True)
        if not known.exact:
            message = self._not_found(
                "independence number", TIME_LIMIT, known.bounds, "independence_bounds"
            )
            help_ = "" if installed("scipy") else f" SciPy may find it: {pip_line('graphs')}"
            raise IndependenceNumberError(message + help_)
        return known.witness

    @property
    def independence_bounds(self) -> Bounds:
        """A lower and an upper bound on the independence number, computed without a long search.

        Both hold for certain. The lower bound is the size of an independent set. The upper bound is
        the size of a cover by cliques, rounded down if the cover is fractional.

        >>> from crossbandit import FeedbackGraph
        >>> FeedbackGraph([[1, 1, 0], [0, 1, 1], [0, 0, 1]]).independence_bounds
        Bounds(lower=2, upper=2)
        """
        return self.independence(search=False).bounds

    def independence(self, *, search: bool) -> Found:
        """Return an independent set and an upper bound on the size of every one.

        Args:
            search: Whether to search for a larger set and a smaller bound, if they differ.
        """
        from crossbandit.graphs import independence

        return self._found(independence, search=search)

    def _found(self, module: ModuleType, *, search: bool) -> Found:
        """Return what is known of a number; find it if nothing is, or if a search may find more."""
        known: Found | None = self._known.get(module.__name__)
        if known is None or (search and not known.final):
            known = (module.solve if search else module.estimate)(self)
            self._known[module.__name__] = known
        return known

    @property
    def weak_domination_number(self) -> int:
        """The least number of arms that reveal every weakly observable arm; 0 if there are none.

        The number is exact, and computed once. `crossbandit.graphs.domination` lists the sizes for
        which this is possible. For larger graphs a `GraphNumberError` is raised; use
        `weak_domination_bounds` for them.

        Raises:
            GraphNumberError: It was not found in time.
            InvalidGraphError: No arm reveals some arm.

        >>> from crossbandit import graphs
        >>> graphs.revealing_action(5).weak_domination_number
        1
        """
        from crossbandit.graphs.domination import TIME_LIMIT

        known = self._domination(search=True)
        if not known.exact:
            use = "weak_domination_bounds"
            raise GraphNumberError(
                self._not_found("weak domination number", TIME_LIMIT, known.bounds, use)
            )
        return known.bounds.upper

    @property
    def weakly_dominating_set(self) -> tuple[int, ...]:
        """A smallest set of arms that reveal every weakly observable arm, ascending.

        If a smallest one is not found in time, it is the smallest that was found, and
        `weak_domination_number` raises an error.

        Raises:
            InvalidGraphError: No arm reveals some arm.
        """
        return self._domination(search=True).witness

    @property
    def weak_domination_bounds(self) -> Bounds:
        """A lower and an upper bound on the weak domination number, without a long search.

        Raises:
            InvalidGraphError: No arm reveals some arm.
        """
        return self._domination(search=False).bounds

    def _domination(self, *, search: bool) -> Found:
        from crossbandit.graphs import domination

        self.require_observable("FeedbackGraph")
        return self._found(domination, search=search)

    @property
    def fractional_weak_domination_number(self) -> float:
        """The least total weight of arms that reveal every weakly observable arm with weight 1.

        >>> from crossbandit import graphs
        >>> graphs.loopless_ring(5, radius=2).fractional_weak_domination_number
        2.5
        """
        return self.fractional_weak_domination.number

    @property
    def fractional_weak_domination(self) -> FractionalDomination:
        """The fractional weak domination number, and a weight for each arm that attains it.

        Raises:
            InvalidGraphError: No arm reveals some arm.
        """
        from crossbandit.graphs import domination

        self.require_observable("FeedbackGraph")
        if "fractional" not in self._known:
            self._known["fractional"] = domination.fractional(self)
        known: FractionalDomination = self._known["fractional"]
        return known

    @property
    def maximum_acyclic_bounds(self) -> Bounds:
        """Bounds on the largest number of arms whose edges among each other have no cycle.

        Self-loops do not count.

        >>> from crossbandit import graphs
        >>> graphs.threshold(6).maximum_acyclic_bounds
        Bounds(lower=6, upper=6)
        """
        from crossbandit.graphs.independence import acyclic_bounds

        if "acyclic" not in self._known:
            self._known["acyclic"] = acyclic_bounds(self)
        known: Bounds = self._known["acyclic"]
        return known

    def least_regret(self, rounds: int) -> float:
        """Return the order of the least regret that is possible for all losses.

        It is sqrt(alpha T) on a strongly observable graph and delta^(1/3) T^(2/3) on a weakly
        observable one, with alpha the independence number and delta the weak domination number, or
        what is known to be at most these (Alon, Cesa-Bianchi, Dekel and Koren 2015, Theorem 1).
        Constants and logarithms are left out, so a regret is below it where losses are easy.

        Args:
            rounds: The number of rounds, T.

        Raises:
            InvalidGraphError: No arm reveals some arm.

        >>> from crossbandit import graphs
        >>> graphs.singletons(4).least_regret(10_000)
        200.0
        """
        self.require_observable("FeedbackGraph")
        if self.observability == "strong":
            return math.sqrt(self.independence_bounds.lower * rounds)
        delta = max(self.weak_domination_bounds.lower, 1)
        return float((delta * rounds**2) ** (1.0 / 3.0))

    def _not_found(self, name: str, limit: float, bounds: tuple[int, int], use: str) -> str:
        """Return the message for a number that takes too long."""
        lower, upper = bounds
        return (
            f"The {name} of {self!r} was not found within {limit:g} seconds. It is at least "
            f"{lower} and at most {upper}. Use {use} instead."
        )

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
