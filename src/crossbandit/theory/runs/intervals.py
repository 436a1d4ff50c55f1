"""Confidence intervals: of a mean over seeds, and of the slope of a line through such means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.report.statistics import CONFIDENCE, half_width, slope

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

_RESAMPLES = 2_000


class Interval(NamedTuple):
    """An estimate with the bounds of its 95 % confidence interval."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


def mean_interval(values: npt.ArrayLike) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval by Student's t.

    >>> mean, half_width = mean_interval([1.0, 2.0, 3.0])
    >>> mean, round(half_width, 3)
    (2.0, 2.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.mean()), half_width(sample)


def slope_interval(x: npt.ArrayLike, samples: Floats, seed: int = 0) -> Interval:
    """Return the slope of log mean(samples) over log x, with a bootstrap interval.

    `samples[i]` are the results of all seeds at x[i]. The bootstrap draws seeds with replacement,
    and keeps the results of a seed at all x together.

    >>> slope_interval([1, 4, 16], np.array([[2.9, 3.1], [5.8, 6.2], [11.6, 12.4]])).low
    0.5
    """
    logs = np.log(x) - np.log(x).mean()
    weights = logs / (logs @ logs)
    count = samples.shape[1]
    draws = np.random.default_rng(seed).integers(count, size=(_RESAMPLES, count))
    slopes = weights @ np.log(samples[:, draws].mean(axis=2))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(slopes, [tail, 1 - tail])
    numbers = (slope(x, samples.mean(axis=1)), float(low), float(high))
    return Interval(*(round(number, 12) for number in numbers))
