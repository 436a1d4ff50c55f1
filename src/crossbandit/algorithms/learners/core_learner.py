"""The learner of algorithms whose steps are in a compiled core."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from crossbandit.algorithms.learners.learner import AlgorithmT, Learner
from crossbandit.core.forms import reading_of
from crossbandit.core.steps import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.batches import Answers, Plays
    from crossbandit.algorithms.learners.decisions import Decision
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.blocks import ContextBlock, Rounds
    from crossbandit.core.forms import Context, Readout
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats, Integers
    from crossbandit.graphs import FeedbackGraph


class CoreLearner(Learner[AlgorithmT]):
    """A learner whose steps are in a core. `act`, `learn` and the compiled loops call the same."""

    stored: ClassVar[tuple[str, ...]] = ()  # the arrays that `state` returns; all if empty
    weighted: ClassVar[bool] = True
    usual: ClassVar[bool] = True

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        core: Any,
        *,
        seed: Seed,
        graph: FeedbackGraph | None = None,
    ) -> None:
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.core = core

    def random_numbers(self, rounds: int | None = None) -> Any:
        """Return the random numbers of one round, or of many: by default one for each."""
        numbers = self.generator.random(rounds)
        return numbers if rounds is None else numbers[:, None]

    def distribution(self, context: Context, readout: Readout) -> Floats:
        policy: Floats = self.core.policy(self.round, _number(context), reading_of(readout))
        return policy

    def play(self, pending: Decision) -> float:
        pending.arm, probability, baseline = self.core.play(
            *_round(pending), pending.graph, self.random_numbers()
        )
        pending.baseline = None if math.isnan(baseline) else baseline
        if self.weighted:
            pending.weights = self.core.state()["weights"].copy()
        return float(probability)

    def count_round(self, pending: Decision) -> None:
        at_once(*self.count_steps(pending, self.round - 1))

    def count_steps(self, pending: Decision, last: int) -> Sequence[Callable[[], Any]]:
        return (partial(self.core.count_round, *_round(pending), pending.graph, last),)

    def update(self, pending: Decision, rows: Floats) -> None:
        at_once(*self.core_steps(pending, rows, self.round - 1))

    def update_steps(
        self, pending: Decision, rows: Floats, last: int
    ) -> Sequence[Callable[[], Any]]:
        return self.core_steps(pending, rows, last)

    def core_steps(self, pending: Decision, rows: Floats, last: int) -> Sequence[Callable[[], Any]]:
        """Return the steps of the core that learn from a decision."""
        weights = pending.weights if self.weighted else self.core.state()["weights"]
        if weights is None:
            return ()
        baseline = math.nan if pending.baseline is None else pending.baseline
        learned = (weights, baseline, self.arms_of(pending), rows)
        return (partial(self.core.learn, *_round(pending), last, pending.arm, *learned),)

    def play_many(self, contexts: ContextBlock, numbers: Integers, plays: Plays) -> None:
        """Play rounds from the present one on, and fill in what was done."""
        random = self.random_numbers(plays.arms.size)
        self.core.play_many(contexts, numbers, self.round, random, plays)

    def update_many_step(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> Callable[[], Any]:
        """Return the step that learns from the feedback of decisions, in their order."""
        return partial(self.core.learn_many, contexts, numbers, last, answers)

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled."""
        count = rounds.arms.size
        self.core.simulate(rounds, self.round, self.random_numbers(count), rounds.settling())
        self.round += count

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = self.core.state()
        return {name: arrays[name] for name in self.stored or arrays}


def _number(context: Context) -> int:
    # A feature vector has no number: cores read it through its readout only.
    return context if isinstance(context, int) else 0


def _round(pending: Decision) -> tuple[int, int, tuple[Any, ...]]:
    return pending.round, _number(pending.context), reading_of(pending.readout)


def estimate_shape(algorithm: Algorithm, problem: Problem, *, cross: bool) -> tuple[int, int, int]:
    """Return the shape of estimates: one copy for all contexts, or a copy for each context."""
    if cross:
        return 1, problem.arms, problem.form.columns
    return algorithm.require_contexts(problem), problem.arms, 1
