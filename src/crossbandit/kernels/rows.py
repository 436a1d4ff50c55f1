"""Arithmetic on rows of losses: add a row to estimates, read the loss of a context, sum, check."""

from __future__ import annotations

import numpy as np

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.rounds import ContextBlock, Feedback, LossBlock, Readout, readout_at
from crossbandit.kernels.simplex import may_play
from crossbandit.types import Floats, Integers

_SHORT = 16  # rows of more numbers than this are worth adding as vectors


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
def add_losses(weights: Floats, feedback: Feedback, readout: Readout, out: Floats) -> None:
    """Add `weights[b]` times the loss of each revealed arm b in one context to `out[b]`, in place.

    weights, out: (K,). readout: how the context reads rows.
    """
    arms, places, losses, i = feedback
    for j in range(arms.size):
        b = arms[j]
        out[b] += weights[b] * loss_at(losses, i, places[j], b, readout)


@inlined
def add_to_estimates(
    estimates: Floats,
    cross: bool,  # noqa: FBT001  # compiled code takes no keywords
    context: int,
    weights: Floats,
    feedback: Feedback,
    readout: Readout,
) -> None:
    """Add weighted losses to the estimates of all contexts (`cross`), or to those of one, in place.

    estimates: (1, K, columns); or (M, K, 1), a copy for each context. weights: (K,).
    """
    if cross:
        add_revealed(estimates, 0, weights, feedback)
    else:
        add_losses(weights, feedback, readout, estimates[context, :, 0])


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
    # Losses with a phase have two features, and most of the time of a simulation is spent here.
    # One pass over memory takes half the time of the general loop.
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


@compiled
def add_totals(block: LossBlock, rounds: int, totals: Floats, largest: Floats) -> None:
    """Add the rows of the block's `rounds` rounds to `totals` (K, columns), in place.

    If the losses of an arm cannot reach a limit in this block, they are summed in closed form: the
    cost is not proportional to rounds times contexts. largest: (k,), scratch.
    """
    for a in range(totals.shape[0]):
        if block.base.shape[0] == 1 and not may_clip(block, rounds, a, largest):
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
def may_clip(block: LossBlock, rounds: int, a: int, largest: Floats) -> bool:
    """Return whether a loss of arm `a` might reach a limit. largest: (k,), scratch."""
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

    Ties go to the smallest arm. totals: (K, columns). out: (n,).
    """
    for i in range(out.size):
        offset, coefficients, available = readout_at(contexts, i)
        least = np.inf
        for a in range(totals.shape[0]):
            if not may_play(available, a):
                continue
            own = min(a, coefficients.shape[0] - 1)
            score = 0.0
            for v in range(coefficients.shape[1]):
                score += totals[a, offset + v] * coefficients[own, v]
            if score < least:
                least = score
                out[i] = a


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
def first_loss_outside(
    rows: Floats, values: Floats, low: float, high: float, largest: float
) -> int:
    """Return the first row in which `values` reads a loss not in [low, high], or NaN; else -1.

    A row with an entry that is larger than `largest`, or smaller than its negative, counts too.
    rows: (n, width). values: (n or 1, width).
    """
    for j in range(rows.shape[0]):
        own = min(j, values.shape[0] - 1)
        loss = 0.0
        for i in range(values.shape[1]):
            loss += rows[j, i] * values[own, i]
            if not -largest <= rows[j, i] <= largest:
                return j
        if not (low <= loss <= high):
            return j
    return -1
