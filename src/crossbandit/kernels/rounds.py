"""What happens in a batch of rounds: the contexts that occur and the losses of every arm.

Losses come as *rows*: one row per arm and round, one column per number that a learner keeps of an
arm. A context reads the row of arm `a` through `first` and `values`:

    loss = sum_i row[first + i] * values[a, i].

Dense losses have a column per context, and context c reads with `first = c, values = [[1]]`. Linear
losses have a column per feature, and a context reads with `first = 0` and its features as values,
which may differ from arm to arm. Where they do not, one row of values serves all arms. So both
forms, and the estimates kept in either, share every line of code.

A context may also say which arms are available; where it does not, its vector `available` is empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.types import Booleans, Floats, Integers

_SHORT = 16  # rows of more numbers than this are worth adding as vectors


class LossBlock(NamedTuple):
    """The rows of all arms in n consecutive rounds.

    row[i, a, :] = base[i, a, :] + sum_k coefficients[i, a, k] * features[k, :],
    limited to [0, 1] where `clip` is set. A base of one round serves them all.
    """

    base: Floats  # (n or 1, K, columns)
    coefficients: Floats  # (n, K, k)
    features: Floats  # (k, columns)
    clip: bool


class ContextBlock(NamedTuple):
    """How the contexts of n consecutive rounds read: round i has `values = table[entry[i]]`."""

    first: Integers  # (n,)
    entry: Integers  # (n,)
    table: Floats  # (entries, K or 1, width)
    available: Booleans  # (n, K); (n, 0) where all arms are


class Rounds(NamedTuple):
    """A batch of n rounds to be played: what happens in it, and where to write what was done."""

    numbers: Integers  # (n,): the number of each round's context; (0,) where contexts have none
    contexts: ContextBlock
    losses: LossBlock
    arms: Integers  # (n,), to be filled: the arms played
    incurred: Floats  # (n,), to be filled: their losses

    @classmethod
    def to_play(
        cls, contexts: ContextBlock, losses: LossBlock, numbers: Integers | None = None
    ) -> Rounds:
        """Return rounds in which nothing has been done yet."""
        arms = np.empty(contexts.first.size, dtype=np.int64)
        known = np.empty(0, dtype=np.int64) if numbers is None else numbers
        return cls(known, contexts, losses, arms, np.empty(arms.size))


@inlined
def add_row(block: LossBlock, i: int, a: int, weight: float, out: Floats) -> None:
    """Add `weight` times the row of arm `a` in round `i` to `out` (columns,), in place."""
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
    # over memory, which halves the time of the general way.
    x, y = coefficients[0], coefficients[1]
    features_x, features_y = features[0], features[1]
    for m in range(out.size):
        loss = base[m] + x * features_x[m] + y * features_y[m]
        out[m] += weight * min(max(loss, 0.0), 1.0)


@inlined
def _add_four_terms(
    base: Floats, coefficients: Floats, features: Floats, weight: float, out: Floats
) -> None:
    # The same for up to four terms; those that are missing count nothing.
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
def write_row(block: LossBlock, i: int, a: int, out: Floats) -> None:
    """Set `out` (columns,) to the row of arm `a` in round `i`."""
    base = block.base[min(i, block.base.shape[0] - 1), a]
    for m in range(out.size):
        out[m] = base[m]
    for k in range(block.coefficients.shape[2]):
        coefficient = block.coefficients[i, a, k]
        feature = block.features[k]
        for m in range(out.size):
            out[m] += coefficient * feature[m]
    if block.clip:
        for m in range(out.size):
            out[m] = min(max(out[m], 0.0), 1.0)


@compiled
def write_rows(block: LossBlock, i: int, out: Floats) -> None:
    """Set `out` (K, columns) to the rows of all arms in round `i`."""
    for a in range(out.shape[0]):
        write_row(block, i, a, out[a])


@inlined
def loss_at(block: LossBlock, i: int, a: int, first: int, values: Floats) -> float:
    """Return the loss of arm `a` in round `i` for the context that reads with `first, values`."""
    t = min(i, block.base.shape[0] - 1)
    own = min(a, values.shape[0] - 1)
    total = 0.0
    for v in range(values.shape[1]):
        loss = block.base[t, a, first + v]
        for k in range(block.coefficients.shape[2]):
            loss += block.coefficients[i, a, k] * block.features[k, first + v]
        if block.clip:
            loss = min(max(loss, 0.0), 1.0)
        total += loss * values[own, v]
    return total


@compiled
def add_totals(block: LossBlock, rounds: int, totals: Floats, largest: Floats) -> None:
    """Add the rows of the block's `rounds` rounds to `totals` (K, columns), in place.

    An arm whose losses cannot reach a limit in this block is summed in closed form, at a cost that
    does not grow with rounds times contexts. largest: (k,), scratch.
    """
    for a in range(totals.shape[0]):
        if block.base.shape[0] == 1 and not _may_clip(block, rounds, a, largest):
            for m in range(totals.shape[1]):
                totals[a, m] += rounds * block.base[0, a, m]
            for k in range(block.coefficients.shape[2]):
                coefficient = 0.0
                for i in range(rounds):
                    coefficient += block.coefficients[i, a, k]
                for m in range(totals.shape[1]):
                    totals[a, m] += coefficient * block.features[k, m]
        else:
            for i in range(rounds):
                add_row(block, i, a, 1.0, totals[a])


@compiled
def may_clip(block: LossBlock, rounds: int, largest: Floats) -> bool:
    """Return whether any loss of the block might reach a limit. largest: (k,), scratch."""
    found = False
    for a in range(block.base.shape[1]):
        found = found or _may_clip(block, rounds, a, largest)
    return found


@compiled
def _may_clip(block: LossBlock, rounds: int, a: int, largest: Floats) -> bool:
    if not block.clip:
        return False
    terms = block.coefficients.shape[2]
    for k in range(terms):
        largest[k] = 0.0
        for i in range(rounds):
            largest[k] = max(largest[k], abs(block.coefficients[i, a, k]))
    for m in range(block.base.shape[2]):
        reach = 0.0
        for k in range(terms):
            reach += largest[k] * abs(block.features[k, m])
        if block.base[0, a, m] - reach < 0.0 or block.base[0, a, m] + reach > 1.0:
            return True
    return False


@compiled
def best_arms(totals: Floats, contexts: ContextBlock, out: Integers) -> None:
    """Set `out[i]` to the available arm of least total in the context of round i.

    Ties go to the smallest. totals: (K, columns). out: (n,).
    """
    for i in range(out.size):
        values = contexts.table[contexts.entry[i]]
        available = contexts.available[i]
        least = np.inf
        for a in range(totals.shape[0]):
            if available.size > 0 and not available[a]:
                continue
            own = min(a, values.shape[0] - 1)
            score = 0.0
            for v in range(values.shape[1]):
                score += totals[a, contexts.first[i] + v] * values[own, v]
            if score < least:
                least = score
                out[i] = a


@compiled
def losses_of(arms: Integers, block: LossBlock, contexts: ContextBlock, out: Floats) -> None:
    """Set `out[i]` to the loss of `arms[i]` in round i. arms, out: (n,)."""
    for i in range(out.size):
        values = contexts.table[contexts.entry[i]]
        out[i] = loss_at(block, i, arms[i], contexts.first[i], values)


@compiled
def add_revealed(
    estimates: Floats,
    first: Integers,
    last: Integers,
    weights: Floats,
    rows: Floats,
) -> None:
    """Add `weights[b] * rows[j]` to `estimates[b]` for the j-th arm b of the ranges, in place.

    estimates: (K, columns). first, last: (ranges,). weights: (K,). rows: (revealed, columns).
    """
    j = 0
    for run in range(first.size):
        for b in range(first[run], last[run] + 1):
            weight = weights[b]
            for m in range(estimates.shape[1]):
                estimates[b, m] += weight * rows[j, m]
            j += 1


@compiled
def first_beyond_box(
    rows: Floats, arms: Integers, least: Floats, most: Floats, low: float, high: float
) -> int:
    """Return the first row that reads a loss outside [low, high] somewhere in a box, or -1.

    rows: (n, width), of `arms` (n,). least, most: (K or 1, width), the bounds of the values.
    """
    for j in range(rows.shape[0]):
        own = min(arms[j], least.shape[0] - 1)
        smallest = 0.0
        largest = 0.0
        for i in range(rows.shape[1]):
            one, other = rows[j, i] * least[own, i], rows[j, i] * most[own, i]
            smallest += min(one, other)
            largest += max(one, other)
        if not (low <= smallest and largest <= high):
            return j
    return -1


@compiled
def first_outside(rows: Floats, low: float, high: float) -> int:
    """Return the flat index of the first entry that is not in [low, high], NaN included, or -1."""
    for j in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if not (low <= rows[j, m] <= high):
                return int(j * rows.shape[1] + m)
    return -1


@compiled
def first_loss_outside(rows: Floats, values: Floats, low: float, high: float) -> int:
    """Return the first row in which `values` reads a loss not in [low, high], or NaN; else -1.

    rows: (n, width). values: (n or 1, width).
    """
    for j in range(rows.shape[0]):
        own = min(j, values.shape[0] - 1)
        loss = 0.0
        for i in range(values.shape[1]):
            loss += rows[j, i] * values[own, i]
        if not (low <= loss <= high):
            return j
    return -1
