"""Logs of 20 million auctions: processor time and peak memory.

Four strategies are replayed, one of them learns. `python -m benchmarks.log_sizes 1_000_000` prints
the same for another size, and for the same log sorted by time first, for bids that are joined with
notices, and for an evaluation of the same log with prices told after a loss. Each runs in a process
of its own. `python -m benchmarks.log_sizes 100_000_000 "as it is"` takes half an hour with the
making of the log. A replay of a hundred million auctions (Parquet) took 447 s of processor time and
342 MB; an evaluation of thirty million took 342 s and 414 MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks.measure import Result, peak_memory
from crossbandit.logs import AuctionLog, make_log
from crossbandit.logs.evaluate import evaluate, open_censored
from crossbandit.logs.replay import ReplayRules, replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STRATEGIES = ["law", "best responses", "shading 0.5", "truthful"]
EVALUATED = "evaluated"
_SMALL = 10_000  # auctions
WAYS = ("as it is", "sorted", "joined", EVALUATED)


def measure(path: str, way: str) -> None:
    """Replay a log, and print the number of auctions, the processor time and the peak memory."""
    began = time.process_time()
    if way == EVALUATED:
        read = open_censored(AuctionLog(path, columns={"bid": "bid", "won": "won"}), in_memory=0)
        _print(evaluate(read.log, fractions=[0.5]).auctions, began)
        return
    options: dict[str, Any] = {"sort_by": "timestamp"} if way == "sorted" else {}
    result = replay(
        AuctionLog(path, **options),
        rules=ReplayRules(bids=100),
        strategies=STRATEGIES,
        seeds=1,
        jobs=1,
    )
    _print(result.auctions, began)


def _print(auctions: int, began: float) -> None:
    print(json.dumps([auctions, time.process_time() - began, peak_memory()]))


def write_censored(log: Path) -> Path:
    """Write the same auctions with bids at random, who won, and the price where they lost."""
    path = log.with_name("censored.parquet")
    bids = f"SELECT *, value * (0.3 + 0.6 * random()) AS bid FROM read_csv('{log}')"  # noqa: S608
    query = (
        "SELECT value, bid, bid >= highest_competing_bid AS won, CASE WHEN "  # noqa: S608
        "bid < highest_competing_bid THEN highest_competing_bid END AS min_bid_to_win "
        f"FROM ({bids})"
    )
    with duckdb.connect(config={"memory_limit": "256MB", "threads": 1}) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def write_notices(log: Path) -> Path:
    """Write bids, and then wins and losses with the least bid to win, as JSON lines."""
    path = log.with_name("notices.jsonl")
    query = """
        SELECT {'auction_id': i, 'value': value, 'bid': value / 2} AS line FROM numbered
        UNION ALL SELECT {'AUCTION_ID': i, 'AUCTION_LOSS': CASE WHEN value / 2 >=
            highest_competing_bid THEN 0 ELSE 102 END,
            'AUCTION_MIN_TO_WIN': highest_competing_bid} FROM numbered
    """
    with duckdb.connect(config={"memory_limit": "256MB"}) as connection:
        numbered = f"SELECT row_number() OVER () AS i, * FROM read_csv('{log}')"  # noqa: S608
        connection.execute(f"CREATE VIEW numbered AS {numbered}")
        lines = f"SELECT to_json(line) AS line FROM ({query})"  # noqa: S608
        connection.execute(
            f"COPY ({lines}) TO '{path}' (FORMAT csv, HEADER false, QUOTE '', DELIMITER '\x01')"
        )
    return path


def measured(auctions: int, ways: Sequence[str]) -> Iterator[tuple[str, int, float, float]]:
    """Yield each way, the number of auctions, the processor time and the peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        small = make_log(Path(folder) / "small" / "log.csv", _SMALL)
        log = make_log(Path(folder) / "log.csv", auctions)
        for way in ways:
            _run(small, way)  # compiles what is not in the cache
            yield way, *_run(log, way)


def _run(log: Path, way: str) -> tuple[int, float, float]:
    """Return the number of auctions, the processor time and the peak memory of one process."""
    write = {"joined": write_notices, EVALUATED: write_censored}.get(way)
    path = log if write is None else write(log)
    script = f"import benchmarks.log_sizes as b; b.measure({str(path)!r}, {way!r})"
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, env=os.environ, check=True, capture_output=True, text=True)
    count, seconds, peak = json.loads(run.stdout)
    return count, seconds, peak


def results() -> Iterator[Result]:
    """Measure a log of 20 million auctions as it is."""
    for _, count, seconds, peak in measured(20_000_000, WAYS[:1]):
        yield Result("20 million auctions", seconds, 177, "seconds of processor time")
        rate = count / seconds
        yield Result("the same: per second and core", rate, 113_000, "auctions", at_least=True)
        yield Result("the same: peak memory", peak, 332, "MB")


def main(auctions: int, ways: Sequence[str]) -> None:
    """Measure each way, and print a line for it."""
    for way, count, seconds, peak in measured(auctions, ways):
        print(
            f"{way}: {count:,} auctions, {seconds:.0f} s of processor time, "
            f"{count / seconds:,.0f} auctions per second and core, peak {peak:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000, sys.argv[2:] or WAYS)
