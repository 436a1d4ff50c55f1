"""Amounts of money or units, and rules by which they earn money, for the applications."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

_LARGEST = 1e100  # products and differences of amounts stay finite


class AmountRules(ABC):
    """Rules by which each arm is an amount, and earns money.

    The loss of an amount is (most that can be earned - earned) / *scale*.
    """

    @property
    @abstractmethod
    def amounts(self) -> Floats:
        """The amount of each arm, ascending."""

    @property
    @abstractmethod
    def most(self) -> float:
        """The most that can be earned."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The money between the most and the least that an available amount can earn."""

    @property
    def arms(self) -> int:
        """The number of amounts."""
        return int(self.amounts.size)

    @abstractmethod
    def rows(self, numbers: npt.ArrayLike, /) -> Floats:
        """Return the losses of all amounts in n rounds, (n, K, features), given the hidden numbers.

        Args:
            numbers: The hidden number of each round: a price, a demand or a valuation.
        """

    def earned(self, losses: npt.ArrayLike) -> Floats:
        """Return losses as money."""
        money: Floats = self.most - self.scale * np.asarray(losses, dtype=np.float64)
        return money


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


def check_margin(owner: str, name: str, highest_price: float, lowest_cost: float) -> None:
    """Raise if no price is above the lowest cost; the message uses `name` for the prices."""
    if lowest_cost >= highest_price:
        got = verbatim(f"prices up to {highest_price:.15g} and costs from {lowest_cost:.15g}")
        expected = "such that one price is above the lowest cost, or nothing can be earned"
        reject(owner, name, expected, got)


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
    """Return numbers as a vector; raise for text and booleans, which NumPy would convert."""
    try:
        listed = [] if isinstance(values, str) else list(values)
    except TypeError:
        reject(owner, name, expected, values)
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            reject(owner, name, expected, verbatim(f"{value!r} among them"))
    try:
        return np.array(listed, dtype=np.float64)
    except OverflowError:  # an int too large for a float
        reject(owner, name, expected, values)
