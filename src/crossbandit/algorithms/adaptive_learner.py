"""The learner of `CrossGraphAdaptive`, and the anchors of arms that a graph reveals together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.kernels import adaptive, adaptive_loops
from crossbandit.kernels.adaptive import AdaptiveGraph, AdaptiveParameters, AdaptiveState
from crossbandit.kernels.adaptive_arithmetic import Anchors
from crossbandit.learners.learner import Learner
from crossbandit.losses.forms import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.cross_graph_adaptive import CrossGraphAdaptive
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.loops import Answers, Plays
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.kernels.rounds import ContextBlock, Rounds
    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.losses import Context, LossForm, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers

NO_ANCHORS = Anchors(*np.empty((3, 0), dtype=np.int64))


class AdaptiveLearner(Learner["CrossGraphAdaptive"]):
    """A running adaptive learner.

    The estimates change when the feedback of a round arrives. A round without feedback changes only
    the running means of what is played.
    """

    needs_all_feedback = False  # losses are measured against their mean: a missing one is average
    weighted = True
    changed_by_play = ("played", "masses", "counted", "gap")

    def __init__(self, algorithm: CrossGraphAdaptive, problem: Problem, seed: Seed) -> None:
        super().__init__(algorithm, problem, seed=seed)
        self.parameters: AdaptiveParameters = algorithm.parameters()
        self._adaptive_graph = graph_of(problem, anchored=bool(algorithm.anchored))
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
                adaptive_loops.play_changing, *step, *now, pending.readout, pending.round, uniform
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
        if self.graph_kind != "fixed":  # the shares of the round played last
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
            adaptive_loops.simulate_changing(*step, self.problem.graph_by_context, *now)
        self.round += rounds.arms.size


def graph_of(problem: Problem, *, anchored: bool) -> AdaptiveGraph:
    """Return the graph of a problem as the kernels take it."""
    graph, fixed = problem.graph, problem.graph_kind == "fixed"
    shares = np.full(problem.arms, 1.0 / problem.arms)
    shares[list(graph.arms_without_self_loop)] = 1.0
    weak = [a for a, grade in enumerate(graph.arm_observability) if fixed and grade == "weak"]
    shares[weak] = 0.0
    dominating = graph.weakly_dominating_set if weak else ()
    # If features differ between arms, rows of two arms cannot be subtracted.
    comparable = anchored and fixed and problem.form.shape[0] == 1
    return AdaptiveGraph(
        graph.in_ranges,
        shares,
        anchors_of(graph) if comparable else NO_ANCHORS,
        np.array(weak, dtype=np.int64),
        np.array(dominating, dtype=np.int64),
    )


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
