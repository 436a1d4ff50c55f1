"""Strategies that a replay has only with limits: throttled strategies, and oracles.

The oracles show what could have been earned with the whole log known beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossbandit.kernels.paced_rounds import throttle
from crossbandit.limits.knapsack import Level
from crossbandit.limits.optima import best_maps, paced_maps
from crossbandit.replay.learning import paced_rounds
from crossbandit.replay.limited import describe
from crossbandit.replay.oracles import BANDS, bands_of, enough_to_win
from crossbandit.replay.strategies import Entry, Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from crossbandit.environments.auctions import AuctionRules
    from crossbandit.limits.optima import Map, Terms
    from crossbandit.replay.limited import ReplayLimits
    from crossbandit.replay.oracles import Hindsight
    from crossbandit.replay.strategies import Chunk, Setting
    from crossbandit.types import Floats, Integers

_ROUNDING = 1e-9  # share of a budget; a smaller excess is a rounding error


class ThrottledStrategy(Strategy):
    """A strategy that knows nothing of limits, and a throttle that drops some of its bids.

    A bid is not made if it could break a limit, or if the strategy has spent more than the plan of
    a budget allows for up to now. The plan of a budget is even in time, or in the number of
    auctions; with "asap" there is none. The strategy does not know which of its bids are dropped.

    Args:
        strategy: The strategy.
        setting: What is known before the first auction, with limits.
    """

    def __init__(self, strategy: Strategy, setting: Setting) -> None:
        pacer = setting.pacer()
        if pacer is None:
            raise ValueError("Without limits, there is nothing to throttle.")
        self.throttled = self._strategy = strategy
        self._pacer, self._rules = pacer, setting.rules
        self.name, self.kind, self.note = strategy.name, strategy.kind, strategy.note

    def bids(self, chunk: Chunk) -> Floats:
        wanted = np.asarray(self._strategy.bids(chunk), dtype=np.float64)
        won = self._rules.wins(wanted, chunk.prices)
        costs = np.ceil(wanted / self._pacer.rules.unit).astype(np.int64)
        made = np.empty(wanted.size, dtype=np.bool_)
        for now, paced in paced_rounds(chunk, self._pacer, self._rules):
            throttle(paced, costs[now], won[now], made[now])
        return np.where(made, wanted, 0.0)

    def curve(self, values: Floats) -> Floats:
        return self._strategy.curve(values)


class LimitedBands(Strategy):
    """The bid per band of values that maximises earnings minus the multiplier times payments.

    The multiplier is the lowest that keeps the limits. At that multiplier two maps from bands to
    bids may be equally good; they are mixed so that the limits are used up. The result is exactly
    the best mixture of maps. Where the bid is above the value, no bid is made. Periods differ in
    nothing but their multiplier: what a bid wins is taken from the whole log. With several budgets,
    these are the longest periods, and the shorter ones whose budgets would be exceeded otherwise.

    Args:
        rules: The bids and who wins.
        hindsight: What is known of the log.
        limits: The limits.
        paced: Whether each period has a multiplier of its own, and spends its own budget. Otherwise
            money may be moved between periods.
    """

    kind = "oracle"

    def __init__(
        self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits, *, paced: bool
    ) -> None:
        self.name = PACED if paced else ONE_MULTIPLIER
        self.note = _note(limits, paced=paced)
        self._rules, self._paced = rules, paced
        self._empty = hindsight.auctions == 0  # bands in which nothing is known of bids
        won, worth = hindsight.won[: limits.part_count], hindsight.worth[: limits.part_count]
        if not paced:
            won, worth = won.sum(axis=0, keepdims=True), worth.sum(axis=0, keepdims=True)
        find = _maps_by_section if paced else best_maps
        self._maps = find(worth, won * rules.amounts, won, limits.terms(paced=paced))

    def entries(self, chunk: Chunk) -> list[Entry]:
        """Return the bids of all maps, with their weights."""
        parts = chunk.parts if self._paced else None
        rows = np.zeros(chunk.values.size, dtype=np.int64) if parts is None else parts
        bands = bands_of(chunk.values, self._rules)
        return [
            Entry(self._bid(one.bids, rows, bands, chunk.values), one.weights[rows])
            for one in self._maps
        ]

    def bids(self, chunk: Chunk) -> Floats:
        entries = self.entries(chunk)
        mean: Floats = sum((one.bids * one.shares for one in entries), np.zeros(chunk.values.size))
        return mean

    def curve(self, values: Floats) -> Floats:
        bands, mean = bands_of(values, self._rules), np.zeros(values.size)
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

    Args:
        worth: (sections, bands, K). This, `spend` and `won` are as in `paced_maps`.
        spend: (sections, bands, K).
        won: (sections, bands, K).
        terms: The limits.
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


class LimitedKnowledge(Strategy):
    """Buy the auctions with the most value per price, each at its price, without a grid.

    It is the optimum of a fractional knapsack: the last auction that a budget can pay for may be
    bought in part. Nobody can earn more under the limits.

    Args:
        rules: The bids and who wins.
        hindsight: What is known of the log.
        limits: The limits.
    """

    kind = "oracle"
    note = "knows each price beforehand, and buys what is worth most for its price"

    def __init__(self, rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits) -> None:
        self.name = KNAPSACK
        self._rules = rules
        if hindsight.purchases is None:
            raise ValueError("The purchases of a log are collected only with limits.")
        self._cuts = hindsight.purchases.best(limits.terms(paced=limits.periodic))
        self.note = f"{self.note}{_without(limits)}"

    def entries(self, chunk: Chunk) -> list[Entry]:
        """Return the prices, and which part of each auction is bought."""
        prices = enough_to_win(chunk.prices, self._rules)
        sections = np.zeros(prices.size, dtype=np.int64)
        if chunk.sections is not None:
            sections = chunk.sections
        shares = np.zeros(prices.size)
        for cut in self._cuts:
            shares += cut.weight * cut.shares(chunk.values, prices, sections)
        return [Entry(np.where(shares > 0, prices, 0.0), shares)]

    def bids(self, chunk: Chunk) -> Floats:
        return self.entries(chunk)[0].bids

    def curve(self, values: Floats) -> Floats:
        return np.full(values.size, np.nan)  # it bids by price, not by value


ONE_MULTIPLIER = "best map, one multiplier"
PACED = "best map, evenly paced"
KNAPSACK = "perfect knowledge"


def comparator_of(limits: ReplayLimits) -> str:
    """Return the oracle that regret is counted from: the best maps that keep each budget."""
    return PACED if limits.periodic else ONE_MULTIPLIER


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


def limited_oracles(
    rules: AuctionRules, hindsight: Hindsight, limits: ReplayLimits
) -> list[Strategy]:
    """Return all oracles of a replay with limits."""
    kinds = [False, True] if np.isfinite(limits.total) else [False]
    maps = [LimitedBands(rules, hindsight, limits, paced=paced) for paced in kinds]
    return [*maps, LimitedKnowledge(rules, hindsight, limits)]
