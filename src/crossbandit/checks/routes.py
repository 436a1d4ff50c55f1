"""The ways in which a round is played and learned from, in the checks of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.simulation.players import BatchPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossbandit.algorithms import Algorithm, Decision, Learner
    from crossbandit.graphs import FeedbackGraph
    from crossbandit.types import Booleans, Floats


@dataclass(frozen=True)
class Route:
    """One way to play a round and to learn from it.

    Attributes:
        name: What a message calls it.
        compiled: Whether the compiled loop plays it.
        late: Whether other rounds are played and learned from before its feedback comes.
        available: Which arms may be played; None for all.
        kind: What the learner is told about the graph, as in `Problem.graph_kind`.
        graph: The graph of the round.
    """

    name: str
    graph: FeedbackGraph
    compiled: bool = False
    late: bool = False
    available: Booleans | None = None
    kind: str = "fixed"

    def act(self, learner: Learner, context: int) -> Decision:
        """Return the decision of a learner in a context.

        Args:
            learner: The learner.
            context: The context.
        """
        graph = self.graph if self.kind == "informed" else None
        return learner.act(context, self.available, graph)

    def learn(self, learner: Learner, decision: Decision, rows: Floats) -> None:
        """Let a learner learn from what a decision revealed.

        Args:
            learner: The learner.
            decision: The decision.
            rows: The losses of all arms in all contexts (arms, contexts).
        """
        if self.kind == "uninformed":
            revealed = self.graph.out_neighbors(decision.arm)
            learner.learn(decision, rows[revealed], self.graph)
        else:
            learner.learn(decision, rows[list(decision.revealed)])


def routes(
    algorithm: Algorithm, learner: Learner, graph: FeedbackGraph, kind: str = "fixed"
) -> Iterator[Route]:
    """Yield the ways in which a round is played: prompt, compiled, late, with some arms.

    Args:
        algorithm: The algorithm.
        learner: A learner of it.
        graph: The graph of the round.
        kind: The kind of the problem's graph.
    """
    what = "" if kind == "fixed" else f", with {kind} graphs"
    seen: Any = {"graph": learner.graph if kind == "fixed" else graph, "kind": kind}
    yield Route(f"with prompt feedback{what}", **seen)
    compiled = isinstance(learner, BatchPlayer)
    if compiled:
        yield Route(f"in the compiled loop{what}", compiled=True, **seen)
    yield Route(f"with late feedback{what}", late=True, **seen)
    if algorithm.takes_availability and graph.arms > 2:
        for missing in (0, graph.arms - 1):
            mask = np.arange(graph.arms) != missing
            name = f"where arm {missing} is not available{what}"
            yield Route(name, available=mask, **seen)
            if compiled:
                yield Route(f"{name}, in the compiled loop", available=mask, compiled=True, **seen)
