"""One round of a learner per context (no cross-learning), and a batch of rounds."""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.ranges import ArmRanges, range_masses
from crossbandit.kernels.rounds import (
    Feedback,
    Readout,
    Rounds,
    feedback_of,
    is_over,
    loss_at,
    readout_at,
    record,
)
from crossbandit.kernels.simplex import draw, exponential_weights
from crossbandit.types import Booleans, Floats, Integers


class PerContextState(NamedTuple):
    """The state of the per-context learners."""

    estimates: Floats  # (M, K): sums of loss estimates, a learner per row
    weights: Floats  # (K,): 1 / the probability of observing each arm in the round played last
    chosen: Floats  # (K,), scratch: p_t of the round's context
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def policy(
    state: PerContextState, eta: float, context: int, available: Booleans, out: Floats
) -> None:
    """Set `out` (K,) to p_t of one context."""
    exponential_weights(state.estimates[context], available, eta, 0.0, out)


@inlined
def play(
    state: PerContextState,
    eta: float,
    in_ranges: ArmRanges,
    context: int,
    available: Booleans,
    uniform: float,
) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.weights`. Where the arm played reveals b, the mass of b's in-neighbourhood is at
    least the arm's own probability; enforcing that keeps rounding from causing a division by 0.
    """
    chosen, weights = state.chosen, state.weights
    policy(state, eta, context, available, chosen)
    arm = draw(chosen, uniform)
    range_masses(in_ranges, chosen, state.sums, weights)
    for b in range(weights.size):
        weights[b] = 1.0 / max(weights[b], chosen[arm])
    return arm, chosen[arm]


@inlined
def learn(
    state: PerContextState, context: int, readout: Readout, weights: Floats, feedback: Feedback
) -> None:
    """Add the losses of a round to the estimates of its own context. weights: (K,)."""
    for j in range(feedback.arms.size):
        b = feedback.arms[j]
        loss = loss_at(feedback.losses, feedback.round, feedback.places[j], b, readout)
        state.estimates[context, b] += weights[b] * loss


@compiled
def simulate(
    state: PerContextState,
    eta: float,
    in_ranges: ArmRanges,
    out_ranges: ArmRanges,
    rounds: Rounds,
    uniforms: Floats,
) -> int:
    """Play `rounds`, fill in what was done and change `state`; return how many were played.

    uniforms: (n,), one per round.
    """
    for i in range(rounds.arms.size):
        readout, context = readout_at(rounds.contexts, i), rounds.numbers[i]
        arm, _ = play(state, eta, in_ranges, context, readout.available, uniforms[i])
        record(rounds, i, arm, readout)
        feedback = feedback_of(rounds, i, out_ranges, state.revealed)
        learn(state, context, readout, state.weights, feedback)
        if is_over(rounds):
            return i + 1
    return rounds.arms.size
