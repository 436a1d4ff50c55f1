"""Compute the law of a node: its own counts, shrunk towards its parent's law (empirical Bayes).

A law is a row of hazards, h_j = P(cell = j | cell <= j), in risk order. In a node, n_j outcomes
were told in column j, and r_j rounds were at risk there. It begins with the hazards h_j of its
parent and their variances V_j. If d is the variance of the node's hazards around these (like V_j,
relative to h_j (1 - h_j)), then

    h_j <- (n_j + h_j / d) / (r_j + 1 / d)                                    `_draw_near`
    V_j <- 1 / (r_j + 1 / d) + ((1 / d) / (r_j + 1 / d))^2 V_j

So the parent's law counts as 1 / d rounds. At the root, d = 1. Elsewhere it is estimated, by
empirical Bayes (James-Stein), from 0 to 1:

    e_j = r_j h_j (1 - h_j),   w_j = e_j / (e_j + 1)
    d = sum_j w_j ((n_j - r_j h_j)^2 / e_j - 1) / sum_j w_j (r_j - 1)         `_set_terms`

and the result is shrunk towards that of other nodes of the same kind and depth (`heterogeneity`).
This is done twice: first for a few blocks of columns, each with one ratio of node to parent, then
for single columns. With WON_LOST, a law is a row of log odds instead (`shrink_odds`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.state import CERTAIN, COVERED, NUMBER_OF_BLOCKS
from crossbandit.kernels.laws.sums import at_risk, sum_of

if TYPE_CHECKING:
    from crossbandit.types import Floats

_CONTRADICTION = 5.0  # in standard errors
_DIFFERENT = 16.0  # no variance of log odds around the parent's is larger
_MOST = 12.0  # no log odds are larger
_WIDTH = 0.04  # of the neighbourhood of an amount on either side, as a share of all amounts


@inlined
def heterogeneity(
    found: float, weight: float, noise: float, evidence: Floats, totals: Floats, most: float
) -> float:
    """Return the variance of a node's ratios around its parent's: empirical Bayes.

    `found / weight` is the node's own estimate, and `noise` is half of its squared error if there
    is no variance. It is shrunk towards the estimate from all nodes of its kind and depth.
    evidence, totals: (3,). The three numbers replace the old ones in `evidence`, and in the sums of
    `totals`.
    """
    totals[0] += found - evidence[0]
    totals[1] += weight - evidence[1]
    totals[2] += noise - evidence[2]
    evidence[0], evidence[1], evidence[2] = found, weight, noise
    usual = max(totals[0], 0.0) / totals[1] if totals[1] > 0.0 else 0.0
    pull = math.sqrt(2.0 * max(noise, 0.0)) / max(usual, 1e-3)
    return min(max((max(found, 0.0) + usual * pull) / (weight + pull + 1e-9), 0.0), most)


@compiled
def shrink_hazards(
    told: Floats,
    hidden: Floats,
    unit: float,
    noise: float,
    root: bool,  # noqa: FBT001
    law: Floats,
    spread: Floats,
    work: Floats,
    evidence: Floats,
    totals: Floats,
) -> None:
    """Turn the parent's hazards in `law` and `spread` into the node's; all (K + 1,).

    unit: what a count is worth. noise: the variance of a count of rounds relative to its mean, 1
    without discounting. evidence, totals: (6,), see `heterogeneity`; the first three are for
    blocks, the others for columns. work: (5, K + 1), overwritten. Row 0 is `risk`. Row 1 has, at
    the highest column of each block, its lowest column.
    """
    risk = work[0]
    at_risk(told, hidden, unit, risk)
    if root:
        _draw_near(told, unit, 1.0, law, spread, risk, 1, law.size)
        return
    _shrink_blocks(told, unit, noise, law, work, evidence[:3], totals[:3])
    _shrink_columns(told, unit, noise, law, spread, work, evidence[3:], totals[3:])


@inlined
def _shrink_blocks(
    told: Floats,
    unit: float,
    noise: float,
    law: Floats,
    work: Floats,
    evidence: Floats,
    totals: Floats,
) -> None:
    """Multiply the hazards of each block of columns by one ratio.

    The first block begins at the highest column. A block ends where it has its share of the
    expected outcomes. Columns with too few rounds at risk keep the parent's hazard: what is seen
    above them says little about them.
    """
    risk, bottoms, counts, block_means, means = work[0], work[1], work[2], work[3], work[4]
    for j in range(1, law.size):
        means[j] = risk[j] * law[j]
    expected = sum_of(means[1:])
    bottoms[law.size - 1] = 1.0
    if expected <= 0.0:
        return
    limit = expected / NUMBER_OF_BLOCKS
    found, weight, squares = 0.0, 0.0, 0.0
    j = law.size - 1
    while j >= 1:
        top, count, mean, variance = j, 0.0, 0.0, 0.0
        while j >= 1 and mean < limit:
            count += told[j] * unit
            mean += means[j]
            variance += means[j] * (1.0 - law[j])
            j -= 1
        bottoms[top], counts[top], block_means[top] = j + 1.0, count, -1.0
        if variance > 1e-9:
            block_means[top] = mean
            share = variance / (variance + 1.0)
            found += share * ((count - mean) * (count - mean) / variance - noise)
            weight += share * mean * mean / variance
            squares += share * share
    differs = heterogeneity(found, weight, squares, evidence, totals, 1.0)
    if differs <= 1e-9:
        return
    top = law.size - 1
    while top >= 1:
        bottom, mean, ratio = int(bottoms[top]), block_means[top], 1.0
        if mean >= 0.0:
            ratio = (counts[top] * differs + 1.0) / (mean * differs + 1.0)
        _multiply(law[bottom : top + 1], ratio, risk[bottom : top + 1])
        top = bottom - 1


@inlined
def _multiply(law: Floats, ratio: float, risk: Floats) -> None:
    """Multiply the hazards of columns with enough rounds at risk by a ratio."""
    for i in range(law.size):
        changed = min(CERTAIN, law[i] * ratio)
        law[i] = changed if risk[i] >= COVERED else law[i]


@inlined
def _shrink_columns(
    told: Floats,
    unit: float,
    noise: float,
    law: Floats,
    spread: Floats,
    work: Floats,
    evidence: Floats,
    totals: Floats,
) -> None:
    """Shrink the share that was told in each column towards the hazard in `law`.

    If a block of columns contradicts the parent's law by far more than chance, it is shrunk less
    than the others: many rounds that agree elsewhere must not hide it.
    """
    risk, bottoms, founds, weights, squares = work[0], work[1], work[2], work[3], work[4]
    _set_terms(told[1:], unit, noise, law[1:], risk[1:], founds[1:], weights[1:], squares[1:])
    found, weight, square = sum_of(founds[1:]), sum_of(weights[1:]), sum_of(squares[1:])
    differs = heterogeneity(found, weight, square, evidence, totals, 1.0)
    end = law.size  # columns before it, and above `top`, are shrunk with `differs`
    top = end - 1
    while top >= 1:
        bottom, found, square = int(bottoms[top]), 0.0, 0.0
        for j in range(bottom, top + 1):
            found += founds[j]
            square += squares[j]
        if found > _CONTRADICTION * math.sqrt(2.0 * square):
            weight = 0.0
            for j in range(bottom, top + 1):
                weight += weights[j]
            most = min(max(differs, found / (weight + 1e-9)), 1.0)
            _draw_near(told, unit, differs, law, spread, risk, top + 1, end)
            _draw_near(told, unit, most, law, spread, risk, bottom, top + 1)
            end = bottom
        top = bottom - 1
    _draw_near(told, unit, differs, law, spread, risk, 1, end)


@inlined
def _set_terms(
    told: Floats,
    unit: float,
    noise: float,
    law: Floats,
    risk: Floats,
    founds: Floats,
    weights: Floats,
    squares: Floats,
) -> None:
    """Set what each column adds to the three sums of `heterogeneity`; see the top of the file."""
    for i in range(law.size):
        mean = risk[i] * law[i]
        variance = mean * (1.0 - law[i])
        gap = told[i] * unit - mean
        part = 1.0 / (variance + 1.0)
        share = variance * part
        counts = variance > 1e-12
        founds[i] = (gap * gap - noise * variance) * part if counts else 0.0
        weights[i] = share * max(risk[i] - noise, 0.0) if counts else 0.0
        squares[i] = share * share if counts else 0.0


@inlined
def _draw_near(
    told: Floats,
    unit: float,
    differs: float,
    law: Floats,
    spread: Floats,
    risk: Floats,
    start: int,
    stop: int,
) -> None:
    """Update the hazards and variances from `start` to `stop` by the counts; `differs` is d."""
    told, risk = told[start:stop], risk[start:stop]
    law, spread = law[start:stop], spread[start:stop]
    for i in range(law.size):
        part = 1.0 / (1.0 + risk[i] * differs)
        law[i] = (told[i] * unit * differs + law[i]) * part
        spread[i] = part * differs + part * part * spread[i]


@compiled
def shrink_odds(
    reached: Floats,
    missed: Floats,
    unit: float,
    noise: float,
    root: bool,  # noqa: FBT001
    law: Floats,
    spread: Floats,
    work: Floats,
    evidence: Floats,
    totals: Floats,
) -> None:
    """Turn the parent's log odds in `law` and `spread` into the node's; both (K + 1,).

    reached, missed: (K + 1,), rounds by amount. First the log odds of neighbouring amounts are
    moved together, then those of each amount alone. Then they are made nondecreasing. The other
    arguments are those of `shrink_hazards`.
    """
    size = law.size - 1
    for step in range(2):
        width = max(size // NUMBER_OF_BLOCKS, 1) if step == 0 else 1
        found, weight, squares = 0.0, 0.0, 0.0
        k = 0
        while k < size:
            gap, variance = 0.0, 0.0
            for i in range(k, min(k + width, size)):
                chance = 1.0 / (1.0 + math.exp(-law[i]))
                plays = (reached[i] + missed[i]) * unit
                gap += reached[i] * unit - plays * chance
                variance += plays * chance * (1.0 - chance)
            k += width
            if variance > 1e-9:
                share = variance / (variance + 1.0)
                found += share * (gap * gap / variance - noise)
                weight += share * variance
                squares += share * share
        own, kind = evidence[3 * step : 3 * step + 3], totals[3 * step : 3 * step + 3]
        differs = heterogeneity(found, weight, squares, own, kind, _DIFFERENT)
        if root:
            differs = 4.0 if step == 0 else differs
        if differs > 1e-9:
            fading = math.exp(-1.0 / (_WIDTH * size)) if step == 0 else 0.0
            _move(reached, missed, unit, differs, fading, law, spread, work)
    _rise(law, work[0])


@inlined
def _move(
    reached: Floats,
    missed: Floats,
    unit: float,
    differs: float,
    fading: float,
    law: Floats,
    spread: Floats,
    work: Floats,
) -> None:
    """Move each log odds by the counts of its neighbourhood; `fading` is a neighbour's weight."""
    size = law.size - 1
    wins, plays, mean = 0.0, 0.0, 0.0
    for k in range(size):
        count = (reached[k] + missed[k]) * unit
        wins = wins * fading + reached[k] * unit
        plays = plays * fading + count
        mean = mean * fading + count / (1.0 + math.exp(-law[k]))
        work[0, k], work[1, k], work[2, k] = wins, plays, mean
    wins, plays, mean = 0.0, 0.0, 0.0
    for k in range(size - 1, -1, -1):
        count = (reached[k] + missed[k]) * unit
        chance = 1.0 / (1.0 + math.exp(-law[k]))
        near, all_plays, expected = work[0, k] + wins, work[1, k] + plays, work[2, k] + mean
        wins = (wins + reached[k] * unit) * fading
        plays = (plays + count) * fading
        mean = (mean + count * chance) * fading
        if all_plays <= 1e-12:
            spread[k] += differs
            continue
        rate = min(max(expected / all_plays, 1e-6), 1.0 - 1e-6)
        variance = rate * (1.0 - rate)
        added = 1.0 / (differs * variance)
        odds = (near + added * rate) / (max(all_plays - near, 0.0) + added * (1.0 - rate))
        law[k] = min(max(law[k] + math.log(odds * (1.0 - rate) / rate), -_MOST), _MOST)
        part = 1.0 / (1.0 + differs * all_plays * variance)
        spread[k] = differs * part + part * part * spread[k]


@inlined
def _rise(law: Floats, work: Floats) -> None:
    """Make log odds nondecreasing: the mean of the maxima from below and the minima from above."""
    highest = -_MOST
    for k in range(law.size - 1):
        highest = max(highest, law[k])
        work[k] = highest
    lowest = _MOST
    for k in range(law.size - 2, -1, -1):
        lowest = min(lowest, law[k])
        law[k] = 0.5 * (work[k] + lowest)
