"""A learner without parameters: no horizon, no alpha, no law of contexts, no range of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.algorithm import Algorithm, register, require_problem
from crossbandit.algorithms.anchors import NO_ANCHORS, anchors_of
from crossbandit.algorithms.coordinates import play_in_coordinates
from crossbandit.algorithms.learner import Learner, Ticket
from crossbandit.kernels import adaptive
from crossbandit.kernels.adaptive import (
    ROUND,
    AdaptiveGraph,
    AdaptiveParameters,
    AdaptiveState,
)
from crossbandit.kernels.anchors import anchored_rows
from crossbandit.kernels.compilation import resolved
from crossbandit.losses.memory import zeros
from crossbandit.validation import number, positive, reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import LossForm
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


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

    An arm is played for the sake of being seen only where contexts do not show it anyway. With
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

    Bound: none is proved. With w_t exact and the same for all rounds, no baseline and known
    contexts this is AdaHedge on the estimates of Algorithm 1; the running mean, which lags behind
    the policy and depends on the contexts that formed it, is not covered by the paper's analysis.
    What is measured: docs/explanation/the-adaptive-learner.md.

    Options: `half_life`, in rounds, after which a loss counts half; off if None. `anchored`, for
    arms whose losses go together, such as neighbouring bids: where the graph shows an arm g
    whenever it shows arm a (see `crossbandit.algorithms.anchors`), a is measured against g,

        lhat_{t,c}(a) = lhat_{t,c}(g) + (l_{t,c}(a) - l_{t,c}(g)) 1{a revealed} / (w_t(a) + f_t(a)),

    which varies less if l(a) - l(g) does; None leaves it to an application, and is off without
    one. `eta`, a fixed learning rate in place of the learner's
    own, for comparisons. `rate`, `exploration` and `recency` are constants with one default for
    every problem.

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
        require_problem("CrossGraphAdaptive", problem)
        problem.graph.require_strongly_observable("CrossGraphAdaptive")
        return AdaptiveLearner(self, problem, seed)

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


class AdaptiveLearner(Learner):
    """A running adaptive learner.

    Whatever a round teaches counts when its feedback is in: a round whose feedback never comes
    changes nothing but the running means of what is played.
    """

    def __init__(self, algorithm: CrossGraphAdaptive, problem: Problem, seed: Seed) -> None:
        super().__init__(algorithm, problem, problem.graph, seed)
        self.parameters = algorithm.parameters()
        self._sight = _sight(problem, anchored=bool(algorithm.anchored))
        self._adaptive = _empty_state(problem.arms, problem.form)
        self._play_code: Callable[..., tuple[int, float, float]] | None = None
        self._absorb_code: Callable[..., float] | None = None

    @property
    def round(self) -> int:
        return int(self._adaptive.counters[ROUND])

    @property
    def learning_rate(self) -> float:
        """The learning rate of the round played last; 0 before any two losses have differed."""
        gap = self._adaptive.numbers[adaptive.GAP]
        return float(adaptive.learning_rate(self._adaptive, self.parameters, gap))

    def policy(self, context: Any, available: Any = None) -> Floats:
        _, first, values, available = self._readout(context, available)
        out = np.empty(self.problem.arms)
        state, parameters = self._adaptive, self.parameters
        adaptive.policy(state, parameters, self._sight, first, values, available, out)
        return out

    def _play(self, ticket: Ticket) -> float:
        ticket.weights = np.empty(self.problem.arms)
        arguments = (
            self._adaptive,
            self.parameters,
            self._sight,
            ticket.readout.first,
            ticket.readout.values,
            ticket.readout.available,
            self._generator.random(),
            ticket.weights,
        )
        if self._play_code is None:
            self._play_code = resolved(adaptive.play_and_weigh, *arguments)
        ticket.arm, probability, base = self._play_code(*arguments)
        ticket.baseline = None if math.isnan(base) else base
        return probability

    def _absorb(self, ticket: Ticket, rows: Floats) -> None:
        if ticket.weights is None:
            return
        arguments = (
            self._adaptive,
            self.parameters,
            self._sight,
            ticket.arm,
            ticket.round,
            ticket.readout.first,
            ticket.readout.values,
            ticket.readout.available,
            ticket.weights,
            math.nan if ticket.baseline is None else ticket.baseline,
            rows,
        )
        if self._absorb_code is None:
            self._absorb_code = resolved(adaptive.absorb_rows, *arguments)
        growth = self._absorb_code(*arguments)
        ticket.weights = ticket.weights * growth
        anchors = self._sight.anchors
        if anchors.order.size > 0:
            differences, place = np.empty_like(rows), np.empty_like(anchors.order)
            anchored_rows(anchors, self._graph.out_ranges, ticket.arm, rows, place, differences)
            rows = differences
        self._add(self._adaptive.estimates[0], ticket, rows)

    def _state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._adaptive._asdict()

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled."""
        uniforms = self._generator.random(rounds.arms.size)

        def play(estimates: Floats, rounds: Rounds) -> None:
            state = self._adaptive._replace(estimates=estimates)
            adaptive.simulate(state, self.parameters, self._sight, rounds, uniforms)

        if self._sight.anchors.order.size > 0:  # arms have coordinates of their own: no differences
            play(self._adaptive.estimates, rounds)
        else:
            play_in_coordinates(self._adaptive.estimates, rounds, play)


def _at_least_one_round(owner: str, name: str, value: object) -> float:
    return number(owner, name, value, at_least=1)


def _sight(problem: Problem, *, anchored: bool) -> AdaptiveGraph:
    shares = np.full(problem.arms, 1.0 / problem.arms)
    shares[list(problem.graph.arms_without_self_loop)] = 1.0
    # Where features differ from arm to arm, rows of two arms have no difference.
    comparable = anchored and problem.form.shape[0] == 1
    anchors = anchors_of(problem.graph) if comparable else NO_ANCHORS
    return AdaptiveGraph(problem.graph.in_ranges, problem.graph.out_ranges, shares, anchors)


def _empty_state(arms: int, form: LossForm) -> AdaptiveState:
    return AdaptiveState(
        estimates=zeros("CrossGraphAdaptive", (1, arms, form.columns), form.dtype),
        bias=np.zeros((1, arms)),
        played=np.zeros(arms),
        masses=np.ones(arms),
        numbers=np.array([0.0, 0.0, math.inf, -math.inf, 0.0, 0.0]),
        counters=np.zeros(2, dtype=np.int64),
        weights=np.zeros(arms),
        softmax=np.zeros(arms),
        chosen=np.zeros(arms),
        revealed=np.zeros(arms),
        inferred=np.zeros(arms),
        shown=np.zeros(arms, dtype=np.bool_),
        lumps=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
    )
