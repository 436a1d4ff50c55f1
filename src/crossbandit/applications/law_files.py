"""An application over a law in one file, written atomically and without pickle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from crossbandit.algorithms import archive
from crossbandit.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.applications.law_learner import LawLearner

FORMAT = "crossbandit-law"
VERSION = 1
_APPLICATION = "application."


class LawFile(NamedTuple):
    """What a file holds: of the application, and of the law behind it."""

    notes: dict[str, Any]
    application: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def save(
    learner: LawLearner,
    path: str | os.PathLike[str],
    notes: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    owner: str,
) -> None:
    """Write a law and the application around it to a file, atomically.

    Args:
        learner: The learner with the law. It is not changed.
        path: The file.
        notes: What the application keeps, in a form that `json` can write.
        arrays: Arrays that the application keeps, by name.
        owner: The class whose `save` was called, for messages.

    Raises:
        CheckpointError: The state holds NaN, or the file cannot be written. What was there before
            is unchanged.
    """
    members = learner.arrays()
    members |= {f"{_APPLICATION}{name}": array for name, array in arrays.items()}
    try:
        for name, array in members.items():
            archive.check_finite(name, array)
    except ValueError as error:
        raise CheckpointError(
            f"{owner}.save does not write a broken state: {error}. Nothing was written; go back to "
            "an earlier checkpoint."
        ) from error
    header = {"format": FORMAT, "version": VERSION, **learner.header(), "notes": dict(notes)}
    archive.write(path, header, members, owner=owner)


def read(path: str | os.PathLike[str], file: archive.Archive) -> LawFile:
    """Return the parts of a file; what they hold is checked when it is taken over.

    Args:
        path: The file, for messages.
        file: What `archive.read` returned.

    Raises:
        CheckpointError: It was written by a newer version, or has no notes.
    """
    header = dict(file.header)
    notes = header.get("notes")
    if header.get("version") != VERSION or not isinstance(notes, dict):
        raise CheckpointError(
            f"The file {os.fspath(path)!r} holds a law of format {header.get('version')!r}, and "
            f"this version of Crossbandit reads format {VERSION}."
        )
    application = {
        name.removeprefix(_APPLICATION): array
        for name, array in file.arrays.items()
        if name.startswith(_APPLICATION)
    }
    law = {name: one for name, one in file.arrays.items() if not name.startswith(_APPLICATION)}
    return LawFile(notes, application, header, law)
