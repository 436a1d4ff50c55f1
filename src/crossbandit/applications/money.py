"""Amounts of money: what may be given as one, grids of them, and rules by which they earn."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.validation import integer, number, reject, verbatim
from crossbandit.errors import InvalidInputError, InvalidLossesError, InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.types import Floats

Money = float | Decimal
Flag = bool | int | np.bool_

_MOST_TICKS = 2**53
_LARGEST = 1e100  # products and differences of amounts stay finite
MOST_BIDS = 10**6


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
        """Return the losses of all amounts in n rounds, (n, K, features), given the numbers."""

    def earned(self, losses: npt.ArrayLike) -> Floats:
        """Return losses as money."""
        money: Floats = self.most - self.scale * np.asarray(losses, dtype=np.float64)
        return money


def amount_of(
    owner: str,
    name: str,
    value: object,
    *,
    at_least: float = 0.0,
    at_most: float = math.inf,
    error: type[InvalidInputError] = InvalidParameterError,
) -> float:
    """Return an amount of money as a float.

    >>> amount_of("bid", "value", Decimal("0.30"))
    0.3
    """
    if type(value) is float and at_least <= value <= at_most and value < math.inf:
        return value
    if isinstance(value, Decimal):
        try:
            value = float(value)
        except (ValueError, InvalidOperation):  # a signalling NaN
            value = math.nan
    return number(owner, name, value, at_least=at_least, at_most=at_most, error=error)


def as_floats(values: Any) -> Any:
    """Return values with floats in place of decimals; anything else is returned as it is."""
    if not isinstance(values, list | tuple):
        return values
    return [float(one) if isinstance(one, Decimal) else one for one in values]


def flag_of(owner: str, name: str, value: object) -> bool:
    """Return whether something happened: True, False, 1, 0, or NumPy's form of these."""
    if value is True or value is False:
        return value
    if not isinstance(value, np.bool_ | int | np.integer) or value not in (0, 1):
        reject(owner, name, "True or False", value, error=InvalidLossesError)
    return bool(value)


def tick_of(owner: str, tick_size: Any) -> Decimal | None:
    """Return the smallest unit of money as a decimal, or None if there is none."""
    if tick_size is None:
        return None
    if isinstance(tick_size, Decimal):
        tick = tick_size
    else:
        tick = Decimal(repr(number(owner, "tick_size", tick_size, above=0)))
    if not tick.is_finite() or tick <= 0:
        reject(owner, "tick_size", "a positive number, or None", tick_size)
    return tick.normalize()


def in_ticks(owner: str, amounts: Floats, tick: Decimal) -> Floats:
    """Return the different whole multiples of a tick that are nearest to the amounts.

    Each is the float nearest to its decimal form.

    >>> in_ticks("FirstPriceBidder", np.array([0.0, 0.104, 0.106, 0.3]), Decimal("0.01"))
    array([0.  , 0.1 , 0.11, 0.3 ])
    """
    counts = np.unique(np.round(amounts / float(tick)))
    if counts.size < 2 or counts[-1] > _MOST_TICKS:
        got = verbatim(f"{counts.size} different amounts on it")
        reject(owner, "tick_size", "fine enough for at least 2 bids", got)
    return np.array([float(int(count) * tick) for count in counts.tolist()])


def in_tick(amount: float, tick: Decimal, side: int) -> float:
    """Return a whole multiple of a tick: the nearest to an amount, or the next on one side of it.

    >>> in_tick(0.104, Decimal("0.01"), 0), in_tick(0.104, Decimal("0.01"), 1)
    (0.1, 0.11)
    """
    count = amount / float(tick)
    near = round(count)
    if side and abs(count - near) > max(1e-9, 1e-14 * count):  # more than rounding explains
        near = math.ceil(count) if side > 0 else math.floor(count)
    return float(near * tick)


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
    ascending = np.sort(given)
    result: Floats = ascending[np.diff(ascending, prepend=-1.0) > 0]  # np.unique loads np.ma
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


def bid_grid(owner: str, bids: Any, highest: float) -> Floats:
    """Return `bids` as a read-only ascending vector; a count means evenly from 0 to `highest`.

    Each is the float nearest to its decimal form: 101 bids up to 10 contain exactly `0.3`.

    >>> bid_grid("FirstPriceBidder", 5, 1.2)
    array([0. , 0.3, 0.6, 0.9, 1.2])
    """
    if isinstance(bids, bool) or not isinstance(bids, numbers.Integral):
        return grid(owner, "bids", bids)
    count = integer(owner, "bids", bids, at_least=2, at_most=MOST_BIDS)
    amounts: Floats = np.arange(count) * highest / (count - 1)
    amounts[-1] = highest
    amounts.flags.writeable = False
    return amounts


def possible_bids(
    owner: str, bids: int | npt.ArrayLike, highest: float, tick: Decimal | None, most: Money | None
) -> Floats:
    """Return the bids that may be made: multiples of the tick size, up to the highest bid."""
    amounts = bid_grid(owner, as_floats(bids), highest)
    if tick is not None:
        amounts = in_ticks(owner, amounts, tick)
    if most is not None:
        limit = amount_of(owner, "max_bid", most)
        amounts = amounts[amounts <= limit]
        if amounts.size < 2:
            reject(owner, "max_bid", "such that at least 2 bids are left", most)
    return amounts
