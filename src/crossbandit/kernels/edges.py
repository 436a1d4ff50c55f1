"""One round of exponential weights that learn the probabilities of edges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.rounds import Feedback, Readout
from crossbandit.kernels.rows import add_to_estimates
from crossbandit.kernels.simplex import context_weights, draw, may_play
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round


class EdgeSetting(NamedTuple):
    """What does not change during a run."""

    warm_up: int  # the number of rounds in which arms are played in turn
    rounds: float  # how many rounds a copy of the estimates learns from
    own_column: Floats  # (1, 1): a 1; how a context reads estimates of its own
    cross: bool  # whether every context learns from a round


class EdgeState(NamedTuple):
    """The state of a learner: one copy of estimates for all contexts, or a copy for each."""

    estimates: Floats  # (1, K, columns), or (M, K, 1) without cross-learning
    bias: Floats  # (copies, K): 0
    rates: Floats  # (2,): eta and rho; 0 until the warm-up is over, or as they were given
    played: Floats  # (K,): how often each arm was played, in rounds whose feedback arrived
    seen: Floats  # (K, K): how often playing an arm (row) revealed an arm (column)
    weights: Floats  # (K,): the weight of each arm's loss in the round played last
    chosen: Floats  # (K,), scratch: the policy of the round's context
    revealed: Integers  # (K,), scratch


@inlined
def _observation_mass(state: EdgeState, b: int) -> float:
    """Return the estimated probability that the policy in `state.chosen` reveals `b`."""
    mass = 0.0
    for a in range(state.played.size):
        if state.seen[a, b] > 0.0:
            mass += state.chosen[a] * (state.seen[a, b] / state.played[a])
    return mass


@inlined
def _rates(state: EdgeState, setting: EdgeSetting) -> tuple[float, float]:
    """Return eta and rho: as set, or computed from the edges learned so far. Changes `chosen`."""
    eta, rho = state.rates[0], state.rates[1]
    if eta > 0.0 and rho > 0.0:
        return eta, rho
    arms = state.played.size
    for a in range(arms):
        state.chosen[a] = 1.0 / arms
    least = 1.0
    for b in range(arms):
        least = min(least, max(_observation_mass(state, b), 1.0 / arms**2))
    bits = math.log(arms)
    if rho == 0.0:
        rho = min((bits / (2.0 * least * setting.rounds)) ** (1.0 / 3.0), 0.5)
    if eta == 0.0:
        eta = math.sqrt(2.0 * rho * bits * least / setting.rounds)
    return eta, rho


@inlined
def policy(state: EdgeState, setting: EdgeSetting, now: Round, out: Floats) -> None:
    """Set `out` (K,) to the policy of a round: arms in turn at first."""
    arms, available = out.size, now.readout.available
    if now.number < setting.warm_up:
        for a in range(arms):
            out[a] = 0.0
        arm = now.number % arms
        while not may_play(available, arm):
            arm = (arm + 1) % arms
        out[arm] = 1.0
        return
    eta, rho = _rates(state, setting)
    if setting.cross:
        context_weights(state.estimates, state.bias, 0, now.readout, eta, rho, out)
    else:
        own = Readout(0, setting.own_column, available)
        context_weights(state.estimates, state.bias, now.context, own, eta, rho, out)


@inlined
def play(state: EdgeState, setting: EdgeSetting, now: Round, uniform: float) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.weights`: 0 in the warm-up, and for arms that were never revealed.
    """
    chosen, weights = state.chosen, state.weights
    if now.number >= setting.warm_up:
        state.rates[0], state.rates[1] = _rates(state, setting)
    policy(state, setting, now, chosen)
    arm = draw(chosen, uniform)
    for b in range(weights.size):
        mass = _observation_mass(state, b) if now.number >= setting.warm_up else 0.0
        weights[b] = 1.0 / mass if mass > 0.0 else 0.0
    return arm, chosen[arm]


@inlined
def learn(
    state: EdgeState,
    setting: EdgeSetting,
    now: Round,
    arm: int,
    weights: Floats,
    feedback: Feedback,
) -> None:
    """Count what `arm` revealed, and add its weighted losses. weights: (K,)."""
    state.played[arm] += 1.0
    for b in feedback.arms:
        state.seen[arm, b] += 1.0
    add_to_estimates(state.estimates, setting.cross, now.context, weights, feedback, now.readout)
