"""A fixed grid in place of a choice's random numbers, to tell how likely each amount is."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.laws.state import AFTER_LOSS, ALWAYS, BROAD, FIRST_PRICE, WON_LOST

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState
    from crossbandit.types import Floats

_POINTS = 64  # quantiles of one normal number
_SIDE = 24  # where a choice uses two


def chance_grid(rules: LawRules, state: LawState) -> tuple[Floats, Floats]:
    """Return random numbers (n, 3) that stand for all there are, and their weights (n,)."""
    if rules.feedback == ALWAYS:
        return np.zeros((1, 3)), np.ones(1)
    pairs = _pairs(two=rules.feedback == WON_LOST)
    edges = [0.0, 1.0]
    if rules.feedback == AFTER_LOSS and rules.payoff == FIRST_PRICE:
        # The third number decides whether the lowest amount is tried. It is compared with one
        # threshold per broad node, so one point between neighbouring thresholds is exact.
        visits = state.visits[1:BROAD]
        reached = rules.probing / np.sqrt(visits[visits > 0])
        edges += np.minimum(reached, 1.0).tolist()
    cuts = np.unique(edges)
    thirds, lengths = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    uniforms = np.column_stack([np.repeat(pairs, thirds.size, axis=0), np.tile(thirds, len(pairs))])
    return np.ascontiguousarray(uniforms), np.tile(lengths, len(pairs)) / len(pairs)


@cache
def _pairs(*, two: bool) -> Floats:
    """Return pairs of numbers in [0, 1) that the kernel turns into normal quantiles, (n, 2)."""
    count = _SIDE if two else _POINTS
    quantiles = [NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)]
    normals = product(quantiles, quantiles) if two else ((x, 0.0) for x in quantiles)
    return np.array(
        [
            (-math.expm1(-(x * x + y * y) / 2), math.atan2(y, x) / (2 * math.pi) % 1.0)
            for x, y in normals
        ]
    )
