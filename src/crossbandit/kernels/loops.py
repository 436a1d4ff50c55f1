"""Loops over rounds, decisions and answers: written once, compiled for each algorithm.

An algorithm has four kernels, its *steps*:

    policy(state, setting, now, out)                       sets `out` (K,) to the policy of a round
    play(state, setting, now, number) -> (arm, chance)     plays it, sets `state.weights`
    learn(state, setting, now, arm, weights, feedback)     learns from it
    count(state, setting, now)                             counts a round that a snapshot played

`state` is a NamedTuple of arrays, at least `weights` (K,) and `revealed` (K,). `setting` is all
that does not change, `now` a `Round`, `number` a random number or an array of them.

The loops below call `play`, `learn` and `count` as global names. `Steps` compiles a copy of a loop
in which these names are the kernels of one algorithm.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.kernels.compilation import compiled_with, inlined
from crossbandit.kernels.ranges import in_ranges_at, out_ranges_at
from crossbandit.kernels.rounds import (
    ContextBlock,
    Feedback,
    LossBlock,
    Readout,
    Rounds,
    feedback_of,
    readout_at,
    record,
)
from crossbandit.kernels.rows import add_revealed
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.kernels.ranges import ArmRanges

    play: Callable[..., tuple[int, float]]
    learn: Callable[..., None]
    count: Callable[..., None]


class Round(NamedTuple):
    """What is known of a round when it is played.

    Attributes:
        number: The number of the round, from 0.
        context: The number of its context; 0 if contexts have none.
        readout: How its context reads.
        in_ranges: Which arms reveal each arm.
    """

    number: int
    context: int
    readout: Readout
    in_ranges: ArmRanges


class KnownGraph(NamedTuple):
    """What a learner knows of the graph of all rounds."""

    in_ranges: ArmRanges
    out_ranges: ArmRanges
    changing: bool  # whether each round has its own graph instead


class EstimateState(NamedTuple):
    """The state of an algorithm that keeps one sum of weighted losses for each arm and column.

    Attributes:
        estimates: (1, K, columns), sums of weighted losses.
        bias: (1, K), a correction that is the same in every context.
        weights: (K,), the weight of each arm's loss in the round played last.
        chosen: (K,), scratch: the policy of the round.
        sums: (2, K + 1), scratch for `range_masses`.
        revealed: (K,), scratch: the arms that were revealed.
    """

    estimates: Floats
    bias: Floats
    weights: Floats
    chosen: Floats
    sums: Floats
    revealed: Integers


class Plays(NamedTuple):
    """Decisions to be made: arrays for the results."""

    arms: Integers  # (n,)
    probabilities: Floats  # (n,)
    baselines: Floats  # (n,): NaN where there is none
    weights: Floats  # (n, K)


class Answers(NamedTuple):
    """The feedback of n decisions. Decision i revealed `revealed[starts[i] : starts[i + 1]]`."""

    rounds: Integers  # (n,)
    arms: Integers  # (n,): the arms that were played
    new: Booleans  # (n,): whether a round was played by a snapshot, and is to be counted
    baselines: Floats  # (n,): NaN where there is none
    weights: Floats  # (n, K)
    starts: Integers  # (n + 1,)
    revealed: Integers  # the arms revealed by all decisions
    places: Integers  # 0, 1, 2, ...: as many as `revealed`
    losses: LossBlock  # one round: a row for each revealed arm


@inlined
def answer(answers: Answers, i: int) -> Feedback:
    """Return the feedback of decision `i`."""
    first, last = answers.starts[i], answers.starts[i + 1]
    return Feedback(answers.revealed[first:last], answers.places[first:last], answers.losses, 0)


@inlined
def learn_everywhere(
    state: Any, setting: Any, now: Round, arm: int, weights: Floats, feedback: Feedback
) -> None:
    """Add the weighted losses of a round to copy 0 of `state.estimates`: every context learns."""
    add_revealed(state.estimates, 0, weights, feedback)


@inlined
def count_nothing(state: Any, setting: Any, now: Round) -> None:
    """Count a round of an algorithm whose `play` changes scratch arrays only."""


def _step(*arguments: Any) -> Any:
    raise NotImplementedError  # `Steps` replaces it by kernels


play = learn = count = _step  # the names by which the loops call the steps


def _simulate(
    state: Any, setting: Any, graph: KnownGraph, rounds: Rounds, start: int, numbers: Floats
) -> None:
    """Play `rounds`, the first of which has number `start`. Fills in what was done.

    numbers: (n,) or (n, some), the random numbers of each round.
    """
    arms = state.revealed.size
    for i in range(rounds.arms.size):
        seeing, shown = graph.in_ranges, graph.out_ranges
        if graph.changing:
            seeing = in_ranges_at(rounds.graphs, i, arms)
            shown = out_ranges_at(rounds.graphs, i, arms)
        context = rounds.numbers[i] if rounds.numbers.size > 0 else 0
        now = Round(start + i, context, readout_at(rounds.contexts, i), seeing)
        arm, _ = play(state, setting, now, numbers[i])
        record(rounds, i, arm)
        feedback = feedback_of(rounds, i, shown, state.revealed)
        learn(state, setting, now, arm, state.weights, feedback)


def _play_many(
    state: Any,
    setting: Any,
    graph: KnownGraph,
    contexts: ContextBlock,
    context_numbers: Integers,
    start: int,
    numbers: Floats,
    plays: Plays,
) -> None:
    """Play rounds from `start` on, as `_simulate` does, and learn nothing. Fills `plays`."""
    for i in range(plays.arms.size):
        context = context_numbers[i] if context_numbers.size > 0 else 0
        now = Round(start + i, context, readout_at(contexts, i), graph.in_ranges)
        plays.arms[i], plays.probabilities[i] = play(state, setting, now, numbers[i])
        for a in range(state.weights.size):
            plays.weights[i, a] = state.weights[a]


def _learn_many(
    state: Any,
    setting: Any,
    graph: KnownGraph,
    contexts: ContextBlock,
    context_numbers: Integers,
    answers: Answers,
) -> None:
    """Learn from decisions in their order."""
    for i in range(answers.rounds.size):
        context = context_numbers[i] if context_numbers.size > 0 else 0
        now = Round(answers.rounds[i], context, readout_at(contexts, i), graph.in_ranges)
        if answers.new[i]:
            count(state, setting, now)
        learn(state, setting, now, answers.arms[i], answers.weights[i], answer(answers, i))


class Steps:
    """The kernels of an algorithm, and the loops that are compiled from them.

    The machine code of the loops is kept on disk beside the file of `play`. If this file changes,
    or that of another of the kernels, it is compiled again.

    Args:
        policy: Sets the policy of a round; None if arms can only be sampled.
        play: Plays a round.
        learn: Learns from a round. By default, all revealed losses are added in every context.
        count: Counts a round that a snapshot played. It is needed if `play` changes more than
            scratch arrays.
    """

    def __init__(
        self,
        policy: Callable[..., None] | None,
        play: Callable[..., tuple[int, float]],
        learn: Callable[..., None] = learn_everywhere,
        count: Callable[..., None] = count_nothing,
    ) -> None:
        self.policy, self.play, self.learn, self.count = policy, play, learn, count

    @cached_property
    def simulate(self) -> Callable[..., None]:
        """The compiled `_simulate` of these steps."""
        return self._compiled(_simulate)

    @cached_property
    def play_many(self) -> Callable[..., None]:
        """The compiled `_play_many` of these steps."""
        return self._compiled(_play_many)

    @cached_property
    def learn_many(self) -> Callable[..., None]:
        """The compiled `_learn_many` of these steps."""
        return self._compiled(_learn_many)

    def _compiled(self, loop: Callable[..., None]) -> Callable[..., None]:
        return compiled_with(loop, play=self.play, learn=self.learn, count=self.count)
