"""Sums of losses over many rounds, and the best arm of each context in hindsight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.rounds import readout_at
from crossbandit.kernels.rows import add_row
from crossbandit.kernels.simplex import may_play

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import ContextBlock, LossBlock
    from crossbandit.types import Floats, Integers


@compiled
def add_totals(block: LossBlock, rounds: int, totals: Floats, largest: Floats) -> None:
    """Add the rows of the block's `rounds` rounds to `totals` (K, columns), in place.

    If the losses of an arm cannot reach a limit in this block, they are summed in closed form: the
    cost is not proportional to rounds times contexts. largest: (k,), scratch.
    """
    for a in range(totals.shape[0]):
        if block.base.shape[0] == 1 and not may_clip(block, rounds, a, largest):
            for m in range(totals.shape[1]):
                totals[a, m] += rounds * block.base[0, a, m]
            for k in range(block.coefficients.shape[2]):
                coefficient = 0.0
                for i in range(rounds):
                    coefficient += block.coefficients[i, a, k]
                for m in range(totals.shape[1]):
                    totals[a, m] += coefficient * block.features[k, m]
        else:
            for i in range(rounds):
                add_row(block, i, a, 1.0, totals[a])


@compiled
def may_clip(block: LossBlock, rounds: int, a: int, largest: Floats) -> bool:
    """Return whether a loss of arm `a` might reach a limit. largest: (k,), scratch."""
    if not block.clip:
        return False
    terms = block.coefficients.shape[2]
    for k in range(terms):
        largest[k] = 0.0
        for i in range(rounds):
            largest[k] = max(largest[k], abs(block.coefficients[i, a, k]))
    for m in range(block.base.shape[2]):
        reach = 0.0
        for k in range(terms):
            reach += largest[k] * abs(block.features[k, m])
        if block.base[0, a, m] - reach < 0.0 or block.base[0, a, m] + reach > 1.0:
            return True
    return False


@compiled
def best_arms(totals: Floats, contexts: ContextBlock, out: Integers) -> None:
    """Set `out[i]` to the available arm of least total in the context of round i.

    Ties go to the smallest arm. totals: (K, columns). out: (n,).
    """
    for i in range(out.size):
        offset, coefficients, available = readout_at(contexts, i)
        least = np.inf
        for a in range(totals.shape[0]):
            if not may_play(available, a):
                continue
            own = min(a, coefficients.shape[0] - 1)
            score = 0.0
            for v in range(coefficients.shape[1]):
                score += totals[a, offset + v] * coefficients[own, v]
            if score < least:
                least = score
                out[i] = a
