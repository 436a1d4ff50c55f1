"""A test, valid at any time, of whether the number goes with the context."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.state import ABOVE, TOLD, WON_LOST

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

RANKS = 256  # bins of contexts, of which ranks are counted
_MEMORY = 200.0  # rounds over which the usual context of those at risk is averaged
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
    risk: Floats  # (K + 1,), scratch


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
    below = whole_sum(state.ranks, 0, place)
    total = below + whole_sum(state.ranks, place, RANKS)
    rank = (below + 0.5 * state.ranks[place] + 0.5) / (total + 1.0) - 0.5
    state.ranks[place] += 1.0
    top, lowest = size, max(column if kind == TOLD else column + 1, 1)
    if feedback == WON_LOST:
        top = lowest = column
    else:
        _hazards(state, lowest)
    bend, chance = 6.0 * rank * rank - 0.5, 1.0
    # Sums are kept in registers: in arrays that might overlap they would be written each time.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for j in range(top, lowest - 1, -1):
        if feedback == WON_LOST:
            hazard = (state.told[j] + 0.5) / (state.told[j] + state.hidden[j] + 1.0)
            hit = 0.0 if kind == ABOVE else 1.0
            chance = hazard
        else:
            hazard = (state.told[j] + 1.0 / (j + 1.0)) / (state.risk[j] + 1.0)
            hit = 1.0 if kind == TOLD and j == column else 0.0
        state.counts[j] += 1.0
        first, second = rank - state.usual[0, j], bend - state.usual[1, j]
        if state.counts[j] > 1.0:
            missed, spread, turn = hit - hazard, hazard * (1.0 - hazard), 2.0 * chance - 1.0
            a += missed * first
            b += missed * (first * turn)
            c += missed * second
            d += missed * (second * turn)
            e += spread * first * first
            f += spread * (first * turn) * (first * turn)
            g += spread * second * second
            h += spread * (second * turn) * (second * turn)
        rate = 1.0 / min(state.counts[j], _MEMORY)
        state.usual[0, j] += rate * first
        state.usual[1, j] += rate * second
        chance *= 1.0 - hazard
    _add(state.sums, a, b, c, d)
    _add(state.variances, e, f, g, h)
    told = kind == TOLD or (feedback == WON_LOST and kind != ABOVE)
    if told:
        state.told[column] += 1.0
    else:
        state.hidden[column] += 1.0


@inlined
def _add(sums: Floats, a: float, b: float, c: float, d: float) -> None:
    """Add to four sums: of two functions of the rank, each alone and times the law's side."""
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += d


@inlined
def whole_sum(counts: Floats, start: int, stop: int) -> float:
    """Return a sum of whole numbers. It is exact, so four sums at a time are as good as one."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    i = start
    while i + 4 <= stop:
        a += counts[i]
        b += counts[i + 1]
        c += counts[i + 2]
        d += counts[i + 3]
        i += 4
    while i < stop:
        a += counts[i]
        i += 1
    return (a + b) + (c + d)


@inlined
def _hazards(state: TestState, lowest: int) -> None:
    """Set how many rounds were at risk in each column from `lowest` on."""
    size = state.told.size
    total = whole_sum(state.told, 0, size) + whole_sum(state.hidden, 0, size)
    for j in range(size - 1, lowest - 1, -1):
        total -= state.hidden[j]
        state.risk[j] = total
        total -= state.told[j]


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
