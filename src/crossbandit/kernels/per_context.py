"""One round of a learner per context (no cross-learning)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.ranges import range_masses
from crossbandit.kernels.rows import add_losses
from crossbandit.kernels.simplex import draw, exponential_weights
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round
    from crossbandit.kernels.rounds import Feedback


class PerContextState(NamedTuple):
    """The state of the per-context learners."""

    estimates: Floats  # (M, K): sums of loss estimates, a learner per row
    weights: Floats  # (K,): 1 / the probability of observing each arm in the round played last
    chosen: Floats  # (K,), scratch: p_t of the round's context
    sums: Floats  # (2, K + 1), scratch
    revealed: Integers  # (K,), scratch


@inlined
def policy(state: PerContextState, eta: float, now: Round, out: Floats) -> None:
    """Set `out` (K,) to p_t of one context."""
    exponential_weights(state.estimates[now.context], now.readout.available, eta, 0.0, out)


@inlined
def play(state: PerContextState, eta: float, now: Round, uniform: float) -> tuple[int, float]:
    """Play one round; return the arm and its probability. Changes `state`.

    Sets `state.weights`. If the arm played reveals b, the mass of b's in-neighbourhood is at least
    the probability of that arm. The maximum ensures it despite rounding: nothing is divided by 0.
    """
    chosen, weights = state.chosen, state.weights
    policy(state, eta, now, chosen)
    arm = draw(chosen, uniform)
    range_masses(now.in_ranges, chosen, state.sums, weights)
    for b in range(weights.size):
        weights[b] = 1.0 / max(weights[b], chosen[arm])
    return arm, chosen[arm]


@inlined
def learn(
    state: PerContextState, eta: float, now: Round, arm: int, weights: Floats, feedback: Feedback
) -> None:
    """Add the losses of a round to the estimates of its own context. weights: (K,)."""
    add_losses(weights, feedback, now.readout, state.estimates[now.context])
