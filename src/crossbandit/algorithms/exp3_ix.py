"""Exp3-IX: exponential weights with implicit exploration, for each context separately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.exponential import ExponentialAlgorithm, rounds_to_learn_from
from crossbandit.algorithms.tuned import required_alpha
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem


@register
@dataclass(frozen=True, kw_only=True)
class Exp3IX(ExponentialAlgorithm):
    """Exp3-IX (Neu 2015; with graph feedback Kocak, Neu, Valko and Munos 2014, Algorithm 1).

    In the context of the round, and in no other, exponential weights p are played as they are, and

        lhat(b) = l(b) 1{b revealed} / (p(N_in(b)) + gamma).

    Nothing is explored on purpose: gamma makes the estimates too small for arms that are rarely
    observed, so that they are tried. Losses of other contexts are ignored: an estimate that is too
    small by a factor that depends on the context of the round would mislead all other contexts.
    CrossGraphKnown averages the observation probability over contexts instead.

    Bound: O~(sqrt(alpha n)) for each context with n = T / M rounds, in expectation and with high
    probability, if every arm has a self-loop. For other strongly observable graphs no bound is
    known; Exp3HighProbability has one. Rates: eta = sqrt(2 log(K) / (alpha n)), gamma = eta / 2,
    which is Neu's rule with alpha for K and without the logarithm that his bound has inside the
    root (ours).

    Graphs may change, and be revealed before or after the round: p does not depend on them. alpha
    is then that of the edges which every round has.

    Args:
        eta: The learning rate; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(2), contexts=1, horizon=100)
    >>> learner = Exp3IX(eta=1.0, gamma=0.5).start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, [[1.0]])  # its estimate is 1 / (1/2 + 1/2) = 1
    >>> round(float(learner.policy(0)[decision.arm]), 4)  # 1 / (1 + e)
    0.2689
    """

    id: ClassVar[str] = "exp3-ix"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed", "uninformed")

    eta: float | None = None
    gamma: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        size = required_alpha(self.id, problem) * rounds_to_learn_from(self, problem)
        eta = math.sqrt(2.0 * math.log(problem.arms) / size) if self.eta is None else self.eta
        return {"eta": eta, "gamma": eta / 2.0}
