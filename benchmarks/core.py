"""The core: a simulated run, a round from Python, a start, an install."""

from __future__ import annotations

import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import crossbandit
from benchmarks import numpy_cross_graph
from benchmarks.building import bare
from benchmarks.clipping import Clipping
from benchmarks.measure import Result, cpu_seconds, medians, seconds
from benchmarks.tables import needed
from crossbandit import CrossGraph, Problem, environments, graphs, simulate
from crossbandit.core.streams import stream
from crossbandit.logs.synthetic import make_log
from tests.reference import cross_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit.core.types import Floats, Integers
    from crossbandit.environments.synthetic import PaperBenchmark

HORIZON = 10_000
SEED = 200


def results() -> Iterator[Result]:
    """Measure every claim about the core."""
    yield from _run()
    yield _round_from_python()
    yield from _start()
    yield _install()


def _run() -> Iterator[Result]:
    """Measure one run of cross-graph on the paper's benchmark: K = 9, M = 1000, alpha = 4."""
    environment = environments.paper_benchmark(HORIZON, alpha=4)
    clipping = Clipping(HORIZON)
    factored, dense, clipped, additions, exponentials = medians(
        lambda: simulate(CrossGraph(), environment, seed=SEED),
        lambda: simulate(CrossGraph(), environment, seed=SEED, factored=False),
        lambda: simulate(CrossGraph(), clipping, seed=SEED),
        _bare_additions(environment),
        lambda: bare().exponentials(HORIZON * 5 * environment.arms // 2),
        repetitions=21,
    )
    literal, played = _in_numpy(environment)
    reference, good = seconds(literal), seconds(played)
    yield Result(
        "a run against vectorised NumPy", reference / factored, 100, "times faster", at_least=True
    )
    yield Result(
        "a run against NumPy that computes only the contexts played",
        good / factored,
        20,
        "times faster",
        at_least=True,
    )
    yield Result("the same, dense store", reference / dense, 100, "times faster", at_least=True)
    yield Result("a run against its bare additions", factored / additions, 2.0, "times")
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


def _in_numpy(environment: PaperBenchmark) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return the literal transcription, and one that computes only the contexts played.

    Both play on the same losses, made beforehand: they repeat.
    """
    table = np.array([environment.losses(t).T for t in range(2000)])
    by_arm = np.ascontiguousarray(table.transpose(0, 2, 1))
    parameters = CrossGraph().parameters(environment.problem)
    adjacency = environment.problem.graph.adjacency
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), HORIZON)
    uniforms = stream(SEED, "learner").random(2 * HORIZON)
    return (
        lambda: cross_graph.run(
            adjacency,
            lambda t: table[t % 2000],
            contexts,
            uniforms,
            eta=parameters.eta,
            gamma=parameters.gamma,
            rho=parameters.rho,
            beta=parameters.beta,
            L=parameters.epoch_length,
        ),
        lambda: numpy_cross_graph.run(adjacency, by_arm, contexts, uniforms, parameters),
    )


def _bare_additions(environment: PaperBenchmark) -> Callable[[], object]:
    """Return a compiled loop that adds what the run adds, row by row, and does nothing else."""
    arms, rounds, weights = _retained(environment)
    block = environment.block(0, HORIZON)
    estimates = np.zeros((environment.problem.arms, environment.contexts))
    return lambda: bare().add_all(block, arms, rounds, weights, estimates)


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
    return Result("act and learn from Python, K = 9, linear", 1e3 * thousand, 2.5, "microseconds")


def _start() -> Iterator[Result]:
    """Measure new processes, in seconds of the processor."""
    first = (
        "import numpy, crossbandit.applications as a; "
        "a.FirstPriceBidder(bids=100, value_range=(0, 10), seed=7).bid(5.0)"
    )
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[:1]
    times = [
        (cpu_seconds("-c", "import numpy"), cpu_seconds("-c", first), cpu_seconds("-c", example))
        for _ in range(9)
    ]
    numpy, bid, ten_lines = (statistics.median(column) for column in zip(*times, strict=True))
    yield Result("first bid of a process, beyond import numpy", bid - numpy, 0.05, "CPU seconds")
    yield Result("the example of the README, a new process", ten_lines, 1.0, "CPU seconds")
    with tempfile.TemporaryDirectory() as folder:
        log = make_log(Path(folder) / "log.csv", 10_000)
        command = ("-m", "crossbandit", "replay", str(log), "--quiet", "--out", f"{folder}/out")
        replayed = statistics.median(cpu_seconds(*command) for _ in range(3))
    yield Result(
        "crossbandit replay of 10,000 auctions, a new process", replayed, 10, "CPU seconds"
    )


def _install() -> Result:
    """Add up what a learner to embed takes: this package, with machine code, and NumPy."""
    own = sum(
        path.stat().st_size
        for path in Path(crossbandit.__file__).parent.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    others = needed("crossbandit", "", {})
    note = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in others.items())
    total = (own + sum(others.values())) / 1e6
    return Result("install of a learner to embed", total, 60, "MB", note=f"{note}, the rest ours")
