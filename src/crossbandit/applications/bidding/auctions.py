"""First-price auctions: what a bid earns, what it reveals, and how close bids should be."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit import graphs
from crossbandit.applications.bidding.bid_core import write_auctions
from crossbandit.applications.money import MOST_BIDS, AmountRules, bid_grid
from crossbandit.core.blocks import block_of_rows
from crossbandit.core.types import Feedback, Ties
from crossbandit.core.validation import array, boolean, choice, integer, number, reject

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.graphs import FeedbackGraph


USUAL_COUNT = 100
_JUDGED = 0.99  # the share of the auctions, with the lowest values, on which costs are compared
_WORTH_IT = 0.02  # the share of the value that must be saved to give up evenly spaced bids
_SMALLEST = 1e-9  # the smallest value, as a share of the highest; smaller ones count as this


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


# `bid_spacing` chooses how close bids are to each other, given the values. Suppose that the best
# bid at a value v may be any amount up to v. Rounding it up to the next of the bids g_0 < g_1 < ...
# costs sum_i (min(g_{i+1}, v) - min(g_i, v))^2 / (2 v) on average: half the step, weighted by its
# length. The last step ends at v, because no bid above v is made and v - b is lost. Over all
# values, a step of length s(b) at b costs s(b) m(b) / 2 per unit, where m(b) is the sum of 1/v over
# the values above b. The number of bids is the integral of 1/s. For a given number, the cost is
# least if 1/s is proportional to the square root of m.
#
# Half of the bids are placed like this. The other half minimises the cost *relative* to each value
# (1/v^2 in place of 1/v), so that a few very high values do not take nearly all bids. Each of the
# two costs is then at most twice the least one. For the same reason, these bids are compared with
# evenly spaced ones on the auctions with the lowest 99 % of the values.


class BidSpacing(NamedTuple):
    """Bids and what rounding up costs, as a share of the values, in 99 % of the auctions."""

    bids: Floats
    cost: float  # what rounding up to them costs
    even_cost: float  # what it would cost with as many evenly spaced bids

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
    """Return the bids for values that occur some number of times."""
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
    """Return what rounding up to `bids` costs, as a share of the sum of the values."""
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


# When the highest competing bid is told, and what a bid then reveals.
FEEDBACK: dict[Feedback, str] = {
    "after-loss": "the competing bid is told to losers: a bid reveals itself and all higher bids",
    "after-win": "the competing bid is told to the winner: a bid reveals itself and all lower bids",
    "always": "the competing bid is told to everyone: a bid reveals all bids",
    "won-lost": "nothing but won or lost is told: a bid reveals itself",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AuctionRules(AmountRules):
    """The bids that may be made, and what each of them earns. Money may have any unit.

    A bid wins if it is at least `reserve` and beats the highest competing bid, the *price*; an
    equal bid wins or loses as `ties` says. A price of 0 means that there was no other bid. A bid of
    0 means not to bid: it never wins, not even against a price of 0. The winner earns value - bid,
    the others nothing. With `at_most_value`, bids above the value are not available.

    >>> rules = AuctionRules(bids=[0, 1, 2, 3], highest_value=4)
    >>> rules.surplus(values=[4.0, 4.0], bids=[2.0, 1.0], prices=[1.5, 1.5])
    array([2., 0.])
    >>> rules.available([1.5])
    array([[ True,  True, False, False]])
    """

    bids: npt.ArrayLike
    highest_value: float
    reserve: float = 0.0
    ties: Ties = "win"
    at_most_value: bool = True
    owner: InitVar[str] = "AuctionRules"  # the name for error messages

    def __post_init__(self, owner: str) -> None:
        number(owner, "highest_value", self.highest_value, above=0)
        number(owner, "reserve", self.reserve, at_least=0)
        choice(owner, "ties", self.ties, ("win", "lose"))
        boolean(owner, "at_most_value", self.at_most_value)
        object.__setattr__(self, "bids", bid_grid(owner, self.bids, self.highest_value))

    @property
    def amounts(self) -> Floats:
        return np.asarray(self.bids)

    @property
    def most(self) -> float:
        return float(self.highest_value)

    @cached_property
    def least(self) -> float:
        """The lowest number that a bid has to reach to win, as the law of prices sees it.

        Where equal bids win, a bid of 0 would reach a price of 0; but it means not to bid.
        """
        if self.ties == "win":
            return max(self.reserve, math.nextafter(0.0, 1.0))
        return max(math.nextafter(self.reserve, -1.0), 0.0)  # a bid equal to the reserve suffices

    @property
    def scale(self) -> float:
        return self.most + (0.0 if self.at_most_value else float(self.amounts[-1]))

    def graph(self, feedback: Feedback) -> FeedbackGraph:
        """Return what a bid reveals under one of the kinds of `FEEDBACK`.

        For example "after-loss": after a loss at bid b, the price is told, so the outcome of every
        bid is known. After a win, it is known that all higher bids win too. In both cases, the
        outcomes of the bids from b upwards are known. The other kinds follow in the same way. With
        "won-lost", a win reveals the higher bids and a loss the lower ones. Only b itself is
        revealed in both cases.
        """
        choice("AuctionRules", "feedback", feedback, FEEDBACK)
        if feedback == "always":
            return graphs.complete(self.arms)
        if feedback == "won-lost":
            return graphs.singletons(self.arms)
        return graphs.threshold(self.arms, "higher" if feedback == "after-loss" else "lower")

    def block(self, prices: npt.ArrayLike) -> LossBlock:
        """Return the losses of all bids in consecutive auctions."""
        return block_of_rows(self.rows(prices))

    def rows(self, prices: npt.ArrayLike) -> Floats:
        """Return the losses of all bids, (n, K, 2), in n auctions."""
        prices = np.ascontiguousarray(prices, dtype=np.float64)
        rows = np.empty((prices.size, self.arms, 2))
        money = float(self.reserve), float(self.highest_value), self.scale
        write_auctions(self.amounts, prices, self.ties == "win", money, rows)
        return rows

    def contexts(self, values: npt.ArrayLike) -> Floats:
        """Return the feature vectors (1, value / highest_value) of values."""
        values = np.asarray(values, dtype=np.float64)
        return np.stack([np.ones_like(values), values / self.highest_value], axis=-1)

    def available(self, values: npt.ArrayLike) -> Booleans | None:
        """Return which bids may be made at each value, (n, K); None if all may."""
        if not self.at_most_value:
            return None
        may: Booleans = self.amounts <= np.asarray(values, dtype=np.float64)[:, None]
        return may

    def wins(self, bids: npt.ArrayLike, prices: npt.ArrayLike) -> Booleans:
        """Return which of the bids win against the prices."""
        bids, prices = np.asarray(bids), np.asarray(prices)
        beats = bids >= prices if self.ties == "win" else bids > prices
        won: Booleans = beats & (bids >= self.reserve) & (bids > 0)
        return won

    @property
    def first_winner(self) -> int:
        """The number of the lowest bid that is above 0 and at least the reserve."""
        above_zero = np.searchsorted(self.amounts, 0.0, "right")
        return int(max(above_zero, np.searchsorted(self.amounts, self.reserve)))

    def cells(self, prices: npt.ArrayLike) -> Integers:
        """Return the number of the lowest bid that wins against each price; K if none does."""
        side: Any = "left" if self.ties == "win" else "right"
        cells = np.searchsorted(self.amounts, np.asarray(prices, dtype=np.float64), side)
        lowest: Integers = np.maximum(cells, self.first_winner)
        return lowest

    def surplus(self, values: npt.ArrayLike, bids: npt.ArrayLike, prices: npt.ArrayLike) -> Floats:
        """Return what bids earn at values against prices."""
        margin = np.asarray(values, dtype=np.float64) - np.asarray(bids)
        earned: Floats = np.where(self.wins(bids, prices), margin, 0.0)
        return earned
