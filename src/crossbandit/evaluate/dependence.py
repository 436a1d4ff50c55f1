"""Test whether prices depend on something within a group, and find the power of the value.

The estimates by band assume that prices, divided by a power of the value, depend on nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.evaluate.groups import BOTH_SIDES, sample_groups
from crossbandit.report.statistics import holm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Booleans, Floats

_DOUBTFUL = 0.01  # p-value below which an assumption is doubted
_WORDS = {"bid": "your own bids", "value": "values", "time": "time"}
_LOWEST, _HIGHEST = -1.0, 2.0  # powers of the value
_BANDS = 10  # bands of the search; values in narrower bands differ too little
_STEPS = 8  # how often the range of powers is halved
_APART = 0.25  # the distance of powers whose scores show the precision of the power
_CLEAR = 3.0  # from so many standard errors on, a power counts as different from 0


@dataclass(frozen=True)
class DependenceTest:
    """A test whether prices depend on something within groups.

    Attributes:
        name: "bid", "value" or "time".
        score: Standard deviations from independence; positive if prices rise with it.
        p_value: The two-sided p-value, adjusted by Holm's method for the number of tests.
    """

    name: str
    score: float
    p_value: float

    @property
    def doubtful(self) -> bool:
        """Whether the test speaks against the assumption."""
        return self.p_value < _DOUBTFUL

    def __str__(self) -> str:
        what = _WORDS[self.name]
        if not self.doubtful:
            return (
                f"Nothing shows that prices go with {what} within bands (p = {self.p_value:.2f})."
            )
        rise = "rise" if self.score > 0 else "fall"
        shown = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"Prices {rise} with {what} within bands ({shown})."


def find_trends(groups: Groups) -> dict[str, Floats]:
    """Test whether prices depend on own bids, on values and on time within groups.

    Where prices are hidden on one side, it is a log-rank test for a trend in ranks: for each price
    that was told, is the auction a usual one among those that could have had it? Where prices are
    hidden on both sides, it asks whether the ranks that prices are expected to have rise or fall.
    Then own bids are not tested: little but their effect on winning is seen.

    Args:
        groups: The groups of a log, or of a piece of it.

    Returns:
        The sums of `trends`, for `conclude`; none if all prices are known.
    """
    feedback, log = groups.facts.feedback, groups.log
    if feedback == "always":
        return {}
    columns = {"bid": log.bids, "value": log.values, "time": groups.positions.astype(float)}
    if feedback in BOTH_SIDES:
        del columns["bid"]
    return trends(groups, columns)


def conclude(sums: Mapping[str, Floats]) -> tuple[DependenceTest, ...]:
    """Return the tests that sums of `trends` allow.

    Args:
        sums: A statistic and its variance by the name of a column.
    """
    scores = [_score(one) for one in sums.values()]
    adjusted = holm([math.erfc(abs(score) / math.sqrt(2)) for score in scores])
    return tuple(map(DependenceTest, sums, scores, adjusted))


def _score(sums: Floats) -> float:
    """Return a statistic divided by its standard deviation; 0 if its variance is 0."""
    return float(sums[0] / math.sqrt(sums[1])) if sums[1] > 0 else 0.0


def trends(groups: Groups, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return how far scaled prices depend on each column within groups.

    Args:
        groups: The groups of a log, or of a piece of it; not all prices are known.
        columns: A number per auction.

    Returns:
        A statistic and its variance for each column. Those of pieces of a log add up.
    """
    feedback, told = groups.facts.feedback, groups.log.told
    sums = {name: np.zeros(2) for name in columns}
    for members, prices in zip(groups.members, groups.prices, strict=True):
        for name, column in columns.items():
            ranks = _ranks(column[members])
            if feedback in BOTH_SIDES:
                sums[name] += by_expected_ranks(prices, ranks)
            else:
                upper = feedback == "after-loss"
                sums[name] += log_rank(prices, told[members], ranks, upper=upper)
    return sums


def log_rank(
    prices: PriceDistribution, told: Booleans, ranks: Floats, *, upper: bool
) -> tuple[float, float]:
    """Return the log-rank statistic of a trend and its variance; positive if prices rise.

    Args:
        prices: The prices of a group, hidden on one side only.
        told: Whether each price was told.
        ranks: A number per auction.
        upper: Whether prices are hidden below a bid that has won.
    """
    size = prices.right.size
    # Prices are looked at from the top down, or mirrored. An auction can have a price as long as
    # its own was not told, and nothing shows that it is beyond.
    ends = np.where(told, prices.first, prices.last if upper else prices.first - 1)
    if not upper:
        ends = size - 1 - ends
    counts, sums, squares = (
        np.bincount(ends, ranks**power, size + 1)[:size].cumsum() for power in range(3)
    )
    places = ends[told]
    events = np.bincount(places, minlength=size)[:size]
    score = float(np.bincount(places, ranks[told], size)[:size].sum())
    at_risk = np.maximum(counts, 1.0)
    means = sums / at_risk
    score -= float((events * means).sum())
    spread = np.maximum(squares / at_risk - means**2, 0.0)
    share = (counts - events) / np.maximum(counts - 1.0, 1.0)
    variance = float((events * share * spread).sum())
    return (score if upper else -score), variance


def by_expected_ranks(prices: PriceDistribution, ranks: Floats) -> tuple[float, float]:
    """Return whether expected ranks of prices rise with ranks, and the variance.

    The rank of a price that is in an interval is expected to be in the middle of the interval's
    ranks. If prices depend on nothing, its mean is 1/2, whatever the intervals are.

    Args:
        prices: The prices of a group.
        ranks: A number per auction.
    """
    expected = (prices.cumulative[prices.first] + prices.cumulative[prices.last] - 1.0) / 2
    products = (ranks - ranks.mean()) * expected
    return float(products.sum()), float((products**2).sum())


def _ranks(column: Floats) -> Floats:
    """Return ranks from 0 to 1; equal numbers have their mean rank."""
    levels, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    if levels.size == 1:
        return np.zeros(column.size)
    ends = np.cumsum(counts)
    found: Floats = ((ends - (counts + 1) / 2) / column.size)[places]
    return found


class ValuePower(NamedTuple):
    """The power of the value that prices depend on.

    Attributes:
        power: The power; 0 if prices do not depend on values.
        error: Its standard error.
    """

    power: float
    error: float

    @property
    def clear(self) -> float:
        """The power if it is clearly not 0, otherwise 0."""
        return self.power if abs(self.power) > _CLEAR * self.error else 0.0


def find_power(facts: Facts) -> ValuePower:
    """Return the power of the value that prices depend on, and its standard error.

    A band of values is not narrow everywhere: the highest tenth of the values may spread over a
    factor of five. If bids are fractions of values, and prices rise with values, then prices
    depend on bids within such a band. After division by the right power of the value they do not.
    The power is the one at which the test of independence sees no trend, as in rank estimates of
    accelerated failure times. The score of that test has a standard deviation of 1, so the error
    of the power is 1 divided by the slope of the score.

    Args:
        facts: What is known of the log.

    Returns:
        The power and its error; 0 and 0 if nothing can be seen.
    """
    if facts.feedback == "always":
        return ValuePower(0.0, 0.0)
    groups = sample_groups(facts, _BANDS)
    columns = {"value": facts.sample.values}

    def score(power: float) -> float:
        return _score(trends(groups.with_power(power), columns)["value"])

    low, high = _LOWEST, _HIGHEST
    if score(low) == score(high):
        return ValuePower(0.0, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if score(middle) > 0:
            low = middle
        else:
            high = middle
    power = (low + high) / 2
    slope = (score(power - _APART) - score(power + _APART)) / (2 * _APART)
    return ValuePower(power, min(1 / slope, 1.0) if slope > 0 else 1.0)
