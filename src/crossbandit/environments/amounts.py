"""Amounts of money or units as the applications take them: a grid, or a range."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import Floats

_LARGEST = 1e100  # products and differences of amounts stay finite


def grid(owner: str, name: str, values: Any) -> Floats:
    """Return `values`, at least two different amounts of at least 0, ascending and read-only.

    >>> grid("Newsvendor", "orders", [30, 10, 20])
    array([10., 20., 30.])
    """
    expected = f"at least 2 different amounts from 0 to {_LARGEST:g}"
    given = _vector(owner, name, values, expected)
    bad = given[~((given >= 0) & (given <= _LARGEST))]
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
    expected = f"a pair of amounts from 0 to {_LARGEST:g}, the lower one first"
    given = _vector(owner, name, values, expected)
    if given.shape != (2,) or not 0 <= given[0] <= given[1] <= _LARGEST:
        reject(owner, name, expected, values)
    return float(given[0]), float(given[1])


def pair(owner: str, name: str, values: Any, meaning: str) -> tuple[float, float]:
    """Return `values`, two amounts above 0 in any order; an error tells their meaning.

    >>> pair("SpamFilter", "mailboxes", [5, 2], "the harm of spam, and of a lost message")
    (5.0, 2.0)
    """
    expected = f"a pair of amounts above 0, from {1 / _LARGEST:g} to {_LARGEST:g}: {meaning}"
    given = _vector(owner, name, values, expected)
    if given.shape != (2,) or not ((given >= 1 / _LARGEST) & (given <= _LARGEST)).all():
        reject(owner, name, expected, verbatim(f"{values!r} among them"))
    return float(given[0]), float(given[1])


def bounds(owner: str, name: str, values: Any) -> tuple[float, float]:
    """Return `values`, a lowest and a highest number that differ, of any sign.

    >>> bounds("SleepingArms", "loss_range", [-1, 3])
    (-1.0, 3.0)
    """
    expected = f"a pair (lowest, highest) of numbers up to {_LARGEST:g} in size, lowest < highest"
    given = _vector(owner, name, values, expected)
    if given.shape != (2,) or not -_LARGEST <= given[0] < given[1] <= _LARGEST:
        reject(owner, name, expected, values)
    return float(given[0]), float(given[1])


def _vector(owner: str, name: str, values: Any, expected: str) -> Floats:
    """Return numbers as a vector; text and truth values that could pass for numbers are none."""
    try:
        listed = [] if isinstance(values, str) else list(values)
    except TypeError:
        reject(owner, name, expected, values)
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            reject(owner, name, expected, verbatim(f"{value!r} among them"))
    try:
        return np.array(listed, dtype=np.float64)
    except OverflowError:  # an int beyond all floats
        reject(owner, name, expected, values)
