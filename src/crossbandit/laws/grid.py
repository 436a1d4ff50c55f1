"""The grid of amounts of a law, and what outcomes say on it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, TOLD
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Booleans, Floats, Integers

# After which outcomes the number is told: reached or not.
_TOLD = {"after-loss": (False,), "after-win": (True,), "always": (False, True), "won-lost": ()}


def ascending(owner: str, amounts: npt.ArrayLike) -> Floats:
    """Return amounts as an array; raise InvalidParameterError unless they are 2 or more, ascending.

    Args:
        owner: Whom an error names.
        amounts: The amounts.
    """
    expected = "at least 2 finite numbers, ascending"
    grid = array(owner, "amounts", expected, amounts)
    if grid.ndim != 1 or grid.size < 2 or not np.isfinite(grid).all():
        reject(owner, "amounts", expected, amounts)
    if (np.diff(grid) <= 0).any():
        reject(owner, "amounts", expected, amounts)
    return grid


class AmountGrid:
    """What may be played, and which amounts an outcome says something about.

    Attributes:
        amounts: The amounts, ascending.
        feedback: What is shown; see `OutcomeLaw`.
        ties: Whether an amount that equals the number reaches it: "win" or "lose".
    """

    amounts: Floats
    feedback: str
    ties: str

    def _start_grid(self, grid: Floats) -> None:
        self.amounts = grid.view()
        self.amounts.flags.writeable = False
        self._grid: list[float] = grid.tolist()
        self._told = _TOLD[self.feedback]

    def cells(self, numbers: npt.ArrayLike) -> Integers:
        """Return the number of the lowest amount that reaches each number; K if none does.

        Args:
            numbers: Hidden numbers.
        """
        side: Any = "left" if self.ties == "win" else "right"
        found: Integers = np.searchsorted(self.amounts, np.asarray(numbers, dtype=float), side)
        return found

    def shown(
        self, amount: float, *, reached: bool, number: float | None = None
    ) -> tuple[int, int, int]:
        """Return what an outcome says on the grid of amounts.

        A bid between two amounts that has reached the number shows that the higher one does; if it
        has not, that the lower one does not.

        Args:
            amount: What was played, on the grid or not.
            reached: Whether it reached the number.
            number: The number, needed where the law's feedback shows it.

        Returns:
            The kind of the outcome (0: the cell is known, 1: an amount reaches the number, 2: an
            amount does not, -1: it says nothing about any amount), the cell or amount that it is
            about, and the number of the amount played, -1 if it is not on the grid.

        Raises:
            InvalidLossesError: The number is missing or contradicts `reached`.
        """
        grid = self._grid
        above = bisect_left(grid, amount)
        played = above if above < len(grid) and grid[above] == amount else -1
        feedback = self.feedback
        if feedback == "won-lost" or (
            feedback != "always" and reached != (feedback == "after-win")
        ):
            if reached:
                return (AT_MOST if above < len(grid) else -1), above, played
            below = above if played >= 0 else above - 1
            return (ABOVE if below >= 0 else -1), below, played
        if number is None or not math.isfinite(number):
            reject("learn", "number", "a finite number", number, error=InvalidLossesError)
        wins = self.ties == "win"
        if (amount >= number if wins else amount > number) != reached:
            raise InvalidLossesError(
                f"An amount of {amount:.15g} and a number of {number:.15g} contradict "
                f"reached={reached}. Nothing was learned."
            )
        return TOLD, bisect_left(grid, number) if wins else bisect_right(grid, number), played

    def all_shown(
        self, amounts: Floats, reached: Booleans, numbers: Floats
    ) -> tuple[Integers, Integers, Integers]:
        """Return what `shown` returns for many outcomes, which were checked; all (n,).

        Args:
            amounts: What was played.
            reached: Whether each amount reached its number.
            numbers: The numbers, where they are shown.
        """
        size = self.amounts.size
        above = np.searchsorted(self.amounts, amounts, "left")
        on_grid = self.amounts[np.minimum(above, size - 1)] == amounts
        played = np.where(on_grid, above, -1)
        told = np.full(reached.size, bool(self._told))
        if len(self._told) == 1:
            told = reached == self._told[0]
        below = np.where(on_grid, above, above - 1)
        indices = np.where(told, 0, np.where(reached, above, below))
        if told.any():
            indices[told] = self.cells(numbers[told])
        kinds = np.where(told, TOLD, np.where(reached, AT_MOST, ABOVE))
        kinds[~told & ((indices < 0) | (indices >= size))] = -1
        return kinds, indices, played
