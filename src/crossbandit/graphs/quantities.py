"""The numbers of a graph on which regret depends: independence, weak domination, acyclicity.

Each is computed when it is first used, and kept with the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from crossbandit.errors import GraphNumberError, IndependenceNumberError
from crossbandit.extras import installed, pip_line

if TYPE_CHECKING:
    from crossbandit.graphs.acyclic import Acyclic, AcyclicBounds
    from crossbandit.graphs.domination import Domination, DominationBounds, FractionalDomination
    from crossbandit.graphs.graph import FeedbackGraph
    from crossbandit.graphs.independence import Independence, IndependenceBounds


class GraphNumbers:
    """The properties of `FeedbackGraph` that are computed by a search."""

    __slots__ = ()

    _known: dict[str, Any]

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
    def independence_bounds(self) -> IndependenceBounds:
        """A lower and an upper bound on the independence number, computed without a long search.

        Both hold for certain. The lower bound is the size of an independent set. The upper bound is
        the size of a cover by cliques, rounded down if the cover is fractional.

        >>> from crossbandit import FeedbackGraph
        >>> FeedbackGraph([[1, 1, 0], [0, 1, 1], [0, 0, 1]]).independence_bounds
        IndependenceBounds(lower=2, upper=2)
        """
        return self.independence(search=False).bounds

    def independence(self, *, search: bool) -> Independence:
        """Return an independent set and an upper bound on the size of every one.

        Args:
            search: Whether to search for a larger set and a smaller bound, if they differ.
        """
        from crossbandit.graphs import independence

        known = cast("Independence | None", self._known.get("independence"))
        if known is None or (search and not known.final):
            find = independence.solve if search else independence.estimate
            known = self._known["independence"] = find(self._graph)
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
        if known.bounds.lower < known.bounds.upper:
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
    def weak_domination_bounds(self) -> DominationBounds:
        """A lower and an upper bound on the weak domination number, without a long search.

        Raises:
            InvalidGraphError: No arm reveals some arm.
        """
        return self._domination(search=False).bounds

    def _domination(self, *, search: bool) -> Domination:
        from crossbandit.graphs import domination

        self._graph.require_observable("FeedbackGraph")
        known = cast("Domination | None", self._known.get("domination"))
        if known is None:
            known = domination.estimate(self._graph)
        if search and not known.searched:
            known = domination.solve(self._graph, known)
        self._known["domination"] = known
        return known

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

        self._graph.require_observable("FeedbackGraph")
        known = cast("FractionalDomination | None", self._known.get("fractional"))
        if known is None:
            known = self._known["fractional"] = domination.fractional(self._graph)
            known.weights.flags.writeable = False
        return known

    @property
    def maximum_acyclic_number(self) -> int:
        """The largest number of arms whose edges among each other have no cycle.

        Self-loops do not count. `crossbandit.graphs.acyclic` lists the sizes for which it can be
        computed. For larger graphs a `GraphNumberError` is raised; use `maximum_acyclic_bounds`
        for them.

        >>> from crossbandit import graphs
        >>> graphs.threshold(6).maximum_acyclic_number, graphs.ring(6, 1).maximum_acyclic_number
        (6, 5)
        """
        return len(self.maximum_acyclic_set)

    @property
    def maximum_acyclic_set(self) -> tuple[int, ...]:
        """A largest set of arms whose edges among each other have no cycle, ascending.

        Raises:
            GraphNumberError: It was not found in time.
        """
        from crossbandit.graphs.acyclic import TIME_LIMIT

        known = self._acyclic(search=True)
        if known.bounds.lower < known.bounds.upper:
            name, use = "maximum acyclic subgraph number", "maximum_acyclic_bounds"
            raise GraphNumberError(self._not_found(name, TIME_LIMIT, known.bounds, use))
        return known.witness

    @property
    def maximum_acyclic_bounds(self) -> AcyclicBounds:
        """A lower and an upper bound on the maximum acyclic subgraph number, without a search."""
        return self._acyclic(search=False).bounds

    def _acyclic(self, *, search: bool) -> Acyclic:
        from crossbandit.graphs import acyclic

        known = cast("Acyclic | None", self._known.get("acyclic"))
        if known is None or (search and not known.searched):
            known = self._known["acyclic"] = acyclic.find(self._graph, search=search)
        return known

    def _not_found(self, name: str, limit: float, bounds: tuple[int, int], use: str) -> str:
        """Return the message for a number that takes too long."""
        lower, upper = bounds
        return (
            f"The {name} of {self!r} was not found within {limit:g} seconds. It is at least "
            f"{lower} and at most {upper}. Use {use} instead."
        )

    @property
    def _graph(self) -> FeedbackGraph:
        return cast("FeedbackGraph", self)
