"""Exponential weights, mixing with the uniform distribution, and drawing an arm."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from crossbandit.kernels.compilation import compiled


@compiled
def exponential_weights(
    scores: npt.NDArray[np.float64],
    eta: float,
    rho: float,
    out: npt.NDArray[np.float64],
) -> None:
    """Set `out` to (1 - rho) * softmax(-eta * scores) + rho / K. scores, out: (K,); may be one.

    The smallest score is subtracted first, so the largest exponential is 1, whatever the scores.
    """
    arms = scores.size
    least = scores[0]
    for a in range(1, arms):
        least = min(least, scores[a])
    total = 0.0
    for a in range(arms):
        out[a] = math.exp(-eta * (scores[a] - least))
        total += out[a]
    share = (1.0 - rho) / total
    floor = rho / arms
    for a in range(arms):
        out[a] = share * out[a] + floor


@compiled
def draw(probabilities: npt.NDArray[np.float64], uniform: float) -> int:
    """Return the smallest arm whose cumulative probability exceeds `uniform`.

    Where rounding leaves none, the last arm that has a positive probability.
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
