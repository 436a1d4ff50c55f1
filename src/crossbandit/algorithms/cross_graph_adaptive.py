"""A learner that needs no horizon, alpha, context distribution or range of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from crossbandit.algorithms.adaptive_learner import AdaptiveLearner, graph_of
from crossbandit.kernels.adaptive import AdaptiveParameters
from crossbandit.learners.algorithm import Algorithm, register
from crossbandit.learners.estimator import Estimator, no_share
from crossbandit.validation import number, positive, reject

if TYPE_CHECKING:
    from crossbandit.learners.learner import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats


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

    An arm is explored only if the policies of the contexts do not reveal it often enough. With
    w_t(a) a running mean of r_{s,c_s}(N_in(a)) over about the last t / recency rounds,

        f_t = min(1/2, exploration / sqrt(t)),  f_t(a) = f_t / K, or f_t for an arm without
        self-loop,

    arm a is explored with probability max(0, f_t(a) - w_t(a)): by playing a itself or, if a has no
    self-loop, by playing all other arms equally often. The rest of the probability is given to q.
    The sum is r, which is played. The estimate is

        lhat_{t,c}(a) = (l_{t,c}(a) - m_t) 1{a revealed} / (w_t(a) + f_t(a)).         (estimate)

    The baseline m_t is a running mean of what the policy loses, estimated with the same weights.
    It shifts no context's policy and makes the learner invariant to the scale and the shift of
    losses. It also does what the paper's pessimistic correction does: an arm without self-loop
    that is played nearly always has a loss near m_t, so nothing is lost on average when it is
    not observed.

    If an arm is weakly observable, let D be a smallest set of arms that reveals all such arms. Each
    of them is to be observed with probability x_t / |D|, x_t = min(1/2, exploration (|D| /
    t)^(1/3)); x_t / |D| also takes the place of f_t(a) in the estimate. The probability
    |D| max_a (x_t / |D| - w_t(a)), if it is positive, is played uniformly on D.

    If graphs change and are known before each round, w_t(a) is the mass of N_in_t(a) in the running
    mean of what was played. If they are a function of the context (`Problem.graph_by_context`), it
    is a running mean of r_{s,c_s}(N_in_s(a)). Each graph must then be strongly observable.

    Bound: none is proved. With w_t exact and the same for all rounds, no baseline and known
    contexts this is AdaHedge on the estimates of Algorithm 1; the running mean, which lags behind
    the policy and depends on the contexts that formed it, is not covered by the paper's analysis.
    What is measured: docs/explanation/the-adaptive-learner.md.

    Anchored estimates help if the losses of some arms are correlated, such as those of neighbouring
    bids. If the graph reveals an arm g whenever it reveals arm a (see
    `anchors_of` in `algorithms/adaptive_learner.py`), a is measured against g,

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
        self.check_parameters(positive, "rate", "exploration", "recency", "eta")
        self.check_parameters(_at_least_one_round, "half_life")
        if self.anchored is not None and not isinstance(self.anchored, bool):
            reject("CrossGraphAdaptive", "anchored", "True, False or None", self.anchored)

    def start(self, problem: Problem, *, seed: Seed) -> AdaptiveLearner:
        self.require_playable(problem)
        return AdaptiveLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if self.half_life is not None or self.anchored or problem.graph_kind != "fixed":
            return None
        graph, setting = problem.graph, graph_of(problem, anchored=False)

        def at(learner: Learner[Any], available: Booleans | None) -> Estimator:
            del available
            state = learner.state()
            before = float(state["counted"][0])
            step, count = 1.0 / (1.0 + before / self.recency), before + 1.0
            floors = min(0.5, self.exploration / math.sqrt(count)) * setting.shares
            if setting.weak.size:
                members = setting.dominating.size
                lifted = min(0.5, self.exploration * (members / count) ** (1.0 / 3.0))
                floors[setting.weak] = lifted / members
            mean = np.array(state["played"])
            weight = float(state["lost_weight"][0])

            def share(policies: Floats, context: int) -> Floats:
                played = mean + step * (policies[context] - mean)
                observed = graph.observation_mass(policies[context])
                return np.asarray(observed / (graph.observation_mass(played) + floors))

            baseline = float(state["lost"][0]) / weight if weight > 0 else None
            return replace(declared, share=share, baseline=baseline)

        declared = Estimator(
            graph, no_share, rate=lambda learner: cast("Any", learner).learning_rate, at=at
        )
        return declared

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


def _at_least_one_round(owner: str, name: str, value: object) -> float:
    return number(owner, name, value, at_least=1)
