"""Small problems on which every algorithm is tried, as (name, environment) pairs."""

from collections.abc import Iterator

import numpy as np
import pytest

from crossbandit import CrossGraph, CrossGraphAdaptive, CrossGraphKnown, FeedbackGraph, graphs
from crossbandit.algorithms import (
    Algorithm,
    PerContextExp3,
    PerContextGraph,
    SchneiderZimmert,
)
from crossbandit.environments import (
    BlockEnvironment,
    from_coefficients,
    from_table,
    paper_benchmark,
    switching,
)

ALGORITHMS: tuple[Algorithm, ...] = (
    CrossGraph(),
    CrossGraph(eta=0.3, gamma=0.02, rho=0.1, beta=0.05, epoch_length=6),
    CrossGraphAdaptive(),
    CrossGraphAdaptive(half_life=50.0, rate=0.5, exploration=3.0, recency=2.0, anchored=True),
    CrossGraphKnown(),
    CrossGraphKnown(eta=0.3, gamma=0.02, rho=0.1, beta=0.05),
    SchneiderZimmert(),
    SchneiderZimmert(eta=0.3, gamma=0.02, epoch_length=4),
    PerContextGraph(),
    PerContextExp3(),
)


def name(algorithm: Algorithm) -> str:
    """Return a short name for a test's id."""
    by_hand = algorithm != type(algorithm)()
    return f"{algorithm.id} by hand" if by_hand else algorithm.id


every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name)


def asymmetric() -> FeedbackGraph:
    """Return a strongly observable graph that differs from its transpose; arms 0, 3 lack loops."""
    return FeedbackGraph(
        [
            [0, 1, 0, 1, 0],
            [1, 1, 1, 1, 0],
            [1, 0, 1, 1, 0],
            [1, 0, 0, 0, 1],
            [1, 1, 0, 1, 1],
        ]
    )


def table(graph: FeedbackGraph, rounds: int, contexts: int, seed: int) -> BlockEnvironment:
    """Return random losses with a distinct best arm per context, and a skewed context law."""
    rng = np.random.default_rng(seed)
    losses = 0.6 * rng.random((rounds, contexts, graph.arms)) + 0.2
    for context in range(contexts):
        losses[:, context, context % graph.arms] *= 0.3
    law = rng.dirichlet(np.ones(contexts))
    return from_table(losses, graph, law)


def linear(graph: FeedbackGraph, rounds: int, contexts: int, seed: int) -> BlockEnvironment:
    """Return losses that are linear in two features of finitely many contexts."""
    rng = np.random.default_rng(seed)
    features = np.stack([np.ones(contexts), rng.random(contexts)], axis=1)
    coefficients = rng.random((rounds, graph.arms, 2)) * 0.5
    coefficients[:, 0, 1] *= 0.1
    return from_coefficients(coefficients, graph, features, rng.dirichlet(np.ones(contexts)))


def environments() -> Iterator[tuple[str, BlockEnvironment]]:
    """Yield problems of every kind: both loss forms, all sorts of graphs, odd horizons."""
    yield "paper ring", paper_benchmark(240, radius=1, arms=5, contexts=7)
    yield "threshold, odd horizon", table(graphs.threshold(4), 151, 5, seed=1)
    yield "loopless clique, remainder", table(graphs.loopless_clique(4), 206, 3, seed=2)
    yield "apple tasting, one context", table(graphs.apple_tasting(), 120, 1, seed=3)
    yield "asymmetric", table(asymmetric(), 150, 6, seed=4)
    yield "switching", switching(asymmetric(), 150, contexts=10, groups=3, switches=4)
    yield "linear", linear(graphs.threshold(6), 152, 11, seed=5)
