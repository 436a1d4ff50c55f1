"""A table of estimates that can only move in few directions, kept as what it moved in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats, Integers


@compiled
def fill_readouts(estimates: Floats, losses: LossBlock, columns: Integers, out: Floats) -> None:
    """Set `out[j, a]` to how the context of `columns[j]` reads the coordinates of arm a.

    It reads the copies of `estimates` (copies, K, M) as they are now, then the base and then the
    features of `losses`. out: (entries, K, copies + 1 + features).
    """
    copies, arms, _ = estimates.shape
    for j in range(columns.size):
        c = columns[j]
        for a in range(arms):
            for s in range(copies):
                out[j, a, s] = estimates[s, a, c]
            out[j, a, copies] = losses.base[0, a, c]
            for k in range(losses.features.shape[0]):
                out[j, a, copies + 1 + k] = losses.features[k, c]


@compiled
def combine(coordinates: Floats, directions: Floats, out: Floats) -> None:
    """Set `out[s]` to sum_r coordinates[s, r] * directions[r].

    coordinates: (copies, width). directions: (width, M). out: (copies, M).
    """
    for s in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[s, m] = coordinates[s, 0] * directions[0, m]
        for r in range(1, directions.shape[0]):
            coordinate = coordinates[s, r]
            if coordinate != 0.0:
                for m in range(out.shape[1]):
                    out[s, m] += coordinate * directions[r, m]
