"""Oracles know the whole log in advance: they show what could be earned, with limits or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.limits.optima import Level, Purchases, best_maps, paced_maps
from crossbandit.logs.replay.limits import describe
from crossbandit.logs.replay.strategies import SharedBids, Strategy, best_on_grid, prices_to_beat
from crossbandit.logs.survey import VALUE_BINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from crossbandit.applications.bidding.auctions import AuctionRules
    from crossbandit.core.types import Floats, Integers
    from crossbandit.limits.optima import Map, Terms
    from crossbandit.logs.log import Auctions
    from crossbandit.logs.replay.limits import ReplayLimits
    from crossbandit.logs.replay.results import StrategyResult
    from crossbandit.logs.replay.strategies import Chunk
    from crossbandit.logs.survey import Survey


BANDS = 25  # the most bands of values, each with about the same sum of values


class Hindsight(NamedTuple):
    """What the oracles need to know of a whole log."""

    edges: Floats  # at most BANDS - 1 values, ascending: where bands begin, but the first
    possible: float  # what could be earned by somebody who knows each price and may bid any amount
    auctions: Floats  # (BANDS,). The number of auctions in each band of values.
    wins: Floats  # (K,). The number of auctions that each bid would have won, at any value.
    band_wins: Floats  # (BANDS, K). Like `wins`, for each band; in one without auctions, `wins`.
    class_wins: Floats | None
    won: Floats
    worth: Floats  # (parts, BANDS, K). Their values, summed.
    purchases: Purchases | None  # with limits, the auctions that are worth their price


def band_edges(survey: Survey) -> Floats:
    """Return where bands of values begin, but the first, so that each has the same sum of values.

    Bands of the same width would put most auctions into one, if a few values are very high; with
    the same number of auctions, the highest values, in which there is most to earn, would share
    one.
    """
    bins = np.array(sorted(survey.value_counts))
    counts = np.array([survey.value_counts[one] for one in bins.tolist()], dtype=float)
    sums = np.cumsum(counts * np.exp2((bins + 0.5) / VALUE_BINS))
    last = np.unique(np.searchsorted(sums, sums[-1] * np.arange(1, BANDS) / BANDS))
    edges: Floats = np.exp2((bins[last[last < bins.size - 1]] + 1) / VALUE_BINS)
    return edges


def collect_hindsight(
    chunks: Iterable[Auctions],
    rules: AuctionRules,
    edges: Floats,
    limits: ReplayLimits | None = None,
) -> Hindsight:
    """Read a whole log into small tables; `edges` are those of bands of values."""
    width, possible = rules.arms + 1, 0.0
    counts, by_class = _Sums(BANDS, width), _Sums(1, width)
    won, worth = _Sums(BANDS, width), _Sums(BANDS, width)
    purchases = Purchases() if limits else None
    for chunk in chunks:
        prices = prices_to_beat(chunk, rules)
        first, bands = rules.cells(prices), bands_of(chunk.values, edges)
        possible += float(np.maximum(chunk.values - _enough_to_win(prices, rules), 0.0).sum())
        counts.add(bands, first)
        if chunk.classes is not None:
            by_class.add(chunk.classes[:, -1], first)
        if limits and purchases is not None:
            start = limits.read
            sections = limits.add(prices.size, chunk.times)
            limits.require_few_periods(width * BANDS)
            rows = bands + BANDS * limits.parts(start, start + prices.size)
            # An auction counts for the bids from the lowest that wins to the highest that is at
            # most the value: it is added at the first of them, and subtracted after the last.
            after = np.maximum(np.searchsorted(rules.amounts, chunk.values, "right"), first)
            for bids, sign in ((first, 1.0), (after, -1.0)):
                won.add(rows, bids, np.full(rows.size, sign))
                worth.add(rows, bids, sign * chunk.values)
            purchases.add(chunk.values, lowest_winners(first, rules), sections)
    by_band, auctions = counts.up_to_each(), counts.table.sum(axis=1)
    wins = by_band.sum(axis=0)
    shape = (-1, BANDS, rules.arms)
    numbers = np.rint(won.up_to_each()).reshape(shape)
    values = np.where(numbers > 0, worth.up_to_each().reshape(shape), 0.0)  # no rounding error
    return Hindsight(
        edges,
        possible,
        auctions,
        wins,
        np.where(auctions[:, None] > 0, by_band, wins),
        by_class.up_to_each() if by_class.table.any() else None,
        numbers,
        values,
        purchases,
    )


class _Sums:
    """Sums by rows and bids. The number of rows is doubled when there are more."""

    def __init__(self, rows: int, width: int) -> None:
        self.table = np.zeros((rows, width))

    def add(self, rows: Integers, bids: Integers, amounts: Floats | None = None) -> None:
        """Add amounts, or 1 each."""
        while rows.max(initial=0) >= len(self.table):
            self.table = np.vstack([self.table, np.zeros_like(self.table)])
        places = self.table.shape[1] * rows + bids
        self.table += np.bincount(places, amounts, self.table.size).reshape(self.table.shape)

    def up_to_each(self) -> Floats:
        """Return the running sums over the bids; what is above all bids is left out."""
        sums: Floats = self.table.cumsum(axis=1)[:, :-1]
        return sums


def lowest_winners(cells: Integers, rules: AuctionRules) -> Floats:
    """Return the lowest bid of the grid that wins, by the cells of prices; infinite if none."""
    bids: Floats = np.append(rules.amounts, np.inf)[cells]
    return bids


def _enough_to_win(prices: Floats, rules: AuctionRules) -> Floats:
    """Return the lowest amount that wins against each price, without a grid.

    A tie that would lose, and a price of 0, are beaten by the smallest possible amount.
    """
    enough = prices if rules.ties == "win" else np.nextafter(prices, np.inf)
    return np.maximum(enough, max(rules.reserve, np.nextafter(0.0, 1.0)))


def bands_of(values: Floats, edges: Floats) -> Integers:
    """Return the number of the band of each value."""
    return np.searchsorted(edges, values, "right")


class BestPolicy(Strategy):
    """At each value, the bid that would have earned most at this value over all prices of the log.

    It is the comparator of the paper's theorem, which assumes that prices do not depend on values.
    """

    kind = "oracle"
    name = "best fixed policy"
    note = "each value by all prices, in hindsight"

    def __init__(
        self, rules: AuctionRules, wins: Floats, edges: Floats | tuple[float, ...] = ()
    ) -> None:
        self._rules, self._wins, self._edges = rules, wins, np.asarray(edges)

    def bids(self, chunk: Chunk) -> Floats:
        return self.curve(chunk.values)

    def curve(self, values: Floats) -> Floats:
        return self._best(values, bands_of(values, self._edges))

    def _best(self, values: Floats, groups: Integers) -> Floats:
        bids = np.empty(values.size)
        for group in np.unique(groups):
            inside = groups == group
            bids[inside] = best_on_grid(values[inside], self._rules, self._wins[group])
        return bids


class BandPolicy(BestPolicy):
    """At each value, the bid that would have earned most there in all auctions of its band.

    Unlike the best fixed policy, it uses that prices may depend on values. With few auctions per
    band it is fitted to chance as well. In a band without auctions it bids like the best fixed
    policy.
    """

    name = "best policy per band"
    note = f"each value by the prices of its band, of {BANDS}, in hindsight"


class ClassPolicy(BestPolicy):
    """At each value, the bid that would have earned most there in all auctions of its class.

    With more than one class column, a class is a combination of levels.
    """

    name = "best policy per class"
    note = "each value by the prices of its class, in hindsight"

    def bids(self, chunk: Chunk) -> Floats:
        if chunk.classes is None:
            raise ValueError("A log without class columns has no policy per class.")
        return self._best(chunk.values, chunk.classes[:, -1])

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by class, too


class PerfectKnowledge(Strategy):
    """Make the lowest bid of the grid that wins, if the value is at least as high.

    With the bids of the grid, nobody can earn more.
    """

    kind = "oracle"
    name = "perfect knowledge"
    note = "knows each price beforehand; bids on the grid"

    def __init__(self, rules: AuctionRules) -> None:
        self._rules = rules

    def bids(self, chunk: Chunk) -> Floats:
        lowest = lowest_winners(chunk.cells, self._rules)
        return np.where(lowest <= chunk.values, lowest, 0.0)

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by price, not by value


POLICIES = (BestPolicy.name, BandPolicy.name, ClassPolicy.name)  # that know what no bidder knows


_ROUNDING = 1e-9  # share of a budget; a smaller excess is a rounding error


class LimitedBands(Strategy):
    """The bid per band of values that maximises earnings minus the multiplier times payments.

    The multiplier is the lowest that keeps the limits. At that multiplier two maps from bands to
    bids may be equally good; they are mixed so that the limits are used up. The result is exactly
    the best mixture of maps. Where the bid is above the value, no bid is made. Periods differ in
    nothing but their multiplier: what a bid wins is taken from the whole log. With several budgets,
    these are the longest periods, and the shorter ones whose budgets would be exceeded otherwise.
    """

    kind = "oracle"

    def __init__(
        self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits, *, paced: bool
    ) -> None:
        self.name = PACED if paced else ONE_MULTIPLIER
        self.note = _note(limits, paced=paced)
        self._rules, self._edges, self._paced = rules, hindsight.edges, paced
        self._empty = hindsight.auctions == 0  # bands in which nothing is known of bids
        won, worth = (one[: limits.part_count] for one in (hindsight.won, hindsight.worth))
        if not paced:
            won, worth = won.sum(axis=0, keepdims=True), worth.sum(axis=0, keepdims=True)
        find = _maps_by_section if paced else best_maps
        self._maps = find(worth, won * rules.amounts, won, limits.terms(paced=paced))

    def entries(self, chunk: Chunk) -> list[SharedBids]:
        """Return the bids of all maps, with their weights."""
        parts = chunk.parts if self._paced else None
        rows = np.zeros(chunk.values.size, dtype=np.int64) if parts is None else parts
        bands = bands_of(chunk.values, self._edges)
        return [
            SharedBids(self._bid(one.bids, rows, bands, chunk.values), one.weights[rows])
            for one in self._maps
        ]

    def bids(self, chunk: Chunk) -> Floats:
        entries = self.entries(chunk)
        mean: Floats = sum((one.bids * one.shares for one in entries), np.zeros(chunk.values.size))
        return mean

    def curve(self, values: Floats) -> Floats:
        bands, mean = bands_of(values, self._edges), np.zeros(values.size)
        for one in self._maps:
            for part, weight in enumerate(one.weights / len(one.weights)):
                rows = np.full(values.size, part)
                mean += weight * self._bid(one.bids, rows, bands, values)
        return np.where(self._empty[bands], np.nan, mean)

    def _bid(self, maps: Integers, rows: Integers, bands: Integers, values: Floats) -> Floats:
        bids = self._rules.amounts[maps[rows, bands]]
        return np.where(bids <= values, bids, 0.0)


def _maps_by_section(worth: Floats, spend: Floats, won: Floats, terms: Terms) -> list[Map]:
    """Return the best mixture of maps for each section; some sections share a multiplier.

    A short period gets a multiplier of its own only if its budget would be exceeded with that of
    the longer period. So a budget that never binds changes nothing.
    """
    own = [np.zeros(level.budgets.size, dtype=np.bool_) for level in terms.levels]
    own[-1][:] = True
    while True:
        groups, levels = _groups(terms.levels, own)
        sums = [np.zeros((levels[0].of.size, *worth.shape[1:])) for _ in range(3)]
        for total, table in zip(sums, (worth, spend, won), strict=True):
            np.add.at(total, groups, table)
        free = np.full(levels[0].of.size, np.inf)
        found = paced_maps(sums[0], sums[1], sums[2], terms._replace(budgets=free, longer=levels))
        maps = [one._replace(weights=one.weights[groups], bids=one.bids[groups]) for one in found]
        spent = np.zeros(len(groups))
        for one in maps:
            chosen = np.take_along_axis(spend, one.bids[:, :, None], axis=2)
            spent += one.weights * chosen.sum(axis=(1, 2))
        exceeded = [
            np.bincount(level.of, spent, level.budgets.size) > level.budgets * (1 + _ROUNDING)
            for level in terms.levels
        ]
        if not any((now & ~before).any() for now, before in zip(exceeded, own, strict=True)):
            return maps
        own = [now | before for now, before in zip(exceeded, own, strict=True)]


def _groups(
    levels: Sequence[Level], own: Sequence[npt.NDArray[np.bool_]]
) -> tuple[Integers, tuple[Level, ...]]:
    """Return the group of each section, and the budgets of groups in place of sections.

    A group is a period that has its own multiplier, without the shorter periods inside it that have
    their own. At the levels of shorter periods, a group has no budget.
    """
    last = len(levels)
    depths = [np.where(own[k][level.of], k, last) for k, level in enumerate(levels)]
    depth = np.min(depths, axis=0)
    # The periods of each section, the longest first; the number after the last means none.
    keys = [np.where(depth <= k, one.of, one.budgets.size) for k, one in enumerate(levels)]
    rows, groups = np.unique(np.stack(keys[::-1], axis=1), axis=0, return_inverse=True)
    found = []
    for k, level in enumerate(levels):
        periods, of = np.unique(rows[:, : last - k], axis=0, return_inverse=True)
        found.append(Level(of.ravel(), np.append(level.budgets, np.inf)[periods[:, -1]]))
    return groups.ravel(), tuple(found)


class LimitedKnowledge(PerfectKnowledge):
    """Buy the auctions with the most value per price: the lowest bid of the grid that wins.

    It is the optimum of a fractional knapsack: the last auction that a budget can pay for may be
    bought in part. With the bids of the grid, nobody can earn more under the limits.
    """

    note = "knows each price beforehand, and buys what is worth most for its price, on the grid"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits) -> None:
        super().__init__(rules)
        purchases = hindsight.purchases or Purchases()
        self._cuts = purchases.best(limits.terms(paced=limits.periodic))
        self.note = f"{self.note}{_without(limits)}"

    def entries(self, chunk: Chunk) -> list[SharedBids]:
        """Return the prices, and which part of each auction is bought."""
        prices = lowest_winners(chunk.cells, self._rules)
        sections = chunk.sections
        if sections is None:
            sections = np.zeros(prices.size, dtype=np.int64)
        shares = np.zeros(prices.size)
        for cut in self._cuts:
            shares += cut.weight * cut.shares(chunk.values, prices, sections)
        return [SharedBids(np.where(shares > 0, prices, 0.0), shares)]


ONE_MULTIPLIER = "best map, one multiplier"
PACED = "best map, evenly paced"


def comparator_of(limits: ReplayLimits, outcomes: Sequence[StrategyResult]) -> str:
    """Return the oracle that regret is counted from.

    With limits it is the best maps that keep each budget. Without, it is the policy that earned
    most, usually the one by bands: strategies that learn how prices depend on values, or on
    classes, earn more than one that pools all prices, so that their regret to it would be negative.
    """
    if limits:
        return PACED if limits.periodic else ONE_MULTIPLIER
    policies = [one for one in outcomes if one.strategy in POLICIES]
    return max(policies, key=lambda one: one.mean_surplus).strategy


def _note(limits: ReplayLimits, *, paced: bool) -> str:
    bands = f"a bid for each of {BANDS} bands of values, in hindsight"
    if paced:
        return f"{bands}; a multiplier for each period{_without(limits)}"
    return f"{bands}; money may be moved between periods" if limits.periodic else bands


def _without(limits: ReplayLimits) -> str:
    """Return which budgets an oracle does not keep, as a part of its note."""
    left = limits.left_out()
    if not left:
        return ""
    return f"; without {' and '.join(map(describe, left))}: its periods overlap those of another"


def oracles(rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits) -> Iterator[Strategy]:
    """Yield all oracles of a replay."""
    if not limits:
        yield BestPolicy(rules, hindsight.wins[None])
        yield BandPolicy(rules, hindsight.band_wins, hindsight.edges)
        if hindsight.class_wins is not None:
            yield ClassPolicy(rules, hindsight.class_wins)
        yield PerfectKnowledge(rules)
        return
    for paced in [False, True] if np.isfinite(limits.total) else [False]:
        yield LimitedBands(rules, hindsight, limits, paced=paced)
    yield LimitedKnowledge(rules, hindsight, limits)
