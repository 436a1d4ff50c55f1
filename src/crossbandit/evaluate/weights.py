"""Estimates by the auctions in which the bid of a strategy was drawn: inverse propensities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.evaluate.estimates import INVERSE, ROBUST, ValueEstimate
from crossbandit.evaluate.plans import same_bids
from crossbandit.report.statistics import student_quantile

if TYPE_CHECKING:
    from crossbandit.evaluate.groups import Groups
    from crossbandit.evaluate.plans import Plan
    from crossbandit.types import Floats


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
    doubly robust estimate weights only what the distribution of prices in the group gets wrong;
    that of the other half of the log, which does not depend on the auction's own draw. The
    interval follows from the random draws of the bids alone.

    Args:
        plan: The bids.
        groups: The groups of a log, or of a piece of it. Without propensities, no bid counts.
        robust: Whether to use the distribution of prices.
    """
    log = groups.log
    if log.propensities is None:
        return WeightSums(0.0, 0.0, 0, 0.0, 0.0, len(log))
    same = same_bids(plan.bids, log.bids[plan.rows])
    gains = plan.shares * (log.values[plan.rows] - plan.bids)
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
