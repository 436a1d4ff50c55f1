"""Amounts of money or units: what they earn, checks of amounts, and grids of bids.

`bid_spacing` chooses how close bids are to each other, given the values. Suppose that the best bid
at a value v may be any amount up to v. Rounding it up to the next of the bids g_0 < g_1 < ... costs
sum_i (min(g_{i+1}, v) - min(g_i, v))^2 / (2 v) on average: half the step, weighted by its length.
The last step ends at v, because no bid above v is made and v - b is lost. Over all values, a step
of length s(b) at b costs s(b) m(b) / 2 per unit, where m(b) is the sum of 1/v over the values above
b. The number of bids is the integral of 1/s. For a given number, the cost is least if 1/s is
proportional to the square root of m.

Half of the bids are placed like this. The other half minimises the cost *relative* to each value
(1/v^2 in place of 1/v), so that a few very high values do not take nearly all bids. Each of the two
costs is then at most twice the least one. For the same reason, these bids are compared with evenly
spaced ones on the auctions with the lowest 99 % of the values.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.validation import array, integer, number, reject, verbatim

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.types import Floats

_LARGEST = 1e100  # products and differences of amounts stay finite
MOST_BIDS = 10**6
USUAL_COUNT = 100
_JUDGED = 0.99  # the share of the auctions, with the lowest values, on which costs are compared
_WORTH_IT = 0.02  # the share of the value that must be saved to give up evenly spaced bids
_SMALLEST = 1e-9  # the smallest value, as a share of the highest; smaller ones count as this


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


def geometric_bids(count: int, lowest: float, highest: float) -> Floats:
    """Return 0 and `count` - 1 bids from `lowest` to `highest` with equal ratios.

    Args:
        count: The number of bids, 0 included; at least 3.
        lowest: The lowest bid above 0.
        highest: The highest bid.

    >>> geometric_bids(5, 1, 8)
    array([0., 1., 2., 4., 8.])
    """
    integer("geometric_bids", "count", count, at_least=3, at_most=MOST_BIDS)
    number("geometric_bids", "lowest", lowest, above=0)
    number("geometric_bids", "highest", highest, above=lowest)
    return np.concatenate([[0.0], np.geomspace(lowest, highest, count - 1)])


class BidSpacing(NamedTuple):
    """Bids, and what rounding up to them costs, as a share of the values, in 99 % of the auctions.

    Attributes:
        bids: The bids.
        cost: What rounding up to them costs.
        even_cost: What it would cost with as many evenly spaced bids.
    """

    bids: Floats
    cost: float
    even_cost: float

    @property
    def even(self) -> bool:
        """Whether the bids are evenly spaced."""
        return self.cost == self.even_cost


def bids_for_values(
    values: npt.ArrayLike, *, count: int = USUAL_COUNT, highest: float | None = None
) -> Floats:
    """Return bids that suit a sample of values: evenly spaced, or closer where most values are.

    If a few values are much higher than most, only a few of evenly spaced bids are useful in most
    auctions. Evenly spaced bids are returned unless others save 2 % of the value in rounding. The
    rule uses values only, not prices.

    Args:
        values: A sample of the values to come. Those that are not above 0 are left out.
        count: The number of bids, 0 included.
        highest: The highest value to come; None for the highest of the sample.

    Returns:
        The bids, from 0 to the highest value.

    Raises:
        InvalidParameterError: An argument is outside its domain.

    >>> bids_for_values(range(1, 11), count=101)[:4]
    array([0. , 0.1, 0.2, 0.3])
    >>> heavy = [1, 2, 3] * 1_000 + [1_000]
    >>> int((bids_for_values(heavy) < 3).sum()) > 75
    True
    """
    owner, expected = "bids_for_values", "finite numbers, at least one of them above 0"
    sample = array(owner, "values", expected, values).reshape(-1)
    if not np.isfinite(sample).all() or not (sample > 0).any():
        reject(owner, "values", expected, values)
    sample, counts = np.unique(sample[sample > 0], return_counts=True)
    top = float(sample[-1])
    if highest is not None:
        top = number(owner, "highest", highest, at_least=top)
    integer(owner, "count", count, at_least=2, at_most=MOST_BIDS)
    return bid_spacing(sample, counts.astype(np.float64), top, count).bids


def bid_spacing(
    values: Floats, counts: Floats, highest: float, count: int = USUAL_COUNT
) -> BidSpacing:
    """Return the bids for values that occur some number of times.

    Args:
        values: The values, ascending, above 0 and at most `highest`.
        counts: How often each occurs.
        highest: The highest value to come. It counts as seen once more.
        count: The number of bids.
    """
    even = bid_grid("bid_spacing", count, highest)
    shares = np.maximum(np.append(values, highest) / highest, _SMALLEST)
    times = np.append(counts, 1.0)
    fitted = _fitted(shares, times, count) * highest
    fitted[-1] = highest
    judged = np.diff(np.minimum(np.cumsum(counts), np.floor(_JUDGED * counts.sum())), prepend=0.0)
    cost = rounding_cost(shares[:-1], judged, fitted / highest)
    even_cost = rounding_cost(shares[:-1], judged, even / highest)
    if even_cost - cost < _WORTH_IT or (np.diff(fitted) <= 0).any():
        return BidSpacing(even, even_cost, even_cost)
    return BidSpacing(fitted, cost, even_cost)


def rounding_cost(values: Floats, counts: Floats, bids: Floats) -> float:
    """Return what rounding up to `bids` costs, as a share of the sum of the values.

    Args:
        values: The values, above 0 and at most the highest bid.
        counts: How often each occurs.
        bids: The bids, ascending from 0.
    """
    squares = np.concatenate([[0.0], np.cumsum(np.diff(bids) ** 2)])
    below = np.searchsorted(bids, values, "right") - 1
    lost = (squares[below] + (values - bids[below]) ** 2) / (2 * values)
    worth = float((counts * values).sum())
    return float((counts * lost).sum()) / worth if worth > 0 else 0.0


def _fitted(values: Floats, counts: Floats, count: int) -> Floats:
    """Return `count` bids from 0 to the last value: the mean of the two densities above."""
    lengths = np.diff(values, prepend=0.0)
    below = np.zeros(values.size + 1)  # the share of the bids below each value
    for power in (1.0, 2.0):
        above = np.cumsum((counts * values**-power)[::-1])[::-1]
        reached = np.cumsum(np.sqrt(above) * lengths)
        below[1:] += reached / reached[-1] / 2
    ends = np.concatenate([[0.0], values])
    fitted: Floats = np.interp(np.linspace(0.0, below[-1], count), below, ends)
    return fitted
