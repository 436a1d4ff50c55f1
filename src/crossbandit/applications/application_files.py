"""The file of an application: its learner, its settings and its own state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications import law_files
from crossbandit.applications.law_decider import LawDecider
from crossbandit.errors import CheckpointError
from crossbandit.learners import archive
from crossbandit.learners.checkpoints import restored, save

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Callable, Mapping

    from crossbandit.algorithms import Algorithm, Learner


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

    def state(self, now: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the state that was written, or None if an earlier version wrote none.

        Args:
            now: The state of a new application with the same settings.

        Raises:
            ValueError: The names, or which of them are arrays, are not those of `now`.
        """
        values, arrays = self.notes.get("state", {}), self.arrays
        if "state" not in self.notes and not arrays:
            return None
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
