"""Confidence intervals of sums over a log: over its time, and over the seeds of a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.streams import stream

if TYPE_CHECKING:
    from crossbandit.types import Floats

_BLOCKS = 10  # that a log is cut into; long enough to keep what depends on the hour together
_REPLICATES = 2_000
_SEED = 0
# Ten blocks show less variation than the process behind them, and their spread is uncertain itself:
# the square root of 10 / 9, times Student's quantile for 13.5 degrees of freedom over 1.96.
_SMALL_SAMPLE = 1.157


def resample_totals(curves: Floats) -> Floats:
    """Return deviations of totals in a block bootstrap over time.

    Blocks of consecutive entries, which may wrap around the end, are drawn with replacement until
    they are as long as the log. All curves use the same blocks, so differences are paired. The
    random numbers are fixed.

    Args:
        curves: (n, points). Running sums; the last column holds the totals.

    Returns:
        (n, replicates). Resampled totals minus totals. NaN if there are fewer than 20 points.
    """
    count, points = curves.shape
    if points < 2 * _BLOCKS:
        return np.full((count, _REPLICATES), np.nan)
    length = points // _BLOCKS
    steps = np.diff(curves, prepend=0.0, axis=1)
    running = np.cumsum(np.hstack([np.zeros((count, 1)), steps, steps[:, : length - 1]]), axis=1)
    sums = running[:, length:] - running[:, :-length]  # of the block that begins at each point
    drawn = round(points / length)
    starts = stream(_SEED, "bootstrap").integers(0, points, (_REPLICATES, drawn))
    totals = sums[:, starts].sum(axis=2) * (points / (drawn * length))
    deviations: Floats = totals - curves[:, -1:]
    return deviations


def half_widths_over_time(deviations: Floats) -> Floats:
    """Return half-widths of 95 % intervals from resampled deviations (n, replicates)."""
    widths: Floats = _SMALL_SAMPLE * np.quantile(np.abs(deviations), 0.95, axis=-1)
    return widths
