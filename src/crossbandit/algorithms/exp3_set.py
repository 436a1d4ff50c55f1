"""Exp3-SET: exponential weights with graph feedback, without any exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.exponential import ExponentialAlgorithm, rounds_to_learn_from
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem


@register
@dataclass(frozen=True, kw_only=True)
class Exp3Set(ExponentialAlgorithm):
    """Exp3-SET (Alon, Cesa-Bianchi, Gentile and Mansour 2013, Figure 1).

    Exponential weights p are played as they are, and

        lhat(b) = l(b) 1{b revealed} / p(N_in(b)).

    Bound without cross-learning: log(K) / eta + eta / 2 sum_t Q_t for each context with n = T / M
    rounds, where Q_t = sum_b p_t(b) / p_t(N_in(b)). If every arm has a self-loop, Q_t is at most
    the maximum acyclic subgraph number m, which is alpha if all edges go both ways. Rate:
    eta = sqrt(2 log(K) / (m n)), with an upper bound for m if it is not known; then the regret is
    at most sqrt(2 m n log K). For arms without self-loop nothing is proved.

    Graphs may change, and be revealed before or after the round: p does not depend on them. m is
    that of the edges which every round has.

    With cross-learning (ours), lhat is added in every context. It is unbiased, but nothing
    bounds its variance, because nothing is explored: an arm that matters in one context may have
    almost no probability in the others. There is no bound. Use Exp3G, or CrossGraph.

    Args:
        eta: The learning rate; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(2), contexts=1, horizon=100)
    >>> learner = Exp3Set(eta=1.0).start(problem, seed=1)
    >>> learner.learn(learner.act(0), [[1.0], [0.0]])
    >>> learner.policy(0).round(4)  # 1 / (1 + e), e / (1 + e)
    array([0.2689, 0.7311])
    """

    id: ClassVar[str] = "exp3-set"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed", "uninformed")

    eta: float | None = None
    cross_learning: bool = False

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        acyclic = problem.graph.maximum_acyclic_bounds.upper
        size = acyclic * rounds_to_learn_from(self, problem)
        return {"eta": math.sqrt(2.0 * math.log(problem.arms) / size)}
