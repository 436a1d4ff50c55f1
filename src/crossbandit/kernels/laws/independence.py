"""A test, valid at any time, of whether the number goes with the context."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.state import ABOVE, TOLD, WON_LOST
from crossbandit.kernels.laws.sums import sum_of

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

RANKS = 256  # bins of contexts, of which ranks are counted
_MEMORY = 200.0  # rounds over which the usual context of those at risk is averaged
_RATE = 1.0 / _MEMORY
_PRIOR = 10.0


class TestState(NamedTuple):
    """What the test has seen. Columns are in risk order (see `state.py`)."""

    told: Floats  # (K + 1,)
    hidden: Floats  # (K + 1,)
    usual: Floats  # (2, K + 1): means of the two functions of the context's rank
    counts: Floats  # (K + 1,): rounds at risk
    ranks: Floats  # (RANKS,): contexts by bin
    sums: Floats  # (4,): of deviations
    variances: Floats  # (4,)
    risk: Floats  # (K + 1,), scratch: the hazards of an outcome


@compiled
def test_all(
    feedback: int,
    mirrored: bool,  # noqa: FBT001
    state: TestState,
    bins: Integers,
    kinds: Integers,
    indices: Integers,
) -> None:
    """Take in n outcomes: bins of contexts, kinds of outcomes, cells or amounts; all (n,)."""
    for i in range(bins.size):
        test_one(feedback, mirrored, state, bins[i], kinds[i], indices[i])


@inlined
def test_one(
    feedback: int,
    mirrored: bool,  # noqa: FBT001
    state: TestState,
    place: int,
    kind: int,
    index: int,
) -> None:
    """Take in one outcome; place: the bin of the context."""
    size = state.told.size - 1
    column = index
    if mirrored:
        column = size - column if kind == TOLD else size - 1 - column
    below = sum_of(state.ranks[:place])
    total = below + sum_of(state.ranks[place:])
    rank = (below + 0.5 * state.ranks[place] + 0.5) / (total + 1.0) - 0.5
    state.ranks[place] += 1.0
    bend = 6.0 * rank * rank - 0.5
    hit = kind == TOLD or (feedback == WON_LOST and kind != ABOVE)
    top, lowest = size, first_at_risk(kind, column)
    if feedback == WON_LOST:
        top = lowest = column
    end = top + 1
    _hazards(
        feedback,
        lowest,
        state.told[lowest:end],
        state.hidden[lowest:end],
        state.counts[lowest:end],
        state.risk[lowest:end],
    )
    _compare(
        rank,
        bend,
        feedback,
        column - lowest if hit else -1,
        state.risk[lowest:end],
        state.counts[lowest:end],
        state.usual[0, lowest:end],
        state.usual[1, lowest:end],
        state.sums,
        state.variances,
    )
    if hit:
        state.told[column] += 1.0
    else:
        state.hidden[column] += 1.0


@inlined
def first_at_risk(kind: int, column: int) -> int:
    """Return the lowest column at which a round with this outcome was at risk."""
    return max(column if kind == TOLD else column + 1, 1)


@inlined
def _hazards(
    feedback: int, lowest: int, told: Floats, hidden: Floats, counts: Floats, out: Floats
) -> None:
    """Set the chance that all rounds together give an outcome at each column that is at risk.

    A round is at risk at a column if it is told there or below, or hidden below: `counts` counts
    these. With WON_LOST it is at risk at the amount that was played.
    """
    if feedback == WON_LOST:
        out[0] = (told[0] + 0.5) / (told[0] + hidden[0] + 1.0)
        return
    for i in range(out.size):
        out[i] = (told[i] + 1.0 / (lowest + i + 1.0)) / (counts[i] + 1.0)


@inlined
def _compare(
    rank: float,
    bend: float,
    feedback: int,
    hit: int,
    hazards: Floats,
    counts: Floats,
    ranks: Floats,
    bends: Floats,
    sums: Floats,
    variances: Floats,
) -> None:
    """Compare what happened at each column with its hazard, and see if the context goes with it.

    hit: the column at which it happened, or -1. ranks, bends: what is usual of those at risk; they
    follow.
    """
    chance = hazards[0] if feedback == WON_LOST else 1.0
    # Sums are kept in registers: in arrays that might overlap they would be written each time.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for j in range(hazards.size - 1, -1, -1):
        hazard, count = hazards[j], counts[j] + 1.0
        first, second = rank - ranks[j], bend - bends[j]
        if count > 1.0:
            missed = (1.0 if j == hit else 0.0) - hazard
            spread, turn = hazard * (1.0 - hazard), 2.0 * chance - 1.0
            turned, bent = first * turn, second * turn
            a += missed * first
            b += missed * turned
            c += missed * second
            d += missed * bent
            e += spread * first * first
            f += spread * turned * turned
            g += spread * second * second
            h += spread * bent * bent
        rate = _RATE if count >= _MEMORY else 1.0 / count
        counts[j] = count
        ranks[j] += rate * first
        bends[j] += rate * second
        chance *= 1.0 - hazard
    _add(sums, a, b, c, d)
    _add(variances, e, f, g, h)


@inlined
def _add(sums: Floats, a: float, b: float, c: float, d: float) -> None:
    """Add to four sums: of two functions of the rank, each alone and times the law's side."""
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += d


@compiled
def log_evidence(state: TestState) -> float:
    """Return the logarithm of the evidence against independence."""
    highest = -math.inf
    for i in range(4):
        highest = max(highest, _log_part(state, i))
    total = 0.0
    for i in range(4):
        total += math.exp(_log_part(state, i) - highest)
    return highest + math.log(total / 4.0)


@inlined
def _log_part(state: TestState, i: int) -> float:
    scale = state.variances[i] + _PRIOR
    part: float = 0.5 * math.log(_PRIOR / scale) + state.sums[i] * state.sums[i] / (2.0 * scale)
    return part
