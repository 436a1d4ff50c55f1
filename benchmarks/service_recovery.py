"""How fast outcomes become durable and are learned, and how long recovery takes.

    python -m benchmarks.service_recovery

In one process, without HTTP: reports in batches of 1,000 from one thread, single reports from 16
threads, then the log is read again from the first checkpoint. Both stores, on this machine's disk.
Each line also has the ratio to `settle_many` on the same tokens in memory, in the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.postgresql_server import PostgresqlServer, programs
from crossbandit.service import BidderSettings, Node, Outcome, open_store
from crossbandit.service.live import restored
from crossbandit.service.recovery import restore

if TYPE_CHECKING:
    from crossbandit.applications import FirstPriceBidder

SETTINGS = BidderSettings(value_range=(0, 10), bids=100, seed=1, missing="accept")
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


def measure(address: str, batches: int, singles: int, base: float) -> None:
    """Measure a store, and print what was found."""
    node = Node(open_store(address), checkpoint_entries=1 << 60, checkpoint_seconds=1e9, poll=0.2)
    node.start()
    node.create("shop", SETTINGS)
    session = open_store(address).session()
    first, bidder = session.checkpoints(1)[0], session.bidders()[0].id
    many = outcomes(node.bidder("shop"), batches + singles, 1)
    parts = [many[start : start + _BATCH] for start in range(0, batches, _BATCH)]
    before = time.perf_counter()
    for done in [node.report("shop", part) for part in parts]:
        done.result()
    durable = time.perf_counter() - before
    while node.figures("shop").learned < batches:
        time.sleep(0.02)
    learned = time.perf_counter() - before
    said("reported in batches of 1,000, durable", batches / durable, base)
    said("... and learned", batches / learned, base)
    before = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda one: node.report("shop", [one]).result(), many[batches:]))
    said(
        f"reported singly by {_THREADS} threads, durable",
        singles / (time.perf_counter() - before),
        base,
    )
    while node.figures("shop").lag:
        time.sleep(0.02)
    total = batches + singles
    before = time.perf_counter()
    live = restored(first, None)
    loaded = time.perf_counter() - before
    for one in session.entries(bidder, 0, 1 << 40):
        live.learn(one)
    spent = time.perf_counter() - before
    said("read again from the log", total / spent, base)
    print(f"    recovery: {1e6 * spent / total:.1f} s per million outcomes since the checkpoint")
    print(f"    loading an empty checkpoint: {1e3 * loaded:.0f} ms")
    node.close()
    before = time.perf_counter()
    again = restore(session, bidder, None)
    assert again.checkpoint() == live.checkpoint(), "the states differ"
    loaded = time.perf_counter() - before
    print(f"    loading a checkpoint of {total:,} outcomes: {1e3 * loaded:.0f} ms")
    session.close()


def said(what: str, rate: float, base: float) -> None:
    """Print a rate."""
    print(f"    {what}: {rate:,.0f} a second ({rate / base:.2f} of settle_many in memory)")


def main() -> None:
    """Measure both stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--singles", type=int, default=10_000)
    given = parser.parse_args()
    in_memory(2 * _BATCH)  # compile
    base = in_memory(given.batches)
    print(f"settle_many on tokens in memory: {base:,.0f} outcomes a second")
    with tempfile.TemporaryDirectory() as folder:
        print("SQLite")
        measure(str(Path(folder) / "service.db"), given.batches, given.singles, base)
    if programs() is not None:
        with PostgresqlServer() as server:
            print("PostgreSQL, on this machine")
            measure(server.address, given.batches, given.singles, base)


if __name__ == "__main__":
    main()
