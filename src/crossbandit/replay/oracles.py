"""Strategies that know the whole log beforehand: they show how much could be earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.replay.strategies import Chunk, Strategy, best_on_grid, cells_of, prices_to_beat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.logs.auctions import Auctions
    from crossbandit.types import Floats, Integers

BANDS = 25  # of values, all equally wide


class Hindsight(NamedTuple):
    """What the oracles need to know of a whole log.

    Attributes:
        wins: (K,). The number of auctions that each bid would have won, at any value.
        auctions: (BANDS,). The number of auctions in each band of values.
        earned: (BANDS, K). The surplus of each bid in the auctions of a band whose value is at
            least the bid. Where the value is lower, the band policy bids the value and earns 0.
        class_wins: (classes, K). Like `wins`, for each combination of classes; None without.
    """

    wins: Floats
    auctions: Floats
    earned: Floats
    class_wins: Floats | None = None


def collect_hindsight(chunks: Iterable[Auctions], rules: AuctionRules) -> Hindsight:
    """Read a whole log into small tables.

    In a band, an auction counts for the bids from the lowest that wins to the highest that is at
    most the value. It is added at the first of them and subtracted after the last. Running sums
    over the bids then give all counts and sums of values.
    """
    shape = (BANDS, rules.arms + 1)
    size = BANDS * (rules.arms + 1)
    cells = np.zeros(rules.arms + 1)
    auctions = np.zeros(BANDS)
    counts, sums = np.zeros(size), np.zeros(size)
    by_class: Floats | None = None
    for chunk in chunks:
        values, first = chunk.values, cells_of(prices_to_beat(chunk, rules), rules)
        after = np.maximum(np.searchsorted(rules.amounts, values, "right"), first)
        bands = _bands(values, rules)
        cells += np.bincount(first, minlength=cells.size)
        auctions += np.bincount(bands, minlength=BANDS)
        by_class = _add_classes(by_class, chunk.classes, first, shape[1])
        for bids, sign in ((first, 1.0), (after, -1.0)):
            places = shape[1] * bands + bids
            counts += sign * np.bincount(places, minlength=size)
            sums += np.bincount(places, sign * values, minlength=size)
    won, worth = (table.reshape(shape).cumsum(axis=1)[:, :-1] for table in (counts, sums))
    earned = np.where(won > 0, worth - rules.amounts * won, 0.0)  # no rounding errors of 0
    class_wins = None if by_class is None else by_class.cumsum(axis=1)[:, :-1]
    return Hindsight(cells.cumsum()[:-1], auctions, earned, class_wins)


def _add_classes(
    counts: Floats | None, classes: Integers | None, cells: Integers, width: int
) -> Floats | None:
    """Count the cells of each combination of classes; new ones get rows."""
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


def _bands(values: Floats, rules: AuctionRules) -> Integers:
    bands: Integers = (values * (BANDS / rules.highest_value)).astype(np.int64)
    return np.minimum(bands, BANDS - 1)


class BestPolicy(Strategy):
    """At each value, the bid that would have earned most there in all auctions of the log.

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
        bands = _bands(values, self._rules)
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
    """Bid the price itself, or the reserve, wherever the value is at least that; on no grid.

    Nobody can earn more. A tie that would lose, and a price of 0, are beaten by the smallest
    possible amount.
    """

    kind = "oracle"
    name = "perfect knowledge"
    note = "knows each price beforehand"

    def __init__(self, rules: AuctionRules) -> None:
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        prices = chunk.prices
        enough = prices if self._rules.ties == "win" else np.nextafter(prices, np.inf)
        enough = np.maximum(enough, max(self._rules.reserve, np.nextafter(0.0, 1.0)))
        return np.where(enough <= chunk.values, enough, 0.0)

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by price, not by value
