"""A recommender: which item to show, with similar items beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.applications.application import Application, started
from crossbandit.applications.names import Names, by_name, for_each, graph_of
from crossbandit.applications.play import Play, played
from crossbandit.environments.amounts import bounds
from crossbandit.environments.recommendation import segment_weights, similar_items
from crossbandit.errors import InvalidContextError, InvalidLossesError
from crossbandit.problem import Problem
from crossbandit.validation import number, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.streams import Seed
    from crossbandit.types import Floats


@dataclass(frozen=True)
class Shown(Play):
    """One recommendation: show `item` and the items `beside` it, and hand it to `settle` later."""

    item: str
    beside: tuple[str, ...]
    segment: str


class Recommender(Application):
    """Learns which item to show to a user of a segment.

    `items` has a vector for each item, by name; items whose vectors have a cosine of at least
    `similarity` are shown beside each other and rated together. Where a `graph` of the items is
    given, it says so instead. `segments` has, by name, the weights that a segment gives to the
    aspects in which items are rated: price, quality, ...
    The worth of an item to a segment is the weighted mean of its ratings; so a rating counts in
    every segment, with that segment's weights. `rating_range` bounds all ratings.

    What is rated must not depend on the segment of who rates. Where it does, as with tastes, make a
    recommender for each segment.

    `algorithm` is the parameter-free learner unless given; others may need the `horizon`, which is
    the number of recommendations to come.

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
        items = by_name(owner, "items", items)
        segments = by_name(owner, "segments", segments)
        self._items = Names(owner, "items", items, at_least=2)
        self._segments = Names(owner, "segments", segments, at_least=1)
        self.rating_range = bounds(owner, "rating_range", rating_range)
        least = number(owner, "similarity", similarity, at_least=-1, at_most=1)
        if graph is None:
            vectors = list(items.values())
            shown = similar_items(vectors, least, owner=owner, name="items")
        else:
            shown = graph_of(owner, graph, self._items)
        shares = segment_weights(owner, "segments", list(segments.values()))
        self._given = {
            "items": {name: _plain(vector) for name, vector in items.items()},
            "segments": {name: _plain(row) for name, row in segments.items()},
            "similarity": least,
        }
        problem = Problem(shown, features=shares, horizon=horizon)
        self.learner = started(owner, algorithm, problem, seed)

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

    def show(self, segment: str) -> Shown:
        """Choose an item for a user of `segment`."""
        decision = self.learner.act(self._segment("show", segment))
        items = self.items
        beside = tuple(items[b] for b in decision.revealed if b != decision.arm)
        return Shown(decision, items[decision.arm], beside, segment)

    def settle(self, shown: Shown, *, ratings: Mapping[str, npt.ArrayLike]) -> None:
        """Learn from the ratings of all items that were shown, by their names.

        A rating has one number for each aspect.
        Recommendations may be settled late and in any order. One whose ratings were lost by chance
        may be left; where it depends on the ratings whether they are given, leaving them would
        mislead the recommender.
        """
        decision = played(shown, Shown, self.learner)
        items = [self.items[b] for b in decision.revealed]
        given = for_each("ratings", ratings, items)
        self.learner.learn(decision, [self._row(item, given[item]) for item in items])

    def policy(self, segment: str) -> Floats:
        """Return the probability with which each item would be shown now."""
        return self.learner.policy(self._segment("policy", segment))

    def _segment(self, owner: str, segment: object) -> int:
        return self._segments.number(owner, "segment", segment, InvalidContextError)

    def _row(self, item: str, rating: npt.ArrayLike) -> Floats:
        """Return what is missing to the best rating in each aspect, in parts of the range."""
        low, high = self.rating_range
        aspects = self.learner.problem.form.columns
        expected = f"{aspects} numbers from {low:.15g} to {high:.15g} for each item"
        try:
            given = np.atleast_1d(np.asarray(rating))
        except ValueError:  # rows of different lengths
            given = np.empty(0)
        numeric = given.dtype.kind in "iuf" and given.shape == (aspects,)
        if not numeric or not ((given >= low) & (given <= high)).all():
            got = verbatim(f"{rating!r} for {item!r}")
            reject("settle", "ratings", expected, got, error=InvalidLossesError)
        row: Floats = (high - given) / (high - low)
        return row


def _plain(vector: npt.ArrayLike) -> Any:
    return np.asarray(vector).tolist()
