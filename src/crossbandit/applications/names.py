"""Names for arms and contexts, and the number that each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from crossbandit.errors import InvalidInputError, InvalidLossesError
from crossbandit.graphs import FeedbackGraph
from crossbandit.problem import required_graph
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Names:
    """Different texts in a fixed order.

    >>> arms = Names("SleepingArms", "arms", ["van", "bike"], at_least=2)
    >>> arms.number("choose", "available", "bike", InvalidInputError)
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
        self._numbers = {name: number for number, name in enumerate(listed)}
        if len(self._numbers) != len(listed) or len(listed) < at_least:
            reject(owner, parameter, expected, values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(
        self, owner: str, parameter: str, name: object, error: type[InvalidInputError]
    ) -> int:
        """Return the number of a name, or refuse what is none."""
        known = self._numbers.get(name) if isinstance(name, str) else None
        if known is None:
            near = get_close_matches(str(name), self._numbers, n=1)
            listed = ", ".join(map(repr, self._numbers))
            raise error(
                f"The {parameter!r} parameter of {owner} must name {listed}. Got {name!r}."
                + (f" Did you mean {near[0]!r}?" if near else "")
            )
        return known


def graph_of(owner: str, graph: object, names: Names) -> FeedbackGraph:
    """Return a graph whose arms have these names, given itself or as a checkpoint keeps it."""
    if isinstance(graph, dict):
        graph = FeedbackGraph.from_json(graph)
    known = required_graph(owner, graph)
    if known.arms != len(names):
        expected = f"a FeedbackGraph of the {len(names)} arms"
        reject(owner, "graph", expected, verbatim(f"one of {known.arms} arms"))
    return known


def by_name(owner: str, parameter: str, given: Any) -> Mapping[str, Any]:
    """Return `given`, something for each of several names."""
    if not isinstance(given, Mapping):
        reject(owner, parameter, "a mapping from names, such as a dict", given)
    return given


def for_each(parameter: str, given: Any, revealed: Sequence[str]) -> Mapping[str, Any]:
    """Return `given`, an outcome for each of the revealed names and for no other."""
    expected = f"a mapping that has {', '.join(map(repr, revealed))} and no other name"
    if not isinstance(given, Mapping):
        reject("settle", parameter, expected, given, error=InvalidLossesError)
    if set(given) != set(revealed):
        reject("settle", parameter, expected, list(given), error=InvalidLossesError)
    return given
