"""What all algorithms share: frozen parameters, a name, a JSON form, `start`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from crossbandit.errors import InvalidParameterError
from crossbandit.problem import Problem
from crossbandit.registry import Registry
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms.learner import Learner
    from crossbandit.streams import Seed


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Parameters and a rule; immutable, comparable, with a JSON form.

    A parameter that is None is set by the algorithm's tuning rule when a learner starts.

    Attributes:
        id: The name by which study files and `from_json` know the algorithm.
        needs_context_distribution: Whether the problem must have a context distribution.
        takes_availability: Whether `act` takes `available`, the arms that may be played.
        needs_memory: Whether a learner must remember a decision until its feedback comes. If not,
            the decision carries all that learning needs, and `Learner.snapshot` can be used. An
            algorithm of one's own needs memory unless it says otherwise.
    """

    id: ClassVar[str]
    needs_context_distribution: ClassVar[bool] = False
    takes_availability: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = True

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

    def require_availability(self) -> None:
        """Check that this algorithm takes the arms that are available.

        Raises:
            InvalidParameterError: It does not.
        """
        if not self.takes_availability:
            raise InvalidParameterError(
                f"{type(self).__name__} cannot be told which arms are available: it computes with "
                "the context distribution, which does not say. Use CrossGraph or "
                "CrossGraphAdaptive."
            )

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the named parameters that are not None.

        Args:
            *names: Names of parameters.

        Returns:
            Their values, by name.
        """
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def settle(self, check: Callable[[str, str, object], Any], *names: str) -> None:
        """Check those of the named parameters that are not None, and store them as plain numbers.

        Call it in `__post_init__`, with a check of `crossbandit.validation` such as `positive`.

        Args:
            check: Takes an owner, a name and a value; returns the value as a plain number.
            *names: Names of parameters.

        Raises:
            InvalidParameterError: A value is not valid.
        """
        for name, value in self.given(*names).items():
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


def require_problem(owner: str, problem: object) -> None:
    """Raise unless `problem` is a Problem."""
    if not isinstance(problem, Problem):
        reject(owner, "problem", "a Problem", problem)


_ALGORITHMS = Registry("algorithm")
registered = _ALGORITHMS.registered
_Registered = TypeVar("_Registered", bound=type[Algorithm])


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
