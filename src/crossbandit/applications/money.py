"""Amounts of money as applications take them: floats, integers or decimals, in whole ticks."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.core.validation import number, reject, verbatim
from crossbandit.environments.rules import bid_grid
from crossbandit.errors import InvalidInputError, InvalidLossesError, InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.types import Floats

Money = float | Decimal
Flag = bool | int | np.bool_

_MOST_TICKS = 2**53


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
    if side and abs(count - near) > 1e-9 * max(count, 1.0):
        near = math.ceil(count) if side > 0 else math.floor(count)
    return float(near * tick)


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
