"""Sums over decisions whose outcomes came, to notice outcomes that are missing with a bias."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.laws.choice import USUAL

if TYPE_CHECKING:
    from crossbandit.types import Floats

EVERY = 64  # outcomes between two checks
_FADING = 2.0 ** (-EVERY / 4096)  # of what was counted before, at every check
MATERIAL = 0.8  # of one kind of outcomes, relative to the other
ONE = 65_535.0  # a chance of 1, as a whole number
# The columns of the sums.
ANSWERS, GAPS, SQUARES, CHANCES, LOWEST, HIGHEST, WAITING, CHECKS, EXCESS, LOSSES = range(10)


@inlined
def watched(sums: Floats, limit: float, chance: float, usual: float) -> bool:
    """Count an outcome, and return whether it may be learned from; sums: (10,).

    limit: of EXCESS, beyond which it may not. chance, usual: shares of 65,535; a chance below 0
    was counted before.
    """
    if chance >= 0.0:
        watch(sums, chance, usual)
    material = sums[LOSSES] < MATERIAL or sums[LOSSES] * MATERIAL > 1.0
    return not (material and sums[EXCESS] >= limit)


@inlined
def watch(sums: Floats, chance: float, usual: float) -> None:
    """Count the outcome of one decision; check after every `EVERY` of them."""
    gap = (chance - usual) / ONE
    sums[ANSWERS] += 1.0
    sums[GAPS] += gap
    sums[SQUARES] += gap * gap
    sums[CHANCES] += chance / ONE
    if sums[LOWEST] > sums[HIGHEST]:
        sums[LOWEST] = sums[HIGHEST] = usual
    sums[LOWEST] = min(sums[LOWEST], usual)
    sums[HIGHEST] = max(sums[HIGHEST], usual)
    sums[WAITING] += 1.0
    if sums[WAITING] >= EVERY:
        check(sums)


@inlined
def check(sums: Floats) -> None:
    """Set EXCESS and LOSSES from the sums, and let the sums fade.

    EXCESS is the logarithm of one over the probability that the sum is as far from 0 by chance, by
    Freedman's inequality, less what all checks so far ask for: it is more than log(1 / p) at any
    check only with probability p. LOSSES estimates how often a lost decision has an outcome,
    relative to a won one.
    """
    sums[WAITING] = 0.0
    sums[CHECKS] += 1.0
    drift = USUAL * (sums[HIGHEST] - sums[LOWEST]) / ONE
    far = max(abs(sums[GAPS]) - drift, 0.0)
    exponent = far * far / (2.0 * (sums[SQUARES] + far / 3.0) + 1e-9)
    sums[EXCESS] = exponent - math.log(2.0 * sums[CHECKS] * (sums[CHECKS] + 1.0))
    slope = sums[GAPS] / max(sums[SQUARES], 1e-9)
    mean = sums[CHANCES] / sums[ANSWERS]
    lost, won = max(1.0 - slope * mean, 0.0), max(1.0 + slope * (1.0 - mean), 0.0)
    sums[LOSSES] = lost / max(won, 1e-9)
    middle = 0.5 * (sums[LOWEST] + sums[HIGHEST])
    sums[LOWEST] += (1.0 - _FADING) * (middle - sums[LOWEST])
    sums[HIGHEST] += (1.0 - _FADING) * (middle - sums[HIGHEST])
    for i in range(LOWEST):
        sums[i] *= _FADING
