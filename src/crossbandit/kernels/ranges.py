"""Neighbourhoods as ranges of consecutive arms: masses, lists, and the graph of each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Sequence


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


class GraphBlock(NamedTuple):
    """The graphs of n rounds: round i has the graph number `entry[i]` of those listed.

    The neighbourhoods of all graphs are listed one after the other: arm a of graph g owns the
    ranges `starts[g * K + a] : starts[g * K + a + 1]`. `out_ranges_at` and `in_ranges_at` return
    those of one round.

    Attributes:
        entry: (n,), the graph of each round; (0,) if a learner's own graph is trusted.
        out_ranges: The arms that each arm reveals, of K arms times the number of graphs.
        in_ranges: The arms that reveal each arm.
    """

    entry: Integers
    out_ranges: ArmRanges
    in_ranges: ArmRanges


@inlined
def out_ranges_at(graphs: GraphBlock, i: int, arms: int) -> ArmRanges:
    """Return which arms each of the `arms` arms reveals in round `i`.

    Args:
        graphs: The graphs of the batch.
        i: The number of the round in the batch.
        arms: The number of arms.
    """
    return _ranges_at(graphs.out_ranges, graphs.entry[i] * arms, arms)


@inlined
def in_ranges_at(graphs: GraphBlock, i: int, arms: int) -> ArmRanges:
    """Return which arms reveal each of the `arms` arms in round `i`.

    Args:
        graphs: The graphs of the batch.
        i: The number of the round in the batch.
        arms: The number of arms.
    """
    return _ranges_at(graphs.in_ranges, graphs.entry[i] * arms, arms)


@inlined
def _ranges_at(ranges: ArmRanges, first: int, arms: int) -> ArmRanges:
    return ArmRanges(ranges.starts[first : first + arms + 1], ranges.first, ranges.last)


@compiled
def first_unobservable(in_ranges: ArmRanges, arms: int, strongly: bool) -> int:  # noqa: FBT001
    """Return the number of the first graph with an arm that is not observable; -1 if none has.

    in_ranges: of all graphs of a block. strongly: whether each arm must be strongly observable.
    """
    for graph in range((in_ranges.starts.size - 1) // arms):
        for a in range(arms):
            revealers, loop = 0, False
            i = graph * arms + a
            for j in range(in_ranges.starts[i], in_ranges.starts[i + 1]):
                revealers += in_ranges.last[j] - in_ranges.first[j] + 1
                loop = loop or in_ranges.first[j] <= a <= in_ranges.last[j]
            if revealers == 0 or (strongly and not loop and revealers < arms - 1):
                return graph
    return -1


def ranges_of_graph(ranges: ArmRanges, graph: int, arms: int) -> ArmRanges:
    """Return the ranges of one graph of a block, outside of compiled code."""
    starts = ranges.starts[graph * arms : (graph + 1) * arms + 1]
    own = slice(int(starts[0]), int(starts[-1]))
    return ArmRanges(starts - starts[0], ranges.first[own], ranges.last[own])


def graphs_of_matrices(present: Booleans) -> GraphBlock:
    """Return a graph per round, of adjacency matrices: present[i, a, b] if a reveals b in round i.

    present: (n, K, K).
    """
    rounds, arms, _ = present.shape
    sides = []
    for side in (present, present.transpose(0, 2, 1)):
        rows = np.ascontiguousarray(side).reshape(rounds * arms, arms)
        starts = np.zeros(rounds * arms + 1, dtype=np.int64)
        first, last = np.empty((2, rounds * arms * ((arms + 1) // 2)), dtype=np.int64)
        count = _list_ranges(rows, starts, first, last)
        sides.append(fixed_ranges(ArmRanges(starts, first[:count].copy(), last[:count].copy())))
    return GraphBlock(np.arange(rounds), *sides)


@compiled
def _list_ranges(rows: Booleans, starts: Integers, first: Integers, last: Integers) -> int:
    """List the ranges of all rows (rows, K) in `first` and `last`; return how many there are.

    starts: (rows + 1,), set to the number of ranges before each row.
    """
    count = 0
    for i in range(rows.shape[0]):
        before = False
        for b in range(rows.shape[1]):
            if rows[i, b]:
                if not before:
                    first[count] = b
                    count += 1
                last[count - 1] = b
            before = rows[i, b]
        starts[i + 1] = count
    return count


def stacked(graphs: Sequence[tuple[ArmRanges, ArmRanges]], entry: Integers) -> GraphBlock:
    """Return the graphs of n rounds.

    Args:
        graphs: The out-ranges and the in-ranges of each graph, all with the same number of arms.
        entry: (n,), which of them each round has.
    """
    out_ranges, in_ranges = (joined(side) for side in zip(*graphs, strict=True))
    return GraphBlock(np.ascontiguousarray(entry, dtype=np.int64), out_ranges, in_ranges)


def joined(parts: Sequence[ArmRanges]) -> ArmRanges:
    """Return the ranges of several graphs, one after the other."""
    offset = np.cumsum([0, *(part.first.size for part in parts)])
    starts = [part.starts[:-1] + before for part, before in zip(parts, offset, strict=False)]
    return fixed_ranges(
        ArmRanges(
            np.concatenate([*starts, offset[-1:]]),
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.last for part in parts]),
        )
    )


def fixed_ranges(ranges: ArmRanges) -> ArmRanges:
    """Make ranges read-only, as those of a graph are: kernels are compiled for these alone."""
    for array in ranges:
        array.flags.writeable = False
    return ranges


def _no_ranges() -> ArmRanges:
    return fixed_ranges(ArmRanges(*(np.empty(0, dtype=np.int64) for _ in range(3))))


NO_GRAPHS = GraphBlock(np.empty(0, dtype=np.int64), _no_ranges(), _no_ranges())
