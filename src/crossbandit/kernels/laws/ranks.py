"""Whether what happened at a column, less its chance, depends on the rank of the context.

Ranks are centred, and chances are counted, among rounds of the same stratum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined, reordered

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.types import Floats

_MEMORY = 200.0  # rounds over which the usual score of those at risk is averaged
_RATE = 1.0 / _MEMORY


@inlined
def take_in(
    state: TestState,
    test: int,
    row: int,
    rank: float,
    bend: float,
    at: int,
    lowest: int,
    hazards: Floats,
) -> None:
    """Compare a round with its stratum, then count it there. rank, bend: its scores."""
    end = lowest + hazards.size
    counts, sides = state.counts[row, lowest:end], state.sides[lowest:end]
    ranks, bends = state.usual[row, 0, lowest:end], state.usual[row, 1, lowest:end]
    sums, variances = state.sums[test], state.variances[test]
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

    at: the column at which it happened, or -1. ranks, bends: the usual scores of those at risk. The
    sides are those by the hazards of all rounds: those of a stratum go with the deviations from
    them.

    The variance is a third of the square and two thirds of what is expected of it. With these, the
    exponential of a martingale has a mean of at most 1, whatever the steps: exp(x - x^2 / 6) is at
    most 1 + x + x^2 / 3 for every x. With hazard h that is h (2 - h) / 3 where nothing happened,
    and (1 - 2 h) / 3 more where it did.
    """
    # Sums are kept in registers: in arrays that might overlap they would be written each time.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for j in range(hazards.size):
        hazard = hazards[j] if counts[j] > 0.0 else 0.0  # nothing is usual yet
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
    """Count a round at risk, and let the usual scores follow: means of all, then of recent ones."""
    for j in range(counts.size):
        counts[j] += 1.0
        rate = max(1.0 / counts[j], _RATE)
        ranks[j] += rate * (rank - ranks[j])
        bends[j] += rate * (bend - bends[j])


@inlined
def _add(sums: Floats, a: float, b: float, c: float, d: float) -> None:
    """Add to four sums: of two scores, each alone and times the side."""
    sums[0] += a
    sums[1] += b
    sums[2] += c
    sums[3] += d
