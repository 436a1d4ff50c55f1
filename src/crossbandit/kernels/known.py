"""One round of Algorithm 1 (known context distribution), and a batch of rounds.

`add_revealed` adds the losses of a round, with the weights that `play` has set.
"""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import (
    ContextBlock,
    Readout,
    Rounds,
    add_revealed,
    feedback_of,
    is_over,
    readout_at,
    record,
)
from crossbandit.kernels.simplex import context_weights, draw
from crossbandit.types import Floats, Integers


class KnownParameters(NamedTuple):
    """The constants of Algorithm 1, by the paper's names."""

    eta: float
    gamma: float
    rho: float
    beta: float


class Knowledge(NamedTuple):
    """What Algorithm 1 knows: the graph, and the contexts that can occur with their probabilities.

    Observation masses are linear in the distribution, so the mean over contexts is taken once,
    before the masses are computed.
    """

    in_ranges: ArmRanges
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
def policy(state: KnownState, parameters: KnownParameters, readout: Readout, out: Floats) -> None:
    """Set `out` (K,) to r_{t,c} for the next round."""
    eta, rho = parameters.eta, parameters.rho
    context_weights(state.estimates, state.bias, 0, readout, eta, rho, out)


@inlined
def count(state: KnownState, parameters: KnownParameters, knowledge: Knowledge) -> None:
    """Set the weights of a round and add its pessimistic correction. Changes `state`."""
    arms = state.denominators.size
    loopless, chosen, mean = knowledge.loopless, state.chosen, state.mean
    for a in range(arms):
        mean[a] = 0.0
    for c in range(knowledge.probabilities.size):
        policy(state, parameters, readout_at(knowledge.support, c), chosen)
        for a in range(arms):
            mean[a] += knowledge.probabilities[c] * chosen[a]
    range_masses(knowledge.in_ranges, mean, state.sums, state.denominators)
    for a in range(arms):
        state.denominators[a] += parameters.gamma
        state.weights[a] = 1.0 / state.denominators[a]
    if loopless.size > 0:
        special = loopless[0]
        for a in loopless[1:]:
            if mean[a] > mean[special]:
                special = a
        state.bias[0, special] += parameters.beta / state.denominators[special]


@inlined
def play(
    state: KnownState,
    parameters: KnownParameters,
    knowledge: Knowledge,
    readout: Readout,
    uniform: float,
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`."""
    policy(state, parameters, readout, state.chosen)  # before the correction changes it
    arm = draw(state.chosen, uniform)
    probability = state.chosen[arm]
    count(state, parameters, knowledge)
    return arm, probability


@compiled
def simulate(
    state: KnownState,
    parameters: KnownParameters,
    knowledge: Knowledge,
    out_ranges: ArmRanges,
    rounds: Rounds,
    uniforms: Floats,
) -> int:
    """Play `rounds`, fill in what was done and change `state`; return how many were played.

    uniforms: (n,), one per round.
    """
    for i in range(rounds.arms.size):
        readout = readout_at(rounds.contexts, i)
        arm, _ = play(state, parameters, knowledge, readout, uniforms[i])
        record(rounds, i, arm, readout)
        add_revealed(
            state.estimates, 0, state.weights, feedback_of(rounds, i, out_ranges, state.revealed)
        )
        if is_over(rounds):
            return i + 1
    return rounds.arms.size
