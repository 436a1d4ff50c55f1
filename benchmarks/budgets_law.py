"""What can be won by a bidder that knows the law of values and prices, with nothing left to learn.

The best map in hindsight also fits the chance of its log, and keeps a return only at the end. A
bidder that knows the law and keeps the return at any time can do neither, nor can one that learns.
So the share of what it wins is what can be learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.markets_worlds import BIDS

if TYPE_CHECKING:
    from benchmarks.markets_worlds import World
    from crossbandit.types import Floats, Integers

_POINTS = 4_000  # quantiles of the values
_STEPS = 100
_MOST = 1e6  # a multiplier
_TOP = float(np.exp(2.6 * 0.6))  # of the values of `log_normal`, before they are divided by it


class KnownLaw:
    """The law of the worlds of `log_normal`, and its best bids under a return on spend.

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

    def best_bids(self, ratio: float) -> Integers:
        """Return the bids, by number, that win most value with a mean return of `ratio`.

        Args:
            ratio: The return on spend.
        """
        return self._best(ratio)[1]

    def _rates(self) -> tuple[Floats, Floats]:
        """Return the mean value won and money paid by each bid; (points, bids)."""
        return self._chances * self.values[:, None], self._chances * BIDS

    def _best(self, ratio: float) -> tuple[float, Integers]:
        """Return the multiplier of the return, and the bids that are best with it."""
        worth, spend = self._rates()
        rows = np.arange(_POINTS)
        low, high = 0.0, _MOST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            bids = ((1 + middle) * worth - middle * ratio * spend).argmax(axis=1)
            if worth[rows, bids].sum() < ratio * spend[rows, bids].sum():
                low = middle
            else:
                high = middle
        found: Integers = ((1 + high) * worth - high * ratio * spend).argmax(axis=1)
        return high, found

    def most_value(self, ratio: float) -> float:
        """Return the value per auction that no bidder can exceed on average, whatever it knows.

        A bidder sees an auction's value before its price. If what it wins is worth at least `ratio`
        times what it pays, on average, then for every multiplier m it wins at most the mean of
        (1 + m) value - m ratio paid. Without the auction's price, no bid makes this more than the
        best bid by the law. This is the lowest of these bounds.

        Args:
            ratio: The return on spend.
        """
        multiplier, _ = self._best(ratio)
        worth, spend = self._rates()
        gains = (1 + multiplier) * worth - multiplier * ratio * spend
        return float(gains.max(axis=1).mean())

    def value_on(self, world: World, ratio: float) -> float:
        """Return the values that these bids win on a log if the return is kept at any time.

        As for every bidder here, a bid that could break the return is lowered until it cannot.

        Args:
            world: The log.
            ratio: The return on spend.
        """
        places = np.minimum(np.searchsorted(self.values, world.values), _POINTS - 1)
        wanted = BIDS[self.best_bids(ratio)[places]].tolist()
        total, slack = 0.0, 0.0
        for value, price, bid in zip(
            world.values.tolist(), world.prices.tolist(), wanted, strict=True
        ):
            credit = value / ratio
            if price > bid:  # it loses, lowered or not
                continue
            most = min(bid, value, credit + slack)
            paid = float(BIDS[np.searchsorted(BIDS, most, "right") - 1])
            if paid >= price and paid > 0:
                total += value
                slack += credit - paid
        return total
