"""Sums over columns, as eight sums at a time.

In one sum, each addition must wait for the one before it; eight sums can be computed in parallel.
The loops over eight are written out, because only then are the sums kept in registers. The order of
the additions is fixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats


@inlined
def sum_of(numbers: Floats) -> float:
    """Return the sum of some numbers."""
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


@inlined
def at_risk(told: Floats, hidden: Floats, unit: float, risk: Floats) -> None:
    """Set risk[j], j >= 1, to the rounds in which a cell of column j would have been told.

    told, hidden, risk: (K + 1,). unit: what a count is worth.
    """
    total, size = told[0], told.size
    start = 1
    while start + 8 <= size:
        a = hidden[start - 1] + told[start]
        b = a + (hidden[start] + told[start + 1])
        c = b + (hidden[start + 1] + told[start + 2])
        d = c + (hidden[start + 2] + told[start + 3])
        e = d + (hidden[start + 3] + told[start + 4])
        f = e + (hidden[start + 4] + told[start + 5])
        g = f + (hidden[start + 5] + told[start + 6])
        h = g + (hidden[start + 6] + told[start + 7])
        risk[start] = (total + a) * unit
        risk[start + 1] = (total + b) * unit
        risk[start + 2] = (total + c) * unit
        risk[start + 3] = (total + d) * unit
        risk[start + 4] = (total + e) * unit
        risk[start + 5] = (total + f) * unit
        risk[start + 6] = (total + g) * unit
        risk[start + 7] = (total + h) * unit
        total += h
        start += 8
    part = 0.0
    for j in range(start, size):
        part += hidden[j - 1] + told[j]
        risk[j] = (total + part) * unit
