"""What can be won by a bidder that knows the law of values and prices, with nothing left to learn.

The best map in hindsight also fits the chance of its log, and keeps a return only at the end. A
bidder that knows the law and keeps the return at any time can do neither, nor can one that learns.
What ours wins less than a bidder with the same steps and the true law is the cost of learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.markets_worlds import BIDS
from crossbandit.limits import Pacer, ReturnOnSpend

if TYPE_CHECKING:
    from benchmarks.markets_worlds import World
    from crossbandit.core.types import Floats

_POINTS = 4_000  # quantiles of the values
_STEPS = 100
_MOST = 1e6  # a multiplier
_TOP = float(np.exp(2.6 * 0.6))  # of the values of `log_normal`, before they are divided by it


class KnownLaw:
    """The law of the worlds of `log_normal`, and what can be won with it at a return on spend.

    Args:
        correlation: That of the logarithms of values and prices.
    """

    def __init__(self, correlation: float) -> None:
        normal = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
        self.values: Floats = np.minimum(np.exp(0.6 * normal), _TOP) / _TOP
        with np.errstate(divide="ignore"):
            levels = np.log(BIDS * _TOP) + 0.4
        spread = 0.9 * np.sqrt(1 - correlation**2)
        chances = ndtr((levels - 0.9 * correlation * normal[:, None]) / spread)
        self._chances = np.where(self.values[:, None] >= BIDS, chances, 0.0)

    def most_value(self, ratio: float) -> float:
        """Return the value per auction that no bidder can exceed on average, whatever it knows.

        A bidder sees an auction's value before its price. If what it wins is worth at least `ratio`
        times what it pays, on average, then for every multiplier m it wins at most the mean of
        (1 + m) value - m ratio paid. Without the auction's price, no bid makes this more than the
        best bid by the law. This is the lowest of these bounds.

        Args:
            ratio: The return on spend.
        """
        worth, spend = self._chances * self.values[:, None], self._chances * BIDS
        rows = np.arange(_POINTS)
        low, high = 0.0, _MOST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            bids = ((1 + middle) * worth - middle * ratio * spend).argmax(axis=1)
            if worth[rows, bids].sum() < ratio * spend[rows, bids].sum():
                low = middle
            else:
                high = middle
        return float(((1 + high) * worth - high * ratio * spend).max(axis=1).mean())

    def value_on(self, world: World, ratio: float) -> float:
        """Return the values won on a log by our steps and the true law, at a return on spend.

        Args:
            world: The log.
            ratio: The return on spend.
        """
        pacer = Pacer(BIDS, [ReturnOnSpend(ratio)], value_range=(0, 1))
        places = np.minimum(np.searchsorted(self.values, world.values), _POINTS - 1).tolist()
        lasts = (np.searchsorted(BIDS, world.values, "right") - 1).tolist()
        total = 0.0
        for i, (value, price) in enumerate(zip(*(one.tolist() for one in world[:2]), strict=True)):
            worth, usable, cap = pacer.open(value, 0.0, 0, lasts[i])
            if cap < 0:
                pacer.decline(value)
                continue
            possible = slice(0, usable + 1)
            wanted = int(((worth - BIDS[possible]) * self._chances[places[i], possible]).argmax())
            bid = min(wanted, cap)
            pacer.reserve(i, value, bid, wanted)
            won = bool(BIDS[bid] >= price and bid > 0)
            pacer.settle(i, value, float(BIDS[bid]), won=won, least=price)
            total += value if won else 0.0
        return total
