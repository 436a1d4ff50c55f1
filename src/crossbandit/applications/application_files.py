"""An application as a file, and a snapshot of one as bytes: settings, state and learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.algorithms import Learner, Snapshot
from crossbandit.applications.law_learner import files as law_files
from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.applications.law_learner.learner import LawLearner
from crossbandit.errors import CheckpointError
from crossbandit.laws.keeping import look_like
from crossbandit.learners import archive
from crossbandit.learners.checkpoints import restored, save

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.algorithms import Algorithm
    from crossbandit.kernels.laws.state import LawState
    from crossbandit.streams import Seed
    from crossbandit.types import Integers

_SNAPSHOT = "crossbandit-application-snapshot"
_VERSION = 2
_LARGE = ("law", "spread")  # arrays of a law of which only the rows in use are written
_LEFT_OUT = ("told", "hidden")


@dataclass(frozen=True)
class ApplicationFile:
    """What `write` wrote.

    Attributes:
        source: The learner that uses a feedback graph, or the file of the law.
        algorithm: The `algorithm` argument of the constructor.
        notes: The kind of the application, its settings, and the values of its state.
        arrays: The arrays of its state.
    """

    source: Learner | law_files.LawFile
    algorithm: Algorithm | str
    notes: Mapping[str, Any]
    arrays: Mapping[str, Any]

    def state(self, now: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state that was written.

        Args:
            now: The state of a new application with the same settings.

        Raises:
            ValueError: The names, or which of them are arrays, are not those of `now`.
        """
        values, arrays = self.notes["state"], self.arrays
        kept = {name for name, value in now.items() if isinstance(value, np.ndarray)}
        if set(arrays) != kept or set(values) != set(now) - kept:
            names = sorted([*arrays, *values])[:20]
            raise ValueError(f"it keeps the values {names} where {sorted(now)} belong")
        return {**values, **arrays}


def write(
    path: str | os.PathLike[str] | io.BytesIO,
    learner: Any,
    kind: str,
    settings: Mapping[str, Any],
    state: Mapping[str, Any],
    owner: str,
) -> None:
    """Write an application to one file, atomically.

    Args:
        path: The file, or a buffer.
        learner: The learner of the application.
        kind: The kind of the application.
        settings: The arguments of its constructor.
        state: What it keeps beside its learner.
        owner: Its class, for messages.

    Raises:
        CheckpointError: The file cannot be written, or the state holds NaN.
    """
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    values = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in state.items()
        if name not in arrays
    }
    notes = {"application": kind, "settings": settings, "state": values}
    write_: Callable[..., None] = law_files.save if isinstance(learner, LawDecider) else save
    write_(learner, path, notes, arrays, owner=owner)


def read(path: str | os.PathLike[str] | io.BytesIO, kind: str, owner: str) -> ApplicationFile:
    """Return what `write` wrote.

    Args:
        path: The file, or a buffer.
        kind: The kind of the application that must have written it.
        owner: Its class, for messages.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: The file is damaged, or another kind of application wrote it.
    """
    file = archive.read(path)
    if file.header.get("format") == law_files.FORMAT:
        law = law_files.read(path, file)
        found = ApplicationFile(law, "law", law.notes, law.application)
    else:
        learner, notes, arrays = restored(path, file)
        found = ApplicationFile(learner, learner.algorithm, notes, arrays)
    if found.notes.get("application") != kind:
        other = found.notes.get("application") or "learner without an application"
        raise CheckpointError(
            f"{owner}.load needs a file that {owner}.save wrote. Got one of a {other}."
        )
    return found


def snapshot_bytes(kind: str, settings: Mapping[str, Any], learner: Any) -> bytes:
    """Return a snapshot as bytes.

    Args:
        kind: The name of the application.
        settings: Its settings.
        learner: What decides: a `LawDecider` or a `Snapshot`.

    Raises:
        CheckpointError: The state holds NaN.
    """
    header: dict[str, Any] = {
        "format": _SNAPSHOT,
        "version": _VERSION,
        "application": kind,
        "settings": dict(settings),
    }
    members: dict[str, npt.NDArray[Any]]
    if isinstance(learner, Snapshot):
        header["algorithm"] = learner.algorithm.to_json()
        members = {"learner": np.frombuffer(learner.to_bytes(), dtype=np.uint8)}
        return archive.to_bytes(header, members, owner=kind)
    law = learner.law.description()
    header |= {
        "learner": learner.learner,
        "levels": law["levels"],
        "class_limit": law["class_limit"],
    }
    state = learner.law.state
    rows = np.flatnonzero((state.visits > 0) | (np.arange(state.visits.size) == 0))
    members = {"rows": rows}
    for name, array in state._asdict().items():
        if name not in _LEFT_OUT:
            members[f"law.{name}"] = array[rows] if name in _LARGE else array
    if learner.guard is not None:
        members |= {f"guard.{name}": one for name, one in learner.guard.arrays().items()}
    for name, array in members.items():
        archive.check_finite(name, array)
    return archive.to_bytes(header, members, owner=kind)


def read_snapshot(content: bytes, kind: str) -> archive.Archive:
    """Return the parts of a snapshot; what they hold is checked when it is taken over.

    Args:
        content: The bytes. They may come from an untrusted source.
        kind: The name of the application.

    Raises:
        CheckpointError: The bytes are not a snapshot of this application.
    """
    file = archive.from_bytes(content)
    found = (file.header.get("format"), file.header.get("application"))
    if found != (_SNAPSHOT, kind):
        raise CheckpointError(
            f"from_bytes needs what to_bytes of a snapshot of a {kind} returned. Got {found}."
        )
    version = file.header.get("version")
    if version != _VERSION:
        raise CheckpointError(
            f"The snapshot has format {version!r}, and this version of Crossbandit reads format "
            f"{_VERSION}. Take a new one, or read it with the version that wrote it."
        )
    return file


def decider_of(
    learner: Any, file: archive.Archive, seed: Seed | None, key: bytes | None
) -> LawDecider | Snapshot:
    """Return the decider of a snapshot, made from the learner of a new application.

    Args:
        learner: The learner of a new application with the same settings.
        file: The parts of the snapshot.
        seed: The seed of the random numbers; None for new ones.
        key: The key of the tokens, or None.

    Raises:
        ValueError: The parts do not fit the settings, or hold impossible numbers.
    """
    header, arrays, _ = file
    if isinstance(learner, Learner):
        inner = Snapshot.from_bytes(arrays["learner"].tobytes(), seed=seed, key=key)
        if inner.problem != learner.problem:
            raise ValueError("its settings describe another problem than its learner's")
        return inner
    if not isinstance(learner, LawLearner):
        raise ValueError("its settings describe an application without a law")  # noqa: TRY004 - of bytes
    law = learner.law
    if header["class_limit"] != law.class_limit or len(bytes.fromhex(header["learner"])) != 8:
        raise ValueError("its header is impossible")
    rows = arrays["rows"]
    size = law.state.visits.size
    right = rows.ndim == 1 and rows.dtype == np.int64 and not (np.diff(rows) <= 0).any()
    if not right or (rows.size and not 0 <= rows[0] <= rows[-1] < size):
        raise ValueError("its rows are impossible")
    parts = _state_parts(law.state, rows, arrays)
    source = type(law).restore({**law.settings(), "levels": header["levels"]}, parts)
    look_like(law, source, seed)
    guarded = learner.guard is not None
    made = LawDecider(law, guarded=guarded, learner=str(header["learner"]))
    made.token_key = key
    if made.guard is not None:
        named = {n.removeprefix("guard."): a for n, a in arrays.items() if n.startswith("guard.")}
        made.guard.restore(named)
    return made


def _state_parts(state: LawState, rows: Integers, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a law from the members of a snapshot."""
    parts: dict[str, Any] = {}
    for name, array in state._asdict().items():
        if name in _LEFT_OUT:
            parts[name] = np.zeros_like(array)
        elif name in _LARGE:
            parts[name] = array.copy()
            parts[name][rows] = arrays[f"law.{name}"]
        else:
            parts[name] = arrays[f"law.{name}"]
    return parts
