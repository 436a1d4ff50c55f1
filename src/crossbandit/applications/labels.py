"""Names of arms and contexts, and what applications share whose arms have names."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learners.problem import Problem
from crossbandit.applications.action import pending_decision
from crossbandit.applications.application import Application, start_learner
from crossbandit.core.validation import as_array, reject, verbatim
from crossbandit.errors import InvalidInputError, InvalidLossesError
from crossbandit.graphs import FeedbackGraph
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.algorithms.learners.decisions import Decision
    from crossbandit.applications.action import Action
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats


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


class LabeledArms(Application):
    """An application whose arms have names. A play reveals an outcome, in a range, of each of some.

    Attributes:
        outcome: The argument of `settle` with the outcomes.
    """

    outcome: ClassVar[str]
    learner: Learner
    _arms: Labels
    _worst_and_best: tuple[float, float]

    def _start(
        self,
        graph: FeedbackGraph | npt.ArrayLike | dict[str, Any],
        features: Any,
        horizon: int | None,
        algorithm: Algorithm | None,
        seed: Seed,
    ) -> None:
        """Start the learner; the last step of a constructor. The graph may be in its JSON form."""
        owner = type(self).__name__
        arms = len(self._arms)
        # A graph is made of its JSON form only if it has the right size: a file may claim any.
        if isinstance(graph, dict) and graph.get("arms") == arms:
            graph = FeedbackGraph.from_json(graph)
        problem = Problem(as_graph(owner, graph, arms), features=features, horizon=horizon)
        self.learner = start_learner(owner, algorithm, problem, seed)

    def settings(self) -> dict[str, Any]:
        problem = self.learner.problem
        return {"graph": problem.graph.to_json(), "horizon": problem.horizon}

    def _revealed(self, decision: Decision) -> tuple[str, ...]:
        names = list(self._arms)
        return tuple(names[b] for b in decision.revealed)

    def _settle(self, action: Any, kind: type[Action], given: Any) -> None:
        """Learn from an outcome for each name that an action, or its token, reveals."""
        _, decision = pending_decision(action, kind, self.learner)
        names, parameter = self._revealed(decision), self.outcome
        expected = f"a mapping that has {', '.join(map(repr, names))} and no other name"
        if not isinstance(given, Mapping):
            reject("settle", parameter, expected, given, error=InvalidLossesError)
        if set(given) != set(names):
            reject("settle", parameter, expected, list(given), error=InvalidLossesError)
        self.learner.learn(decision, [self._row(name, given[name]) for name in names])

    def _row(self, name: str, outcome: Any) -> Floats:
        """Return how far an outcome is from the best one, scaled to [0, 1]."""
        parameter, bad = self.outcome, InvalidLossesError
        low, high = sorted(self._worst_and_best)
        columns = self.learner.problem.form.columns
        expected = f"numbers from {low:.15g} to {high:.15g}"
        if columns > 1:
            expected = f"{columns} {expected} for each name"
        found = np.atleast_1d(as_array("settle", parameter, expected, outcome, error=bad))
        numeric = found.dtype.kind in "iuf" and found.shape == (columns,)
        if not numeric or not ((found >= low) & (found <= high)).all():
            got = verbatim(f"{outcome!r} for {name!r}")
            reject("settle", parameter, expected, got, error=bad)
        row: Floats = np.abs(self._worst_and_best[1] - found) / (high - low)
        return row


def require_mapping(owner: str, parameter: str, given: Any) -> Mapping[str, Any]:
    """Return `given`, which must be a mapping from names."""
    if not isinstance(given, Mapping):
        reject(owner, parameter, "a mapping from names, such as a dict", given)
    return given
