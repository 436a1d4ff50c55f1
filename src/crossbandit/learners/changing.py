"""What a decision reveals if graphs change: checks of the arguments of `act` and `learn`."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crossbandit.errors import InvalidGraphError, InvalidLossesError
from crossbandit.graphs import FeedbackGraph
from crossbandit.learners.decisions import compact
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    from crossbandit.learners.algorithm import Algorithm

# Which call is given the graph of a round.
_GIVEN_TO = {"informed": "act", "uninformed": "learn"}


def checked_graph(call: str, kind: str, algorithm: Algorithm, arms: int, graph: object) -> Any:
    """Return the graph that `act` or `learn` was given; None if this kind gives it no graph.

    Args:
        call: "act" or "learn".
        kind: The kind of the problem's graph.
        algorithm: The algorithm, which must be able to play on the graph.
        arms: The number of arms.
        graph: What was given.

    Raises:
        InvalidGraphError: A graph is missing, is given where none is expected, has another number
            of arms, or is less observable than the algorithm needs.
    """
    if _GIVEN_TO.get(kind) != call:
        if graph is not None:
            when = {
                "fixed": "is fixed, and known to the learner",
                "informed": "was given to act",
                "uninformed": "is given to learn, after the round",
                "unknown": "is unknown",
            }[kind]
            got = verbatim(f"one for a problem whose graph {when}")
            reject(call, "graph", "left out here", got, error=InvalidGraphError)
        return None
    if not isinstance(graph, FeedbackGraph):
        expected = f"the FeedbackGraph of the round: the problem's graphs are {kind}"
        reject(call, "graph", expected, graph, error=InvalidGraphError)
    if graph.arms != arms:
        got = verbatim(f"one of {graph.arms} arms")
        reject(call, "graph", f"a FeedbackGraph of {arms} arms", got, error=InvalidGraphError)
    algorithm.require_graph(graph, kind)
    return graph


def neighbors(graph: FeedbackGraph, arm: int) -> Sequence[int]:
    """Return the arms that playing `arm` reveals, ascending, in little memory."""
    return compact(graph.out_neighbors(arm).tolist())


def listed_arms(losses: object, arms: int) -> Sequence[int]:
    """Return the arms for which an unknown graph revealed losses, ascending.

    Raises:
        InvalidLossesError: `losses` is not a mapping from arms to rows.
    """
    if not isinstance(losses, Mapping):
        expected = "a mapping from each revealed arm to its row, because the graph is unknown"
        reject("learn", "losses", expected, losses, error=InvalidLossesError)
    for arm in losses:
        whole = isinstance(arm, numbers.Integral) and not isinstance(arm, bool)
        if not whole or not 0 <= arm < arms:
            expected = f"a mapping from arms, integers from 0 to {arms - 1}, to rows"
            got = verbatim(f"a row for arm {arm!r}")
            reject("learn", "losses", expected, got, error=InvalidLossesError)
    return compact(sorted(int(arm) for arm in losses))
