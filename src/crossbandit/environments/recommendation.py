"""Recommendation: an item is shown with similar items beside it, and all of them are rated."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.environments.contexts import FiniteContexts
from crossbandit.environments.environment import BlockEnvironment, row_block
from crossbandit.environments.registry import register
from crossbandit.graphs import FeedbackGraph
from crossbandit.problem import Problem, set_fields
from crossbandit.streams import stream, uniforms
from crossbandit.validation import MAX_SIZE, array, integer, number, reject, verbatim

if TYPE_CHECKING:
    from crossbandit.kernels.rounds import LossBlock
    from crossbandit.types import Floats


# Rounding may give parallel vectors a cosine a little below 1.
_COSINE_TOLERANCE = 1e-12


def similar_items(
    vectors: Any, similarity: float, *, owner: str = "similar_items", name: str = "vectors"
) -> FeedbackGraph:
    """Return the graph in which an item reveals itself and all items that are similar to it.

    Two items are similar if the cosine between their vectors (items, dimensions) is at least
    `similarity`. An error names the parameter `name` of `owner`.

    >>> similar_items([[1, 0], [1, 0.1], [0, 1]], similarity=0.9).edges()
    [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    """
    number(owner, "similarity", similarity, at_least=-1, at_most=1)
    expected = "finite vectors of shape (items, dimensions), none of them zero"
    table = array(owner, name, expected, vectors)
    if table.ndim != 2 or 0 in table.shape:
        reject(owner, name, expected, verbatim(f"an array of shape {table.shape}"))
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        bad = int(np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))[0])
        reject(owner, name, expected, verbatim(f"{table[bad]} for item {bad}"))
    directions = table / lengths
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, 1.0)
    return FeedbackGraph(cosines >= similarity - _COSINE_TOLERANCE)


def segment_weights(owner: str, name: str, weights: Any) -> Floats:
    """Return `weights` (segments, aspects), each row as shares of 1."""
    expected = "an array of shape (segments, aspects) of weights of at least 0, not all 0 in a row"
    table = array(owner, name, expected, weights)
    if table.ndim != 2 or 0 in table.shape:
        reject(owner, name, expected, verbatim(f"an array of shape {table.shape}"))
    sums = table.sum(axis=1, keepdims=True)
    fine = (table >= 0).all(axis=1) & np.isfinite(sums[:, 0]) & (sums[:, 0] > 0)
    if not fine.all():
        bad = int(np.flatnonzero(~fine)[0])
        reject(owner, name, expected, verbatim(f"{table[bad]} for segment {bad}"))
    result: Floats = table / sums
    return result


@register("recommendation", random_losses=True)
@dataclass(frozen=True, kw_only=True, eq=False)
class Recommendation(BlockEnvironment):
    """Random items. A user likes an item or not in each aspect, with a probability for each.

    Items whose vectors of probabilities have a cosine of at least `similarity` reveal each other.
    The user of a round belongs to a segment, and each segment has its own weights of the aspects:

        loss of item a in segment c  =  sum_k weight[c, k] * (1 - rating[t, a, k]),

    with ratings from 0 to 1 and weights that sum to 1. So a rating by one user can be evaluated in
    every segment, and losses are linear in the weights.

    Args:
        horizon: The number of rounds.
        items: The number of items, at least 2.
        segments: The number of segments of users.
        aspects: The number of aspects in which an item is rated.
        similarity: The least cosine at which two items reveal each other, from -1 to 1.
        table_seed: The seed of everything random in the losses, at least 0.

    >>> environment = recommendation(1_000, items=20)
    >>> environment.problem
    Problem(20 arms, 100 contexts of 4 features, horizon 1000)
    """

    horizon: int = field(kw_only=False)
    items: int = 50
    segments: int = 100
    aspects: int = 4
    similarity: float = 0.9
    table_seed: int = 0
    problem: Problem = field(init=False, repr=False)
    context_distribution: FiniteContexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("horizon", "segments", "aspects"):
            integer("recommendation", name, getattr(self, name), at_least=1, at_most=MAX_SIZE)
        integer("recommendation", "items", self.items, at_least=2, at_most=MAX_SIZE)
        integer("recommendation", "table_seed", self.table_seed, at_least=0, at_most=None)
        number("recommendation", "similarity", self.similarity, at_least=-1, at_most=1)
        graph = similar_items(self.qualities, self.similarity)
        weights = stream(self.table_seed, "segments").dirichlet(
            np.full(self.aspects, 0.5), size=self.segments
        )
        problem = Problem(graph, features=weights, horizon=self.horizon)
        set_fields(self, problem=problem, context_distribution=FiniteContexts(self.segments))

    @cached_property
    def qualities(self) -> Floats:
        """The mean rating of each item in each aspect, (items, aspects)."""
        return stream(self.table_seed, "items").uniform(0.1, 0.9, (self.items, self.aspects))

    def ratings(self, start: int, stop: int) -> Floats:
        """Return the ratings of consecutive rounds, (n, items, aspects), 0 or 1.

        Args:
            start: The first round.
            stop: The round after the last.
        """
        numbers = self.items * self.aspects
        noise = uniforms(self.table_seed, "losses", start, stop, numbers)
        liked = noise.reshape(-1, self.items, self.aspects) < self.qualities
        return liked.astype(np.float64)

    def block(self, start: int, stop: int) -> LossBlock:
        return row_block(1.0 - self.ratings(start, stop))


recommendation = Recommendation
