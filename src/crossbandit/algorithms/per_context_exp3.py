"""OBPC-Exp3: an Exp3 learner per context, with neither graph nor cross-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.per_context_learner import PerContextAlgorithm
from crossbandit.algorithms.tuning import per_context_rate
from crossbandit.graphs import singletons
from crossbandit.learners.algorithm import register
from crossbandit.problem import GRAPH_KINDS

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem


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

    def rule_rate(self, problem: Problem) -> float:
        return per_context_rate(problem, size=problem.arms)
