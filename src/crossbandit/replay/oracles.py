"""Strategies that know the whole log in advance: they show how much could be earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.limits.purchases import Purchases
from crossbandit.replay.strategies import Strategy, best_on_grid, prices_to_beat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.logs.auctions import Auctions
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.replay.strategies import Chunk
    from crossbandit.types import Floats, Integers

BANDS = 25  # the number of bands of values, all of the same width


class Hindsight(NamedTuple):
    """What the oracles need to know of a whole log.

    Attributes:
        wins: (K,). The number of auctions that each bid would have won, at any value.
        auctions: (BANDS,). The number of auctions in each band of values.
        won: (parts, BANDS, K). The number of auctions of a band that each bid would have won, among
            those whose value is at least the bid. Without limits there is one part.
        worth: (parts, BANDS, K). Their values, summed.
        earned: (BANDS, K). What each bid would have earned in them, in all parts. Where the value
            is lower, the band policy bids the value and earns 0.
        class_wins: (classes, K). Like `wins`, for each combination of classes; None without.
        purchases: With limits, the auctions that are worth their price.
    """

    wins: Floats
    auctions: Floats
    won: Floats
    worth: Floats
    earned: Floats
    class_wins: Floats | None = None
    purchases: Purchases | None = None


def collect_hindsight(
    chunks: Iterable[Auctions], rules: AuctionRules, limits: ReplayLimits | None = None
) -> Hindsight:
    """Read a whole log into small tables."""
    cells, auctions = np.zeros(rules.arms + 1), np.zeros(BANDS)
    table, by_class = _BandTable(rules), None
    purchases = None if limits is None else Purchases()
    for chunk in chunks:
        prices = prices_to_beat(chunk, rules)
        first, bands = rules.cells(prices), bands_of(chunk.values, rules)
        rows = bands
        if limits is not None and purchases is not None:
            start = limits.read
            sections = limits.add(prices.size, chunk.times)
            limits.require_few_periods(table.width * BANDS)
            rows = bands + BANDS * limits.parts(start, start + prices.size)
            purchases.add(chunk.values, enough_to_win(prices, rules), sections)
        cells += np.bincount(first, minlength=cells.size)
        auctions += np.bincount(bands, minlength=BANDS)
        by_class = _add_classes(by_class, chunk.classes, first, cells.size)
        table.add(rows, first, chunk.values)
    won, worth = table.totals()
    counts = won.sum(axis=0)
    earned = np.where(counts > 0, worth.sum(axis=0) - rules.amounts * counts, 0.0)
    class_wins = None if by_class is None else by_class.cumsum(axis=1)[:, :-1]
    return Hindsight(cells.cumsum()[:-1], auctions, won, worth, earned, class_wins, purchases)


class _BandTable:
    """Numbers and values of the auctions that each bid wins, by part of the log and band.

    An auction counts for the bids from the lowest that wins to the highest that is at most the
    value. It is added at the first of them and subtracted after the last. Running sums over the
    bids then give all numbers and sums of values.
    """

    def __init__(self, rules: AuctionRules) -> None:
        self._amounts = rules.amounts
        self.width = rules.arms + 1
        self._tables = np.zeros((2, BANDS * self.width))

    def add(self, rows: Integers, first: Integers, values: Floats) -> None:
        """Add auctions: their rows, parts times bands, and the lowest bids that win."""
        parts = int(rows.max()) // BANDS + 1 if rows.size else 0
        missing = parts * BANDS * self.width - self._tables.shape[1]
        if missing > 0:
            grown = max(missing, self._tables.shape[1])
            self._tables = np.hstack([self._tables, np.zeros((2, grown))])
        after = np.maximum(np.searchsorted(self._amounts, values, "right"), first)
        size = self._tables.shape[1]
        for bids, sign in ((first, 1.0), (after, -1.0)):
            places = self.width * rows + bids
            self._tables[0] += sign * np.bincount(places, minlength=size)
            self._tables[1] += np.bincount(places, sign * values, minlength=size)

    def totals(self) -> tuple[Floats, Floats]:
        """Return the numbers and the sums of values; both (parts, BANDS, K)."""
        tables = self._tables.reshape(2, -1, BANDS, self.width).cumsum(axis=3)[..., :-1]
        won = np.rint(tables[0])
        return won, np.where(won > 0, tables[1], 0.0)  # so that 0 has no rounding error


def enough_to_win(prices: Floats, rules: AuctionRules) -> Floats:
    """Return the lowest amount that wins against each price, without a grid.

    A tie that would lose, and a price of 0, are beaten by the smallest possible amount.
    """
    enough = prices if rules.ties == "win" else np.nextafter(prices, np.inf)
    return np.maximum(enough, max(rules.reserve, np.nextafter(0.0, 1.0)))


def _add_classes(
    counts: Floats | None, classes: Integers | None, cells: Integers, width: int
) -> Floats | None:
    """Count the cells of each combination of classes; a new combination gets a new row."""
    if classes is None:
        return counts
    rows = int(classes[:, -1].max()) + 1
    added = np.bincount(classes[:, -1] * width + cells, minlength=rows * width)
    total = added.reshape(rows, width).astype(float)
    if counts is None:
        return total
    if len(counts) > rows:
        counts[:rows] += total
        return counts
    total[: len(counts)] += counts
    return total


def bands_of(values: Floats, rules: AuctionRules) -> Integers:
    """Return the number of the band of each value."""
    bands: Integers = (values * (BANDS / rules.highest_value)).astype(np.int64)
    return np.minimum(bands, BANDS - 1)


class BestPolicy(Strategy):
    """At each value, the bid that would have earned most at this value over all prices of the log.

    Regret is measured against it: it is the comparator of the paper's theorem.
    """

    kind = "oracle"
    name = "best fixed policy"
    note = "each value by all prices, in hindsight"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight) -> None:
        self._rules = rules
        self._wins = hindsight.wins

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return best_on_grid(values, self._rules, self._wins)


class BandPolicy(Strategy):
    """For each band of values, the bid that earned most in that band's own auctions.

    It bids the value where that is lower. Unlike the best fixed policy, it uses that prices may
    depend on values. With few auctions per band it is fitted to chance as well. In a band without
    auctions it bids like the best fixed policy.
    """

    kind = "oracle"
    name = "best policy per band"
    note = f"a bid for each of {BANDS} bands of values, in hindsight"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight) -> None:
        self._rules = rules
        self._table = rules.amounts[hindsight.earned.argmax(axis=1)]
        self._empty = hindsight.auctions == 0
        self._elsewhere = BestPolicy(rules, hindsight)

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        bands = bands_of(values, self._rules)
        bids: Floats = np.minimum(self._table[bands], values)
        empty = self._empty[bands]
        bids[empty] = self._elsewhere.curve(values[empty])
        return bids


class ClassPolicy(Strategy):
    """At each value, the bid that would have earned most there in all auctions of its class.

    With more than one class column, a class is a combination of levels.
    """

    kind = "oracle"
    name = "best policy per class"
    note = "each value by the prices of its class, in hindsight"

    def __init__(self, rules: AuctionRules, class_wins: Floats) -> None:
        self._rules = rules
        self._wins = class_wins

    def bids(self, chunk: Chunk) -> Floats:
        if chunk.classes is None:
            raise ValueError("A log without class columns has no policy per class.")
        numbers, bids = chunk.classes[:, -1], np.empty(chunk.values.size)
        for number in np.unique(numbers):
            inside = numbers == number
            bids[inside] = best_on_grid(chunk.values[inside], self._rules, self._wins[number])
        return bids

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by class, too


class PerfectKnowledge(Strategy):
    """Bid the price itself, or the reserve, if the value is at least as high; without a grid.

    Nobody can earn more.
    """

    kind = "oracle"
    name = "perfect knowledge"
    note = "knows each price beforehand"

    def __init__(self, rules: AuctionRules) -> None:
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        enough = enough_to_win(chunk.prices, self._rules)
        return np.where(enough <= chunk.values, enough, 0.0)

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by price, not by value
