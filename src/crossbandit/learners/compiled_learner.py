"""The learner of algorithms whose steps are kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.kernels.loops import EstimateState, KnownGraph, Round, Steps, count_nothing
from crossbandit.learners.learner import Learner
from crossbandit.learners.learner_base import AlgorithmT
from crossbandit.losses.forms import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.kernels.loops import Answers, Plays
    from crossbandit.kernels.rounds import ContextBlock, Rounds
    from crossbandit.learners.algorithm import Algorithm
    from crossbandit.learners.decisions import PendingDecision
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Floats, Integers


class CompiledLearner(Learner[AlgorithmT]):
    """A learner whose steps are kernels. `act`, `learn` and the compiled loops call the same ones.

    Derive from it, set `steps`, and start it with arrays and a setting. Then it can also be saved,
    simulated, and used in batches. docs/how-to/add-an-algorithm.md has an example.

    Args:
        algorithm: The parameters of the algorithm.
        problem: What is known before the first round.
        arrays: The state, a NamedTuple of arrays. It has at least `weights` and `revealed`, a
            number for each arm. `estimate_state` makes the usual one.
        setting: What the kernels need and do not change: a number, an array, or a NamedTuple of
            them.
        seed: An int, a SeedSequence or a Generator.
        graph: What plays reveal; the graph of the problem if None.

    Attributes:
        steps: The kernels.
        stored: The arrays that `state` returns; all if empty.
        weighted: Whether a decision carries the weights of the round. False if all losses have
            the same weight.
        arrays: The state.
        setting: What does not change.
    """

    steps: ClassVar[Steps]
    stored: ClassVar[tuple[str, ...]] = ()
    weighted: ClassVar[bool] = True

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        arrays: Any,
        setting: Any,
        *,
        seed: Seed,
        graph: FeedbackGraph | None = None,
    ) -> None:
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.arrays = arrays
        self.setting = setting
        ranges = (self.graph.in_ranges, self.graph.out_ranges)
        self._known_graph = KnownGraph(*ranges, changing=self.graph_kind != "fixed")
        self._in_ranges = self.graph.in_ranges

    def random_numbers(self, rounds: int | None = None) -> Any:
        """Return the random numbers of one round, or of many: those that `play` takes.

        By default, a round has one number from 0 to 1.

        Args:
            rounds: How many rounds; None for one.

        Returns:
            A number, or an array with an entry for each round.
        """
        return self.generator.random(rounds)

    def round_of(self, context: Context, readout: Readout) -> Round:
        """Return the next round as kernels take it.

        Args:
            context: The context: a number, or a tuple of features.
            readout: How the context reads rows, and which arms are available.
        """
        # A feature vector has no number: the kernels read it through its readout only.
        number = context if isinstance(context, int) else 0
        return Round(self.round, number, readout, self._in_ranges)

    def distribution(self, context: Context, readout: Readout) -> Floats:
        if self.steps.policy is None:
            return super().distribution(context, readout)
        out = np.empty(self.problem.arms)
        now = self.round_of(context, readout)
        self.call(self.steps.policy, self.arrays, self.setting, now, out)
        return out

    def play(self, pending: PendingDecision) -> float:
        now, number = self._now(pending), self.random_numbers()
        pending.arm, probability = self.call(
            self.steps.play, self.arrays, self.setting, now, number
        )
        if self.weighted:
            pending.weights = self.arrays.weights.copy()
        return float(probability)

    def count_round(self, pending: PendingDecision) -> None:
        if self.steps.count is not count_nothing:
            self.call(self.steps.count, self.arrays, self.setting, self._now(pending))

    def update(self, pending: PendingDecision, rows: Floats) -> None:
        weights = pending.weights if self.weighted else self.arrays.weights
        if weights is not None:
            feedback, now = self.feedback(pending, rows), self._now(pending)
            self.call(
                self.steps.learn, self.arrays, self.setting, now, pending.arm, weights, feedback
            )

    def play_many(self, contexts: ContextBlock, numbers: Integers, plays: Plays) -> None:
        """Play rounds from the present one on, and fill in what was done.

        Args:
            contexts: How the context of each round reads.
            numbers: The number of each context; empty if contexts have none.
            plays: Arrays for the results.
        """
        step = (self.arrays, self.setting, self._known_graph)
        random = self.random_numbers(plays.arms.size)
        self.steps.play_many(*step, contexts, numbers, self.round, random, plays)

    def update_many(
        self, contexts: ContextBlock, numbers: Integers, last: int, answers: Answers
    ) -> None:
        """Learn from the feedback of decisions, in their order.

        Args:
            contexts: How the context of each decision reads.
            numbers: The number of each context; empty if contexts have none.
            last: The round that was played last, before new ones are counted.
            answers: The feedback.
        """
        del last
        step = (self.arrays, self.setting, self._known_graph)
        self.steps.learn_many(*step, contexts, numbers, answers)

    def simulate(self, rounds: Rounds) -> None:
        """Play a batch of rounds, compiled.

        Args:
            rounds: What happens in the rounds; what was done is filled in.
        """
        step = (self.arrays, self.setting, self._known_graph)
        count = rounds.arms.size
        self.steps.simulate(*step, rounds, self.round, self.random_numbers(count))
        self.round += count

    def state(self) -> Mapping[str, npt.NDArray[Any]]:
        return {name: getattr(self.arrays, name) for name in self.stored or self.arrays._fields}

    def _now(self, pending: PendingDecision) -> Round:
        context, graph = pending.context, pending.graph
        ranges = self._in_ranges if graph is None else graph.in_ranges
        number = context if isinstance(context, int) else 0
        return Round(pending.round, number, pending.readout, ranges)


def scratch(arms: int) -> dict[str, Any]:
    """Return scratch arrays, which every round sets again, by the names that most states use.

    Args:
        arms: How many arms there are.
    """
    return {
        "weights": np.zeros(arms),
        "chosen": np.zeros(arms),
        "sums": np.zeros((2, arms + 1)),
        "revealed": np.zeros(arms, dtype=np.int64),
    }


def estimate_shape(algorithm: Algorithm, problem: Problem, *, cross: bool) -> tuple[int, int, int]:
    """Return the shape of estimates: one copy for all contexts, or a copy for each context.

    Args:
        algorithm: The algorithm.
        problem: The problem.
        cross: Whether every context learns from a round.

    Returns:
        (copies, arms, columns).

    Raises:
        InvalidParameterError: Without cross-learning, the problem must have a list of contexts.
    """
    if cross:
        return 1, problem.arms, problem.form.columns
    return algorithm.require_contexts(problem), problem.arms, 1


def estimate_state(algorithm: Algorithm, problem: Problem) -> EstimateState:
    """Return the state of an algorithm that keeps a sum of weighted losses for each arm.

    Args:
        algorithm: The algorithm, for the message if there is too little memory.
        problem: The problem.

    Raises:
        OutOfMemoryError: The estimates need more memory than there is.

    >>> from crossbandit import CrossGraph, Problem, graphs
    >>> estimate_state(CrossGraph(), Problem(graphs.complete(3), contexts=5)).estimates.shape
    (1, 3, 5)
    """
    shape = estimate_shape(algorithm, problem, cross=True)
    return EstimateState(
        estimates=zeros(type(algorithm).__name__, shape, problem.form.dtype),
        bias=np.zeros(shape[:2]),
        **scratch(problem.arms),
    )
