"""Many decisions, or the feedback of many decisions, in one call.

Each kernel here does in a loop what a learner does for one decision, with the same steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels import adaptive, known, per_context
from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.rounds import ContextBlock, Feedback, LossBlock, add_revealed, readout_at
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.adaptive import AdaptiveGraph, AdaptiveParameters, AdaptiveState
    from crossbandit.kernels.known import Knowledge, KnownParameters, KnownState
    from crossbandit.kernels.per_context import PerContextState
    from crossbandit.kernels.ranges import ArmRanges


class Plays(NamedTuple):
    """Decisions to be made: arrays for the results."""

    arms: Integers  # (n,)
    probabilities: Floats  # (n,)
    baselines: Floats  # (n,): NaN where there is none
    weights: Floats  # (n, K)


class Answers(NamedTuple):
    """The feedback of n decisions. Decision i revealed `arms[starts[i] : starts[i + 1]]`."""

    rounds: Integers  # (n,)
    new: Booleans  # (n,): whether a round was played by a snapshot, and is to be counted
    baselines: Floats  # (n,): NaN where there is none
    weights: Floats  # (n, K)
    starts: Integers  # (n + 1,)
    arms: Integers  # (revealed,)
    places: Integers  # (revealed,): the numbers from 0
    losses: LossBlock  # one round: a row for each revealed arm


@inlined
def _feedback(answers: Answers, i: int) -> Feedback:
    first, last = answers.starts[i], answers.starts[i + 1]
    return Feedback(answers.arms[first:last], answers.places[first:last], answers.losses, 0)


@compiled
def play_adaptive(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    out_ranges: ArmRanges,
    contexts: ContextBlock,
    start: int,
    uniforms: Floats,
    plays: Plays,
) -> None:
    """Play rounds from `start` on. Changes `state`, fills `plays`. uniforms: (n,)."""
    for i in range(uniforms.size):
        readout = readout_at(contexts, i)
        plays.arms[i], plays.probabilities[i], plays.baselines[i] = adaptive.decide(
            state,
            parameters,
            graph,
            out_ranges,
            readout,
            start + i,
            uniforms[i],
            plays.weights[i],
        )


@compiled
def learn_adaptive(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    contexts: ContextBlock,
    last: int,
    answers: Answers,
) -> None:
    """Learn from decisions in their order. Changes `state`. last: the round played last."""
    for i in range(answers.rounds.size):
        readout = readout_at(contexts, i)
        if answers.new[i]:
            last += 1
            adaptive.count(state, parameters, graph, readout, last)
        adaptive.learn_late(
            state,
            parameters,
            graph,
            readout,
            answers.rounds[i],
            last,
            answers.weights[i],
            answers.baselines[i],
            _feedback(answers, i),
        )


@compiled
def play_known(
    state: KnownState,
    parameters: KnownParameters,
    knowledge: Knowledge,
    contexts: ContextBlock,
    uniforms: Floats,
    plays: Plays,
) -> None:
    """Play rounds. Changes `state`, fills `plays`. uniforms: (n,)."""
    for i in range(uniforms.size):
        readout = readout_at(contexts, i)
        plays.arms[i], plays.probabilities[i] = known.play(
            state, parameters, knowledge, readout, uniforms[i]
        )
        for a in range(state.weights.size):
            plays.weights[i, a] = state.weights[a]


@compiled
def learn_known(
    state: KnownState, parameters: KnownParameters, knowledge: Knowledge, answers: Answers
) -> None:
    """Learn from decisions in their order. Changes `state`."""
    for i in range(answers.rounds.size):
        if answers.new[i]:
            known.count(state, parameters, knowledge)
        add_revealed(state.estimates, 0, answers.weights[i], _feedback(answers, i))


@compiled
def play_per_context(
    state: PerContextState,
    eta: float,
    in_ranges: ArmRanges,
    contexts: ContextBlock,
    numbers: Integers,
    uniforms: Floats,
    plays: Plays,
) -> None:
    """Play rounds in the contexts `numbers` (n,). Changes `state`, fills `plays`."""
    for i in range(uniforms.size):
        available = readout_at(contexts, i).available
        plays.arms[i], plays.probabilities[i] = per_context.play(
            state, eta, in_ranges, numbers[i], available, uniforms[i]
        )
        for a in range(state.weights.size):
            plays.weights[i, a] = state.weights[a]


@compiled
def learn_per_context(
    state: PerContextState, contexts: ContextBlock, numbers: Integers, answers: Answers
) -> None:
    """Learn from decisions in the contexts `numbers` (n,), in their order. Changes `state`."""
    for i in range(answers.rounds.size):
        readout = readout_at(contexts, i)
        feedback = _feedback(answers, i)
        per_context.learn(state, numbers[i], readout, answers.weights[i], feedback)
