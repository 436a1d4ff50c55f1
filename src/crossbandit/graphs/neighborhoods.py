"""Arithmetic on neighbourhoods that are stored as runs, in time proportional to arms plus runs.

Every function returns runs in canonical form: within an arm they ascend and neither overlap nor
touch. Two equal graphs therefore have equal arrays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crossbandit.kernels.runs import Runs

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def canonical(arms: int, owner: Ints, first: Ints, last: Ints) -> Runs:
    """Sort and merge runs that are given in any order, also overlapping ones.

    owner, first, last: (runs,); `owner[i]` reveals the arms `first[i], ..., last[i]`.
    """
    # The rows lie on one line, two places apart, so that no run touches one of the next row.
    stride = arms + 2
    order = np.argsort(owner * stride + first, kind="stable")
    owner, first, last = owner[order], first[order], last[order]
    end = np.maximum.accumulate(owner * stride + last)
    opens = np.ones(owner.size, dtype=np.bool_)
    opens[1:] = owner[1:] * stride + first[1:] > end[:-1] + 1
    closes = np.roll(opens, -1)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner[opens], minlength=arms), out=starts[1:])
    return Runs(starts, first[opens], end[closes] - owner[closes] * stride)


def runs_of_matrix(matrix: Bools) -> Runs:
    """Return the runs of the rows of a square boolean matrix."""
    arms = len(matrix)
    padded = np.zeros((arms, arms + 2), dtype=np.bool_)
    padded[:, 1:-1] = matrix
    before, after = padded[:, :-1], padded[:, 1:]
    owner, first = np.nonzero(~before & after)
    _, end = np.nonzero(before & ~after)
    starts = np.zeros(arms + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=arms), out=starts[1:])
    return Runs(starts, first.astype(np.int64), end.astype(np.int64) - 1)


def matrix_of_runs(runs: Runs) -> Bools:
    """Return the square boolean matrix whose rows are the runs."""
    arms = runs.starts.size - 1
    step = np.zeros((arms, arms + 1), dtype=np.int8)
    owner = owners(runs)
    step[owner, runs.first] = 1
    step[owner, runs.last + 1] = -1
    return np.cumsum(step[:, :-1], axis=1, dtype=np.int8).astype(np.bool_)


def transposed(runs: Runs) -> Runs:
    """Return the in-neighbourhoods of given out-neighbourhoods, or the reverse.

    Arm b's run begins or ends at a where rows a - 1 and a differ in b. Rows differ between the
    ends of their runs, except between ends that both have; so no K x K matrix is needed.
    """
    arms = runs.starts.size - 1
    stride = arms + 1
    ends = np.concatenate([runs.first, runs.last + 1])
    row = np.concatenate([owners(runs)] * 2)
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
    return Runs(starts, change[0::2].copy(), change[1::2] - 1)


def owners(runs: Runs) -> Ints:
    """Return the arm that owns each run."""
    return np.repeat(np.arange(runs.starts.size - 1), np.diff(runs.starts))


def members(runs: Runs, arm: int) -> Ints:
    """Return the arms in the neighbourhood of `arm`, ascending."""
    own = slice(int(runs.starts[arm]), int(runs.starts[arm + 1]))
    return _expanded(runs.first[own], runs.last[own] - runs.first[own] + 1)


def all_members(runs: Runs) -> tuple[Ints, Ints]:
    """Return every pair (arm, neighbour) as two arrays, in lexicographic order."""
    counts = runs.last - runs.first + 1
    return np.repeat(owners(runs), counts), _expanded(runs.first, counts)


def sizes(runs: Runs) -> Ints:
    """Return the number of arms in each neighbourhood."""
    upto = np.zeros(runs.first.size + 1, dtype=np.int64)
    np.cumsum(runs.last - runs.first + 1, out=upto[1:])
    return upto[runs.starts[1:]] - upto[runs.starts[:-1]]


def self_loops(runs: Runs) -> Bools:
    """Say for each arm whether it lies in its own neighbourhood."""
    owner = owners(runs)
    present = np.zeros(runs.starts.size - 1, dtype=np.bool_)
    present[owner[(runs.first <= owner) & (owner <= runs.last)]] = True
    return present


def closed_union(one: Runs, other: Runs) -> Runs:
    """Return the union of two neighbourhoods of each arm and the arm itself."""
    arms = one.starts.size - 1
    itself = np.arange(arms)
    return canonical(
        arms,
        np.concatenate([owners(one), owners(other), itself]),
        np.concatenate([one.first, other.first, itself]),
        np.concatenate([one.last, other.last, itself]),
    )


def induced(runs: Runs, keep: Bools) -> Runs:
    """Return the neighbourhoods among the arms of `keep` (K,), which are numbered anew from 0."""
    kept_before = np.zeros(keep.size + 1, dtype=np.int64)
    np.cumsum(keep, out=kept_before[1:])
    owner = owners(runs)
    first = kept_before[runs.first]
    last = kept_before[runs.last + 1] - 1
    stays = keep[owner] & (first <= last)
    return canonical(int(kept_before[-1]), kept_before[owner[stays]], first[stays], last[stays])


def _expanded(first: Ints, counts: Ints) -> Ints:
    """Return first[0], first[0] + 1, ... (counts[0] of them), then first[1], ..."""
    offset = np.cumsum(counts) - counts
    return np.repeat(first - offset, counts) + np.arange(int(counts.sum()))
