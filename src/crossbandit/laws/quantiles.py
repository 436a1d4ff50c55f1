"""A fixed grid in place of a choice's random numbers, to tell how likely each amount is."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.laws.state import ALWAYS, WON_LOST

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules
    from crossbandit.types import Floats

_POINTS = 64  # quantiles of one normal number
_SIDE = 24  # where a choice uses two


def chance_grid(rules: LawRules) -> tuple[Floats, Floats]:
    """Return random numbers (n, 2) that stand for all there are, and their weights (n,)."""
    if rules.feedback == ALWAYS:
        return np.zeros((1, 2)), np.ones(1)
    pairs = _pairs(two=rules.feedback == WON_LOST)
    return pairs, np.full(len(pairs), 1.0 / len(pairs))


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
