"""Successive elimination for stochastic losses, also where the graph is never revealed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.algorithms.means import MeansAlgorithm, MeansLearner
from crossbandit.algorithms.tuned import required_horizon
from crossbandit.kernels.stochastic import ELIMINATION
from crossbandit.learners.algorithm import register
from crossbandit.validation import share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class SuccessiveElimination(MeansAlgorithm):
    """Arms are observed equally often until they are known to be worse than another.

    An arm b that was observed n times, with a mean loss of m(b) in the context of the round, has
    the bounds m(b) -+ r(n) with

        r(n) = sqrt(log(2 K n (n + 1) / delta) / (2 n)).

    By Hoeffding's inequality and a union bound (sum over n of 1 / (n (n + 1)) = 1), all bounds of
    a context hold in all rounds with probability 1 - delta. An arm is *active* in a context if its
    lower bound is at most the least upper bound of the available arms. Among the active arms that
    were observed least often, one is drawn uniformly, and played. If it has no self-loop, then of
    the arms that reveal it, the one with the least lower bound is played instead (ours). The last
    active arm is played as it is.

    This is the algorithm of Cohen, Hazan and Koren (2016) for graphs that are never revealed, with
    counts instead of their passes over the active arms (ours): drawing uniformly among
    arms not yet observed reveals all of them with O(alpha log K) plays in expectation, although the
    graph is not known. Bound for stochastic losses, if every arm has a self-loop in every
    round: O~(sqrt(alpha T)). Against an adversary this is impossible: Cohen et al. show that
    without the graph no algorithm can do better than sqrt(K T), as if there were no side
    observations. Against an adversary use an algorithm for bandits, such as PerContextExp3.

    If graphs change, only edges that every round has count as self-loops or as revealing. An arm
    without any is played itself: if that never reveals it, the regret is linear. Use TsN or
    Exp3Edges for such graphs.

    With cross-learning a revealed row counts in every context, and contexts differ in which arms
    are active. The bounds hold in all M contexts with probability 1 - M delta.

    Args:
        delta: The probability of an error in a context; 1 / T if None.
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(3), contexts=2, horizon=100, graph_kind="unknown")
    >>> learner = SuccessiveElimination().start(problem, seed=1)
    >>> decision = learner.act(0)
    >>> learner.learn(decision, {0: [0.5, 0.5], decision.arm: [0.5, 0.5]})
    """

    id: ClassVar[str] = "successive-elimination"
    needs_observability: ClassVar[str] = "weak"
    rule: ClassVar[int] = ELIMINATION

    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_parameters(share, "delta")

    def start(self, problem: Problem, *, seed: Seed) -> EliminationLearner:
        self.require_playable(problem)
        return EliminationLearner(self, problem, seed)

    def scale(self, problem: Problem) -> float:
        if self.delta is not None:
            return self.delta
        return min(1.0 / required_horizon(self.id, problem), 0.5)


class EliminationLearner(MeansLearner):
    """A running successive elimination."""

    def tuned(self) -> Mapping[str, Any]:
        return {"delta": self.setting.scale}
