"""The graph properties that regret depends on: observability, independence, domination, cycles.

The numbers that need a search are computed when they are first used, and kept with the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from crossbandit.errors import GraphNumberError, IndependenceNumberError, InvalidGraphError
from crossbandit.extras import installed, pip_line
from crossbandit.graphs.neighborhoods import self_loops, sizes
from crossbandit.validation import choice, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.graphs.acyclic import Acyclic, AcyclicBounds
    from crossbandit.graphs.domination import Domination, DominationBounds, FractionalDomination
    from crossbandit.graphs.graph import FeedbackGraph
    from crossbandit.graphs.independence import Independence, IndependenceBounds

Observability = Literal["strong", "weak", "none"]

_NAMED_ARMS = 3  # how many arms a message lists
_EXPECTED = {
    "strong": "strongly observable: each arm has a self-loop or is revealed by every other arm",
    "weak": "observable: each arm is revealed by some arm",
}
_ENOUGH = {"strong": "every other arm", "weak": "some arm"}


class GraphProperties:
    """The properties of `FeedbackGraph` on which regret depends."""

    __slots__ = ()

    _known: dict[str, Any]

    @property
    def observability(self) -> Observability:
        """Whether every arm can be observed: "strong", "weak" or "none".

        An arm is strongly observable if it has a self-loop or every other arm reveals it, weakly
        observable if only some other arms reveal it, and unobservable if no arm does. The worst arm
        decides for the graph. `observability_reason` names it.
        """
        hidden, weak, _ = _sorted_arms(self._graph)
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
        hidden, weak, loopless = _sorted_arms(self._graph)
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
        hidden, weak, _ = _sorted_arms(self._graph)
        grades: list[Observability] = ["strong"] * self._graph.arms
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
        graph = self._graph
        choice("require_observable", "least", least, ("weak", "strong"))
        hidden, weak, _ = _sorted_arms(graph)
        if not hidden and (least == "weak" or not weak):
            return
        arm = (hidden or weak)[0]
        others = np.delete(np.arange(graph.arms), arm)
        missing = np.setdiff1d(others, graph.in_neighbors(arm)).tolist()
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


class _Arms(NamedTuple):
    """The arms that are not strongly observable, and those without a self-loop that are."""

    hidden: list[int]
    weak: list[int]
    seen_by_all_others: list[int]


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
