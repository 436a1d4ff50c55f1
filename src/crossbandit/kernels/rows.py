"""Arithmetic on rows of losses: add a row to estimates, and read the loss of one context."""

from __future__ import annotations

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.rounds import ContextBlock, Feedback, LossBlock, Readout, readout_at
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
