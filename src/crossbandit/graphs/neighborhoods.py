"""Arithmetic on neighbourhoods that are stored as ranges, in time proportional to arms plus ranges.

Every function returns ranges in canonical form: within an arm they ascend and neither overlap nor
touch. Two equal graphs therefore have equal arrays.
"""

from __future__ import annotations

import numpy as np

from crossbandit.kernels.ranges import ArmRanges
from crossbandit.types import Booleans, Integers


def canonical(arms: int, owner: Integers, first: Integers, last: Integers) -> ArmRanges:
    """Sort and merge ranges that are given in any order, also overlapping ones.

    owner, first, last: (ranges,); `owner[i]` reveals the arms `first[i], ..., last[i]`.
    """
    # All rows are put on one number line, two places apart, so that ranges of two rows never touch.
    stride = arms + 2
    order = np.argsort(owner * stride + first, kind="stable")
    owner, first, last = owner[order], first[order], last[order]
    end = np.maximum.accumulate(owner * stride + last)
    opens = np.ones(owner.size, dtype=np.bool_)
    opens[1:] = owner[1:] * stride + first[1:] > end[:-1] + 1
    closes = np.roll(opens, -1)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner[opens], minlength=arms), out=starts[1:])
    return ArmRanges(starts, first[opens], end[closes] - owner[closes] * stride)


def ranges_of_matrix(matrix: Booleans) -> ArmRanges:
    """Return the ranges of the rows of a square boolean matrix."""
    arms = len(matrix)
    padded = np.zeros((arms, arms + 2), dtype=np.bool_)
    padded[:, 1:-1] = matrix
    before, after = padded[:, :-1], padded[:, 1:]
    owner, first = np.nonzero(~before & after)
    _, end = np.nonzero(before & ~after)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=arms), out=starts[1:])
    return ArmRanges(starts, first.astype(np.int64), end.astype(np.int64) - 1)


def matrix_of_ranges(ranges: ArmRanges) -> Booleans:
    """Return the square boolean matrix whose rows are the ranges."""
    arms = ranges.starts.size - 1
    step = np.zeros((arms, arms + 1), dtype=np.int8)
    owner = owners(ranges)
    step[owner, ranges.first] = 1
    step[owner, ranges.last + 1] = -1
    return np.cumsum(step[:, :-1], axis=1, dtype=np.int8).astype(np.bool_)


def transposed(ranges: ArmRanges) -> ArmRanges:
    """Return the in-neighbourhoods of given out-neighbourhoods, or the reverse.

    A range of arm b begins or ends at a where rows a - 1 and a differ in b. Rows differ between the
    ends of their ranges, except between ends that both have. So no K x K matrix is needed.
    """
    arms = ranges.starts.size - 1
    stride = arms + 1
    ends = np.concatenate([ranges.first, ranges.last + 1])
    row = np.concatenate([owners(ranges)] * 2)
    toggles, times = np.unique(
        np.concatenate([row * stride + ends, (row + 1) * stride + ends]), return_counts=True
    )
    toggles = toggles[times == 1]
    row, first = np.divmod(toggles[0::2], stride)
    counts = toggles[1::2] - toggles[0::2]
    column = _expanded(first, counts)
    change = np.repeat(row, counts)[np.argsort(column, kind="stable")]
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(column, minlength=arms) // 2, out=starts[1:])
    return ArmRanges(starts, change[0::2].copy(), change[1::2] - 1)


def owners(ranges: ArmRanges) -> Integers:
    """Return the arm that owns each range."""
    return np.repeat(np.arange(ranges.starts.size - 1), np.diff(ranges.starts))


def members(ranges: ArmRanges, arm: int) -> Integers:
    """Return the arms in the neighbourhood of `arm`, ascending."""
    own = slice(int(ranges.starts[arm]), int(ranges.starts[arm + 1]))
    return _expanded(ranges.first[own], ranges.last[own] - ranges.first[own] + 1)


def all_members(ranges: ArmRanges) -> tuple[Integers, Integers]:
    """Return every pair (arm, neighbour) as two arrays, in lexicographic order."""
    counts = ranges.last - ranges.first + 1
    return np.repeat(owners(ranges), counts), _expanded(ranges.first, counts)


def sizes(ranges: ArmRanges) -> Integers:
    """Return the number of arms in each neighbourhood."""
    upto = np.zeros(ranges.first.size + 1, dtype=np.int64)
    np.cumsum(ranges.last - ranges.first + 1, out=upto[1:])
    return upto[ranges.starts[1:]] - upto[ranges.starts[:-1]]


def self_loops(ranges: ArmRanges) -> Booleans:
    """Return for each arm whether it is in its own neighbourhood."""
    owner = owners(ranges)
    present = np.zeros(ranges.starts.size - 1, dtype=np.bool_)
    present[owner[(ranges.first <= owner) & (owner <= ranges.last)]] = True
    return present


def closed_union(one: ArmRanges, other: ArmRanges) -> ArmRanges:
    """Return the union of two neighbourhoods of each arm and the arm itself."""
    arms = one.starts.size - 1
    itself = np.arange(arms)
    return canonical(
        arms,
        np.concatenate([owners(one), owners(other), itself]),
        np.concatenate([one.first, other.first, itself]),
        np.concatenate([one.last, other.last, itself]),
    )


def first_outside(ranges: ArmRanges, others: ArmRanges) -> tuple[int, int] | None:
    """Return the first pair (arm, neighbour) of `ranges` that `others` does not have."""
    together = canonical(
        ranges.starts.size - 1,
        np.concatenate([owners(ranges), owners(others)]),
        np.concatenate([ranges.first, others.first]),
        np.concatenate([ranges.last, others.last]),
    )
    more = np.flatnonzero(sizes(together) > sizes(others))
    if more.size == 0:
        return None
    arm = int(more[0])
    return arm, int(np.setdiff1d(members(ranges, arm), members(others, arm))[0])


def induced(ranges: ArmRanges, keep: Booleans) -> ArmRanges:
    """Return the neighbourhoods among the arms of `keep` (K,), which are renumbered from 0."""
    kept_before = np.zeros(keep.size + 1, dtype=np.int64)
    np.cumsum(keep, out=kept_before[1:])
    owner = owners(ranges)
    first = kept_before[ranges.first]
    last = kept_before[ranges.last + 1] - 1
    stays = keep[owner] & (first <= last)
    return canonical(int(kept_before[-1]), kept_before[owner[stays]], first[stays], last[stays])


def _expanded(first: Integers, counts: Integers) -> Integers:
    """Return first[0], first[0] + 1, ... (counts[0] of them), then first[1], ..."""
    offset = np.cumsum(counts) - counts
    return np.repeat(first - offset, counts) + np.arange(int(counts.sum()))
