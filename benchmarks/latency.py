"""What one auction costs a bidder, as ratios to a Kaplan-Meier bidder in plain NumPy.

`KaplanMeier` is what an engineer would write in an afternoon, in 20 lines of NumPy: counts of
competing bids on the grid of bids, no contexts, no exploration, no validation, no protection
against settling twice. It does the least that is possible: a settled auction adds to two counts,
and everything is computed from these when a bid is made, by three operations on arrays.
`CheckedKaplanMeier` also knows its bids by a number, and refuses what is wrong or comes twice.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Result
from crossbandit import CrossGraphAdaptive
from crossbandit.applications import FirstPriceBidder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.core.types import Floats

BIDS, BATCH, BATCHES, WARM = 100, 1_000, 15, 20_000


class KaplanMeier:
    """Bids what earns most under the product-limit estimate of the price's distribution."""

    def __init__(self, bids: Floats) -> None:
        self.bids = bids
        self.told = np.zeros(bids.size + 1)
        self.risk = np.full(bids.size + 1, 1e-9)

    def bid(self, value: float) -> float:
        stay = 1.0 - self.told[:0:-1] / self.risk[:0:-1]
        chances = np.multiply.accumulate(stay)[::-1]
        return float(self.bids[((value - self.bids) * chances).argmax()])

    def settle(self, bid: float, won: bool, price: float | None) -> None:  # noqa: FBT001
        cell = self.bids.searchsorted(bid if won or price is None else price)
        if won:
            self.risk[cell + 1 :] += 1.0
        else:
            self.told[cell] += 1.0
            self.risk[cell:] += 1.0


class CheckedKaplanMeier(KaplanMeier):
    """The same as one would run it: bids are known by a number, and settled once."""

    def __init__(self, bids: Floats) -> None:
        super().__init__(bids)
        self.highest = float(bids[-1])
        self.pending: dict[int, float] = {}
        self.made = 0

    def bid_for(self, value: float) -> tuple[int, float]:
        if not 0.0 <= value <= self.highest:
            raise ValueError(f"the value {value} is out of range")
        self.made += 1
        bid = self.pending[self.made] = self.bid(value)
        return self.made, bid

    def settle_by_number(self, number: int, won: bool, price: float | None) -> None:  # noqa: FBT001
        bid = self.pending.pop(number, None)
        if bid is None:
            raise ValueError(f"bid {number} is unknown, or was settled before")
        if not won and (price is None or not bid <= price < np.inf):
            raise ValueError(f"bid {number} cannot have lost against {price}")
        self.settle(bid, won, price)


def auctions(count: int, seed: int) -> tuple[Floats, Floats]:
    """Return values, and competing bids that go with them."""
    generator = np.random.default_rng(seed)
    values = generator.uniform(0.2, 1.0, count)
    return values, values * generator.beta(2, 3, count)


def results() -> Iterator[Result]:
    """Measure all claims of this group."""
    bids = np.linspace(0, 1, BIDS)
    rival, own, checked = KaplanMeier(bids), _bidder(), CheckedKaplanMeier(bids)
    graph = _bidder(algorithm=CrossGraphAdaptive())
    values, prices = auctions(WARM, 0)
    _many(own, values, prices)
    _theirs(rival, values, prices)
    _checked(checked, values, prices)
    times: dict[str, list[float]] = {}
    for i in range(BATCHES + 2):
        values, prices = auctions(BATCH, i + 1)
        taken = dict(
            zip(("rival bid", "rival settle"), _theirs(rival, values, prices), strict=True)
        )
        taken["checked settle"] = _checked(checked, values, prices)
        taken |= dict(zip(("bid", "settle"), _ours(own, values, prices), strict=True))
        taken |= dict(zip(("graph bid", "graph settle"), _ours(graph, values, prices), strict=True))
        taken |= dict(zip(("bid_many", "settle_many"), _many(own, values, prices), strict=True))
        taken["rival alternating"] = _they_alternate(rival, values, prices)
        taken["alternating"] = _we_alternate(own, values, prices)
        if i >= 2:
            for name, one in taken.items():
                times.setdefault(name, []).append(one / BATCH)
    usual = {name: statistics.median(column) for name, column in times.items()}
    rivals = {"bid": usual["rival bid"], "settle": usual["rival settle"]}
    for name, bar in (("bid", 0.7), ("settle", 1.1), ("bid_many", 0.4), ("settle_many", 0.7)):
        base = rivals[name.removesuffix("_many")]
        note = f"{1e6 * usual[name]:.1f} against {1e6 * base:.1f} us"
        yield Result(f"{name}, K = 100", usual[name] / base, bar, "times", note=note)
    both, rival_both = usual["alternating"], usual["rival alternating"]
    note = f"{1e6 * both:.1f} against {1e6 * rival_both:.1f} us"
    yield Result("bid and settle, alternating", both / rival_both, 0.9, "times", note=note)
    for name, bar in (("settle", 1.1), ("settle_many", 0.7)):
        base = usual["checked settle"]
        note = f"{1e6 * usual[name]:.1f} against {1e6 * base:.1f} us"
        title = f"{name}, against a Kaplan-Meier that knows its bids by number"
        yield Result(title, usual[name] / base, bar, "times", note=note)
    graphs = (usual["graph bid"] + usual["graph settle"]) / sum(rivals.values())
    yield Result("bid and settle with CrossGraphAdaptive", graphs, 15.0, "times")


def _bidder(**options: Any) -> FirstPriceBidder:
    return FirstPriceBidder(bids=BIDS, value_range=(0, 1), seed=1, **options)


def _theirs(rival: KaplanMeier, values: Floats, prices: Floats) -> tuple[float, float]:
    given, told = values.tolist(), prices.tolist()
    began = time.process_time()
    bids = [rival.bid(value) for value in given]
    middle = time.process_time()
    won = [bid >= price for bid, price in zip(bids, told, strict=True)]
    again = time.process_time()
    for bid, has_won, price in zip(bids, won, told, strict=True):
        rival.settle(bid, has_won, price)
    return middle - began, time.process_time() - again


def _checked(rival: CheckedKaplanMeier, values: Floats, prices: Floats) -> float:
    told = prices.tolist()
    bids = [rival.bid_for(value) for value in values.tolist()]
    won = [bid >= price for (_, bid), price in zip(bids, told, strict=True)]
    again = time.process_time()
    for (number, _), has_won, price in zip(bids, won, told, strict=True):
        rival.settle_by_number(number, has_won, price)
    return time.process_time() - again


def _ours(own: FirstPriceBidder, values: Floats, prices: Floats) -> tuple[float, float]:
    given, told = values.tolist(), prices.tolist()
    began = time.process_time()
    bids = [own.bid(value) for value in given]
    middle = time.process_time()
    won = [float(bid) >= price and float(bid) > 0 for bid, price in zip(bids, told, strict=True)]
    outcomes = [None if w else p for w, p in zip(won, told, strict=True)]
    again = time.process_time()
    for bid, has_won, price in zip(bids, won, outcomes, strict=True):
        own.settle(bid, won=has_won, highest_competing_bid=price)
    return middle - began, time.process_time() - again


def _they_alternate(rival: KaplanMeier, values: Floats, prices: Floats) -> float:
    auctions_of = list(zip(values.tolist(), prices.tolist(), strict=True))
    began = time.process_time()
    for value, price in auctions_of:
        bid = rival.bid(value)
        rival.settle(bid, bid >= price, price)
    return time.process_time() - began


def _we_alternate(own: FirstPriceBidder, values: Floats, prices: Floats) -> float:
    """Learn from each outcome before the next bid, as an engine without delay does."""
    auctions_of = list(zip(values.tolist(), prices.tolist(), strict=True))
    began = time.process_time()
    for value, price in auctions_of:
        bid = own.bid(value)
        won = bid.amount is not None and bid.amount >= price
        own.settle(bid, won=won, highest_competing_bid=None if won else price)
    return time.process_time() - began


def _many(own: FirstPriceBidder, values: Floats, prices: Floats) -> tuple[float, float]:
    began = time.process_time()
    bids = own.bid_many(values)
    middle = time.process_time()
    won = (bids.amounts >= prices) & (bids.amounts > 0)
    told = np.where(won, np.nan, prices)
    again = time.process_time()
    own.settle_many(bids, won=won, highest_competing_bid=told)
    return middle - began, time.process_time() - again
