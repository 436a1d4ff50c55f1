"""Other ways to bid, as strong as a good engineer would make them, and what hindsight earns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.building import bare
from benchmarks.latency import KaplanMeier
from benchmarks.markets_worlds import BIDS, World
from crossbandit.algorithms import CrossGraphAdaptive
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications import FirstPriceBidder
from crossbandit.applications.application import anchored_as
from crossbandit.applications.bidding.auctions import AuctionRules
from crossbandit.core.types import Feedback
from crossbandit.logs.log import Auctions
from crossbandit.logs.replay.strategies import LearnerStrategy, ReplaySetting, make_chunk

if TYPE_CHECKING:
    from crossbandit.core.types import Floats, Integers

BANDS = 25
_CHUNK = 20_000


def cells_of(prices: Floats) -> Integers:
    """Return the lowest bid that wins against each price; the number of bids if none does."""
    rivals = np.where(prices > 0, prices, -np.inf)
    cells: Integers = np.searchsorted(BIDS, rivals, side="left")
    return cells


def surplus(world: World, bids: Integers) -> float:
    """Return what bids (by number, -1 for none) earn on a log."""
    won = (cells_of(world.prices) <= bids) & (bids >= 0)
    return float(np.where(won, world.values - BIDS[np.maximum(bids, 0)], 0.0).sum())


def adaptive(world: World, feedback: Feedback = "after-loss", seed: int = 0) -> float:
    """Return what the adaptive cross-learner earns."""
    rules = AuctionRules(bids=BIDS, highest_value=1.0)
    problem = Problem(rules.graph(feedback), features=2)
    setting = ReplaySetting(rules, feedback, problem)
    learner = anchored_as(CrossGraphAdaptive(), helps=feedback == "after-loss")
    strategy = LearnerStrategy("adaptive", learner, setting, seed)
    total = 0.0
    for start in range(0, world.values.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        values, prices = world.values[part], world.prices[part]
        bids = strategy.bids(make_chunk(Auctions(values, prices), rules, problem))
        total += float(np.sum(rules.surplus(values=values, bids=bids, prices=prices)))
    return total


def pooled(world: World) -> float:
    """Return what the best response to the pooled product-limit law earns, told after a loss."""
    out = np.empty(world.values.size, dtype=np.int64)
    size = BIDS.size
    counts = np.zeros((3, size + 1))
    bare().pooled(world.values, cells_of(world.prices), BIDS, counts, out)
    return surplus(world, out)


def starting_low(world: World) -> float:
    """Return what the Kaplan-Meier of `benchmarks.latency` earns: it holds that every bid wins."""
    rival, total = KaplanMeier(BIDS), 0.0
    for value, price in zip(world.values.tolist(), world.prices.tolist(), strict=True):
        bid = rival.bid(value)
        won = bid >= price
        total += value - bid if won else 0.0
        rival.settle(bid, won, price)
    return total


def bands(world: World, groups: Integers | None = None) -> float:
    """Return what the best bid for each of 25 bands of values earns, in hindsight.

    With `groups`, for each band in each group.
    """
    band = np.minimum((world.values * BANDS).astype(np.int64), BANDS - 1)
    if groups is not None:
        band = band + BANDS * groups
    return _best(world, band)


def _best(world: World, group: Integers) -> float:
    count, size = int(group.max()) + 1, BIDS.size
    places = group * (size + 1) + cells_of(world.prices)
    wins = np.bincount(places, minlength=count * (size + 1)).reshape(count, -1).cumsum(axis=1)
    worth = np.bincount(places, world.values, count * (size + 1)).reshape(count, -1).cumsum(axis=1)
    best = (worth[:, :-1] - BIDS * wins[:, :-1]).argmax(axis=1)
    amounts = np.minimum(BIDS[best][group], world.values)
    won = np.where(world.prices > 0, world.prices, -np.inf) <= amounts
    return float(np.where(won, world.values - amounts, 0.0).sum())


def responses(world: World, groups: Integers | None = None) -> float:
    """Return what the best bid at each value earns, by all prices or those of its group."""
    group = np.zeros(world.values.size, dtype=np.int64) if groups is None else groups
    size = BIDS.size
    places = group * (size + 1) + cells_of(world.prices)
    counts = np.bincount(places, minlength=(int(group.max()) + 1) * (size + 1))
    wins = counts.reshape(-1, size + 1).cumsum(axis=1)[:, :-1]
    total = 0.0
    for start in range(0, world.values.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        values = world.values[part]
        earned = (values[:, None] - BIDS) * wins[group[part]]
        bids = np.where(values[:, None] >= BIDS, earned, -1.0).argmax(axis=1)
        total += surplus(world.taken(np.arange(part.start, part.start + values.size)), bids)
    return total


def shading(world: World) -> float:
    """Return what the best of some fixed fractions of the value earns."""
    prices = np.where(world.prices > 0, world.prices, -np.inf)
    return max(
        float(np.where(prices <= f * world.values, (1 - f) * world.values, 0.0).sum())
        for f in np.arange(0.1, 1.0, 0.1)
    )


def without_grid(world: World, seed: int = 0) -> Floats:
    """Return what a bidder without a grid earns in each auction, told prices after a loss."""
    bidder, earned = FirstPriceBidder(seed=seed), np.zeros(world.values.size)
    for i, (value, price) in enumerate(zip(*(c.tolist() for c in world[:2]), strict=True)):
        bid = bidder.bid(value)
        won = float(bid) >= price
        bidder.settle(bid, won=won, highest_competing_bid=None if won else price)
        earned[i] = value - float(bid) if won else 0.0
    return earned


def exact_bands(world: World) -> float:
    """Return what the best amount or the best share earns in each of 25 bands, in hindsight.

    All prices are candidates. The bands have equally many auctions.
    """
    total = 0.0
    for rows in np.array_split(world.values.argsort(), BANDS):
        values, prices = world.values[rows], world.prices[rows]
        order = prices.argsort()
        amounts, wins = prices[order], np.arange(1, order.size + 1)
        fixed = values[order].cumsum() - amounts * wins
        total += max(best_share(values, prices), fixed[amounts <= values.min()].max(initial=0.0))
    return total


def best_share(values: Floats, prices: Floats) -> float:
    """Return what the best fixed share of the value earns, in hindsight."""
    order = (prices / values).argsort()
    shares = (prices / values)[order]
    return float(((1.0 - shares) * values[order].cumsum()).max())


def shrunk(world: World, bids: Floats) -> float:
    """Return what a Kaplan-Meier per band of values earns, with 30 pseudo-observations of all."""
    cuts = np.quantile(world.values, np.linspace(0, 1, 9)[1:-1])
    band = cuts.searchsorted(world.values, "right").tolist()
    told, risk = np.zeros((9, bids.size + 1)), np.full((9, bids.size + 1), 1e-9)
    total = 0.0
    for b, value, price in zip(band, world.values.tolist(), world.prices.tolist(), strict=True):
        pool = told[8] / risk[8]
        stay = 1.0 - (told[b] + 30.0 * pool) / (risk[b] + 30.0)
        chances = np.multiply.accumulate(stay[:0:-1])[::-1]
        bid = float(bids[((value - bids) * chances).argmax()])
        won = bid >= price
        total += value - bid if won else 0.0
        cell = int(bids.searchsorted(bid if won else price))
        for row in (b, 8):
            risk[row, cell + 1 if won else cell :] += 1.0
            told[row, cell] += 0.0 if won else 1.0
    return total
