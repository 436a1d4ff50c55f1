"""The largest difference between two sides that must be equal."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.theory.statements import CheckResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.types import Floats

ROUNDING = 1e-12
"""Two sides that are equal in the paper may differ by this much in floating point."""


class Differences:
    """The largest difference between two sides that must be equal.

    Args:
        rounding: By how much they may differ in floating point.
    """

    def __init__(self, rounding: float = ROUNDING) -> None:
        self.rounding = rounding
        self.instances = 0
        self.worst = 0.0

    def compare(self, left: Any, right: Any) -> None:
        """Compare two numbers, or two arrays of the same shape, number by number."""
        gaps = np.abs(np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64))
        self.instances += gaps.size
        largest = float(gaps.max())
        # NaN is equal to nothing.
        self.worst = max(self.worst, np.inf if np.isnan(largest) else largest)

    def result(self, statement: str, checked: str, note: str = "") -> CheckResult:
        """Return the line of the report."""
        return CheckResult(
            statement=statement,
            checked=checked,
            instances=self.instances,
            worst=f"largest difference {self.worst:.1e}" if self.worst else "no difference",
            passed=self.instances > 0 and self.worst <= self.rounding,
            note=note,
        )


def weighted_sum(terms: Iterable[tuple[Fraction, Floats]], shape: tuple[int, ...]) -> Floats:
    """Return sum(weight * array), summed without rounding."""
    total = np.full(shape, Fraction(0), dtype=object)
    for weight, array in terms:
        total += weight * np.array([Fraction(x) for x in array.ravel()]).reshape(shape)
    return total.astype(np.float64)
