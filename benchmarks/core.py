"""The core: a simulated run, a round from Python, loading and compiling."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.clipping import Clipping
from benchmarks.measure import Result, medians, seconds
from crossbandit import CrossGraph, Problem, environments, graphs, simulate
from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.rows import add_row
from crossbandit.streams import stream
from tests.reference import cross_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.environments.benchmark import PaperBenchmark
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats, Integers

HORIZON = 10_000
SEED = 200


def results() -> Iterator[Result]:
    """Measure every claim about the core."""
    yield from _run()
    yield _round_from_python()
    yield _import()
    yield from _compilation()


def _run() -> Iterator[Result]:
    """Measure one run of cross-graph on the paper's benchmark: K = 9, M = 1000, alpha = 4."""
    environment = environments.paper_benchmark(HORIZON, alpha=4)
    bare = _bare_additions(environment)

    clipping = Clipping(HORIZON)
    factored, dense, clipped, additions, exponentials = medians(
        lambda: simulate(CrossGraph(), environment, seed=SEED),
        lambda: simulate(CrossGraph(), environment, seed=SEED, factored=False),
        lambda: simulate(CrossGraph(), clipping, seed=SEED),
        bare,
        lambda: _bare_exponentials(HORIZON * 5 * environment.arms // 2),
        repetitions=21,
    )
    reference = seconds(_reference(environment))
    yield Result(
        "a run against vectorised NumPy", reference / factored, 100, "times faster", at_least=True
    )
    yield Result("the same, dense store", reference / dense, 100, "times faster", at_least=True)
    yield Result("a run against its bare additions", factored / additions, 2.5, "times")
    yield Result("the same, dense store", dense / additions, 2.5, "times")
    yield Result(
        "the same, dense store, losses that are clipped",
        clipped / additions,
        2.5,
        "times",
        note=f"of its time, additions take {additions / clipped:.0%}, the exponentials of two and "
        f"a half softmaxes a round alone {exponentials / clipped:.0%}",
    )
    yield Result(
        "rounds through simulate", HORIZON / factored, 500_000, "per second", at_least=True
    )


def _reference(environment: PaperBenchmark) -> Callable[[], object]:
    """Return the literal transcription on the same losses, made beforehand: they repeat."""
    table = np.array([environment.losses(t).T for t in range(2000)])
    parameters = CrossGraph().parameters(environment.problem)
    adjacency = environment.problem.graph.adjacency
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), HORIZON)
    uniforms = stream(SEED, "learner").random(2 * HORIZON)
    return lambda: cross_graph.run(
        adjacency,
        lambda t: table[t % 2000],
        contexts,
        uniforms,
        eta=parameters.eta,
        gamma=parameters.gamma,
        rho=parameters.rho,
        beta=parameters.beta,
        L=parameters.epoch_length,
    )


def _bare_additions(environment: PaperBenchmark) -> Callable[[], object]:
    """Return a compiled loop that adds what the run adds, row by row, and does nothing else."""
    arms, rounds, weights = _retained(environment)
    block = environment.block(0, HORIZON)
    estimates = np.zeros((environment.problem.arms, environment.contexts))
    return lambda: _add_all(block, arms, rounds, weights, estimates)


def _retained(environment: PaperBenchmark) -> tuple[Integers, Integers, Floats]:
    """Return arm, round and weight of each row that the run adds."""
    learner = CrossGraph().start(environment.problem, seed=SEED)
    added = []
    pending = []
    for context in environment.context_distribution.draw(stream(SEED, "contexts"), HORIZON):
        decision = learner.act(context)
        pending.append(learner._pending[decision.round])  # noqa: SLF001
        learner.learn(decision, environment.losses(decision.round)[list(decision.revealed)])
    for one in pending:
        if one.weights is not None:
            added += [(b, one.round, one.weights[b]) for b in learner.reveals(one.arm)]
    arms, rounds, weights = zip(*added, strict=True)
    return np.array(arms), np.array(rounds), np.array(weights)


@compiled
def _add_all(
    block: LossBlock, arms: Integers, rounds: Integers, weights: Floats, estimates: Floats
) -> None:
    for i in range(arms.size):
        add_row(block, rounds[i], arms[i], weights[i], estimates[arms[i]])


@compiled
def _bare_exponentials(count: int) -> float:
    total = 0.0
    for i in range(count):
        total += math.exp(-1e-6 * i)
    return total


def _round_from_python() -> Result:
    problem = Problem(graphs.threshold(9), features=2, horizon=100_000)
    learner = CrossGraph().start(problem, seed=SEED)
    rows = [np.full((9 - arm, 2), 0.25) for arm in range(9)]
    context = np.array([1.0, 0.5])

    def rounds() -> None:
        for _ in range(1000):
            decision = learner.act(context)
            learner.learn(decision, rows[decision.arm])

    (thousand,) = medians(rounds, repetitions=15)
    return Result("act and learn from Python, K = 9, linear", 1e3 * thousand, 15, "microseconds")


def _import() -> Result:
    base, full = medians(
        lambda: _python("import numpy, numba"), lambda: _python("import numpy, numba, crossbandit")
    )
    return Result(
        "import crossbandit, beyond numpy and numba", max(full - base, 0.0), 0.5, "seconds"
    )


def _compilation() -> Iterator[Result]:
    script = (
        "import crossbandit as cb\n"
        "cb.simulate(cb.CrossGraph(), cb.environments.paper_benchmark(1000, alpha=4), seed=0)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        first = seconds(lambda: _python(script, NUMBA_CACHE_DIR=cache))
        later = seconds(lambda: _python(script, NUMBA_CACHE_DIR=cache))
    yield Result("first simulation on a fresh machine", first, 30, "seconds")
    yield Result("first simulation in a later process", later, 5, "seconds")


def _python(script: str, **environment: str) -> Any:
    return subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, check=True
    )
