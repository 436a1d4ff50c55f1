"""The loops of the adaptive learner, whose rounds have a baseline beside their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.adaptive import count, decide, play, weigh
from crossbandit.kernels.adaptive_learning import learn, learn_late
from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.loops import Answers, Plays, answer
from crossbandit.kernels.rounds import ContextBlock, Rounds, feedback_of, readout_at, record
from crossbandit.types import Floats

if TYPE_CHECKING:
    from crossbandit.kernels.adaptive import AdaptiveGraph, AdaptiveParameters, AdaptiveState
    from crossbandit.kernels.ranges import ArmRanges


@compiled
def simulate(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    out_ranges: ArmRanges,
    rounds: Rounds,
    start: int,
    uniforms: Floats,
) -> None:
    """Play `rounds`, the first of which has number `start`.

    Fills in what was done and changes `state`. uniforms: (n,), one per round.
    """
    for i in range(rounds.arms.size):
        readout, t = readout_at(rounds.contexts, i), start + i
        arm, _, baseline = play(state, parameters, graph, readout, t, uniforms[i])
        record(rounds, i, arm)
        feedback = feedback_of(rounds, i, out_ranges, state.revealed)
        weigh(state, parameters, graph, feedback.arms, state.weights)
        learn(state, parameters, graph, readout, t, t, state.weights, baseline, feedback)


@compiled
def play_many(
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
        plays.arms[i], plays.probabilities[i], plays.baselines[i] = decide(
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
def learn_many(
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
            count(state, parameters, graph, readout, last)
        learn_late(
            state,
            parameters,
            graph,
            readout,
            answers.rounds[i],
            last,
            answers.weights[i],
            answers.baselines[i],
            answer(answers, i),
        )
