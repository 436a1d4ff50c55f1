"""Find losses that are outside their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers


@compiled
def first_beyond_box(
    rows: Floats, arms: Integers, least: Floats, most: Floats, low: float, high: float
) -> int:
    """Return the first row that reads a loss outside [low, high] somewhere in a box, or -1.

    rows: (n, width), of `arms` (n,). least, most: (K or 1, width), the bounds of the values.
    """
    for j in range(rows.shape[0]):
        own = min(arms[j], least.shape[0] - 1)
        smallest = 0.0
        largest = 0.0
        for i in range(rows.shape[1]):
            one, other = rows[j, i] * least[own, i], rows[j, i] * most[own, i]
            smallest += min(one, other)
            largest += max(one, other)
        if not (low <= smallest and largest <= high):
            return j
    return -1


@compiled
def first_outside(rows: Floats, low: float, high: float) -> int:
    """Return the flat index of the first entry that is not in [low, high], NaN included, or -1."""
    for j in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if not (low <= rows[j, m] <= high):
                return int(j * rows.shape[1] + m)
    return -1


@compiled
def first_loss_outside(
    rows: Floats, values: Floats, low: float, high: float, largest: float
) -> int:
    """Return the first row in which `values` reads a loss not in [low, high], or NaN; else -1.

    A row with an entry that is larger than `largest`, or smaller than its negative, counts too.
    rows: (n, width). values: (n or 1, width).
    """
    for j in range(rows.shape[0]):
        own = min(j, values.shape[0] - 1)
        loss = 0.0
        for i in range(values.shape[1]):
            loss += rows[j, i] * values[own, i]
            if not -largest <= rows[j, i] <= largest:
                return j
        if not (low <= loss <= high):
            return j
    return -1
