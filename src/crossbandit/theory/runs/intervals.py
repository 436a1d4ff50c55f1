"""The confidence interval of a mean over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.report.statistics import half_width

if TYPE_CHECKING:
    import numpy.typing as npt


def mean_interval(values: npt.ArrayLike) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval by Student's t.

    >>> mean, half_width = mean_interval([1.0, 2.0, 3.0])
    >>> mean, round(half_width, 3)
    (2.0, 2.484)
    """
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.mean()), half_width(sample)
