"""Batches of rounds of the adaptive learner. Its rounds have a baseline as well as weights.

`play_changing` and `simulate_changing` are for graphs that change. If the graph depends on the
round, it is applied to the running mean of what was played. If it depends on the context, the
probabilities of observing each arm are averaged, each computed with the graph of its round.
"""

from __future__ import annotations

from crossbandit.kernels.adaptive import (
    AdaptiveGraph,
    AdaptiveParameters,
    AdaptiveState,
    count,
    decide,
    learn,
    learn_late,
    play,
    weigh,
)
from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.loops import Answers, Plays, answer
from crossbandit.kernels.ranges import (
    ArmRanges,
    has_self_loop,
    in_ranges_at,
    out_ranges_at,
    range_masses,
)
from crossbandit.kernels.rounds import (
    ContextBlock,
    Readout,
    Rounds,
    feedback_of,
    readout_at,
    record,
)
from crossbandit.kernels.simplex import copy_vector
from crossbandit.types import Floats


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


@inlined
def with_ranges(graph: AdaptiveGraph, in_ranges: ArmRanges) -> AdaptiveGraph:
    """Return the graph of a round. Changes `graph.shares`, which both graphs then share."""
    shares = graph.shares
    for a in range(shares.size):
        shares[a] = 1.0 / shares.size if has_self_loop(in_ranges, a) else 1.0
    return AdaptiveGraph(in_ranges, shares, graph.anchors, graph.weak, graph.dominating)


@inlined
def play_changing(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    by_context: bool,  # noqa: FBT001  # compiled code takes no keywords
    in_ranges: ArmRanges,
    readout: Readout,
    round_: int,
    uniform: float,
) -> tuple[int, float, float]:
    """Play one round on its graph; return what `play` returns. Changes `state`.

    in_ranges: which arms reveal each arm in this round. by_context: whether the graph is a function
    of the context. `graph.shares` are changed; `graph.in_ranges` are not used.
    """
    now = with_ranges(graph, in_ranges)
    masses, before = state.masses, state.pooled  # scratch: changing graphs have no anchors
    if by_context:
        copy_vector(masses, before)
    elif state.counted[0] > 0.0:
        range_masses(in_ranges, state.played, state.sums, masses)
    arm, probability, baseline = play(state, parameters, now, readout, round_, uniform)
    if by_context:
        step = 1.0 / (1.0 + (state.counted[0] - 1.0) / parameters.recency)
        range_masses(in_ranges, state.chosen, state.sums, masses)
        for a in range(masses.size):
            masses[a] = before[a] + step * (masses[a] - before[a])
    return arm, probability, baseline


@compiled
def simulate_changing(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    by_context: bool,  # noqa: FBT001
    rounds: Rounds,
    start: int,
    uniforms: Floats,
) -> None:
    """Play `rounds`, the first of which has number `start`.

    Fills in what was done and changes `state`. uniforms: (n,), one per round.
    """
    arms = state.masses.size
    for i in range(rounds.arms.size):
        readout, t = readout_at(rounds.contexts, i), start + i
        in_ranges = in_ranges_at(rounds.graphs, i, arms)
        arm, _, baseline = play_changing(
            state, parameters, graph, by_context, in_ranges, readout, t, uniforms[i]
        )
        record(rounds, i, arm)
        out_ranges = out_ranges_at(rounds.graphs, i, arms)
        feedback = feedback_of(rounds, i, out_ranges, state.revealed)
        now = with_ranges(graph, in_ranges)
        weigh(state, parameters, now, feedback.arms, state.weights)
        learn(state, parameters, now, readout, t, t, state.weights, baseline, feedback)
