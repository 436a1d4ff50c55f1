"""How the adaptive learner learns from a round.

`adaptive.play` does not change what determines the policy of a context. So for prompt feedback the
exponential weights of the round are still in `state.softmax`. For late feedback they are computed
again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.adaptive import growth, learning_rate, mix_exploration, softmax
from crossbandit.kernels.anchors import add_differences, anchored_estimates, pool
from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.mixability import mixability_gap
from crossbandit.kernels.rows import loss_at
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.adaptive import AdaptiveGraph, AdaptiveParameters, AdaptiveState
    from crossbandit.kernels.rounds import Feedback, Readout


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
