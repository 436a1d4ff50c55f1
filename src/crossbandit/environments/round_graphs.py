"""The graph of each round of an environment: a fixed graph, or what its method `graph` returns."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import InvalidGraphError, InvalidParameterError
from crossbandit.graphs import FeedbackGraph
from crossbandit.kernels.ranges import GraphBlock, stacked

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from crossbandit.environments.environment import Environment


def graph_rule(environment: Environment) -> Callable[[int, Any], FeedbackGraph]:
    """Return a function of a round and its context: the checked graph of the round.

    Raises:
        InvalidParameterError: The environment has a method `graph` and its problem has a fixed
            graph, or the other way round.
    """
    problem, owner = environment.problem, type(environment).__name__
    own = getattr(environment, "graph", None)
    if problem.graph_kind == "fixed":
        if inspect.ismethod(own) or inspect.isfunction(own):
            raise InvalidParameterError(
                f"{owner} has a method graph, so its graphs change, but its problem says that the "
                "graph is fixed. Set graph_kind of the problem to 'informed', 'uninformed' or "
                "'unknown'."
            )
        return lambda *_: problem.graph
    if not callable(own):
        raise InvalidParameterError(
            f"The graphs of {owner} change: the graph_kind of its problem is "
            f"{problem.graph_kind!r}. So it must have a method graph(round_) or "
            "graph(round_, context), which returns the FeedbackGraph of a round."
        )
    takes_context = len(inspect.signature(own).parameters) > 1
    seen: dict[int, FeedbackGraph] = {}  # by id: the graphs are kept, so that ids stay unique

    def rule(round_: int, context: Any) -> FeedbackGraph:
        graph: FeedbackGraph = own(round_, context) if takes_context else own(round_)
        if seen.get(id(graph)) is not graph:
            _check(owner, problem.graph, graph, round_)
            if len(seen) < _KEPT:
                seen[id(graph)] = graph
        return graph

    return rule


_KEPT = 1000  # graphs that were checked; an environment may make a new one in each round


def _check(owner: str, promised: FeedbackGraph, graph: object, round_: int) -> None:
    if not isinstance(graph, FeedbackGraph) or graph.arms != promised.arms:
        raise InvalidGraphError(
            f"{owner}.graph must return a FeedbackGraph of {promised.arms} arms. Got {graph!r} in "
            f"round {round_}."
        )
    edge = promised.edge_not_in(graph)
    if edge is not None:
        raise InvalidGraphError(
            f"The graph of the problem of {owner} must have only edges that every round has. Round "
            f"{round_} does not have its edge {edge}."
        )


def block_of(
    rule: Callable[[int, Any], FeedbackGraph], start: int, contexts: npt.NDArray[Any]
) -> GraphBlock:
    """Return the graphs of consecutive rounds, each distinct graph once.

    Args:
        rule: What `graph_rule` returned.
        start: The first round.
        contexts: The contexts of the rounds.
    """
    graphs = [rule(start + i, context) for i, context in enumerate(contexts)]
    return graph_block(graphs)


def graph_block(
    graphs: list[FeedbackGraph], entry: npt.NDArray[np.int64] | None = None
) -> GraphBlock:
    """Return the graphs of n rounds in compiled form.

    Args:
        graphs: The graphs of the rounds; or, with `entry`, those from which rounds choose.
        entry: Which of the graphs each round has, of shape (n,).

    >>> from crossbandit import graphs
    >>> block = graph_block([graphs.complete(3), graphs.ring(3, 1), graphs.complete(3)])
    >>> block.entry
    array([0, 1, 0])
    """
    if entry is None:
        distinct: dict[FeedbackGraph, int] = {}
        entry = np.array([distinct.setdefault(graph, len(distinct)) for graph in graphs])
        graphs = list(distinct)
    return stacked([(graph.out_ranges, graph.in_ranges) for graph in graphs], entry)


def checked_graphs(environment: Any, block: object, rounds: int) -> GraphBlock:
    """Return the result of an environment's `graphs`; raise unless it has the right form.

    Compiled code does not check its indices, so every range must hold arms.
    """
    owner, arms = type(environment).__name__, environment.problem.arms
    if isinstance(block, GraphBlock) and block.entry.shape == (rounds,):
        count = (block.out_ranges.starts.size - 1) // arms
        entries_fit = rounds == 0 or (block.entry.min() >= 0 and block.entry.max() < count)
        if entries_fit and all(
            _fits(ranges, arms, count) for ranges in (block.out_ranges, block.in_ranges)
        ):
            return block
    raise InvalidGraphError(
        f"{owner}.graphs must return a GraphBlock with an entry for each of {rounds} rounds and "
        f"ranges of {arms} arms per graph, such as graph_block(graphs, entry)."
    )


def _fits(ranges: Any, arms: int, count: int) -> bool:
    starts, first, last = ranges
    return bool(
        starts.size == count * arms + 1
        and starts[0] == 0
        and starts[-1] == first.size == last.size
        and (np.diff(starts) >= 0).all()
        and (first.size == 0 or (first.min() >= 0 and last.max() < arms and (first <= last).all()))
    )
