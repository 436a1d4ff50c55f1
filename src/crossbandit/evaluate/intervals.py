"""Intervals of sums over the rounds of a log."""

from __future__ import annotations

import numpy as np

from crossbandit.report.statistics import student_quantile
from crossbandit.types import Floats, Integers

_BLOCKS = 20  # blocks of time
_PARTS = 32  # the sums of blocks begin at this many points of each block


def long_run_variance(terms: Floats) -> float:
    """Return the variance of the sum of consecutive terms, by overlapping blocks of time.

    It is the variance that a block bootstrap has, without drawing. Terms that are near each other
    may depend on each other.

    Args:
        terms: A number per round, in the order of time, or the sums of `over_time`.
    """
    count = terms.size
    length = max(count // _BLOCKS, 1)
    blocks = count / length
    running = np.concatenate([[0.0], np.cumsum(terms)])
    sums = running[length:] - running[:-length]
    spread = float(((sums - terms.mean() * length) ** 2).mean())
    return spread * blocks * blocks / max(blocks - 1.0, 1.0)


def over_time(terms: Floats, positions: Integers, count: int) -> Floats:
    """Return sums of terms over short parts of the time of a log.

    Args:
        terms: A number for some rounds.
        positions: The numbers of these rounds.
        count: The number of all rounds.

    Returns:
        At most 640 sums. Those of pieces of a log add up.
    """
    parts = min(_BLOCKS * _PARTS, count)
    return np.bincount(positions * parts // count, terms, parts).astype(np.float64)


def quantile_over_time(count: int) -> float:
    """Return how many standard errors by `long_run_variance` a 95 % interval has on either side.

    Args:
        count: The number of rounds. Overlapping blocks have 1.5 times the degrees of freedom.
    """
    return student_quantile(max(int(1.5 * (min(_BLOCKS, count) - 1)), 1))
