"""Decisions that carry what learning needs: batches, tokens, snapshots, and how long a save blocks.

Ratios to `act` and `learn` of the same learner, the adaptive one with 100 bids.
"""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Result, medians
from crossbandit import CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms.learners.seen import SeenDecisions
from crossbandit.applications import FirstPriceBidder
from crossbandit.limits import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Learner

COUNT = 1_000
ARMS = 100
CONTEXT = np.array([1.0, 0.5])


def results() -> Iterator[Result]:
    """Measure every claim about decisions."""
    yield from _batches()
    yield from _tokens()
    yield _seen()
    yield _blocking()
    yield from _bidder_blocking()


def _learner() -> Learner:
    problem = Problem(graphs.threshold(ARMS, reveals="higher"), features=2)
    return CrossGraphAdaptive().start(problem, seed=1)


def _rows(learner: Learner) -> list[Any]:
    return [np.full((len(learner.reveals(arm)), 2), 0.25) for arm in range(ARMS)]


def _batches() -> Iterator[Result]:
    learner = _learner()
    rows = _rows(learner)
    contexts = [CONTEXT] * COUNT
    made: dict[str, Any] = {}

    def act() -> None:
        made["one"] = [learner.act(CONTEXT) for _ in range(COUNT)]

    def act_many() -> None:
        made["many"] = learner.act_many(contexts)

    def learn() -> None:
        for one in made["one"]:
            learner.learn(one, rows[one.arm])

    def learn_many() -> None:
        learner.learn_many(made["many"], [rows[one.arm] for one in made["many"]])

    acting, acting_many, learning, learning_many = medians(
        act, act_many, learn, learn_many, repetitions=11
    )
    yield Result("act_many against act, a decision", acting_many / acting, 0.7, "times")
    yield Result("learn_many against learn, a decision", learning_many / learning, 1.0, "times")


def _tokens() -> Iterator[Result]:
    learner = _learner()
    snapshot = learner.snapshot(seed=1)
    decisions = [learner.act(CONTEXT) for _ in range(COUNT)]
    tokens = [one.token for one in decisions]

    def act() -> None:
        for _ in range(COUNT):
            learner.act(CONTEXT)

    def decide() -> None:
        for _ in range(COUNT):
            snapshot.act(CONTEXT)

    def encode() -> None:
        for one in decisions:
            one.token  # noqa: B018 - it is made when it is asked for

    def decode() -> None:
        for token in tokens:
            learner.expects(token)

    acting, deciding, encoding, decoding = medians(act, decide, encode, decode, repetitions=11)
    yield Result("act of a snapshot against act", deciding / acting, 2.0, "times")
    yield Result("making a token against act", encoding / acting, 1.5, "times")
    yield Result("reading a token against act", decoding / acting, 4.0, "times")
    yield Result("the longest token of 100 bids", max(map(len, tokens)), 1_000, "bytes")


def _seen(rate: int = 2_000, window: int = 7_200) -> Result:
    now = [0.0]
    seen = SeenDecisions(window=window, clock=lambda: now[0])
    for start in range(0, 2 * rate * window, 20_000):
        now[0] = start / rate
        counters = np.arange(start, start + 20_000)
        seen.put_many("0" * 16, counters, counters / rate)
    name = "memory of two hours at 2,000 decisions a second"
    return Result(name, seen.nbytes / 1e6, 50, "MB")


def _blocking() -> Result:
    """Measure the longest time for which `save` keeps others from deciding: how long it has a lock.

    The learner has learned from an hour of 2,000 decisions a second.
    """
    learner = _learner()
    counters = np.arange(3_600 * 2_000)
    learner.learned_from.put_many(learner.id, counters, np.full(counters.size, time.time()))
    held: list[float] = []
    learner._lock = _Timed(learner._lock, held)  # type: ignore[assignment] # noqa: SLF001
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(11):
            learner.save(Path(folder) / "learner")
    return Result("save blocks others", 1e3 * sorted(held)[len(held) // 2], 1.0, "ms")


def _bidder_blocking() -> Iterator[Result]:
    """Measure the slowest bids while a bidder is saved.

    The bidder has 4,000 classes, an hour of 2,000 decisions a second, and 1,000 bids without an
    outcome.
    """
    for name, limit in (("a bidder", None), ("a bidder with a budget", Budget(1e6))):
        own = FirstPriceBidder(
            bids=ARMS, value_range=(0, 1), classes=["site"], budget=limit, seed=1
        )
        values = np.random.default_rng(0).uniform(0.2, 1.0, 8_000)
        sites = np.arange(values.size) % 4_000
        own.warm_up(values, 0.5 * values, site=sites)
        counters = np.arange(3_600 * 2_000)
        learner = own.learner
        learner.seen.put_many(learner.id, counters, np.full(counters.size, time.time()))
        for _ in range(1_000):
            own.bid(0.9, site=1)  # no outcome comes
        with tempfile.TemporaryDirectory() as folder, _bidding(own) as free:
            time.sleep(2.0)
            usual, free[:] = sorted(free), []
            for _ in range(11):
                own.save(Path(folder) / "bidder")
            loaded = sorted(free)
        slow = [1e3 * column[int(0.99 * len(column))] for column in (usual, loaded)]
        label = f"99 % of bids of {name} are faster while it is saved ({slow[0]:.3f} ms otherwise)"
        yield Result(label, slow[1], 10.0, "ms")


@contextmanager
def _bidding(own: FirstPriceBidder) -> Iterator[list[float]]:
    """Let a thread bid all the time; it notes how long each bid takes."""
    times: list[float] = []
    ended = threading.Event()

    def bid() -> None:
        while not ended.is_set():
            began = time.perf_counter()
            own.bid(0.9, site=1)
            times.append(time.perf_counter() - began)
            time.sleep(0.0005)

    thread = threading.Thread(target=bid)
    thread.start()
    try:
        yield times
    finally:
        ended.set()
        thread.join()


class _Timed:
    """A lock that notes for how long one thread held it."""

    def __init__(self, lock: Any, held: list[float]) -> None:
        self._lock = lock
        self._held = held
        self._since = 0.0
        self.thread = threading.get_ident()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() == self.thread:
            self._held.append(time.perf_counter() - self._since)
        self._lock.release()
