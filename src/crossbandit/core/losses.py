# cython: infer_types=True
"""Functions of blocks of losses (of given arms, totals, checks) and of neighbourhoods."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.crossbandit.core.arithmetic import (
        Contexts,
        EstimateCore,
        Losses,
        Ranges,
        loss_in_column,
        loss_of,
    )
    from cython.cimports.libc.math import INFINITY, fabs
else:
    from math import fabs
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.core.arithmetic import (
        Contexts,
        EstimateCore,
        Losses,
        Ranges,
        loss_in_column,
        loss_of,
    )

import numpy as np


def write_rows(block, i: cython.Py_ssize_t, out: cython.double[:, ::1]) -> None:
    """Set `out` (K, columns) to the rows of all arms in round `i`."""
    losses: Losses = Losses(block)
    for a in range(out.shape[0]):
        for m in range(out.shape[1]):
            out[a, m] = loss_in_column(losses, i, a, m)


def losses_of(
    arms: cython.const[cython.longlong][::1], block, contexts, out: cython.double[::1]
) -> None:
    """Set `out[i]` to the loss of `arms[i]` in round i. arms, out: (n,)."""
    losses: Losses = Losses(block)
    reading: Contexts = Contexts(*contexts)
    for i in range(out.shape[0]):
        out[i] = loss_of(losses, i, arms[i], arms[i], reading, i)


def add_totals(block, rounds: cython.Py_ssize_t, totals) -> None:
    """Add the rows of the block's `rounds` rounds to `totals` (K, columns), in place.

    If the losses of an arm cannot reach a limit in this block, they are summed in closed form: the
    cost is not proportional to rounds times contexts.
    """
    losses: Losses = Losses(block)
    sums: cython.double[:, ::1] = totals
    arms: cython.Py_ssize_t = sums.shape[0]
    core: EstimateCore = EstimateCore(
        totals[None], np.zeros((1, arms)), np.zeros((1, arms)), (1, 1)
    )
    count: cython.double = rounds
    for a in range(arms):
        if losses.base.shape[0] == 1 and not may_clip(block, rounds, a):
            for m in range(sums.shape[1]):
                sums[a, m] += count * losses.base[0, a, m]
            for k in range(losses.coefficients.shape[2]):
                coefficient: cython.double = 0.0
                for i in range(rounds):
                    coefficient += losses.coefficients[i, a, k]
                for m in range(sums.shape[1]):
                    sums[a, m] += coefficient * losses.features[k, m]
        else:
            for i in range(rounds):
                core.add_loss_row(0, a, losses, i, a, 1.0)


def may_clip(block, rounds: cython.Py_ssize_t, a: cython.Py_ssize_t) -> bool:
    """Return whether a loss of arm `a` might reach a limit."""
    losses: Losses = Losses(block)
    if losses.high == INFINITY:
        return False
    terms: cython.Py_ssize_t = losses.coefficients.shape[2]
    largest: cython.double[::1] = np.zeros(terms)
    for k in range(terms):
        for i in range(rounds):
            largest[k] = max(largest[k], fabs(losses.coefficients[i, a, k]))
    for m in range(losses.base.shape[2]):
        reach = 0.0
        for k in range(terms):
            reach += largest[k] * fabs(losses.features[k, m])
        if losses.base[0, a, m] - reach < 0.0 or losses.base[0, a, m] + reach > 1.0:
            return True
    return False


def best_arms(
    totals: cython.const[cython.double][:, ::1], contexts, out: cython.longlong[::1]
) -> None:
    """Set `out[i]` to the available arm of least total in the context of round i.

    Ties go to the smallest arm. totals: (K, columns). out: (n,).
    """
    reading: Contexts = Contexts(*contexts)
    for i in range(out.shape[0]):
        least: cython.double = INFINITY
        for a in range(totals.shape[0]):
            if not reading.may_play(i, a):
                continue
            own = min(a, reading.table.shape[1] - 1)
            score: cython.double = 0.0
            for v in range(reading.table.shape[2]):
                score += totals[a, reading.offset[i] + v] * reading.table[reading.entry[i], own, v]
            if score < least:
                least = score
                out[i] = a


def first_beyond_box(rows, arms, least, most, low, high):
    """Return the first row that reads a loss outside [low, high] somewhere in a box, or -1.

    rows: (n, width), of `arms` (n,). least, most: (K or 1, width), the bounds of the values.
    """
    for j in range(rows.shape[0]):
        own = min(arms[j], least.shape[0] - 1)
        smallest: cython.double = 0.0
        largest: cython.double = 0.0
        for i in range(rows.shape[1]):
            one, other = rows[j, i] * least[own, i], rows[j, i] * most[own, i]
            smallest += min(one, other)
            largest += max(one, other)
        if not (low <= smallest and largest <= high):
            return j
    return -1


def first_outside(rows, low, high):
    """Return the flat index of the first entry that is not in [low, high], NaN included, or -1."""
    for j in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            if not (low <= rows[j, m] <= high):
                return j * rows.shape[1] + m
    return -1


def first_loss_outside(rows, values, low, high, most):
    """Return the first row in which `values` reads a loss not in [low, high], or NaN; else -1.

    A row with an entry that is larger than `most`, or smaller than its negative, counts too.
    rows: (n, width). values: (n or 1, width).
    """
    for j in range(rows.shape[0]):
        own = min(j, values.shape[0] - 1)
        loss: cython.double = 0.0
        for i in range(values.shape[1]):
            loss += rows[j, i] * values[own, i]
            if not -most <= rows[j, i] <= most:
                return j
        if not (low <= loss <= high):
            return j
    return -1


# --- neighbourhoods that are ranges of consecutive arms ------------------------------------------


def range_masses(ranges, mass):
    """Return the mass of each arm's neighbourhood, in time proportional to arms plus ranges."""
    rows = np.array([mass, mass])
    none = np.zeros((1, rows.shape[1], 0))
    core: EstimateCore = EstimateCore(none, np.zeros((1, rows.shape[1])), rows, (1, 1))
    core.masses(Ranges(ranges), 0, 0, 1)
    return rows[1]


def first_unobservable(ranges, arms: cython.Py_ssize_t, strongly: cython.bint) -> int:
    """Return the number of the first graph with an arm that is not observable; -1 if none has."""
    every: Ranges = Ranges(ranges)
    for graph in range((every.starts.shape[0] - 1) // arms):
        for a in range(arms):
            revealers = 0
            for j in range(every.starts[graph * arms + a], every.starts[graph * arms + a + 1]):
                revealers += every.last[j] - every.first[j] + 1
            loop: cython.bint = every.has_self_loop(graph * arms, a)
            if revealers == 0 or (strongly and not loop and revealers < arms - 1):
                return graph
    return -1


def list_ranges(
    rows, starts: cython.longlong[::1], first: cython.longlong[::1], last: cython.longlong[::1]
) -> int:
    """List the ranges of all rows in `first` and `last`; return how many there are."""
    count: cython.Py_ssize_t = 0
    present: cython.const[cython.uchar][:, ::1] = rows.view(np.uint8)
    for i in range(present.shape[0]):
        before: cython.bint = False
        for b in range(present.shape[1]):
            if present[i, b]:
                if not before:
                    first[count] = b
                    count += 1
                last[count - 1] = b
            before = present[i, b] != 0
        starts[i + 1] = count
    return count
