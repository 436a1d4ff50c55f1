"""ELP: exponential weights, with the exploration that a linear program finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.exp3_g import covering, covering_rule
from crossbandit.algorithms.exponential import ExponentialAlgorithm, rounds_to_learn_from
from crossbandit.algorithms.tuned import required_alpha
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class Elp(ExponentialAlgorithm):
    """ELP (Mannor and Shamir 2011; Alon et al. 2017), with losses instead of rewards.

        q = (1 - rho) p + rho s,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)),

    where s maximises the least probability s(N_in(b)) with which exploration reveals an arm: one
    linear program, solved at the start. Its value is 1 / delta, and delta is the fractional
    domination number of the graph.

    Without cross-learning, rho = min(eta delta, 1/2), as in the paper: then eta lhat is at most 1.
    Bound for each context with n = T / M rounds, if every arm has a self-loop and all edges go
    both ways: Q = sum_b p(b) / q(N_in(b)) is at most 2 alpha, and delta is at most alpha, so the
    regret is at most

        eta delta n + log(K) / eta + eta alpha n  <=  2 sqrt(2 alpha n log K)

    for eta = sqrt(log(K) / (2 alpha n)), where rho is at most 1/2. (This form for losses and its
    constant are ours.) On directed graphs, the maximum acyclic subgraph number takes the place of
    alpha, as for Exp3Set.

    With cross-learning it is the same as Exp3G, with the same bound, on strongly observable graphs:
    3 (delta log(K) / 2)^(1/3) T^(2/3), for any number of contexts.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of exploration; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.ring(5, radius=1), contexts=2, horizon=1000)
    >>> Elp().start(problem, seed=1).policy(0).round(6)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """

    id: ClassVar[str] = "elp"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    cross_learning: bool = True

    def explored_arms(self, problem: Problem) -> Floats:
        return covering(problem.graph).distribution

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds = rounds_to_learn_from(self, problem)
        delta = covering(problem.graph).number
        if self.cross_learning:
            return covering_rule(delta, problem.arms, rounds, self.rho)
        size = 2.0 * required_alpha(self.id, problem) * rounds
        eta = math.sqrt(math.log(problem.arms) / size) if self.eta is None else self.eta
        return {"eta": eta, "rho": min(eta * delta, 0.5)}
