"""Tests of what the estimates by band assume: within a group, prices depend on nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.evaluate.groups import BOTH_SIDES
from crossbandit.report.statistics import holm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Booleans, Floats

_DOUBTFUL = 0.01  # p-value below which an assumption is doubted
WORDS = {"bid": "your own bids", "value": "values", "time": "time"}


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
        what = WORDS[self.name]
        if not self.doubtful:
            return (
                f"Nothing shows that prices go with {what} within bands (p = {self.p_value:.2f})."
            )
        rise = "rise" if self.score > 0 else "fall"
        shown = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"Prices {rise} with {what} within bands ({shown})."


def independence(groups: Groups) -> tuple[DependenceTest, ...]:
    """Test whether prices depend on own bids, with values and with time within groups.

    Where prices are hidden on one side, it is a log-rank test for a trend in ranks: for each price
    that was told, is the auction a usual one among those that could have had it? Where prices are
    hidden on both sides, it asks whether the ranks that prices are expected to have rise or fall.
    Then own bids are not tested: little but their effect on winning is seen.

    Args:
        groups: The groups of a log.

    Returns:
        The tests; none if all prices are known.
    """
    return conclude(tested_trends(groups))


def tested_trends(groups: Groups) -> dict[str, Floats]:
    """Return the sums of `trends` for own bids, values and time, as far as they can be tested.

    Args:
        groups: The groups of a log, or of a piece of it.
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
    scores = [score_of(one) for one in sums.values()]
    adjusted = holm([math.erfc(abs(score) / math.sqrt(2)) for score in scores])
    return tuple(map(DependenceTest, sums, scores, adjusted))


def score_of(sums: Floats) -> float:
    """Return a statistic in standard deviations; 0 if it cannot vary.

    Args:
        sums: The statistic and its variance.
    """
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
