"""Against the field: speed, losses and what is earned. `make bench-peers`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import peers_choices
from benchmarks.measure import Result, seconds
from crossbandit import CrossGraph, CrossGraphAdaptive, environments, graphs, simulate
from crossbandit.core.streams import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.environments import BlockEnvironment

SEED = 200
RIVER_ROUNDS = 10_000
VOWPAL_ROUNDS = 2_000


def results() -> Iterator[Result]:
    """Measure whole simulations, each peer in its own loop."""
    yield _river()
    yield from _vowpal_wabbit()
    yield from peers_choices.results()


def _rate(environment: BlockEnvironment, rounds: int) -> float:
    """Return the rounds per second of a cross-graph simulation; compiled beforehand."""
    simulate(CrossGraph(), environment, seed=0)
    return rounds / seconds(lambda: simulate(CrossGraph(), environment, seed=SEED))


def _river() -> Result:
    from river import bandit

    environment = environments.paper_benchmark(RIVER_ROUNDS, alpha=4)
    contexts = environment.context_distribution.draw(stream(SEED, "contexts"), RIVER_ROUNDS)
    table = np.array([environment.losses(t) for t in range(2_000)])  # they repeat
    policies = [bandit.Exp3(gamma=0.1, seed=c) for c in range(environment.contexts)]
    arms = list(range(environment.arms))
    began = time.perf_counter()
    for t, context in enumerate(contexts):
        arm = policies[context].pull(arms)
        policies[context].update(arm, 1.0 - table[t % 2_000, arm, context])
    theirs = RIVER_ROUNDS / (time.perf_counter() - began)
    return Result(
        "rounds per second against river's Exp3, K = 9, M = 1000",
        _rate(environment, RIVER_ROUNDS) / theirs,
        20,
        "times",
        at_least=True,
    )


def _vowpal_wabbit() -> Iterator[Result]:
    """Play K = 5 bids and 20 values of a first-price auction: a bid reveals all higher bids."""
    environment = _auction(bids=5, values=20, rounds=VOWPAL_ROUNDS)
    began = time.perf_counter()
    theirs = _vowpal_losses(environment)
    their_rate = VOWPAL_ROUNDS / (time.perf_counter() - began)
    yield Result(
        "rounds per second against Vowpal Wabbit's graph feedback, K = 5",
        _rate(environment, VOWPAL_ROUNDS) / their_rate,
        10_000,
        "times",
        at_least=True,
    )
    for algorithm in (CrossGraphAdaptive(), CrossGraph()):
        ours = simulate(algorithm, environment, seed=SEED).losses
        name = f"mean loss of {algorithm.id} against Vowpal Wabbit's, 2,000 rounds"
        ratio = ours.mean() / theirs.mean()
        reason = "the paper's tuning explores in about sqrt(alpha T) rounds, of only 2,000"
        yield Result(name, ratio, 1.0, "times", note=reason if ratio > 1 else "")


def _auction(bids: int, values: int, rounds: int) -> BlockEnvironment:
    bid, value = np.linspace(0, 0.8, bids), np.linspace(0.05, 1, values)
    price = np.random.default_rng(0).beta(2, 5, rounds)
    won = bid >= price[:, None]
    earned = (value[None, :, None] - bid) * won[:, None, :]
    return environments.from_table((1 - earned) / 2, graphs.threshold(bids))


def _vowpal_losses(environment: BlockEnvironment) -> Any:
    import vowpalwabbit

    arms = environment.problem.arms
    adjacency = environment.problem.graph.adjacency
    # Its graph has the revealed arm as the row, the played arm as the column.
    graph = " ".join(f"{b},{a},1" for a in range(arms) for b in range(arms) if adjacency[a, b])
    # Without -q the context would not matter: only products of context and arm tell them apart.
    workspace = vowpalwabbit.Workspace("--cb_explore_adf --graph_feedback -q UA --quiet")
    generator = np.random.default_rng(SEED)
    incurred = []
    for t, context in enumerate(
        environment.context_distribution.draw(stream(SEED, "contexts"), VOWPAL_ROUNDS)
    ):
        shared = f"shared graph {graph} |U c{context}"
        policy = np.array(workspace.predict([shared, *(f"|A a{a}" for a in range(arms))]))
        policy /= policy.sum()
        arm = generator.choice(arms, p=policy)
        losses = environment.losses(t)[:, context]
        incurred.append(losses[arm])
        labels = [
            f"{b}:{losses[b]}:{policy[arm]} |A a{b}" if adjacency[arm, b] else f"|A a{b}"
            for b in range(arms)
        ]
        workspace.learn([shared, *labels])
    workspace.finish()
    return np.array(incurred)
