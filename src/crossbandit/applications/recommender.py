"""A recommender: which item to show, with similar items beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.applications.action import Action
from crossbandit.applications.labels import LabeledArms, Labels, require_mapping
from crossbandit.applications.money import bounds
from crossbandit.core.validation import array, number, reject, verbatim
from crossbandit.errors import InvalidContextError
from crossbandit.graphs import FeedbackGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
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
    table = _table(owner, name, vectors, expected, "item")
    directions = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, 1.0)
    return FeedbackGraph(cosines >= similarity - _COSINE_TOLERANCE)


def _table(owner: str, name: str, values: Any, expected: str, of: str, low: float = -np.inf) -> Any:
    """Return a table of numbers of at least `low`, none of its rows 0. of: what a row is of."""
    table = array(owner, name, expected, values)
    if table.ndim != 2 or 0 in table.shape:
        reject(owner, name, expected, verbatim(f"an array of shape {table.shape}"))
    lengths = np.linalg.norm(table, axis=1)
    fine = np.isfinite(lengths) & (lengths > 0) & (table >= low).all(axis=1)
    if not fine.all():
        bad = int(np.flatnonzero(~fine)[0])
        reject(owner, name, expected, verbatim(f"{table[bad]} for {of} {bad}"))
    return table


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


class Recommender(LabeledArms):
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

    listed = "items rating_range segments settle show"
    kind: ClassVar[str] = "recommender"
    outcome: ClassVar[str] = "ratings"

    def __init__(
        self,
        *,
        items: Mapping[str, npt.ArrayLike],
        segments: Mapping[str, npt.ArrayLike],
        similarity: float,
        rating_range: tuple[float, float] = (0.0, 1.0),
        graph: FeedbackGraph | npt.ArrayLike | dict[str, Any] | None = None,
        horizon: int | None = None,
        algorithm: Algorithm | None = None,
        seed: Seed,
    ) -> None:
        owner = type(self).__name__
        items = require_mapping(owner, "items", items)
        segments = require_mapping(owner, "segments", segments)
        self._arms = Labels(owner, "items", items, at_least=2)
        self._segments = Labels(owner, "segments", segments, at_least=1)
        self.rating_range = self._worst_and_best = bounds(owner, "rating_range", rating_range)
        least = number(owner, "similarity", similarity, at_least=-1, at_most=1)
        if graph is None:
            graph = similar_items(list(items.values()), least, owner=owner, name="items")
        expected = "an array of shape (segments, aspects) of weights of at least 0, not all 0"
        expected += " in a row"
        weights = _table(owner, "segments", list(segments.values()), expected, "segment", 0.0)
        self._given = {
            "items": {name: np.asarray(one).tolist() for name, one in items.items()},
            "segments": {name: np.asarray(one).tolist() for name, one in segments.items()},
            "similarity": least,
            "rating_range": list(self.rating_range),
        }
        self._start(graph, weights / weights.sum(axis=1, keepdims=True), horizon, algorithm, seed)

    @property
    def items(self) -> list[str]:
        """The names of the items, in the order of `policy`."""
        return list(self._arms)

    @property
    def segments(self) -> list[str]:
        """The names of the segments."""
        return list(self._segments)

    def settings(self) -> dict[str, Any]:
        return {**self._given, **super().settings()}

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
        item = self.items[decision.arm]
        beside = tuple(name for name in self._revealed(decision) if name != item)
        return Recommendation(decision, item, beside, segment)

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
        self._settle(shown, Recommendation, ratings)

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
