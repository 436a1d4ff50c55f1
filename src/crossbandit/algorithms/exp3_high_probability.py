"""Exp3 with high-probability bounds on all strongly observable graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crossbandit.algorithms.exponential import ExponentialAlgorithm, rounds_to_learn_from
from crossbandit.algorithms.tuned import required_alpha
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.kernels.exponential import ExponentialParameters
    from crossbandit.problem import Problem
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class Exp3HighProbability(ExponentialAlgorithm):
    """Implicit exploration with a correction for arms without self-loop (Luo et al. 2023).

    In the context of the round, and in no other, q = (1 - rho) p + rho / K is played, and

        lhat(b) = l(b) 1{b revealed} / (q(N_in(b)) + gamma 1{b has a self-loop}).

    Implicit exploration is for arms with a self-loop only. Among the others the one played most,
    j in argmax q (ties to the smallest arm), is rarely observed, and its estimate has a large
    variance. In every round it is given the pessimistic correction beta / q(N_in(j)).

    Bound (Luo, Tong, Zhang and Zhang 2023, Theorem 1): O~(sqrt(alpha n)), up to terms that do not
    grow with n, with high probability, for each context with n = T / M rounds, on every strongly
    observable graph. Rates: eta = gamma = beta = 1 / sqrt(alpha n) and rho = min(eta, 1/2), the
    order that the theorem asks for; the constants are ours.

    The correction of CrossGraph comes from this one. For cross-learning use CrossGraph.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of uniform exploration; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.
        beta: The pessimistic correction; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.loopless_clique(3), contexts=4, horizon=400)
    >>> Exp3HighProbability().parameters(problem).eta
    0.1
    """

    id: ClassVar[str] = "exp3-high-probability"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    gamma: float | None = None
    beta: float | None = None

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        size = required_alpha(self.id, problem) * rounds_to_learn_from(self, problem)
        rate = 1.0 / math.sqrt(size)
        return {"eta": rate, "rho": min(rate, 0.5), "gamma": rate, "beta": rate}

    def implicit(self, problem: Problem, parameters: ExponentialParameters) -> Floats:
        added = np.full(problem.arms, parameters.gamma)
        added[list(problem.graph.arms_without_self_loop)] = 0.0
        return added
