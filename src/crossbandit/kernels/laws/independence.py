"""A test, valid at any time, of whether the number goes with the context."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined, reordered
from crossbandit.kernels.laws.state import ABOVE, TOLD, WON_LOST
from crossbandit.kernels.laws.sums import sum_of

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

RANKS = 256  # bins of contexts, of which ranks are counted
_MEMORY = 200.0  # rounds over which the usual context of those at risk is averaged
_RATE = 1.0 / _MEMORY
_PRIOR = 10.0
_EVERY = 16  # rounds after which it is found anew on which side of the law each column is


class TestState(NamedTuple):
    """What the test has seen. Columns are in risk order (see `state.py`)."""

    told: Floats  # (K + 1,)
    hidden: Floats  # (K + 1,)
    usual: Floats  # (2, K + 1): means of the two functions of the context's rank
    counts: Floats  # (K + 1,): rounds at risk
    ranks: Floats  # (RANKS,): contexts by bin
    sums: Floats  # (4,): of deviations
    variances: Floats  # (4,)
    sides: Floats  # (K + 1,): from -1 for the lowest outcomes to 1 for the highest
    risk: Floats  # (3, K + 1), scratch: hazards, one over the counts; and 1 / (column + 1)


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
        state.risk[0, column] = hazard = _share(state.told[column], state.hidden[column])
        state.risk[1, column] = 1.0 / (state.counts[column] + 1.0)
        state.sides[column] = 2.0 * hazard - 1.0
    else:
        if total < _EVERY * _EVERY or int(total) % _EVERY == 0:
            _set_hazards(state.told, state.counts, state.risk[0], state.risk[1], state.risk[2])
            _set_sides(state.risk[0], state.sides)
        _set_hazards(
            state.told[lowest:],
            state.counts[lowest:],
            state.risk[0, lowest:],
            state.risk[1, lowest:],
            state.risk[2, lowest:],
        )
    end = top + 1
    ranks, bends = state.usual[0, lowest:end], state.usual[1, lowest:end]
    counts, sides = state.counts[lowest:end], state.sides[lowest:end]
    hazards, inverse = state.risk[0, lowest:end], state.risk[1, lowest:end]
    at = column - lowest if hit else -1
    _compare(rank, bend, at, hazards, counts, ranks, bends, sides, state.sums, state.variances)
    _follow(rank, bend, inverse, counts, ranks, bends)
    if hit:
        state.told[column] += 1.0
    else:
        state.hidden[column] += 1.0


@inlined
def first_at_risk(kind: int, column: int) -> int:
    """Return the lowest column at which a round with this outcome was at risk."""
    return max(column if kind == TOLD else column + 1, 1)


@inlined
def _share(told: float, hidden: float) -> float:
    """Return the chance that an amount reaches the number, where nothing else is seen."""
    return (told + 0.5) / (told + hidden + 1.0)


@inlined
def _set_hazards(
    told: Floats, counts: Floats, hazards: Floats, inverse: Floats, prior: Floats
) -> None:
    """Set the chance that all rounds together give an outcome at each column that is at risk.

    A round is at risk at a column if it is told there or below, or hidden below: `counts` counts
    these. prior: 1 / (column + 1).
    """
    for i in range(hazards.size):
        inverse[i] = 1.0 / (counts[i] + 1.0)
        hazards[i] = (told[i] + prior[i]) * inverse[i]


@inlined
def _set_sides(hazards: Floats, sides: Floats) -> None:
    """Set on which side of the law each column is: twice its chance of being reached, less 1.

    A product waits for the one before, so this takes long, and is done once in `_EVERY` rounds. The
    sides are weights of the test: it is valid with any that do not know the outcome.
    """
    chance = 1.0
    for j in range(sides.size - 1, -1, -1):
        sides[j] = 2.0 * chance - 1.0
        chance *= 1.0 - hazards[j]


@reordered
def _compare(
    rank: float,
    bend: float,
    hit: int,
    hazards: Floats,
    counts: Floats,
    ranks: Floats,
    bends: Floats,
    sides: Floats,
    sums: Floats,
    variances: Floats,
) -> None:
    """Compare what happened at each column with its hazard, and see if the context goes with it.

    hit: the column at which it happened, or -1. ranks, bends: what is usual of those at risk.
    """
    # Sums are kept in registers: in arrays that might overlap they would be written each time.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for j in range(hazards.size):
        hazard = hazards[j] if counts[j] > 0.0 else 0.0  # nothing is usual yet
        first, second = rank - ranks[j], bend - bends[j]
        turned, bent = first * sides[j], second * sides[j]
        spread = hazard * (1.0 - hazard)
        a += hazard * first
        b += hazard * turned
        c += hazard * second
        d += hazard * bent
        e += spread * first * first
        f += spread * turned * turned
        g += spread * second * second
        h += spread * bent * bent
    if hit >= 0 and counts[hit] > 0.0:
        first, second = rank - ranks[hit], bend - bends[hit]
        a -= first
        b -= first * sides[hit]
        c -= second
        d -= second * sides[hit]
    _add(sums, -a, -b, -c, -d)
    _add(variances, e, f, g, h)


@inlined
def _follow(
    rank: float, bend: float, inverse: Floats, counts: Floats, ranks: Floats, bends: Floats
) -> None:
    """Let what is usual of those at risk follow: a mean of all rounds, then of recent ones."""
    for j in range(counts.size):
        rate = max(inverse[j], _RATE)
        counts[j] += 1.0
        ranks[j] += rate * (rank - ranks[j])
        bends[j] += rate * (bend - bends[j])


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
