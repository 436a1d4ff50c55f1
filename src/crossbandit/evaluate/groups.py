"""Divide auctions into groups, bands of values within a class, each with its own prices."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from crossbandit.evaluate.facts import facts_of
from crossbandit.evaluate.prices import PriceDistribution
from crossbandit.logs.auctions import MIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.evaluate.facts import Facts
    from crossbandit.evaluate.log import CensoredLog
    from crossbandit.types import Floats, Integers

MOST = 100  # the most bands of a class, unless bands would be larger than `LARGEST`
LARGEST = 50_000  # the most auctions of a band, because all are in memory at once
# The auctions that a group has at least. More bands make the assumption weaker. But where prices
# are hidden on both sides, a distribution of prices needs more auctions.
_LEAST, _LEAST_BOTH = 250, 1_000
BOTH_SIDES = ("won-lost", MIXED)
_FEWEST = 20  # the fewest auctions of a group if the number of bands is given
_BLOCKS = 20  # blocks of time
_LARGE = 100  # from so many auctions on, the edges of a group are treated differently
_EDGE = 10  # beyond so many outermost bids, prices are left open
_WINDOW = 4  # a band may end a quarter of its auctions earlier or later, where values have a gap


class Groups:
    """The groups of a log, or of a piece of it, and the distribution of prices in each.

    Prices may rise with values within a group. What has one distribution in a group is therefore
    the price divided by a *scale*, which is a power of the value.

    Args:
        log: The auctions.
        labels: The number of the group of each auction.
        power: The power of the value; 0 if prices do not depend on values.
        power_error: Its standard error.
        facts: What is known of the whole log; None if `log` is all of it.
        positions: The number of each auction in the whole log, ascending; None if `log` is all of
            it.
    """

    def __init__(
        self,
        log: CensoredLog,
        labels: Integers,
        power: float = 0.0,
        power_error: float = 0.0,
        *,
        facts: Facts | None = None,
        positions: Integers | None = None,
    ) -> None:
        self.log = log
        self.labels = labels
        self.power = power
        self.power_error = power_error
        self.facts = facts_of(log) if facts is None else facts
        self.positions = np.arange(len(log)) if positions is None else positions

    def __len__(self) -> int:
        return len(self.members)

    def _with(self, labels: Integers, power: float, power_error: float = 0.0) -> Groups:
        where = {"facts": self.facts, "positions": self.positions}
        return Groups(self.log, labels, power, power_error, **where)  # type: ignore[arg-type]

    def with_power(self, power: float, error: float = 0.0) -> Groups:
        """Return the same groups with another power of the value.

        Args:
            power: The power.
            error: Its standard error.
        """
        return self._with(self.labels, power, error)

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
                *_without_edges(self.log, rows, self.scales[rows], self.facts.feedback)
            )
            for rows in self.members
        ]

    @cached_property
    def halves(self) -> Groups:
        """Two groups for each group: the blocks of time with even and with odd numbers."""
        half = self.positions * _BLOCKS // self.facts.auctions % 2
        return self._with(2 * self.labels + half, self.power, self.power_error)

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
        return self._with(labels, self.power)

    @cached_property
    def other_powers(self) -> tuple[Groups, ...]:
        """The same groups with a power that is higher and lower by its standard error."""
        if not self.power_error:
            return ()
        return tuple(self.with_power(self.power + sign * self.power_error) for sign in (1.0, -1.0))

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
    """Divide auctions by their classes, and each class into bands of values of about equal size.

    All classes with few auctions together form one class. A class with few auctions has fewer
    bands.

    Args:
        log: The auctions.
        bands: The number of bands of a class; None for as many as the auctions allow.
    """
    return _grouped(log, bands, facts_of(log))


def sample_groups(facts: Facts, bands: int) -> Groups:
    """Return groups of the sample of a log.

    Args:
        facts: What is known of the log.
        bands: The number of bands of a class.
    """
    return _grouped(facts.sample, bands, facts)


def _grouped(log: CensoredLog, bands: int | None, facts: Facts) -> Groups:
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
    return Groups(log, labels, facts=facts)


def least_size(feedback: str) -> int:
    """Return the least number of auctions of a class that is not pooled with others.

    Args:
        feedback: Who was told the price.
    """
    return _LEAST_BOTH if feedback in BOTH_SIDES else _LEAST


def band_count(auctions: int, feedback: str, bands: int | None) -> int:
    """Return the number of bands of a class.

    Args:
        auctions: How many auctions it has.
        feedback: Who was told the price.
        bands: What the user asks for; None for as many as the auctions allow.
    """
    least = least_size(feedback) if bands is None else _FEWEST
    return int(np.clip(auctions // least, 1, bands or max(MOST, auctions // LARGEST)))


def band_edges(count: int, parts: int, between: Callable[[int, int], Floats]) -> Floats:
    """Return where all bands but the first begin: at the widest gap near each quantile.

    A band with values on both sides of a gap would hold auctions that are not similar.

    Args:
        count: The number of values.
        parts: The number of bands.
        between: Returns the values with ranks from a first one up to before another one.
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


def _without_edges(
    log: CensoredLog, rows: Integers, scales: Floats, feedback: str
) -> tuple[Floats, Floats]:
    """Return the intervals of the scaled prices of a group, with less detail at the outermost bids.

    There the most likely distribution is wrong however many auctions there are, because it depends
    on a few of them. If prices are told after a loss, a told price or a win below the tenth lowest
    bid only shows that the price is at most that bid. If they are told after a win, a told price or
    a loss above the tenth highest bid only shows that the price is above that bid. Where only won
    and lost are known, the lowest and the highest bids are taken together, sqrt(n) of n, at their
    mean.
    """
    won, made, own = log.won[rows], log.informative[rows], log.bids[rows] / scales
    high = log.price_high[rows] / scales
    low = np.where(log.told[rows], np.nextafter(high, -np.inf), log.price_low[rows] / scales)
    bids = np.sort(own[made])
    if bids.size < _LARGE:
        return low, high
    if feedback == "after-loss":
        edge = bids[_EDGE - 1]
        return np.where(high <= edge, low.min(), low), np.where(high <= edge, edge, high)
    if feedback == "after-win":
        edge = bids[-_EDGE]
        return np.where(low >= edge, edge, low), np.where(low >= edge, np.inf, high)
    if feedback == "won-lost":
        size = int(bids.size**0.5)
        for ends, beyond in (
            (bids[:size], own <= bids[size - 1]),
            (bids[-size:], own >= bids[-size]),
        ):
            mean = float(ends.mean())
            high = np.where(beyond & made & won, mean, high)
            low = np.where(beyond & made & ~won, mean, low)
    return low, high
