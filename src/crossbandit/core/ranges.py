# cython: infer_types=True
"""Functions of neighbourhoods that are ranges of consecutive arms."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.crossbandit.core.arithmetic import EstimateCore, Ranges
else:
    from crossbandit.core.arithmetic import EstimateCore, Ranges

import numpy as np


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
