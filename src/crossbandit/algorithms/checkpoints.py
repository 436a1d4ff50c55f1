"""A learner in one file: a NumPy archive of plain arrays and one JSON header, never pickle.

The archive carries a checksum for each member, so damage is noticed. It is written beside its
destination and moved into place, so a reader finds the old file or the new one, never half of one.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
import zlib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crossbandit.algorithms.algorithm import from_json
from crossbandit.algorithms.decisions import PendingDecision
from crossbandit.errors import CheckpointError, CrossbanditError, OutOfMemoryError
from crossbandit.losses.forms import restricted
from crossbandit.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.algorithms.algorithm import Algorithm
    from crossbandit.algorithms.learner import Learner

FORMAT = "crossbandit-learner"
VERSION = 3

_Object = TypeVar("_Object")

# Parts of a problem that may be large; they go beside the header, not into it.
_PROBLEM_ARRAYS = ("features", "context_distribution", "context_sample")


def save(
    learner: Learner, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None
) -> None:
    """Write `learner` to `path`, atomically, with notes of its owner that `json` can write."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "ids": [*learner._former_ids, learner.id],
        "algorithm": learner.algorithm.to_json(),
        "parameters": dict(learner.tuned()),
        "round": learner.round,
        "max_pending": learner.max_pending,
        "generator": learner.generator.bit_generator.state,
        "notes": dict(notes or {}),
    }
    arrays = {f"state.{name}": array for name, array in learner.state().items()}
    header["problem"] = _write_problem(learner.problem, arrays)
    header["tickets"] = _write_tickets(learner.remembered(), arrays)
    buffer = io.BytesIO()
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stubs take any name for a flag
    _replace(Path(path), buffer.getvalue())


def load(path: str | os.PathLike[str]) -> Learner:
    """Return the learner that `Learner.save` wrote; it plays on as if it had never stopped.

    Decisions that were out when it was saved may be learned from. Those that the first learner made
    later are not this one's, although their rounds will come again: the restored learner has an id
    of its own. An algorithm of one's own must be registered, as it was when the learner was saved.
    """
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """Return the learner that `save` wrote, and the notes beside it."""
    arrays = _read(Path(path))
    header = _header(path, arrays)
    try:
        problem = _read_problem(header["problem"], arrays)
        learner = _restart(from_json(header["algorithm"]), header["parameters"], problem)
        _fill(learner.state(), arrays)
        learner.restore(_read_tickets(header["tickets"], learner, arrays))
        learner.generator.bit_generator.state = header["generator"]
        learner.round = int(header["round"])
        learner.check_state()
        learner._former_ids = [str(former) for former in header["ids"]]
        learner.max_pending = int(header["max_pending"])
        notes = dict(header["notes"])
    except OutOfMemoryError:
        raise
    except (
        AttributeError,
        KeyError,
        IndexError,
        OverflowError,
        TypeError,
        ValueError,
        CrossbanditError,
    ) as error:
        raise CheckpointError(
            f"The checkpoint {os.fspath(path)!r} does not hold together: {error}"
        ) from error
    return learner, notes


def _restart(algorithm: Algorithm, parameters: dict[str, Any], problem: Problem) -> Learner:
    """Start with the parameters of the time of saving: whatever set them may have changed since."""
    own = {field.name for field in fields(algorithm)}
    settled = replace(algorithm, **{k: v for k, v in parameters.items() if k in own})
    learner = settled.start(problem, seed=0)
    learner.algorithm = algorithm
    return learner


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # A member is read to its end before anything is made of it: that checks its checksum.
            return {
                name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()
            }
    except (ValueError, OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged(path, error) from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown kind of zip, or encrypted
        raise _damaged(path, error) from error


def _array(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def _damaged(path: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"The file {os.fspath(path)!r} is not a checkpoint, or is damaged: {error}. Go back to an "
        "earlier one, or start a new learner."
    )


def _header(path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    try:
        header = json.loads(arrays["header"].tobytes())
        version = header["version"] if header["format"] == FORMAT else None
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(Path(path), error) from error
    if not isinstance(version, int) or version < 1:
        raise _damaged(Path(path), ValueError("it was not written by Learner.save"))
    if version != VERSION:
        writer, remedy = "a newer", "that version, or a newer one"
        if version < VERSION:
            writer, remedy = "an earlier", "that version, or start a new learner"
        raise CheckpointError(
            f"The checkpoint {os.fspath(path)!r} was written by {writer} version of Crossbandit: "
            f"it has format {version}, and this one reads format {VERSION}. Load it with {remedy}."
        )
    return dict(header)


def _write_problem(problem: Problem, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    data = problem.parts()
    for name in _PROBLEM_ARRAYS:
        if isinstance(data[name], np.ndarray):
            arrays[f"problem.{name}"] = data.pop(name)
    return data


def _read_problem(data: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Problem:
    beside = {
        name: arrays[f"problem.{name}"] for name in _PROBLEM_ARRAYS if f"problem.{name}" in arrays
    }
    return Problem.from_json({**data, **beside})


def _fill(state: Mapping[str, npt.NDArray[Any]], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    for name, array in state.items():
        stored = arrays[f"state.{name}"]
        if stored.shape != array.shape or stored.dtype != array.dtype:
            raise ValueError(
                f"{name} has shape {stored.shape} and type {stored.dtype} where "
                f"{array.shape} and {array.dtype} belong"
            )
        array[...] = stored


def _write_tickets(
    roles: Mapping[str, list[PendingDecision]], arrays: dict[str, npt.NDArray[Any]]
) -> dict[str, Any]:
    """Write each ticket once, and each vector of weights once, however many share it."""
    tickets = _distinct([ticket for role in roles.values() for ticket in role])
    weights = _distinct([ticket.weights for ticket in tickets if ticket.weights is not None])
    rows = [ticket.rows for ticket in tickets if ticket.rows is not None]
    masks = [ticket.readout.available for ticket in tickets if ticket.readout.available.size]
    if masks:
        arrays["tickets.available"] = np.stack(masks)
    if weights:
        arrays["tickets.weights"] = np.stack(weights)
    if rows:
        arrays["tickets.rows"] = np.concatenate(rows)
    number = {id(ticket): i for i, ticket in enumerate(tickets)}
    weights_of = {id(vector): i for i, vector in enumerate(weights)}
    return {
        "tickets": [
            [
                ticket.round,
                ticket.context,
                ticket.arm,
                ticket.learner,
                weights_of.get(id(ticket.weights)),
                None if ticket.rows is None else len(ticket.rows),
                ticket.baseline,
                ticket.readout.available.size > 0,
            ]
            for ticket in tickets
        ],
        "roles": {name: [number[id(ticket)] for ticket in role] for name, role in roles.items()},
    }


def _read_tickets(
    data: dict[str, Any], learner: Learner, arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, list[PendingDecision]]:
    problem = learner.problem
    all_weights = _table("tickets.weights", problem.arms, arrays)
    all_rows = _table("tickets.rows", problem.form.columns, arrays)
    masks = iter(_table("tickets.available", problem.arms, arrays, np.bool_))
    tickets, used = [], 0
    for round_, context, arm, made_by, weights, count, baseline, limited in data["tickets"]:
        plain, readout = problem.form.read(context)
        if limited:
            readout = restricted(readout, next(masks), problem.arms)
        ticket = PendingDecision(round_, plain, readout, arm, made_by)
        ticket.baseline = None if baseline is None else float(baseline)
        if weights is not None:
            ticket.weights = all_weights[weights]
        if count is not None:
            ticket.rows = all_rows[used : used + count].copy()
            used += count
            if len(ticket.rows) != len(learner.reveals(arm)):
                raise ValueError(f"round {round_} has losses of {len(ticket.rows)} arms")
        tickets.append(ticket)
    return {name: [tickets[i] for i in numbers] for name, numbers in data["roles"].items()}


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
