"""SZ-Context: cross-learning without the graph, after Schneider and Zimmert (2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from crossbandit.algorithms import tuning
from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.algorithms.epoch_estimator import epoch_estimator
from crossbandit.algorithms.tuned import TunedAlgorithm
from crossbandit.graphs import singletons
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.learners.algorithm import register
from crossbandit.problem import GRAPH_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.learners.estimator import Estimator
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@register
@dataclass(frozen=True, kw_only=True)
class SchneiderZimmert(TunedAlgorithm[EpochParameters]):
    """Algorithm 2 on the singleton graph, without uniform exploration and without correction.

    It uses cross-learning and ignores the graph: from each play it learns the loss of the arm
    played, in every context. As in the paper's evaluation, this also holds for an arm without
    self-loop, so `decision.revealed` is always the arm itself.

    Bound: expected regret O~(sqrt(K T)). Tuning (the paper's evaluation): L near
    sqrt(K T / log K), eta = gamma = 1 / sqrt(K T), which is the experiment's rule on the singleton
    graph, whose independence number is K.

    Args:
        eta: The learning rate; set by the rule if None.
        gamma: The implicit exploration; set by the rule if None.
        epoch_length: The number of rounds in an epoch, even; set by the rule if None.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.complete(3), contexts=2, horizon=100)
    >>> decision = SchneiderZimmert().start(problem, seed=1).act(0)
    >>> list(decision.revealed) == [decision.arm]
    True
    """

    id: ClassVar[str] = "sz-context"
    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_own_loss: ClassVar[bool] = True
    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)  # any: it ignores the graph

    eta: float | None = None
    gamma: float | None = None
    epoch_length: int | None = None

    def start(self, problem: Problem, *, seed: Seed) -> EpochLearner:
        self.require_playable(problem)
        graph = singletons(problem.arms)
        return EpochLearner(self, problem, graph, self.parameters(problem), seed)

    def estimator(self, problem: Problem) -> Estimator:
        return epoch_estimator(singletons(problem.arms), self.parameters(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        return tuning.experiment(problem.with_graph(singletons(problem.arms)))._asdict()
