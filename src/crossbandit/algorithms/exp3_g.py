"""Exp3.G: exponential weights on any observable graph, with exploration on a dominating set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from crossbandit.algorithms.exponential import ExponentialAlgorithm, rounds_to_learn_from
from crossbandit.algorithms.tuned import required_alpha
from crossbandit.graphs.set_covers import fractional_cover
from crossbandit.learners.algorithm import register
from crossbandit.validation import boolean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.types import Floats

_PROGRAM_EDGES = 1_000_000  # with more edges, the linear program takes minutes


class Covering(NamedTuple):
    """A distribution that reveals each of some arms with a probability of at least 1 / number.

    Attributes:
        number: At least 1.
        distribution: A probability for each arm (K,).
    """

    number: float
    distribution: Floats


@register
@dataclass(frozen=True, kw_only=True)
class Exp3G(ExponentialAlgorithm):
    """Exp3.G (Alon, Cesa-Bianchi, Dekel and Koren 2015, Algorithm 1), for any observable graph.

        q = (1 - rho) p + rho u,    lhat(b) = l(b) 1{b revealed} / q(N_in(b)).

    Without cross-learning there is a learner for each context, with n = T / M rounds, and its
    tuning is that of the paper (Theorem 2):

    - strongly observable: u is uniform over all arms, rho = min(1 / sqrt(alpha n), 1/2) and
      eta = 2 rho. Bound: O(sqrt(alpha n) log(K n)) for each context.
    - weakly observable: u is uniform over a smallest set of delta arms that reveals all weakly
      observable arms, rho = min((delta log(K) / n)^(1/3), 1/2) and eta = rho^2 / delta. Bound:
      O((delta log K)^(1/3) n^(2/3)) for each context, if n is at least K^3 log(K) / delta^2.

    With `fractional`, u is the fractional dominating set instead, and delta its sum, which is never
    larger (Chen, Huang, Li and Zhang 2021; the constants of the rates are those above).

    With cross-learning (ours), lhat is added in every context, and u maximises the least
    probability 1 / delta with which exploration reveals an arm: a linear program. As q belongs to
    the context of the round, lhat is unbiased in every context, and its second moment is at most
    delta / rho, because q(N_in(b)) is at least rho / delta. So the regret is at most

        rho T + log(K) / eta + eta T delta / (2 rho)  <=  3 (delta log(K) / 2)^(1/3) T^(2/3)

    for rho = (delta log(K) / (2 T))^(1/3) and eta = sqrt(2 rho log(K) / (delta T)), for contexts
    drawn independently and oblivious losses, strongly or weakly observable, for any number of
    contexts. (The right side holds where rho is at most 1/2, its largest value.) On weakly
    observable graphs, T^(2/3) is the best possible. On strongly observable graphs CrossGraph is
    better.

    Args:
        eta: The learning rate; set by the rule if None.
        rho: The probability of exploration; set by the rule if None.
        fractional: Whether a fractional dominating set is explored. With cross-learning, it always
            is.
        cross_learning: Whether a round is learned from in every context.

    >>> from crossbandit import FeedbackGraph, Problem
    >>> revealing = FeedbackGraph([[1, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> problem = Problem(revealing, contexts=2, horizon=1000)
    >>> learner = Exp3G().start(problem, seed=1)
    >>> learner.policy(0).round(3)
    array([0.388, 0.306, 0.306])
    """

    id: ClassVar[str] = "exp3-g"
    needs_observability: ClassVar[str] = "weak"
    needs_memory: ClassVar[bool] = False

    eta: float | None = None
    rho: float | None = None
    fractional: bool = False
    cross_learning: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_parameters(boolean, "fractional")

    def explored_arms(self, problem: Problem) -> Floats:
        dominating = self.dominating(problem.graph)
        if dominating is None:
            return np.full(problem.arms, 1.0 / problem.arms)
        return dominating.distribution

    def dominating(self, graph: FeedbackGraph) -> Covering | None:
        """Return what is explored on a graph; None for all arms equally.

        Args:
            graph: An observable graph.

        Returns:
            The distribution of exploration, and delta.
        """
        if self.cross_learning:
            return covering(graph)
        if graph.observability == "strong":
            return None
        if self.fractional:
            number, weights = graph.fractional_weak_domination
            return Covering(number, weights / number)
        dominating = list(graph.weakly_dominating_set)
        explored = np.zeros(graph.arms)
        explored[dominating] = 1.0 / len(dominating)
        return Covering(len(dominating), explored)

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        rounds = rounds_to_learn_from(self, problem)
        dominating = self.dominating(problem.graph)
        if dominating is None:
            alpha = required_alpha(self.id, problem)
            rho = min(1.0 / math.sqrt(alpha * rounds), 0.5)
            return {"eta": 2.0 * rho, "rho": rho}
        delta, bits = dominating.number, math.log(problem.arms)
        if self.cross_learning:
            return covering_rule(delta, problem.arms, rounds, self.rho)
        rho = min((delta * bits / rounds) ** (1.0 / 3.0), 0.5) if self.rho is None else self.rho
        return {"eta": rho**2 / delta, "rho": rho}


@lru_cache(maxsize=16)  # a learner asks several times when it starts
def covering(graph: FeedbackGraph) -> Covering:
    """Return the distribution u for which the least u(N_in(b)) over all arms b is largest.

    With x = number * u it is a linear program: minimise the sum of x so that x(N_in(b)) is at least
    1 for each arm b. The number is the fractional total domination number of the graph.

    Args:
        graph: A graph in which every arm is revealed by some arm.

    Returns:
        The number and the distribution. For graphs of more than a million edges the distribution is
        uniform, which need not be the best.

    >>> from crossbandit import graphs
    >>> covering(graphs.ring(5, radius=1)).number, covering(graphs.complete(5)).number
    (2.5, 1.0)
    """
    arms = graph.arms
    uniform = np.full(arms, 1.0 / arms)
    candidates = [uniform]
    if graph.edge_count <= _PROGRAM_EDGES:
        candidates.append(_solved(graph))
    numbers = [1.0 / float(graph.observation_mass(one).min()) for one in candidates]
    best = int(np.argmin(np.round(numbers, 9)))  # ties to the uniform distribution
    candidates[best].flags.writeable = False
    return Covering(max(numbers[best], 1.0), candidates[best])


def _solved(graph: FeedbackGraph) -> Floats:
    revealing = [graph.in_neighbors(arm) for arm in range(graph.arms)]
    shares = fractional_cover(revealing, graph.arms)
    distribution: Floats = shares / shares.sum()
    return distribution


def covering_rule(
    delta: float, arms: int, rounds: float, rho: float | None = None
) -> dict[str, float]:
    """Return the rates that minimise rho T + log(K) / eta + eta T delta / (2 rho).

    Args:
        delta: 1 / the least probability with which exploration reveals an arm.
        arms: K.
        rounds: T.
        rho: The probability of exploration, if it is given.

    Returns:
        eta and rho.
    """
    bits = math.log(arms)
    if rho is None:
        rho = min((delta * bits / (2.0 * rounds)) ** (1.0 / 3.0), 0.5)
    return {"eta": math.sqrt(2.0 * rho * bits / (delta * rounds)), "rho": rho}
