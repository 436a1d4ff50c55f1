"""Replaying a log: time against reading it and one softmax per auction, memory, and regret."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from benchmarks.building import bare
from benchmarks.measure import Result, medians, peak_memory
from crossbandit.logs.replay import AuctionLog, ReplayRules, make_log, replay

if TYPE_CHECKING:
    from collections.abc import Iterator

BIDS = 100
AUCTIONS = 1_000_000
HORIZONS = tuple(10_000 * 2**i for i in range(7))
SEEDS = 5
LEARNER = "law"
LEARNERS = 3
OTHERS = ("best responses", "fractions")


def results() -> Iterator[Result]:
    """Measure every claim about replays."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _time(Path(folder))
        yield from _memory(Path(folder))
        yield _slope(Path(folder))


def _time(folder: Path) -> Iterator[Result]:
    log = make_log(folder / "log.csv", AUCTIONS)
    rules = ReplayRules(bids=BIDS)
    learner, command, bare = medians(
        lambda: replay(log, rules=rules, strategies=[LEARNER, *OTHERS], seeds=1),
        lambda: replay(log, rules=rules),
        lambda: _read_and_softmax(log),
        repetitions=3,
    )
    name = "replay of 10^6 auctions, 100 bids, against reading them and a softmax each"
    yield Result(f"{name}: the default learner, one seed", learner / bare, 10, "times")
    yield Result(
        "the same: three learners, five seeds, per run of a learner",
        command / bare / (LEARNERS * SEEDS),
        10,
        "times",
    )


def _read_and_softmax(log: Path) -> float:
    columns = duckdb.connect().read_csv(str(log)).fetchnumpy()
    values = np.ascontiguousarray(columns["value"], dtype=np.float64)
    scores = np.linspace(0.0, 10.0, BIDS)
    return float(bare().softmaxes(values, scores[None], 1, np.empty(BIDS)))


def _memory(folder: Path) -> Iterator[Result]:
    """Compare the peak memory of two processes."""
    small, large = (
        _peak_memory(make_log(folder / f"{auctions}.csv", auctions))
        for auctions in (4 * AUCTIONS, 16 * AUCTIONS)
    )
    yield Result(
        "replay: peak memory at 16 * 10^6 auctions against 4 * 10^6", large / small, 1.1, "times"
    )


def _peak_memory(log: Path) -> float:
    script = f"import benchmarks.replay as r; r.report_peak({str(log)!r})"
    output = subprocess.run(
        [sys.executable, "-c", script], env=os.environ, check=True, capture_output=True, text=True
    )
    return float(output.stdout)


def report_peak(log: str) -> None:
    """Replay a log with few bids and print the peak memory of this process."""
    strategies = [LEARNER, "best responses", "shading 0.5", "truthful"]
    replay(log, rules=ReplayRules(bids=3), strategies=strategies, seeds=1)
    print(peak_memory() * 2**20)


def _slope(folder: Path) -> Result:
    log = make_log(folder / "known.parquet", HORIZONS[-1], laws="known")
    regrets = []
    for horizon in HORIZONS:
        short = AuctionLog(log, limit=horizon)
        result = replay(short, strategies=["cross-graph", *OTHERS], seeds=SEEDS)
        best = result.outcome("best fixed policy")  # the comparator of the theorem
        regrets.append(best.mean_surplus - result.outcomes[0].mean_surplus)
    slope = float(np.polyfit(np.log(HORIZONS), np.log(regrets), 1)[0])
    return Result(
        "cross-graph on known laws, 100 bids: slope of log regret in log T", slope, 0.6, ""
    )
