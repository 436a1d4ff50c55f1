"""The parts of a learner in a file: its problem, its state and its pending decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crossbandit.errors import OutOfMemoryError
from crossbandit.graphs import FeedbackGraph
from crossbandit.learners.algorithm import from_json
from crossbandit.learners.archive import check_finite
from crossbandit.learners.decisions import PendingDecision, compact
from crossbandit.losses.forms import restricted
from crossbandit.problem import Problem
from crossbandit.validation import integer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from crossbandit.learners.algorithm import Algorithm
    from crossbandit.learners.learner import Learner

# Parts of a problem that may be large: they are stored as arrays, not in the header.
PROBLEM_ARRAYS = ("features", "context_distribution", "context_sample")

# A file that claims more arms, contexts or features than this must have a byte for each of them.
_SMALL = 10_000
_LAST_ROUND = 2**62

# The arrays of pending decisions.
PENDING_ARRAYS = ("pending.available", "pending.rows", "pending.weights")

_Object = TypeVar("_Object")
_GraphOfRound = tuple[FeedbackGraph | None, Sequence[int] | None]  # with the arms revealed
_NO_GRAPH: _GraphOfRound = (None, None)


def write_learner(learner: Learner, members: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return the algorithm, its parameters and the round, in a form that `json` can write.

    Args:
        learner: The learner. Call this under its lock.
        members: The arrays of the file, to which copies of the state are added.
    """
    members |= {f"state.{name}": array.copy() for name, array in learner.state().items()}
    return {
        "algorithm": learner.algorithm.to_json(),
        "parameters": dict(learner.tuned()),
        "round": learner.round,
    }


def read_learner(
    header: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    size: int,
) -> Learner:
    """Return a new learner with the problem, the algorithm, the state and the round of a file.

    Args:
        header: A header with what `write_learner` returned and, as "problem", `write_problem`.
        arrays: The arrays of the file.
        size: The number of bytes of the file.

    Raises:
        ValueError: No learner can have written this file.
        OutOfMemoryError: The file is valid, but this machine has too little memory.
    """
    problem = _read_problem(header["problem"], arrays, max(_SMALL, size))
    try:
        learner = restarted(from_json(header["algorithm"]), header["parameters"], problem)
    except OutOfMemoryError as error:
        if problem.arms * problem.form.columns <= size:
            raise
        raise ValueError("it claims more estimates than a file of its size can hold") from error
    _fill(learner.state(), arrays)
    learner.round = last_round(header["round"])
    return learner


def write_problem(problem: Problem, members: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return a problem in a form that `json` can write; its large parts become members.

    Args:
        problem: The problem.
        members: The arrays of the file, to which parts of the problem are added.
    """
    data = problem.parts()
    for name in PROBLEM_ARRAYS:
        if isinstance(data[name], np.ndarray):
            members[f"problem.{name}"] = data.pop(name)
    return data


def _read_problem(
    data: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]], largest: int
) -> Problem:
    """Return what `write_problem` wrote.

    Raises:
        ValueError: It claims more than `largest` arms, contexts or features.
    """
    for name, size in (("arms", data["graph"]["arms"]), *data.items()):
        if name in ("arms", "contexts", "features") and isinstance(size, int) and size > largest:
            raise ValueError(f"it claims {size} {name}, more than a file of its size can hold")
    beside = {
        name: arrays[f"problem.{name}"] for name in PROBLEM_ARRAYS if f"problem.{name}" in arrays
    }
    return Problem.from_json({**data, **beside})


def _fill(
    state: Mapping[str, npt.NDArray[Any]],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Fill the arrays of a state with those of a file, if they have the same shapes and types."""
    for name, array in state.items():
        stored = arrays[f"state.{name}"]
        if stored.shape != array.shape or stored.dtype != array.dtype:
            raise ValueError(
                f"{name} has shape {stored.shape} and type {stored.dtype} instead of "
                f"{array.shape} and {array.dtype}"
            )
        check_finite(f"state.{name}", stored, array)
        array[...] = stored


def restarted(algorithm: Algorithm, parameters: dict[str, Any], problem: Problem) -> Learner:
    """Start a learner with the parameters of a file: the rule that set them may have changed.

    Args:
        algorithm: The algorithm as its user gave it.
        parameters: What `Learner.tuned` returned.
        problem: The problem.

    Returns:
        The learner, at round 0.
    """
    own = {field.name for field in fields(algorithm)}
    tuned = replace(algorithm, **{k: v for k, v in parameters.items() if k in own})
    learner = tuned.start(problem, seed=0)
    learner.algorithm = algorithm
    return learner


def last_round(number: object) -> int:
    """Return a number of rounds that was read from a file, as an int; raise if it is not one."""
    return integer("checkpoint", "round", number, at_least=0, at_most=_LAST_ROUND)


# -------------------------------------------------------------------------------- pending decisions


def write_pending(
    learner: Learner,
    roles: Mapping[str, list[PendingDecision]],
    members: dict[str, npt.NDArray[Any]],
) -> dict[str, Any]:
    """Write each pending decision once, and each vector of weights once, even if several share it.

    Args:
        learner: The learner that made them.
        roles: The pending decisions, by the role that they have for the learner.
        members: The arrays of the checkpoint, to which those of the decisions are added.

    Returns:
        The rest, in a form that `json` can write.

    Raises:
        ValueError: A number is not finite.
    """
    pending = _distinct([decision for role in roles.values() for decision in role])
    weights = _distinct([decision.weights for decision in pending if decision.weights is not None])
    rows = [decision.rows for decision in pending if decision.rows is not None]
    masks = [d.readout.available for d in pending if d.readout.available.size]
    for decision in pending:
        _check_weights(learner, decision)
    for name, parts in (("available", masks), ("weights", weights)):
        if parts:
            members[f"pending.{name}"] = np.stack(parts)
    if rows:
        members["pending.rows"] = np.concatenate(rows)
        check_finite("pending.rows", members["pending.rows"])
    position = {id(decision): i for i, decision in enumerate(pending)}
    weights_position = {id(vector): i for i, vector in enumerate(weights)}
    return {
        "decisions": [
            [
                decision.round,
                decision.context,
                decision.arm,
                decision.learner,
                weights_position.get(id(decision.weights)),
                None if decision.rows is None else len(decision.rows),
                decision.baseline,
                decision.readout.available.size > 0,
            ]
            for decision in pending
        ],
        "roles": {name: [position[id(d)] for d in role] for name, role in roles.items()},
        **_write_graphs(pending),
    }


def _write_graphs(pending: list[PendingDecision]) -> dict[str, Any]:
    """Return the graphs of decisions, as far as they are known; empty if graphs do not change."""
    known = [
        [i, list(one.revealed or ()), None if one.graph is None else one.graph.to_json()]
        for i, one in enumerate(pending)
        if one.graph is not None or one.revealed is not None
    ]
    return {"graphs": known} if known else {}


def _read_graphs(data: dict[str, Any], arms: int) -> dict[int, _GraphOfRound]:
    """Return what `_write_graphs` wrote, by the position of the decision."""
    known: dict[int, _GraphOfRound] = {}
    for i, revealed, written in data.get("graphs", []):
        _check_index("decision", i, len(data["decisions"]))
        for arm in revealed:
            _check_index("revealed arm", arm, arms)
        graph = None if written is None else FeedbackGraph.from_json(written)
        if graph is not None and graph.arms != arms:
            raise ValueError(f"a pending decision has a graph of {graph.arms} arms")
        known[i] = (graph, compact(sorted(set(revealed))))
    return known


def read_pending(
    data: dict[str, Any],
    learner: Learner,
    roles: Collection[str],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> dict[str, list[PendingDecision]]:
    """Return what `write_pending` wrote.

    Args:
        data: What it returned.
        learner: The new learner, with its state filled in.
        roles: The roles that pending decisions have for it.
        arrays: The arrays of the checkpoint.

    Raises:
        ValueError: An index is out of range, or a number is not finite.
    """
    problem = learner.problem
    all_weights = _table("pending.weights", problem.arms, arrays)
    all_rows = _table("pending.rows", problem.form.columns, arrays)
    check_finite("pending.rows", all_rows)
    masks = _table("pending.available", problem.arms, arrays, np.bool_)
    pending: list[PendingDecision] = []
    used, masks_used = 0, 0
    graphs = _read_graphs(data, problem.arms)
    for round_, context, arm, made_by, weights, count, baseline, limited in data["decisions"]:
        _check_index("round", round_, learner.round)
        _check_index("arm", arm, problem.arms)
        plain, readout = problem.form.read(context)
        if limited:
            readout = restricted(readout, masks[masks_used], problem.arms)
            masks_used += 1
        decision = PendingDecision(round_, plain, readout, arm, str(made_by))
        decision.decider, decision.counter = decision.learner, round_
        decision.baseline = None if baseline is None else float(baseline)
        decision.graph, decision.revealed = graphs.get(len(pending), _NO_GRAPH)
        if weights is not None:
            _check_index("weights", weights, len(all_weights))
            decision.weights = all_weights[weights]
            _check_weights(learner, decision)
        if count is not None:
            _check_index("row", count, len(all_rows) - used + 1)
            decision.rows = all_rows[used : used + count].copy()
            used += count
            if count != len(learner.revealed(decision)):
                raise ValueError(f"round {round_} has losses of {count} arms")
        pending.append(decision)
    if (used, masks_used) != (len(all_rows), len(masks)):
        raise ValueError("it has rows or masks that belong to no pending decision")
    if set(data["roles"]) != set(roles):
        raise ValueError(f"its pending decisions have the roles {sorted(data['roles'])[:20]}")
    for positions in data["roles"].values():
        for position in positions:
            _check_index("decision", position, len(pending))
    return {name: [pending[i] for i in positions] for name, positions in data["roles"].items()}


def _check_index(name: str, value: object, size: int) -> None:
    if type(value) is not int or not 0 <= value < size:
        raise ValueError(f"a pending decision has the {name} {value!r} of {size}")


def _check_weights(learner: Learner, decision: PendingDecision) -> None:
    """Raise ValueError unless the weights of revealed arms are finite; no others are used."""
    weights = decision.weights
    if weights is None or np.isfinite(weights).all():
        return
    if not np.isfinite(weights[list(learner.revealed(decision))]).all():
        raise ValueError(f"the weights of round {decision.round} are not finite")


def _table(
    name: str,
    columns: int,
    arrays: Mapping[str, npt.NDArray[Any]],
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    table = arrays.get(name, np.empty((0, columns), dtype))
    if table.ndim != 2 or table.shape[1] != columns or table.dtype != dtype:
        raise ValueError(f"{name} has shape {table.shape} and type {table.dtype}")
    return table


def _distinct(objects: list[_Object]) -> list[_Object]:
    return list({id(thing): thing for thing in objects}.values())
