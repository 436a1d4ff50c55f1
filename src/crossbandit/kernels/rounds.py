"""A batch of rounds: the contexts that occur, the losses of every arm, and what was done.

Losses come as *rows*: one row per arm and round, one column per number that a learner keeps of an
arm. A context reads the row of arm `a` through its `Readout`:

    loss = sum_i row[offset + i] * coefficients[a, i].

Dense losses have a column per context, and context c reads with `offset = c, coefficients = [[1]]`.
Linear losses have a column per feature, and a context reads with `offset = 0` and its features as
coefficients, which may differ from arm to arm. If they do not, all arms have
one row of coefficients. So both forms of losses, and both kinds of estimates, share all code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.paced_rounds import UNLIMITED, PacedRounds, limit_round, settle_round
from crossbandit.kernels.ranges import ArmRanges, list_common_neighbors, list_neighbors
from crossbandit.kernels.round_graphs import NO_GRAPHS, GraphBlock, out_ranges_at
from crossbandit.types import Booleans, Floats, Integers

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = 16  # rows of more numbers than this are worth adding as vectors


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

    offset: Integers  # (n,)
    entry: Integers  # (n,)
    table: Floats  # (entries, K or 1, width)
    available: Booleans  # (n, K); (n, 0) where all arms are


class Rounds(NamedTuple):
    """A batch of n rounds to be played: contexts, losses, and an array for the arms.

    Attributes:
        numbers: (n,), the number of each round's context; (0,) where contexts have none.
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
            numbers: The number of each round's context, where contexts have numbers.
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

    arms: Integers  # (revealed,), ascending
    places: Integers  # (revealed,): which row of the block holds the losses of each
    losses: LossBlock
    round: int


def read_only(block: LossBlock) -> LossBlock:
    """Return read-only views of a block's arrays, as contiguous floats.

    Kernels are compiled for these types alone. All arrays can become read-only; the other way round
    they would have to be copied.
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
    rows.flags.writeable = False
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

    What the graph of the round does not reveal is
    left out, whatever the learner's graph says.

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


@inlined
def add_revealed(estimates: Floats, copy: int, weights: Floats, feedback: Feedback) -> None:
    """Add `weights[b]` times the row of each revealed arm b to `estimates[copy, b]`, in place.

    Args:
        estimates: (copies, K, columns), changed.
        copy: The number of the copy.
        weights: (K,), the weight of each arm.
        feedback: What was revealed.
    """
    arms, places, losses, i = feedback
    if losses.coefficients.shape[2] == 0:  # short rows cost less as they are than as slices
        t = min(i, losses.base.shape[0] - 1)
        for j in range(arms.size):
            b, row = arms[j], places[j]
            weight = weights[b]
            for m in range(estimates.shape[2]):
                estimates[copy, b, m] += weight * losses.base[t, row, m]
    else:
        for j in range(arms.size):
            add_row(losses, i, places[j], weights[arms[j]], estimates[copy, arms[j]])


@inlined
def add_row(block: LossBlock, i: int, a: int, weight: float, out: Floats) -> None:
    """Add `weight` times row `a` of round `i` to `out` (columns,), in place.

    Args:
        block: The losses.
        i: The number of the round in the block.
        a: The number of the row.
        weight: The factor.
        out: (columns,), changed.
    """
    base = block.base[min(i, block.base.shape[0] - 1), a]
    terms = block.coefficients.shape[2]
    if terms == 0:
        for m in range(out.size):
            out[m] += weight * base[m]
    elif terms == 2 and block.clip:
        _add_two_terms(base, block.coefficients[i, a], block.features, weight, out)
    elif terms <= 4 and block.clip and out.size > _SHORT:
        _add_four_terms(base, block.coefficients[i, a], block.features, weight, out)
    else:
        for m in range(out.size):
            loss = base[m]
            for k in range(terms):
                loss += block.coefficients[i, a, k] * block.features[k, m]
            if block.clip:
                loss = min(max(loss, 0.0), 1.0)
            out[m] += weight * loss


@inlined
def _add_two_terms(
    base: Floats, coefficients: Floats, features: Floats, weight: float, out: Floats
) -> None:
    # A phase needs two features, and the hot loop of a simulation is here: fused, it is one pass
    # over memory, which takes half the time of the general way.
    x, y = coefficients[0], coefficients[1]
    features_x, features_y = features[0], features[1]
    for m in range(out.size):
        loss = base[m] + x * features_x[m] + y * features_y[m]
        out[m] += weight * min(max(loss, 0.0), 1.0)


@inlined
def _add_four_terms(
    base: Floats, coefficients: Floats, features: Floats, weight: float, out: Floats
) -> None:
    # The same for up to four terms; missing terms have a coefficient of 0.
    last = coefficients.size - 1
    x = coefficients[0]
    y = coefficients[1] if last >= 1 else 0.0
    z = coefficients[2] if last >= 2 else 0.0
    w = coefficients[3] if last >= 3 else 0.0
    features_x, features_y = features[0], features[min(1, last)]
    features_z, features_w = features[min(2, last)], features[last]
    for m in range(out.size):
        loss = base[m] + x * features_x[m] + y * features_y[m]
        loss += z * features_z[m] + w * features_w[m]
        out[m] += weight * min(max(loss, 0.0), 1.0)


@inlined
def loss_at(block: LossBlock, i: int, row: int, arm: int, readout: Readout) -> float:
    """Return the loss of `arm` in round `i`, read from row number `row` of the block.

    Args:
        block: The losses.
        i: The number of the round in the block.
        row: The number of the row.
        arm: The arm, whose coefficients are used.
        readout: How the context reads the row.
    """
    t = min(i, block.base.shape[0] - 1)
    own = min(arm, readout.coefficients.shape[0] - 1)
    total = 0.0
    for v in range(readout.coefficients.shape[1]):
        loss = block.base[t, row, readout.offset + v]
        for k in range(block.coefficients.shape[2]):
            loss += block.coefficients[i, row, k] * block.features[k, readout.offset + v]
        if block.clip:
            loss = min(max(loss, 0.0), 1.0)
        total += loss * readout.coefficients[own, v]
    return total


@compiled
def write_rows(block: LossBlock, i: int, out: Floats) -> None:
    """Set `out` (K, columns) to the rows of all arms in round `i`."""
    for a in range(out.shape[0]):
        base = block.base[min(i, block.base.shape[0] - 1), a]
        for m in range(out.shape[1]):
            loss = base[m]
            for k in range(block.coefficients.shape[2]):
                loss += block.coefficients[i, a, k] * block.features[k, m]
            out[a, m] = min(max(loss, 0.0), 1.0) if block.clip else loss


@compiled
def losses_of(arms: Integers, block: LossBlock, contexts: ContextBlock, out: Floats) -> None:
    """Set `out[i]` to the loss of `arms[i]` in round i. arms, out: (n,)."""
    for i in range(out.size):
        out[i] = loss_at(block, i, arms[i], arms[i], readout_at(contexts, i))
