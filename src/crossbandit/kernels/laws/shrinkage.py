"""The law of a node: its own counts, drawn towards its parent's law as far as the data say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.state import COVERED, NUMBER_OF_BLOCKS
from crossbandit.kernels.laws.sums import sum_of

if TYPE_CHECKING:
    from crossbandit.types import Floats

_CONTRADICTION = 5.0  # in standard errors
_CERTAIN = 0.999  # no hazard is larger
_DIFFERENT = 16.0  # no variance of log odds around the parent's is larger
_MOST = 12.0  # no log odds are larger
_WIDTH = 0.04  # of the neighbourhood that amounts share log odds with, on either side


@inlined
def at_risk(told: Floats, hidden: Floats, unit: float, risk: Floats) -> None:
    """Set risk[j], j >= 1, to the rounds in which a cell of column j would have been told.

    told, hidden, risk: (K + 1,). unit: what a count is worth. Eight columns are summed at a time:
    each sum waits for the one before, and several of these can wait together. They are written out,
    because sums are kept in registers only then.
    """
    total, size = told[0], told.size
    start = 1
    while start + 8 <= size:
        a = hidden[start - 1] + told[start]
        b = a + (hidden[start] + told[start + 1])
        c = b + (hidden[start + 1] + told[start + 2])
        d = c + (hidden[start + 2] + told[start + 3])
        e = d + (hidden[start + 3] + told[start + 4])
        f = e + (hidden[start + 4] + told[start + 5])
        g = f + (hidden[start + 5] + told[start + 6])
        h = g + (hidden[start + 6] + told[start + 7])
        risk[start] = (total + a) * unit
        risk[start + 1] = (total + b) * unit
        risk[start + 2] = (total + c) * unit
        risk[start + 3] = (total + d) * unit
        risk[start + 4] = (total + e) * unit
        risk[start + 5] = (total + f) * unit
        risk[start + 6] = (total + g) * unit
        risk[start + 7] = (total + h) * unit
        total += h
        start += 8
    part = 0.0
    for j in range(start, size):
        part += hidden[j - 1] + told[j]
        risk[j] = (total + part) * unit


@inlined
def heterogeneity(
    found: float,
    weight: float,
    noise: float,
    evidence: Floats,
    totals: Floats,
    first: int,
    most: float,
) -> float:
    """Return the variance of a node's ratios around its parent's: empirical Bayes.

    `found / weight` is the node's own estimate, `noise` its squared error at no variance (halved).
    It is drawn towards the estimate from all nodes of its kind and depth. evidence, totals: (6,):
    three numbers from `first` on are replaced, in the totals too.
    """
    totals[first] += found - evidence[first]
    totals[first + 1] += weight - evidence[first + 1]
    totals[first + 2] += noise - evidence[first + 2]
    evidence[first] = found
    evidence[first + 1] = weight
    evidence[first + 2] = noise
    usual = max(totals[first], 0.0) / totals[first + 1] if totals[first + 1] > 0.0 else 0.0
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

    First one ratio for each block of columns, then each column for itself. Both are drawn towards
    the parent with a weight from `heterogeneity`. `noise` is the variance of a count of rounds
    relative to its mean, 1 without discounting. work: (6, K + 1), overwritten.
    """
    risk = work[0]
    at_risk(told, hidden, unit, risk)
    if root:
        for j in range(1, law.size):
            part = 1.0 / (1.0 + risk[j])
            law[j] = (told[j] * unit + law[j]) * part
            spread[j] = part + part * part * spread[j]
        return
    _shrink_blocks(told, unit, noise, law, work, evidence, totals)
    _shrink_columns(told, unit, noise, law, spread, work, evidence, totals)


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
    """Draw each column's own share towards the hazard in `law`.

    A block of columns that contradicts the parent's law by itself, far beyond chance, is believed
    more than the rest: many rounds that agree elsewhere must not outvote it. The rows of `work`:
    risk, at the top of each block its bottom, one that is not used, and three terms.
    """
    risk, bottoms = work[0], work[1]
    founds, weights, squares = work[3], work[4], work[5]
    _terms(told[1:], unit, noise, law[1:], risk[1:], founds[1:], weights[1:], squares[1:])
    found, weight, square = sum_of(founds[1:]), sum_of(weights[1:]), sum_of(squares[1:])
    differs = heterogeneity(found, weight, square, evidence, totals, 3, 1.0)
    end = law.size  # of the columns that may differ by as much as is usual
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
            believe(told, unit, differs, law, spread, risk, top + 1, end)
            believe(told, unit, most, law, spread, risk, bottom, top + 1)
            end = bottom
        top = bottom - 1
    believe(told, unit, differs, law, spread, risk, 1, end)


@inlined
def _terms(
    told: Floats,
    unit: float,
    noise: float,
    law: Floats,
    risk: Floats,
    founds: Floats,
    weights: Floats,
    squares: Floats,
) -> None:
    """Set what each column says of how much columns differ from the law; see `heterogeneity`."""
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
def believe(
    told: Floats,
    unit: float,
    differs: float,
    law: Floats,
    spread: Floats,
    risk: Floats,
    start: int,
    stop: int,
) -> None:
    """Draw hazards and spreads from `start` to `stop` to what was seen, as far as they differ."""
    told, risk = told[start:stop], risk[start:stop]
    law, spread = law[start:stop], spread[start:stop]
    for i in range(law.size):
        part = 1.0 / (1.0 + risk[i] * differs)
        law[i] = (told[i] * unit * differs + law[i]) * part
        spread[i] = part * differs + part * part * spread[i]


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

    A block ends where it has its share of the expected outcomes. Columns where hardly anything
    would have been told keep the parent's hazard: what is seen above them says little of them. The
    rows of `work`: risk; at the top of each block its bottom, count and mean; and means.
    """
    risk, bottoms = work[0], work[1]
    counts, block_means, means = work[3], work[4], work[5]
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
    differs = heterogeneity(found, weight, squares, evidence, totals, 0, 1.0)
    if differs <= 1e-9:
        return
    top = law.size - 1
    while top >= 1:
        bottom, mean, ratio = int(bottoms[top]), block_means[top], 1.0
        if mean >= 0.0:
            ratio = (counts[top] * differs + 1.0) / (mean * differs + 1.0)
        multiply(law[bottom : top + 1], ratio, risk[bottom : top + 1])
        top = bottom - 1


@inlined
def multiply(law: Floats, ratio: float, risk: Floats) -> None:
    """Multiply the hazards of columns where enough would have been told by a ratio."""
    for i in range(law.size):
        changed = min(_CERTAIN, law[i] * ratio)
        law[i] = changed if risk[i] >= COVERED else law[i]


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

    reached, missed: (K + 1,), rounds by amount. First the log odds of neighbouring amounts move
    together, then each amount's for itself; then they are made to rise. work: (3, K + 1).
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
        differs = heterogeneity(found, weight, squares, evidence, totals, 3 * step, _DIFFERENT)
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
    """Move each log odds by what its neighbourhood says; `fading` is a neighbour's weight."""
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
    """Make log odds rise with the amount: halfway between the lowest and the highest that do."""
    highest = -_MOST
    for k in range(law.size - 1):
        highest = max(highest, law[k])
        work[k] = highest
    lowest = _MOST
    for k in range(law.size - 2, -1, -1):
        lowest = min(lowest, law[k])
        law[k] = 0.5 * (work[k] + lowest)
