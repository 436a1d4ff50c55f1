"""The exploration of the adaptive learner: which arms need it, and how it is played."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.simplex import may_play

if TYPE_CHECKING:
    from crossbandit.types import Booleans, Floats, Integers

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
    inside, outside = 0.0, 0.0  # for arms without self-loop: available ones, and others
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
