"""Tests, valid at any time, of whether the number depends on the context, and on the class.

The first test asks whether the deviation at a column (1 or 0 for what happened there, minus its
chance) depends on the rank of the context. Ranks are centred, and chances estimated, within a
*stratum*: all rounds, or those of a class. The second test compares pairs of rounds; see
`pairs.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import compiled, inlined, reordered
from crossbandit.kernels.feedback import ALWAYS, WON_LOST
from crossbandit.kernels.laws.pairs import pair_up
from crossbandit.kernels.laws.state import ABOVE, TOLD
from crossbandit.kernels.laws.sums import sum_of

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

RANKS = 256  # bins of contexts, from which ranks are computed
STRATA = 512  # the largest number of classes that have a stratum
_MEMORY = 200.0  # rounds over which the scores of rounds at risk are averaged
_RATE = 1.0 / _MEMORY
_PRIOR = 10.0  # is added to the variances of the evidence
_EVERY = 16  # rounds after which the sides of the columns are computed again


class TestState(NamedTuple):
    """What the tests have seen. Columns are in risk order (see `state.py`).

    Row 0 of the strata stands for all rounds. With classes, a row for each of them follows.
    """

    told: Floats  # (strata, K + 1): rounds whose number was told at a column
    counts: Floats  # (strata, K + 1): rounds at risk at a column
    usual: Floats  # (strata, 2, K + 1): means of the two scores of rounds at risk
    shown: Floats  # (strata, 4): sums over pairs of a class, of two differences and their squares
    ranks: Floats  # (RANKS,): the number of contexts in each bin
    sums: Floats  # (2, 4): of deviations times scores, of contexts and of classes (`pairs.py`)
    variances: Floats  # (2, 4)
    rows: Integers  # (slots,): the stratum of the class at a place; -1 if it has none
    owners: Integers  # (slots,): the number of that class, see `nodes.py`; -1 if there is none
    used: Integers  # (1,): strata that are in use
    sides: Floats  # (K + 1,): from -1 for the lowest outcomes of all rounds to 1 for the highest
    expected: Floats  # (2, K + 2): sums from a column up of hazards, and of hazards times sides
    waiting: Integers  # (places, 4): rounds that wait for a partner; arguments of `pair_up`
    risk: Floats  # (2, K + 1), scratch: hazards, in all rounds and in a stratum


@compiled
def test_all(
    feedback: int,
    mirrored: bool,  # noqa: FBT001
    state: TestState,
    bins: Integers,
    slots: Integers,
    kinds: Integers,
    indices: Integers,
    amounts: Integers,
) -> None:
    """Test with n outcomes: bins of contexts, kinds of outcomes, cells or amounts; all (n,).

    slots: (n, width), the classes, as in `learn`. amounts: those played, -1 if not known.
    """
    for i in range(bins.size):
        given = (slots[i], kinds[i], indices[i], amounts[i])
        test_one(feedback, mirrored, state, bins[i], *given)


@inlined
def test_one(
    feedback: int,
    mirrored: bool,  # noqa: FBT001
    state: TestState,
    place: int,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
) -> None:
    """Test with one outcome. place: the bin of the context. slots: (width,), the classes.

    amount: the one played, by number; -1 if it is not known.
    """
    size = state.risk.shape[1] - 1
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
    elif total < _EVERY * _EVERY or int(total) % _EVERY == 0:
        _set_hazards(state.told[0], state.counts[0], 0, state.risk[0])
        _set_sides(state.risk[0], state.sides, state.expected)
    at, end = (column - lowest if hit else -1), top + 1
    all_rounds = state.risk[0, lowest:end]
    told, counts = state.told[0, lowest:end], state.counts[0, lowest:end]
    alone = feedback == WON_LOST  # only one column is seen; before any round, its chance is 1 / 2
    _set_hazards(told, counts, 1 if alone else lowest, all_rounds)
    if feedback == WON_LOST:
        state.sides[column] = 2.0 * all_rounds[0] - 1.0
    if state.rows.size == 0:
        _take_in(state, 0, rank, bend, at, lowest, all_rounds)
    else:
        for i in range(counts.size):
            counts[i] += 1.0
        row = class_row(state, slots)
        if row >= 0:
            _compare_in_class(state, row, rank, bend, at, lowest, all_rounds)
            limit = first_shown(feedback, mirrored, kind, lowest, amount, size)
            pair_up(feedback, state, place, row, lowest, at >= 0, limit)
    if hit:
        state.told[0, column] += 1.0


@inlined
def _compare_in_class(
    state: TestState,
    row: int,
    rank: float,
    bend: float,
    at: int,
    lowest: int,
    all_rounds: Floats,
) -> None:
    """Compare a round with the rounds of its class. row: the stratum of the class."""
    end = lowest + all_rounds.size
    hazards = state.risk[1, lowest:end]
    _shrink(state.told[row, lowest:end], state.counts[row, lowest:end], all_rounds, hazards)
    _take_in(state, row, rank, bend, at, lowest, hazards)
    if at >= 0:
        state.told[row, lowest + at] += 1.0


@inlined
def first_shown(
    feedback: int,
    mirrored: bool,  # noqa: FBT001
    kind: int,
    lowest: int,
    amount: int,
    size: int,
) -> int:
    """Return the lowest column that the amount could have shown; 1 if the amount is not known.

    lowest: what `first_at_risk` returned. If nothing was told, it is this column.
    """
    if kind != TOLD or feedback == WON_LOST:
        return lowest
    if feedback == ALWAYS or amount < 0:
        return 1
    return max((size - 1 - amount if mirrored else amount) + 1, 1)


@inlined
def class_row(state: TestState, slots: Integers) -> int:
    """Return the stratum of a round's combined classes: a new one if needed, -1 without room."""
    number = slots[slots.size - 1]
    if number < 0:
        return -1
    place = number % state.rows.size
    if state.owners[place] != number:
        state.owners[place] = number
        state.rows[place] = -1
    if state.rows[place] < 0 and state.used[0] < state.told.shape[0]:
        state.rows[place] = state.used[0]
        state.used[0] += 1
    row: int = state.rows[place]
    return row


@inlined
def known_row(state: TestState, slots: Integers) -> int:
    """Return the stratum of a round's combined classes, or -1 if there is none."""
    number = slots[slots.size - 1]
    if number < 0 or state.rows.size == 0:
        return -1
    place = number % state.rows.size
    row: int = state.rows[place] if state.owners[place] == number else -1
    return row


@inlined
def first_at_risk(kind: int, column: int) -> int:
    """Return the lowest column at which a round with this outcome was at risk."""
    return max(column if kind == TOLD else column + 1, 1)


@inlined
def _set_hazards(told: Floats, counts: Floats, lowest: int, out: Floats) -> None:
    """Set `out` to the hazards in all rounds, at the columns from `lowest` on."""
    for i in range(out.size):
        out[i] = (told[i] + 1.0 / (lowest + i + 1.0)) / (counts[i] + 1.0)


@inlined
def _shrink(told: Floats, counts: Floats, all_rounds: Floats, out: Floats) -> None:
    """Set `out` to the hazards in a stratum. The hazards in all rounds count as one round."""
    for i in range(out.size):
        out[i] = (told[i] + all_rounds[i]) / (counts[i] + 1.0)


@inlined
def _set_sides(hazards: Floats, sides: Floats, expected: Floats) -> None:
    """Set the side of each column: twice its chance of being reached, minus 1.

    Each factor depends on the one before, so this is slow. It is done once in `_EVERY` rounds. The
    sides are weights in the test, which is valid with any weights that do not depend on the
    outcome. expected: set to the sums of hazards, and of hazards times sides, from each column up.
    """
    chance, plain, turned = 1.0, 0.0, 0.0
    for j in range(sides.size - 1, -1, -1):
        sides[j] = 2.0 * chance - 1.0
        chance *= 1.0 - hazards[j]
        plain += hazards[j]
        turned += hazards[j] * sides[j]
        expected[0, j], expected[1, j] = plain, turned


@inlined
def _take_in(
    state: TestState, row: int, rank: float, bend: float, at: int, lowest: int, hazards: Floats
) -> None:
    """Compare a round with its stratum, then count it there. rank, bend: its scores."""
    end = lowest + hazards.size
    counts, sides = state.counts[row, lowest:end], state.sides[lowest:end]
    ranks, bends = state.usual[row, 0, lowest:end], state.usual[row, 1, lowest:end]
    sums, variances = state.sums[0], state.variances[0]
    _compare(rank, bend, at, hazards, counts, ranks, bends, sides, sums, variances)
    _follow(rank, bend, counts, ranks, bends)


@reordered
def _compare(
    rank: float,
    bend: float,
    at: int,
    hazards: Floats,
    counts: Floats,
    ranks: Floats,
    bends: Floats,
    sides: Floats,
    sums: Floats,
    variances: Floats,
) -> None:
    """Compare what happened at each column with its hazard, and whether that depends on scores.

    at: the column at which it happened, or -1. ranks, bends: the mean scores of rounds at risk. The
    sides come from the hazards of all rounds. Those from the hazards of a stratum would be
    correlated with the deviations from these hazards.

    The variance is a third of the square plus two thirds of its expectation. With this variance,
    the exponential of the martingale has a mean of at most 1 for any steps, because
    exp(x - x^2 / 6) is at most 1 + x + x^2 / 3 for every x. With hazard h, the variance is
    h (2 - h) / 3 at a column where nothing happened, and (1 - 2 h) / 3 more where it happened.
    """
    # Local variables stay in registers. Arrays might overlap, so they would be written each time.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for j in range(hazards.size):
        hazard = hazards[j] if counts[j] > 0.0 else 0.0  # no mean to compare with yet
        first, second = rank - ranks[j], bend - bends[j]
        turned, bent = first * sides[j], second * sides[j]
        spread = hazard * (2.0 - hazard) / 3.0
        a -= hazard * first
        b -= hazard * turned
        c -= hazard * second
        d -= hazard * bent
        e += spread * first * first
        f += spread * turned * turned
        g += spread * second * second
        h += spread * bent * bent
    if at >= 0 and counts[at] > 0.0:
        first, second = rank - ranks[at], bend - bends[at]
        turned, bent = first * sides[at], second * sides[at]
        spread = (1.0 - 2.0 * hazards[at]) / 3.0
        a += first
        b += turned
        c += second
        d += bent
        e += spread * first * first
        f += spread * turned * turned
        g += spread * second * second
        h += spread * bent * bent
    _add(sums, a, b, c, d)
    _add(variances, e, f, g, h)


@inlined
def _follow(rank: float, bend: float, counts: Floats, ranks: Floats, bends: Floats) -> None:
    """Count a round at risk, and update the mean scores: of all rounds, later of recent ones."""
    for j in range(counts.size):
        counts[j] += 1.0
        rate = max(1.0 / counts[j], _RATE)
        ranks[j] += rate * (rank - ranks[j])
        bends[j] += rate * (bend - bends[j])


@inlined
def _add(sums: Floats, a: float, b: float, c: float, d: float) -> None:
    """Add to four sums: those of two scores, and those of the scores times the side."""
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += d


@compiled
def log_evidence(state: TestState, test: int) -> float:
    """Return the logarithm of the evidence of the test: 0 for the context, 1 for the class."""
    highest = -math.inf
    for i in range(4):
        highest = max(highest, _log_part(state, test, i))
    total = 0.0
    for i in range(4):
        total += math.exp(_log_part(state, test, i) - highest)
    return highest + math.log(total / 4.0)


@inlined
def _log_part(state: TestState, test: int, i: int) -> float:
    total = state.sums[test, i]
    scale = state.variances[test, i] + _PRIOR
    part: float = 0.5 * math.log(_PRIOR / scale) + total * total / (2.0 * scale)
    return part
