"""One round of LinUCB: ridge regression for each arm.

A context has a vector of features for each arm: the coefficients of its readout. If losses are
dense, each context reads one column, and its vector is the indicator of that column. So each
context has a *block* of one column. If losses are linear, there is one block for all contexts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.means import optimistic_arm
from crossbandit.kernels.rows import loss_at
from crossbandit.types import Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.loops import Round
    from crossbandit.kernels.rounds import Feedback


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
def play(state: LinearState, width: float, now: Round, number: float) -> tuple[int, float]:
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
def policy(state: LinearState, width: float, now: Round, out: Floats) -> None:
    """Set `out` (K,) to 1 for the arm to play in one context, and to 0 for all others."""
    for a in range(out.size):
        out[a] = 0.0
    arm, _ = play(state, width, now, 0.0)
    out[arm] = 1.0


@inlined
def learn(
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
