"""What all algorithms share: frozen parameters, a name, a JSON form, `start`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from crossbandit.errors import InvalidParameterError
from crossbandit.problem import Problem
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms.learner import Learner
    from crossbandit.streams import Seed


@dataclass(frozen=True, kw_only=True)
class Algorithm(ABC):
    """Parameters and a rule; immutable, comparable, with a JSON form.

    A parameter that is None is set by the algorithm's tuning rule when a learner starts; one that
    is given wins over the rule.
    """

    id: ClassVar[str]
    needs_context_distribution: ClassVar[bool] = False
    takes_availability: ClassVar[bool] = True

    @abstractmethod
    def start(self, problem: Problem, *, seed: Seed) -> Learner:
        """Return a learner at round 0 of `problem`."""

    def require_availability(self) -> None:
        """Raise unless this algorithm can be told which arms are available."""
        if not self.takes_availability:
            raise InvalidParameterError(
                f"{type(self).__name__} cannot be told which arms are available: it computes with "
                "the law of the contexts, which does not say. Use CrossGraph or CrossGraphAdaptive."
            )

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the named parameters that were given by hand."""
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def settle(self, check: Callable[[str, str, object], Any], *names: str) -> None:
        """Check those of the named parameters that were given, and keep them as plain numbers."""
        for name, value in self.given(*names).items():
            object.__setattr__(self, name, check(type(self).__name__, name, value))

    def to_json(self) -> dict[str, Any]:
        """Return the id and the parameters, in a form that `json` can write.

        >>> from crossbandit import CrossGraph
        >>> CrossGraph(eta=0.01).to_json()["id"]
        'cross-graph'
        """
        return {"id": self.id, **asdict(self)}


def require_problem(owner: str, problem: object) -> None:
    """Raise unless `problem` is a Problem."""
    if not isinstance(problem, Problem):
        reject(owner, "problem", "a Problem", problem)


_REGISTRY: dict[str, type[Algorithm]] = {}
_Registered = TypeVar("_Registered", bound=type[Algorithm])


def register(algorithm: _Registered) -> _Registered:
    """Make an algorithm known by its id; a class decorator."""
    known = _REGISTRY.setdefault(algorithm.id, algorithm)
    if known.__qualname__ != algorithm.__qualname__ or known.__module__ != algorithm.__module__:
        raise InvalidParameterError(
            f"The id {algorithm.id!r} belongs to {known.__qualname__}. "
            f"Give {algorithm.__qualname__} an id of its own."
        )
    _REGISTRY[algorithm.id] = algorithm
    return algorithm


def registered() -> dict[str, type[Algorithm]]:
    """Return every registered algorithm by its id."""
    return dict(_REGISTRY)


def from_json(data: dict[str, Any]) -> Algorithm:
    """Return the algorithm that `Algorithm.to_json` wrote.

    >>> from crossbandit import CrossGraph
    >>> from_json(CrossGraph(eta=0.01).to_json()) == CrossGraph(eta=0.01)
    True
    """
    parameters = dict(data)
    id_ = parameters.pop("id", None)
    if not isinstance(id_, str) or id_ not in _REGISTRY:
        hint = get_close_matches(str(id_), _REGISTRY, n=1)
        raise InvalidParameterError(
            f"There is no algorithm {id_!r}. Registered are: {', '.join(sorted(_REGISTRY))}."
            + (f" Did you mean {hint[0]!r}?" if hint else "")
        )
    algorithm = _REGISTRY[id_]
    names = [field.name for field in fields(algorithm)]
    for name in parameters:
        if name not in names:
            raise InvalidParameterError(
                f"{algorithm.__name__} has no parameter {name!r}. It has: {', '.join(names)}."
            )
    return algorithm(**parameters)
