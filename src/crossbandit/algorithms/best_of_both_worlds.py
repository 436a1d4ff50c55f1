"""Exponential weights for adversarial and stochastic losses; the rates adapt to the entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms.exp3_g import covering
from crossbandit.algorithms.exponential import ExponentialAlgorithm, ExponentialLearner
from crossbandit.algorithms.tuned import required_alpha
from crossbandit.kernels.exponential import ExponentialParameters
from crossbandit.learners.algorithm import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class BestOfBothWorlds(ExponentialAlgorithm):
    """FTRL with an adaptive rate, after Ito, Tsuchiya and Honda (2022).

        q = (1 - rho) p + rho u,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)),

    where p are exponential weights with the rate eta = 1 / B. Let S be the sum of the entropies of
    all p so far, and t their number. B grows more slowly while p is uncertain:

        B <- B + scale (1 + S / log K)^(-k).

    - Strongly observable, without cross-learning: k = 1/2, u is uniform and rho = 2 / B.
    - Otherwise: k = 1/3, u reveals every arm with a probability of at least 1 / delta (as Exp3G
      with cross-learning), and rho = sqrt(delta s / B) + delta / B, where
      s = (1 + S / log K) / (t + 1).

    rho is at most 1/2, and B begins at max(4, scale), or max(4 delta, scale). No horizon is needed.
    The paper shows O~(sqrt(alpha n)) and O(alpha log(n)^3 / D) on strongly observable graphs, and
    O~(delta^(1/3) n^(2/3)) and a power of log(n) on weakly observable ones. What follows is our own
    argument, not the paper's. B grows with the entropy as in the paper, but rho, the rule for
    weakly observable graphs and all constants are ours. So we do not claim the paper's theorems
    with their constants. We argue for the orders below, and give no constants for them.

    The scale is sqrt((alpha + 2) / (2 log K)), or (2 delta / (3 log(K)^2))^(1/3): these minimise
    the sum below for the largest entropies, with z = alpha, or z = delta / rho.

    Bounds for each context with n = T / M rounds. Let A be the arms without self-loop if u is
    uniform, and all arms otherwise: those whose lhat is at most B. The second-order inequality of
    Alon et al. (2015, Lemma 4) gives a regret of at most

        sum rho + sum z / B + sum (growth of B) * (entropy of the next p),

    where z is the mean of sum_b p(b) (1 - p(b)) lhat(b)^2 over the arms of A, plus that of
    sum_b p(b) lhat(b)^2 over the others. z is at most O(alpha log(K n)) if u is uniform and the
    graph strongly observable, and at most delta / rho times the entropy of p where every arm is
    explored. With the growth above, the sums are, up to logarithms of n and K, of the order

        sqrt(alpha S),    and    delta^(1/3) S^(2/3).

    S is at most n log K, so the regret is O~(sqrt(alpha n)), and O~(delta^(1/3) n^(2/3)), for all
    losses. If losses are stochastic with a single best arm and a smallest gap D, S is at most
    O(log(K n)) times the mean number of plays of other arms, which is at most the regret / D.
    Solving for the regret gives O~(alpha / D) and O~(delta / D^2), with powers of log(n).

    With cross-learning all contexts share B and S, which counts the entropy in the context of each
    round. The same sums then bound the regret averaged over any number of contexts. We
    argue this for the mean of S over contexts drawn independently; the step from the mean to S
    itself is not written out. With cross-learning, strongly observable graphs get no better rate
    than weakly observable ones.

    Args:
        scale: How fast the rate falls; set by the rule if None.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import graphs, simulate
    >>> from crossbandit.environments import stochastic
    >>> environment = stochastic(graphs.complete(4), 5_000, contexts=1, gap=0.4)
    >>> run = simulate(BestOfBothWorlds(cross_learning=False), environment, seed=1)
    >>> bool(run.pseudo_regret[-1] < 100)
    True
    """

    id: ClassVar[str] = "best-of-both-worlds"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False

    scale: float | None = None
    cross_learning: bool = True

    def start(self, problem: Problem, *, seed: Seed) -> BestOfBothWorldsLearner:
        self.require_playable(problem)
        return BestOfBothWorldsLearner(self, problem, seed)

    def explored_arms(self, problem: Problem) -> Floats:
        if self._uniform(problem):
            return super().explored_arms(problem)
        return covering(problem.graph).distribution

    def adaptation(self, problem: Problem) -> dict[str, float]:
        if self._uniform(problem):
            return {"exponent": 1.0 / 2.0, "spread": 0.0, "floor": 2.0}
        delta = covering(problem.graph).number
        return {"exponent": 1.0 / 3.0, "spread": delta, "floor": delta}

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        bits = math.log(problem.arms)
        if self._uniform(problem):
            alpha = required_alpha(self.id, problem)
            return {"scale": math.sqrt((alpha + 2.0) / (2.0 * bits))}
        delta = covering(problem.graph).number
        return {"scale": (2.0 * delta / (3.0 * bits**2)) ** (1.0 / 3.0)}

    def parameters(self, problem: Problem) -> ExponentialParameters:
        """Return the scale, and eta and rho of the first round.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            All parameters, as the kernels take them.
        """
        scale = self.tuning_rule(problem)["scale"] if self.scale is None else self.scale
        _, spread, floor = self.adaptation(problem).values()
        eta = 1.0 / max(4.0 if self._uniform(problem) else 4.0 * floor, scale)
        rho = min(math.sqrt(spread * eta) + floor * eta, 0.5)
        return ExponentialParameters(eta, rho, 0.0, 0.0, scale)

    def _uniform(self, problem: Problem) -> bool:
        return not self.cross_learning and problem.graph.observability == "strong"


class BestOfBothWorldsLearner(ExponentialLearner):
    """A running learner whose rates adapt."""

    additive_state: ClassVar[tuple[str, ...]] = ()  # rates are not sums
