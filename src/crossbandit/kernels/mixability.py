"""The mixability gap, by which the adaptive learner sets its learning rate."""

from __future__ import annotations

import math

from crossbandit.kernels.compilation import inlined
from crossbandit.types import Floats, Integers

_NOTHING = 1e-18


@inlined
def mixability_gap(chosen: Floats, estimates: Floats, revealed: Integers, eta: float) -> float:
    """Return the mean of the estimates less their exponential mean; unrevealed ones are 0.

    Exponentials are taken relative to the least estimate, so they are at most 1.
    """
    if not eta > 0.0:
        return 0.0
    mean, rest, mass, least = 0.0, 0.0, 0.0, math.inf
    after = 0
    for b in revealed:
        for a in range(after, b):
            rest += chosen[a]
        after = b + 1
        mean += chosen[b] * estimates[b]
        mass += chosen[b]
        if chosen[b] > 0.0:
            least = min(least, estimates[b])
    for a in range(after, chosen.size):
        rest += chosen[a]
    total = 0.0
    if rest > 0.0:
        least = min(least, 0.0)
        total = rest * math.exp(eta * least)
    for b in revealed:
        if chosen[b] > _NOTHING * total:  # otherwise it would not change the sum
            total += chosen[b] * math.exp(-eta * (estimates[b] - least))
    # The sum of probabilities is 1, up to rounding. With the division, equal estimates have no gap.
    return max(0.0, mean - least + math.log(total / (rest + mass)) / eta)
