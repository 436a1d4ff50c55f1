"""Algorithm 2 for graphs that change from round to round and are known before each round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.cross_graph import EpochLearner
from crossbandit.algorithms.epoch_estimator import epoch_estimator
from crossbandit.algorithms.tuned import TunedAlgorithm, required_horizon
from crossbandit.algorithms.tuning import with_rate
from crossbandit.kernels import varying
from crossbandit.kernels.epochs import EpochParameters
from crossbandit.kernels.ranges import stacked
from crossbandit.kernels.varying import VaryingGraphs, VaryingState
from crossbandit.learners.algorithm import register
from crossbandit.validation import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.kernels.rounds import Rounds
    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.learners.estimator import Estimator
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphVarying(TunedAlgorithm[EpochParameters]):
    r"""Algorithm 2 with the observation probabilities of each round's own graph.

    Policies, snapshots, epochs, pairs, fallback and retention are those of `CrossGraph`. Only the
    denominators change. In Algorithm 2, half the probability of observing arm a,
    w_e(a) = E_c[ r_{e,c}(N_in(a)) ] / 2, is estimated for one graph. It is linear in the mean
    policy m_e = E_c[ r_{e,c} ]:

        w_{e,t}(a) = m_e(N_in_t(a)) / 2        for the graph G_t of round t.

    So the frequency rounds of an epoch estimate m_e, which needs no graph, and a loss round t of
    the next epoch applies its own graph to the estimate:

        W_t(a) = mhat_e(N_in_t(a)) / 2 + 3/2 gamma,
        lhat_{t,c}(a) = 2 l_{t,c}(a) 1{a revealed and kept} / W_t(a).

    The special arm j_t, given b_t = beta / W_t(j_t), is the one that snapshots play most among the
    arms without self-loop in G_t.

    If the graph is the same in all rounds, all numbers are those of `CrossGraph`.

    The graph may depend on the round, but not on the context: otherwise the contexts that reveal an
    arm are not those over which mhat_e is averaged. If each context has a graph of its own and the
    problem says so (`Problem.graph_by_context`), the mean of r_{e,c}(N_in_c(a)) / 2 over the
    frequency rounds takes the place of mhat_e(N_in_t(a)) / 2, and the special arm is the one that
    snapshots play most in contexts in which it has no self-loop. The argument for the bound then
    gives O~(sqrt(alpha T)) with alpha of the edges that all contexts share, if each arm has a
    self-loop in every context. Otherwise no bound is known.

    Bound: expected regret O~(sqrt(sum_t alpha_t)), alpha_t the independence number of G_t, with no
    polynomial factor of the number of contexts. It follows from the paper's proof if each arm has a
    self-loop in every round (see docs/explanation/every-graph.md for the steps; they are not
    machine-checked). If the self-loops of an arm change, it is a conjecture: the paper shows the
    cancellation on the special arm for one arm per epoch.

    Each round's graph must be strongly observable; `act` is given it. Tuning: eta = gamma = rho =
    beta = 1 / sqrt(alpha T) and L near sqrt(alpha T / log K), the paper's experiment rule, where
    alpha is the mean of the alpha_t. Give `alpha` if it is known. Otherwise it is that of the
    problem's graph, which has the edges that every round has: an upper bound.

    Args:
        eta: The learning rate.
        gamma: The implicit exploration, added to estimated observation probabilities.
        rho: The probability of uniform exploration.
        beta: The pessimistic correction of an arm without self-loop.
        epoch_length: The number of rounds in an epoch, even.
        alpha: The mean independence number of the rounds' graphs, for the rule.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.singletons(3), contexts=2, horizon=200, graph_kind="informed")
    >>> learner = CrossGraphVarying(alpha=1.5).start(problem, seed=1)
    >>> for t in range(200):
    ...     graph = graphs.complete(3) if t % 2 else graphs.ring(3, radius=1)
    ...     decision = learner.act(t % 2, graph=graph)
    ...     losses = [[abs(b - context) / 3 for context in range(2)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> int(learner.policy(1).argmax())
    1
    """

    id: ClassVar[str] = "cross-graph-varying"
    parameters_type: ClassVar[type[EpochParameters]] = EpochParameters
    needs_observability: ClassVar[str] = "strong"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed")

    eta: float | None = None
    gamma: float | None = None
    rho: float | None = None
    beta: float | None = None
    epoch_length: int | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_parameters(lambda *it: number(*it, at_least=1), "alpha")

    def start(self, problem: Problem, *, seed: Seed) -> VaryingLearner:
        self.require_playable(problem)
        return VaryingLearner(self, problem, self.parameters(problem), seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if problem.graph_kind != "fixed":
            return None
        return epoch_estimator(problem.graph, self.parameters(problem))

    def tuning_rule(self, problem: Problem) -> Mapping[str, float]:
        horizon = required_horizon("experiment", problem)
        alpha = self.alpha if self.alpha is not None else problem.graph.independence_number
        return with_rate(problem, 1.0 / math.sqrt(alpha * horizon))._asdict()


class VaryingLearner(EpochLearner[CrossGraphVarying]):
    """A running `CrossGraphVarying`."""

    def __init__(
        self,
        algorithm: CrossGraphVarying,
        problem: Problem,
        parameters: EpochParameters,
        seed: Seed,
    ) -> None:
        super().__init__(algorithm, problem, problem.graph, parameters, seed)
        observing, heaviest = np.zeros((2, problem.arms))
        self._varying = VaryingState(self._epoch, observing, heaviest)
        always_loops = not problem.graph.arms_without_self_loop
        self._graphs = VaryingGraphs(np.zeros(0), always_loops, problem.graph_by_context)
        self._epoch.denominators[:] = 1.0  # set by each pair; nothing reads them before

    def _step(
        self, pending: PendingDecision, uniform: float, split: float, retain: float
    ) -> tuple[int, float, int, bool]:
        own = pending.graph or self.graph
        first = own if self._open is None else self._open.graph or self.graph
        step: tuple[int, float, int, bool] = self.call(
            varying.play,
            self._varying,
            self.parameters,
            self._graphs,
            first.in_ranges,
            own.in_ranges,
            pending.readout,
            pending.round,
            uniform,
            split,
            retain,
        )
        return step

    def _epoch_weights(self, round_: int) -> Floats:
        del round_
        return self._epoch.weights.copy()  # each pair has its own

    def _loop(self, rounds: Rounds, uniforms: Floats) -> None:
        if rounds.graphs.entry.size == 0:  # the graph is fixed, and trusted
            entry = np.zeros(rounds.arms.size, dtype=np.int64)
            ranges = (self.graph.out_ranges, self.graph.in_ranges)
            rounds = rounds._replace(graphs=stacked([ranges], entry))
        step = (self._varying, self.parameters, self._graphs)
        varying.simulate(*step, rounds, self.round, uniforms)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        _, observing, heaviest = self._varying
        return {**super().state(), "observing": observing, "heaviest": heaviest}
