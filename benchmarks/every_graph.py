"""Weakly observable and changing graphs: exponents of the regret, flatness in M, and speed.

The hard instances are those of the lower
bounds: the gap of the best arm shrinks with the horizon, like T^(-1/3) on a weakly observable graph
and like T^(-1/2) on strongly observable ones. On the weakly observable graph the revealing arm is
the worst one, so learning has a price.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Result, medians
from crossbandit import CrossGraph, CrossGraphAdaptive, environments, graphs, simulate
from crossbandit.algorithms import (
    CrossGraphVarying,
    CrossGraphWeak,
    SchneiderZimmert,
    from_json,
    registered,
)
from crossbandit.core.streams import stream
from crossbandit.environments.synthetic import Stochastic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crossbandit import Algorithm
    from crossbandit.environments import BlockEnvironment

    World = Callable[[int, int, int], BlockEnvironment]

HORIZONS = (8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
SEEDS = range(10)
ARMS = 8
ROUNDS = 200_000


def weak_world(horizon: int, contexts: int, seed: int) -> BlockEnvironment:
    """Return losses on a revealing action that is never good; the best arm differs by context."""
    gap = 4.0 * horizon ** (-1 / 3)
    means = np.full((ARMS, contexts), 0.5)
    means[0] = 0.75
    best = stream(seed, "best arms").integers(1, ARMS, size=contexts)
    means[best, np.arange(contexts)] -= gap
    return Stochastic(
        graph=graphs.revealing_action(ARMS),
        horizon=horizon,
        phases=[(0.0, means)],
        table_seed=seed,
        context_distribution=environments.FiniteContexts(contexts),
    )


def changing_world(horizon: int, contexts: int, seed: int) -> BlockEnvironment:
    """Return losses with a random graph in each round; every arm always reveals itself."""
    gap = 15.0 * horizon ** (-1 / 2)
    return environments.random_graphs(
        horizon, arms=ARMS, contexts=contexts, density=0.3, gap=gap, table_seed=seed
    )


def mean_regret(algorithm: Algorithm, world: World, horizon: int, contexts: int) -> float:
    """Return the mean pseudo-regret over the seeds."""
    runs = (
        simulate(algorithm, world(horizon, contexts, seed), seed=seed, show_progress=False)
        for seed in SEEDS
    )
    return statistics.fmean(float(run.pseudo_regret[-1]) for run in runs)


def exponent(algorithm: Algorithm, world: World) -> float:
    """Return the slope of the regret in the horizon, on logarithmic axes."""
    regrets = [mean_regret(algorithm, world, horizon, contexts=20) for horizon in HORIZONS]
    return float(np.polyfit(np.log(HORIZONS), np.log(regrets), 1)[0])


def results() -> Iterator[Result]:
    """Measure every claim about weakly observable and changing graphs."""
    weak, varying = CrossGraphWeak(), CrossGraphVarying(alpha=3.0)
    for name, algorithm, world, rate in (
        ("cross-graph-weak, 2/3", weak, weak_world, 2 / 3),
        ("cross-graph-varying, 1/2", varying, changing_world, 1 / 2),
    ):
        measured = exponent(algorithm, world)
        yield Result(f"exponent of T, {name}", measured, rate + 0.05, "")
    for algorithm, world in ((weak, weak_world), (varying, changing_world)):
        few, many = (mean_regret(algorithm, world, 32_000, contexts) for contexts in (10, 1000))
        yield Result(f"regret at M = 1,000 to M = 10, {algorithm.id}", many / few, 1.1, "times")
    own = mean_regret(varying, changing_world, 64_000, contexts=20)
    blind = mean_regret(SchneiderZimmert(), changing_world, 64_000, contexts=20)
    yield Result(
        "regret to that of schneider-zimmert, cross-graph-varying", own / blind, 0.8, "times"
    )
    for algorithm, world in ((weak, weak_world), (varying, changing_world)):
        tuned = mean_regret(algorithm, world, 32_000, contexts=20)
        adaptive = mean_regret(CrossGraphAdaptive(), world, 32_000, contexts=20)
        name = f"regret of cross-graph-adaptive to that of {algorithm.id}"
        yield Result(name, adaptive / tuned, 1.0, "times")
    yield from speeds()


def speeds() -> Iterator[Result]:
    """Measure the speed at 10 arms, and that of cross-graph for comparison."""
    fixed = environments.stochastic(graphs.paper_ring(10, 1), ROUNDS, contexts=10)
    revealing = environments.stochastic(graphs.revealing_action(10), ROUNDS, contexts=10)
    rings = [graphs.ring(10, radius) for radius in range(1, 9)]
    turns = environments.cycling_graphs(fixed, rings)
    drawn = environments.random_graphs(ROUNDS, arms=10)
    cases: list[tuple[str, Algorithm, BlockEnvironment]] = [
        ("cross-graph", CrossGraph(), fixed),
        ("cross-graph-weak", CrossGraphWeak(), revealing),
        ("cross-graph-varying, graphs in turns", CrossGraphVarying(alpha=3.0), turns),
        ("cross-graph-varying, random edges", CrossGraphVarying(alpha=3.0), drawn),
    ]
    for _, _, environment in cases:
        _ = environment.totals  # computed once, and not a part of the learner's time
    times = medians(
        *(
            lambda algorithm=algorithm, environment=environment: simulate(
                algorithm, environment, seed=0, compiled=True, show_progress=False
            )
            for _, algorithm, environment in cases
        ),
        repetitions=5,
    )
    for (name, _, _), time in zip(cases, times, strict=True):
        yield Result(f"rounds a second, {name}", ROUNDS / time, 200_000, "", at_least=True)
    yield Result("time to that of cross-graph, weak", times[1] / times[0], 2.0, "times")
    yield Result("time to that of cross-graph, in turns", times[2] / times[0], 2.0, "times")
    yield from every_speed(fixed)


def every_speed(environment: BlockEnvironment) -> Iterator[Result]:
    """Measure the speed of every algorithm of the package, with its defaults, at 10 arms."""
    own = [id_ for id_, one in registered().items() if one.__module__.startswith("crossbandit.")]
    algorithms = [from_json({"id": id_}) for id_ in own]
    for algorithm in algorithms:
        play = partial(simulate, algorithm, environment, seed=0, compiled=True, show_progress=False)
        (time,) = medians(play, repetitions=3)
        name = f"rounds a second at K = 10, {algorithm.id}"
        yield Result(name, ROUNDS / time, 200_000, "", at_least=True)
