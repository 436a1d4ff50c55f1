"""Builders of random graphs."""

from __future__ import annotations

import numbers

import numpy as np

from crossbandit.graphs.builders import register
from crossbandit.graphs.graph import FeedbackGraph
from crossbandit.validation import MAX_SIZE, boolean, integer, number, reject


@register("random-graph")
def random_graph(
    arms: int,
    density: float,
    seed: int | np.random.SeedSequence | np.random.Generator,
    *,
    self_loops: bool | None = None,
) -> FeedbackGraph:
    """Return a random graph: each edge is there with probability `density`, independently.

    Some arms of a sparse graph may not be observable at all.

    Args:
        arms: The number of arms, at least 1.
        density: The probability of an edge, from 0 to 1.
        seed: An int, a SeedSequence or a Generator. A Generator is advanced.
        self_loops: True for all self-loops, False for none; None draws them as other edges.

    >>> random_graph(6, density=0.3, seed=1, self_loops=True).observability
    'strong'
    """
    arms = integer("random_graph", "arms", arms, at_least=1, at_most=MAX_SIZE)
    density = number("random_graph", "density", density, at_least=0, at_most=1)
    if self_loops is not None:
        boolean("random_graph", "self_loops", self_loops)
    adjacency = _generator("random_graph", seed).random((arms, arms)) < density
    if self_loops is not None:
        np.fill_diagonal(adjacency, self_loops)
    return FeedbackGraph(adjacency)


@register("random-strongly-observable")
def random_strongly_observable(
    arms: int, density: float, seed: int | np.random.SeedSequence | np.random.Generator
) -> FeedbackGraph:
    """Return a random graph in which every arm is strongly observable.

    Each ordered pair of distinct arms is an edge with probability `density`, independently. Then,
    with probability 1/2 each, an arm gets a self-loop, or an edge to it from every other arm.

    Args:
        arms: The number of arms, at least 2.
        density: The probability of an edge, from 0 to 1.
        seed: An int, a SeedSequence or a Generator. A Generator is advanced.

    >>> random_strongly_observable(6, density=0.3, seed=1).observability
    'strong'
    """
    arms = integer("random_strongly_observable", "arms", arms, at_least=2, at_most=MAX_SIZE)
    density = number("random_strongly_observable", "density", density, at_least=0, at_most=1)
    rng = _generator("random_strongly_observable", seed)
    adjacency = rng.random((arms, arms)) < density
    loop = rng.random(arms) < 0.5
    adjacency[:, ~loop] = True
    np.fill_diagonal(adjacency, loop)
    return FeedbackGraph(adjacency)


@register("random-weakly-observable")
def random_weakly_observable(
    arms: int, density: float, seed: int | np.random.SeedSequence | np.random.Generator
) -> FeedbackGraph:
    """Return a random graph without self-loops in which every arm is weakly observable.

    Each ordered pair of distinct arms is an edge with probability `density`, independently. An arm
    that no arm reveals is then given an edge from a random other arm. If all others reveal an arm,
    the edge from a random one of them is removed.

    Args:
        arms: The number of arms, at least 3.
        density: The probability of an edge, from 0 to 1.
        seed: An int, a SeedSequence or a Generator. A Generator is advanced.

    >>> set(random_weakly_observable(6, density=0.3, seed=1).arm_observability)
    {'weak'}
    """
    arms = integer("random_weakly_observable", "arms", arms, at_least=3, at_most=MAX_SIZE)
    density = number("random_weakly_observable", "density", density, at_least=0, at_most=1)
    rng = _generator("random_weakly_observable", seed)
    adjacency = rng.random((arms, arms)) < density
    np.fill_diagonal(adjacency, val=False)
    other = (np.arange(arms) + rng.integers(1, arms, size=arms)) % arms
    revealers = adjacency.sum(axis=0)
    for arm in np.flatnonzero((revealers == 0) | (revealers == arms - 1)):
        adjacency[other[arm], arm] ^= True
    return FeedbackGraph(adjacency)


def _generator(owner: str, seed: object) -> np.random.Generator:
    if isinstance(seed, np.random.SeedSequence | np.random.Generator):
        return np.random.default_rng(seed)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        expected = "an integer of at least 0, a SeedSequence or a Generator"
        reject(owner, "seed", expected, seed)
    return np.random.default_rng(int(seed))
