"""Amounts of money or units as the applications take them: a grid, or a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Floats


def grid(owner: str, name: str, values: Any) -> Floats:
    """Return `values`, at least two different amounts of at least 0, ascending and read-only.

    >>> grid("Newsvendor", "orders", [30, 10, 20])
    array([10., 20., 30.])
    """
    expected = "at least 2 different finite amounts of at least 0"
    given = _vector(owner, name, values, expected)
    bad = given[~(np.isfinite(given) & (given >= 0))]
    if bad.size:
        reject(owner, name, expected, verbatim(f"{bad[0]} among them"))
    result: Floats = np.unique(given)
    if result.size < 2:
        reject(owner, name, expected, values)
    result.flags.writeable = False
    return result


def span(owner: str, name: str, values: Any) -> tuple[float, float]:
    """Return `values`, the lowest and the highest amount of at least 0.

    >>> span("Newsvendor", "cost_range", [1, 2])
    (1.0, 2.0)
    """
    expected = "a pair of finite amounts of at least 0, the lower one first"
    given = _vector(owner, name, values, expected)
    if given.shape != (2,) or not np.isfinite(given).all() or not 0 <= given[0] <= given[1]:
        reject(owner, name, expected, values)
    return float(given[0]), float(given[1])


def bounds(owner: str, name: str, values: Any) -> tuple[float, float]:
    """Return `values`, a lowest and a highest number that differ, of any sign.

    >>> bounds("SleepingArms", "loss_range", [-1, 3])
    (-1.0, 3.0)
    """
    expected = "a pair (lowest, highest) of finite numbers, lowest < highest"
    given = _vector(owner, name, values, expected)
    if given.shape != (2,) or not np.isfinite(given).all() or not given[0] < given[1]:
        reject(owner, name, expected, values)
    return float(given[0]), float(given[1])


def _vector(owner: str, name: str, values: Any, expected: str) -> Floats:
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        reject(owner, name, expected, values)
    if given.ndim != 1:
        reject(owner, name, expected, values)
    return given
