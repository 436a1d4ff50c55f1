"""Confidence intervals: of a mean over seeds, and of the slope of a line through such means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

CONFIDENCE = 0.95
_RESAMPLES = 2_000


class Interval(NamedTuple):
    """An estimate between two bounds that hold it with 95 % confidence."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


def mean_interval(values: npt.ArrayLike) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval by Student's law.

    >>> mean, half_width = mean_interval([1.0, 2.0, 3.0])
    >>> mean, round(half_width, 3)
    (2.0, 2.484)
    """
    from scipy.stats import t

    sample = np.asarray(values, dtype=np.float64)
    if sample.size < 2:
        return float(sample.mean()), math.nan
    quantile = float(t.ppf(0.5 + CONFIDENCE / 2, sample.size - 1))
    half_width = quantile * sample.std(ddof=1) / math.sqrt(sample.size)
    return float(sample.mean()), float(half_width)


def slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the slope of the least-squares line through (log x, log y).

    >>> round(slope([1, 4, 16], [3, 6, 12]), 12)
    0.5
    """
    return float(np.log(y) @ _slope_weights(x))


def slope_interval(x: npt.ArrayLike, samples: Floats, seed: int = 0) -> Interval:
    """Return the slope of log mean(samples) over log x, with a bootstrap interval.

    `samples[i]` are the results of all seeds at x[i]. Whole seeds are drawn anew, with
    replacement: what one seed gave at all x stays together.

    >>> slope_interval([1, 4, 16], np.array([[2.9, 3.1], [5.8, 6.2], [11.6, 12.4]])).low
    0.5
    """
    weights = _slope_weights(x)
    count = samples.shape[1]
    draws = np.random.default_rng(seed).integers(count, size=(_RESAMPLES, count))
    slopes = weights @ np.log(samples[:, draws].mean(axis=2))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    numbers = (slope(x, samples.mean(axis=1)), float(low), float(high))
    return Interval(*(round(number, 12) for number in numbers))


def _slope_weights(x: npt.ArrayLike) -> Floats:
    """Return the weights of log y in the least-squares slope over log x."""
    logs = np.log(x)
    centred = logs - logs.mean()
    result: Floats = centred / (centred @ centred)
    return result
