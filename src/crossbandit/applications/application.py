"""What all applications share: a learner, state of their own, and one file for both."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crossbandit.algorithms import Algorithm, CrossGraphAdaptive, Learner, archive
from crossbandit.algorithms.checkpoints import restored, save
from crossbandit.applications import law_files
from crossbandit.applications.law_learner import LawDecider, LawLearner
from crossbandit.errors import CheckpointError, CrossbanditError
from crossbandit.validation import reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crossbandit.problem import Problem
    from crossbandit.streams import Seed

_DEFAULT = CrossGraphAdaptive()

# What settings and state that no application has written may raise.
_IMPOSSIBLE = (
    ArithmeticError,
    AttributeError,
    CrossbanditError,
    LookupError,
    TypeError,
    ValueError,
)


class Application(ABC):
    """A learner behind an interface in the terms of one domain.

    All applications have the same shape. The constructor takes everything by keyword: the arms, the
    contexts, what is observed, and then `horizon`, `algorithm` and `seed`. One method takes the
    context and returns an action, such as a `Bid`. `policy` takes the same arguments and returns
    the probability of each arm. `settle` takes the action, and its outcome by keyword.

    A subclass sets `kind`, a name for its files, and `learner`, last in its constructor. From then
    on its public attributes cannot be set. `settings` returns the arguments of the constructor. A
    subclass that changes while it runs, beyond what its learner learns, keeps that in private
    attributes, returns it from `state` and takes it back in `restore`.

    Attributes:
        kind: The name of the application in its files.
        learner: What makes the decisions: a `Learner` that uses a feedback graph, or a
            `LawLearner`. Both have `round`, `pending`, `max_pending`, `id` and `expects`.
    """

    kind: ClassVar[str]
    learner: Any  # a Learner or a LawLearner; the application knows which

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, without the algorithm and the seed.

        Returns:
            The arguments by name, in a form that `json` can write.
        """

    def state(self) -> Mapping[str, Any]:
        """Return what this application keeps beside its learner and its settings.

        Returns:
            Values by name. Each is a string, a finite number, True, False or None, or an array of
            numbers or booleans. Most applications keep nothing.
        """
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` returned before it was saved.

        Args:
            state: The same names as `state` returns now, arrays where it returns arrays.

        Raises:
            ValueError: The values are not possible for the settings.
        """
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state of its own")

    def __repr__(self) -> str:
        learner = self.learner
        name = learner.name if isinstance(learner, LawDecider) else learner.algorithm.id
        return (
            f"{type(self).__name__}({self.rounds} decisions made, {self.pending} pending, {name})"
        )

    if not TYPE_CHECKING:  # a type checker would allow every attribute

        def __setattr__(self, name: str, value: object) -> None:
            own = getattr(type(self), name, None)
            settable = isinstance(own, property) and own.fset is not None
            if "learner" in vars(self) and not name.startswith("_") and not settable:
                raise AttributeError(
                    f"{name!r} of a {type(self).__name__} cannot be set: what was learned holds "
                    f"for the settings it has. Make a new {type(self).__name__}."
                )
            super().__setattr__(name, value)

    @property
    def rounds(self) -> int:
        """The number of decisions made."""
        return int(self.learner.round)

    @property
    def pending(self) -> int:
        """The number of decisions without an outcome so far. The oldest ones expire."""
        return int(self.learner.pending)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically. `load` resumes from it.

        A file that is there keeps its permissions; a symbolic link is followed.

        Args:
            path: The file. Its folder must exist.

        Raises:
            CheckpointError: The file cannot be written, or the state holds NaN. What was there
                before is unchanged.
        """
        state = self.state()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        values = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in state.items()
            if name not in arrays
        }
        notes = {"application": self.kind, "settings": self.settings(), "state": values}
        write = law_files.save if isinstance(self.learner, LawLearner) else save
        write(self.learner, path, notes, arrays, owner=type(self).__name__)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote. It resumes exactly, with all pending decisions.

        Args:
            path: The file.

        Raises:
            FileNotFoundError: There is no such file.
            CheckpointError: The file is damaged, or was not written by this class.
        """
        file = archive.read(path)
        source: Learner | law_files.LawFile
        if file.header.get("format") == law_files.FORMAT:
            source, algorithm = law_files.read(path, file), "law"
            notes, arrays = source.notes, source.application
        else:
            source, notes, arrays = restored(path, file)
            algorithm = source.algorithm
        if notes.get("application") != cls.kind:
            found = notes.get("application") or "learner without an application"
            raise CheckpointError(
                f"{cls.__name__}.load needs a file that {cls.__name__}.save wrote. "
                f"Got one of a {found}."
            )
        construct: Callable[..., Self] = cls
        try:
            application = construct(**notes["settings"], algorithm=algorithm, seed=0)
            application._resume(source, notes, arrays)  # noqa: SLF001 - its own
        except _IMPOSSIBLE as error:
            raise CheckpointError(
                f"The checkpoint {os.fspath(path)!r} is inconsistent: {error}"
            ) from error
        return application

    def _resume(
        self,
        source: Learner | law_files.LawFile,
        notes: Mapping[str, Any],
        arrays: Mapping[str, Any],
    ) -> None:
        """Take over a learner and a state, or raise ValueError if they do not fit the settings."""
        if not isinstance(source, Learner):
            if not isinstance(self.learner, LawLearner):
                raise ValueError("its settings describe an application without a law")  # noqa: TRY004 - of a file
            law_files.resume(self.learner, source.header, source.arrays)
        elif isinstance(self.learner, LawLearner) or self.learner.problem != source.problem:
            raise ValueError("its settings describe another problem than its learner's")
        else:
            vars(self)["learner"] = source
        now, values = self.state(), notes.get("state", {})
        if "state" not in notes and not arrays:  # an earlier version, which kept no state
            return
        kept = {name for name, value in now.items() if isinstance(value, np.ndarray)}
        if set(arrays) != kept or set(values) != set(now) - kept:
            names = sorted([*arrays, *values])[:20]
            raise ValueError(f"it keeps the values {names} where {sorted(now)} belong")
        self.restore({**values, **arrays})


def anchored_as(default: Algorithm, algorithm: Algorithm) -> Algorithm:
    """Return `algorithm`; if it leaves open whether to use anchors, with the default's choice."""
    if (
        isinstance(algorithm, CrossGraphAdaptive)
        and isinstance(default, CrossGraphAdaptive)
        and algorithm.anchored is None
    ):
        return replace(algorithm, anchored=default.anchored)
    return algorithm


def start_learner(
    owner: str,
    algorithm: Algorithm | None,
    problem: Problem,
    seed: Seed,
    default: Algorithm = _DEFAULT,
    *,
    expected: str = "None, or an Algorithm such as CrossGraph()",
) -> Learner:
    """Start the learner of an application.

    Args:
        owner: The class of the application, for messages.
        algorithm: The algorithm that the user asked for, or None.
        problem: What the application has to decide.
        seed: The seed of the learner.
        default: The algorithm where none was asked for.
        expected: What may be asked for, for messages.

    Raises:
        InvalidParameterError: `algorithm` is not an Algorithm, or does not fit the problem.
    """
    algorithm = default if algorithm is None else anchored_as(default, algorithm)
    if not isinstance(algorithm, Algorithm):
        reject(owner, "algorithm", expected, algorithm)
    return algorithm.start(problem, seed=seed)
