"""OBPC-Graph: a graph-aware learner per context, without cross-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.per_context_learner import PerContextAlgorithm
from crossbandit.algorithms.problem_facts import required_alpha
from crossbandit.algorithms.tuning import per_context_rate
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem


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

    def rule_rate(self, problem: Problem) -> float:
        return per_context_rate(problem, size=required_alpha("experiment", problem))
