"""The learner of all algorithms with exponential weights and exploration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.kernels import exponential
from crossbandit.kernels.exponential import ExponentialSetting, ExponentialState
from crossbandit.kernels.loops import Steps
from crossbandit.learners.compiled_learner import CompiledLearner, estimate_shape, scratch
from crossbandit.losses.forms import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.exponential import ExponentialAlgorithm
    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


class ExponentialLearner(CompiledLearner["ExponentialAlgorithm"]):
    """Exponential weights with exploration, learned in all contexts or in each separately."""

    steps = Steps(exponential.policy, exponential.play, exponential.learn, exponential.count)
    changed_by_play = ("bias", "rates", "entropies")
    additive_state: ClassVar[tuple[str, ...]] = ("estimates", "bias")

    def __init__(self, algorithm: ExponentialAlgorithm, problem: Problem, seed: Seed) -> None:
        self.parameters = algorithm.parameters(problem)
        loopless = problem.graph.arms_without_self_loop if self.parameters.beta else ()
        setting = ExponentialSetting(
            parameters=self.parameters,
            in_ranges=problem.graph.in_ranges,
            exploration=np.array(algorithm.explored_arms(problem)),
            implicit=algorithm.implicit(problem, self.parameters),
            loopless=np.asarray(loopless, dtype=np.int64),
            own_column=np.ones((1, 1)),
            cross=algorithm.crosses,
            **algorithm.adaptation(problem),
        )
        super().__init__(algorithm, problem, _empty_state(algorithm, problem), setting, seed=seed)
        self.arrays.rates[:] = self.parameters[:2]

    def play(self, pending: PendingDecision) -> float:
        probability = super().play(pending)
        if self.graph_kind == "uninformed":
            # Until the graph of the round is known, its policy is stored instead of its weights.
            pending.weights = self.arrays.chosen.copy()
        return probability

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        graph, state = pending.graph, self.arrays
        if self.graph_kind == "uninformed" and graph is not None and pending.weights is not None:
            state.chosen[:] = pending.weights
            self.call(exponential.weigh, self.setting, graph.in_ranges, state, pending.arm)
            pending = replace(pending, weights=state.weights)
        super().update(pending, rows)

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        # What is explored may come from a linear program: a checkpoint keeps its solution.
        return {**super().state(), "exploration": self.setting.exploration}

    def check_state(self) -> None:
        super().check_state()
        explored, rates = self.setting.exploration, self.arrays.rates
        right = bool((explored >= 0).all()) and abs(float(explored.sum()) - 1.0) < 1e-9
        self.require_state("exploration", right, "a distribution", explored)
        eta, rho = rates.T
        right = bool((eta > 0).all() and (rho >= 0).all() and (rho < 1).all())
        self.require_state("rates", right, "an eta above 0 and a rho below 1", rates)


def _empty_state(algorithm: ExponentialAlgorithm, problem: Problem) -> ExponentialState:
    arms, shape = problem.arms, estimate_shape(algorithm, problem, cross=algorithm.crosses)
    return ExponentialState(
        estimates=zeros(type(algorithm).__name__, shape, problem.form.dtype),
        bias=np.zeros(shape[:2]),
        rates=np.zeros((shape[0], 2)),
        entropies=np.zeros((shape[0], 2)),
        **scratch(arms),
    )
