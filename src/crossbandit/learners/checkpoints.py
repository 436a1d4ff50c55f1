"""A learner in one file, written atomically and without pickle.

A file may come from an untrusted source. Loading checks every size before memory is allocated
for it, every index before it is used, and that every number is finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.errors import IMPOSSIBLE_CONTENT, CheckpointError, OutOfMemoryError
from crossbandit.learners import archive
from crossbandit.learners.archive import check_finite
from crossbandit.learners.archived_parts import (
    PENDING_ARRAYS,
    PROBLEM_ARRAYS,
    last_round,
    read_learner,
    read_pending,
    restarted,
    write_learner,
    write_pending,
    write_problem,
)
from crossbandit.learners.missing import FeedbackWatch
from crossbandit.validation import integer

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.learners.learner import Learner

FORMAT = "crossbandit-learner"
VERSION = 5

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

_APPLICATION = "application."
_SEEN = "seen."
_WATCH = "watch"
_MOST_IDS = 1000  # a file has this many ids of a learner at most; the oldest are left out


class Checkpoint(NamedTuple):
    """What a file holds: a learner, and the notes and arrays of the application that has it."""

    learner: Learner
    notes: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def save(
    learner: Learner,
    path: archive.Place,
    notes: Mapping[str, Any] | None = None,
    arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    *,
    owner: str = "Learner",
) -> None:
    """Write a learner to a file, atomically.

    Args:
        learner: The learner. It is not changed.
        path: The file.
        notes: Further data of the learner's owner, in a form that `json` can write.
        arrays: Further arrays of the owner, by name.
        owner: The class whose `save` was called, for messages.

    Raises:
        CheckpointError: The state holds NaN, or the file cannot be written. What was there before
            is unchanged.
    """
    with learner._lock:
        header, members, seen = _copied(learner, owner)
    header["notes"] = dict(notes or {})
    members |= {f"{_APPLICATION}{name}": array for name, array in (arrays or {}).items()}
    members |= {f"{_SEEN}{name}": array for name, array in seen().items()}
    try:
        _check_saved(learner, {k: v for k, v in members.items() if k not in PENDING_ARRAYS})
        header["problem"] = write_problem(learner.problem, members)
    except ValueError as error:
        raise _broken(owner, error) from error
    archive.write(path, header, members, owner=owner)


def _copied(learner: Learner, owner: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Return a header, copies of all arrays, and a function that returns those of the memory.

    The memory is `learned_from`; its arrays are large, so they are copied later.
    """
    members: dict[str, npt.NDArray[Any]] = {}
    watch, seen = learner._watch, learner.learned_from
    if watch is not None:
        members[_WATCH] = watch.counts()
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "ids": [*learner._former_ids.items(), (learner.id, learner.round)][-_MOST_IDS:],
        **write_learner(learner, members),
        "max_pending": learner.max_pending,
        "waiting": learner._waiting,
        "expired": learner._last_expired,
        "seen": {"window": seen.window, "limit": seen.limit},
        "watch": None if watch is None else watch.state(),
        "generator": learner.generator.bit_generator.state,
    }
    try:
        header["pending"] = write_pending(learner, learner.remembered(), members)
    except ValueError as error:
        raise _broken(owner, error) from error
    return header, members, seen.freeze()


def _broken(owner: str, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{owner}.save does not write a broken state: {error}. Nothing was written; go back to "
        "an earlier checkpoint."
    )


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
    return load_checkpoint(path).learner


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Return the learner that `save` wrote, with the further data of its owner.

    Args:
        path: The file.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: As for `load`.
    """
    return restored(path, archive.read(path))


def restored(path: archive.Place, file: archive.Archive) -> Checkpoint:
    """Return the content of a file that was already read.

    Args:
        path: The file, for messages.
        file: What `archive.read` returned.

    Raises:
        CheckpointError: As for `load`.
    """
    header, arrays, size = file
    _check_version(path, header)
    try:
        return _restore(header, arrays, size)
    except OutOfMemoryError:  # the file is valid, but this machine has too little memory
        raise
    except IMPOSSIBLE_CONTENT as error:
        raise _inconsistent(path, error) from error


def _restore(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], size: int) -> Checkpoint:
    """Return a new learner with the state in the file."""
    if set(header) != _KEYS:
        raise ValueError(f"its header has the entries {sorted(header)[:20]}")
    learner = read_learner(header, arrays, size)
    roles = learner.remembered().keys()
    learner.restore(read_pending(header["pending"], learner, roles, arrays))
    learner.generator.bit_generator.state = header["generator"]
    learner.max_pending = header["max_pending"]
    _restore_decisions(learner, header, arrays)
    learner.check_state()
    return Checkpoint(learner, dict(header["notes"]), _application_arrays(learner, arrays))


def _restore_decisions(
    learner: Learner, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Restore which decisions were made, and which of them were learned from."""
    learner._former_ids = {str(former): last_round(rounds) for former, rounds in header["ids"]}
    learner._waiting = integer("checkpoint", "waiting", header["waiting"], at_least=0)
    seen = learner.learned_from
    seen.window, seen.limit = header["seen"]["window"], header["seen"]["limit"]
    pages = {k.removeprefix(_SEEN): array for k, array in arrays.items() if k.startswith(_SEEN)}
    if pages:
        seen.restore(pages)
    watch = header["watch"]
    if watch is not None and learner.needs_all_feedback:
        learner._watch = FeedbackWatch(learner.problem.arms)
        learner._watch.restore(watch, arrays[_WATCH])


def _application_arrays(
    learner: Learner, arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return the application's arrays; raise if the file has unknown members."""
    known = {f"state.{name}" for name in learner.state()}
    known |= {f"problem.{name}" for name in PROBLEM_ARRAYS}
    known |= {*PENDING_ARRAYS, _WATCH}
    rest = {
        name: array
        for name, array in arrays.items()
        if name not in known and not name.startswith(_SEEN)
    }
    for name, array in rest.items():
        if not name.startswith(_APPLICATION):
            raise ValueError(f"it has an unknown member, {name!r}")
        check_finite(name, array)
    return {name.removeprefix(_APPLICATION): array for name, array in rest.items()}


# --------------------------------------------------------------------------------------- versions


def _check_version(path: archive.Place, header: dict[str, Any]) -> None:
    version = header.get("version") if header.get("format") == FORMAT else None
    if not isinstance(version, int) or version < 1:
        raise archive.damaged(path, ValueError("it was not written by Learner.save"))
    if version != VERSION:
        raise CheckpointError(
            f"The checkpoint {archive.name_of(path)} has format {version}, and this version of "
            f"Crossbandit reads format {VERSION}. Load it with the version that wrote it, or start "
            "a new learner."
        )


def _inconsistent(path: archive.Place, error: Exception) -> CheckpointError:
    return CheckpointError(f"The checkpoint {archive.name_of(path)} is inconsistent: {error}")


# ------------------------------------------------------------------------------ state and problem


def _check_saved(learner: Learner, members: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise ValueError, with the name of the array, if a number is not finite."""
    try:
        for name, array in members.items():
            check_finite(name, array)
    except ValueError:
        # A learner may start with infinities, such as the least loss before any loss was seen.
        start = restarted(learner.algorithm, dict(learner.tuned()), learner.problem)
        initial = {f"state.{name}": array for name, array in start.state().items()}
        for name, array in members.items():
            check_finite(name, array, initial.get(name))
