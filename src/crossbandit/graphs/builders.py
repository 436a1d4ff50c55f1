"""Builders of common graphs. They store ranges, and make no K x K matrix unless they must."""

from __future__ import annotations

import numbers
from typing import Literal

import numpy as np
import numpy.typing as npt

from crossbandit.core.registry import Registry
from crossbandit.core.validation import MAX_SIZE, boolean, choice, integer, number, reject, verbatim
from crossbandit.graphs.graph import FeedbackGraph
from crossbandit.graphs.neighborhoods import checked_numbers

# Graphs by name, for study files.
_GRAPHS = Registry("graph")
register = _GRAPHS.register
registered = _GRAPHS.registered
build = _GRAPHS.build


@register("singletons")
def singletons(arms: int) -> FeedbackGraph:
    """Return the graph in which every arm reveals itself only: the standard bandit.

    Args:
        arms: The number of arms, at least 1.

    >>> singletons(5).independence_number
    5
    """
    arms = integer("singletons", "arms", arms, at_least=1, at_most=MAX_SIZE)
    a = np.arange(arms)
    return _of_ranges(arms, (a, a, a))


@register("complete")
def complete(arms: int) -> FeedbackGraph:
    """Return the graph in which every arm reveals every arm: full information.

    Args:
        arms: The number of arms, at least 1.

    >>> complete(5).independence_number
    1
    """
    arms = integer("complete", "arms", arms, at_least=1, at_most=MAX_SIZE)
    a = np.arange(arms)
    return _of_ranges(arms, (a, 0 * a, 0 * a + arms - 1))


@register("loopless-clique")
def loopless_clique(arms: int) -> FeedbackGraph:
    """Return the graph in which every arm reveals all others, but not itself.

    Args:
        arms: The number of arms, at least 2.

    >>> loopless_clique(3).edges()
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    """
    arms = integer("loopless_clique", "arms", arms, at_least=2, at_most=MAX_SIZE)
    a = np.arange(arms)
    return _of_ranges(arms, (a, 0 * a, a - 1), (a, a + 1, 0 * a + arms - 1))


@register("ring")
def ring(arms: int, radius: int) -> FeedbackGraph:
    """Return the ring in which arm a reveals a, a + 1, ..., a + radius, modulo the number of arms.

    Args:
        arms: The number of arms, at least 1.
        radius: How many arms beside itself an arm reveals. From arms - 1 on, the graph is complete.

    >>> ring(5, radius=2).out_neighbors(3)
    array([0, 3, 4])
    """
    return _of_ranges(*_ring("ring", arms, radius))


@register("paper-ring")
def paper_ring(arms: int, radius: int) -> FeedbackGraph:
    """Return the ring of the paper's experiments.

    It is `ring(arms, radius)` without the self-loop of arm 0, and with an edge to arm 0 from every
    other arm.

    Args:
        arms: The number of arms, at least 2.
        radius: How many arms beside itself an arm reveals.

    >>> [paper_ring(9, radius).independence_number for radius in (8, 3, 2, 1, 0)]
    [1, 2, 3, 4, 8]
    """
    arms = integer("paper_ring", "arms", arms, at_least=2, at_most=MAX_SIZE)
    arms, *ranges = _ring("paper_ring", arms, radius)
    trimmed = [(a, first + ((a == 0) & (first == 0)), last) for a, first, last in ranges]
    others = np.arange(1, arms)
    return _of_ranges(arms, *trimmed, (others, 0 * others, 0 * others))


@register("threshold")
def threshold(arms: int, reveals: Literal["higher", "lower"] = "higher") -> FeedbackGraph:
    """Return the graph in which an arm reveals itself and all higher arms, or all lower ones.

    Bids, prices and orders have this structure. For example, a bid that wins shows that every
    higher bid would have won.

    Args:
        arms: The number of arms, at least 1.
        reveals: "higher" or "lower".

    >>> threshold(4).out_neighbors(1), threshold(4, reveals="lower").out_neighbors(1)
    (array([1, 2, 3]), array([0, 1]))
    """
    arms = integer("threshold", "arms", arms, at_least=1, at_most=MAX_SIZE)
    choice("threshold", "reveals", reveals, ("higher", "lower"))
    a = np.arange(arms)
    if reveals == "higher":
        return _of_ranges(arms, (a, a, 0 * a + arms - 1))
    return _of_ranges(arms, (a, 0 * a, a))


@register("similarity")
def similarity(points: npt.ArrayLike, distance: float) -> FeedbackGraph:
    """Return the graph in which arms within a Euclidean distance reveal each other and themselves.

    Args:
        points: The position of each arm, of shape (K,) or (K, d).
        distance: The largest distance at which two arms reveal each other, at least 0.

    >>> similarity([0.0, 1.0, 5.0], distance=2.0).edges()
    [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    """
    expected = "finite numbers of shape (arms,) or (arms, dimensions)"
    places = checked_numbers("similarity", "points", expected, points)
    if places.ndim not in {1, 2} or places.size == 0:
        reject("similarity", "points", expected, verbatim(f"an array of shape {places.shape}"))
    places = places.reshape(len(places), -1)
    limit = number("similarity", "distance", distance, at_least=0)
    tails, heads = [], []
    for arm, place in enumerate(places):
        # One arm at a time: all pairs at once would take K * K * d numbers.
        with np.errstate(over="ignore"):  # a distance of infinity is above every limit
            gap = np.hypot.reduce(np.abs(places - place), axis=1)
        near = np.flatnonzero(gap <= limit)
        tails.append(np.full(near.size, arm))
        heads.append(near)
    edges = np.stack([np.concatenate(tails), np.concatenate(heads)], axis=1)
    return FeedbackGraph.from_edges(len(places), edges)


@register("apple-tasting")
def apple_tasting() -> FeedbackGraph:
    """Return the graph of apple tasting: arm 1 reveals both arms, arm 0 reveals nothing.

    Tasting an apple (arm 1) shows whether it was good. Rejecting it (arm 0) shows nothing.

    >>> apple_tasting().edges(), apple_tasting().observability
    ([(1, 0), (1, 1)], 'strong')
    """
    return FeedbackGraph([[False, False], [True, True]])


@register("revealing-action")
def revealing_action(arms: int, revealing: int = 1) -> FeedbackGraph:
    """Return the graph in which few arms reveal everything, and the others reveal nothing.

    The arms from 0 to `revealing` - 1 reveal; all arms are divided among them in consecutive parts,
    and each also reveals itself. The other arms are weakly observable: they can be learned about
    only by playing a revealing arm. The weak domination number is `revealing`.

    Args:
        arms: The number of arms, at least 3.
        revealing: The number of revealing arms, at least 1 and at most half of the arms.

    Raises:
        InvalidParameterError: There are fewer than 3 arms, or more than half of them reveal.

    >>> graph = revealing_action(4)
    >>> graph.edges(), graph.observability
    ([(0, 0), (0, 1), (0, 2), (0, 3)], 'weak')
    >>> revealing_action(6, revealing=2).edges()
    [(0, 0), (0, 2), (0, 3), (1, 1), (1, 4), (1, 5)]
    """
    arms = integer("revealing_action", "arms", arms, at_least=3, at_most=MAX_SIZE)
    count = integer("revealing_action", "revealing", revealing, at_least=1)
    if 2 * count > arms:
        reject("revealing_action", "revealing", f"at most half of the {arms} arms", revealing)
    a = np.arange(count)
    ends = count + (arms - count) * np.arange(count + 1) // count
    return _of_ranges(arms, (a, a, a), (a, ends[:-1], ends[1:] - 1))


@register("loopy-star")
def loopy_star(arms: int) -> FeedbackGraph:
    """Return the graph in which every arm reveals itself, and arm 0 reveals all arms.

    Args:
        arms: The number of arms, at least 2.

    >>> loopy_star(3).edges(), loopy_star(6).independence_number
    ([(0, 0), (0, 1), (0, 2), (1, 1), (2, 2)], 5)
    """
    arms = integer("loopy_star", "arms", arms, at_least=2, at_most=MAX_SIZE)
    a, center = np.arange(arms), np.zeros(1, dtype=np.int64)
    return _of_ranges(arms, (a, a, a), (center, center, center + arms - 1))


@register("loopless-ring")
def loopless_ring(arms: int, radius: int) -> FeedbackGraph:
    """Return the ring in which arm a reveals a + 1, ..., a + radius modulo K, but not itself.

    If the radius is below K - 1, every arm is weakly observable, and the weak domination number is
    K / radius, rounded up.

    Args:
        arms: The number of arms, at least 2.
        radius: How many arms an arm reveals, from 1 to arms - 1.

    >>> loopless_ring(4, radius=1).edges(), loopless_ring(7, radius=3).weak_domination_number
    ([(0, 1), (1, 2), (2, 3), (3, 0)], 3)
    """
    arms = integer("loopless_ring", "arms", arms, at_least=2, at_most=MAX_SIZE)
    radius = integer("loopless_ring", "radius", radius, at_least=1, at_most=arms - 1)
    a = np.arange(arms)
    up, around = (a, a + 1, np.minimum(a + radius, arms - 1)), (a, 0 * a, a + radius - arms)
    return _of_ranges(arms, up, around)


_Arrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _of_ranges(arms: int, *ranges: _Arrays) -> FeedbackGraph:
    """Return the graph of arrays (arm, first, last). Ranges with first > last are dropped."""
    table = np.concatenate([np.stack(group, axis=1) for group in ranges])
    return FeedbackGraph.from_ranges(arms, table[table[:, 1] <= table[:, 2]])


def _ring(owner: str, arms: int, radius: int) -> tuple[int, _Arrays, _Arrays]:
    """Return the number of arms, the ranges up to the last arm, and those that wrap around."""
    arms = integer(owner, "arms", arms, at_least=1, at_most=MAX_SIZE)
    radius = min(integer(owner, "radius", radius, at_least=0), arms - 1)
    a = np.arange(arms)
    return arms, (a, a, np.minimum(a + radius, arms - 1)), (a, 0 * a, a + radius - arms)


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
