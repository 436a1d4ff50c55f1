"""Groups of alike auctions, bands of values within each class, and the prices of each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.evaluate.prices import PriceDistribution
from crossbandit.logs.outcomes import MIXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.types import Floats, Integers

MOST = 100  # bands
# The auctions that a group has at least. More bands make the assumption weaker. But where prices
# are hidden on both sides, a distribution of prices needs more auctions.
_LEAST, _LEAST_BOTH = 250, 1_000
BOTH_SIDES = ("won-lost", MIXED)
_FEWEST = 20  # where the number of bands is given
_BLOCKS = 20  # of time
_LARGE = 100  # auctions of a group whose edges are treated apart
_EDGE = 10  # bids at the edge of a group beyond which prices are left open


class Groups:
    """The groups of a log, and the distribution of prices in each.

    Prices may rise with values within a group. What has one distribution in a group is therefore
    the price divided by a *scale*, which is a power of the value; the power is 0 where prices do
    not go with values.

    Args:
        log: The auctions.
        labels: The number of the group of each auction.
        power: The power of the value.
    """

    def __init__(self, log: CensoredLog, labels: Integers, power: float = 0.0) -> None:
        self.labels = labels
        self.power = power
        self._log = log

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def members(self) -> list[Integers]:
        """The auctions of each group, ascending."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.flatnonzero(np.diff(self.labels[order])) + 1
        return np.split(order, starts)

    @cached_property
    def scales(self) -> Floats:
        """What the price of each auction is divided by."""
        values = self._log.values
        if not self.power:
            return np.ones(values.size)
        least = values[values > 0].min()
        scales: Floats = (np.maximum(values, least) / np.median(values[values > 0])) ** self.power
        return scales

    @cached_property
    def prices(self) -> list[PriceDistribution]:
        """The most likely distribution of scaled prices in each group."""
        return [
            PriceDistribution(*_without_edges(self._log, rows, self.scales[rows]))
            for rows in self.members
        ]

    @cached_property
    def halves(self) -> Groups:
        """Two groups for each: every other block of time, and the blocks between."""
        count = self.labels.size
        labels = 2 * self.labels + np.arange(count) * _BLOCKS // count % 2
        return Groups(self._log, labels, self.power)

    def others(self, rows: Integers) -> Iterator[tuple[PriceDistribution, Integers]]:
        """Yield for each half the prices of the other half, and which of `rows` are in it."""
        halves = self.halves
        prices = dict(zip(np.unique(halves.labels).tolist(), halves.prices, strict=True))
        for members, _, inside in halves.entries(rows):
            other = prices.get(int(halves.labels[members[0]]) ^ 1)
            if other is not None:
                yield other, inside

    def entries(self, rows: Integers) -> Iterator[tuple[Integers, PriceDistribution, Integers]]:
        """Yield for each group its auctions, its prices, and which of `rows` are in it."""
        of = self.labels[rows]
        order = np.argsort(of, kind="stable")
        stops = np.searchsorted(of[order], np.unique(self.labels), "right")
        parts = np.split(order, stops[:-1])
        for members, prices, inside in zip(self.members, self.prices, parts, strict=True):
            if inside.size:
                yield members, prices, inside


def make_groups(log: CensoredLog, bands: int | None = None) -> Groups:
    """Divide auctions by their classes, and each class into bands of values of equal size.

    Classes with few auctions are one class together. A class with few auctions has fewer bands.

    Args:
        log: The auctions.
        bands: The number of bands of a class; None for as many as the auctions allow.
    """
    kind = np.zeros(len(log), dtype=np.int64)
    for column in log.classes.values():
        _, level = np.unique(column, return_inverse=True)
        _, kind = np.unique(kind * (level.max() + 1) + level, return_inverse=True)
    least = _LEAST_BOTH if log.feedback in BOTH_SIDES else _LEAST
    counts = np.bincount(kind)
    kind = np.where(counts[kind] < least, counts.size, kind)
    labels = np.empty(len(log), dtype=np.int64)
    used = 0
    for one in np.unique(kind):
        rows = np.flatnonzero(kind == one)
        parts = int(np.clip(rows.size // (least if bands is None else _FEWEST), 1, bands or MOST))
        labels[rows] = used + _bands(log.values[rows], parts)
        used = int(labels[rows].max()) + 1
    return Groups(log, labels)


def _bands(values: np.ndarray, parts: int) -> Integers:
    edges = np.unique(np.quantile(values, np.arange(1, parts) / parts))
    band = np.searchsorted(edges, values, "right")
    _, found = np.unique(band, return_inverse=True)  # where many values are equal, some are empty
    numbers: Integers = found
    return numbers


def _without_edges(log: CensoredLog, rows: Integers, scales: Floats) -> tuple[Floats, Floats]:
    """Return the intervals of the scaled prices of a group, with less detail at the outermost bids.

    There the most likely distribution is wrong however many auctions there are: it depends on a
    few of them. Below the tenth lowest bid, told prices and wins only count as that low; likewise
    above the tenth highest bid where prices are told after a win. Where only won and lost are
    known, the lowest and the highest bids are taken together, sqrt(n) of n, at their mean.
    """
    won, made, own = log.won[rows], log.informative[rows], log.bids[rows] / scales
    high = log.price_high[rows] / scales
    low = np.where(log.told[rows], np.nextafter(high, -np.inf), log.price_low[rows] / scales)
    bids = np.sort(own[made])
    if bids.size < _LARGE:
        return low, high
    if log.feedback == "after-loss":
        edge = bids[_EDGE - 1]
        return np.where(high <= edge, low.min(), low), np.where(high <= edge, edge, high)
    if log.feedback == "after-win":
        edge = bids[-_EDGE]
        return np.where(low >= edge, edge, low), np.where(low >= edge, np.inf, high)
    if log.feedback == "won-lost":
        size = int(bids.size**0.5)
        for ends, beyond in (
            (bids[:size], own <= bids[size - 1]),
            (bids[-size:], own >= bids[-size]),
        ):
            mean = float(ends.mean())
            high = np.where(beyond & made & won, mean, high)
            low = np.where(beyond & made & ~won, mean, low)
    return low, high
