"""The learner of the two baselines that learn in each context separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crossbandit.algorithms.learner import AlgorithmT, Learner
from crossbandit.errors import InvalidParameterError
from crossbandit.kernels import batches, per_context
from crossbandit.kernels.per_context import PerContextState
from crossbandit.losses.memory import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.decisions import PendingDecision
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.batches import Answers, Plays
    from crossbandit.kernels.rounds import ContextBlock, Rounds
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


class PerContextLearner(Learner[AlgorithmT]):
    """Exponential weights in each context, learned from that context's own rounds alone."""

    additive_state = ("estimates",)

    def __init__(
        self, algorithm: AlgorithmT, problem: Problem, graph: FeedbackGraph, eta: float, seed: Seed
    ) -> None:
        if problem.contexts is None:
            raise InvalidParameterError(
                f"{type(algorithm).__name__} keeps a learner for each context, and this problem "
                "has continuous contexts. Give it a table, Problem(graph, features=table), or use "
                "CrossGraph, which needs no list of contexts."
            )
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.eta = eta
        self._learners = _empty_state(
            type(algorithm).__name__, (problem.contexts, problem.arms), problem.form.dtype
        )

    def distribution(self, context: Context, readout: Readout) -> Floats:
        out = np.empty(self.problem.arms)
        per_context.policy(self._learners, self.eta, _number(context), readout.available, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        pending.arm, probability = self.call(
            per_context.play,
            self._learners,
            self.eta,
            self.graph.in_ranges,
            _number(pending.context),
            pending.readout.available,
            self.generator.random(),
        )
        pending.weights = self._learners.weights.copy()
        return float(probability)

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        if pending.weights is None:
            return
        self.call(
            per_context.learn,
            self._learners,
            _number(pending.context),
            pending.readout,
            pending.weights,
            self.feedback(pending, rows),
        )

    def play_many(
        self, contexts: ContextBlock, numbers: Integers, uniforms: Floats, plays: Plays
    ) -> None:
        step = (self._learners, self.eta, self.graph.in_ranges)
        batches.play_per_context(*step, contexts, numbers, uniforms, plays)

    def update_many(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> None:
        del last
        batches.learn_per_context(self._learners, contexts, numbers, answers)

    def tuned(self) -> Mapping[str, Any]:
        return {"eta": self.eta}

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return self._learners._asdict()

    def simulate(self, rounds: Rounds) -> int:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.

        Returns:
            How many rounds were played: fewer than given if their budget was used up.
        """
        return self.play_batch(
            rounds,
            lambda uniforms: per_context.simulate(
                self._learners,
                self.eta,
                self.graph.in_ranges,
                self.graph.out_ranges,
                rounds,
                uniforms,
            ),
        )


def _number(context: Context) -> int:
    # These learners need finitely many contexts, so each context has a number.
    return cast("int", context)


def _empty_state(owner: str, shape: tuple[int, int], dtype: npt.DTypeLike) -> PerContextState:
    arms = shape[1]
    return PerContextState(
        estimates=zeros(owner, shape, dtype),
        weights=np.zeros(arms),
        chosen=np.zeros(arms),
        sums=np.zeros((2, arms + 1)),
        revealed=np.zeros(arms, dtype=np.int64),
    )
