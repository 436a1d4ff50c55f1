"""Neighbourhoods as ranges of consecutive arms, and the mass of each from one prefix sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crossbandit.kernels.compilation import inlined


class ArmRanges(NamedTuple):
    """The neighbourhoods of K arms; arm `a` owns the ranges `starts[a] : starts[a + 1]`.

    Run `i` holds the arms `first[i], ..., last[i]`, both included. Within an arm the ranges ascend
    and neither overlap nor touch.
    """

    starts: npt.NDArray[np.int64]  # (K + 1,)
    first: npt.NDArray[np.int64]  # (ranges,)
    last: npt.NDArray[np.int64]  # (ranges,)


@inlined
def range_masses(
    ranges: ArmRanges,
    mass: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None:
    """Set `out[a]` to the mass of arm a's neighbourhood, in time proportional to arms plus ranges.

    mass, out: (K,). sums: (2, K + 1), scratch. A run that touches an end is read off one
    sum; only a run in the middle is a difference of two, and that never falls below its own two
    ends: rounding may not turn a small positive mass into nothing.
    """
    arms = mass.size
    prefix, suffix = sums
    prefix[0] = 0.0
    suffix[arms] = 0.0
    below, above = 0.0, 0.0  # two sums at once, neither waiting for the other or for memory
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
