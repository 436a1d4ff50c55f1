"""What one run of a strategy has earned and spent, entered chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.types import Floats, Integers


def _points_within(points: Integers, before: int, count: int) -> tuple[slice, Integers]:
    """Return which points lie in the next auctions, and the places of their auctions there."""
    first, last = np.searchsorted(points, [before, before + count], side="right")
    return slice(first, last), points[first:last] - before - 1


class Ledger:
    """What one run of a strategy has earned so far."""

    def __init__(self, points: Integers, class_sizes: Sequence[int] = ()) -> None:
        self.surplus = 0.0
        self.spend = 0.0
        self.wins = 0.0
        self.curve = np.empty(points.size)
        self._points = points
        self.auctions = 0
        self.by_class = [np.zeros((3, size)) for size in class_sizes]  # surplus, spend, wins

    def add(
        self,
        earned: Floats,
        paid: Floats,
        won: npt.NDArray[np.bool_] | Floats,
        classes: Integers | None = None,
    ) -> None:
        """Enter consecutive auctions: surplus, payment, whether it won or in part, classes."""
        sums = self.surplus + np.cumsum(earned)
        for i, table in enumerate(self.by_class):
            if classes is None:
                break
            numbers = np.minimum(classes[:, i], table.shape[1] - 1)
            for row, amounts in enumerate((earned, paid, won)):
                table[row] += np.bincount(numbers, amounts, table.shape[1])
        now, places = _points_within(self._points, self.auctions, paid.size)
        self.curve[now] = sums[places]
        self.auctions += paid.size
        self.surplus = float(sums[-1])
        self.spend += float(paid.sum())
        self.wins += float(won.sum())


class Account:
    """What one run has spent under limits: over time, by section, and against the targets.

    Args:
        limits: The limits.
        points: The auctions after which it is recorded.
    """

    def __init__(self, limits: ReplayLimits, points: Integers) -> None:
        self._limits, self._points = limits, points
        self.spend_curve = np.zeros(points.size)
        self.multipliers = np.full(points.size, np.nan)
        self.by_section = np.zeros((2, max(1, limits.sections)))  # spend, value
        self.slack = np.zeros((len(limits.targets), 2))  # least, and at the end
        self.auctions = 0
        self._spend = 0.0

    def add(
        self,
        values: Floats,
        paid: Floats,
        won: Floats,
        sections: Integers,
        multipliers: Floats | None = None,
    ) -> None:
        """Enter consecutive auctions: the values won, what was paid, how often it won."""
        spent = self._spend + np.cumsum(paid)
        for i, target in enumerate(self._limits.targets):
            base, slope = target.credit()
            slack = self.slack[i, 1] + np.cumsum(base * won + slope * values - paid)
            self.slack[i] = min(self.slack[i, 0], float(slack.min())), slack[-1]
        size = self.by_section.shape[1]
        self.by_section[0] += np.bincount(sections, paid, size)
        self.by_section[1] += np.bincount(sections, values, size)
        now, places = _points_within(self._points, self.auctions, paid.size)
        self.spend_curve[now] = spent[places]
        if multipliers is not None:
            self.multipliers[now] = multipliers[places]
        self.auctions += paid.size
        self._spend = float(spent[-1])
