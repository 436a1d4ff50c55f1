"""One round of Algorithm 1 (known context distribution), and a loop of them."""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import ContextBlock, Rounds, add_row, loss_at
from crossbandit.kernels.simplex import context_weights, draw
from crossbandit.types import Booleans, Floats, Integers


class KnownParameters(NamedTuple):
    """The constants of Algorithm 1, by the paper's names."""

    eta: float
    gamma: float
    rho: float
    beta: float


class KnownState(NamedTuple):
    """All that Algorithm 1 keeps."""

    estimates: Floats  # (1, K, columns): sums of loss estimates
    bias: Floats  # (1, K): sums of the pessimistic correction
    denominators: Floats  # (K,): u_t of the round played last
    counters: Integers  # (1,): the round to come
    chosen: Floats  # (K,), scratch: r_t of one context
    mean: Floats  # (K,), scratch: r_t averaged over contexts
    sums: Floats  # (2, K + 1), scratch


@inlined
def policy(
    state: KnownState,
    parameters: KnownParameters,
    first: int,
    values: Floats,
    available: Booleans,
    out: Floats,
) -> None:
    """Set `out` (K,) to r_{t,c} for the round to come."""
    eta, rho = parameters.eta, parameters.rho
    context_weights(state.estimates, state.bias, 0, first, values, available, eta, rho, out)


@inlined
def play(
    state: KnownState,
    parameters: KnownParameters,
    in_ranges: ArmRanges,
    loopless: Integers,
    law: ContextBlock,
    probabilities: Floats,
    first: int,
    values: Floats,
    available: Booleans,
    uniform: float,
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    `law` and `probabilities` (support,) are the known distribution. Observation masses are linear
    in the distribution, so the mean over contexts is taken once, before the graph is looked at.
    """
    arms = state.denominators.size
    chosen, mean = state.chosen, state.mean
    for a in range(arms):
        mean[a] = 0.0
    for c in range(probabilities.size):
        readout = law.table[law.entry[c]]
        policy(state, parameters, law.first[c], readout, law.available[c], chosen)
        for a in range(arms):
            mean[a] += probabilities[c] * chosen[a]
    range_masses(in_ranges, mean, state.sums, state.denominators)
    for a in range(arms):
        state.denominators[a] += parameters.gamma
    policy(state, parameters, first, values, available, chosen)
    arm = draw(chosen, uniform)
    if loopless.size > 0:
        special = loopless[0]
        for a in loopless[1:]:
            if mean[a] > mean[special]:
                special = a
        state.bias[0, special] += parameters.beta / state.denominators[special]
    state.counters[0] += 1
    return arm, chosen[arm]


@compiled
def simulate(
    state: KnownState,
    parameters: KnownParameters,
    in_ranges: ArmRanges,
    out_ranges: ArmRanges,
    loopless: Integers,
    law: ContextBlock,
    probabilities: Floats,
    rounds: Rounds,
    uniforms: Floats,
) -> None:
    """Play `rounds`, filling in what was done, and change `state`. uniforms: one a round."""
    _, contexts, losses, arms, incurred = rounds
    for i in range(arms.size):
        first = contexts.first[i]
        values = contexts.table[contexts.entry[i]]
        arm, _ = play(
            state,
            parameters,
            in_ranges,
            loopless,
            law,
            probabilities,
            first,
            values,
            contexts.available[i],
            uniforms[i],
        )
        arms[i] = arm
        incurred[i] = loss_at(losses, i, arm, first, values)
        for run in range(out_ranges.starts[arm], out_ranges.starts[arm + 1]):
            for b in range(out_ranges.first[run], out_ranges.last[run] + 1):
                add_row(losses, i, b, 1.0 / state.denominators[b], state.estimates[0, b])
