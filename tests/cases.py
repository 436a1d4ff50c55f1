"""Small problems on which every algorithm is tried, and every registered algorithm."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

from crossbandit import FeedbackGraph, graphs
from crossbandit.algorithms import Algorithm, from_json, registered
from crossbandit.environments import (
    BlockEnvironment,
    from_coefficients,
    from_table,
    paper_benchmark,
    switching,
)
from tests import reference
from tests.reference.common import Reference

# The literal transcription of each algorithm, by the id of the algorithm: whatever a module in
# tests/reference lists as REFERENCES.
REFERENCES: dict[str, Reference] = {
    id_: found
    for module in pkgutil.iter_modules(reference.__path__)
    if not module.name.startswith("test_")
    for id_, found in getattr(
        import_module(f"tests.reference.{module.name}"), "REFERENCES", {}
    ).items()
}


def shipped() -> list[str]:
    """Return the ids of all algorithms that the package registers."""
    return [id_ for id_, one in registered().items() if one.__module__.startswith("crossbandit.")]


# Every shipped algorithm with its defaults, and with the parameters that its reference names.
EVERY_ALGORITHM: tuple[Algorithm, ...] = tuple(
    dict.fromkeys(  # some have no parameters
        from_json({"id": id_, **options})
        for id_ in shipped()
        for options in ({}, REFERENCES[id_].by_hand if id_ in REFERENCES else {})
    )
)

# Those that declare their estimator. The adaptive learner does unless it forgets or has anchors,
# and FTRL if its policies are exponential weights.
DECLARED = tuple(
    one
    for one in EVERY_ALGORITHM
    if type(one).estimator is not Algorithm.estimator
    and not getattr(one, "half_life", None)
    and getattr(one, "power", 1.0) == 1.0  # nan: it depends on the problem
)

# Those that keep means or regressions, for stochastic losses; and those that weight losses by
# observation probabilities which they know. One learns these, and has tests of its own.
STOCHASTIC = tuple(one for one in EVERY_ALGORITHM if one.stochastic_only)
WEIGHTED = tuple(
    one for one in EVERY_ALGORITHM if not one.stochastic_only and one.id != "exp3-edges"
)
# Those on which the promises of a learner are tested. Two have the learner of exp3-g, as it is.
ALGORITHMS = tuple(one for one in WEIGHTED if one.id not in {"elp", "exp3-set"})

# Those that play rounds in pairs.
PAIRED = [algorithm for algorithm in ALGORITHMS if hasattr(algorithm, "epoch_length")]
# Those whose decisions carry all that learning needs.
FREE = [algorithm for algorithm in ALGORITHMS if not algorithm.needs_memory]


def name(algorithm: Algorithm) -> str:
    """Return a short name for the id of a test."""
    by_hand = algorithm != type(algorithm)()
    return f"{algorithm.id} by hand" if by_hand else algorithm.id


# Those that add all of a loss when it comes. The certified learner adds some of it later.
AT_ONCE = [algorithm for algorithm in ALGORITHMS if algorithm.id != "cross-graph-certified"]

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name)
every_algorithm_at_once = pytest.mark.parametrize("algorithm", AT_ONCE, ids=name)
every_free_algorithm = pytest.mark.parametrize("algorithm", FREE, ids=name)


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
