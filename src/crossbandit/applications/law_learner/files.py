"""Write an application that learns by a law to one file, atomically and without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit.applications.law_learner.outcome_codes import FORGOTTEN, KNOWN
from crossbandit.errors import CheckpointError
from crossbandit.laws import keeping
from crossbandit.learners import archive
from crossbandit.validation import integer, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from crossbandit.applications.law_learner.learner import LawLearner
    from crossbandit.laws import OutcomeLaw

FORMAT = "crossbandit-law"
VERSION = 3
_APPLICATION = "application."
_LAST_ROUND = 2**62
_KINDS = ("feedback", "payoff", "ties", "classes")  # counts can be moved if these agree
_PARTS = ("law", "test", "guard", "seen")


class LawFile(NamedTuple):
    """What a file holds of the application and of its law."""

    notes: dict[str, Any]
    application: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def save(
    learner: LawLearner,
    path: archive.Place,
    notes: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    owner: str,
) -> None:
    """Write a law and the application around it to a file, atomically.

    The state is copied while nothing is learned. Decisions go on.

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
    header, members = written(learner)
    members |= {f"{_APPLICATION}{name}": array for name, array in arrays.items()}
    try:
        for name, array in members.items():
            archive.check_finite(name, array)
    except ValueError as error:
        raise CheckpointError(
            f"{owner}.save does not write a broken state: {error}. Nothing was written; go back to "
            "an earlier checkpoint."
        ) from error
    header = {"format": FORMAT, "version": VERSION, **header, "notes": dict(notes)}
    archive.write(path, header, members, owner=owner)


def written(learner: LawLearner) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return a header and arrays that hold the whole state of a learner.

    Args:
        learner: The learner.
    """
    with learner.learning:
        with learner.deciding:  # held only while reading what deciding changes
            rounds, generator = learner.round, learner.law.uniforms.state
        header = {
            "learner": learner.learner,
            "former": sorted(learner.former),
            "round": rounds,
            "own": sorted(learner.own),
            "answered": learner.answered,
            "window": learner.seen.window,
            "limit": learner.seen.limit,
            "watch": learner.watch.settings(),
            "law": {**learner.law.description(), "generator": generator},
            "test": learner.test.settings(),
        }
        parts: dict[str, dict[str, Any]] = {
            "law": learner.law.arrays(),
            "test": learner.test.arrays(),
        }
        if learner.guard is not None:
            parts["guard"] = learner.guard.arrays()
        seen = learner.seen.freeze()
    parts["seen"] = seen()
    return header, {
        f"{part}.{name}": one for part, named in parts.items() for name, one in named.items()
    }


def read(path: archive.Place, file: archive.Archive) -> LawFile:
    """Return the parts of a file; what they hold is checked when it is taken over.

    Args:
        path: The file, for messages.
        file: What `archive.read` returned.

    Raises:
        CheckpointError: It has another format, or no notes.
    """
    header = dict(file.header)
    notes = header.get("notes")
    if header.get("version") != VERSION:
        raise CheckpointError(
            f"The checkpoint {archive.name_of(path)} has format {header.get('version')!r}, and "
            f"this version of Crossbandit reads format {VERSION}. Load it with the version that "
            "wrote it, or start a new learner."
        )
    if not isinstance(notes, dict):
        raise CheckpointError(f"The checkpoint {archive.name_of(path)} has no notes.")
    application = {
        name.removeprefix(_APPLICATION): array
        for name, array in file.arrays.items()
        if name.startswith(_APPLICATION)
    }
    law = {name: one for name, one in file.arrays.items() if not name.startswith(_APPLICATION)}
    return LawFile(notes, application, header, law)


def resume(
    learner: LawLearner, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Let a new learner take over what a file holds of a learner of the same form.

    Args:
        learner: The learner. Its own decisions get an id that none had before.
        header: The header of the file.
        arrays: The arrays of the learner in the file, by name.

    Raises:
        CheckpointError: They do not fit this learner, or hold impossible numbers.
    """
    settings, own = dict(header["law"]), learner.law.settings()
    levels, generator = settings.pop("levels"), settings.pop("generator")
    if settings != {name: one for name, one in own.items() if name in settings}:
        raise CheckpointError("Its settings describe another law than its learner's.")
    parts: dict[str, dict[str, Any]] = {name: {} for name in _PARTS}
    for name, one in arrays.items():
        part, _, rest = name.partition(".")
        if part not in parts or (part == "guard" and learner.guard is None):
            raise CheckpointError(f"It has an unknown member, {name!r}.")
        parts[part][rest] = one
    keeping.resume(learner.law, levels, generator, parts["law"])
    learner.test.restore(header["test"], parts["test"])
    if learner.guard is not None:
        learner.guard.restore(parts["guard"])
    rounds = integer("file", "round", header["round"], at_least=0, at_most=_LAST_ROUND)
    learner.answered = integer("file", "answered", header["answered"], at_least=0, at_most=rounds)
    learner.round = rounds
    learner.former = {str(one) for one in header["former"]}
    learner.own |= {str(one) for one in header["own"]}
    learner.learner = str(header["learner"])
    if len(bytes.fromhex(learner.learner)) != 8:
        raise CheckpointError(f"It has an impossible id, {learner.learner!r}.")
    learner.seen.window, learner.seen.limit = header["window"], header["limit"]
    learner.seen.restore(parts["seen"])
    learner.watch.restore(header["watch"])


def take_over(learner: LawLearner, other: LawLearner) -> None:
    """Let a new learner continue for another one, with other amounts or another range.

    Its tokens are taken, and none counts twice. Outcomes that were learned cannot be corrected any
    more if the amounts are others.

    Args:
        learner: The new learner.
        other: The other one. Nobody may use it any more.

    Raises:
        InvalidParameterError: Their laws are of different kinds.
    """
    seen = other.seen.freeze()()
    name = difference(learner.law, other.law)
    if name is not None:
        expected = f"{getattr(other.law, name)!r} as in the file, or left out"
        reject("load", name, expected, getattr(learner.law, name))
    same = learner.law.description() | {"levels": 0} == other.law.description() | {"levels": 0}
    if same and (learner.guard is None) == (other.guard is None):
        header, arrays = written(other)
        resume(learner, header, arrays)
        return
    keeping.take_counts(learner.law, other.law)
    codes = seen["codes"]
    seen["codes"] = np.where(codes >= KNOWN, FORGOTTEN, codes).astype(codes.dtype)
    learner.seen.window, learner.seen.limit = other.seen.window, other.seen.limit
    learner.seen.restore(seen)
    learner.watch.restore(other.watch.settings())
    learner.law.uniforms.state = other.law.uniforms.state
    learner.learner, learner.former = other.learner, other.former
    learner.round, learner.answered = other.round, other.answered
    learner.own |= other.own


def difference(law: OutcomeLaw, other: OutcomeLaw) -> str | None:
    """Return the setting because of which the counts of one law cannot be moved to another.

    Args:
        law: A law.
        other: Another law.
    """
    return next((name for name in _KINDS if getattr(law, name) != getattr(other, name)), None)
