"""One round of the learners for stochastic losses: those that keep means, and LinUCB.

The learners that keep means count how often each arm was observed, and sum up its losses. With
cross-learning they do this once for all contexts, because a revealed row has a loss for every
context. Otherwise they do it for each context separately.

LinUCB is a ridge regression for each arm. A context has a vector of features for each arm: the
coefficients of its readout. If losses are dense, each context reads one column, and its vector is
the indicator of that column. So each context has a *block* of one column. If losses are linear,
there is one block for all contexts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.rows import add_to_estimates, loss_at
from crossbandit.kernels.simplex import draw, may_play
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round
    from crossbandit.kernels.ranges import ArmRanges
    from crossbandit.kernels.rounds import Feedback

OPTIMISM, ELIMINATION = 0, 1  # the rules by which `play` chooses an arm


class MeansSetting(NamedTuple):
    """What does not change during a run."""

    rule: int  # OPTIMISM or ELIMINATION; not used by `play_sampled`
    scale: float  # the parameter of the rule
    in_ranges: ArmRanges
    own_column: Floats  # (1, 1): a 1; how a context reads sums of its own
    cross: bool  # whether every context learns from a round


class MeansState(NamedTuple):
    """The state of a learner: one copy of the sums for all contexts, or a copy for each."""

    sums: Floats  # (1, K, columns), or (M, K, 1) without cross-learning
    counts: Floats  # (copies, K): how often each arm was observed
    lower: Floats  # (K,), scratch: bounds on the mean losses of the round's context
    upper: Floats  # (K,), scratch
    weights: Floats  # (K,): 1, every loss counts once
    chosen: Floats  # (K,), scratch: the policy of the round's context
    revealed: Integers  # (K,), scratch


@inlined
def observing_arm(in_ranges: ArmRanges, lower: Floats, available: Booleans, b: int) -> int:
    """Return the available arm with the least lower bound that reveals `b`; `b` if there is none.

    If `b` reveals itself, it is returned. Ties go to the smallest arm.
    """
    best, least = b, math.inf
    for i in range(in_ranges.starts[b], in_ranges.starts[b + 1]):
        for a in range(in_ranges.first[i], in_ranges.last[i] + 1):
            if a == b:
                return b
            if may_play(available, a) and (best == b or lower[a] < least):
                best, least = a, lower[a]
    return best


@inlined
def optimistic_arm(in_ranges: ArmRanges, lower: Floats, upper: Floats, available: Booleans) -> int:
    """Return the arm to play by optimism: that with the least lower bound, or one that reveals it.

    An arm that does not reveal itself is played only if its upper bound is at most all other lower
    bounds. Until then the best arm that reveals it is played instead.
    """
    best = -1
    for a in range(lower.size):
        if may_play(available, a) and (best < 0 or lower[a] < lower[best]):
            best = a
    other = observing_arm(in_ranges, lower, available, best)
    if other == best:
        return best
    for a in range(lower.size):
        if a != best and may_play(available, a) and lower[a] < upper[best]:
            return other
    return best


@inlined
def _set_means(state: MeansState, setting: MeansSetting, now: Round) -> int:
    """Set `state.lower` to the mean losses of one context, 0 if unobserved; return the copy."""
    copy, readout = 0 if setting.cross else now.context, now.readout
    coefficients = readout.coefficients if setting.cross else setting.own_column
    offset = readout.offset if setting.cross else 0
    for a in range(state.lower.size):
        own = min(a, coefficients.shape[0] - 1)
        total = 0.0
        for i in range(coefficients.shape[1]):
            total += state.sums[copy, a, offset + i] * coefficients[own, i]
        state.lower[a] = total / max(state.counts[copy, a], 1.0)
    return copy


@inlined
def _set_bounds(state: MeansState, setting: MeansSetting, now: Round) -> int:
    """Set bounds on the mean losses of one context; return the copy."""
    copy = _set_means(state, setting, now)
    arms, scale = state.lower.size, setting.scale
    for a in range(arms):
        n = state.counts[copy, a]
        if n == 0.0:
            state.lower[a] = -math.inf
            state.upper[a] = math.inf
            continue
        if setting.rule == OPTIMISM:
            radius = math.sqrt(scale * math.log(now.number + 1.0) / n)
        else:
            radius = math.sqrt(math.log(2.0 * arms * n * (n + 1.0) / scale) / (2.0 * n))
        state.upper[a] = state.lower[a] + radius
        state.lower[a] -= radius
    return copy


@inlined
def policy(state: MeansState, setting: MeansSetting, now: Round, out: Floats) -> None:
    """Set `out` (K,) to the policy of a round."""
    copy = _set_bounds(state, setting, now)
    available, lower, upper = now.readout.available, state.lower, state.upper
    for a in range(out.size):
        out[a] = 0.0
    if setting.rule == OPTIMISM:
        out[optimistic_arm(setting.in_ranges, lower, upper, available)] = 1.0
        return
    least_upper = math.inf
    for a in range(out.size):
        if may_play(available, a):
            least_upper = min(least_upper, upper[a])
    active, fewest, ties = 0, math.inf, 0
    for a in range(out.size):
        if may_play(available, a) and lower[a] <= least_upper:
            active += 1
            if state.counts[copy, a] < fewest:
                fewest, ties = state.counts[copy, a], 0
            if state.counts[copy, a] == fewest:
                ties += 1
    for a in range(out.size):
        if may_play(available, a) and lower[a] <= least_upper and state.counts[copy, a] == fewest:
            seen = a if active == 1 else observing_arm(setting.in_ranges, lower, available, a)
            out[seen] += 1.0 / ties


@inlined
def play(state: MeansState, setting: MeansSetting, now: Round, uniform: float) -> tuple[int, float]:
    """Return an arm drawn from the policy of a round, and its probability."""
    policy(state, setting, now, state.chosen)
    arm = draw(state.chosen, uniform)
    return arm, state.chosen[arm]


@inlined
def play_sampled(
    state: MeansState, setting: MeansSetting, now: Round, normals: Floats
) -> tuple[int, float]:
    """Return the arm whose sampled mean loss is least, and NaN. normals: (K,), standard normal.

    The mean of an arm that was observed n times is normal around (its sum + 1/2) / (n + 1), with
    standard deviation scale / sqrt(n + 1).
    """
    copy = _set_means(state, setting, now)
    best, least = -1, math.inf
    for a in range(state.lower.size):
        n = state.counts[copy, a]
        mean = (state.lower[a] * n + 0.5) / (n + 1.0)
        sampled = mean + setting.scale * normals[a] / math.sqrt(n + 1.0)
        if may_play(now.readout.available, a) and (best < 0 or sampled < least):
            best, least = a, sampled
    return best, math.nan


@inlined
def learn(
    state: MeansState,
    setting: MeansSetting,
    now: Round,
    arm: int,
    weights: Floats,
    feedback: Feedback,
) -> None:
    """Count and sum up the losses of a round, in all contexts or in its own."""
    copy = 0 if setting.cross else now.context
    for b in feedback.arms:
        state.counts[copy, b] += 1.0
    add_to_estimates(state.sums, setting.cross, now.context, weights, feedback, now.readout)


class LinearState(NamedTuple):
    """The state of LinUCB."""

    inverses: Floats  # (blocks, K, width, width): inverse of the identity plus sums of x x^T
    responses: Floats  # (blocks, K, width): sums of loss * x
    lower: Floats  # (K,), scratch: bounds on the losses of the round's context
    upper: Floats  # (K,), scratch
    product: Floats  # (width,), scratch: inverse times x
    weights: Floats  # (K,): 1, every loss counts once
    revealed: Integers  # (K,), scratch


@inlined
def play_linear(state: LinearState, width: float, now: Round, number: float) -> tuple[int, float]:
    """Return the arm to play in one context, and 1. Changes scratch arrays only."""
    readout = now.readout
    block, coefficients = readout.offset, readout.coefficients
    features = coefficients.shape[1]
    for a in range(state.lower.size):
        x = coefficients[min(a, coefficients.shape[0] - 1)]
        mean, variance = 0.0, 0.0
        for i in range(features):
            row = 0.0
            for j in range(features):
                row += state.inverses[block, a, i, j] * x[j]
            mean += row * state.responses[block, a, i]
            variance += row * x[i]
        radius = width * math.sqrt(max(variance, 0.0))
        state.lower[a] = mean - radius
        state.upper[a] = mean + radius
    return optimistic_arm(now.in_ranges, state.lower, state.upper, readout.available), 1.0


@inlined
def policy_linear(state: LinearState, width: float, now: Round, out: Floats) -> None:
    """Set `out` (K,) to 1 for the arm to play in one context, and to 0 for all others."""
    for a in range(out.size):
        out[a] = 0.0
    arm, _ = play_linear(state, width, now, 0.0)
    out[arm] = 1.0


@inlined
def learn_linear(
    state: LinearState, width: float, now: Round, arm: int, weights: Floats, feedback: Feedback
) -> None:
    """Learn the losses of a round at its own context: one step of Sherman and Morrison per arm."""
    readout = now.readout
    block, coefficients = readout.offset, readout.coefficients
    features, product = coefficients.shape[1], state.product
    for k in range(feedback.arms.size):
        b = feedback.arms[k]
        x = coefficients[min(b, coefficients.shape[0] - 1)]
        loss = loss_at(feedback.losses, feedback.round, feedback.places[k], b, readout)
        denominator = 1.0
        for i in range(features):
            row = 0.0
            for j in range(features):
                row += state.inverses[block, b, i, j] * x[j]
            product[i] = row
            denominator += row * x[i]
            state.responses[block, b, i] += loss * x[i]
        for i in range(features):
            for j in range(features):
                state.inverses[block, b, i, j] -= product[i] * product[j] / denominator
