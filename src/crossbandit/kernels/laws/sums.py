"""Sums of many numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats


@inlined
def sum_of(numbers: Floats) -> float:
    """Return a sum. Eight parts are summed at a time: each addition waits for the one before."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for i in range(numbers.size >> 3):
        a += numbers[8 * i]
        b += numbers[8 * i + 1]
        c += numbers[8 * i + 2]
        d += numbers[8 * i + 3]
        e += numbers[8 * i + 4]
        f += numbers[8 * i + 5]
        g += numbers[8 * i + 6]
        h += numbers[8 * i + 7]
    for i in range(numbers.size & 7):
        a += numbers[numbers.size - 1 - i]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))
