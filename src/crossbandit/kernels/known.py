"""One round of Algorithm 1 (known context distribution): its policy, and how it is played."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.ranges import range_masses
from crossbandit.kernels.rounds import ContextBlock, Readout, readout_at
from crossbandit.kernels.simplex import context_weights, draw, heaviest
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round


class KnownParameters(NamedTuple):
    """The constants of Algorithm 1, by the paper's names."""

    eta: float
    gamma: float
    rho: float
    beta: float


class KnownSetting(NamedTuple):
    """The parameters of Algorithm 1, and the contexts that can occur with their probabilities.

    Observation masses are linear in the distribution, so the mean over contexts is taken once,
    before the masses are computed.
    """

    parameters: KnownParameters
    loopless: Integers  # the arms without self-loop, ascending
    support: ContextBlock
    probabilities: Floats  # (support,)


class KnownState(NamedTuple):
    """The state of Algorithm 1."""

    estimates: Floats  # (1, K, columns): sums of loss estimates
    bias: Floats  # (1, K): sums of the pessimistic correction
    denominators: Floats  # (K,): u_t of the round played last
    weights: Floats  # (K,): 1 / u_t
    chosen: Floats  # (K,), scratch: r_t of one context
    mean: Floats  # (K,), scratch: r_t averaged over contexts
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def policy(state: KnownState, setting: KnownSetting, now: Round, out: Floats) -> None:
    """Set `out` (K,) to r_{t,c} for the next round."""
    _read_policy(state, setting, now.readout, out)


@inlined
def _read_policy(state: KnownState, setting: KnownSetting, readout: Readout, out: Floats) -> None:
    eta, rho = setting.parameters.eta, setting.parameters.rho
    context_weights(state.estimates, state.bias, 0, readout, eta, rho, out)


@inlined
def count(state: KnownState, setting: KnownSetting, now: Round) -> None:
    """Set the weights of a round and add its pessimistic correction. Changes `state`."""
    arms = state.denominators.size
    parameters = setting.parameters
    loopless, chosen, mean = setting.loopless, state.chosen, state.mean
    for a in range(arms):
        mean[a] = 0.0
    for c in range(setting.probabilities.size):
        _read_policy(state, setting, readout_at(setting.support, c), chosen)
        for a in range(arms):
            mean[a] += setting.probabilities[c] * chosen[a]
    range_masses(now.in_ranges, mean, state.sums, state.denominators)
    for a in range(arms):
        state.denominators[a] += parameters.gamma
        state.weights[a] = 1.0 / state.denominators[a]
    if loopless.size > 0:
        special = heaviest(loopless, mean)
        state.bias[0, special] += parameters.beta / state.denominators[special]


@inlined
def play(state: KnownState, setting: KnownSetting, now: Round, uniform: float) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`."""
    policy(state, setting, now, state.chosen)  # before the correction changes it
    arm = draw(state.chosen, uniform)
    probability = state.chosen[arm]
    count(state, setting, now)
    return arm, probability
