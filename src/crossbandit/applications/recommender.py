"""A recommender: which item to show, with similar items beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications.action import Action, pending_decision
from crossbandit.applications.application import Application, start_learner
from crossbandit.applications.labels import (
    Labels,
    labeled_graph,
    require_mapping,
    require_outcomes,
)
from crossbandit.applications.money import bounds
from crossbandit.core.validation import array, as_array, number, reject, verbatim
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.graphs import FeedbackGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats


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


@dataclass(frozen=True)
class Recommendation(Action):
    """One recommendation. Show its items, and pass it to `settle` when they are rated.

    Attributes:
        decision: The learner's decision.
        item: The name of the recommended item.
        beside: The names of the similar items to show with it.
        segment: The name of the user's segment.
    """

    item: str
    beside: tuple[str, ...]
    segment: str


class Recommender(Application):
    """Learns which item to show to a user of a segment.

    Items are rated in several aspects, such as price and quality. The worth of an item to a segment
    is the weighted mean of its ratings. So a rating counts in every segment, with the weights of
    that segment. A rating must not depend on the segment of the user who gives it. If it does, as
    with matters of taste, make a recommender for each segment.

    Args:
        items: A vector for each item, by name.
        segments: The weights that each segment gives to the aspects, by name.
        similarity: Items whose vectors have at least this cosine are shown and rated together.
        rating_range: The lowest and the highest rating.
        graph: Which items are shown together, instead of those with similar vectors; items are
            numbered in the order of their names.
        horizon: The number of recommendations to come. The default algorithm does not need it.
        algorithm: The algorithm; None for the parameter-free default.
        seed: The seed of the random choices.

    Raises:
        InvalidParameterError: A setting is not possible.

    >>> recommender = Recommender(
    ...     items={"tent": [1, 0], "tarp": [1, 0.2], "stove": [0, 1]},
    ...     segments={"thrifty": [3, 1], "picky": [0, 1]},  # price, quality
    ...     similarity=0.9,
    ...     rating_range=(1, 5),
    ...     seed=1,
    ... )
    >>> ratings = {"tent": [2, 5], "tarp": [5, 2], "stove": [3, 3]}
    >>> for user in range(1_000):
    ...     shown = recommender.show("thrifty" if user % 2 else "picky")
    ...     recommender.settle(
    ...         shown, ratings={item: ratings[item] for item in (shown.item, *shown.beside)}
    ...     )
    >>> recommender.policy("picky").round(1), recommender.policy("thrifty").round(1)
    (array([1., 0., 0.]), array([0., 1., 0.]))
    """

    kind: ClassVar[str] = "recommender"
    learner: Learner

    def __init__(
        self,
        *,
        items: Mapping[str, npt.ArrayLike],
        segments: Mapping[str, npt.ArrayLike],
        similarity: float,
        rating_range: tuple[float, float] = (0.0, 1.0),
        graph: FeedbackGraph | dict[str, Any] | None = None,
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        items = require_mapping(owner, "items", items)
        segments = require_mapping(owner, "segments", segments)
        self._items = Labels(owner, "items", items, at_least=2)
        self._segments = Labels(owner, "segments", segments, at_least=1)
        self.rating_range = bounds(owner, "rating_range", rating_range)
        least = number(owner, "similarity", similarity, at_least=-1, at_most=1)
        if graph is None:
            vectors = list(items.values())
            shown = similar_items(vectors, least, owner=owner, name="items")
        else:
            shown = labeled_graph(owner, graph, self._items)
        shares = segment_weights(owner, "segments", list(segments.values()))
        self._given = {
            "items": {name: _plain(vector) for name, vector in items.items()},
            "segments": {name: _plain(row) for name, row in segments.items()},
            "similarity": least,
        }
        problem = Problem(shown, features=shares, horizon=horizon)
        self.learner = start_learner(owner, algorithm, problem, seed)

    @property
    def items(self) -> list[str]:
        """The names of the items, in the order of `policy`."""
        return list(self._items)

    @property
    def segments(self) -> list[str]:
        """The names of the segments."""
        return list(self._segments)

    def settings(self) -> dict[str, Any]:
        return {
            **self._given,
            "rating_range": list(self.rating_range),
            "graph": self.learner.problem.graph.to_json(),
            "horizon": self.learner.problem.horizon,
        }

    def show(self, segment: str) -> Recommendation:
        """Choose an item.

        Args:
            segment: The name of the user's segment.

        Returns:
            The item to show, and the items beside it. Pass it to `settle` with the ratings.

        Raises:
            InvalidContextError: There is no such segment.
        """
        decision = self.learner.act(self._segment("show", segment))
        items = self.items
        beside = tuple(items[b] for b in decision.revealed if b != decision.arm)
        return Recommendation(decision, items[decision.arm], beside, segment)

    def settle(
        self, shown: Recommendation | bytes | str, *, ratings: Mapping[str, npt.ArrayLike]
    ) -> None:
        """Learn from the ratings of all items that were shown.

        Recommendations may be settled late and in any order. Ratings may be missing by chance:
        whether they are missing must depend neither on the ratings nor on the items.

        Args:
            shown: The recommendation, or its token.
            ratings: A number for each aspect, for each item that was shown, by name.

        Raises:
            DecisionError: The recommendation is not one of this object's, or was settled before.
            InvalidLossesError: A rating is missing, or is outside the range. Nothing is learned,
                and the recommendation can still be settled.
        """
        _, decision = pending_decision(shown, Recommendation, self.learner)
        items = [self.items[b] for b in decision.revealed]
        given = require_outcomes("ratings", ratings, items)
        self.learner.learn(decision, [self._row(item, given[item]) for item in items])

    def policy(self, segment: str) -> Floats:
        """Return the probability with which each item would be shown now.

        Args:
            segment: The name of the user's segment.

        Returns:
            A probability for each of `items`.

        Raises:
            InvalidContextError: There is no such segment.
        """
        return self.learner.policy(self._segment("policy", segment))

    def _segment(self, owner: str, segment: object) -> int:
        return self._segments.index(owner, "segment", segment, InvalidContextError)

    def _row(self, item: str, rating: npt.ArrayLike) -> Floats:
        """Return how far a rating is below the best one in each aspect, scaled to [0, 1]."""
        low, high = self.rating_range
        aspects = self.learner.problem.form.columns
        expected = f"{aspects} numbers from {low:.15g} to {high:.15g} for each item"
        given = np.atleast_1d(
            as_array("settle", "ratings", expected, rating, error=InvalidLossesError)
        )
        numeric = given.dtype.kind in "iuf" and given.shape == (aspects,)
        if not numeric or not ((given >= low) & (given <= high)).all():
            got = verbatim(f"{rating!r} for {item!r}")
            reject("settle", "ratings", expected, got, error=InvalidLossesError)
        row: Floats = (high - given) / (high - low)
        return row


def _plain(vector: npt.ArrayLike) -> Any:
    return np.asarray(vector).tolist()
