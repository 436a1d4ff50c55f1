"""One round of exponential weights with graph feedback and exploration.

All algorithms of this kind use the same step with other numbers: which arms are explored, how
often, and what is added to observation probabilities. They learn from a round in every context
(cross-learning), or only in its own. The last functions are the steps of `PerContextAlgorithm`,
which has a separate learner for each context.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import Feedback, Readout
from crossbandit.kernels.rows import add_losses, add_to_estimates
from crossbandit.kernels.simplex import (
    context_weights,
    draw,
    exponential_weights,
    heaviest,
    may_play,
)
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round


class ExponentialParameters(NamedTuple):
    """The constants of a learner; those that an algorithm does not have are 0."""

    eta: float  # the learning rate
    rho: float  # the probability of exploration
    gamma: float  # the implicit exploration of arms with a self-loop
    beta: float  # the pessimistic correction of an arm without self-loop
    scale: float  # how fast rates adapt to the entropy of the policies; 0 if they are fixed


class ExponentialSetting(NamedTuple):
    """What does not change during a run: the parameters, the graph, and how it is explored."""

    parameters: ExponentialParameters
    in_ranges: ArmRanges
    exploration: Floats  # (K,): the distribution of arms that are explored
    implicit: Floats  # (K,): what is added to the observation probability of each arm
    loopless: Integers  # the arms without self-loop, ascending; (0,) if nothing is corrected
    own_column: Floats  # (1, 1): a 1; how a context reads estimates of its own
    cross: bool  # whether every context learns from a round
    exponent: float  # how strongly the entropy counts, if rates adapt
    spread: float  # 1 / (least probability with which exploration reveals an arm), or 0
    floor: float  # eta times this is the least exploration, if rates adapt


class ExponentialState(NamedTuple):
    """The state of a learner: one copy of estimates for all contexts, or a copy for each."""

    estimates: Floats  # (1, K, columns), or (M, K, 1) without cross-learning
    bias: Floats  # (copies, K): sums of the pessimistic correction
    rates: Floats  # (copies, 2): eta and rho of the next round
    entropies: Floats  # (copies, 2): the sum of the entropies of all policies, and how many
    weights: Floats  # (K,): the weight of each arm's loss in the round played last
    chosen: Floats  # (K,), scratch: the policy of the round's context
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def _exponential_weights(
    state: ExponentialState, setting: ExponentialSetting, now: Round, out: Floats
) -> None:
    """Set `out` (K,) to the exponential weights of one context."""
    context, readout = now.context, now.readout
    if setting.cross:
        context_weights(state.estimates, state.bias, 0, readout, state.rates[0, 0], 0.0, out)
        return
    own, eta = Readout(0, setting.own_column, readout.available), state.rates[context, 0]
    context_weights(state.estimates, state.bias, context, own, eta, 0.0, out)


@inlined
def _explore(exploration: Floats, available: Booleans, rho: float, out: Floats) -> None:
    """Set `out` (K,) to (1 - rho) * out + rho * exploration.

    Only available arms are explored. If no arm with exploration is available, all available arms
    share it equally.
    """
    if rho == 0.0:
        return
    total, arms = 0.0, 0
    for a in range(out.size):
        if may_play(available, a):
            total += exploration[a]
            arms += 1
    for a in range(out.size):
        if may_play(available, a):
            explored = exploration[a] / total if total > 0.0 else 1.0 / arms
            out[a] = (1.0 - rho) * out[a] + rho * explored


@inlined
def policy(state: ExponentialState, setting: ExponentialSetting, now: Round, out: Floats) -> None:
    """Set `out` (K,) to (1 - rho) * exponential weights + rho * exploration, for one context."""
    _exponential_weights(state, setting, now, out)
    rho = state.rates[0 if setting.cross else now.context, 1]
    _explore(setting.exploration, now.readout.available, rho, out)


@inlined
def _adapt(state: ExponentialState, setting: ExponentialSetting, copy: int) -> None:
    """Add the entropy of `state.chosen` (K,), exponential weights, and set the next rates."""
    entropy = 0.0
    for a in range(state.chosen.size):
        if state.chosen[a] > 0.0:
            entropy -= state.chosen[a] * math.log(state.chosen[a])
    largest = math.log(state.chosen.size)
    state.entropies[copy, 0] += entropy
    state.entropies[copy, 1] += 1.0
    total, count = state.entropies[copy]
    growth = setting.parameters.scale * (1.0 + total / largest) ** -setting.exponent
    eta = 1.0 / (1.0 / state.rates[copy, 0] + growth)
    mean = (1.0 + total / largest) / (1.0 + count)
    state.rates[copy, 0] = eta
    state.rates[copy, 1] = min(math.sqrt(setting.spread * mean * eta) + setting.floor * eta, 0.5)


@inlined
def weigh(
    setting: ExponentialSetting, in_ranges: ArmRanges, state: ExponentialState, arm: int
) -> None:
    """Set `state.weights` to 1 / (probability of observing each arm + implicit exploration).

    `state.chosen` is the policy of the round, and in_ranges its graph. If the arm played reveals b,
    the mass of b's in-neighbourhood is at least the probability of that arm. The maximum ensures it
    despite rounding, so nothing is divided by 0.
    """
    chosen, weights = state.chosen, state.weights
    range_masses(in_ranges, chosen, state.sums, weights)
    for b in range(weights.size):
        weights[b] = 1.0 / max(weights[b] + setting.implicit[b], chosen[arm])


@inlined
def _correct(state: ExponentialState, setting: ExponentialSetting, copy: int) -> None:
    """Add the pessimistic correction to the arm without self-loop that is played most."""
    chosen, loopless = state.chosen, setting.loopless
    special = heaviest(loopless, chosen)
    range_masses(setting.in_ranges, chosen, state.sums, state.weights)
    observed = state.weights[special] + setting.implicit[special]
    if observed > 0.0:  # 0 if no other arm is available: then there is nothing to correct
        state.bias[copy, special] += setting.parameters.beta / observed


@inlined
def count(state: ExponentialState, setting: ExponentialSetting, now: Round) -> None:
    """Set `state.chosen` to the policy of a round, and make all changes that need no feedback."""
    chosen, copy = state.chosen, 0 if setting.cross else now.context
    rho = state.rates[copy, 1]
    _exponential_weights(state, setting, now, chosen)
    if setting.parameters.scale > 0.0:
        _adapt(state, setting, copy)
    _explore(setting.exploration, now.readout.available, rho, chosen)
    if setting.loopless.size > 0:
        _correct(state, setting, copy)


@inlined
def play(
    state: ExponentialState, setting: ExponentialSetting, now: Round, uniform: float
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.chosen` and `state.weights`.
    """
    count(state, setting, now)
    arm = draw(state.chosen, uniform)
    weigh(setting, now.in_ranges, state, arm)
    return arm, state.chosen[arm]


@inlined
def learn(
    state: ExponentialState,
    setting: ExponentialSetting,
    now: Round,
    arm: int,
    weights: Floats,
    feedback: Feedback,
) -> None:
    """Add the weighted losses of a round, to all contexts or to its own. weights: (K,)."""
    add_to_estimates(state.estimates, setting.cross, now.context, weights, feedback, now.readout)


class PerContextState(NamedTuple):
    """The state of learners that are independent in each context: no rates, no exploration."""

    estimates: Floats  # (M, K): sums of loss estimates, a learner per row
    weights: Floats  # (K,): 1 / the probability of observing each arm in the round played last
    chosen: Floats  # (K,), scratch: p_t of the round's context
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def policy_per_context(state: PerContextState, eta: float, now: Round, out: Floats) -> None:
    """Set `out` (K,) to p_t of one context."""
    exponential_weights(state.estimates[now.context], now.readout.available, eta, 0.0, out)


@inlined
def play_per_context(
    state: PerContextState, eta: float, now: Round, uniform: float
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.weights`. If the arm played reveals b, the mass of b's in-neighbourhood is at least
    the probability of that arm. The maximum ensures it despite rounding: nothing is divided by 0.
    """
    chosen, weights = state.chosen, state.weights
    policy_per_context(state, eta, now, chosen)
    arm = draw(chosen, uniform)
    range_masses(now.in_ranges, chosen, state.sums, weights)
    for b in range(weights.size):
        weights[b] = 1.0 / max(weights[b], chosen[arm])
    return arm, chosen[arm]


@inlined
def learn_per_context(
    state: PerContextState, eta: float, now: Round, arm: int, weights: Floats, feedback: Feedback
) -> None:
    """Add the losses of a round to the estimates of its own context. weights: (K,)."""
    add_losses(weights, feedback, now.readout, state.estimates[now.context])
