"""Test whether the number depends on the class, with pairs of rounds of nearly the same context.

A pair is two rounds of different classes in the same finest band of contexts. If the number does
not depend on the class, given the context, the outcomes of the two rounds are exchangeable: their
difference is as likely as its negative, whatever the law is. Nothing is estimated. The difference,
times the difference between the scores of the two classes in earlier pairs, is a step x of a
martingale with E exp(x - x^2 / 2) <= 1, because cosh(x) <= exp(x^2 / 2).

Only columns that were at risk in both rounds are compared. If the amount of a round is not known,
it is assumed to show all columns. The test is not exact for two reasons: contexts in one band
differ a little, and the outcome of the first round of a pair may have changed the amount of the
second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.feedback import WON_LOST

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.types import Floats

_COARSE = 3  # if only one column is seen, a pair has the same column, and one of 2**3 bands


def waiting_rounds(feedback: int, bands: int, columns: int) -> int:
    """Return how many rounds can wait for a partner at the same time.

    feedback: a constant of `feedback.py`. bands: the number of the finest bands of contexts.
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
    """Compare a round with the one that waits in its band, or let it wait for a partner.

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
    """Return what a round has shown from column `least` on, minus what all rounds let expect.

    kind: 0 for whether something was told, 1 for the side of the column at which it was told.
    """
    at = max(lowest, least)
    told = 0.0
    if hit and lowest >= least:
        told = 1.0 if kind == 0 else state.sides[at]
    found: float = told - state.expected[kind, at]
    return found


@inlined
def _remember(shown: Floats, first: float, second: float) -> None:
    """Add the two differences of a pair, and their squares, to the sums of a class."""
    shown[0] += first
    shown[1] += first * first
    shown[2] += second
    shown[3] += second * second


@inlined
def _score(difference: float, square: float) -> float:
    """Return the score of a class, from -1/2 to 1/2, by its sums over earlier pairs."""
    return 0.5 * difference / math.sqrt(1.0 + square + difference * difference)
