"""Bare loops, which do nothing but what cannot be avoided: ratios are measured against them.

This file is compiled when it is first needed: call `benchmarks.building.bare()`. Rows of losses are
those of `crossbandit.core.blocks.LossBlock`.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.libc.math import exp
else:
    from math import exp


def add_all(
    block,
    arms: cython.const[cython.longlong][::1],
    rounds: cython.const[cython.longlong][::1],
    weights: cython.const[cython.double][::1],
    estimates: cython.double[:, ::1],
) -> None:
    """Add rows of losses of two terms that are limited to [0, 1], each with a weight."""
    base: cython.const[cython.double][:, :, ::1] = block.base
    coefficients: cython.const[cython.double][:, :, ::1] = block.coefficients
    features: cython.const[cython.double][:, ::1] = block.features
    i: cython.Py_ssize_t
    m: cython.Py_ssize_t
    columns: cython.Py_ssize_t = estimates.shape[1]
    if base.shape[0] != 1 or features.shape[0] != 2 or not block.clip:
        raise ValueError("the rows must have two terms, and be limited")
    for i in range(arms.shape[0]):
        start: cython.const[cython.double][::1] = base[0, arms[i]]
        out: cython.double[::1] = estimates[arms[i]]
        x: cython.double = coefficients[rounds[i], arms[i], 0]
        y: cython.double = coefficients[rounds[i], arms[i], 1]
        weight: cython.double = weights[i]
        for m in range(columns):
            loss: cython.double = start[m] + x * features[0, m] + y * features[1, m]
            out[m] += weight * min(max(loss, 0.0), 1.0)


def exponentials(count: cython.Py_ssize_t) -> float:
    """Return a sum of so many exponentials."""
    i: cython.Py_ssize_t
    total: cython.double = 0.0
    for i in range(count):
        total += exp(-1e-6 * i)
    return total


def softmaxes(
    values: cython.const[cython.double][::1],
    scores: cython.const[cython.double][:, ::1],
    times: cython.Py_ssize_t,
    out: cython.double[::1],
) -> float:
    """Exponentiate, sum and divide so many times per value; return something that depends on it.

    The scores (n, K) of a value are a row of their own, or the same row if there is only one.
    """
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t
    row: cython.Py_ssize_t
    check: cython.double = 0.0
    total: cython.double
    for i in range(values.shape[0] * times):
        row = min(i // times, scores.shape[0] - 1)
        total = 0.0
        for a in range(out.shape[0]):
            out[a] = exp(-values[i // times] * scores[row, a])
            total += out[a]
        for a in range(out.shape[0]):
            out[a] /= total
        check += out[0]
    return check


def pooled(
    values: cython.const[cython.double][::1],
    cells: cython.const[cython.longlong][::1],
    bids: cython.const[cython.double][::1],
    counts: cython.double[:, ::1],
    out: cython.longlong[::1],
) -> None:
    """Bid the best response to all that was seen; flat below the lowest bid that was made.

    counts: (3, K + 1): told by cell, hidden by bid, chances. It begins with half the value.
    """
    size: cython.Py_ssize_t = bids.shape[0]
    lowest: cython.Py_ssize_t = size
    best: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    most: cython.double
    chance: cython.double
    at_risk: cython.double
    for i in range(values.shape[0]):
        best, most = 0, -1.0
        if i < 20:
            while best + 1 < size and bids[best + 1] <= 0.5 * values[i]:
                best += 1
        else:
            for k in range(size):
                if bids[k] > values[i]:
                    break
                chance = counts[2, k] if k >= lowest else 0.0
                if (values[i] - bids[k]) * chance > most:
                    most = (values[i] - bids[k]) * chance
                    best = k
        out[i] = best
        lowest = min(lowest, best)
        if cells[i] <= best:
            counts[1, best] += 1.0
        else:
            counts[0, cells[i]] += 1.0
        if i < 2000 or i % 32 == 0:
            at_risk = i + 1.0
            chance = 1.0
            for j in range(size, 0, -1):
                at_risk -= counts[1, j]
                if at_risk > 0.0:
                    chance *= max(0.0, 1.0 - counts[0, j] / at_risk)
                counts[2, j - 1] = chance
                at_risk -= counts[0, j]
