"""Logs of 20 million auctions: processor time and peak memory.

Four strategies are replayed, one of them learns. `python -m benchmarks.log_sizes 1_000_000` prints
the same for another size, and for the same log sorted by time first, and for bids that are joined
with notices. Each runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks.measure import Result
from crossbandit.logs import AuctionLog, make_log
from crossbandit.replay import ReplayRules, replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STRATEGIES = ["law", "best responses", "shading 0.5", "truthful"]
WAYS = ("as it is", "sorted", "joined")


def measure(path: str, way: str) -> None:
    """Replay a log, and print the number of auctions, the processor time and the peak memory."""
    began = time.process_time()
    options: dict[str, Any] = {"sort_by": "timestamp"} if way == "sorted" else {}
    result = replay(
        AuctionLog(path, **options),
        rules=ReplayRules(bids=100),
        strategies=STRATEGIES,
        seeds=1,
        jobs=1,
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([result.auctions, time.process_time() - began, peak]))


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
        log = make_log(Path(folder) / "log.csv", auctions)
        for way in ways:
            path = write_notices(log) if way == "joined" else log
            script = f"import benchmarks.log_sizes as b; b.measure({str(path)!r}, {way!r})"
            run = subprocess.run(
                [sys.executable, "-c", script],
                env=os.environ,
                check=True,
                capture_output=True,
                text=True,
            )
            count, seconds, peak = json.loads(run.stdout)
            yield way, count, seconds, peak


def results() -> Iterator[Result]:
    """Measure a log of 20 million auctions as it is."""
    for _, count, seconds, peak in measured(20_000_000, WAYS[:1]):
        yield Result("20 million auctions", seconds, 177, "seconds of processor time")
        rate = count / seconds
        yield Result("the same: per second and core", rate, 113_000, "auctions", at_least=True)
        yield Result("the same: peak memory", peak, 400, "MB")


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
