"""Learners in files, written atomically and without pickle.

A file may come from an untrusted source. Loading checks every size before memory is allocated
for it, every index before it is used, and that every number is finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from crossbandit.algorithms.learners.algorithm import from_json
from crossbandit.algorithms.learners.decisions import Decision, compact
from crossbandit.algorithms.learners.missing import FeedbackWatch
from crossbandit.algorithms.learners.problem import Problem
from crossbandit.algorithms.learners.shell import GRAPH_FILE, LAST_ROUND, LAW_FILE
from crossbandit.core import record
from crossbandit.core.forms import restricted
from crossbandit.core.validation import integer
from crossbandit.errors import (
    IMPOSSIBLE_CONTENT,
    CheckpointError,
    OutOfMemoryError,
)
from crossbandit.graphs import FeedbackGraph

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.learner import Learner

    Arrays = Mapping[str, npt.NDArray[Any]]
    # Returns what the owner of a learner keeps, in a form that `json` can write, and arrays.
    Kept = Callable[[], tuple[Mapping[str, Any], Arrays]]
    # A header, arrays by part and name, and more arguments of `record.write`.
    Written = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]

VERSION = 5  # of the file of a learner with a feedback graph
_READ = {GRAPH_FILE: (VERSION,), LAW_FILE: (5,)}
_UNCHECKED = ("pending.weights",)
_PARTS = {
    GRAPH_FILE: ("state", "problem", "pending", "seen", "watch", "application"),
    LAW_FILE: ("law", "test", "guard", "seen", "application"),
}
_KEYS = {
    "format",
    "version",
    "ids",
    "algorithm",
    "parameters",
    "round",
    "max_pending",
    "generator",
    "notes",
    "problem",
    "pending",
    "waiting",
    "expired",
    "seen",
    "watch",
}
_MOST_IDS = 1000  # a file has this many ids of a learner at most; the oldest are left out
# Parts of a problem that may be large: they are stored as arrays, not in the header.
_PROBLEM_ARRAYS = ("features", "context_distribution", "context_sample")
_PENDING_ARRAYS = ("available", "weights", "rows")
# A file that claims more arms, contexts or features than this must have a byte for each of them.
_SMALL = 10_000

_Object = TypeVar("_Object")
_GraphOfRound = tuple[FeedbackGraph | None, Sequence[int] | None]  # with the arms revealed
_NO_GRAPH: _GraphOfRound = (None, None)


class LearnerFile(NamedTuple):
    """What a file holds: a header, and arrays by part and name."""

    path: record.Place
    header: dict[str, Any]
    parts: dict[str, dict[str, npt.NDArray[Any]]]
    size: int

    @property
    def algorithm(self) -> Algorithm | str:
        """The `algorithm` argument of the application that has the learner."""
        return "law" if self.header["format"] == LAW_FILE else from_json(self.header["algorithm"])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors about content that no learner has written into CheckpointErrors."""
        try:
            yield
        except OutOfMemoryError:  # the file is valid, but this machine has too little memory
            raise
        except IMPOSSIBLE_CONTENT as error:
            name = record.name_of(self.path)
            raise CheckpointError(f"The checkpoint {name} is inconsistent: {error}") from error


def read(path: record.Place) -> LearnerFile:
    """Return the parts of a file; what they hold is checked when it is taken over."""
    header, arrays, size = record.read(path)
    kind = header.get("format")
    if kind not in _READ:
        raise record.damaged(path, ValueError("it was not written by Learner.save"))
    record.check_version(path, header, _READ[kind])
    file = LearnerFile(path, header, {}, size)
    with file.reading():
        dict(header["notes"])
        return file._replace(parts=record.parted(arrays, _PARTS[kind]))


def load(path: str | os.PathLike[str]) -> Learner:
    """Return the learner that `Learner.save` wrote; it resumes exactly.

    It can learn from decisions that were pending when it was saved. It can also learn from
    decisions that the first learner and its snapshots made later, because what was learned from
    them is not in the file. If the algorithm has `needs_memory`, it refuses these later decisions.
    An algorithm that is not part of the package must be registered before its learners are loaded.

    Args:
        path: The file.

    Returns:
        The learner.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: The file cannot be read, is damaged, is not a checkpoint, or was written by
            a version that this one cannot read.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from crossbandit import CrossGraphAdaptive, Problem, graphs
    >>> learner = CrossGraphAdaptive().start(Problem(graphs.complete(3), contexts=2), seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     learner.save(Path(folder) / "learner")
    ...     resumed = load(Path(folder) / "learner")
    >>> resumed.act(0).arm == learner.act(0).arm
    True
    """
    file = read(path)
    if file.header["format"] != GRAPH_FILE:
        raise record.damaged(path, ValueError("it was not written by Learner.save"))
    with file.reading():
        return graph_learner(file.header, file.parts, file.size)


def save(learner: Any, path: record.Place, kept: Kept, owner: str) -> None:
    """Write a learner, and what its owner keeps, to a file."""
    try:
        header, parts, options = learner.written(kept)
    except ValueError as error:  # a number is not finite
        raise record.broken(owner, str(error)) from error
    record.write(path, header, record.joined(parts), owner=owner, **options)


# ------------------------------------------------------------------- learners with a feedback graph


def written(learner: Learner, kept: Kept) -> Written:
    """Return what a file has of a learner, and of what its owner keeps."""
    notes, arrays = kept()
    parts: dict[str, Any] = {"application": dict(arrays)}
    with learner._lock:
        watch, seen = learner._watch, learner.learned_from
        if watch is not None:
            parts["watch"] = {"": watch.counts()}
        header: dict[str, Any] = {
            "format": GRAPH_FILE,
            "version": VERSION,
            "ids": [*learner._former_ids.items(), (learner.id, learner.round)][-_MOST_IDS:],
            **write_learner(learner, parts),
            "max_pending": learner.max_pending,
            "waiting": learner._waiting,
            "expired": learner._last_expired,
            "seen": {"window": seen.window, "limit": seen.limit},
            "watch": None if watch is None else watch.state(),
            "generator": learner.generator.bit_generator.state,
            "pending": _write_pending(learner, parts),
            "notes": dict(notes),
        }
        frozen = seen.freeze()  # its arrays are large, so they are copied later
    parts["seen"] = frozen()
    header["problem"] = write_problem(learner.problem, parts)
    # The weights of arms that are not revealed may be infinite.
    return header, parts, {"model": partial(initial_state, learner), "checked": _UNCHECKED}


def initial_state(learner: Learner) -> Arrays:
    """Return the state that a learner had before the first round, as a file has it."""
    start = restarted(learner.algorithm, learner.tuned(), learner.problem)
    return record.joined({"state": start.state()})


def graph_learner(header: dict[str, Any], parts: Mapping[str, Arrays], size: int) -> Learner:
    """Return a new learner with the state in a file of this size."""
    if set(header) != _KEYS:
        raise ValueError(f"its header has the entries {sorted(header)[:20]}")
    learner = read_learner(header, parts, size)
    roles = learner.remembered().keys()
    learner.restore(_read_pending(header["pending"], learner, roles, parts["pending"]))
    learner.generator.bit_generator.state = header["generator"]
    learner.max_pending = header["max_pending"]
    learner._former_ids = {str(former): _last_round(rounds) for former, rounds in header["ids"]}
    learner._waiting = integer("checkpoint", "waiting", header["waiting"], at_least=0)
    seen = learner.learned_from
    seen.window, seen.limit = header["seen"]["window"], header["seen"]["limit"]
    if parts["seen"]:
        seen.restore(parts["seen"])
    watch = header["watch"]
    if watch is not None and learner.needs_all_feedback:
        learner._watch = FeedbackWatch(learner.problem.arms)
        learner._watch.restore(watch, parts["watch"][""])
    for name, one in parts["application"].items():
        if wrong := record.not_finite(name, one):
            raise ValueError(wrong)
    learner.check_state()
    return learner


def write_learner(learner: Learner, parts: dict[str, Any]) -> dict[str, Any]:
    """Add copies of the state to `parts`; return the algorithm, its parameters and the round."""
    parts["state"] = {name: array.copy() for name, array in learner.state().items()}
    return {
        "algorithm": learner.algorithm.to_json(),
        "parameters": dict(learner.tuned()),
        "round": learner.round,
    }


def read_learner(header: Mapping[str, Any], parts: Mapping[str, Arrays], size: int) -> Learner:
    """Return a new learner with the problem, the algorithm, the state and the round of a file."""
    problem = _read_problem(header["problem"], parts["problem"], max(_SMALL, size))
    try:
        learner = restarted(from_json(header["algorithm"]), header["parameters"], problem)
    except OutOfMemoryError as error:
        if problem.arms * problem.form.columns <= size:
            raise
        raise ValueError("it claims more estimates than a file of its size can hold") from error
    record.fill(learner.state(), parts["state"], {}, "learner")
    learner.round = _last_round(header["round"])
    return learner


def restarted(algorithm: Algorithm, parameters: Mapping[str, Any], problem: Problem) -> Learner:
    """Start a learner with the parameters of a file: the rule that set them may have changed."""
    own = {field.name for field in fields(algorithm)}
    tuned = replace(algorithm, **{k: v for k, v in parameters.items() if k in own})
    learner = tuned.start(problem, seed=0)
    learner.algorithm = algorithm
    return learner


def write_problem(problem: Problem, parts: dict[str, Any]) -> dict[str, Any]:
    """Add the large parts of a problem to `parts`; return the rest, as `json` can write it."""
    data = problem.parts()
    large = [name for name in _PROBLEM_ARRAYS if isinstance(data[name], np.ndarray)]
    parts["problem"] = {name: data.pop(name) for name in large}
    return data


def _read_problem(data: dict[str, Any], arrays: Arrays, largest: int) -> Problem:
    """Return what `write_problem` wrote; raise if it claims too many arms, contexts or features."""
    for name, size in (("arms", data["graph"]["arms"]), *data.items()):
        if name in ("arms", "contexts", "features") and isinstance(size, int) and size > largest:
            raise ValueError(f"it claims {size} {name}, more than a file of its size can hold")
    for name, one in arrays.items():
        if name not in _PROBLEM_ARRAYS:
            raise ValueError(f"it has an unknown member, 'problem.{name}'")
        if wrong := record.not_finite(name, one):
            raise ValueError(wrong)
    return Problem.from_json({**data, **arrays})


def _last_round(number: object) -> int:
    return integer("checkpoint", "round", number, at_least=0, at_most=LAST_ROUND)


def _write_pending(learner: Learner, parts: dict[str, Any]) -> dict[str, Any]:
    """Write each pending decision once, and each vector of weights once, even if several share it.

    Arrays are added to `parts`; the rest is returned. A ValueError says that a number is not
    finite.
    """
    roles = learner.remembered()
    pending = _distinct([decision for role in roles.values() for decision in role])
    weights = _distinct([decision.weights for decision in pending if decision.weights is not None])
    rows = [decision.rows for decision in pending if decision.rows is not None]
    masks = [d.readout.available for d in pending if d.readout.available.size]
    for decision in pending:
        _check_weights(learner, decision)
    found: dict[str, npt.NDArray[Any]] = {}
    for name, listed in (("available", masks), ("weights", weights)):
        if listed:
            found[name] = np.stack(listed)
    if rows:
        found["rows"] = np.concatenate(rows)
    parts["pending"] = found
    position = {id(decision): i for i, decision in enumerate(pending)}
    weights_position = {id(vector): i for i, vector in enumerate(weights)}
    graphs = [
        [i, list(one.known or ()), None if one.graph is None else one.graph.to_json()]
        for i, one in enumerate(pending)
        if one.graph is not None or one.known is not None
    ]
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
        **({"graphs": graphs} if graphs else {}),
    }


def _read_graphs(data: dict[str, Any], arms: int) -> dict[int, _GraphOfRound]:
    """Return the graphs of decisions, as far as they are known, by the position of the decision."""
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


def _read_pending(
    data: dict[str, Any], learner: Learner, roles: Collection[str], arrays: Arrays
) -> dict[str, list[Decision]]:
    """Return what `_write_pending` wrote; raise if an index is out of range."""
    problem = learner.problem
    all_weights, all_rows, masks = _pending_tables(problem, arrays)
    pending: list[Decision] = []
    used, masks_used = 0, 0
    graphs = _read_graphs(data, problem.arms)
    for round_, context, arm, made_by, weights, count, baseline, limited in data["decisions"]:
        _check_index("round", round_, learner.round)
        _check_index("arm", arm, problem.arms)
        plain, readout = problem.form.read(context)
        if limited:
            readout = restricted(readout, masks[masks_used], problem.arms)
            masks_used += 1
        decision = Decision(round_, plain, arm, learner=str(made_by), reading=readout)
        decision.counter = round_
        decision.baseline = None if baseline is None else float(baseline)
        decision.graph, decision.known = graphs.get(len(pending), _NO_GRAPH)
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


def _pending_tables(problem: Problem, arrays: Arrays) -> list[npt.NDArray[Any]]:
    """Return the weights, the rows and the masks of pending decisions, as a file has them."""
    model = {
        "weights": np.empty((0, problem.arms)),
        "rows": np.empty((0, problem.form.columns)),
        "available": np.empty((0, problem.arms), dtype=np.bool_),
    }
    rules = {name: record.Field(rows=name, grows=True) for name in model}
    # Weights of arms that are not revealed may be infinite; `_check_weights` checks the others.
    checked = {**model, **arrays}
    weights = checked["weights"]
    record.check(model, {**checked, "weights": np.nan_to_num(weights)}, rules, "pending decision")
    return [checked[name] for name in model]


def _check_index(name: str, value: object, size: int) -> None:
    if type(value) is not int or not 0 <= value < size:
        raise ValueError(f"a pending decision has the {name} {value!r} of {size}")


def _check_weights(learner: Learner, decision: Decision) -> None:
    """Raise ValueError unless the weights of revealed arms are finite; no others are used."""
    weights = decision.weights
    if weights is None or np.isfinite(weights).all():
        return
    if not np.isfinite(weights[list(learner.revealed(decision))]).all():
        raise ValueError(f"the weights of round {decision.round} are not finite")


def _distinct(objects: list[_Object]) -> list[_Object]:
    return list({id(thing): thing for thing in objects}.values())
