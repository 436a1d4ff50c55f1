"""Scale: continuous contexts, thousands of arms, ten million rounds, many seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.building import bare
from benchmarks.measure import Result, medians, peak_memory
from crossbandit import CrossGraph, Problem, environments, graphs, simulate, simulate_many
from crossbandit.environments import BlockEnvironment
from crossbandit.environments.environment import row_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.core.blocks import LossBlock
    from crossbandit.core.types import Floats
    from crossbandit.environments.simulation.run import RecordKind

SEED = 200


class Auctions(BlockEnvironment):
    """First-price auctions: `bids` bids, `values` equally likely values, losses linear in them."""

    def __init__(self, bids: int, values: int, horizon: int) -> None:
        self.problem = Problem(graphs.threshold(bids), features=2, horizon=horizon)
        self.context_distribution = EvenValues(values)
        self._bids = np.linspace(0, 1, bids)

    def block(self, start: int, stop: int) -> LossBlock:
        # A price for each round, whatever batch it is asked for in.
        price = (np.arange(start, stop) * 0.6180339887498949 % 1.0) ** 2
        won = (price[:, None] <= self._bids).astype(float)
        return row_block(np.stack([(1 + won * self._bids) / 2, -won / 2], axis=2))


class EvenValues:
    """The vectors (1, value) of `count` equally likely values in [0, 1]; none is stored."""

    probabilities = None

    def __init__(self, count: int) -> None:
        self._count = count

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Return `count` vectors."""
        value = np.floor(generator.random(count) * self._count) / max(1, self._count - 1)
        return np.stack([np.ones(count), value], axis=1)


def results() -> Iterator[Result]:
    """Measure every claim about scale."""
    yield from _contexts()
    yield _arms()
    yield _softmaxes()
    yield _dense()
    yield from _rounds()
    yield _seeds()


def _contexts() -> Iterator[Result]:
    few, many = (Auctions(100, values, 20_000) for values in (10, 1_000_000))
    small, large = medians(
        lambda: simulate(CrossGraph(), few, seed=SEED),
        lambda: simulate(CrossGraph(), many, seed=SEED),
    )
    yield Result(
        "factored, K = 100: a round at M = 10^6 against M = 10", large / small, 1.2, "times"
    )
    memory = [_peak_memory(f"Auctions(100, {values}, 20_000)") for values in (10, 1_000_000)]
    yield Result("the same: peak memory", memory[1] / memory[0], 1.1, "times")


def _arms() -> Result:
    small, large = (Auctions(arms, 1_000_000, 2_000) for arms in (1_000, 10_000))
    fast, slow = medians(
        lambda: simulate(CrossGraph(), small, seed=SEED),
        lambda: simulate(CrossGraph(), large, seed=SEED),
        repetitions=5,
    )
    return Result("factored: a round at K = 10,000 against K = 1,000", slow / fast, 12, "times")


def _softmaxes() -> Result:
    rounds, arms = 20_000, 100
    environment = Auctions(arms, 1_000_000, rounds)
    scores, out = np.random.default_rng(0).random((rounds, arms)) * 10, np.empty(arms)
    ones = np.ones(rounds)
    run, softmaxes = medians(
        lambda: simulate(CrossGraph(), environment, seed=SEED),
        lambda: bare().softmaxes(ones, scores, 4, out),
    )
    return Result(
        "factored, K = 100: a round against four bare softmaxes",
        run / softmaxes,
        2.5,
        "times",
    )


def _dense() -> Result:
    small, large = (
        environments.paper_benchmark(2_000, alpha=4, contexts=m) for m in (1_000, 100_000)
    )
    fast, slow = medians(
        lambda: simulate(CrossGraph(), small, seed=SEED, factored=False),
        lambda: simulate(CrossGraph(), large, seed=SEED, factored=False),
        repetitions=5,
    )
    return Result("dense: a round at M = 100,000 against M = 1,000", slow / fast, 110, "times")


def _rounds() -> Iterator[Result]:
    million, ten_million = (Auctions(9, 1_000, rounds) for rounds in (10**6, 10**7))
    fast, slow = medians(
        lambda: simulate(CrossGraph(), million, seed=SEED, record="thin"),
        lambda: simulate(CrossGraph(), ten_million, seed=SEED, record="thin"),
        repetitions=3,
    )
    yield Result("factored, K = 9: 10^7 rounds against 10^6", slow / fast, 10.5, "times")
    memory = [_peak_memory(f"Auctions(9, 1_000, 10**{power})", "thin") for power in (6, 7)]
    yield Result("the same: peak memory", memory[1] / memory[0], 1.02, "times")


def _seeds() -> Result:
    environment = environments.paper_benchmark(100_000, alpha=4)
    seeds = range(20)
    one_by_one, together = medians(
        lambda: [simulate(CrossGraph(), environment, seed=seed) for seed in seeds],
        lambda: simulate_many(CrossGraph(), environment, seeds, jobs=2),
        repetitions=5,
    )
    return Result(
        "simulate_many, 20 seeds on two cores, against 20 calls",
        one_by_one / together,
        1.7,
        "times faster",
        at_least=True,
    )


def _peak_memory(environment: str, record: str = "full") -> float:
    """Return the peak memory, in bytes, of a process that runs one simulation."""
    script = f"import benchmarks.scale as s; s.report_peak(s.{environment}, {record!r})"
    output = subprocess.run(
        [sys.executable, "-c", script], env=os.environ, check=True, capture_output=True, text=True
    )
    return float(output.stdout)


def report_peak(environment: Any, record: RecordKind) -> None:
    """Run one simulation and print the peak memory of this process."""
    simulate(CrossGraph(), environment, seed=SEED, record=record)
    print(peak_memory() * 2**20)
