"""What all applications share: a learner inside, and one file for both."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crossbandit.algorithms import Algorithm, CrossGraphAdaptive
from crossbandit.algorithms.checkpoints import load_with_notes, save
from crossbandit.errors import CheckpointError, CrossbanditError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable

    from crossbandit.algorithms import Learner
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed


_USUAL = CrossGraphAdaptive()


class Application(ABC):
    """Domain words over a `Learner`.

    All applications have one shape. The constructor takes everything by name: the arms, the
    contexts, what is seen, and then `horizon`, `algorithm` and `seed`. A method that is named after
    what is decided takes the context and returns a `Play`; `policy` takes the same and returns the
    probability of each arm; `settle` takes the play, and its outcome by name.

    A subclass names its `kind`, starts its `learner`, and returns from `settings` the arguments
    with which `__init__` would make it again, as `json` can write them.
    """

    kind: ClassVar[str]
    learner: Learner

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, but for the algorithm and the seed."""

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.rounds} decisions made, {self.pending} pending, "
            f"{self.learner.algorithm.id})"
        )

    @property
    def rounds(self) -> int:
        """How many decisions have been made."""
        return self.learner.round

    @property
    def pending(self) -> int:
        """How many decisions wait for their feedback; the oldest expire by and by."""
        return self.learner.pending

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically; `load` goes on from there.

        A file that cannot be written raises CheckpointError; one that was there before is kept.
        """
        notes = {"application": self.kind, "settings": self.settings()}
        try:
            save(self.learner, path, notes)
        except (OSError, ValueError) as error:  # a ValueError if the name can be no file's
            owner, file = f"{type(self).__name__}.save", os.fspath(path)
            raise CheckpointError(f"{owner} cannot write {file!r}: {_why(path, error)}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it decides on as if it had never stopped."""
        learner, notes = load_with_notes(path)
        make: Callable[..., Self] = cls
        if notes.get("application") != cls.kind:
            found = notes.get("application") or "learner without an application"
            raise CheckpointError(
                f"{cls.__name__}.load needs a file that {cls.__name__}.save wrote. "
                f"Got one of a {found}."
            )
        try:
            application = make(**notes["settings"], algorithm=learner.algorithm, seed=0)
        except (KeyError, TypeError, CrossbanditError) as error:
            raise CheckpointError(
                f"The settings in the checkpoint {os.fspath(path)!r} do not hold together: {error}"
            ) from error
        if application.learner.problem != learner.problem:
            raise CheckpointError(
                f"The checkpoint {os.fspath(path)!r} does not hold together: its settings describe "
                "another problem than its learner's."
            )
        application.learner = learner
        return application


def _why(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    """Return why a file cannot be written, and what to do."""
    folder = Path(os.fsdecode(path)).parent
    if not folder.is_dir():
        return f"there is no folder {os.fspath(folder)!r}. Make it first."
    cause = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"{cause}. Save to another file."


def anchored_as(usual: Algorithm, algorithm: Algorithm) -> Algorithm:
    """Return `algorithm`; if it leaves open whether to use anchors, as `usual` has it."""
    if (
        isinstance(algorithm, CrossGraphAdaptive)
        and isinstance(usual, CrossGraphAdaptive)
        and algorithm.anchored is None
    ):
        return replace(algorithm, anchored=usual.anchored)
    return algorithm


def started(
    owner: str,
    algorithm: Algorithm | None,
    problem: Problem,
    seed: Seed,
    usual: Algorithm = _USUAL,
) -> Learner:
    """Return a learner for an application; where none is asked for, the `usual` one."""
    algorithm = usual if algorithm is None else anchored_as(usual, algorithm)
    if not isinstance(algorithm, Algorithm):
        reject(owner, "algorithm", "None, or an Algorithm such as CrossGraph()", algorithm)
    return algorithm.start(problem, seed=seed)
