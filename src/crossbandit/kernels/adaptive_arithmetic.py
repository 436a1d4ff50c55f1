"""Arithmetic of the adaptive learner: exploration, anchors, and the mixability gap.

Exploration raises the probability of observing each arm to a minimum, its *floor*.

Anchors: estimates are kept as differences between an arm and its anchor, which is revealed whenever
the arm is. The estimate of an arm is a sum of differences between its loss and that of its anchor.
Its score is the anchor's score plus that sum.

The learning rate follows from the sum of the mixability gaps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.rows import add_row
from crossbandit.kernels.simplex import may_play
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Feedback, Readout


_MOST = 0.5


@inlined
def floor_at(exploration: float, count: float) -> float:
    """Return the floor of observation after `count` rounds."""
    return min(_MOST, exploration / math.sqrt(count))


@inlined
def weak_floor_at(exploration: float, count: float, dominating: int) -> float:
    """Return the floor of weakly observable arms together after `count` rounds.

    dominating: the number of arms that reveal them all.
    """
    floor: float = min(_MOST, exploration * (dominating / count) ** (1.0 / 3.0))
    return floor


@inlined
def explore_weak(
    masses: Floats,
    weak: Integers,
    dominating: Integers,
    available: Booleans,
    floor: float,
    out: Floats,
) -> None:
    """Mix `out` (K,) with the exploration that lifts weakly observable arms to their floor.

    weak: the weakly observable arms. dominating: arms that reveal them all; those that are
    available are played equally often. Each weakly observable arm is to be observed with
    probability `floor` / |dominating|.
    """
    lacking = 0.0
    for a in weak:
        lacking = max(lacking, floor - dominating.size * masses[a])
    count = 0
    for a in dominating:
        count += int(may_play(available, a))
    if lacking == 0.0 or count == 0:
        return
    for a in range(out.size):
        out[a] *= 1.0 - lacking
    for a in dominating:
        if may_play(available, a):
            out[a] += lacking / count


@inlined
def _lacking(masses: Floats, shares: Floats, available: Booleans, floor: float) -> float:
    """Return by how much the observation probabilities of all arms fall short of their floors.

    An arm that no available arm can reveal now is not counted.
    """
    lacking = 0.0
    if not _any_lacks(masses, shares, floor):
        return lacking
    count = masses.size if available.size == 0 else _count(available)
    for a in range(masses.size):
        if _showing(shares, available, count, a) > 0:
            lacking += max(0.0, floor * shares[a] - masses[a])
    return lacking


@inlined
def _any_lacks(masses: Floats, shares: Floats, floor: float) -> bool:
    # Usually no arm is below its floor, and this check is faster than a sum.
    for a in range(masses.size):  # noqa: SIM110  # a generator does not compile
        if floor * shares[a] > masses[a]:
            return True
    return False


@inlined
def _count(available: Booleans) -> int:
    count = 0
    for a in range(available.size):
        count += int(available[a])
    return count


@inlined
def _showing(shares: Floats, available: Booleans, count: int, a: int) -> int:
    """Return how many available arms may be played in order to observe arm `a`.

    An arm with a self-loop is played itself. An arm without one is observed by playing any other
    arm.
    `count` is the number of available arms.
    """
    own = int(may_play(available, a))
    return own if shares[a] < 1.0 else count - own


@inlined
def explore(
    weights: Floats,
    masses: Floats,
    shares: Floats,
    available: Booleans,
    floor: float,
    out: Floats,
) -> None:
    """Set `out` (K,) to `weights`, mixed with the exploration that lifts each arm to its floor.

    masses: (K,), the probabilities of observing each arm. shares: (K,), the part of the floor that
    each arm is given: 1 / K or, without self-loop, 1. `out` may be `weights`.
    """
    arms = masses.size
    lacking = _lacking(masses, shares, available, floor)
    if lacking == 0.0:
        for a in range(arms):
            out[a] = weights[a]
        return
    count = arms if available.size == 0 else _count(available)
    # What is lacking for arms without self-loop: for available ones, and for others.
    inside, outside = 0.0, 0.0
    for a in range(arms):
        if shares[a] == 1.0 and _showing(shares, available, count, a) > 0:
            lack = max(0.0, floor - masses[a])
            if may_play(available, a):
                inside += lack
            else:
                outside += lack
    others = max(1, count - 1)
    for a in range(arms):
        if not may_play(available, a):
            out[a] = 0.0
            continue
        lack = 0.0
        if _showing(shares, available, count, a) > 0:
            lack = max(0.0, floor * shares[a] - masses[a])
        extra = lack + inside / others if shares[a] < 1.0 else (inside - lack) / others
        out[a] = (1.0 - lacking) * weights[a] + (extra + outside / count)


class Anchors(NamedTuple):
    """The arm against which each arm is measured. All arrays are empty if no arm has an anchor."""

    anchor: Integers  # (K,): an arm, or -1 for an arm that has no anchor
    order: Integers  # (K,): all arms, each after its anchor
    roots: Integers  # the arms that have no anchor


@inlined
def anchored_scores(
    estimates: Floats, bias: Floats, anchors: Anchors, readout: Readout, out: Floats
) -> None:
    """Set `out` (K,) to the scores of all arms in the context of `readout`.

    estimates: (K, columns). bias: (K,). All arms must share the coefficients of the readout.
    """
    offset, coefficients = readout.offset, readout.coefficients
    for a in anchors.order:
        score = bias[a]
        for i in range(coefficients.shape[1]):
            score += estimates[a, offset + i] * coefficients[0, i]
        if anchors.anchor[a] >= 0:
            score += out[anchors.anchor[a]]
        out[a] = score


@inlined
def anchored_estimates(
    anchors: Anchors, shown: Booleans, losses: Floats, weights: Floats, out: Floats
) -> None:
    """Fill in the estimates `out` (K,) of the revealed arms that have an anchor.

    `out` already holds those of arms without an anchor. shown, losses, weights: (K,).
    """
    for a in anchors.order:
        anchor = anchors.anchor[a]
        if shown[a] and anchor >= 0:
            out[a] = out[anchor] + weights[a] * (losses[a] - losses[anchor])


@inlined
def pool(anchors: Anchors, shown: Booleans, masses: Floats, out: Floats) -> None:
    """Set `out` to `masses`, with the mass of each arm that was not revealed moved to its anchor.

    Such an arm has the estimate of its anchor. shown, masses, out: (K,).
    """
    for a in range(shown.size):
        out[a] = masses[a]
    for i in range(shown.size - 1, -1, -1):
        a = anchors.order[i]
        anchor = anchors.anchor[a]
        if anchor >= 0 and not shown[a]:
            out[anchor] += out[a]
            out[a] = 0.0


@inlined
def add_differences(
    estimates: Floats,
    anchors: Anchors,
    weights: Floats,
    factor: float,
    feedback: Feedback,
    place: Integers,
) -> None:
    """Add the row of each revealed arm, less the row of its anchor, to `estimates`, in place.

    An arm without anchor adds its row as it is. estimates: (1, K, columns). weights: (K,), each
    multiplied by `factor`. place: (K,), the row of each revealed arm, needed with anchors only.
    """
    losses, i = feedback.losses, feedback.round
    plain = losses.coefficients.shape[2] == 0
    if anchors.order.size == 0:
        for j in range(feedback.arms.size):
            b, row = feedback.arms[j], feedback.places[j]
            weight = weights[b] * factor
            if plain:  # short rows cost less as they are than as slices
                t = min(i, losses.base.shape[0] - 1)
                for m in range(estimates.shape[2]):
                    estimates[0, b, m] += weight * losses.base[t, row, m]
            else:
                add_row(losses, i, row, weight, estimates[0, b])
        return
    for b in feedback.arms:
        anchor = anchors.anchor[b]
        weight = weights[b] * factor
        if plain:
            t = min(i, losses.base.shape[0] - 1)
            for m in range(estimates.shape[2]):
                loss = losses.base[t, place[b], m]
                if anchor >= 0:
                    loss -= losses.base[t, place[anchor], m]
                estimates[0, b, m] += weight * loss
        else:
            add_row(losses, i, place[b], weight, estimates[0, b])
            if anchor >= 0:
                add_row(losses, i, place[anchor], -weight, estimates[0, b])


_NOTHING = 1e-18


@inlined
def mixability_gap(chosen: Floats, estimates: Floats, revealed: Integers, eta: float) -> float:
    """Return the mean of the estimates less their exponential mean; unrevealed ones are 0.

    Exponentials are taken relative to the least estimate, so they are at most 1.
    """
    if not eta > 0.0:
        return 0.0
    mean, rest, mass, least = 0.0, 0.0, 0.0, math.inf
    after = 0
    for b in revealed:
        for a in range(after, b):
            rest += chosen[a]
        after = b + 1
        mean += chosen[b] * estimates[b]
        mass += chosen[b]
        if chosen[b] > 0.0:
            least = min(least, estimates[b])
    for a in range(after, chosen.size):
        rest += chosen[a]
    total = 0.0
    if rest > 0.0:
        least = min(least, 0.0)
        total = rest * math.exp(eta * least)
    for b in revealed:
        if chosen[b] > _NOTHING * total:  # otherwise it would not change the sum
            total += chosen[b] * math.exp(-eta * (estimates[b] - least))
    # The sum of probabilities is 1, up to rounding. With the division, equal estimates have no gap.
    return max(0.0, mean - least + math.log(total / (rest + mass)) / eta)
