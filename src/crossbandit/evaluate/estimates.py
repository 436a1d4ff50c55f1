"""What a plan would have earned: what is known, bounds, and an estimate with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.evaluate.plans import Plan

BY_BAND, INVERSE, ROBUST = "by band", "inverse propensity", "doubly robust"
ASSUMPTIONS = {
    BY_BAND: "Within a band of values and a class, prices do not go with your own bids, and with "
    "values only like a power of them.",
    INVERSE: "The propensities are right, and every bid of the strategy could have been drawn.",
    ROBUST: "The propensities are right, or prices do not go with your own bids within bands.",
}


@dataclass(frozen=True)
class ValueEstimate:
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


class KnownOutcomes(NamedTuple):
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
    gains = plan.shares * (log.values[plan.rows] - plan.bids)
    unknown = gains[~known]
    return KnownSums(
        exact=float(gains[wins].sum()),
        known=float(plan.shares[known].sum()),
        unknown=float(plan.shares[~known].sum()),
        least=float(np.minimum(unknown, 0.0).sum()),
        most=float(np.maximum(unknown, 0.0).sum()),
    )
