"""The adaptive learner if each round has its own graph: `play`, and a batch of rounds.

If the graph depends on the round, it is applied to the running mean of what was played. If it
depends on the context, the probabilities of observing each arm are averaged, each with the graph of
its round.
"""

from __future__ import annotations

from crossbandit.kernels.adaptive import (
    AdaptiveGraph,
    AdaptiveParameters,
    AdaptiveState,
    weigh,
)
from crossbandit.kernels.adaptive import play as play_on
from crossbandit.kernels.adaptive_learning import learn
from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.copying import copy_vector
from crossbandit.kernels.ranges import ArmRanges, has_self_loop, range_masses
from crossbandit.kernels.round_graphs import in_ranges_at, out_ranges_at
from crossbandit.kernels.rounds import Readout, Rounds, feedback_of, readout_at, record
from crossbandit.types import Floats


@inlined
def with_ranges(graph: AdaptiveGraph, in_ranges: ArmRanges) -> AdaptiveGraph:
    """Return the graph of a round. Changes `graph.shares`, which it shares."""
    shares = graph.shares
    for a in range(shares.size):
        shares[a] = 1.0 / shares.size if has_self_loop(in_ranges, a) else 1.0
    return AdaptiveGraph(in_ranges, shares, graph.anchors, graph.weak, graph.dominating)


@inlined
def play(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    by_context: bool,  # noqa: FBT001  # compiled code takes no keywords
    in_ranges: ArmRanges,
    readout: Readout,
    round_: int,
    uniform: float,
) -> tuple[int, float, float]:
    """Play one round on its graph; return what `adaptive.play` returns. Changes `state`.

    in_ranges: which arms reveal each arm in this round. by_context: whether the graph is a function
    of the context. `graph.shares` are changed; `graph.in_ranges` are not used.
    """
    now = with_ranges(graph, in_ranges)
    masses, before = state.masses, state.pooled  # scratch for anchors, which there are not
    if by_context:
        copy_vector(masses, before)
    elif state.counted[0] > 0.0:
        range_masses(in_ranges, state.played, state.sums, masses)
    arm, probability, baseline = play_on(state, parameters, now, readout, round_, uniform)
    if by_context:
        step = 1.0 / (1.0 + (state.counted[0] - 1.0) / parameters.recency)
        range_masses(in_ranges, state.chosen, state.sums, masses)
        for a in range(masses.size):
            masses[a] = before[a] + step * (masses[a] - before[a])
    return arm, probability, baseline


@compiled
def simulate(
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
        arm, _, baseline = play(
            state, parameters, graph, by_context, in_ranges, readout, t, uniforms[i]
        )
        record(rounds, i, arm)
        out_ranges = out_ranges_at(rounds.graphs, i, arms)
        feedback = feedback_of(rounds, i, out_ranges, state.revealed)
        now = with_ranges(graph, in_ranges)
        weigh(state, parameters, now, feedback.arms, state.weights)
        learn(state, parameters, now, readout, t, t, state.weights, baseline, feedback)
