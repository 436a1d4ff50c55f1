"""The distribution of exploration that reveals every arm as often as possible."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossbandit.graphs.set_covers import fractional_cover

if TYPE_CHECKING:
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Floats

_PROGRAM_EDGES = 1_000_000  # beyond, the linear program takes minutes


class Covering(NamedTuple):
    """A distribution that reveals each of some arms with a probability of at least 1 / number.

    Attributes:
        number: At least 1.
        distribution: A probability for each arm (K,).
    """

    number: float
    distribution: Floats


@lru_cache(maxsize=16)  # a learner asks several times when it starts
def covering(graph: FeedbackGraph) -> Covering:
    """Return the distribution u for which the least u(N_in(b)) over all arms b is largest.

    With x = number * u it is a linear program: minimise the sum of x so that x(N_in(b)) is at least
    1 for each arm b. The number is the fractional total domination number of the graph.

    Args:
        graph: A graph in which every arm is revealed by some arm.

    Returns:
        The number and the distribution. For graphs of more than a million edges the distribution is
        uniform, which need not be the best.

    >>> from crossbandit import graphs
    >>> covering(graphs.ring(5, radius=1)).number, covering(graphs.complete(5)).number
    (2.5, 1.0)
    """
    arms = graph.arms
    uniform = np.full(arms, 1.0 / arms)
    candidates = [uniform]
    if graph.edge_count <= _PROGRAM_EDGES:
        candidates.append(_solved(graph))
    numbers = [1.0 / float(graph.observation_mass(one).min()) for one in candidates]
    best = int(np.argmin(np.round(numbers, 9)))  # ties to the uniform distribution
    candidates[best].flags.writeable = False
    return Covering(max(numbers[best], 1.0), candidates[best])


def _solved(graph: FeedbackGraph) -> Floats:
    revealing = [graph.in_neighbors(arm) for arm in range(graph.arms)]
    shares = fractional_cover(revealing, graph.arms)
    distribution: Floats = shares / shares.sum()
    return distribution
