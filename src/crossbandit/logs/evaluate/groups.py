"""The distribution of prices that are known up to intervals, in groups of similar auctions.

The price of auction i is in the interval (low, high]. Where it was told, the interval holds one
number. The most likely distribution without a model puts its mass on *atoms*: intervals in which
the data cannot tell one number from another. It is the product-limit (Kaplan-Meier) estimate where
prices are hidden on one side only, isotonic regression where only won and lost are known, and
Turnbull's estimate otherwise. Near the outermost bids of a group, chances to win have bounds only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.core.report.statistics import holm
from crossbandit.logs.log import MIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.logs.evaluate.log import CensoredLog, Facts


_ITERATIONS = 5_000
_CLOSE = 1e-9  # iterations end when probabilities change by less
_VANISHING = 1e-3  # the mass of an atom with fewer expected auctions is set to 0
_NOTHING = 1e-12  # a smaller mass counts as 0


class PriceDistribution:
    """The most likely distribution of prices that are known up to intervals.

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
    """Return the masses of the product-limit estimate."""
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


_SMALL = 80  # with fewer own bids, more of them are near an end: little is known of prices
WRONG = 2.0  # if none of n bids won, then up to 1.96 * 2 / n of such bids may win, at 97.5 %


# Of the means of four blocks, two below and two above a bid: the distances from the inner two, and
# how much more the inner two differ than each of them from the block beside it.
SIZES = 3  # the sizes of blocks, one of them only where most prices are few shares of the value
_STEPS_OF = np.array([[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.5, -1.5, 1.5, -0.5]])


class Block(NamedTuple):
    """For each of some bids, consecutive own bids whose mean outcome is a bound."""

    start: Integers  # the number of the first own bid, in the order of bids
    stop: Integers  # the number after the last one; equal to `start` if there are too few own bids
    rate: Floats  # the share of these bids that won: the bound


class Ends:
    """The own bids of a group that could win, and where the chance to win is bounded only.

    Bids that have fewer than n^(2/3) of the n own bids on one side, or fewer than 40, are near an
    end. The most likely distribution differs there from what it is inside by more than its error.
    A gap between own bids, wider than those of sqrt(n) own bids beside it, has two such ends.
    The bounds are means of at least sqrt(n) own bids.
    """

    def __init__(self, bids: Floats, won: Booleans, made: Booleans, *, lumpy: bool = False) -> None:
        rows = np.flatnonzero(made)
        self._auctions = bids.size
        self.rows: Integers = rows[np.argsort(bids[rows], kind="stable")]
        self._bids: Floats = bids[self.rows]
        self._won: Floats = won[self.rows].astype(float)
        self._wins: Floats = np.concatenate([[0.0], np.cumsum(self._won)])
        count = rows.size
        self._size = max(math.isqrt(count), 1)
        self._near = max(round(count ** (2 / 3)), min(_SMALL // 2, count))
        self._sizes = (self._size, self._near // 2, *((self._near,) if lumpy else ()))

    def hold(self, bids: Floats) -> Booleans:
        """Return whether each bid is near an end, or in a gap."""
        above, below = self._places(bids)
        near: Booleans = (below < self._near) | (self._bids.size - above < self._near)
        inside = ~near
        above, below = above[inside], below[inside]
        low, high = self._bids[below - 1], self._bids[above]
        lower, higher = self._bids[below - self._size], self._bids[above + self._size - 1]
        near[inside] = high - low > (low - lower + higher - high) / 2  # far apart
        return near

    def _places(self, bids: Floats) -> tuple[Integers, Integers]:
        """Return how many own bids are lower than each bid, and how many are not higher."""
        return np.searchsorted(self._bids, bids, "left"), np.searchsorted(self._bids, bids, "right")

    def least(self, bids: Floats) -> Block:
        """Return lower bounds of the chance to win: the nearest bids that are not higher."""
        lower, stop = self._places(bids)
        start = np.where(stop < self._size, stop, np.minimum(lower, stop - self._size))
        return self._block(start, stop, 0.0)

    def most(self, bids: Floats) -> Block:
        """Return upper bounds of the chance to win: the nearest bids that are not lower."""
        start, upper = self._places(bids)
        last = start + self._size
        stop = np.where(last > self._bids.size, start, np.maximum(upper, last))
        return self._block(start, stop, 1.0)

    def steps(self, bids: Floats, chances: Floats, weights: Floats) -> Floats:
        """Return sums, and their variances, that show whether chances to win jump at bids.

        For several sizes of blocks of own bids there are three weighted sums: how far the estimated
        chances are above the mean outcome of the block below each bid, how far they are below that
        of the block above, and how much more these two blocks differ than the ones beside them let
        expect. The last is 0 on average if chances rise evenly, or if bids are spread evenly.
        """
        above, below = self._places(bids)
        found = np.zeros((SIZES, 3, 2))
        for sums, size in zip(found, self._sizes, strict=False):
            low, high = np.minimum(above, below - size), np.maximum(below, above + size)
            inside = np.flatnonzero((low >= size) & (high + size <= self._bids.size))
            blocks = [
                self._block(start[inside], stop[inside], 0.0)
                for start, stop in (
                    (low - size, low),
                    (low, below),
                    (above, high),
                    (high, high + size),
                )
            ]
            weight = weights[inside]
            middle = dot(weight, chances[inside])
            means = np.array([dot(weight, one.rate) for one in blocks])
            changes = np.array([self.influence(one, weight, weight)[0] for one in blocks])
            sums[:, 0] = _STEPS_OF @ means + np.array([middle, -middle, 0.0])
            sums[:, 1] = ((_STEPS_OF @ changes) ** 2).sum(axis=1)
        return found

    def _block(self, start: Integers, stop: Integers, otherwise: float) -> Block:
        wins = self._wins[stop] - self._wins[start]
        rates = np.full(start.size, otherwise)
        return Block(start, stop, np.divide(wins, stop - start, out=rates, where=stop > start))

    def influence(self, block: Block, weights: Floats, doubts: Floats) -> tuple[Floats, float]:
        """Return how a weighted sum of bounds changes with the weight of each auction."""
        size = self._bids.size + 1
        each = weights / np.maximum(block.stop - block.start, 1)

        def spread(numbers: Floats) -> Floats:
            begun = np.bincount(block.start, numbers, size)
            sums: Floats = np.cumsum(begun - np.bincount(block.stop, numbers, size))[:-1]
            return sums

        found = np.zeros(self._auctions)
        found[self.rows] = spread(each) * self._won - spread(each * block.rate)
        doubt = WRONG * float((np.abs(each) * doubts)[block.stop > block.start].sum())
        return found, doubt**2


MOST = 100  # the most bands of a class, unless bands would be larger than `LARGEST`
LARGEST = 50_000  # the most auctions of a band, because all are in memory at once
# The auctions that a group has at least. More bands make the assumption weaker. But where prices
# are hidden on both sides, a distribution of prices needs more auctions.
_LEAST, _LEAST_BOTH = 250, 1_000
BOTH_SIDES = ("won-lost", MIXED)
_FEWEST = 20  # the fewest auctions of a group if the number of bands is given
_BLOCKS = 20  # blocks of time
_LARGE = 100  # a group is divided in two only if both halves have so many auctions
_EDGE = 10  # beyond so many outermost bids at most, prices are left open
LEAST_POWER, MOST_POWER = -1.0, 2.0  # powers of the value that are considered
_FAR = 1.96  # standard errors from an estimate to the ends of its 95 % interval
_WINDOW = 4  # a band may end a quarter of its auctions earlier or later, where values have a gap


class Group(NamedTuple):
    """A group of auctions, ascending, the distribution of their prices, and its ends."""

    members: Integers
    prices: PriceDistribution
    ends: Ends | None


@dataclass(eq=False)
class Groups:
    """The groups of a log, or of a piece of it, and the distribution of prices in each.

    Prices may rise with values within a group. What has one distribution in a group is therefore
    the price divided by a *scale*, which is a power of the value.
    """

    log: CensoredLog
    labels: Integers  # the number of the group of each auction
    facts: Facts  # of the whole log
    positions: Integers  # the number of each auction in the whole log, ascending
    power: float = 0.0  # of the value; 0 if prices do not depend on values
    others: tuple[float, ...] = ()  # powers that the data do not tell from it
    lumpy: bool = False  # whether a few scaled prices seem to be frequent

    def __len__(self) -> int:
        return len(self.members)

    def with_power(self, power: float) -> Groups:
        """Return the same groups with another power of the value."""
        return replace(self, power=power, others=())

    def scaled(self, found: ValuePower) -> Groups:
        """Return the same groups with the power that was found."""
        return replace(self, power=found.power, others=found.others, lumpy=found.lumpy)

    @cached_property
    def members(self) -> list[Integers]:
        """The auctions of each group, ascending."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.flatnonzero(np.diff(self.labels[order])) + 1
        return np.split(order, starts)

    @cached_property
    def scales(self) -> Floats:
        """What the price of each auction is divided by."""
        values = self.log.values
        if not self.power:
            return np.ones(values.size)
        above = np.where(values > 0, values / self.facts.typical, 1.0)
        scales: Floats = above**self.power
        return scales

    @cached_property
    def prices(self) -> list[PriceDistribution]:
        """The most likely distribution of scaled prices in each group."""
        return [
            PriceDistribution(
                *without_edges(self.log, rows, self.scales[rows], self.facts.feedback)
            )
            for rows in self.members
        ]

    @cached_property
    def ends(self) -> list[Ends | None]:
        """Where the scaled prices of each group have bounds only, if they are hidden on both sides.

        If they are hidden on one side, `prices` has all of what is left open.
        """
        if self.facts.feedback not in BOTH_SIDES:
            return [None] * len(self)
        log, bids = self.log, self.log.bids / self.scales
        return [
            Ends(bids[rows], log.won[rows], log.informative[rows], lumpy=self.lumpy)
            for rows in self.members
        ]

    @property
    def fit(self) -> Floats:
        """The logarithm of the likelihood of each auction."""
        found = np.empty(len(self.log))
        for rows, prices in zip(self.members, self.prices, strict=True):
            found[rows] = np.log(prices.chances)
        return found

    @cached_property
    def halves(self) -> Groups:
        """Two groups for each group: the blocks of time with even and with odd numbers."""
        half = self.positions * _BLOCKS // self.facts.auctions % 2
        return replace(self, labels=2 * self.labels + half)

    @cached_property
    def by_turns(self) -> Groups:
        """Two groups for each large group: its auctions alternate between them."""
        return self._split(lambda rows: np.arange(rows.size) % 2)

    @cached_property
    def narrower(self) -> Groups:
        """Two groups for each large group: its lower and its higher values."""
        return self._split(lambda rows: _bands(self.log.values[rows], 2))

    def _split(self, half: Callable[[Integers], Integers]) -> Groups:
        labels = 2 * self.labels
        for rows in self.members:
            if rows.size >= 2 * _LARGE:
                labels[rows] += half(rows)
        return replace(self, labels=labels, others=())

    def crossed(self, rows: Integers) -> Iterator[tuple[PriceDistribution, Integers]]:
        """Yield for each half the prices of the other half, and which of `rows` are in it."""
        halves = self.halves
        prices = dict(zip(np.unique(halves.labels).tolist(), halves.prices, strict=True))
        for group, inside in halves.entries(rows):
            other = prices.get(int(halves.labels[group.members[0]]) ^ 1)
            if other is not None:
                yield other, inside

    def entries(self, rows: Integers) -> Iterator[tuple[Group, Integers]]:
        """Yield each group, and which of `rows` are in it."""
        of = self.labels[rows]
        order = np.argsort(of, kind="stable")
        stops = np.searchsorted(of[order], np.unique(self.labels), "right")
        parts = np.split(order, stops[:-1])
        groups = map(Group, self.members, self.prices, self.ends)
        for group, inside in zip(groups, parts, strict=True):
            if inside.size:
                yield group, inside


def make_groups(log: CensoredLog, bands: int | None = None, facts: Facts | None = None) -> Groups:
    """Divide auctions by their classes, and each class into bands of values of about equal size.

    All classes with few auctions together form one class. A class with few auctions has fewer
    bands. If the auctions are a sample, `facts` are those of the whole log.
    """
    facts = facts or log.facts
    kind = np.zeros(len(log), dtype=np.int64)
    for column in log.classes.values():
        _, level = np.unique(column, return_inverse=True)
        _, kind = np.unique(kind * (level.max() + 1) + level, return_inverse=True)
    counts = np.bincount(kind)
    kind = np.where(counts[kind] < least_size(facts.feedback), counts.size, kind)
    labels = np.empty(len(log), dtype=np.int64)
    used = 0
    for one in np.unique(kind):
        rows = np.flatnonzero(kind == one)
        parts = band_count(rows.size, facts.feedback, bands)
        labels[rows] = used + _bands(log.values[rows], parts)
        used = int(labels[rows].max()) + 1
    return Groups(log, labels, facts, np.arange(len(log)))


def least_size(feedback: str) -> int:
    """Return the least number of auctions of a class that is not pooled with others."""
    return _LEAST_BOTH if feedback in BOTH_SIDES else _LEAST


def band_count(auctions: int, feedback: str, bands: int | None) -> int:
    """Return the number of bands of a class."""
    least = least_size(feedback) if bands is None else _FEWEST
    return int(np.clip(auctions // least, 1, bands or max(MOST, auctions // LARGEST)))


def band_edges(count: int, parts: int, between: Callable[[int, int], Floats]) -> Floats:
    """Return where all bands but the first begin: at the widest gap near each quantile.

    A band with values on both sides of a gap would hold auctions that are not similar.
    """
    window = count // parts // _WINDOW
    edges = []
    for i in range(1, parts):
        middle = i * count // parts
        first = max(middle - window, 1)
        near = between(first - 1, min(middle + window + 1, count))
        gaps = np.diff(near)
        widest = int(gaps.argmax())
        edges.append(near[widest + 1] if gaps[widest] > 0 else near[middle - first + 1])
    return np.unique(np.array(edges))


def _bands(values: Floats, parts: int) -> Integers:
    ordered = np.sort(values)
    edges = band_edges(values.size, parts, lambda first, stop: ordered[first:stop])
    band = np.searchsorted(edges, values, "right")
    _, found = np.unique(band, return_inverse=True)  # where many values are equal, some are empty
    numbers: Integers = found
    return numbers


def without_edges(
    log: CensoredLog, rows: Integers, scales: Floats, feedback: str
) -> tuple[Floats, Floats]:
    """Return the intervals of the scaled prices of a group, with less detail at the outermost bids.

    There the most likely distribution is wrong however many auctions there are, because it depends
    on a few of them. If prices are told after a loss, a told price or a win below the tenth lowest
    bid only shows that the price is at most that bid. If they are told after a win, a told price or
    a loss above the tenth highest bid only shows that the price is above that bid. In a group of
    n < 31 bids it is the n^(2/3)-th in place of the tenth. Where only won and lost are known, the
    lowest and the highest bids are taken together, sqrt(n) of n, at their mean.
    """
    won, made, own = log.won[rows], log.informative[rows], log.bids[rows] / scales
    high = log.price_high[rows] / scales
    low = np.where(log.told[rows], np.nextafter(high, -np.inf), log.price_low[rows] / scales)
    bids = np.sort(own[made])
    if not bids.size:
        return low, high
    edge_size = round(bids.size ** (2 / 3))
    small = bids.size < _SMALL
    edge_size = max(edge_size, bids.size // 3) if small else min(edge_size, _EDGE)
    if feedback == "after-loss":
        edge = bids[edge_size - 1]
        return np.where(high <= edge, low.min(), low), np.where(high <= edge, edge, high)
    if feedback == "after-win":
        edge = bids[-edge_size]
        return np.where(low >= edge, edge, low), np.where(low >= edge, np.inf, high)
    if feedback == "won-lost":
        size = math.isqrt(bids.size)
        for ends, beyond in (
            (bids[:size], own <= bids[size - 1]),
            (bids[-size:], own >= bids[-size]),
        ):
            mean = float(ends.mean())
            high = np.where(beyond & made & won, mean, high)
            low = np.where(beyond & made & ~won, mean, low)
    return low, high


# --- do prices depend on something within groups? ----------------------------------------------

_DOUBTFUL = 0.01  # p-value below which an assumption is doubted
_UNCLEAR = 0.05  # p-value below which nobody should say that nothing speaks against it
_WORDS = {"bid": "your own bids", "value": "values", "time": "time"}
_BANDS = 10  # bands of the search; values in narrower bands differ too little
_STEPS = 8  # how often the range of powers is halved
_APART = 0.25  # the distance of powers whose scores show the precision of the power
_CLEAR = 3.0  # from so many standard errors on, a power counts as different from 0
# Powers are searched so many standard errors from that of the score; so many are tried, and at most
# so many that fit about as well as the best are used for the interval.
_SEARCHED, _TRIED, _OTHERS = 3.0, 25, 8
_FIT = 5.0  # the difference of squared standard errors up to which two powers fit equally well


@dataclass(frozen=True)
class DependenceTest:
    """A test whether prices depend on something within groups.

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
        what = _WORDS[self.name]
        shown = f"p = {self.p_value:.{3 if self.doubtful else 2}f}"
        if self.p_value < 0.001:
            shown = "p < 0.001"
        rise = "rise" if self.score > 0 else "fall"
        if self.p_value >= _UNCLEAR:
            return f"Nothing shows that prices are correlated with {what} within bands ({shown})."
        if not self.doubtful:
            return f"Prices may {rise} with {what} within bands: this is not clear ({shown})."
        return f"Prices {rise} with {what} within bands ({shown})."


def find_trends(groups: Groups) -> dict[str, Floats]:
    """Test whether prices depend on own bids, on values and on time within groups.

    Where prices are hidden on one side, it is a log-rank test for a trend in ranks: for each price
    that was told, is the auction a usual one among those that could have had it? Where prices are
    hidden on both sides, it asks whether the ranks that prices are expected to have rise or fall
    with what is not correlated with own bids. A rising rate was fitted to wins by bids, so what is
    left of them falls with bids, and with all that is correlated with bids. Own bids are not tested
    then.
    """
    feedback, log = groups.facts.feedback, groups.log
    if feedback == "always":
        return {}
    columns = {"bid": log.bids, "value": log.values, "time": groups.positions.astype(float)}
    if feedback in BOTH_SIDES:
        del columns["bid"]
    return trends(groups, columns)


def conclude(sums: Mapping[str, Floats]) -> tuple[DependenceTest, ...]:
    """Return the tests that sums of `trends` allow."""
    scores = [_score(one) for one in sums.values()]
    adjusted = holm([math.erfc(abs(score) / math.sqrt(2)) for score in scores])
    return tuple(map(DependenceTest, sums, scores, adjusted))


def _score(sums: Floats) -> float:
    """Return a statistic divided by its standard deviation; 0 if its variance is 0."""
    return float(sums[0] / math.sqrt(sums[1])) if sums[1] > 0 else 0.0


def trends(groups: Groups, columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return how far scaled prices depend on each column within groups."""
    feedback, told = groups.facts.feedback, groups.log.told
    sums = {name: np.zeros(2) for name in columns}
    bids = groups.log.bids / groups.scales
    for members, prices in zip(groups.members, groups.prices, strict=True):
        own, fitted = _ranks(bids[members]), None
        if feedback == "won-lost":
            won = groups.log.won[members]
            fitted = prices.cumulative[np.where(won, prices.last, prices.first)]
        for name, column in columns.items():
            ranks = _ranks(column[members])
            if feedback in BOTH_SIDES:
                sums[name] += by_expected_ranks(prices, _apart_from(own, ranks, fitted))
            else:
                upper = feedback == "after-loss"
                sums[name] += log_rank(prices, told[members], ranks, upper=upper)
    return sums


def log_rank(
    prices: PriceDistribution, told: Booleans, ranks: Floats, *, upper: bool
) -> tuple[float, float]:
    """Return the log-rank statistic of a trend and its variance; positive if prices rise."""
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


def by_expected_ranks(prices: PriceDistribution, ranks: Floats) -> tuple[float, float]:
    """Return whether expected ranks of prices rise with ranks, and the variance.

    The rank of a price that is in an interval is expected to be in the middle of the interval's
    ranks. If prices depend on nothing, its mean is 1/2, whatever the intervals are.
    """
    expected = (prices.cumulative[prices.first] + prices.cumulative[prices.last] - 1.0) / 2
    products = (ranks - ranks.mean()) * expected
    return float(products.sum()), float((products**2).sum())


def _apart_from(others: Floats, ranks: Floats, fitted: Floats | None) -> Floats:
    """Return what is left of ranks after linear regression on other ranks.

    Bids with the same fitted chance to win have a regression of their own. Isotonic regression has
    put them together because the higher ones won less often, so outcomes fall with bids among them.
    """
    blocks = np.zeros(ranks.size) if fitted is None else fitted
    _, block, counts = np.unique(blocks, return_inverse=True, return_counts=True)
    centred = others - (np.bincount(block, others) / counts)[block]
    squares = np.bincount(block, centred**2)
    slopes = np.bincount(block, centred * ranks) / np.where(squares > 0, squares, 1.0)
    rest: Floats = ranks - slopes[block] * centred
    return rest


def _ranks(column: Floats) -> Floats:
    """Return ranks from 0 to 1; equal numbers have their mean rank."""
    levels, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    if levels.size == 1:
        return np.zeros(column.size)
    ends = np.cumsum(counts)
    found: Floats = ((ends - (counts + 1) / 2) / column.size)[places]
    return found


class ValuePower(NamedTuple):
    """The power of the value that prices depend on."""

    power: float  # the power; 0 if prices do not depend on values
    error: float
    others: tuple[float, ...] = ()  # powers that the data do not tell from it
    lumpy: bool = False  # whether outcomes tell it far better than a trend: prices are few shares

    @property
    def clear(self) -> float:
        """The power if it is clearly not 0, otherwise 0."""
        return self.power if abs(self.power) > _CLEAR * self.error else 0.0


def find_power(facts: Facts) -> ValuePower:
    """Return the power of the value that prices depend on, and its standard error.

    A band of values is not narrow everywhere: the highest tenth of the values may spread over a
    factor of five. If bids are fractions of values, and prices rise with values, then prices
    depend on bids within such a band. After division by the right power of the value they do not.
    The power is the one at which the test of independence sees no trend, as in rank estimates of
    accelerated failure times. The score of that test has a standard deviation of 1, so the error
    of the power is 1 divided by the slope of the score.
    """
    if facts.feedback == "always":
        return ValuePower(0.0, 0.0)
    groups = make_groups(facts.sample, _BANDS, facts)
    columns = {"value": facts.sample.values}

    def score(power: float) -> float:
        return _score(trends(groups.with_power(power), columns)["value"])

    low, high = LEAST_POWER, MOST_POWER
    if score(low) == score(high):
        return ValuePower(0.0, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if score(middle) > 0:
            low = middle
        else:
            high = middle
    power = (low + high) / 2
    slope = (score(power - _APART) - score(power + _APART)) / (2 * _APART)
    if facts.feedback == "won-lost" and power:
        # The score jumps where bids are a few fractions of the value. Its slope says little then.
        slope = min(slope, abs(score(0.0) / power))
    error = min(1 / slope, 1.0) if slope > 0 else 1.0
    if facts.feedback == "won-lost":
        return _by_likelihood(groups, power, error)
    others = power + _FAR * error * np.array([-1.0, -0.5, 0.5, 1.0])
    return ValuePower(power, error, tuple(np.clip(others, LEAST_POWER, MOST_POWER).tolist()))


def _by_likelihood(groups: Groups, power: float, error: float) -> ValuePower:
    """Return the power that is near that of the score and fits outcomes well.

    Prices at a few fixed shares of the value tell the power far better than a trend in ranks does,
    and what bids near these shares earn depends on it. The likelihoods of two powers are compared
    by the mean difference of an auction, in standard errors, as in Vuong's test.
    """
    distances = np.linspace(-_SEARCHED, _SEARCHED, _TRIED)
    powers = np.clip(power + error * distances, LEAST_POWER, MOST_POWER)
    fits = np.array([groups.with_power(one).fit for one in powers])
    differences = fits - fits[fits.sum(axis=1).argmax()]
    squares = (differences**2).sum(axis=1)
    worse = differences.sum(axis=1) ** 2 / np.where(squares > 0, squares, 1.0)
    total = distances**2 + worse
    best = int(total.argmin())
    kept = powers[total <= total[best] + _FIT]
    shown = kept[np.unique(np.linspace(0, kept.size - 1, _OTHERS).round().astype(int))]
    # If bids are a few fractions of the value, nothing is known between them at a power of 1.
    whole = [one for one in (0.0, 1.0) if kept.min() < one < kept.max()]
    lumpy = bool(np.ptp(kept) < 2 * error)
    return ValuePower(float(powers[best]), error, (*shown.tolist(), *whole), lumpy)
