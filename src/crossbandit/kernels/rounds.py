"""A batch of rounds: the contexts that occur, the losses of every arm, and what was done.

Losses come as *rows*: one row per arm and round, one column per number that a learner keeps of an
arm. A context reads the row of arm `a` through its `Readout`:

    loss = sum_i row[offset + i] * coefficients[a, i].

Dense losses have a column per context, and context c reads with `offset = c, coefficients = [[1]]`.
Linear losses have a column per feature, and a context reads with `offset = 0` and its features as
coefficients, which may differ between arms. If they do not, all arms share one row of coefficients.
So both forms of losses, and both kinds of estimates, share all code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.paced_rounds import UNLIMITED, PacedRounds, limit_round, settle_round
from crossbandit.kernels.ranges import (
    NO_GRAPHS,
    ArmRanges,
    GraphBlock,
    list_common_neighbors,
    list_neighbors,
    out_ranges_at,
)
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """How the contexts of n rounds read: round i has the coefficients `table[entry[i]]`.

    Attributes:
        offset: (n,), the first column that each context reads.
        entry: (n,), the entry of `table` of each context.
        table: (entries, K or 1, width), the coefficients.
        available: (n, K), which arms may be played; (n, 0) if all may.
    """

    offset: Integers
    entry: Integers
    table: Floats
    available: Booleans


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
            The batch, to be handed to `simulate` of a compiled learner.
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
            limit_round(rounds.limits, rounds.contexts, 0)
        return rounds

    def readout(self, i: int) -> Readout:
        """Return how the context of round `i` reads, outside of compiled code.

        Args:
            i: The number of the round in the batch.
        """
        offset, entry, table, available = self.contexts
        return Readout(int(offset[i]), table[entry[i]], available[i])

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


class Feedback(NamedTuple):
    """What a play revealed: the rows of some arms, in one round of a block of losses.

    Attributes:
        arms: (revealed,), the revealed arms, ascending.
        places: (revealed,), which row of the block holds the losses of each.
        losses: The block of losses.
        round: The number of the round in the block.
    """

    arms: Integers
    places: Integers
    losses: LossBlock
    round: int


def read_only(block: LossBlock) -> LossBlock:
    """Return read-only views of a block's arrays, as contiguous floats.

    Kernels are compiled for these types alone. Any array can be made read-only without a copy; a
    writable array from a read-only one needs a copy.
    """
    base, coefficients, features, clip = block
    return LossBlock(_fixed(base), _fixed(coefficients), _fixed(features), bool(clip))


def _fixed(part: Floats) -> Floats:
    view = np.ascontiguousarray(part, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def feedback_without_rows(arms: Integers, columns: int) -> Feedback:
    """Return feedback about `arms` (revealed,) that `with_rows` fills in."""
    parts = np.empty((1, arms.size, columns)), np.empty((1, arms.size, 0)), np.empty((0, columns))
    return Feedback(
        np.array(arms), np.arange(arms.size), read_only(LossBlock(*parts, clip=False)), 0
    )


def with_rows(feedback: Feedback, rows: Floats) -> Feedback:
    """Return `feedback` with given rows (revealed, columns), which become read-only."""
    rows.setflags(write=False)
    _, coefficients, features, clip = feedback.losses
    losses = LossBlock(rows[None], coefficients, features, clip)
    return Feedback(feedback.arms, feedback.places, losses, 0)


@inlined
def readout_at(contexts: ContextBlock, i: int) -> Readout:
    """Return how the context of round `i` reads.

    Args:
        contexts: The contexts of the batch.
        i: The number of the round in the batch.
    """
    return Readout(contexts.offset[i], contexts.table[contexts.entry[i]], contexts.available[i])


@inlined
def record(rounds: Rounds, i: int, arm: int) -> None:
    """Record that `arm` was played in round `i`, and settle its limits.

    Args:
        rounds: The batch; its results are changed.
        i: The number of the round in the batch.
        arm: The arm that was played.
    """
    rounds.arms[i] = arm
    if rounds.limits.values.size > 0:
        settle_round(rounds.limits, i, arm)
        if i + 1 < rounds.arms.size:
            limit_round(rounds.limits, rounds.contexts, i + 1)


@inlined
def feedback_of(rounds: Rounds, i: int, out_ranges: ArmRanges, revealed: Integers) -> Feedback:
    """Return what the arm played in round `i` revealed.

    What the graph of the round does not reveal is left out, even if the learner's graph reveals it.

    Args:
        rounds: The batch.
        i: The number of the round in the batch.
        out_ranges: The graph by which the learner learns.
        revealed: (K,), scratch.
    """
    arm = rounds.arms[i]
    if rounds.graphs.entry.size == 0:
        count = list_neighbors(out_ranges, arm, revealed)
    else:
        true_ranges = out_ranges_at(rounds.graphs, i, out_ranges.starts.size - 1)
        count = list_common_neighbors(out_ranges, true_ranges, arm, revealed)
    arms = revealed[:count]
    return Feedback(arms, arms, rounds.losses, i)
