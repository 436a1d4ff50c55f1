"""Algorithms whose parameters are set by a rule unless they are given."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from crossbandit.learners.algorithm import Algorithm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem

ParametersT = TypeVar("ParametersT")


@dataclass(frozen=True, kw_only=True)
class TunedAlgorithm(Algorithm, Generic[ParametersT]):
    """An algorithm whose parameters are set by `tuning_rule` where they are None.

    Attributes:
        parameters_type: A NamedTuple of the parameters, as the kernels take them.
    """

    parameters_type: ClassVar[type[Any]]

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
