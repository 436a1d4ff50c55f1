"""Compute intervals, slopes and paired tests, for all pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crossbandit.core.types import Floats

CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A number and the half-width of its 95 % confidence interval."""

    value: float
    half_width: float  # the half-width; NaN where a single sample gives none

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.half_width


class PairedTest(NamedTuple):
    """The mean difference of paired samples, and whether it may be chance."""

    difference: float  # the mean of first minus second
    half_width: float  # the half-width of its 95 % confidence interval
    p_value: float  # the two-sided p-value of Student's paired t-test
    pairs: int


def half_widths(samples: npt.ArrayLike) -> Floats:
    """Return half-widths of 95 % confidence intervals of column means, by Student's t.

    >>> half_widths([[1.0], [2.0], [3.0]]).round(3)
    array([2.484])
    """
    rows = np.asarray(samples, dtype=np.float64)
    count = len(rows)
    if count < 2:
        return np.full(rows.shape[1], math.nan)
    result: Floats = student_quantile(count - 1) * rows.std(axis=0, ddof=1) / math.sqrt(count)
    return result


def half_width(sample: npt.ArrayLike) -> float:
    """Return the half-width of the 95 % confidence interval of a mean, by Student's t.

    >>> round(half_width([1.0, 2.0, 3.0]), 4)
    2.4841
    >>> half_width([1.0])
    nan
    """
    return float(half_widths(np.asarray(sample, dtype=np.float64)[:, None])[0])


def student_quantile(freedom: int) -> float:
    """Return how many standard errors a 95 % interval has on either side."""
    from scipy.special import stdtrit  # scipy.stats would take ten times as long to load

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the slope of the least-squares line through (log x, log y).

    >>> round(slope([1, 4, 16], [3, 6, 12]), 12)
    0.5
    """
    logs = np.log(x)
    centred = logs - logs.mean()
    return float(np.log(y) @ centred / (centred @ centred))


def slope_interval(x: npt.ArrayLike, samples: npt.ArrayLike) -> Estimate:
    """Return the log-log slope of mean samples, with a jackknife interval over the seeds.

    All values of one seed are left out together, because one seed may share its randomness between
    all x. The spread of the resulting slopes gives the standard error, and Student's t the width.

    >>> estimate = slope_interval([1, 4, 16], [[2.9, 3.1], [5.8, 6.2], [11.6, 12.4]])
    >>> round(estimate.value, 3), abs(round(estimate.half_width, 3))
    (0.5, 0.0)
    """
    values = np.asarray(samples, dtype=np.float64)
    seeds = values.shape[1]
    estimate = slope(x, values.mean(axis=1))
    if seeds < 2:
        return Estimate(estimate, math.nan)
    without = (values.sum(axis=1, keepdims=True) - values) / (seeds - 1)
    if without.min() <= 0:
        return Estimate(estimate, math.nan)
    slopes = np.array([slope(x, column) for column in without.T])
    error = math.sqrt((seeds - 1) / seeds * float(((slopes - slopes.mean()) ** 2).sum()))
    return Estimate(estimate, student_quantile(seeds - 1) * error)


def paired_test(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedTest:
    """Compare two samples whose entries belong together, by Student's paired t-test.

    >>> test = paired_test([1.0, 2.0, 3.0, 5.0], [2.0, 4.0, 4.0, 5.0])
    >>> test.difference, round(test.half_width, 3), round(test.p_value, 4)
    (-1.0, 1.299, 0.0917)
    """
    from scipy.special import stdtr

    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    count, mean = differences.size, float(differences.mean())
    if count < 2:
        return PairedTest(mean, math.nan, math.nan, count)
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    width = student_quantile(count - 1) * error
    if error == 0.0:  # the two always differ by the same amount
        return PairedTest(mean, width, 1.0 if mean == 0.0 else 0.0, count)
    p_value = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return PairedTest(mean, width, p_value, count)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several tests by Holm's method.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(
        (i for i, p in enumerate(p_values) if not math.isnan(p)), key=p_values.__getitem__
    )
    adjusted = list(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted
