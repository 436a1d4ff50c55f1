"""A learner that needs no horizon, alpha, context distribution or range of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.algorithm import Algorithm, register
from crossbandit.algorithms.anchors import NO_ANCHORS, anchors_of
from crossbandit.algorithms.learner import Learner
from crossbandit.kernels import adaptive, adaptive_loops, adaptive_varying
from crossbandit.kernels.adaptive import AdaptiveGraph, AdaptiveParameters, AdaptiveState
from crossbandit.losses.memory import zeros
from crossbandit.validation import number, positive, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.kernels.loops import Answers, Plays
    from crossbandit.kernels.rounds import ContextBlock, Rounds
    from crossbandit.losses import Context, LossForm, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphAdaptive(Algorithm):
    """Exponential weights that set their own rate; every round is learned from.

    Every context keeps exponential weights over estimated losses, with one learning rate for all:

        q_{t,c}(a)  ~  exp(-eta_t * sum_{s<t} lhat_{s,c}(a)),
        eta_t = rate * log K / (range + sum_{s<t} delta_s).                       (learning rate)

    `range` is the largest less the smallest loss revealed so far. delta_s is the mixability gap of
    AdaHedge in the context that occurred: the mean of lhat_s under the policy less its exponential
    mean, -log(sum_a r(a) exp(-eta lhat_s(a))) / eta. Unlike a sum of squares, it is not dominated
    by rare large estimates.

    An arm is played in order to be observed only where contexts do not reveal it anyway. With
    w_t(a) a running mean of r_{s,c_s}(N_in(a)) over about the last t / recency rounds,

        f_t = min(1/2, exploration / sqrt(t)),  f_t(a) = f_t / K, or f_t for an arm without
        self-loop,

    each arm a is given max(0, f_t(a) - w_t(a)) of the probability: itself, or all other arms alike
    if a has no self-loop. The rest is q; together they are r, which is played. And

        lhat_{t,c}(a) = (l_{t,c}(a) - m_t) 1{a revealed} / (w_t(a) + f_t(a)).         (estimate)

    The baseline m_t is a running mean of what the policy loses, estimated with the same weights.
    It shifts no context's policy and makes the learner invariant to the scale and the shift of
    losses. It also does what the paper's pessimistic correction does: an arm without self-loop
    that is played nearly always has a loss near m_t, so nothing is lost on average when it is
    not observed.

    If an arm is weakly observable, let D be a smallest set of arms that reveals all such arms. Each
    of them is to be observed with probability x_t / |D|, x_t = min(1/2, exploration (|D| /
    t)^(1/3)); x_t / |D| also takes the place of f_t(a) in the estimate. If one lacks the most,
    |D| max_a (x_t / |D| - w_t(a)) of the probability is played uniformly on D.

    If graphs change and are known before each round, w_t(a) is the mass of N_in_t(a) in the running
    mean of what was played. If they are a function of the context (`Problem.graph_by_context`), it
    is a running mean of r_{s,c_s}(N_in_s(a)). Each graph must then be strongly observable.

    Bound: none is proved. With w_t exact and the same for all rounds, no baseline and known
    contexts this is AdaHedge on the estimates of Algorithm 1; the running mean, which lags behind
    the policy and depends on the contexts that formed it, is not covered by the paper's analysis.
    What is measured: docs/explanation/the-adaptive-learner.md.

    Anchored estimates help if the losses of some arms are correlated, such as those of neighbouring
    bids. If the graph reveals an arm g whenever it reveals arm a (see
    `crossbandit.algorithms.anchors`), a is measured against g,

        lhat_{t,c}(a) = lhat_{t,c}(g) + (l_{t,c}(a) - l_{t,c}(g)) 1{a revealed} / (w_t(a) + f_t(a)),

    which varies less if l(a) - l(g) does.

    Args:
        half_life: The number of rounds after which a loss counts half. None forgets nothing.
        rate: A factor of the learning rate; the default suits every problem.
        exploration: A factor of the exploration f_t; the default suits every problem.
        recency: How fast running means follow the policy; the default suits every problem.
        eta: A fixed learning rate instead of the learner's own, for comparisons.
        anchored: Whether estimates are anchored. If None, an application decides; without one,
            they are not.

    >>> from crossbandit import Problem, graphs
    >>> problem = Problem(graphs.threshold(4), contexts=3)
    >>> learner = CrossGraphAdaptive().start(problem, seed=7)
    >>> for t in range(300):
    ...     decision = learner.act(t % 3)
    ...     losses = [[abs(b - context) / 4 for context in range(3)] for b in decision.revealed]
    ...     learner.learn(decision, losses)
    >>> learner.policy(2).round(2)
    array([0., 0., 1., 0.])
    """

    id: ClassVar[str] = "cross-graph-adaptive"
    needs_observability: ClassVar[str] = "weak"
    graph_kinds: ClassVar[tuple[str, ...]] = ("fixed", "informed")
    needs_memory: ClassVar[bool] = False

    half_life: float | None = None
    rate: float = 1.0
    exploration: float = 1.0
    recency: float = 16.0
    eta: float | None = None
    anchored: bool | None = None

    def __post_init__(self) -> None:
        for name in ("rate", "exploration", "recency"):
            if getattr(self, name) is None:
                reject("CrossGraphAdaptive", name, "a positive number", None)
        self.settle(positive, "rate", "exploration", "recency", "eta")
        self.settle(_at_least_one_round, "half_life")
        if self.anchored is not None and not isinstance(self.anchored, bool):
            reject("CrossGraphAdaptive", "anchored", "True, False or None", self.anchored)

    def start(self, problem: Problem, *, seed: Seed) -> AdaptiveLearner:
        self.require_playable(problem)
        return AdaptiveLearner(self, problem, seed)

    def least_observability(self, kind: str) -> str:
        # A weakly dominating set of each round's graph would have to be found in each round.
        return "weak" if kind == "fixed" else "strong"

    def parameters(self) -> AdaptiveParameters:
        """Return the constants as the kernels take them."""
        half_life = math.inf if self.half_life is None else self.half_life
        eta = 0.0 if self.eta is None else self.eta
        return AdaptiveParameters(
            rate=float(self.rate),
            exploration=float(self.exploration),
            recency=float(self.recency),
            half_life=float(half_life),
            eta=float(eta),
        )


class AdaptiveLearner(Learner[CrossGraphAdaptive]):
    """A running adaptive learner.

    What a round teaches counts when its feedback is in. A round whose feedback never comes changes
    nothing but the running means of what is played.
    """

    needs_all_feedback = False  # losses are measured against their mean: a missing one is average
    weighted = True
    changed_by_play = ("played", "masses", "counted", "gap")

    def __init__(self, algorithm: CrossGraphAdaptive, problem: Problem, seed: Seed) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.parameters: AdaptiveParameters = algorithm.parameters()
        self._adaptive_graph = _graph_of(problem, anchored=bool(algorithm.anchored))
        self._adaptive = _empty_state(problem.arms, problem.form)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the round played last; 0 before any two losses have differed."""
        gap = self._adaptive.gap[0]
        return float(adaptive.learning_rate(self._adaptive, self.parameters, gap))

    def distribution(self, context: Context, readout: Readout) -> Floats:
        del context
        out = np.empty(self.problem.arms)
        state, graph = self._adaptive, self._adaptive_graph
        adaptive.policy(state, self.parameters, graph, readout, self.round, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        step = (self._adaptive, self.parameters, self._adaptive_graph)
        uniform = self.generator.random()
        weights = pending.weights = np.zeros(self.problem.arms)
        if pending.graph is None:
            seen, round_ = self.graph.out_ranges, pending.round
            pending.arm, probability, baseline = self.call(
                adaptive.decide, *step, seen, pending.readout, round_, uniform, weights
            )
        else:
            now = (self.problem.graph_by_context, pending.graph.in_ranges)
            pending.arm, probability, baseline = self.call(
                adaptive_varying.play, *step, *now, pending.readout, pending.round, uniform
            )
            self.call(adaptive.weigh, *step, pending.graph.out_neighbors(pending.arm), weights)
        pending.baseline = None if math.isnan(baseline) else baseline
        return float(probability)

    def count_round(self, pending: PendingDecision) -> None:
        step = (self._adaptive, self.parameters, self._adaptive_graph)
        self.call(adaptive.count, *step, pending.readout, self.round - 1)

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        if pending.weights is None:
            return
        self.call(
            adaptive.learn_late,
            self._adaptive,
            self.parameters,
            self._adaptive_graph,
            pending.readout,
            pending.round,
            self.round - 1,
            pending.weights,
            math.nan if pending.baseline is None else pending.baseline,
            self.feedback(pending, rows),
        )

    def play_many(self, contexts: ContextBlock, numbers: Integers, plays: Plays) -> None:
        del numbers
        step = (self._adaptive, self.parameters, self._adaptive_graph, self.graph.out_ranges)
        uniforms = self.generator.random(plays.arms.size)
        adaptive_loops.play_many(*step, contexts, self.round, uniforms, plays)

    def update_many(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> None:
        del numbers
        step = (self._adaptive, self.parameters, self._adaptive_graph)
        adaptive_loops.learn_many(*step, contexts, last, answers)

    def tuned(self) -> Mapping[str, Any]:
        return {}  # all parameters are given: no rule sets any

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        state = self._adaptive._asdict()
        if self.graph_kind != "fixed":  # then they are those of the round played last
            state["shares"] = self._adaptive_graph.shares
        return state

    def check_state(self) -> None:
        state = self._adaptive
        least, largest = float(state.least[0]), float(state.largest[0])
        if (least, largest) == (math.inf, -math.inf):  # nothing was revealed so far
            state.least[0] = state.largest[0] = 0.0
        super().check_state()
        state.least[0], state.largest[0] = least, largest
        reference = int(state.reference[0])
        right = 0 <= reference <= self.round
        self.require_state("reference", right, f"a round from 0 to {self.round}", reference)
        self.require_state("counted", state.counted[0] >= 0, "at least 0", state.counted[0])
        self.require_state("shown", not state.shown.any(), "False for all arms", state.shown)

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.
        """
        step = (self._adaptive, self.parameters, self._adaptive_graph)
        now = (rounds, self.round, self.generator.random(rounds.arms.size))
        if self.graph_kind == "fixed":
            adaptive_loops.simulate(*step, self.graph.out_ranges, *now)
        else:
            adaptive_varying.simulate(*step, self.problem.graph_by_context, *now)
        self.round += rounds.arms.size


def _at_least_one_round(owner: str, name: str, value: object) -> float:
    return number(owner, name, value, at_least=1)


def _graph_of(problem: Problem, *, anchored: bool) -> AdaptiveGraph:
    graph, fixed = problem.graph, problem.graph_kind == "fixed"
    shares = np.full(problem.arms, 1.0 / problem.arms)
    shares[list(graph.arms_without_self_loop)] = 1.0
    weak = [a for a, grade in enumerate(graph.arm_observability) if fixed and grade == "weak"]
    shares[weak] = 0.0
    dominating = graph.weakly_dominating_set if weak else ()
    # Where features differ from arm to arm, rows of two arms have no difference.
    comparable = anchored and fixed and problem.form.shape[0] == 1
    return AdaptiveGraph(
        graph.in_ranges,
        shares,
        anchors_of(graph) if comparable else NO_ANCHORS,
        np.array(weak, dtype=np.int64),
        np.array(dominating, dtype=np.int64),
    )


def _empty_state(arms: int, form: LossForm) -> AdaptiveState:
    return AdaptiveState(
        estimates=zeros("CrossGraphAdaptive", (1, arms, form.columns), form.dtype),
        bias=np.zeros((1, arms)),
        played=np.zeros(arms),
        masses=np.ones(arms),
        counted=np.zeros(1),
        gap=np.zeros(1),
        least=np.full(1, math.inf),
        largest=np.full(1, -math.inf),
        lost=np.zeros(1),
        lost_weight=np.zeros(1),
        reference=np.zeros(1, dtype=np.int64),
        weights=np.zeros(arms),
        softmax=np.zeros(arms),
        chosen=np.zeros(arms),
        losses=np.zeros(arms),
        inferred=np.zeros(arms),
        shown=np.zeros(arms, dtype=np.bool_),
        pooled=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
        revealed=np.zeros(arms, dtype=np.int64),
        place=np.zeros(arms, dtype=np.int64),
    )
