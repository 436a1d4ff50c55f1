"""Arrays that describe rounds: contexts, losses, graphs, and what was done.

Losses come as *rows*: one row per arm and round, one column per number that a learner keeps of an
arm. A context reads the row of arm `a` through its `Readout`:

    loss = sum_i row[offset + i] * coefficients[a, i].

Dense losses have a column per context, and context c reads with `offset = c, coefficients = [[1]]`.
Linear losses have a column per feature, and a context reads with `offset = 0` and its features as
coefficients, which may differ between arms. If they do not, all arms share one row of coefficients.
So both forms of losses, and both kinds of estimates, share all code.

Neighbourhoods are ranges of consecutive arms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.core.losses import list_ranges, write_rows
from crossbandit.core.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ArmRanges(NamedTuple):
    """The neighbourhoods of K arms; arm `a` owns the ranges `starts[a] : starts[a + 1]`.

    Range `i` holds the arms `first[i], ..., last[i]`, both included. The ranges of an arm ascend
    and neither overlap nor touch.
    """

    starts: Integers  # (K + 1,), where the ranges of each arm begin
    first: Integers  # (ranges,), the first arm of each range
    last: Integers  # (ranges,), the last arm of each range, which is included


class GraphBlock(NamedTuple):
    """The graphs of n rounds: round i has the graph number `entry[i]` of those listed.

    The neighbourhoods of all graphs are listed one after the other: arm a of graph g owns the
    ranges `starts[g * K + a] : starts[g * K + a + 1]`.

    Attributes:
        entry: (n,), the graph of each round; (0,) if a learner's own graph is trusted.
        out_ranges: The arms that each arm reveals, of K arms times the number of graphs.
        in_ranges: The arms that reveal each arm.
    """

    entry: Integers
    out_ranges: ArmRanges
    in_ranges: ArmRanges


def ranges_of_graph(ranges: ArmRanges, graph: int, arms: int) -> ArmRanges:
    """Return the ranges of one graph of a block."""
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
        count = list_ranges(rows, starts, first, last)
        sides.append(fixed_ranges(ArmRanges(starts, first[:count].copy(), last[:count].copy())))
    return GraphBlock(np.arange(rounds), *sides)


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
    """Make ranges read-only, as those of a graph are."""
    for array in ranges:
        array.flags.writeable = False
    return ranges


def _no_ranges() -> ArmRanges:
    return fixed_ranges(ArmRanges(*(np.empty(0, dtype=np.int64) for _ in range(3))))


NO_GRAPHS = GraphBlock(np.empty(0, dtype=np.int64), _no_ranges(), _no_ranges())


class Readout(NamedTuple):
    """How a context reads a row of losses or estimates, and which arms it may play.

    The context reads `sum_i row[offset + i] * coefficients[a, i]` from the row of arm a.

    Attributes:
        offset: The first column that the context reads.
        coefficients: The factors of that column and those after it: (K, width), or (1, width) if
            all arms have the same.
        available: Which arms may be played (K,); an empty array (0,) if all may.
    """

    offset: int
    coefficients: Floats
    available: Booleans

    def losses(self, rows: Floats, arms: Sequence[int]) -> Floats:
        """Return what this context reads from rows of losses or estimates.

        Args:
            rows: An array (n, columns) with a row for each of `arms`.
            arms: The arms to which the rows belong.

        Returns:
            The n numbers that the context reads.
        """
        own = self.coefficients
        read = rows[:, self.offset : self.offset + own.shape[1]]
        losses: Floats = (read * (own if len(own) == 1 else own[list(arms)])).sum(axis=1)
        return losses

    def may_play(self, arms: int) -> Booleans:
        """Return which arms may be played.

        Args:
            arms: How many arms there are.

        Returns:
            A boolean for each arm.
        """
        return self.available if self.available.size else np.ones(arms, dtype=np.bool_)


class LossBlock(NamedTuple):
    """The rows of all arms in n consecutive rounds.

    row[i, a, :] = base[i, a, :] + sum_k coefficients[i, a, k] * features[k, :],
    limited to [0, 1] if `clip` is True.

    Attributes:
        base: (n, K, columns), or (1, K, columns) if it is the same in all rounds.
        coefficients: (n, K, k).
        features: (k, columns).
        clip: Whether losses are limited to [0, 1].
    """

    base: Floats
    coefficients: Floats
    features: Floats
    clip: bool


class ContextBlock(NamedTuple):
    """How the contexts of n rounds read: round i has the coefficients `table[entry[i]]`."""

    offset: Integers  # (n,), the first column that each context reads
    entry: Integers  # (n,), the entry of `table` of each context
    table: Floats  # (entries, K or 1, width), the coefficients
    available: Booleans  # (n, K), which arms may be played; (n, 0) if all may


class PacedRounds(NamedTuple):
    """First-price auctions under limits, whose outcomes are known immediately. L limits, K bids."""

    core: Any  # a `PaceCore` of the limits, with a row for the ticket of an auction
    bids: Floats  # (K,); the lowest one means that no bid is made
    values: Floats  # (n,); (0,) without limits
    cells: Integers  # (n,): the number of the lowest bid that wins; K if none does
    times: Floats  # (n,): no period of a limit ends in between
    pseudo: Floats  # (n,), to be filled: the pseudo-values
    factor: float  # of the values in contexts

    def part(self, now: slice) -> PacedRounds:
        """Return some of the rounds; they share their arrays with these."""
        return self._replace(
            values=self.values[now],
            cells=self.cells[now],
            times=self.times[now],
            pseudo=self.pseudo[now],
        )


_NONE = np.empty(0)
UNLIMITED = PacedRounds(None, _NONE, _NONE, np.empty(0, dtype=np.int64), _NONE, _NONE, 1.0)


class Rounds(NamedTuple):
    """A batch of n rounds to be played: contexts, losses, and an array for the arms.

    Attributes:
        numbers: (n,), the number of each round's context; (0,) if contexts have none.
        contexts: How the contexts read.
        losses: The losses of all arms.
        arms: (n,), to be filled: the arms played.
        graphs: What a play reveals in each round.
        limits: Budgets and targets of a bidder.
    """

    numbers: Integers
    contexts: ContextBlock
    losses: LossBlock
    arms: Integers
    graphs: GraphBlock
    limits: PacedRounds

    @classmethod
    def to_play(
        cls,
        contexts: ContextBlock,
        losses: LossBlock,
        numbers: Integers | None = None,
        graphs: GraphBlock | None = None,
        limits: PacedRounds | None = None,
    ) -> Rounds:
        """Return rounds in which nothing has been done yet.

        Args:
            contexts: How the context of each round reads.
            losses: The losses of each round.
            numbers: The number of each round's context, if contexts have numbers.
            graphs: The graph of each round: a play reveals nothing else. If None, it reveals what
                the learner's own graph says.
            limits: The limits of first-price auctions. The contexts must be those of the values,
                each with an entry of its own, and say which bids are available; they are changed.

        Returns:
            The batch, to be handed to `simulate` of a learner.
        """
        known = np.empty(0, dtype=np.int64) if numbers is None else numbers
        arms = np.full(contexts.offset.size, -1)
        rounds = cls(
            known,
            contexts,
            read_only(losses),
            arms,
            NO_GRAPHS if graphs is None else graphs,
            UNLIMITED if limits is None else limits,
        )
        if limits is not None and arms.size:
            limits.core.auctions(limits, contexts).limit(0)
        return rounds

    def settling(self) -> Callable[[int, int], None] | None:
        """Return what is to be called with each round and its arm: None without limits."""
        if not self.limits.values.size:
            return None
        settle: Callable[[int, int], None] = self.limits.core.auctions(
            self.limits, self.contexts
        ).record
        return settle

    def readout(self, i: int) -> Readout:
        """Return how the context of round `i` reads, outside of compiled code.

        Args:
            i: The number of the round in the batch.
        """
        offset, entry, table, available = self.contexts
        return Readout(int(offset[i]), table[entry[i]], available[i])

    def rows(self, i: int) -> Floats:
        """Return the losses of all arms in round `i`, a row for each.

        Args:
            i: The number of the round in the batch.
        """
        rows = np.empty(self.losses.base.shape[1:])
        write_rows(self.losses, i, rows)
        return rows

    def part(self, start: int, stop: int) -> Rounds:
        """Return the rounds from `start` up to `stop`; they share their arrays with this batch.

        Args:
            start: The first of the rounds.
            stop: The round after the last.
        """
        now = slice(start, stop)
        offset, entry, table, available = self.contexts
        base, coefficients, features, clip = self.losses
        return Rounds(
            self.numbers[now],
            ContextBlock(offset[now], entry[now], table, available[now]),
            LossBlock(base if len(base) == 1 else base[now], coefficients[now], features, clip),
            self.arms[now],
            self.graphs._replace(entry=self.graphs.entry[now]),
            self.limits.part(now),
        )


def block_of_rows(rows: Floats) -> LossBlock:
    """Return the losses (rounds, arms, columns) as a block without terms."""
    rounds, arms, columns = rows.shape
    return LossBlock(rows, np.empty((rounds, arms, 0)), np.empty((0, columns)), clip=False)


def read_only(block: LossBlock) -> LossBlock:
    """Return read-only views of a block's arrays, as contiguous floats."""
    base, coefficients, features, clip = block
    return LossBlock(_fixed(base), _fixed(coefficients), _fixed(features), bool(clip))


def _fixed(part: Floats) -> Floats:
    view = np.ascontiguousarray(part, dtype=np.float64).view()
    view.flags.writeable = False
    return view
