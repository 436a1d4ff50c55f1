"""What a plan would have earned: what is known, bounds, and estimates with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.evaluate.intervals import long_run_variance, quantile_over_time
from crossbandit.evaluate.plans import same_bids
from crossbandit.report.statistics import student_quantile

if TYPE_CHECKING:
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.plans import Plan
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Floats, Integers

BY_BAND, INVERSE, ROBUST = "by band", "inverse propensity", "doubly robust"
ASSUMPTIONS = {
    BY_BAND: "Within a band of values and a class, prices do not go with your own bids, and with "
    "values only like a power of them.",
    INVERSE: "The propensities are right, and every bid of the strategy could have been drawn.",
    ROBUST: "The propensities are right, or prices do not go with your own bids within bands.",
}


@dataclass(frozen=True)
class Estimate:
    """An estimate of what a strategy would have earned on the log, with a 95 % interval.

    Attributes:
        method: "by band", "inverse propensity" or "doubly robust".
        value: The estimate.
        low: Where the interval begins.
        high: Where it ends.
        open: How much of the value the data leave open even if the assumption holds: bids beyond
            those that were made. The interval includes it.
        weight: The mean weight of an auction, which should be near 1; NaN without weights.
        size: How many auctions without weights would be as informative; NaN without weights.
    """

    method: str
    value: float
    low: float
    high: float
    open: float = 0.0
    weight: float = math.nan
    size: float = math.nan

    @property
    def credible(self) -> bool:
        """Whether the weights, if there are any, have a mean near 1."""
        return math.isnan(self.weight) or abs(self.weight - 1) <= 3 / math.sqrt(self.size)

    @property
    def assumption(self) -> str:
        """What the estimate needs to be right."""
        return ASSUMPTIONS[self.method]


class Known(NamedTuple):
    """What a log shows of a plan for certain.

    Attributes:
        exact: What the plan earned in the auctions whose outcome is known.
        share: The share of its bids whose outcome is known.
        lower: The least that it can have earned in all auctions.
        upper: The most.
    """

    exact: float
    share: float
    lower: float
    upper: float


def what_is_known(log: CensoredLog, plan: Plan) -> Known:
    """Return what is known of a plan, and the bounds that follow.

    Args:
        log: The auctions.
        plan: The bids.
    """
    known, wins = log.known(plan.rows, plan.bids)
    gains = plan.shares * (log.values[plan.rows] - plan.bids)
    exact = float(gains[wins].sum())
    unknown = gains[~known]
    return Known(
        exact=exact,
        share=float(plan.shares[known].sum() / plan.shares.sum()) if plan.shares.size else 1.0,
        lower=exact + float(np.minimum(unknown, 0.0).sum()),
        upper=exact + float(np.maximum(unknown, 0.0).sum()),
    )


class _Sums(NamedTuple):
    """What the groups add up to."""

    value: float
    least: float
    most: float
    influences: Floats  # of each auction
    variance: float  # of the outcomes that are not known


def by_band(log: CensoredLog, plan: Plan, groups: Groups) -> Estimate:
    """Return an estimate by the most likely distribution of prices in each group.

    Where the outcome is known it counts as it is. Elsewhere the price is known to be in an
    interval, and the chance to win is that of the group's distribution within the interval. The
    error has two parts: that of the distribution, by influence functions in blocks of time, and
    the luck in the auctions whose outcome is not known.

    Args:
        log: The auctions.
        plan: The bids.
        groups: The groups of the log.
    """
    known, wins = log.known(plan.rows, plan.bids)
    gains = plan.shares * (log.values[plan.rows] - plan.bids)
    exact = float(gains[wins].sum())
    if known.all():
        return Estimate(BY_BAND, exact, exact, exact)
    if plan.fitted:
        groups = groups.halves
    open_entries = np.flatnonzero(~known)
    sums = _sum_groups(log, plan, groups, open_entries, gains[open_entries])
    variance = long_run_variance(sums.influences) + sums.variance
    half = quantile_over_time(len(log)) * math.sqrt(variance)
    bounds = what_is_known(log, plan)
    return Estimate(
        BY_BAND,
        exact + sums.value,
        max(exact + sums.least - half, bounds.lower),
        min(exact + sums.most + half, bounds.upper),
        open=sums.most - sums.least,
    )


def _sum_groups(
    log: CensoredLog, plan: Plan, groups: Groups, entries: Integers, gains: Floats
) -> _Sums:
    influences = np.zeros(len(log))
    value = least = most = variance = 0.0
    rows, bids = plan.rows[entries], plan.bids[entries]
    for members, prices, inside in groups.entries(rows):
        places, scaled = np.searchsorted(members, rows[inside]), bids[inside]
        part = _Chances.of(prices, places, scaled / groups.scales[rows[inside]])
        gain = gains[inside]
        value += float(gain @ part.middle)
        ends = gain * part.least, gain * part.most
        least += float(np.minimum(*ends).sum())
        most += float(np.maximum(*ends).sum())
        shares = plan.shares[entries[inside]]
        variance += float((gain**2 / shares * part.middle * (1 - part.middle)).sum())
        # A chance of 0 or 1 may be wrong by one auction of the group: in the estimate, and by luck.
        share = inside.size / members.size
        variance += float((gain**2).mean()) * share * (1 + share)
        influences[members] = prices.influence(part.gradient(prices, gain))
    return _Sums(value, least, most, influences, variance)


class _Chances(NamedTuple):
    """The chances to win of bids whose outcome is not known, given the intervals of the prices."""

    auctions: Integers  # in the group
    place: Integers
    share: Floats
    middle: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, prices: PriceDistribution, auctions: Integers, bids: Floats) -> _Chances:
        place, share = prices.place(bids)
        below = prices.cumulative[prices.first[auctions]]
        whole = prices.chances[auctions]
        found = [(one - below) / whole for one in (prices.at(bids), *prices.range_at(bids))]
        middle, least, most = (np.clip(one, 0.0, 1.0) for one in found)
        return cls(auctions, place, share, middle, least, most)

    def gradient(self, prices: PriceDistribution, gains: Floats) -> Floats:
        """Return the derivative of the estimate with respect to the masses of the atoms."""
        size = prices.right.size
        weights = gains / prices.chances[self.auctions]
        first, last = prices.first[self.auctions], prices.last[self.auctions]
        changes = np.bincount(first, weights, size + 1) - np.bincount(self.place, weights, size + 1)
        scaled = weights * self.middle
        changes -= np.bincount(first, scaled, size + 1) - np.bincount(last, scaled, size + 1)
        within = np.bincount(self.place, weights * self.share, size + 1)
        found = np.asarray(np.cumsum(changes), dtype=np.float64) + within
        return found[:size]


def weighted(log: CensoredLog, plan: Plan, groups: Groups, *, robust: bool) -> Estimate | None:
    """Return an estimate by inverse propensities, or the doubly robust one.

    Auctions in which the strategy's bid was made count with the inverse of its probability. The
    doubly robust estimate weights only what the distribution of prices in the group gets wrong;
    that of the other half of the log, which does not depend on the auction's own draw. The
    interval follows from the random draws of the bids alone.

    Args:
        log: The auctions, with propensities.
        plan: The bids.
        groups: The groups of the log.
        robust: Whether to use the distribution of prices.

    Returns:
        The estimate; None if the strategy's bid was never made.
    """
    if log.propensities is None:
        return None
    same = same_bids(plan.bids, log.bids[plan.rows])
    if not same.any():
        return None
    gains = plan.shares * (log.values[plan.rows] - plan.bids)
    expected = gains * _win_rates(plan, groups) if robust else np.zeros(gains.size)
    chances = log.propensities[plan.rows]
    weights = np.where(same, 1.0 / chances, 0.0)
    rest = np.where(same & log.won[plan.rows], gains, 0.0) - np.where(same, expected, 0.0)
    value = float(expected.sum() + (weights * rest).sum())
    # The draw of auction i adds (1 / q - 1) rest if the bid was made: variance rest^2 (1 - q) / q.
    variance = float((same * rest**2 * (1 - chances) / chances**2).sum())
    half = student_quantile(max(int(same.sum()) - 1, 1)) * math.sqrt(variance)
    parts = np.bincount(plan.rows, plan.shares * weights, len(log))
    return Estimate(
        ROBUST if robust else INVERSE,
        value,
        value - half,
        value + half,
        weight=float(parts.mean()),
        size=float(parts.sum() ** 2 / (parts**2).sum()),
    )


def _win_rates(plan: Plan, groups: Groups) -> Floats:
    rates = np.zeros(plan.rows.size)
    for prices, entries in groups.others(plan.rows):
        rates[entries] = prices.at(plan.bids[entries] / groups.scales[plan.rows[entries]])
    return rates
