"""OBPC-Exp3 and OBPC-Graph, the paper's baselines: a learner per context, no cross-learning."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.exponential_core import (
    Adaptation,
    ExponentialCore,
    ExponentialParameters,
)
from crossbandit.algorithms.tuning import required_alpha, required_contexts, required_horizon
from crossbandit.core.rounds import CoreProblem
from crossbandit.graphs import singletons
from crossbandit.learners.algorithm import Algorithm, register
from crossbandit.learners.core_learner import CoreLearner
from crossbandit.learners.estimator import Estimator, acyclic_bound, observed_share
from crossbandit.learners.learner import AlgorithmT
from crossbandit.losses.forms import zeros
from crossbandit.problem import GRAPH_KINDS
from crossbandit.validation import positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

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
        """Return the graph that the algorithm learns with: the problem's, or the singleton graph.

        Args:
            problem: The problem.
        """

    @abstractmethod
    def rule_size(self, problem: Problem) -> int:
        """Return the size in the tuning rule: K, or alpha if the algorithm uses the graph.

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
        """Return eta: as it was given, or sqrt(2 log K / (size T / M)), the rule of the appendix.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The learning rate.

        Raises:
            InvalidParameterError: The rule needs a fact that the problem does not have.
        """
        if self.eta is not None:
            return self.eta
        size = self.rule_size(problem)
        rounds = required_horizon("experiment", problem) / required_contexts("experiment", problem)
        return math.sqrt(2.0 * math.log(problem.arms) / (size * rounds))


@register
@dataclass(frozen=True, kw_only=True)
class PerContextExp3(PerContextAlgorithm):
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
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph

    def seen_graph(self, problem: Problem) -> FeedbackGraph:
        return singletons(problem.arms)

    def rule_size(self, problem: Problem) -> int:
        return problem.arms


@register
@dataclass(frozen=True, kw_only=True)
class PerContextGraph(PerContextAlgorithm):
    """Separate exponential weights with graph feedback for each context (OBPC-Graph).

    In the context c of the round, and in no other,

        lhat_{t,c}(a) = l_{t,c}(a) 1{a revealed} / p_{t,c}(N_in(a)),

    the plain observation probability: no implicit exploration, no mixing. The losses of other
    contexts are ignored.

    Bound: O~(sqrt(alpha M T)) for the M contexts taken separately (stated for such learners in
    the paper's introduction). Tuning (appendix): eta = sqrt(2 log K / (alpha T / M)).

    Args:
        eta: The learning rate; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(3), contexts=2, horizon=100)
    >>> learner = PerContextGraph().start(problem, seed=1)
    >>> decision = learner.act(1)
    >>> learner.learn(decision, [[0.5, 0.5] for _ in decision.revealed])
    >>> learner.policy(0)
    array([0.33333333, 0.33333333, 0.33333333])
    """

    id: ClassVar[str] = "obpc-graph"
    needs_observability: ClassVar[str] = "strong"

    def seen_graph(self, problem: Problem) -> FeedbackGraph:
        return problem.graph

    def rule_size(self, problem: Problem) -> int:
        return required_alpha("experiment", problem)


class PerContextLearner(CoreLearner[AlgorithmT]):
    """Exponential weights in each context, learned from that context's own rounds alone."""

    stored = ("estimates", "weights", "chosen", "sums", "revealed")
    additive_state = ("estimates",)

    def __init__(
        self, algorithm: AlgorithmT, problem: Problem, graph: FeedbackGraph, eta: float, seed: Seed
    ) -> None:
        arms, none = problem.arms, np.zeros(problem.arms)
        shape = (algorithm.require_contexts(problem), arms, 1)
        estimates = zeros(type(algorithm).__name__, shape, problem.form.dtype)
        rates = ExponentialParameters(eta, 0.0, 0.0, 0.0, 0.0)
        ranges = (graph.in_ranges, graph.out_ranges)
        known = CoreProblem(problem.form.shape, ranges, (), apart=True)
        core = ExponentialCore(estimates, known, rates, none, none, Adaptation())
        super().__init__(algorithm, problem, core, seed=seed, graph=graph)
        self.eta = eta

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return {**super().state(), "estimates": self.core.state()["estimates"][:, :, 0]}

    def tuned(self) -> Mapping[str, Any]:
        return {"eta": self.eta}
