"""Names of arms and contexts."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from crossbandit.algorithms.learners.problem import required_graph
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import InvalidInputError, InvalidLossesError
from crossbandit.graphs import FeedbackGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Labels:
    """Different names in a fixed order: the name of arm 0, of arm 1, and so on.

    >>> arms = Labels("SleepingArms", "arms", ["van", "bike"], at_least=2)
    >>> arms.index("choose", "available", "bike", InvalidInputError)
    1
    """

    def __init__(self, owner: str, parameter: str, values: Any, *, at_least: int) -> None:
        expected = f"at least {at_least} different names"
        try:
            listed = [] if isinstance(values, str) else list(values)
        except TypeError:
            listed = []
        for value in listed:
            if not isinstance(value, str) or not value:
                reject(owner, parameter, expected, verbatim(f"{value!r} among them"))
        self._positions = {name: position for position, name in enumerate(listed)}
        if len(self._positions) != len(listed) or len(listed) < at_least:
            reject(owner, parameter, expected, values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def index(
        self, owner: str, parameter: str, name: object, error: type[InvalidInputError]
    ) -> int:
        """Return the position of a name, or raise `error` if there is no such name."""
        position = self._positions.get(name) if isinstance(name, str) else None
        if position is None:
            near = get_close_matches(str(name), self._positions, n=1)
            listed = ", ".join(map(repr, self._positions))
            raise error(
                f"The {parameter!r} parameter of {owner} must name {listed}. Got {name!r}."
                + (f" Did you mean {near[0]!r}?" if near else "")
            )
        return position


def labeled_graph(
    owner: str, graph: FeedbackGraph | dict[str, Any], labels: Labels
) -> FeedbackGraph:
    """Return a graph on the labelled arms, given as a graph or in its JSON form."""
    # A graph is made of its JSON form only if it has the right size: a file may claim any.
    arms = graph.get("arms") if isinstance(graph, dict) else required_graph(owner, graph).arms
    if arms != len(labels):
        expected = f"a FeedbackGraph of the {len(labels)} arms"
        reject(owner, "graph", expected, verbatim(f"one of {arms} arms"))
    return FeedbackGraph.from_json(graph) if isinstance(graph, dict) else graph


def require_mapping(owner: str, parameter: str, given: Any) -> Mapping[str, Any]:
    """Return `given`, which must be a mapping from names."""
    if not isinstance(given, Mapping):
        reject(owner, parameter, "a mapping from names, such as a dict", given)
    return given


def require_outcomes(parameter: str, given: Any, revealed: Sequence[str]) -> Mapping[str, Any]:
    """Return `given`, which must have an outcome for each revealed name and for no other."""
    expected = f"a mapping that has {', '.join(map(repr, revealed))} and no other name"
    if not isinstance(given, Mapping):
        reject("settle", parameter, expected, given, error=InvalidLossesError)
    if set(given) != set(revealed):
        reject("settle", parameter, expected, list(given), error=InvalidLossesError)
    return given
