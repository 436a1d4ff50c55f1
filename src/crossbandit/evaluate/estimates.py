"""Estimates of what a plan would have earned in a log, as sums over pieces of the log.

There are three kinds: what is known for certain; estimates by the most likely distribution of
prices in each group of similar auctions; and estimates by the auctions in which the bid of the plan
was drawn, weighted by inverse propensities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.evaluate.intervals import long_run_variance, over_time, quantile_over_time
from crossbandit.evaluate.plans import same_bids
from crossbandit.evaluate.prices import dot
from crossbandit.evaluate.results import BY_BAND, INVERSE, ROBUST, KnownOutcomes, ValueEstimate
from crossbandit.report.statistics import student_quantile

if TYPE_CHECKING:
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.plans import Plan
    from crossbandit.evaluate.prices import PriceDistribution
    from crossbandit.types import Floats, Integers

# The bias of isotonic regression falls like n^(-1/3) at worst. Then half of the auctions have
# 2^(1/3) times the bias of all of them, and the bias is this many times the difference.
_SLOWEST = 1 / (2 ** (1 / 3) - 1)


class KnownSums(NamedTuple):
    """What is known of a plan in a piece of a log. The sums of pieces add up.

    Attributes:
        exact: What the plan earned where the outcome is known.
        known: The bids whose outcome is known; a bid drawn at random counts by its probability.
        unknown: The other bids.
        least: What the others earn at least.
        most: What they earn at most.
    """

    exact: float
    known: float
    unknown: float
    least: float
    most: float

    @property
    def whole(self) -> KnownOutcomes:
        """What is known, if these are the sums of the whole log."""
        bids = self.known + self.unknown
        share = self.known / bids if self.unknown else 1.0
        return KnownOutcomes(self.exact, share, self.exact + self.least, self.exact + self.most)


def what_is_known(log: CensoredLog, plan: Plan) -> KnownSums:
    """Return what is known of a plan, and the bounds that follow.

    Args:
        log: The auctions.
        plan: The bids.
    """
    known, wins = log.known(plan.rows, plan.bids)
    gains = plan.gains(log)
    unknown = gains[~known]
    return KnownSums(
        exact=float(gains[wins].sum()),
        known=float(plan.shares[known].sum()),
        unknown=float(plan.shares[~known].sum()),
        least=float(np.minimum(unknown, 0.0).sum()),
        most=float(np.maximum(unknown, 0.0).sum()),
    )


class BandSums(NamedTuple):
    """What a plan is expected to earn where the outcome is unknown. The sums of pieces add up.

    Attributes:
        value: The estimate.
        least: The least that fits the data equally well.
        most: The most.
        luck: The variance of the unknown outcomes if the distribution of prices is right.
        influences: The influences of the auctions on the estimate, summed over short parts of the
            time of the log.
        by_turns: The estimate if each group is divided in two, auction by auction.
        narrower: The estimate if each group is divided into lower and higher values.
        higher_power: The estimate if the power of the value is higher by its standard error.
        lower_power: The estimate if it is lower.
    """

    value: float
    least: float
    most: float
    luck: float
    influences: Floats
    by_turns: float
    narrower: float
    higher_power: float
    lower_power: float

    def estimate(self, known: KnownSums) -> ValueEstimate:
        """Return the estimate and its interval, if these are the sums of the whole log.

        Four errors are in the interval: that of the distribution of prices, by influences in
        blocks of time, together with luck; that of the power of the value; that of the choice of
        bands, which is how much narrower bands of the same number of auctions change; and what
        the correction of the bias leaves. If the bias falls like 1 / n, it is what groups of half
        the size have in addition. If it falls more slowly, more of it is left.

        Args:
            known: What is known of the plan.
        """
        whole = known.whole
        if not known.unknown:
            return ValueEstimate(BY_BAND, whole.exact, whole.exact, whole.exact)
        bias = self.by_turns - self.value
        variance = (
            long_run_variance(self.influences)
            + self.luck
            + (self.narrower - self.by_turns) ** 2
            + ((self.higher_power - self.lower_power) / 2) ** 2
        )
        quantile = quantile_over_time(self.influences.size)
        half = math.hypot(quantile * math.sqrt(variance), (_SLOWEST - 1) * bias)
        value = min(max(whole.exact + self.value - bias, whole.lower), whole.upper)
        return ValueEstimate(
            BY_BAND,
            value,
            max(value + self.least - self.value - half, whole.lower),
            min(value + self.most - self.value + half, whole.upper),
            open=self.most - self.least,
        )


def band_sums(plan: Plan, groups: Groups) -> BandSums:
    """Return what a plan is expected to earn by the distribution of prices in each group.

    Where the outcome is known it counts as it is. Elsewhere the price is known to be in an
    interval, and the chance to win is that of the group's distribution within the interval.

    Args:
        plan: The bids.
        groups: The groups of a log, or of a piece of it.
    """
    log = groups.log
    known, _ = log.known(plan.rows, plan.bids)
    unknown = _Unknown.of(plan, log, np.flatnonzero(~known))
    if plan.fitted:
        groups = groups.halves
    value = least = most = luck = 0.0
    influences = np.zeros(len(log))
    for members, prices, inside in groups.entries(unknown.rows):
        gain, shares = unknown.gains[inside], unknown.shares[inside]
        part = unknown.chances(groups, members, prices, inside)
        value += dot(gain, part.middle)
        ends = gain * part.least, gain * part.most
        least += float(np.minimum(*ends).sum())
        most += float(np.maximum(*ends).sum())
        luck += float((gain**2 / shares * part.middle * (1 - part.middle)).sum())
        # A chance of 0 or 1 may be wrong by one auction of the group: in the estimate, and by luck.
        share = inside.size / members.size
        luck += float((gain**2).mean()) * share * (1 + share)
        influences[members] = prices.influence(part.gradient(prices, gain))
    powers = [unknown.value(one) for one in groups.other_powers] or [value, value]
    return BandSums(
        value,
        least,
        most,
        luck,
        over_time(influences, groups.positions, groups.facts.auctions),
        unknown.value(groups.by_turns),
        unknown.value(groups.narrower),
        *powers,
    )


class _Unknown(NamedTuple):
    """The bids of a plan whose outcome is not known."""

    rows: Integers
    bids: Floats
    shares: Floats
    gains: Floats

    @classmethod
    def of(cls, plan: Plan, log: CensoredLog, entries: Integers) -> _Unknown:
        gains = plan.gains(log)
        return cls(plan.rows[entries], plan.bids[entries], plan.shares[entries], gains[entries])

    def chances(
        self, groups: Groups, members: Integers, prices: PriceDistribution, inside: Integers
    ) -> _Chances:
        rows = self.rows[inside]
        bids = self.bids[inside] / groups.scales[rows]
        return _Chances.of(prices, np.searchsorted(members, rows), bids)

    def value(self, groups: Groups) -> float:
        return sum(
            dot(self.gains[inside], self.chances(groups, members, prices, inside).middle)
            for members, prices, inside in groups.entries(self.rows)
        )


class _Chances(NamedTuple):
    """The chances to win of bids whose outcome is not known, given the intervals of the prices."""

    auctions: Integers  # the number of auctions in the group
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


class WeightSums(NamedTuple):
    """Weighted outcomes of a plan. The sums of pieces of a log add up.

    Attributes:
        value: The estimate.
        variance: Its variance.
        made: How many bids of the plan were made.
        weights: The sum of the weights of auctions.
        squares: The sum of their squares.
        auctions: The number of auctions.
    """

    value: float
    variance: float
    made: int
    weights: float
    squares: float
    auctions: int

    def estimate(self, *, robust: bool) -> ValueEstimate | None:
        """Return the estimate and its interval, if these are the sums of the whole log.

        Args:
            robust: Whether the distribution of prices was used.

        Returns:
            The estimate; None if no bid of the plan was made.
        """
        if not self.made:
            return None
        half = student_quantile(max(self.made - 1, 1)) * math.sqrt(self.variance)
        return ValueEstimate(
            ROBUST if robust else INVERSE,
            self.value,
            self.value - half,
            self.value + half,
            weight=self.weights / self.auctions,
            size=self.weights**2 / self.squares,
        )


def weight_sums(plan: Plan, groups: Groups, *, robust: bool) -> WeightSums:
    """Return weighted outcomes by inverse propensities, or the doubly robust ones.

    Auctions in which the strategy's bid was made count with the inverse of its probability. The
    doubly robust estimate weights only the errors of the distribution of prices in the group. It
    takes the distribution in the other half of the log, which does not depend on the auction's own
    draw. The interval follows from the random draws of the bids alone.

    Args:
        plan: The bids.
        groups: The groups of a log, or of a piece of it. Without propensities, no bid counts.
        robust: Whether to use the distribution of prices.
    """
    log = groups.log
    if log.propensities is None:
        return WeightSums(0.0, 0.0, 0, 0.0, 0.0, len(log))
    same = same_bids(plan.bids, log.bids[plan.rows])
    gains = plan.gains(log)
    expected = gains * _win_rates(plan, groups) if robust else np.zeros(gains.size)
    chances = log.propensities[plan.rows]
    weights = np.where(same, 1.0 / chances, 0.0)
    rest = np.where(same & log.won[plan.rows], gains, 0.0) - np.where(same, expected, 0.0)
    parts = np.bincount(plan.rows, plan.shares * weights, len(log))
    return WeightSums(
        value=float(expected.sum() + (weights * rest).sum()),
        # The draw of auction i adds (1 / q - 1) rest if the bid was made: variance
        # rest^2 (1 - q) / q.
        variance=float((same * rest**2 * (1 - chances) / chances**2).sum()),
        made=int(same.sum()),
        weights=float(parts.sum()),
        squares=float((parts**2).sum()),
        auctions=len(log),
    )


def _win_rates(plan: Plan, groups: Groups) -> Floats:
    rates = np.zeros(plan.rows.size)
    for prices, entries in groups.others(plan.rows):
        rates[entries] = prices.at(plan.bids[entries] / groups.scales[plan.rows[entries]])
    return rates
