"""Estimate the distribution of prices that are known only up to an interval.

The price of auction i is in the interval (low, high]. Where it was told, the interval holds one
number. The most likely distribution without a model puts its mass on *atoms*: intervals in which
the data cannot tell one number from another. It is the product-limit (Kaplan-Meier) estimate where
prices are hidden on one side only, isotonic regression where only won and lost are known, and
Turnbull's estimate otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.types import Booleans, Floats, Integers

_ITERATIONS = 5_000
_CLOSE = 1e-9  # iterations end when probabilities change by less
_VANISHING = 1e-3  # the mass of an atom with fewer expected auctions is set to 0
_NOTHING = 1e-12  # a smaller mass counts as 0


class PriceDistribution:
    """The most likely distribution of prices that are known up to intervals.

    Args:
        low: Where the interval of each price begins; the price is above it.
        high: Where it ends; the price is at most this, perhaps infinite.

    Attributes:
        left: Where each atom begins, ascending; its mass is above it.
        right: Where each atom ends.
        masses: The probability of each atom.
        cumulative: The probability of the first k atoms, for k = 0, 1, ...

    >>> before = np.nextafter(2.0, 0.0)  # a price of 2 was told, and one of at most 3 was not
    >>> prices = PriceDistribution(np.array([before, 0.0]), np.array([2.0, 3.0]))
    >>> prices.at([1.9, 2.0]).tolist()
    [0.0, 1.0]
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        ends = np.unique(np.concatenate([low, high]))
        right = np.unique(high)
        left = ends[np.searchsorted(ends, right) - 1]
        # If an interval ends in between, an earlier atom is in more intervals and takes the mass.
        innermost = np.isin(left, low)
        self.left: Floats = left[innermost]
        self.right: Floats = right[innermost]
        self.first: Integers = np.searchsorted(self.right, low, "right")
        self.last: Integers = np.searchsorted(self.right, high, "right")
        self.masses: Floats = self._fit(low, high)
        self.cumulative: Floats = _running(self.masses)
        self.chances: Floats = self.inside(self.masses)  # that of each interval

    def _fit(self, low: Floats, high: Floats) -> Floats:
        told = (self.last - self.first == 1) & (np.nextafter(low, np.inf) >= high)
        won = ~told & np.isfinite(high) & (low <= low.min())
        lost = ~told & np.isinf(high)
        if not (told | won | lost).all() or (told.any() and won.any() and lost.any()):
            return self._iterate()
        events = _counts(self.first[told], self)
        if not lost.any():
            return product_limit(events, _counts(self.last[won], self), upper=True)
        if not won.any():
            return product_limit(events, _counts(self.first[lost] - 1, self), upper=False)
        if told.any():
            return self._iterate()
        return self._isotonic(np.where(won, high, low), won)

    def _isotonic(self, bids: Floats, won: Booleans) -> Floats:
        from scipy.optimize import isotonic_regression

        levels, places = np.unique(bids, return_inverse=True)
        counts = np.bincount(places)
        rates = np.bincount(places, won) / counts
        fitted = isotonic_regression(rates, weights=counts).x
        steps = np.diff(np.concatenate([[0.0], fitted, [1.0]]))
        masses = np.zeros(self.right.size)
        # The rate rises only at a bid that has won, so each rise has an atom.
        rises = np.flatnonzero(steps > _NOTHING)
        places = np.searchsorted(self.right, np.append(levels, np.inf)[rises])
        masses[places] = steps[rises]
        found: Floats = masses / masses.sum()
        return found

    def _iterate(self) -> Floats:
        """Return Turnbull's estimate: each price is spread over its interval until it fits."""
        masses = np.full(self.right.size, 1.0 / self.right.size)
        running = _running(masses)
        for _ in range(_ITERATIONS):
            masses = masses * self.spread(1.0 / self.inside(masses)) / self.first.size
            before, running = running, _running(masses)
            if np.abs(running - before).max() < _CLOSE:
                break
        # The mass of some atoms goes to 0 slowly. These atoms would distort the influences.
        kept = np.where(masses * self.first.size < _VANISHING, 0.0, masses)
        return kept / kept.sum() if (self.inside(kept) > 0).all() else masses

    def inside(self, masses: Floats) -> Floats:
        """Return the sum of a number per atom over the atoms of each auction's interval."""
        running = _running(masses)
        sums: Floats = running[self.last] - running[self.first]
        return sums

    def spread(self, weights: Floats) -> Floats:
        """Return for each atom the sum of a number per auction whose interval holds the atom."""
        size = self.right.size + 1
        changes = np.bincount(self.first, weights, size) - np.bincount(self.last, weights, size)
        sums: Floats = np.cumsum(changes)[:-1]
        return sums

    def at(self, bids: object) -> Floats:
        """Return the probability that the price is at most a bid: the middle of the range."""
        index, share = self.place(np.asarray(bids, dtype=float))
        between = np.append(self.masses, 0.0)[index]
        found: Floats = self.cumulative[index] + share * between
        return found

    def place(self, bids: Floats) -> tuple[Integers, Floats]:
        """Return how many atoms are below each bid, and which part of the next one is.

        The data do not say where in an atom its mass is. It is taken to be spread evenly, and in
        an atom without an end to be above the bid.
        """
        index: Integers = np.searchsorted(self.right, bids, "right")
        left = np.append(self.left, np.inf)[index]
        right = np.append(self.right, np.inf)[index]
        within = (left < bids) & np.isfinite(right)
        widths = np.where(within, right, 1.0) - np.where(within, left, 0.0)
        return index, np.where(within, bids - left, 0.0) / widths

    def range_at(self, bids: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest probability that fits the data equally well."""
        least: Floats = self.cumulative[np.searchsorted(self.right, bids, "right")]
        most: Floats = self.cumulative[np.searchsorted(self.left, bids, "left")]
        return least, most

    def influence(self, gradient: Floats) -> Floats:
        """Return how a function of the masses changes with the weight of each auction.

        With weights w, the masses p solve `sum_i w_i A_i / (A_i p) = sum_i w_i` on the atoms that
        have mass, where `A_i` marks the atoms of interval i. Hence
        `dp / dw_i = H^-1 (A_i / (A_i p) - 1)` with `H = sum_i A_i A_i' / (A_i p)^2`.

        Args:
            gradient: The derivative of the function with respect to each mass.

        Returns:
            A number per auction; they add up to 0.
        """
        mass = self.masses > _NOTHING
        squares = self.chances**2
        scale = np.where(mass, self.spread(1.0 / squares), 1.0)

        def multiply(vector: Floats) -> Floats:
            product: Floats = np.where(mass, self.spread(self.inside(vector) / squares), 0.0)
            return product

        solved = _solve(multiply, np.where(mass, gradient, 0.0), scale)
        found: Floats = self.inside(solved) / self.chances - solved.sum()
        return found


def product_limit(events: Floats, censored: Floats, *, upper: bool) -> Floats:
    """Return the masses of the product-limit estimate.

    Args:
        events: How many prices were told to be each atom.
        censored: How many of the others are known to be below each atom, and not below the one
            before it, if `upper`; otherwise above each atom, and not above the next one.
        upper: Whether prices are hidden below a bid that has won.

    Returns:
        A probability per atom. What is left is on the lowest atom, if `upper`, or the highest.
    """
    if upper:
        mirrored: Floats = product_limit(events[::-1], censored[::-1], upper=False)[::-1]
        return mirrored
    # At risk at atom k: those told to be k or later, and those known to be above k.
    risk = (events + censored)[::-1].cumsum()[::-1]
    hazards = np.divide(events, risk, out=np.zeros(events.size), where=risk > 0)
    left = np.cumprod(1.0 - hazards)
    masses: Floats = hazards * np.concatenate([[1.0], left[:-1]])
    masses[-1] += left[-1]
    return masses


def _counts(places: Integers, prices: PriceDistribution) -> Floats:
    size = prices.right.size
    return np.bincount(places[(places >= 0) & (places < size)], minlength=size).astype(float)


def _running(masses: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(masses)])


def dot(one: Floats, other: Floats) -> float:
    """Return the sum of products. The threads of `@` wait for each other and would be slower."""
    return float((one * other).sum())


def _solve(multiply: Callable[[Floats], Floats], right: Floats, scale: Floats) -> Floats:
    """Solve a positive semidefinite system by conjugate gradients, preconditioned by `scale`."""
    solution = np.zeros(right.size)
    rest = right.copy()
    scaled = rest / scale
    direction = scaled.copy()
    size = goal = dot(rest, scaled)
    for _ in range(2 * right.size + 10):
        if size <= _CLOSE**2 * goal or size == 0.0:
            break
        image = multiply(direction)
        curvature = dot(direction, image)
        if curvature <= 0.0:
            break
        step = size / curvature
        solution += step * direction
        rest -= step * image
        scaled = rest / scale
        size, before = dot(rest, scaled), size
        direction = scaled + (size / before) * direction
    return solution
