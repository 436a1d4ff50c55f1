"""Check what an environment returns: losses, available arms, and the graph of each round."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.errors import (
    InvalidContextError,
    InvalidGraphError,
    InvalidLossesError,
    InvalidParameterError,
)
from crossbandit.graphs import FeedbackGraph
from crossbandit.kernels.ranges import GraphBlock, stacked
from crossbandit.kernels.rounds import LossBlock, read_only
from crossbandit.kernels.rows import first_outside
from crossbandit.losses import LinearForm
from crossbandit.losses.forms import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from crossbandit.environments.environment import BlockEnvironment, Environment
    from crossbandit.types import Booleans, Floats

_KEPT_GRAPHS = 1000  # the number of checked graphs that are remembered


def availability(environment: Environment, contexts: npt.NDArray[Any]) -> Booleans | None:
    """Return the checked `available(contexts)` of an environment; None if it has none."""
    rule = getattr(environment, "available", None)
    available = None if rule is None else rule(contexts)
    if available is None:
        return None
    mask = np.asarray(available)
    expected = (len(contexts), environment.problem.arms)
    if mask.shape != expected or mask.dtype != np.bool_:
        raise InvalidContextError(
            f"{type(environment).__name__}.available must return None, or booleans of shape "
            f"{expected}: contexts by arms. Got shape {mask.shape} and type {mask.dtype}."
        )
    if not mask.any(axis=1).all():
        context = contexts[int(np.argmin(mask.any(axis=1)))]
        raise InvalidContextError(
            f"{type(environment).__name__}.available must leave an arm in every context. Got none "
            f"in context {context}."
        )
    return mask


def checked_block(environment: BlockEnvironment, start: int, stop: int) -> LossBlock:
    """Return the environment's block; raise if its arrays do not have the expected shapes."""
    block = environment.block(start, stop)
    call = f"{type(environment).__name__}.block({start}, {stop})"
    _check_arrays(call, block)
    rounds, terms = stop - start, block.coefficients.shape[-1]
    row = (environment.problem.arms, environment.problem.form.columns)
    if (
        block.base.shape not in {(1, *row), (rounds, *row)}
        or block.coefficients.shape != (rounds, row[0], terms)
        or block.features.shape != (terms, row[1])
    ):
        raise InvalidLossesError(
            f"{call} must hold a base of shape {(rounds, *row)} or {(1, *row)}, coefficients of "
            f"shape {(rounds, row[0], 'k')} and features of shape {('k', row[1])}. Got "
            f"{block.base.shape}, {block.coefficients.shape} and {block.features.shape}."
        )
    return read_only(block)


def _check_arrays(call: str, block: object) -> None:
    """Raise unless `block` is a LossBlock of arrays of numbers, of any shapes."""
    if not isinstance(block, LossBlock):
        raise InvalidLossesError(
            f"{call} must return a LossBlock. Got a {type(block).__name__}. To make one of losses "
            "of shape (rounds, arms, contexts), or of coefficients of shape (rounds, arms, "
            "features), return row_block(losses)."
        )
    parts: dict[str, Any] = block._asdict()
    for name in ("base", "coefficients", "features"):
        part = parts[name]
        if not isinstance(part, np.ndarray) or part.ndim == 0 or part.dtype.kind not in "fiu":
            kind = f"type {part.dtype}" if isinstance(part, np.ndarray) else type(part).__name__
            raise InvalidLossesError(
                f"The {name} of {call} must be an array of numbers. Got {kind}."
            )


def checked_rows(environment: Any, round_: int, *arms: Sequence[int]) -> Floats:
    """Return the environment's losses of a round; raise unless they are finite and fit.

    An adaptive environment also takes the arms that were played before.
    """
    rows = np.ascontiguousarray(environment.losses(round_, *arms), dtype=np.float64)
    expected = (environment.problem.arms, environment.problem.form.columns)
    if rows.shape != expected or not np.isfinite(rows).all():
        got = f"shape {rows.shape}" if rows.shape != expected else "numbers that are not finite"
        raise InvalidLossesError(
            f"{type(environment).__name__}.losses must return finite numbers of shape {expected}, "
            f"arms by {environment.problem.form.column_name}s. Got {got} in round {round_}."
        )
    return rows


def listed_availability(environment: BlockEnvironment) -> Booleans | None:
    """Return which arms are available in each listed context of a linear form; otherwise None.

    Dense losses are given for each context, and must be in [0, 1] in all of them.
    """
    form = environment.problem.form
    if not isinstance(form, LinearForm) or form.contexts is None:
        return None
    return availability(environment, form.listed())


def check_range(
    environment: BlockEnvironment, block: LossBlock, start: int, available: Booleans | None
) -> None:
    """Raise unless all losses of the block are in [0, 1], as far as contexts can be listed.

    Linear losses may be outside [0, 1] in contexts in which their arm is not `available`
    (contexts, K).
    """
    form = environment.problem.form
    rounds, arms, columns = block.base.shape
    if block.clip or block.coefficients.shape[2] > 0:
        return  # clipped, or checked when they occur
    rows = np.ascontiguousarray(block.base).reshape(rounds * arms, columns)
    bad, context = -1, -1
    if isinstance(form, LinearForm):
        bad, context = form.first_bad(rows, np.tile(np.arange(arms), rounds), available)
    else:
        found = first_outside(rows, -ROUNDING, 1.0 + ROUNDING)
        if found >= 0:
            bad, context = divmod(found, columns)
    if bad >= 0:
        round_, arm = divmod(bad, arms)
        loss = form.readout(context).losses(rows[bad : bad + 1], [arm])[0]
        raise InvalidLossesError(
            f"The losses of {type(environment).__name__} must lie in [0, 1]. Got {loss} in round "
            f"{start + round_}, for arm {arm} in context {context}."
        )


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
            _check_graph(owner, problem.graph, graph, round_)
            if len(seen) < _KEPT_GRAPHS:
                seen[id(graph)] = graph
        return graph

    return rule


def _check_graph(owner: str, promised: FeedbackGraph, graph: object, round_: int) -> None:
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
            _holds_arms(ranges, arms, count) for ranges in (block.out_ranges, block.in_ranges)
        ):
            return block
    raise InvalidGraphError(
        f"{owner}.graphs must return a GraphBlock with an entry for each of {rounds} rounds and "
        f"ranges of {arms} arms per graph, such as graph_block(graphs, entry)."
    )


def _holds_arms(ranges: Any, arms: int, count: int) -> bool:
    starts, first, last = ranges
    return bool(
        starts.size == count * arms + 1
        and starts[0] == 0
        and starts[-1] == first.size == last.size
        and (np.diff(starts) >= 0).all()
        and (first.size == 0 or (first.min() >= 0 and last.max() < arms and (first <= last).all()))
    )
