"""Tests of what the estimates by band assume: within a group, prices go with nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.report.statistics import holm

if TYPE_CHECKING:
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Booleans, Floats, Integers

_DOUBTFUL = 0.01  # p-value below which an assumption is doubted
WORDS = {"bid": "your own bids", "value": "values", "time": "time"}


@dataclass(frozen=True)
class Check:
    """A test whether prices go with something within groups.

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


def independence(log: CensoredLog, groups: Groups) -> tuple[Check, ...]:
    """Test whether prices go with own bids, with values and with time within groups.

    Where prices are hidden on one side, it is a log-rank test for a trend in ranks: for each price
    that was told, is the auction a usual one among those that could have had it? Where only won
    and lost are known, it compares wins with those expected at the same bids. Then own bids cannot
    be tested: nothing but their effect on winning is seen.

    Args:
        log: The auctions.
        groups: The groups of the log.

    Returns:
        The tests; none if all prices are known, or if prices are hidden on both sides and partly
        told.
    """
    kind = log.feedback
    if kind in ("always", "mixed"):
        return ()
    columns = {"bid": log.bids, "value": log.values, "time": np.arange(len(log), dtype=float)}
    if kind == "won-lost":
        del columns["bid"]
    sums = dict.fromkeys(columns, 0.0)
    variances = dict.fromkeys(columns, 0.0)
    for members, prices in zip(groups.members, groups.prices, strict=True):
        for name, column in columns.items():
            ranks = _ranks(column[members])
            if kind == "won-lost":
                made = log.informative[members]
                rows = members[made]
                found = _by_pools(prices, log.won[rows], ranks[made], log.bids[rows])
            else:
                told = log.told[members]
                found = log_rank(prices, told, ranks, upper=kind == "after-loss")
            sums[name] += found[0]
            variances[name] += found[1]
    scores = [sums[name] / math.sqrt(variances[name]) if variances[name] else 0.0 for name in sums]
    adjusted = holm([math.erfc(abs(score) / math.sqrt(2)) for score in scores])
    return tuple(map(Check, columns, scores, adjusted))


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


def _by_pools(
    prices: PriceDistribution, won: Booleans, ranks: Floats, bids: Floats
) -> tuple[float, float]:
    """Compare wins with those expected among bids that have the same estimated chance.

    Bids are pooled where wins fall as bids rise, so what goes with bids in a pool is removed.
    """
    index: Integers = np.searchsorted(prices.right, bids, "right")
    chances = prices.cumulative[index]
    _, pools = np.unique(chances, return_inverse=True)
    counts = np.bincount(pools)

    def centred(column: Floats) -> Floats:
        found: Floats = column - (np.bincount(pools, column) / counts)[pools]
        return found

    own, other = centred(_ranks(bids)), centred(ranks)
    squares = np.bincount(pools, own**2)
    slopes = np.bincount(pools, own * other) / np.where(squares > 0, squares, 1.0)
    other = other - slopes[pools] * own
    variance = float((chances * (1 - chances) * other**2).sum())
    return -float(((won - chances) * other).sum()), variance


def _ranks(column: Floats) -> Floats:
    """Return ranks from 0 to 1; equal numbers have their mean rank."""
    levels, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    if levels.size == 1:
        return np.zeros(column.size)
    ends = np.cumsum(counts)
    found: Floats = ((ends - (counts + 1) / 2) / column.size)[places]
    return found
