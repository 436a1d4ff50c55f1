"""Graphs with a name. None of them makes a K x K matrix unless its edges are arbitrary."""

from __future__ import annotations

import numbers
from typing import Literal

import numpy as np
import numpy.typing as npt

from crossbandit.graphs.exchange import checked_numbers
from crossbandit.graphs.graph import FeedbackGraph
from crossbandit.graphs.registry import register
from crossbandit.validation import choice, integer, number, reject, verbatim


@register("singletons")
def singletons(arms: int) -> FeedbackGraph:
    """Every arm reveals itself and nothing else: the ordinary bandit.

    >>> singletons(5).independence_number
    5
    """
    arms = integer("singletons", "arms", arms, at_least=1)
    a = np.arange(arms)
    return _of_ranges(arms, (a, a, a))


@register("complete")
def complete(arms: int) -> FeedbackGraph:
    """Every arm reveals every arm: full information.

    >>> complete(5).independence_number
    1
    """
    arms = integer("complete", "arms", arms, at_least=1)
    a = np.arange(arms)
    return _of_ranges(arms, (a, 0 * a, 0 * a + arms - 1))


@register("loopless-clique")
def loopless_clique(arms: int) -> FeedbackGraph:
    """Every arm reveals all others, but not itself.

    >>> loopless_clique(3).edges()
    [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    """
    arms = integer("loopless_clique", "arms", arms, at_least=2)
    a = np.arange(arms)
    return _of_ranges(arms, (a, 0 * a, a - 1), (a, a + 1, 0 * a + arms - 1))


@register("ring")
def ring(arms: int, radius: int) -> FeedbackGraph:
    """Arm a reveals a, a + 1, ..., a + radius, around the circle. A large radius is `complete`.

    >>> ring(5, radius=2).out_neighbors(3)
    array([0, 3, 4])
    """
    return _of_ranges(*_ring("ring", arms, radius))


@register("paper-ring")
def paper_ring(arms: int, radius: int) -> FeedbackGraph:
    """The ring of the paper's experiments: arm 0 has no self-loop, and every other arm reveals it.

    >>> [paper_ring(9, radius).independence_number for radius in (8, 3, 2, 1, 0)]
    [1, 2, 3, 4, 8]
    """
    arms = integer("paper_ring", "arms", arms, at_least=2)
    arms, *ranges = _ring("paper_ring", arms, radius)
    trimmed = [(a, first + ((a == 0) & (first == 0)), last) for a, first, last in ranges]
    others = np.arange(1, arms)
    return _of_ranges(arms, *trimmed, (others, 0 * others, 0 * others))


@register("threshold")
def threshold(arms: int, reveals: Literal["higher", "lower"] = "higher") -> FeedbackGraph:
    """Arm a reveals itself and all higher arms, or itself and all lower ones.

    Bids, prices and stocks are of this kind: who wins at one bid would have won at every higher.

    >>> threshold(4).out_neighbors(1), threshold(4, reveals="lower").out_neighbors(1)
    (array([1, 2, 3]), array([0, 1]))
    """
    arms = integer("threshold", "arms", arms, at_least=1)
    choice("threshold", "reveals", reveals, ("higher", "lower"))
    a = np.arange(arms)
    if reveals == "higher":
        return _of_ranges(arms, (a, a, 0 * a + arms - 1))
    return _of_ranges(arms, (a, 0 * a, a))


@register("similarity")
def similarity(points: npt.ArrayLike, distance: float) -> FeedbackGraph:
    """Arms at a Euclidean distance of at most `distance` reveal each other, and each itself.

    Args:
        points: (K,) or (K, d), where each arm lies.
        distance: at least 0.

    >>> similarity([0.0, 1.0, 5.0], distance=2.0).edges()
    [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    """
    places = _checked_points(points)
    limit = number("similarity", "distance", distance, at_least=0)
    tails, heads = [], []
    for arm, place in enumerate(places):
        # One arm at a time: all pairs at once would take K * K * d numbers.
        with np.errstate(over="ignore"):  # farther than a float can say is far
            gap = np.hypot.reduce(np.abs(places - place), axis=1)
        near = np.flatnonzero(gap <= limit)
        tails.append(np.full(near.size, arm))
        heads.append(near)
    edges = np.stack([np.concatenate(tails), np.concatenate(heads)], axis=1)
    return FeedbackGraph.from_edges(len(places), edges)


@register("random-strongly-observable")
def random_strongly_observable(
    arms: int, density: float, seed: int | np.random.SeedSequence | np.random.Generator
) -> FeedbackGraph:
    """Draw a random graph in which every arm is strongly observable.

    Each ordered pair of distinct arms is an edge with probability `density`, independently. Then
    each arm tosses a fair coin: either it gets a self-loop, or it gets none and every other arm is
    made to reveal it.

    Args:
        arms: at least 2.
        density: from 0 to 1.
        seed: an int, a SeedSequence or a Generator; a Generator is advanced.

    >>> random_strongly_observable(6, density=0.3, seed=1).observability
    'strong'
    """
    arms = integer("random_strongly_observable", "arms", arms, at_least=2)
    density = number("random_strongly_observable", "density", density, at_least=0, at_most=1)
    rng = _generator("random_strongly_observable", seed)
    adjacency = rng.random((arms, arms)) < density
    loop = rng.random(arms) < 0.5
    adjacency[:, ~loop] = True
    np.fill_diagonal(adjacency, loop)
    return FeedbackGraph(adjacency)


@register("apple-tasting")
def apple_tasting() -> FeedbackGraph:
    """Two arms: arm 1 reveals both, arm 0 reveals nothing.

    To taste the apple (arm 1) is to learn what it was worth; to pass it on teaches nothing.

    >>> apple_tasting().edges(), apple_tasting().observability
    ([(1, 0), (1, 1)], 'strong')
    """
    return FeedbackGraph([[False, False], [True, True]])


_Arrays = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _of_ranges(arms: int, *ranges: _Arrays) -> FeedbackGraph:
    """Make a graph from arrays (arm, first, last), of which some ranges may be empty."""
    table = np.concatenate([np.stack(group, axis=1) for group in ranges])
    return FeedbackGraph.from_ranges(arms, table[table[:, 1] <= table[:, 2]])


def _ring(owner: str, arms: int, radius: int) -> tuple[int, _Arrays, _Arrays]:
    """Return the ranges before and past the last arm."""
    arms = integer(owner, "arms", arms, at_least=1)
    radius = min(integer(owner, "radius", radius, at_least=0), arms - 1)
    a = np.arange(arms)
    return arms, (a, a, np.minimum(a + radius, arms - 1)), (a, 0 * a, a + radius - arms)


def _checked_points(points: npt.ArrayLike) -> npt.NDArray[np.float64]:
    expected = "finite numbers of shape (arms,) or (arms, dimensions)"
    places = checked_numbers("similarity", "points", expected, points)
    if places.ndim not in {1, 2} or places.size == 0:
        reject("similarity", "points", expected, verbatim(f"an array of shape {places.shape}"))
    return places.reshape(len(places), -1)


def _generator(owner: str, seed: object) -> np.random.Generator:
    if isinstance(seed, np.random.SeedSequence | np.random.Generator):
        return np.random.default_rng(seed)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        expected = "an integer of at least 0, a SeedSequence or a Generator"
        reject(owner, "seed", expected, seed)
    return np.random.default_rng(int(seed))
