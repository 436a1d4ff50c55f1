"""The learner of the two baselines that learn in each context separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crossbandit.algorithms.compiled_learner import CompiledLearner, scratch
from crossbandit.algorithms.learner import AlgorithmT
from crossbandit.kernels import per_context
from crossbandit.kernels.loops import Steps
from crossbandit.kernels.per_context import PerContextState
from crossbandit.losses.memory import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


class PerContextLearner(CompiledLearner[AlgorithmT]):
    """Exponential weights in each context, learned from that context's own rounds alone."""

    steps = Steps(per_context.policy, per_context.play, per_context.learn)
    additive_state = ("estimates",)

    def __init__(
        self, algorithm: AlgorithmT, problem: Problem, graph: FeedbackGraph, eta: float, seed: Seed
    ) -> None:
        shape = (algorithm.require_contexts(problem), problem.arms)
        state = PerContextState(
            estimates=zeros(type(algorithm).__name__, shape, problem.form.dtype),
            **scratch(problem.arms),
        )
        super().__init__(algorithm, problem, state, eta, seed=seed, graph=graph)

    def tuned(self) -> Mapping[str, Any]:
        return {"eta": self.setting}
