"""How fast outcomes become durable and are learned, and how long recovery takes.

In one process, without HTTP: reports in batches of 1,000 from one thread, single reports from 16
threads, then the log is read again from the first checkpoint, and must give the same bytes. Both
stores, on this machine's disk. Notes have the ratio to `settle_many` on the same tokens in memory,
in the same run.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Result
from benchmarks.postgresql_server import PostgresqlServer, programs
from crossbandit.service import BidderSettings, Node, Outcome, open_store
from crossbandit.service.bidder import LiveBidder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.applications import FirstPriceBidder

SETTINGS = BidderSettings(value_range=(0, 10), bids=100, seed=1, missing="accept")
BATCHES, SINGLES = 100_000, 10_000  # outcomes
_BATCH, _THREADS = 1_000, 16


def outcomes(bidder: FirstPriceBidder, count: int, seed: int) -> list[Outcome]:
    """Return the outcomes of some auctions."""
    rng = np.random.default_rng(seed)
    made = bidder.bid_many(rng.uniform(1, 10, count))
    prices = rng.uniform(0.1, 6, count)
    return [
        Outcome(bid.text, won, None if won else float(price))
        for bid, price in zip(made, prices, strict=True)
        if bid.amount is not None
        for won in [bid.amount >= price and bid.amount > 0]
    ]


def in_memory(count: int) -> float:
    """Return how many outcomes a second `settle_many` learns from tokens in memory."""
    bidder = SETTINGS.build()
    given = outcomes(bidder.snapshot(0), count, 0)
    before = time.perf_counter()
    for start in range(0, count, _BATCH):
        part = given[start : start + _BATCH]
        prices = [one.highest_competing_bid or np.nan for one in part]
        bidder.settle_many(
            [one.token for one in part],
            won=[one.won for one in part],
            highest_competing_bid=prices,
        )
    return count / (time.perf_counter() - before)


def measure(store: str, address: str, base: float) -> Iterator[Result]:
    """Yield what is measured of a store.

    Args:
        store: Its name.
        address: Its address.
        base: How many outcomes a second `settle_many` learns in memory.
    """
    node = Node(open_store(address), checkpoint_entries=1 << 60, checkpoint_seconds=1e9, poll=0.2)
    node.start()
    node.create("shop", SETTINGS)
    session = open_store(address).session()
    first, bidder = session.checkpoints(1)[0], session.bidders()[0].id
    many = outcomes(node.bidder("shop"), BATCHES + SINGLES, 1)
    parts = [many[start : start + _BATCH] for start in range(0, BATCHES, _BATCH)]
    before = time.perf_counter()
    for done in [node.report("shop", part) for part in parts]:
        done.result()
    durable = BATCHES / (time.perf_counter() - before)
    while node.figures("shop").learned < BATCHES:
        time.sleep(0.02)
    learned = BATCHES / (time.perf_counter() - before)
    yield _rate(f"{store}: durable, in batches of 1,000", durable, 20_000, base)
    yield _rate(f"{store}: the same, durable and learned", learned, 10_000, base)
    before = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda one: node.report("shop", [one]).result(), many[BATCHES:]))
    single = SINGLES / (time.perf_counter() - before)
    yield _rate(f"{store}: durable, singly by {_THREADS} threads", single, 2_000, base)
    while node.figures("shop").lag:
        time.sleep(0.02)
    before = time.perf_counter()
    live = LiveBidder(key=session.key()).load(first)
    for one in session.entries(bidder, 0, 1 << 40):
        live.learn(one)
    spent = 1e6 * (time.perf_counter() - before) / (BATCHES + SINGLES)
    yield Result(
        f"{store}: recovery of a million outcomes since a checkpoint", spent, 60, "seconds"
    )
    node.close()
    before = time.perf_counter()
    again = LiveBidder(number=bidder).restore(session)
    loaded = time.perf_counter() - before
    assert again.checkpoint() == live.checkpoint(), "the states differ"
    yield Result(f"{store}: recovery from the last checkpoint", loaded, 5, "seconds")
    session.close()


def _rate(what: str, rate: float, aim: float, base: float) -> Result:
    note = f"{rate / base:.2f} of settle_many in memory"
    return Result(what, rate, aim, "a second", at_least=True, note=note)


def results() -> Iterator[Result]:
    """Measure both stores; PostgreSQL if it is installed."""
    in_memory(2 * _BATCH)  # compile
    base = in_memory(BATCHES)
    with tempfile.TemporaryDirectory() as folder:
        yield from measure("SQLite", str(Path(folder) / "service.db"), base)
    if programs() is not None:
        with PostgresqlServer() as server:
            yield from measure("PostgreSQL", server.address, base)
