"""One round of the adaptive learner: how it is played, and what is learned from it.

Forgetting: losses of round s count 2^((s - reference) / half_life) times, and the learning rate is
divided by the same power of the next round. So old estimates need not be changed.

`play` does not change what determines the policy of a context. So for prompt feedback the
exponential weights of the round are still in `state.softmax`. For late feedback they are computed
again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.adaptive_arithmetic import (
    Anchors,
    add_differences,
    anchored_estimates,
    anchored_scores,
    explore,
    explore_weak,
    floor_at,
    mixability_gap,
    pool,
    weak_floor_at,
)
from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, list_neighbors, range_masses
from crossbandit.kernels.rows import loss_at
from crossbandit.kernels.simplex import context_weights, draw, exponential_weights
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Feedback, Readout


# After this many half-lives the estimates are rescaled: 2^64 is far from overflow.
_HALF_LIVES = 64.0


class AdaptiveParameters(NamedTuple):
    """The constants of the adaptive learner.

    A `half_life` of infinity forgets nothing. An `eta` of 0 means the learner's own learning rate.
    """

    rate: float
    exploration: float
    recency: float
    half_life: float
    eta: float


class AdaptiveGraph(NamedTuple):
    """The graph as the adaptive learner uses it."""

    in_ranges: ArmRanges
    # (K,): the share of the floor that each arm gets: 1 / K with a self-loop, 1 without. It is 0
    # for a weakly observable arm, which has a separate floor.
    shares: Floats
    anchors: Anchors
    weak: Integers  # the weakly observable arms, ascending
    dominating: Integers  # arms that reveal them all


class AdaptiveState(NamedTuple):
    """The state of the adaptive learner."""

    estimates: Floats  # (1, K, columns): sums of weighted losses, less those of the anchor
    bias: Floats  # (1, K): minus the sums of the weighted baseline, the same in every context
    played: Floats  # (K,): running mean of the distributions played
    masses: Floats  # (K,): running mean of the probabilities of being observed
    counted: Floats  # (1,): number of rounds played, discounted
    gap: Floats  # (1,): sum of mixability gaps
    least: Floats  # (1,): the least loss revealed
    largest: Floats  # (1,): the largest loss revealed
    lost: Floats  # (1,): running mean of the policy's weighted losses
    lost_weight: Floats  # (1,): running mean of their weights; the baseline is the quotient
    reference: Integers  # (1,): the round at which losses count once
    weights: Floats  # (K,), scratch: the factors of the round's revealed arms
    softmax: Floats  # (K,), scratch: exponential weights of one context
    chosen: Floats  # (K,), scratch: the same with exploration
    losses: Floats  # (K,), scratch: losses of the revealed arms in the round's context
    inferred: Floats  # (K,), scratch: their estimates in the round's context
    shown: Booleans  # (K,), scratch: which arms are revealed; all False between two rounds
    pooled: Floats  # (K,), scratch: the distribution, with unrevealed arms' masses moved to anchors
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch
    place: Integers  # (K,), scratch: which row of the feedback holds each revealed arm


@inlined
def policy(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    round_: int,
    out: Floats,
) -> None:
    """Set `out` (K,) to the distribution of the next round, `round_`, in one context."""
    keep = _power(-1.0 / parameters.half_life)
    gap, count = keep * state.gap[0], keep * state.counted[0] + 1.0
    softmax(state, parameters, graph, readout, gap, round_, out)
    mix_exploration(state, parameters, graph, readout.available, count, out, out)


@inlined
def mix_exploration(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    available: Booleans,
    count: float,
    weights: Floats,
    out: Floats,
) -> None:
    """Set `out` (K,) to `weights`, mixed with the exploration of round number `count`."""
    floor = floor_at(parameters.exploration, count)
    explore(weights, state.masses, graph.shares, available, floor, out)
    if graph.weak.size > 0:
        lifted = weak_floor_at(parameters.exploration, count, graph.dominating.size)
        explore_weak(state.masses, graph.weak, graph.dominating, available, lifted, out)


@inlined
def learning_rate(state: AdaptiveState, parameters: AdaptiveParameters, gap: float) -> float:
    """Return the learning rate at a given sum of mixability gaps, before forgetting."""
    if parameters.eta > 0.0:
        return parameters.eta
    spread = state.largest[0] - state.least[0]
    if not spread > 0.0:  # no losses differ so far
        return 0.0
    rate: float = parameters.rate * math.log(state.masses.size) / (spread + gap)
    return rate


@inlined
def _power(exponent: float) -> float:
    # Without forgetting every exponent is 0, and a power takes as long as an exponential.
    return 1.0 if exponent == 0.0 else 2.0**exponent


@inlined
def growth(state: AdaptiveState, parameters: AdaptiveParameters, round_: int) -> float:
    """Return how many times a loss of this round counts."""
    return _power((round_ - state.reference[0]) / parameters.half_life)


@inlined
def softmax(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    gap: float,
    round_: int,
    out: Floats,
) -> None:
    """Set `out` (K,) to the exponential weights of one context, at a sum of mixability gaps."""
    eta = learning_rate(state, parameters, gap) / growth(state, parameters, round_)
    if graph.anchors.order.size == 0:
        context_weights(state.estimates, state.bias, 0, readout, eta, 0.0, out)
    else:
        anchored_scores(state.estimates[0], state.bias[0], graph.anchors, readout, out)
        exponential_weights(out, readout.available, eta, 0.0, out)


@inlined
def count(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    round_: int,
) -> None:
    """Count one round, in a context, in the running means. Changes `state`.

    `state.chosen` holds its distribution.
    """
    if (round_ - state.reference[0]) / parameters.half_life > _HALF_LIVES:
        _rescale(state, parameters, round_)
    keep = _power(-1.0 / parameters.half_life)
    recent = keep * state.counted[0]
    state.counted[0] = recent + 1.0
    state.gap[0] *= keep
    softmax(state, parameters, graph, readout, state.gap[0], round_, state.softmax)
    played, masses, chosen = state.played, state.masses, state.chosen
    available, weights = readout.available, state.softmax
    mix_exploration(state, parameters, graph, available, recent + 1.0, weights, chosen)
    step = 1.0 / (1.0 + recent / parameters.recency)
    for a in range(played.size):
        played[a] += step * (chosen[a] - played[a])
    range_masses(graph.in_ranges, played, state.sums, masses)


@inlined
def play(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    round_: int,
    uniform: float,
) -> tuple[int, float, float]:
    """Play one round; return the arm, its probability and the baseline. Changes `state`.

    The baseline is the running mean of the policy's losses; NaN if no loss was seen yet.
    """
    count(state, parameters, graph, readout, round_)
    arm = draw(state.chosen, uniform)
    baseline = math.nan
    if state.lost_weight[0] > 0.0:
        baseline = state.lost[0] / state.lost_weight[0]
    return arm, state.chosen[arm], baseline


@inlined
def weigh(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    revealed: Integers,
    out: Floats,
) -> None:
    """Set `out[b]` to the weight of each revealed arm b in the round played last. out: (K,)."""
    floor = floor_at(parameters.exploration, state.counted[0])
    for b in revealed:
        out[b] = 1.0 / (state.masses[b] + floor * graph.shares[b])
    if graph.weak.size > 0:
        members = graph.dominating.size
        lifted = weak_floor_at(parameters.exploration, state.counted[0], members) / members
        for b in revealed:
            if graph.shares[b] == 0.0:
                out[b] = 1.0 / (state.masses[b] + lifted)


@inlined
def decide(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    out_ranges: ArmRanges,
    readout: Readout,
    round_: int,
    uniform: float,
    weights: Floats,
) -> tuple[int, float, float]:
    """Play one round and set the weights of what it reveals, in `weights` (K,). Changes `state`.

    Returns what `play` returns.
    """
    arm, probability, baseline = play(state, parameters, graph, readout, round_, uniform)
    revealed = state.revealed[: list_neighbors(out_ranges, arm, state.revealed)]
    weigh(state, parameters, graph, revealed, weights)
    return arm, probability, baseline


@compiled
def _rescale(state: AdaptiveState, parameters: AdaptiveParameters, round_: int) -> None:
    share = 1.0 / growth(state, parameters, round_)
    estimates, bias = state.estimates, state.bias
    for a in range(bias.shape[1]):
        bias[0, a] *= share
        for m in range(estimates.shape[2]):
            estimates[0, a, m] *= share
    state.reference[0] = round_


@inlined
def learn_late(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    round_: int,
    last: int,
    weights: Floats,
    baseline: float,
    feedback: Feedback,
) -> None:
    """Do what `learn` does, for feedback that comes at any later time."""
    softmax(state, parameters, graph, readout, state.gap[0], last, state.softmax)
    learn(state, parameters, graph, readout, round_, last, weights, baseline, feedback)


@inlined
def learn(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    readout: Readout,
    round_: int,
    last: int,
    weights: Floats,
    baseline: float,
    feedback: Feedback,
) -> None:
    """Learn from round `round_`, where `last` is the round played last. Changes `state`.

    `state.softmax` holds the exponential weights of the round's context. `weights` (K,) and
    `baseline` are what `weigh` and `play` gave when the round was played. An arm that was not
    available in the round counts for other contexts only.
    """
    factor = growth(state, parameters, round_)
    arms, available, losses = feedback.arms, readout.available, state.losses
    if arms.size > 0:
        eta = learning_rate(state, parameters, state.gap[0])
        now = state.counted[0]
        mix_exploration(state, parameters, graph, available, now, state.softmax, state.chosen)
        least, largest = state.least[0], state.largest[0]
        here, elsewhere, total, mass, count = 0.0, 0.0, 0.0, 0.0, 0
        for j in range(arms.size):
            b = arms[j]
            loss = loss_at(feedback.losses, feedback.round, feedback.places[j], b, readout)
            losses[b] = loss
            state.place[b] = feedback.places[j]
            if available.size == 0 or available[b]:
                least, largest = min(least, loss), max(largest, loss)
                here += loss
                count += 1
            else:
                elsewhere += loss
            weighted = state.chosen[b] * weights[b]
            total += weighted * loss
            mass += weighted
        state.least[0], state.largest[0] = least, largest
        if math.isnan(baseline):  # played before anything was learned: the round's own mean
            baseline = here / count if count > 0 else elsewhere / (arms.size - count)
        step = 1.0
        if state.lost_weight[0] > 0.0:
            step /= 1.0 + (state.counted[0] - 1.0) / parameters.recency
        state.lost[0] += step * (total - state.lost[0])
        state.lost_weight[0] += step * (mass - state.lost_weight[0])
        age = factor / growth(state, parameters, last)
        state.gap[0] += age * _gap(state, graph, factor, weights, baseline, arms, eta * age)
    add_differences(state.estimates, graph.anchors, weights, factor, feedback, state.place)


@inlined
def _gap(
    state: AdaptiveState,
    graph: AdaptiveGraph,
    factor: float,
    weights: Floats,
    baseline: float,
    revealed: Integers,
    eta: float,
) -> float:
    """Subtract the baseline from the revealed arms' estimates; return the mixability gap."""
    anchors, inferred, shown = graph.anchors, state.inferred, state.shown
    if anchors.order.size == 0:
        for b in revealed:
            state.bias[0, b] -= factor * weights[b] * baseline
            inferred[b] = weights[b] * (state.losses[b] - baseline)
        return mixability_gap(state.chosen, inferred, revealed, eta)
    for b in revealed:
        shown[b] = True
    for b in anchors.roots:
        if shown[b]:
            state.bias[0, b] -= factor * weights[b] * baseline
            inferred[b] = weights[b] * (state.losses[b] - baseline)
    anchored_estimates(anchors, shown, state.losses, weights, inferred)
    pool(anchors, shown, state.chosen, state.pooled)
    for b in revealed:
        shown[b] = False
    return mixability_gap(state.pooled, inferred, revealed, eta)
