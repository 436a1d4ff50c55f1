"""What all algorithms share: frozen parameters, a name, a JSON form, `start`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from crossbandit.algorithms.learners.problem import GRAPH_KINDS, Problem
from crossbandit.core.registry import Registry
from crossbandit.core.streams import takes_rng
from crossbandit.core.validation import reject
from crossbandit.errors import InvalidGraphError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms.learners.estimator import Estimator
    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.core.streams import Seed
    from crossbandit.graphs import FeedbackGraph


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Parameters and a rule; immutable, comparable, with a JSON form.

    A parameter that is None is set by the algorithm's tuning rule when a learner starts.

    Attributes:
        id: The name by which study files and `from_json` know the algorithm.
        needs_context_distribution: Whether the problem must have a context distribution.
        takes_availability: Whether `act` takes `available`, the arms that may be played.
        needs_observability: The least observability of a graph on which it can play: "strong",
            "weak" or "none". If graphs change, the graph of each round must have it.
        graph_kinds: What it can be told about the graph: some of the kinds of `Problem.graph_kind`.
        stochastic_only: Whether its guarantee is for losses that are drawn independently in each
            round from one distribution. Adaptive environments refuse it.
        needs_own_loss: Whether it ignores the graph and learns the loss of the arm played. On a
            graph without all self-loops, the problem must grant that (`Problem.grants_own_loss`).
        needs_memory: Whether a learner must remember a decision until its feedback arrives. If not,
            the decision carries all that learning needs, and `Learner.snapshot` can be used. A
            new algorithm needs memory unless it sets this to False.
    """

    id: ClassVar[str]
    needs_context_distribution: ClassVar[bool] = False
    takes_availability: ClassVar[bool] = True
    needs_observability: ClassVar[str] = "none"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed",)
    stochastic_only: ClassVar[bool] = False
    needs_own_loss: ClassVar[bool] = False
    needs_memory: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `start` take `rng` for `seed`."""
        super().__init_subclass__(**options)
        if "start" in vars(cls):
            setattr(cls, "start", takes_rng(cls.start))  # noqa: B010 - mypy allows no other way

    @abstractmethod
    def start(self, problem: Problem, *, seed: Seed) -> Learner[Any]:
        """Start a learner at round 0.

        Args:
            problem: What is known before the first round.
            seed: An int, a SeedSequence or a Generator.

        Returns:
            The learner.

        Raises:
            InvalidInputError: The algorithm cannot play on this problem.
        """

    def estimator(self, problem: Problem) -> Estimator | None:
        """Return what one round adds to the loss estimates, in expectation.

        Override it if the algorithm adds weighted losses: exact checks compare what its learner
        adds with this declaration.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The declaration; None if the algorithm makes none.
        """
        del problem
        return None

    def require_availability(self) -> None:
        """Check that this algorithm can be told which arms are available.

        Raises:
            InvalidParameterError: It cannot.
        """
        if not self.takes_availability:
            raise InvalidParameterError(
                f"{type(self).__name__} cannot be told which arms are available. It uses the "
                "context distribution, which does not say in which contexts an arm is available. "
                "Use CrossGraphCertified or CrossGraph."
            )

    def require_playable(self, problem: Problem) -> None:
        """Check that this algorithm can play on a problem. Call it first in `start`.

        Args:
            problem: The problem on which a learner is to be started.

        Raises:
            InvalidParameterError: `problem` is not a Problem, its graph is of another kind, or it
                does not grant the loss of the arm played.
            InvalidGraphError: Its graph is less observable than this algorithm needs.
        """
        owner = type(self).__name__
        if not isinstance(problem, Problem):
            reject(owner, "problem", "a Problem", problem)
        kind = problem.graph_kind
        if kind not in self.graph_kinds:
            own = " or ".join(f"{one} ({GRAPH_KINDS[one]})" for one in self.graph_kinds)
            raise InvalidParameterError(
                f"{owner} plays problems whose graph is {own}. Got a problem whose graph is {kind} "
                f"({GRAPH_KINDS[kind]}). {_others(kind)}"
            )
        if kind == "fixed":
            self.require_graph(problem.graph)
        self.uses_grant(problem)

    def least_observability(self, kind: str) -> str:
        """Return how observable graphs must be: "strong", "weak" or "none".

        Override it if changing graphs must be more observable than `needs_observability`.

        Args:
            kind: The kind of the graphs, as in `Problem.graph_kind`.
        """
        del kind
        return self.needs_observability

    def require_graph(self, graph: FeedbackGraph, kind: str = "fixed") -> None:
        """Check that this algorithm can play on a graph.

        Args:
            graph: The graph of all rounds, or that of one round.
            kind: The kind of the problem's graph.

        Raises:
            InvalidGraphError: It is less observable than this algorithm needs.
        """
        least = self.least_observability(kind)
        if least != "none":
            graph.require_observable(type(self).__name__, least)

    def uses_grant(self, problem: Problem) -> bool:
        """Return whether this algorithm is shown losses that the graph does not reveal.

        Args:
            problem: The problem.

        Returns:
            True if the algorithm learns the loss of the arm that it plays, and some arm has no
            self-loop.

        Raises:
            InvalidGraphError: The algorithm needs these losses, and the problem does not grant
                them.
        """
        missing = problem.graph.arms_without_self_loop
        if not self.needs_own_loss or not missing:
            return False
        if not problem.grants_own_loss:
            raise InvalidGraphError(
                f"{type(self).__name__} learns the loss of the arm that it plays. Arm {missing[0]} "
                "has no self-loop, and the problem does not grant that loss "
                "(grants_own_loss=False). Use an algorithm that learns by the graph, such as "
                "CrossGraph."
            )
        return True

    def require_contexts(self, problem: Problem) -> int:
        """Check that a problem has a list of contexts, for an algorithm that learns in each alone.

        Args:
            problem: The problem.

        Returns:
            How many contexts there are.

        Raises:
            InvalidParameterError: The problem has continuous contexts.
        """
        if problem.contexts is None:
            crosses = hasattr(self, "cross_learning")
            owner = f"{type(self).__name__}{' without cross-learning' if crosses else ''}"
            remedy = "set cross_learning=True" if crosses else "use CrossGraph"
            raise InvalidParameterError(
                f"{owner} learns in each context separately, and this problem has continuous "
                f"contexts. Give it a table, Problem(graph, features=table), or {remedy}, which "
                "needs no list of contexts."
            )
        return problem.contexts

    def given_parameters(self, *names: str) -> dict[str, Any]:
        """Return the named parameters that are not None.

        Args:
            *names: Names of parameters.

        Returns:
            The values by name.
        """
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def check_parameters(self, check: Callable[[str, str, object], Any], *names: str) -> None:
        """Check the named parameters that are not None, and store them as plain numbers.

        Call it in `__post_init__`, with a check of `crossbandit.core.validation` such as
        `positive`.

        Args:
            check: Takes an owner, a name and a value; returns the value as a plain number.
            *names: Names of parameters.

        Raises:
            InvalidParameterError: A value is not valid.
        """
        for name, value in self.given_parameters(*names).items():
            object.__setattr__(self, name, check(type(self).__name__, name, value))

    def to_json(self) -> dict[str, Any]:
        """Return the id and the parameters, in a form that `json` can write.

        Returns:
            A dict of plain numbers and strings.

        >>> from crossbandit import CrossGraph
        >>> CrossGraph(eta=0.01).to_json()["id"]
        'cross-graph'
        """
        return {"id": self.id, **asdict(self)}


# An id is the name of its class in small letters. These were others before version 0.3.
FORMER_IDS = {
    "linucb": "lin-ucb",
    "obpc-exp3": "per-context-exp3",
    "obpc-graph": "per-context-graph",
    "sz-context": "schneider-zimmert",
}
_ALGORITHMS = Registry("algorithm", "crossbandit.algorithms", FORMER_IDS)
registered = _ALGORITHMS.registered
_Registered = TypeVar("_Registered", bound=type[Algorithm])


def _others(kind: str) -> str:
    """Return advice: the registered algorithms that play problems of this kind."""
    names = [
        one.__name__ for one in registered().values() if kind in getattr(one, "graph_kinds", ())
    ]
    return f"These play it: {', '.join(names)}." if names else "No registered algorithm plays it."


def register(algorithm: _Registered) -> _Registered:
    """Register an algorithm by its `id`; a class decorator.

    Args:
        algorithm: A class that derives from `Algorithm`.

    Returns:
        The class.

    Raises:
        InvalidParameterError: Another class has this id.
    """
    return _ALGORITHMS.register(algorithm.id)(algorithm)


def as_algorithm(owner: str, given: object, expected: str) -> Algorithm:
    """Return an algorithm that was given itself, or by its id: `CrossGraph()` or "cross-graph"."""
    if isinstance(given, str):
        given = _ALGORITHMS.build(given)
    if not isinstance(given, Algorithm):
        reject(owner, "algorithm", expected, given)
    return given


def from_json(data: dict[str, Any]) -> Algorithm:
    """Return the algorithm that `Algorithm.to_json` wrote.

    Args:
        data: The id and the parameters.

    Returns:
        The algorithm.

    Raises:
        InvalidParameterError: No algorithm has this id, or it has no such parameter.

    >>> from crossbandit import CrossGraph
    >>> from_json(CrossGraph(eta=0.01).to_json()) == CrossGraph(eta=0.01)
    True
    """
    parameters = dict(data)
    algorithm = _ALGORITHMS.builder(parameters.pop("id", None))
    names = [field.name for field in fields(cast("type[Algorithm]", algorithm))]
    for name in parameters:
        if name not in names:
            raise InvalidParameterError(
                f"{algorithm.__name__} has no parameter {name!r}. It has: {', '.join(names)}."
            )
    made: Algorithm = algorithm(**parameters)
    return made
