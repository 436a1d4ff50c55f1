# cython: infer_types=True
"""An estimate of one distribution of prices, and the best response to it.

Prices are counted on the grid of the bids. The *cell* of a price is the index of the lowest bid
that wins against it, or K if no bid does. Bid k wins if and only if the cell is at most k, so the
distribution of the price is `chances[k]`, the probability that bid k wins. It is learned from
censored feedback.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

import numpy as np

AFTER_LOSS = cython.declare(cython.Py_ssize_t, 0)
AFTER_WIN = cython.declare(cython.Py_ssize_t, 1)
ALWAYS = cython.declare(cython.Py_ssize_t, 2)
WON_LOST = cython.declare(cython.Py_ssize_t, 3)


@cython.final
@cython.cclass
class PriceEstimate:
    """An estimate of the distribution of prices from past auctions.

    An auction whose price was told counts in `told`, at the cell of the price. An auction whose
    price was not told counts in `hidden`, at the bid that was made. Where prices are never told,
    wins count in `told` and losses in `hidden`, both at the bid.
    """

    def __init__(self, feedback, bids, told, hidden, chances) -> None:
        self.feedback = feedback
        self.bids, self.told, self.hidden, self.chances = bids, told, hidden, chances
        self.blocks = np.empty((3, len(bids)))

    def estimate(self) -> None:
        """Set the estimate by the counts."""
        self.set_chances()

    def respond(
        self,
        values: cython.const[cython.double][::1],
        cells: cython.const[cython.longlong][::1],
        first: cython.Py_ssize_t,
        out: cython.longlong[::1],
    ) -> None:
        """Set `out[i]` to the best response in auction i to the feedback of all earlier auctions.

        values, cells, out: (n,). first: the first bid that can win.
        """
        with cython.nogil:
            for i in range(values.shape[0]):
                out[i] = self.best_bid(values[i], first)
                self.learn(out[i], cells[i])

    def best_bids(
        self,
        values: cython.const[cython.double][::1],
        first: cython.Py_ssize_t,
        out: cython.longlong[::1],
    ) -> None:
        """Set `out[i]` to the index of the best bid at `values[i]`. values, out: (n,)."""
        for i in range(values.shape[0]):
            out[i] = self.best_bid(values[i], first)

    def best_bid(self, value, first):
        """Return the index of the bid up to `value` that earns most; the lowest of equals.

        Bids before `first` never win: a bid of 0, and bids below the reserve. If no bid can earn
        anything, the lowest bid is made.
        """
        best: cython.Py_ssize_t = 0
        most: cython.double = 0.0
        for k in range(first, self.bids.shape[0]):
            if self.bids[k] > value:
                break
            earned = (value - self.bids[k]) * self.chances[k]
            if earned > most:
                most = earned
                best = k
        return best

    def learn(self, bid, cell):
        """Count what a bidder is told about the price of an auction, and estimate again."""
        won: cython.bint = cell <= bid
        tells: cython.bint = self.feedback == ALWAYS or (
            self.feedback != WON_LOST and won == (self.feedback == AFTER_WIN)
        )
        if tells:
            self.told[cell] += 1.0
        elif self.feedback == WON_LOST and won:
            self.told[bid] += 1.0
        else:
            self.hidden[bid] += 1.0
        self.set_chances()

    def set_chances(self):
        """Set the estimate: product-limit (Kaplan-Meier) where some prices are told.

        Where none is, it is a monotone regression of the win rates.
        """
        if self.feedback == WON_LOST:
            self.pool()
        elif self.feedback == AFTER_LOSS:
            self.from_above()
        else:
            self.from_below()

    def from_above(self):
        """Multiply the conditional probabilities of not being in a cell, from the highest down.

        An auction that was won at bid j has a price in cell j or below. Had its price been in cell
        j, it would not have been told, so the auction is not at risk there.

        Nothing is known below the lowest told price if no bid below it has won. The estimate is
        then constant from that price down. This makes low bids attractive until they were tried.
        """
        at_risk: cython.double = 0.0
        chance: cython.double = 1.0
        for j in range(self.told.shape[0]):
            at_risk += self.told[j] + self.hidden[j]
        for j in range(self.chances.shape[0], 0, -1):
            at_risk -= self.hidden[j]
            if self.told[j] < at_risk:
                chance *= 1.0 - self.told[j] / at_risk
            self.chances[j - 1] = chance
            at_risk -= self.told[j]

    def from_below(self):
        """Multiply the conditional probabilities of not being in a cell, from the lowest up."""
        at_risk: cython.double = 0.0
        chance: cython.double = 1.0
        for j in range(self.told.shape[0]):
            at_risk += self.told[j] + self.hidden[j]
        for j in range(self.chances.shape[0]):
            chance *= max(0.0, 1.0 - self.told[j] / at_risk)
            self.chances[j] = 1.0 - chance
            at_risk -= self.told[j] + self.hidden[j]

    def pool(self):
        """Set the estimate to the nondecreasing sequence closest to the win rates.

        Pools adjacent violators.
        """
        last: cython.Py_ssize_t = -1
        for k in range(self.chances.shape[0]):
            last += 1
            self.blocks[0, last] = self.told[k]
            self.blocks[1, last] = self.told[k] + self.hidden[k]
            self.blocks[2, last] = k
            while (
                last > 0
                and self.blocks[0, last - 1] * self.blocks[1, last]
                >= self.blocks[0, last] * self.blocks[1, last - 1]
            ):
                last -= 1
                self.blocks[0, last] += self.blocks[0, last + 1]
                self.blocks[1, last] += self.blocks[1, last + 1]
                self.blocks[2, last] = k
        k = 0
        for block in range(last + 1):
            while k <= self.blocks[2, block]:
                self.chances[k] = self.blocks[0, block] / self.blocks[1, block]
                k += 1
