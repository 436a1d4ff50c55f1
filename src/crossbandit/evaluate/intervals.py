"""Intervals of sums over the rounds of a log."""

from __future__ import annotations

import numpy as np

from crossbandit.report.statistics import student_quantile
from crossbandit.types import Floats

_BLOCKS = 20  # of time


def long_run_variance(terms: Floats) -> float:
    """Return the variance of the sum of consecutive terms, by overlapping blocks of time.

    It is the variance that a block bootstrap has, without drawing. Terms that are near each other
    may depend on each other.

    Args:
        terms: A number per round, in the order of time.
    """
    count = terms.size
    length = max(count // _BLOCKS, 1)
    blocks = count / length
    running = np.concatenate([[0.0], np.cumsum(terms)])
    sums = running[length:] - running[:-length]
    spread = float(((sums - terms.mean() * length) ** 2).mean())
    return spread * blocks * blocks / max(blocks - 1.0, 1.0)


def quantile_over_time(count: int) -> float:
    """Return how many standard errors by `long_run_variance` a 95 % interval has on either side.

    Args:
        count: The number of rounds. Overlapping blocks have 1.5 times the degrees of freedom.
    """
    return student_quantile(max(int(1.5 * (min(_BLOCKS, count) - 1)), 1))
