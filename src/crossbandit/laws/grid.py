"""The grid of amounts of a law, and what outcomes say on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidLossesError
from crossbandit.kernels.laws.loops import shown
from crossbandit.validation import array, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.kernels.compilation import MachineCode
    from crossbandit.kernels.laws.state import LawRules
    from crossbandit.types import Floats, Integers

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
    code: MachineCode
    _rules: LawRules

    def _start_grid(self, grid: Floats) -> None:
        self.amounts = grid.view()
        self.amounts.flags.writeable = False
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
        told = reached in self._told
        if told and (number is None or not math.isfinite(number)):
            reject("learn", "number", "a finite number", number, error=InvalidLossesError)
        if told and number is not None:
            reaches = amount >= number if self.ties == "win" else amount > number
            if reaches != reached:
                raise InvalidLossesError(
                    f"An amount of {amount:.15g} and a number of {number:.15g} contradict "
                    f"reached={reached}. Nothing was learned."
                )
        given = (float(amount), bool(reached), float(number) if told and number else 0.0)
        found: tuple[int, int, int] = self.code[shown](self._rules, *given)
        return found


def band_cuts(amounts: Floats, low: float, high: float, depth: int) -> Floats:
    """Return where the finest bands of contexts end, of which there are 2**depth.

    Bands are equally wide, or follow the amounts, if there are any: a grid that is finer where most
    values are makes bands that are finer there, too. Above the highest amount, the grid is
    continued with its last step.
    """
    equal = np.linspace(low, high, (1 << depth) + 1)
    inside = amounts[(amounts > low) & (amounts < high)]
    if inside.size < 2:
        return equal[1:-1]
    step = max(inside[-1] - inside[-2], (high - inside[-1]) / equal.size)
    more = np.arange(inside[-1] + step, high - 1e-6 * step, step)
    edges = np.concatenate([[low], inside, more, [high]])
    shares = np.linspace(0, 1, edges.size)
    cuts: Floats = np.interp(np.linspace(0, 1, equal.size), shares, edges)
    # Rounding must not move the cuts of evenly spaced amounts.
    return np.where(np.isclose(cuts, equal, rtol=0, atol=1e-9 * (high - low)), equal, cuts)[1:-1]
