"""Whether the number depends on the class, from pairs of rounds with nearly the same context.

Two rounds of different classes, in the same of the finest bands of contexts, are compared. If the
number does not depend on the class, given the context, then what the two have shown could as well
have been exchanged: the difference between the two is as likely as its opposite, whatever the law
is. Nothing is estimated. So times the difference of what their classes have shown in earlier pairs,
it is a step x of a martingale with E exp(x - x^2 / 2) <= 1, as cosh(x) <= exp(x^2 / 2).

What is compared is what both could have shown: columns that were at risk in both rounds. Where the
amount of a round is not known, it is taken to be one that shows all columns. Two things are not
exact: contexts in one band differ a little, and the outcome of the first round of a pair may have
changed the amount of the second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.laws.state import WON_LOST

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.types import Floats

_COARSE = 3  # if only one column is seen, rounds within 2**3 bands that have the same are compared


def waiting_rounds(feedback: int, bands: int, columns: int) -> int:
    """Return for how many kinds of rounds one waits for another.

    feedback: a number of `state.py`. bands: of contexts, the finest.
    """
    return (bands >> _COARSE) * columns if feedback == WON_LOST else bands


@inlined
def pair_up(
    feedback: int,
    state: TestState,
    band: int,
    row: int,
    lowest: int,
    hit: bool,  # noqa: FBT001
    limit: int,
) -> None:
    """Compare a round with the one that waits in its band, or let it wait.

    row: the stratum of its class. lowest: its lowest column at risk, where something was told if
    `hit`. limit: the lowest column that could have been told, given the amount.
    """
    place = (band >> _COARSE) * state.sides.size + lowest if feedback == WON_LOST else band
    waiting = state.waiting[place]
    other = waiting[0]
    if other < 0 or other == row:
        waiting[0], waiting[1], waiting[2], waiting[3] = row, lowest, int(hit), limit
        return
    waiting[0] = -1
    least = max(limit, waiting[3])
    first = _shown(state, lowest, hit, least, 0) - _shown(state, waiting[1], waiting[2], least, 0)
    second = _shown(state, lowest, hit, least, 1) - _shown(state, waiting[1], waiting[2], least, 1)
    mine, theirs = state.shown[row], state.shown[other]
    sums, variances = state.sums[1], state.variances[1]
    for i in range(2):
        gap = _score(mine[2 * i], mine[2 * i + 1]) - _score(theirs[2 * i], theirs[2 * i + 1])
        for j in range(2):
            step = gap * (first if j == 0 else second)
            sums[2 * i + j] += step
            variances[2 * i + j] += step * step
    _remember(mine, first, second)
    _remember(theirs, -first, -second)


@inlined
def _shown(state: TestState, lowest: int, hit: bool, least: int, kind: int) -> float:  # noqa: FBT001
    """Return what a round has shown from column `least` on, less what all rounds make likely.

    kind: 0 for how often something was told, 1 for on which side of the law it was.
    """
    at = max(lowest, least)
    told = 0.0
    if hit and lowest >= least:
        told = 1.0 if kind == 0 else state.sides[at]
    found: float = told - state.expected[kind, at]
    return found


@inlined
def _remember(shown: Floats, first: float, second: float) -> None:
    """Add to what a class has shown, and to the squares of it."""
    shown[0] += first
    shown[1] += first * first
    shown[2] += second
    shown[3] += second * second


@inlined
def _score(difference: float, square: float) -> float:
    """Return a score of a class from -1/2 to 1/2, by what it has shown before."""
    return 0.5 * difference / math.sqrt(1.0 + square + difference * difference)
