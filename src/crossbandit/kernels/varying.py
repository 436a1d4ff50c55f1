"""One round of Algorithm 2 if each round has its own graph, and a batch of rounds.

If the graph depends on the round: the probability of observing an arm is linear in the mean policy
of the snapshots. So this mean is estimated in each epoch, and the graph of a round is applied to it
when the round's losses are weighted. If all rounds have one graph, all numbers are those of
`epochs`.

If the graph depends on the context: the probability of observing an arm is a mean over the graphs
of all contexts. So the graph of each counted round is applied to the policy of that round, and the
masses are averaged.
"""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.epochs import (
    LIVE,
    EpochParameters,
    EpochState,
    keep_snapshot,
    play_round,
    set_upcoming,
    set_weights,
    weigh,
)
from crossbandit.kernels.ranges import (
    ArmRanges,
    has_self_loop,
    in_ranges_at,
    out_ranges_at,
    range_masses,
)
from crossbandit.kernels.rounds import Readout, Rounds, feedback_of, readout_at, record
from crossbandit.kernels.rows import add_revealed
from crossbandit.kernels.simplex import copy_vector
from crossbandit.types import Floats


class VaryingState(NamedTuple):
    """The state of Algorithm 2 with changing graphs.

    In `epochs`, the denominators, the weights and the special arm are those of the last pair.
    """

    epochs: EpochState
    # (K,): sum of r_{e,c} over the frequency rounds of the epoch before; or, by context, of
    # r_{e,c}(N_in_c(a))
    observing: Floats
    # (K,): sum of r_{e,c} over its loss rounds; or, by context, over those in which the arm has no
    # self-loop
    heaviest: Floats


class VaryingGraphs(NamedTuple):
    """What is known of the graphs in advance."""

    explore: Floats  # as in EpochGraph
    always_loops: bool  # whether no graph lacks a self-loop, so that no arm is special
    by_context: bool  # whether the graph is a function of the context


@inlined
def play(
    state: VaryingState,
    parameters: EpochParameters,
    graphs: VaryingGraphs,
    first: ArmRanges,
    own: ArmRanges,
    readout: Readout,
    round_: int,
    uniform: float,
    split: float,
    retain: float,
) -> tuple[int, float, int, bool]:
    """Play one round and, if it is the second of its pair, close the pair. Changes `state`.

    first, own: which arms reveal each arm in the first round of the pair, and in this round; for
    the first round, `first` is not used. Returns what `epochs.play` returns. When the pair is
    closed, the weights in `state` are those of its loss-estimation round.
    """
    inner = state.epochs
    if round_ == (inner.epoch[0] + 1) * parameters.epoch_length:
        _enter_epoch(state)
    arm, probability, loss_side = play_round(
        inner, parameters, graphs.explore, readout, round_, uniform, split
    )
    if loss_side < 0:
        return arm, probability, loss_side, False
    in_ranges, counted = (first, own) if loss_side == 0 else (own, first)
    _count_frequency(state, parameters, graphs, readout, 1 - loss_side, counted)
    if not graphs.always_loops:
        _count_mass(state, parameters, graphs, readout, loss_side, in_ranges)
    if inner.epoch[0] == 0:
        return arm, probability, loss_side, False
    if graphs.by_context:
        copy_vector(state.observing, inner.denominators)
        set_weights(inner, parameters)
    else:
        weigh(inner, parameters, in_ranges, state.observing)
    special = -1 if graphs.always_loops else _special_arm(state, graphs, in_ranges)
    inner.special[0] = special
    if special >= 0:
        inner.bias[LIVE, special] += parameters.beta / inner.denominators[special]
    return arm, probability, loss_side, retain < inner.retention[loss_side]


@inlined
def _enter_epoch(state: VaryingState) -> None:
    inner = state.epochs
    keep_snapshot(inner)
    copy_vector(inner.frequency, state.observing)
    copy_vector(inner.mass, state.heaviest)
    for a in range(inner.mass.size):
        inner.frequency[a] = 0.0
        inner.mass[a] = 0.0


@inlined
def _count_frequency(
    state: VaryingState,
    parameters: EpochParameters,
    graphs: VaryingGraphs,
    readout: Readout,
    round_of_pair: int,
    in_ranges: ArmRanges,
) -> None:
    """Count the policy of the frequency round; by context, what it observes with its graph."""
    inner = state.epochs
    set_upcoming(inner, parameters, graphs.explore, round_of_pair, readout)
    upcoming = inner.snapshot
    if graphs.by_context:
        range_masses(in_ranges, upcoming, inner.sums, inner.chosen)
        upcoming = inner.chosen
    for a in range(upcoming.size):
        inner.frequency[a] += upcoming[a]


@inlined
def _count_mass(
    state: VaryingState,
    parameters: EpochParameters,
    graphs: VaryingGraphs,
    readout: Readout,
    round_of_pair: int,
    in_ranges: ArmRanges,
) -> None:
    """Count the policy of the loss round; by context, that of its arms without self-loop."""
    inner = state.epochs
    set_upcoming(inner, parameters, graphs.explore, round_of_pair, readout)
    upcoming = inner.snapshot
    for a in range(upcoming.size):
        if not graphs.by_context or not has_self_loop(in_ranges, a):
            inner.mass[a] += upcoming[a]


@inlined
def _special_arm(state: VaryingState, graphs: VaryingGraphs, in_ranges: ArmRanges) -> int:
    """Return the arm without self-loop that snapshots play most; -1 if all have one.

    By context, it is an arm that lacked a self-loop in the epoch before.
    """
    special = -1
    for a in range(state.heaviest.size):
        if graphs.by_context:
            candidate = state.heaviest[a] > 0.0
        else:
            candidate = not has_self_loop(in_ranges, a)
        if candidate and (special < 0 or state.heaviest[a] > state.heaviest[special]):
            special = a
    return special


@compiled
def simulate(
    state: VaryingState,
    parameters: EpochParameters,
    graphs: VaryingGraphs,
    rounds: Rounds,
    start: int,
    uniforms: Floats,
) -> None:
    """Play `rounds`, of which the first has the even number `start`.

    Fills in what was done and changes `state`. uniforms: as in `epochs.simulate`.
    """
    inner = state.epochs
    arms = state.observing.size
    at = 0
    for i in range(rounds.arms.size):
        readout = readout_at(rounds.contexts, i)
        closes = (i & 1) == 1
        split, retain = (uniforms[at + 1], uniforms[at + 2]) if closes else (0.0, 0.0)
        own = in_ranges_at(rounds.graphs, i, arms)
        first = in_ranges_at(rounds.graphs, i - 1, arms) if closes else own
        arm, _, loss_side, retained = play(
            state, parameters, graphs, first, own, readout, start + i, uniforms[at], split, retain
        )
        at += 3 if closes else 1
        record(rounds, i, arm)
        if retained:
            j = i - 1 + loss_side
            revealing = out_ranges_at(rounds.graphs, j, arms)
            feedback = feedback_of(rounds, j, revealing, inner.revealed)
            add_revealed(inner.estimates, LIVE, inner.weights, feedback)
