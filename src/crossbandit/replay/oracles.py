"""Strategies that know the whole log beforehand: what there was to be earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.replay.strategies import Chunk, Strategy, best_on_grid, cells_of, hurdles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.replay.log import Auctions
    from crossbandit.types import Floats, Integers

BANDS = 25  # of values, of equal width


class Hindsight(NamedTuple):
    """The auctions of a log by band of value and cell of price; both (BANDS, K + 1)."""

    counts: Floats
    values: Floats  # sums of the values


def look_back(chunks: Iterable[Auctions], rules: AuctionRules) -> Hindsight:
    """Read a whole log into two small tables."""
    shape = (BANDS, rules.arms + 1)
    counts, sums = np.zeros(shape), np.zeros(shape)
    for auctions in chunks:
        values, cells = auctions.values, cells_of(hurdles(auctions, rules), rules)
        places = _bands(values, rules) * shape[1] + cells
        counts += np.bincount(places, minlength=counts.size).reshape(shape)
        sums += np.bincount(places, values, minlength=counts.size).reshape(shape)
    return Hindsight(counts, sums)


def _bands(values: Floats, rules: AuctionRules) -> Integers:
    bands: Integers = (values * (BANDS / rules.highest_value)).astype(np.int64)
    return np.minimum(bands, BANDS - 1)


class BestPolicy(Strategy):
    """At each value, the bid that would have earned most there in all auctions of the log.

    Regret is counted from it: it is the comparator of the paper's theorem.
    """

    kind = "oracle"
    name = "best fixed policy"
    note = "each value by all prices, in hindsight"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight) -> None:
        self._rules = rules
        self._wins = hindsight.counts.sum(axis=0).cumsum()[:-1]

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return best_on_grid(values, self._rules, self._wins)


class BandPolicy(Strategy):
    """For each band of values, the bid that earned most in that band's own auctions.

    Unlike the best fixed policy, it makes use of prices that go with values. With few auctions per
    band it is fitted to chance as well; a band without any knows nothing better than that policy.
    """

    kind = "oracle"
    name = "best policy per band"
    note = f"a bid for each of {BANDS} bands of values, in hindsight"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight) -> None:
        self._rules = rules
        won, worth = hindsight.counts.cumsum(axis=1), hindsight.values.cumsum(axis=1)
        earned = worth[:, :-1] - rules.amounts * won[:, :-1]
        self._table = rules.amounts[earned.argmax(axis=1)]
        self._empty = won[:, -1] == 0
        self._elsewhere = BestPolicy(rules, hindsight)

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        bands = _bands(values, self._rules)
        bids: Floats = np.minimum(self._table[bands], values)
        empty = self._empty[bands]
        bids[empty] = self._elsewhere.curve(values[empty])
        return bids


class PerfectKnowledge(Strategy):
    """Bid the price itself, or the reserve, wherever the value is worth it; on no grid.

    Nobody can earn more. A tie that would lose is beaten by the least possible amount.
    """

    kind = "oracle"
    name = "perfect knowledge"
    note = "knows each price beforehand"

    def __init__(self, rules: AuctionRules) -> None:
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        prices = chunk.prices
        enough = prices if self._rules.ties == "win" else np.nextafter(prices, np.inf)
        enough = np.maximum(enough, self._rules.reserve)
        return np.where(enough <= chunk.values, enough, 0.0)

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids prices, not values
