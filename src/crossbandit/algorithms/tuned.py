"""Algorithms whose parameters are set by a rule unless they are given, and what rules need."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from crossbandit.errors import IndependenceNumberError, InvalidParameterError
from crossbandit.learners.algorithm import Algorithm
from crossbandit.validation import boolean, even, positive, share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crossbandit.problem import Problem

ParametersT = TypeVar("ParametersT")

# A parameter of one of these names has the same meaning, and the same check, in all algorithms.
_CHECKS: dict[str, Callable[[str, str, object], Any]] = {
    "eta": positive,
    "gamma": positive,
    "beta": positive,
    "scale": positive,
    "rho": share,
    "exploration": share,
    "epoch_length": even,
    "cross_learning": boolean,
}


@dataclass(frozen=True, kw_only=True)
class TunedAlgorithm(Algorithm, Generic[ParametersT]):
    """An algorithm whose parameters are set by `tuning_rule` where they are None.

    Attributes:
        parameters_type: A NamedTuple of the parameters, as the kernels take them.
    """

    parameters_type: ClassVar[type[Any]]

    def __post_init__(self) -> None:
        names = {field.name for field in fields(self)}
        for name, check in _CHECKS.items():
            if name in names:
                self.check_parameters(check, name)

    @abstractmethod
    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        """Return what the rule sets for a problem: a value for each parameter that may be None.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The parameters by name.
        """

    def parameters(self, problem: Problem) -> ParametersT:
        """Return the parameters for a problem: those that were given, and the rule's for the rest.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the kernels take them; 0 for those that the algorithm does not have.

        Raises:
            InvalidParameterError: The rule needs a horizon or another fact that the problem does
                not have.
            IndependenceNumberError: The rule needs the independence number of the graph, which
                cannot be computed.
        """
        names = [name for name in self.parameters_type._fields if hasattr(self, name)]
        given = self.given_parameters(*names)
        if len(given) < len(names):
            given = {**self.tuning_rule(problem), **given}
        values = (given[name] if name in names else 0.0 for name in self.parameters_type._fields)
        return cast("ParametersT", self.parameters_type(*values))


def required_alpha(rule: str, problem: Problem) -> int:
    """Return the independence number that `rule` needs, or raise an error with advice."""
    try:
        return problem.graph.independence_number
    except IndependenceNumberError as error:
        raise IndependenceNumberError(
            f"The {rule!r} tuning rule needs the independence number of the graph, which cannot be "
            f"computed here: it lies within {tuple(problem.graph.independence_bounds)}. Give every "
            "parameter of the algorithm by hand."
        ) from error


def required_horizon(rule: str, problem: Problem) -> int:
    """Return the horizon that `rule` needs, or raise an error with advice."""
    if problem.horizon is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs a horizon. Give Problem(..., horizon=T), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.horizon


def required_contexts(rule: str, problem: Problem) -> int:
    """Return the number of contexts that `rule` needs, or raise an error with advice."""
    if problem.contexts is None:
        raise InvalidParameterError(
            f"The {rule!r} tuning rule needs the number of contexts here, and this problem has "
            "continuous contexts. Give it a table, Problem(graph, features=table), or give "
            "every parameter of the algorithm by hand."
        )
    return problem.contexts
