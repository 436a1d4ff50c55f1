"""A number for each arm: exponential weights, which arm to take, copies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Readout
    from crossbandit.types import Booleans, Floats, Integers


@inlined
def may_play(available: Booleans, a: int) -> bool:
    """Return whether arm `a` is available. available: (K,), or (0,) if all arms are."""
    return available.size == 0 or bool(available[a])


@inlined
def heaviest(arms: Integers, mass: Floats) -> int:
    """Return which of `arms` (at least one) has the most mass (K,); ties go to the first."""
    best: int = arms[0]
    for a in arms[1:]:
        if mass[a] > mass[best]:
            best = a
    return best


@inlined
def exponential_weights(
    scores: Floats, available: Booleans, eta: float, rho: float, out: Floats
) -> None:
    """Set `out` to (1 - rho) * softmax(-eta * scores) + rho / K.

    If `available` is not empty, only available arms share the distribution. All others get 0, and K
    is the number of available arms.

    Args:
        scores: (K,), the scores; lower is better.
        available: (K,), which arms share the distribution; (0,) if all do.
        eta: The learning rate.
        rho: The probability of uniform exploration.
        out: (K,), filled.
    """
    least = math.inf
    for a in range(out.size):
        score = scores[a]
        out[a] = score
        if score < least and may_play(available, a):
            least = score
    _normalise(out, least, available, eta, rho)


@inlined
def context_weights(
    estimates: Floats,
    bias: Floats,
    copy: int,
    readout: Readout,
    eta: float,
    rho: float,
    out: Floats,
) -> None:
    """Set `out` (K,) to the exponential weights of one context, as `exponential_weights` does.

    The context reads copy number `copy` of `estimates` (copies, K, columns); `bias` (copies, K) is
    added in every context. One loop reads the scores and finds the least, and nothing is sliced,
    because this is most of the cost of a round.

    Args:
        estimates: (copies, K, columns), the estimates.
        bias: (copies, K), added in every context.
        copy: The number of the copy.
        readout: How the context reads.
        eta: The learning rate.
        rho: The probability of uniform exploration.
        out: (K,), filled.
    """
    offset, coefficients, available = readout
    least = math.inf
    shared = coefficients.shape[0] == 1
    for a in range(out.size):
        own = 0 if shared else a
        score = bias[copy, a]
        for i in range(coefficients.shape[1]):
            score += estimates[copy, a, offset + i] * coefficients[own, i]
        out[a] = score
        if score < least and may_play(available, a):
            least = score
    _normalise(out, least, available, eta, rho)


@inlined
def _normalise(scores: Floats, least: float, available: Booleans, eta: float, rho: float) -> None:
    # The least score is subtracted, so the largest exponential is 1.
    total, arms = 0.0, 0
    for a in range(scores.size):
        if may_play(available, a):
            weight = math.exp(-eta * (scores[a] - least))
            arms += 1
        else:
            weight = 0.0
        scores[a] = weight
        total += weight
    share = (1.0 - rho) / total
    floor = rho / arms
    for a in range(scores.size):
        if may_play(available, a):
            scores[a] = share * scores[a] + floor


@inlined
def draw(probabilities: Floats, uniform: float) -> int:
    """Return the smallest arm whose cumulative probability exceeds `uniform`.

    If rounding leaves none, return the last arm with a positive probability.

    Args:
        probabilities: (K,), a probability for each arm.
        uniform: A random number from 0 to 1.
    """
    cumulative = 0.0
    for a in range(probabilities.size):
        cumulative += probabilities[a]
        if uniform < cumulative:
            return a
    for a in range(probabilities.size - 1, 0, -1):
        if probabilities[a] > 0.0:
            return a
    return 0


@inlined
def copy_vector(source: Floats, out: Floats) -> None:
    """Copy `source` (n,) to `out` (n,)."""
    # `out[:] = source` would include the error message about different shapes. That takes seconds
    # to compile, and shapes never differ here.
    for i in range(out.size):
        out[i] = source[i]


@inlined
def copy_matrix(source: Floats, out: Floats) -> None:
    """Copy `source` (m, n) to `out` (m, n)."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = source[i, j]
