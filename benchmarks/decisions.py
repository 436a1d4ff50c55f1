"""Decisions that carry what learning needs: batches, tokens, snapshots, and how long a save blocks.

Ratios to `act` and `learn` of the same learner, the adaptive one with 100 bids.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Result, medians
from crossbandit import CrossGraphAdaptive, Problem, graphs
from crossbandit.algorithms.seen import SeenDecisions

if TYPE_CHECKING:
    import threading
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
        learner.learn_many(made["many"], [rows[arm] for arm in made["many"].arms])

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


class _Timed:
    """A lock that notes for how long it was held."""

    def __init__(self, lock: threading.RLock, held: list[float]) -> None:
        self._lock: Any = lock
        self._held = held
        self._since = 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._held.append(time.perf_counter() - self._since)
        self._lock.release()
