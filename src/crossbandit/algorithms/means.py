"""The learner of the algorithms for stochastic losses that keep a mean for each arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.algorithm import Algorithm
from crossbandit.algorithms.learner import Learner
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import means
from crossbandit.kernels.means import MeansSetting, MeansState
from crossbandit.losses.memory import zeros
from crossbandit.problem import GRAPH_KINDS
from crossbandit.validation import boolean

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.kernels.rounds import Rounds
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@dataclass(frozen=True, kw_only=True)
class MeansAlgorithm(Algorithm):
    """Means of observed losses, for losses that are drawn independently from one distribution.

    They learn from what is revealed, whatever the graph of the round was. Where an arm has no
    self-loop, they look for an arm that reveals it in the graph of the problem.

    If graphs change, the graph of the problem holds only the edges that every round has. An arm
    that no arm reveals in every round is played itself in order to be observed. `UcbN` and
    `SuccessiveElimination` then need that its own play reveals it now and then. If it never does,
    they play it in vain, and their regret is linear; use `TsN` or `Exp3Edges` there.

    Args:
        cross_learning: Whether a revealed row counts in every context. If not, its loss counts in
            the context of the round only.
    """

    graph_kinds: ClassVar[tuple[str, ...]] = tuple(GRAPH_KINDS)
    stochastic_only: ClassVar[bool] = True
    needs_memory: ClassVar[bool] = False
    rule: ClassVar[int]

    cross_learning: bool = True

    def __post_init__(self) -> None:
        self.settle(boolean, "cross_learning")

    def least_observability(self, kind: str) -> str:
        # A round whose graph hides an arm teaches nothing of it, and does no harm.
        return self.needs_observability if kind == "fixed" else "none"

    def start(self, problem: Problem, *, seed: Seed) -> MeansLearner:
        self.require_playable(problem)
        return MeansLearner(self, problem, self.scale(problem), seed)

    def scale(self, problem: Problem) -> float:
        """Return the number that the rule is scaled by: as it was given, or as a rule sets it.

        Args:
            problem: The problem on which a learner is to be started.

        Returns:
            The number, as the kernel takes it.
        """
        raise NotImplementedError


class MeansLearner(Learner[MeansAlgorithm]):
    """A running algorithm that keeps means."""

    needs_all_feedback = False  # missing losses do not change the mean of the others
    additive_state = ("sums", "counts")

    def __init__(
        self, algorithm: MeansAlgorithm, problem: Problem, scale: float, seed: Seed
    ) -> None:
        cross = algorithm.cross_learning
        if not cross and problem.contexts is None:
            raise InvalidParameterError(
                f"{type(algorithm).__name__} without cross-learning keeps means for each context, "
                "and this problem has continuous contexts. Give it a table, "
                "Problem(graph, features=table), or cross_learning=True."
            )
        super().__init__(algorithm, problem, seed=seed)
        arms, form = problem.arms, problem.form
        shape = (1, arms, form.columns) if cross else (problem.contexts or 1, arms, 1)
        self.scale = scale
        self._setting = MeansSetting(
            rule=algorithm.rule,
            scale=scale,
            in_ranges=self.graph.in_ranges,
            own_column=np.ones((1, 1)),
            ones=np.ones(arms),
            cross=cross,
            changing=self.graph_kind != "fixed",
        )
        self._means = MeansState(
            sums=zeros(type(algorithm).__name__, shape, form.dtype),
            counts=np.zeros(shape[:2]),
            lower=np.zeros(arms),
            upper=np.zeros(arms),
            chosen=np.zeros(arms),
            revealed=np.zeros(arms, dtype=np.int64),
        )

    def distribution(self, context: Context, readout: Readout) -> Floats:
        out = np.empty(self.problem.arms)
        state, setting = self._means, self._setting
        means.policy(state, setting, number_of(context), readout, self.round, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        probability = super().play(pending)
        pending.weights = None  # every loss counts once: a decision need not carry that
        return probability

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        self.call(
            means.learn,
            self._means,
            self._setting,
            number_of(pending.context),
            pending.readout,
            self.feedback(pending, rows),
        )

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return {"sums": self._means.sums, "counts": self._means.counts}

    def simulate(self, rounds: Rounds) -> int:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.

        Returns:
            How many rounds were played: fewer than given if their budget was used up.
        """
        return self.play_batch(rounds, lambda uniforms: self.play_loop(rounds, uniforms[:, None]))

    def play_loop(self, rounds: Rounds, numbers: Floats) -> int:
        """Play a batch of rounds with given random numbers.

        Args:
            rounds: The batch.
            numbers: The random numbers of each round, as the kernel takes them.

        Returns:
            How many rounds were played.
        """
        graph = self.graph.out_ranges
        return means.simulate(self._means, self._setting, graph, rounds, self.round, numbers)


def number_of(context: Context) -> int:
    """Return the number of a context; 0 for a feature vector, which is read by its readout only."""
    return context if isinstance(context, int) else 0
