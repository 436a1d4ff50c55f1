"""One round of the adaptive learner, and a loop of them.

A round is played by `play` and learned from by `absorb`. Everything that decides the policy of a
context is the same before and after `play`, so prompt feedback finds the exponential weights of
its round still in `state.softmax`; late feedback has them computed anew by `current`.

Forgetting: losses of round s count 2^((s - reference) / half_life) times, and the learning rate is
divided by the same power of the round to come. That is forgetting without touching old estimates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from crossbandit.kernels.anchors import (
    Anchors,
    anchored_estimates,
    anchored_scores,
    hide,
    lump,
    show,
)
from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.exploration import explore, floor_at
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import LossBlock, Rounds, add_row, loss_at
from crossbandit.kernels.simplex import context_weights, draw, exponential_weights
from crossbandit.types import Booleans, Floats, Integers

ROUND, REFERENCE = 0, 1
COUNT, GAP, LOW, HIGH, BASE_SUM, BASE_WEIGHT = 0, 1, 2, 3, 4, 5

# After this many half-lives the estimates are brought back to scale: 2^64 is far from overflow.
_HALF_LIVES = 64.0
_NOTHING = 1e-18


class AdaptiveParameters(NamedTuple):
    """The constants of the adaptive learner.

    A `half_life` of infinity forgets nothing; an `eta` of 0 stands for the learner's own choice.
    """

    rate: float
    exploration: float
    recency: float
    half_life: float
    eta: float


class AdaptiveGraph(NamedTuple):
    """What the adaptive learner needs to know of its graph."""

    in_ranges: ArmRanges
    out_ranges: ArmRanges
    shares: Floats  # (K,): the part of the floor that each arm is owed, 1 / K, or 1 without loop
    anchors: Anchors


class AdaptiveState(NamedTuple):
    """All that the adaptive learner keeps."""

    estimates: Floats  # (1, K, columns): sums of weighted losses, less those of the anchor
    bias: Floats  # (1, K): minus the sums of the weighted baseline, the same in every context
    played: Floats  # (K,): running mean of the distributions played
    masses: Floats  # (K,): running mean of the probabilities of being observed
    numbers: Floats  # (6,): count, mixability gap, least and largest loss, baseline as a fraction
    counters: Integers  # (2,): round to come, round at which forgetting counts as 1
    weights: Floats  # (K,), scratch: the factors of the round's revealed arms
    softmax: Floats  # (K,), scratch: exponential weights of one context
    chosen: Floats  # (K,), scratch: the same with exploration
    revealed: Floats  # (K,), scratch: losses of the revealed arms in the round's context
    inferred: Floats  # (K,), scratch: their estimates in the round's context
    shown: Booleans  # (K,), scratch: which arms are revealed; all False between two rounds
    lumps: Floats  # (K,), scratch: the distribution, each unrevealed arm's part at its anchor
    sums: Floats  # (2, K + 1), scratch


@inlined
def policy(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    first: int,
    values: Floats,
    available: Booleans,
    out: Floats,
) -> None:
    """Set `out` (K,) to the distribution of the round to come in one context."""
    keep = _power(-1.0 / parameters.half_life)
    gap, count = keep * state.numbers[GAP], keep * state.numbers[COUNT] + 1.0
    round_ = state.counters[ROUND]
    _softmax(state, parameters, graph, gap, round_, first, values, available, out)
    floor = floor_at(parameters.exploration, count)
    explore(out, state.masses, graph.shares, available, floor, out)


@inlined
def current(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    first: int,
    values: Floats,
    available: Booleans,
) -> None:
    """Set `state.softmax` to the exponential weights of a context as of the round played last."""
    last = state.counters[ROUND] - 1
    gap = state.numbers[GAP]
    _softmax(state, parameters, graph, gap, last, first, values, available, state.softmax)


@inlined
def learning_rate(state: AdaptiveState, parameters: AdaptiveParameters, gap: float) -> float:
    """Return the learning rate at a given sum of mixability gaps, before forgetting."""
    if parameters.eta > 0.0:
        return parameters.eta
    spread = state.numbers[HIGH] - state.numbers[LOW]
    if not spread > 0.0:  # nothing to compare yet: all arms are alike
        return 0.0
    rate: float = parameters.rate * math.log(state.masses.size) / (spread + gap)
    return rate


@inlined
def _power(exponent: float) -> float:
    # Without forgetting every exponent is 0, and a power takes as long as an exponential.
    return 1.0 if exponent == 0.0 else 2.0**exponent


@inlined
def _growth(state: AdaptiveState, parameters: AdaptiveParameters, round_: int) -> float:
    return _power((round_ - state.counters[REFERENCE]) / parameters.half_life)


@inlined
def _softmax(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    gap: float,
    round_: int,
    first: int,
    values: Floats,
    available: Booleans,
    out: Floats,
) -> None:
    eta = learning_rate(state, parameters, gap) / _growth(state, parameters, round_)
    if graph.anchors.order.size == 0:
        context_weights(state.estimates, state.bias, 0, first, values, available, eta, 0.0, out)
    else:
        anchored_scores(state.estimates[0], state.bias[0], graph.anchors, first, values, out)
        exponential_weights(out, available, eta, 0.0, out)


@inlined
def play(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    first: int,
    values: Floats,
    available: Booleans,
    uniform: float,
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`."""
    round_ = state.counters[ROUND]
    if (round_ - state.counters[REFERENCE]) / parameters.half_life > _HALF_LIVES:
        _rescale(state, parameters, round_)
    keep = _power(-1.0 / parameters.half_life)
    recent = keep * state.numbers[COUNT]
    state.numbers[COUNT] = recent + 1.0
    state.numbers[GAP] *= keep
    state.counters[ROUND] = round_ + 1
    current(state, parameters, graph, first, values, available)
    floor = floor_at(parameters.exploration, recent + 1.0)
    played, masses, chosen = state.played, state.masses, state.chosen
    explore(state.softmax, masses, graph.shares, available, floor, chosen)
    arm = draw(chosen, uniform)
    probability = chosen[arm]
    step = 1.0 / (1.0 + recent / parameters.recency)
    for a in range(played.size):
        played[a] += step * (chosen[a] - played[a])
    range_masses(graph.in_ranges, played, state.sums, masses)
    return arm, probability


@inlined
def baseline(state: AdaptiveState) -> float:
    """Return what the policy has lost on average of late; NaN while nothing is known of it."""
    if state.numbers[BASE_WEIGHT] > 0.0:
        base: float = state.numbers[BASE_SUM] / state.numbers[BASE_WEIGHT]
        return base
    return math.nan


@compiled
def play_and_weigh(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    first: int,
    values: Floats,
    available: Booleans,
    uniform: float,
    weights: Floats,
) -> tuple[int, float, float]:
    """Do what `play` does and set `weights` (K,); return arm, probability and baseline."""
    arm, probability = play(state, parameters, graph, first, values, available, uniform)
    floor = floor_at(parameters.exploration, state.numbers[COUNT])
    for a in range(weights.size):
        weights[a] = 1.0 / (state.masses[a] + floor * graph.shares[a])
    return arm, probability, baseline(state)


@compiled
def _rescale(state: AdaptiveState, parameters: AdaptiveParameters, round_: int) -> None:
    share = 1.0 / _growth(state, parameters, round_)
    estimates, bias = state.estimates, state.bias
    for a in range(bias.shape[1]):
        bias[0, a] *= share
        for m in range(estimates.shape[2]):
            estimates[0, a, m] *= share
    state.counters[REFERENCE] = round_


@inlined
def absorb(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    arm: int,
    round_: int,
    available: Booleans,
    weights: Floats,
    base: float,
) -> float:
    """Learn from a round all but its weighted rows; return the factor by which those count.

    `state.revealed` holds the losses of the arms that `arm` revealed, in the context of the round,
    and `state.softmax` that context's exponential weights. `weights` (K,) and `base` are what
    `play` and `baseline` gave when the round was played. An arm that was not available there
    counts for other contexts alone.
    """
    numbers, revealed, inferred, chosen = (
        state.numbers,
        state.revealed,
        state.inferred,
        state.chosen,
    )
    out_ranges, anchors = graph.out_ranges, graph.anchors
    eta = learning_rate(state, parameters, numbers[GAP])
    floor = floor_at(parameters.exploration, numbers[COUNT])
    explore(state.softmax, state.masses, graph.shares, available, floor, chosen)
    low, high = numbers[LOW], numbers[HIGH]
    total, mass, plain, count, beyond, others = 0.0, 0.0, 0.0, 0, 0.0, 0
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            loss = revealed[b]
            if available.size == 0 or available[b]:
                low, high = min(low, loss), max(high, loss)
                plain += loss
                count += 1
            else:
                beyond += loss
                others += 1
            weighted = chosen[b] * weights[b]
            total += weighted * loss
            mass += weighted
    growth = _growth(state, parameters, round_)
    if count + others == 0:
        return growth
    numbers[LOW], numbers[HIGH] = low, high
    if math.isnan(base):  # played before anything was learned: measured against itself
        base = plain / count if count > 0 else beyond / others
    step = 1.0
    if numbers[BASE_WEIGHT] > 0.0:
        step /= 1.0 + (numbers[COUNT] - 1.0) / parameters.recency
    numbers[BASE_SUM] += step * (total - numbers[BASE_SUM])
    numbers[BASE_WEIGHT] += step * (mass - numbers[BASE_WEIGHT])
    age = growth / _growth(state, parameters, state.counters[ROUND] - 1)
    if anchors.order.size == 0:
        for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                state.bias[0, b] -= growth * weights[b] * base
                inferred[b] = weights[b] * (revealed[b] - base)
        numbers[GAP] += age * mixability_gap(chosen, inferred, out_ranges, arm, eta * age)
    else:
        show(out_ranges, arm, state.shown)
        for b in anchors.roots:
            if state.shown[b]:
                state.bias[0, b] -= growth * weights[b] * base
                inferred[b] = weights[b] * (revealed[b] - base)
        anchored_estimates(anchors, state.shown, revealed, weights, inferred)
        lump(anchors, state.shown, chosen, state.lumps)
        hide(out_ranges, arm, state.shown)
        numbers[GAP] += age * mixability_gap(state.lumps, inferred, out_ranges, arm, eta * age)
    return growth


@inlined
def mixability_gap(
    chosen: Floats, estimates: Floats, out_ranges: ArmRanges, arm: int, eta: float
) -> float:
    """Return the mean of the estimates less their exponential mean; unrevealed ones are 0.

    Relative to the least estimate, exponentials are at most 1, whatever the estimates.
    """
    if not eta > 0.0:
        return 0.0
    mean, rest, mass, least = 0.0, 0.0, 0.0, math.inf
    after = 0
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(after, out_ranges.first[run]):
            rest += chosen[b]
        after = out_ranges.last[run] + 1
        for b in range(out_ranges.first[run], after):
            mean += chosen[b] * estimates[b]
            mass += chosen[b]
            if chosen[b] > 0.0:
                least = min(least, estimates[b])
    for b in range(after, chosen.size):
        rest += chosen[b]
    total = 0.0
    if rest > 0.0:
        least = min(least, 0.0)
        total = rest * math.exp(eta * least)
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            if chosen[b] > _NOTHING * total:  # or else it would not change the sum
                total += chosen[b] * math.exp(-eta * (estimates[b] - least))
    # Dividing by the sum of probabilities, which is 1 but for rounding, lets equal estimates have
    # no gap.
    return max(0.0, mean - least + math.log(total / (rest + mass)) / eta)


@compiled
def absorb_rows(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    arm: int,
    round_: int,
    first: int,
    values: Floats,
    available: Booleans,
    weights: Floats,
    base: float,
    rows: Floats,
) -> float:
    """Do what `absorb` does for feedback that comes as rows (revealed, columns), early or late."""
    current(state, parameters, graph, first, values, available)
    out_ranges = graph.out_ranges
    j = 0
    for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
        for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
            own = min(b, values.shape[0] - 1)
            loss = 0.0
            for v in range(values.shape[1]):
                loss += rows[j, first + v] * values[own, v]
            state.revealed[b] = loss
            j += 1
    return absorb(state, parameters, graph, arm, round_, available, weights, base)


@inlined
def _add(losses: LossBlock, i: int, b: int, anchor: int, weight: float, estimates: Floats) -> None:
    """Add the weighted row of arm `b` in round `i` to `estimates` (1, K, columns).

    If `anchor` is an arm and not -1, its row is taken off first.
    """
    if losses.coefficients.shape[2] == 0:  # as it is: short rows cost less than slices of them
        t = min(i, losses.base.shape[0] - 1)
        for m in range(estimates.shape[2]):
            loss = losses.base[t, b, m]
            if anchor >= 0:
                loss -= losses.base[t, anchor, m]
            estimates[0, b, m] += weight * loss
        return
    add_row(losses, i, b, weight, estimates[0, b])
    if anchor >= 0:
        add_row(losses, i, anchor, -weight, estimates[0, b])


@compiled
def simulate(
    state: AdaptiveState,
    parameters: AdaptiveParameters,
    graph: AdaptiveGraph,
    rounds: Rounds,
    uniforms: Floats,
) -> None:
    """Play `rounds`, filling in what was done, and change `state`. uniforms: one a round."""
    _, contexts, losses, arms, incurred = rounds
    out_ranges, anchors = graph.out_ranges, graph.anchors
    for i in range(arms.size):
        first = contexts.first[i]
        values = contexts.table[contexts.entry[i]]
        available = contexts.available[i]
        arm, _ = play(state, parameters, graph, first, values, available, uniforms[i])
        arms[i] = arm
        incurred[i] = loss_at(losses, i, arm, first, values)
        floor = floor_at(parameters.exploration, state.numbers[COUNT])
        for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                state.revealed[b] = loss_at(losses, i, b, first, values)
                state.weights[b] = 1.0 / (state.masses[b] + floor * graph.shares[b])
        round_ = state.counters[ROUND] - 1
        base = baseline(state)
        growth = absorb(state, parameters, graph, arm, round_, available, state.weights, base)
        for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                anchor = -1 if anchors.order.size == 0 else anchors.anchor[b]
                _add(losses, i, b, anchor, state.weights[b] * growth, state.estimates)
