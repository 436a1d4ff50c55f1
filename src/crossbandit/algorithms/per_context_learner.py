"""What the two baselines without cross-learning share: they learn in each context separately."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.kernels import exponential
from crossbandit.kernels.exponential import PerContextState
from crossbandit.kernels.loops import Steps
from crossbandit.learners.algorithm import Algorithm
from crossbandit.learners.compiled_learner import CompiledLearner, scratch
from crossbandit.learners.estimator import Estimator
from crossbandit.learners.estimator_parts import acyclic_bound, observed_share
from crossbandit.learners.learner_base import AlgorithmT
from crossbandit.losses.forms import zeros
from crossbandit.validation import positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@dataclass(frozen=True, kw_only=True)
class PerContextAlgorithm(Algorithm):
    """Exponential weights in each context, with plain observation probabilities."""

    needs_memory: ClassVar[bool] = False

    eta: float | None = None

    def __post_init__(self) -> None:
        self.check_parameters(positive, "eta")

    @abstractmethod
    def seen_graph(self, problem: Problem) -> FeedbackGraph:
        """Return the graph by which it learns.

        Args:
            problem: The problem.
        """

    @abstractmethod
    def rule_rate(self, problem: Problem) -> float:
        """Return the learning rate that the rule sets.

        Args:
            problem: The problem.
        """

    def start(self, problem: Problem, *, seed: Seed) -> PerContextLearner:
        self.require_playable(problem)
        graph, eta = self.seen_graph(problem), self.learning_rate(problem)
        return PerContextLearner(self, problem, graph, eta, seed)

    def estimator(self, problem: Problem) -> Estimator:
        graph = self.seen_graph(problem)
        return Estimator(
            graph,
            lambda policies, context: observed_share(graph, policies[context], 0.0),
            cross_learning=False,
            policy=lambda _, p: p,
            second_moment=acyclic_bound(graph),
        )

    def learning_rate(self, problem: Problem) -> float:
        """Return eta: as it was given, or as the rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The learning rate.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        return self.rule_rate(problem) if self.eta is None else self.eta


class PerContextLearner(CompiledLearner[AlgorithmT]):
    """Exponential weights in each context, learned from that context's own rounds alone."""

    steps = Steps(
        exponential.policy_per_context, exponential.play_per_context, exponential.learn_per_context
    )
    additive_state = ("estimates",)

    def __init__(
        self, algorithm: AlgorithmT, problem: Problem, graph: FeedbackGraph, eta: float, seed: Seed
    ) -> None:
        shape = (algorithm.require_contexts(problem), problem.arms)
        state = PerContextState(
            estimates=zeros(type(algorithm).__name__, shape, problem.form.dtype),
            **scratch(problem.arms),
        )
        super().__init__(algorithm, problem, state, eta, seed=seed, graph=graph)

    def tuned(self) -> Mapping[str, Any]:
        return {"eta": self.setting}
