"""OBPC-Exp3: an Exp3 learner per context, with neither graph nor cross-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.algorithm import Algorithm, register, require_problem
from crossbandit.algorithms.per_context_learner import PerContextLearner
from crossbandit.algorithms.tuning import per_context_rate
from crossbandit.graphs import singletons
from crossbandit.validation import positive

if TYPE_CHECKING:
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class PerContextExp3(Algorithm):
    """A separate Exp3 for each context (OBPC-Exp3).

    In the context c of the round, and in no other,

        lhat_{t,c}(a) = l_{t,c}(a) 1{a played} / p_{t,c}(a).

    It learns the loss of the arm played. As in the paper's evaluation, this also holds for an arm
    without self-loop, so `decision.revealed` is always the arm itself.

    Bound: O(sqrt(K M T log K)) for the M contexts taken separately. Tuning (appendix):
    eta = sqrt(2 log K / (K T / M)).

    Args:
        eta: The learning rate; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(4), contexts=2, horizon=100)
    >>> round(PerContextExp3().learning_rate(problem), 4)
    0.1177
    """

    id: ClassVar[str] = "obpc-exp3"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None

    def __post_init__(self) -> None:
        self.settle(positive, "eta")

    def start(self, problem: Problem, *, seed: Seed) -> PerContextLearner:
        require_problem("PerContextExp3", problem)
        graph = singletons(problem.arms)
        return PerContextLearner(self, problem, graph, self.learning_rate(problem), seed)

    def learning_rate(self, problem: Problem) -> float:
        """Return eta: as it was given, or else as the rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The learning rate.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        if self.eta is not None:
            return self.eta
        return per_context_rate(problem, size=problem.arms)
