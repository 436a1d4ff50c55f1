"""The learner of the algorithms for stochastic losses that keep a mean for each arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crossbandit.kernels import stochastic
from crossbandit.kernels.loops import Steps
from crossbandit.kernels.stochastic import OPTIMISM, MeansSetting, MeansState
from crossbandit.learners.algorithm import Algorithm
from crossbandit.learners.compiled_learner import CompiledLearner, estimate_shape
from crossbandit.losses.forms import zeros
from crossbandit.problem import GRAPH_KINDS
from crossbandit.validation import boolean

if TYPE_CHECKING:
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


@dataclass(frozen=True, kw_only=True)
class MeansAlgorithm(Algorithm):
    """Means of observed losses, for losses that are drawn independently from one distribution.

    These algorithms learn from what is revealed; the graph of the round does not matter. If an arm
    has no self-loop, they look for an arm that reveals it in the graph of the problem.

    If graphs change, the graph of the problem holds only the edges that every round has. An arm
    that no arm reveals in every round is played itself in order to be observed. `UcbN` and
    `SuccessiveElimination` then need that playing it reveals it in some rounds. If it never does,
    they learn nothing from playing it, and their regret is linear. Use `TsN` or `Exp3Edges` then.

    Args:
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.
    """

    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)
    stochastic_only: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = False
    rule: ClassVar[int] = OPTIMISM

    cross_learning: bool = True

    def __post_init__(self) -> None:
        self.check_parameters(boolean, "cross_learning")

    def least_observability(self, kind: str) -> str:
        # A round whose graph does not reveal an arm changes nothing about that arm.
        return self.needs_observability if kind == "fixed" else "none"

    def start(self, problem: Problem, *, seed: Seed) -> MeansLearner:
        self.require_playable(problem)
        return MeansLearner(self, problem, seed)

    def scale(self, problem: Problem) -> float:
        """Return the parameter of the rule: as it was given, or as the tuning rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The number, as the kernel takes it.
        """
        raise NotImplementedError


class MeansLearner(CompiledLearner[MeansAlgorithm]):
    """A running algorithm that keeps means."""

    steps = Steps(stochastic.policy, stochastic.play, stochastic.learn)
    stored = ("sums", "counts")
    weighted = False
    needs_all_feedback = False  # missing losses do not change the mean of the others
    additive_state = ("sums", "counts")

    def __init__(self, algorithm: MeansAlgorithm, problem: Problem, seed: Seed) -> None:
        arms = problem.arms
        shape = estimate_shape(algorithm, problem, cross=algorithm.cross_learning)
        setting = MeansSetting(
            rule=algorithm.rule,
            scale=algorithm.scale(problem),
            in_ranges=problem.graph.in_ranges,
            own_column=np.ones((1, 1)),
            cross=algorithm.cross_learning,
        )
        state = MeansState(
            sums=zeros(type(algorithm).__name__, shape, problem.form.dtype),
            counts=np.zeros(shape[:2]),
            lower=np.zeros(arms),
            upper=np.zeros(arms),
            weights=np.ones(arms),
            chosen=np.zeros(arms),
            revealed=np.zeros(arms, dtype=np.int64),
        )
        super().__init__(algorithm, problem, state, setting, seed=seed)
