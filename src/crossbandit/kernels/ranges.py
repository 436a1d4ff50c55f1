"""Neighbourhoods as ranges of consecutive arms, and the mass of each from one prefix sum."""

from __future__ import annotations

from typing import NamedTuple

from crossbandit.kernels.compilation import inlined
from crossbandit.types import Floats, Integers


class ArmRanges(NamedTuple):
    """The neighbourhoods of K arms; arm `a` owns the ranges `starts[a] : starts[a + 1]`.

    Range `i` holds the arms `first[i], ..., last[i]`, both included. The ranges of an arm ascend
    and neither overlap nor touch.

    Attributes:
        starts: (K + 1,), where the ranges of each arm begin.
        first: (ranges,), the first arm of each range.
        last: (ranges,), the last arm of each range, which is included.
    """

    starts: Integers
    first: Integers
    last: Integers


@inlined
def list_neighbors(ranges: ArmRanges, arm: int, out: Integers) -> int:
    """List the neighbours of `arm` in ascending order at the beginning of `out` (K,).

    All other kernels iterate over this list: filling it once per round costs less than iterating
    over the ranges wherever revealed arms are needed.

    Args:
        ranges: The neighbourhoods of all arms.
        arm: The arm.
        out: (K,), filled from its beginning.

    Returns:
        How many neighbours there are.
    """
    count = 0
    for i in range(ranges.starts[arm], ranges.starts[arm + 1]):
        for b in range(ranges.first[i], ranges.last[i] + 1):
            out[count] = b
            count += 1
    return count


@inlined
def list_common_neighbors(ranges: ArmRanges, others: ArmRanges, arm: int, out: Integers) -> int:
    """List the arms that are neighbours of `arm` in both, ascending, at the beginning of `out`.

    Returns how many there are. out: (K,).
    """
    count = 0
    i, end = ranges.starts[arm], ranges.starts[arm + 1]
    j, others_end = others.starts[arm], others.starts[arm + 1]
    while i < end and j < others_end:
        last, other_last = ranges.last[i], others.last[j]
        for b in range(max(ranges.first[i], others.first[j]), min(last, other_last) + 1):
            out[count] = b
            count += 1
        if last <= other_last:
            i += 1
        if other_last <= last:
            j += 1
    return count


@inlined
def has_self_loop(ranges: ArmRanges, arm: int) -> bool:
    """Return whether `arm` is in its own neighbourhood.

    Args:
        ranges: The neighbourhoods of all arms.
        arm: The arm.
    """
    for i in range(ranges.starts[arm], ranges.starts[arm + 1]):
        if ranges.first[i] <= arm <= ranges.last[i]:
            return True
    return False


@inlined
def range_masses(ranges: ArmRanges, mass: Floats, sums: Floats, out: Floats) -> None:
    """Set `out[a]` to the mass of arm a's neighbourhood, in time proportional to arms plus ranges.

    A range that touches an end needs one sum. A range in the middle is a difference of two sums,
    limited from below by the mass of its two end arms: rounding must not turn a small positive mass
    into 0.

    Args:
        ranges: The neighbourhoods of all arms.
        mass: (K,), the mass of each arm.
        sums: (2, K + 1), scratch.
        out: (K,), filled.
    """
    arms = mass.size
    prefix, suffix = sums
    prefix[0] = 0.0
    suffix[arms] = 0.0
    below, above = 0.0, 0.0  # two independent sums: the processor computes them in parallel
    for a in range(arms):
        below += mass[a]
        above += mass[arms - 1 - a]
        prefix[a + 1] = below
        suffix[arms - 1 - a] = above
    for a in range(arms):
        total = 0.0
        for i in range(ranges.starts[a], ranges.starts[a + 1]):
            first = ranges.first[i]
            last = ranges.last[i]
            if first == last:
                total += mass[first]
            elif first == 0:
                total += prefix[last + 1]
            elif last == arms - 1:
                total += suffix[first]
            else:
                total += max(prefix[last + 1] - prefix[first], mass[first] + mass[last])
        out[a] = total
