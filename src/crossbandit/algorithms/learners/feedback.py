"""Checks of what `act` and `learn` are given, and of what an algorithm adds to estimates."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms.learners.decisions import compact
from crossbandit.core.types import Floats
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import (
    CheckFailedError,
    InvalidContextError,
    InvalidGraphError,
    InvalidLossesError,
)
from crossbandit.graphs.graph import as_graph

if TYPE_CHECKING:
    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.decisions import Decision
    from crossbandit.core.forms import LossForm
    from crossbandit.graphs import FeedbackGraph

_FLOAT = np.dtype(np.float64)

# Which call is given the graph of a round.
_GIVEN_TO = {"informed": "act", "uninformed": "learn"}


def checked_graph(
    call: str, kind: str, algorithm: Algorithm, arms: int, graph: object
) -> FeedbackGraph | None:
    """Return the graph that `act` or `learn` was given; None if the call takes no graph."""
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
    expected = f"the FeedbackGraph of the round, of {arms} arms: the problem's graphs are {kind}"
    graph = as_graph(call, graph, arms, expected=expected, error=InvalidGraphError)
    algorithm.require_graph(graph, kind)
    return graph


def neighbors(graph: FeedbackGraph, arm: int) -> Sequence[int]:
    """Return the arms that playing `arm` reveals, ascending, in little memory."""
    return compact(graph.out_neighbors(arm).tolist())


def listed_arms(losses: object, arms: int) -> Sequence[int]:
    """Return the arms for which an unknown graph revealed losses, ascending."""
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


def checked_rows(form: LossForm, pending: Decision, revealed: Sequence[int], losses: Any) -> Floats:
    """Return a copy of the losses of the revealed arms as rows, or raise InvalidLossesError.

    It is a copy, so that losses which were checked cannot change before they are used.
    """
    if type(losses) is not np.ndarray and isinstance(losses, Mapping):
        losses = _in_order(losses, revealed, pending.arm)
    expected = (len(revealed), form.columns)
    rows = _numbers(losses)
    if rows is None:
        raise InvalidLossesError(
            f"The 'losses' parameter of learn must be an array of numbers of shape {expected}. "
            f"Got {losses!r}."
        )
    if not revealed and rows.size == 0:
        return np.empty(expected)  # nothing was revealed: [] and {} are right
    if rows.shape != expected:
        raise InvalidLossesError(
            f"The 'losses' parameter of learn must have shape {expected}: a row for each arm "
            f"that arm {pending.arm} reveals, a column for each {form.column_name}. Got shape "
            f"{rows.shape}."
        )
    form.check(rows, revealed, pending.context, pending.readout)
    return rows


def rows_of_many(
    form: LossForm, pending: Sequence[Decision], revealed: Sequence[Sequence[int]], losses: Any
) -> list[Floats]:
    """Return what `checked_rows` returns, for the losses of each of many decisions."""
    counts = [len(own) for own in revealed]
    if isinstance(losses, np.ndarray) and losses.shape == (sum(counts), form.columns):
        losses = np.split(losses, np.cumsum(counts)[:-1])
    if not hasattr(losses, "__len__") or len(losses) != len(pending):
        expected = (
            f"an entry for each of the {len(pending)} decisions, or one array of shape "
            f"{(sum(counts), form.columns)} with all their rows"
        )
        reject("learn_many", "losses", expected, losses, error=InvalidLossesError)
    triples = zip(pending, revealed, losses, strict=True)
    return [checked_rows(form, one, own, given) for one, own, given in triples]


def read_many(contexts: Any, available: Any) -> tuple[list[Any], list[Any]]:
    """Return the contexts and the masks of `act_many`, as lists of the same length."""
    given = _listed("contexts", contexts)
    masks = [None] * len(given) if available is None else _listed("available", available)
    if len(masks) != len(given):
        expected = f"None, or as many masks as contexts, {len(given)}"
        reject("act_many", "available", expected, verbatim(str(len(masks))))
    return given, masks


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        expected = "a sequence with an entry for each decision"
        reject("act_many", name, expected, values, error=InvalidContextError)
    return list(values)


def _numbers(losses: Any) -> Floats | None:
    """Return a copy of losses as floats; None if they are text, complex, masked or ragged."""
    if type(losses) is np.ndarray and losses.dtype == _FLOAT:  # the usual case, in every round
        return losses.copy()
    parts = losses if isinstance(losses, list | tuple) else [losses]
    if losses is None or any(np.ma.is_masked(part) for part in parts):
        return None
    try:
        given = np.asarray(losses)
    except ValueError:
        return None
    if given.dtype.kind not in "biuf":
        return None
    return np.array(given, dtype=np.float64, order="C")


def _in_order(losses: Mapping[int, Any], revealed: Sequence[int], arm: int) -> list[Any]:
    """Return the rows of a mapping from arms to rows, in the order of `revealed`."""
    for b in losses:
        if b not in revealed:
            raise InvalidLossesError(
                f"Playing arm {arm} does not reveal arm {b!r}. Got losses for it; expected the "
                f"arms {list(revealed)}."
            )
    rows = []
    for b in revealed:
        if b not in losses:
            raise InvalidLossesError(
                f"Playing arm {arm} reveals arm {b}. Got no losses for it; expected the arms "
                f"{list(revealed)}."
            )
        row = _numbers(losses[b])
        if row is None:
            raise InvalidLossesError(
                f"The row of arm {b} in the 'losses' parameter of learn must be numbers, none of "
                f"them masked. Got {losses[b]!r}."
            )
        # A data frame of one row is that row.
        rows.append(row[0] if row.ndim == 2 and len(row) == 1 else row)
    return rows


def check_sizes(
    owner: str, arms: int, estimates: Any, pending: Decision, rows: Any, revealed: int
) -> None:
    """Raise if arrays that an algorithm adds have shapes that do not fit; some would broadcast."""
    weights: Any = pending.weights
    if not _has_shape(weights, (arms,)) or weights.dtype != _FLOAT:
        raise CheckFailedError(
            f"The weights that {owner} puts on a pending decision must be a float for each of the "
            f"{arms} arms, revealed or not: an array of shape {(arms,)}. Got "
            f"{_described(weights)}. Set pending.weights in play."
        )
    if not isinstance(estimates, np.ndarray) or estimates.ndim != 2 or len(estimates) != arms:
        raise CheckFailedError(
            f"The estimates to which {owner} adds must be an array with a row for each of the "
            f"{arms} arms. Got {_described(estimates)}."
        )
    expected = (revealed, estimates.shape[1])
    if not _has_shape(rows, expected):
        raise CheckFailedError(
            f"The rows that {owner} adds must be an array of shape {expected}: a row for each arm "
            f"that arm {pending.arm} reveals, as wide as its estimates. Got {_described(rows)}."
        )


def _has_shape(value: object, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return f"a {type(value).__name__}"
