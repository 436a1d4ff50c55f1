"""The algorithms for all kinds of graphs: their speed, and how their regret grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Result, medians
from crossbandit import graphs, simulate
from crossbandit.algorithms import (
    BestOfBothWorlds,
    Elp,
    Exp3Edges,
    Exp3G,
    Exp3HighProbability,
    Exp3IX,
    Exp3Set,
    LinUcb,
    PerContextGraph,
    SuccessiveElimination,
    TsN,
    UcbN,
)
from crossbandit.environments import stochastic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph

ROUNDS = 50_000
SEEDS = range(10)
BASELINES: tuple[Algorithm, ...] = (
    BestOfBothWorlds(),
    Elp(),
    Exp3Edges(),
    Exp3G(),
    Exp3HighProbability(),
    Exp3IX(),
    Exp3Set(),
    LinUcb(),
    SuccessiveElimination(),
    TsN(),
    UcbN(),
)


def results() -> Iterator[Result]:
    """Measure every claim about these algorithms."""
    yield from _speed()
    yield from _growth()
    yield from _contexts()


def _speed() -> Iterator[Result]:
    """Measure a run of each with 10 arms and 10 contexts."""
    environment = stochastic(graphs.threshold(10), ROUNDS, contexts=10)
    every = (PerContextGraph(), *BASELINES)
    tasks = [lambda one=one: simulate(one, environment, seed=1) for one in every]
    usual, *times = medians(*tasks, repetitions=5)
    slowest = int(np.argmax(times))
    note = f"the slowest is {BASELINES[slowest].id}"
    rate = ROUNDS / times[slowest]
    yield Result("rounds a second of a baseline", rate, 200_000, "", at_least=True, note=note)
    yield Result(
        "a baseline against per-context-graph", times[slowest] / usual, 3.0, "times", note=note
    )


def _growth() -> Iterator[Result]:
    """Measure how regret grows from 10^4 to 10^5 rounds of stochastic losses, as an exponent."""
    weak, strong = graphs.revealing_action(5), graphs.singletons(5)
    yield Result("exponent of exp3-g, weak", _exponent(Exp3G(), weak), 0.70, "")
    for title, graph, bar in (("weak", weak, 0.5), ("strong", strong, 0.4)):
        algorithm = BestOfBothWorlds(cross_learning=False)
        name = f"exponent of best-of-both-worlds, {title}, stochastic"
        yield Result(name, _exponent(algorithm, graph), bar, "")


def _contexts() -> Iterator[Result]:
    """Measure what 1,000 contexts cost compared with one, with cross-learning."""
    weak = graphs.revealing_action(5)
    for algorithm in (Exp3G(), BestOfBothWorlds(), UcbN(), TsN()):
        graph = weak if algorithm.needs_observability == "weak" else graphs.threshold(5)
        few, many = (_regret(algorithm, graph, 20_000, contexts) for contexts in (1, 1000))
        yield Result(f"{algorithm.id}, 1,000 contexts against one", many / few, 1.5, "times")
    own = _regret(Exp3G(cross_learning=False), weak, 20_000, 1000)
    cross = _regret(Exp3G(), weak, 20_000, 1000)
    name = "exp3-g without cross-learning, 1,000 contexts"
    yield Result(name, own / cross, 2.0, "times the regret", at_least=True)


def _exponent(algorithm: Algorithm, graph: FeedbackGraph) -> float:
    short, long = (_regret(algorithm, graph, rounds, 1) for rounds in (10_000, 100_000))
    return math.log10(long / short)


def _regret(algorithm: Algorithm, graph: FeedbackGraph, rounds: int, contexts: int) -> float:
    environment = stochastic(graph, rounds, contexts=contexts, gap=0.3)
    runs = [simulate(algorithm, environment, seed=seed) for seed in SEEDS]
    return float(np.mean([run.pseudo_regret[-1] for run in runs]))
