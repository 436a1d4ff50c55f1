"""What a bidder gives up to learn, by what it believes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.law_decider import LawDecider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crossbandit.applications import FirstPriceBidder

_VALUES = 9  # at which it is computed


def exploration_share(bidder: FirstPriceBidder, classes: Sequence[dict[str, Any]] = ({},)) -> float:
    """Return which share of the surplus is given up now, as bids are drawn at random to learn.

    With the law of prices as it is believed, it compares what the bids earn that would be drawn
    with what the best bid earns, summed over values that are evenly spread. It is an estimate: the
    law is not known, and bids that are worse by the law may be better.

    Args:
        bidder: The bidder, or a snapshot of one.
        classes: The classes over which it is summed, each with a level of every class.

    Returns:
        A share from 0 to 1; NaN if the bidder has no law, or no bid may be made.

    >>> from crossbandit.applications import FirstPriceBidder
    >>> bidder = FirstPriceBidder(bids=[0, 5], value_range=(0, 10), seed=1)
    >>> bidder.warm_up([8.0] * 10_000, [3.0] * 10_000)
    >>> exploration_share(bidder) < 0.01
    True
    """
    if not isinstance(bidder.learner, LawDecider):
        return math.nan
    low, high = bidder.value_range
    best, drawn = 0.0, 0.0
    for value in low + (high - low) * (np.arange(_VALUES) + 1) / _VALUES:
        for levels in classes:
            chances = bidder.price_law(float(value), **levels).chances
            policy = bidder.policy(float(value), **levels)
            if not policy.any():
                continue
            earned = (value - bidder.bids) * chances
            best += float(earned.max())
            drawn += float(policy @ earned)
    return max(1.0 - drawn / best, 0.0) if best > 0 else math.nan
