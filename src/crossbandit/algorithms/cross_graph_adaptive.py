"""A learner that needs no horizon, alpha, context distribution or range of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from crossbandit.algorithms.adaptive_core import AdaptiveCore, AdaptiveParameters
from crossbandit.algorithms.learners.algorithm import register
from crossbandit.algorithms.learners.estimator import Estimator, no_share
from crossbandit.algorithms.learners.learner import CoreLearner, Learner
from crossbandit.algorithms.tuning import CheckedAlgorithm, core_problem
from crossbandit.core.forms import zeros
from crossbandit.core.validation import positive, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.blocks import ArmRanges
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.graphs import FeedbackGraph


class Anchors(NamedTuple):
    """The arm against which each arm is measured. All arrays are empty if no arm has an anchor."""

    anchor: Integers  # (K,): an arm, or -1 for an arm that has no anchor
    order: Integers  # (K,): all arms, each after its anchor
    roots: Integers  # the arms that have no anchor


NO_ANCHORS = Anchors(*np.empty((3, 0), dtype=np.int64))


class AdaptiveLearner(CoreLearner["CrossGraphAdaptive"]):
    """A running adaptive learner.

    The estimates change when the feedback of a round arrives. A round without feedback changes only
    the running means of what is played.
    """

    listed = "learning_rate"
    needs_all_feedback = False  # losses are measured against their mean: a missing one is average
    changed_by_play = ("played", "masses", "counted", "gap")

    def __init__(self, algorithm: CrossGraphAdaptive, problem: Problem, seed: Seed) -> None:
        self.parameters: AdaptiveParameters = algorithm.parameters()
        form = problem.form
        # If features differ between arms, rows of two arms cannot be subtracted.
        comparable = problem.graph_kind == "fixed" and form.shape[0] == 1
        core = AdaptiveCore(
            zeros("CrossGraphAdaptive", (1, problem.arms, form.columns), form.dtype),
            core_problem(problem),
            self.parameters,
            floors_of(problem),
            anchors_of(problem.graph) if algorithm.anchored and comparable else NO_ANCHORS,
            problem.graph_by_context,
        )
        super().__init__(algorithm, problem, core, seed=seed)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the round played last; 0 before any two losses have differed."""
        return float(self.core.learning_rate())

    def tuned(self) -> Mapping[str, Any]:
        return {}  # all parameters are given: no rule sets any

    def check_state(self) -> None:
        state = self.state()
        least, largest = float(state["least"][0]), float(state["largest"][0])
        if (least, largest) == (math.inf, -math.inf):  # nothing was revealed so far
            state["least"][0] = state["largest"][0] = 0.0
        super().check_state()
        state["least"][0], state["largest"][0] = least, largest
        reference, counted = int(state["reference"][0]), state["counted"][0]
        right = 0 <= reference <= self.round
        self.require_state("reference", right, f"a round from 0 to {self.round}", reference)
        self.require_state("counted", counted >= 0, "at least 0", counted)
        shown = state["shown"]
        self.require_state("shown", not shown.any(), "False for all arms", shown)


class Floors(NamedTuple):
    """How the least probability of observing an arm is divided among the arms."""

    shares: Floats  # (K,): 1 / K with a self-loop, 1 without; 0 if the arm is weakly observable
    weak: Integers  # the weakly observable arms, ascending
    dominating: Integers  # arms that reveal them all


def floors_of(problem: Problem) -> Floors:
    """Return the floors of a problem's arms."""
    graph, fixed = problem.graph, problem.graph_kind == "fixed"
    shares = np.full(problem.arms, 1.0 / problem.arms)
    shares[list(graph.arms_without_self_loop)] = 1.0
    weak = [a for a, grade in enumerate(graph.arm_observability) if fixed and grade == "weak"]
    shares[weak] = 0.0
    dominating = graph.weakly_dominating_set if weak else ()
    return Floors(shares, np.array(weak, np.int64), np.array(dominating, np.int64))


def anchors_of(graph: FeedbackGraph) -> Anchors:
    """Return an anchor for each arm that has one.

    Arm b is an anchor of arm a if the arms that reveal b are those that reveal a, and b itself:
    N_in(b) = N_in(a) + {b}. So a play that reveals a also reveals b, and a play
    of another arm than b that reveals b also reveals a. Among bids that reveal all higher bids, the
    anchor is the next higher bid. If there are several anchors, the nearest is taken.

    >>> from crossbandit import graphs
    >>> anchors_of(graphs.threshold(4, reveals="higher")).anchor
    array([ 1,  2,  3, -1])
    >>> anchors_of(graphs.singletons(4)) is NO_ANCHORS
    True
    """
    runs = graph.in_ranges
    sets = [_runs_of(runs, a) for a in range(graph.arms)]
    known: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for b, own in enumerate(sets):
        without = _without(own, b)
        if without != own:
            known.setdefault(without, []).append(b)
    anchor = np.full(graph.arms, -1, dtype=np.int64)
    for a, own in enumerate(sets):
        if own and own in known:
            anchor[a] = min(known[own], key=lambda b: abs(b - a))
    if (anchor < 0).all():
        return NO_ANCHORS
    # An anchor is revealed by one arm more than the arm that it belongs to.
    sizes = [sum(last - first + 1 for first, last in own) for own in sets]
    order = np.argsort(-np.array(sizes), kind="stable")
    return Anchors(anchor, order, np.flatnonzero(anchor < 0))


def _runs_of(runs: ArmRanges, a: int) -> tuple[tuple[int, int], ...]:
    own = slice(runs.starts[a], runs.starts[a + 1])
    return tuple(zip(runs.first[own].tolist(), runs.last[own].tolist(), strict=True))


def _without(runs: tuple[tuple[int, int], ...], arm: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges of the same arms, except `arm`."""
    pieces = []
    for first, last in runs:
        if first <= arm <= last:
            pieces += [(first, arm - 1), (arm + 1, last)]
        else:
            pieces.append((first, last))
    return tuple((first, last) for first, last in pieces if first <= last)


@register
@dataclass(frozen=True, kw_only=True)
class CrossGraphAdaptive(CheckedAlgorithm):
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
    What is measured: docs/contributors/algorithms-compared.md.

    Anchored estimates help if the losses of some arms are correlated, such as those of neighbouring
    bids. If the graph reveals an arm g whenever it reveals arm a (see
    `anchors_of` in `algorithms/cross_graph_adaptive.py`), a is measured against g,

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
    checks: ClassVar = {"exploration": positive}

    half_life: float | None = None
    rate: float = 1.0
    exploration: float = 1.0
    recency: float = 16.0
    eta: float | None = None
    anchored: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.anchored is not None and not isinstance(self.anchored, bool):
            reject("CrossGraphAdaptive", "anchored", "True, False or None", self.anchored)

    def start(self, problem: Problem, *, seed: Seed) -> AdaptiveLearner:
        self.require_playable(problem)
        return AdaptiveLearner(self, problem, seed)

    def estimator(self, problem: Problem) -> Estimator | None:
        if self.half_life is not None or self.anchored or problem.graph_kind != "fixed":
            return None
        graph, setting = problem.graph, floors_of(problem)

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
        """Return the constants as the core takes them."""
        half_life = math.inf if self.half_life is None else self.half_life
        return AdaptiveParameters(
            self.rate, self.exploration, self.recency, half_life, self.eta or 0.0
        )
