"""What all applications share: how they start, decide, are saved and are loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crossbandit.algorithms import Algorithm, CrossGraphAdaptive, Learner
from crossbandit.applications import application_files
from crossbandit.applications.action import only_decides
from crossbandit.applications.law_learner import files as law_files
from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.applications.law_learner.learner import LawLearner
from crossbandit.errors import IMPOSSIBLE_CONTENT, CheckpointError, InvalidParameterError
from crossbandit.learners import archive
from crossbandit.learners.algorithm import from_json
from crossbandit.notebook import card, counted
from crossbandit.validation import reject, verbatim

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Callable, Mapping

    from crossbandit.problem import Problem
    from crossbandit.streams import Seed

_DEFAULT = CrossGraphAdaptive()


class Application(ABC):
    """A learner behind an interface in the terms of one domain.

    All applications have the same shape. The constructor takes everything by keyword: the arms, the
    contexts, what is observed, and then `horizon`, `algorithm` and `seed`. One method takes the
    context and returns an action, such as a `Bid`. `policy` takes the same arguments and returns
    the probability of each arm. `settle` takes the action or its token, and its outcome by keyword.

    Any number of threads may call the methods of one application. `snapshot` returns one that only
    decides, for other threads, processes and machines.

    A subclass sets `kind`, a name for its files, and `learner`, last in its constructor. After that
    its public attributes cannot be set. `settings` returns the arguments of the constructor. A
    subclass with state of its own, besides what its learner learns, keeps it in private attributes,
    returns it from `state` and restores it in `restore`.

    Attributes:
        kind: The name of the application in its files.
        fixed: The names of private attributes that cannot be set after construction either.
        learner: What makes the decisions: a `Learner` that uses a feedback graph, or a
            `LawLearner`. Both have `round`, `pending`, `id` and `expects`. That of a snapshot only
            decides.
    """

    kind: ClassVar[str]
    fixed: ClassVar[tuple[str, ...]] = ()
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
        """Restore what `state` returned when it was saved.

        Args:
            state: The same names as `state` returns now, arrays where it returns arrays.

        Raises:
            ValueError: The values are not possible for the settings.
        """
        if state:
            raise ValueError(f"{type(self).__name__} keeps no state of its own")

    def __repr__(self) -> str:
        counts = f"{self.rounds} decisions made, {self.pending} pending"
        return f"{type(self).__name__}({counts}, {self._decider_name()})"

    def _decider_name(self) -> str:
        learner = self.learner
        return str(learner.name if isinstance(learner, LawDecider) else learner.algorithm.id)

    def _repr_html_(self) -> str:
        facts = [
            (counted(self.rounds, "decision"), "how many were made"),
            (f"{self.pending:,} pending", "decisions without an outcome so far"),
            (self._decider_name(), "what decides"),
        ]
        settings = (
            (f"{key}: {value}", "a setting")
            for key, value in self.settings().items()
            if type(value) in {str, int, float}
        )
        return card(type(self).__name__, [*facts, *settings], self.picture())

    def picture(self) -> str:
        """Return an SVG picture of what was learned, for notebooks; empty if there is none."""
        return ""

    if not TYPE_CHECKING:  # a type checker would allow every attribute

        def __setattr__(self, name: str, value: object) -> None:
            own = getattr(type(self), name, None)
            settable = isinstance(own, property) and own.fset is not None
            fixed = not name.startswith("_") or name in self.fixed
            if "learner" in vars(self) and fixed and not settable:
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
        return int(getattr(self.learner, "pending", 0))

    @property
    def token_key(self) -> bytes | None:
        """A secret of 1 to 64 bytes with which tokens are signed, or None; may be set.

        With a key, nobody else can forge a token. The key is not saved.
        """
        return getattr(self.learner, "token_key", None)

    @token_key.setter
    def token_key(self, key: bytes | None) -> None:
        self.learner.token_key = key

    def snapshot(self, seed: Seed | None = None) -> Self:
        """Return an application that decides as this one does now, and never changes.

        It has all methods that decide, and none that learn. Any number of threads may use it. Its
        decisions, or their tokens, are settled with this application, also much later.

        Args:
            seed: The seed of its random choices. If None, they differ from those of all others.

        Raises:
            InvalidParameterError: The algorithm needs memory, or this is a snapshot itself.
        """
        learner = self.learner
        if isinstance(learner, LawLearner):
            other = self._made(self.settings(), "law")
            vars(other)["learner"] = learner.decider(other.learner.law, seed)
        elif isinstance(learner, Learner):
            other = self._made(self.settings(), learner.algorithm)
            vars(other)["learner"] = learner.snapshot(seed)
        else:
            raise only_decides("snapshot")
        return other

    @classmethod
    def _made(cls, settings: Mapping[str, Any], algorithm: Any) -> Self:
        construct: Callable[..., Self] = cls
        return construct(**settings, algorithm=algorithm, seed=0)

    def to_bytes(self) -> bytes:
        """Return a snapshot as bytes, without its random numbers and its key.

        Raises:
            InvalidParameterError: This is no snapshot.
        """
        if isinstance(self.learner, LawLearner | Learner):
            raise InvalidParameterError(
                f"to_bytes is for snapshots. This {type(self).__name__} learns: use "
                "snapshot().to_bytes(), or save."
            )
        return application_files.snapshot_bytes(self.kind, self.settings(), self.learner)

    @classmethod
    def from_bytes(
        cls, content: bytes, *, seed: Seed | None = None, key: bytes | None = None
    ) -> Self:
        """Return a snapshot from what `to_bytes` returned, with random numbers of its own.

        Args:
            content: The bytes. They may come from an untrusted source.
            seed: The seed of its random choices. If None, they differ from those of all others.
            key: The key of the learner's tokens, if it has one.

        Raises:
            CheckpointError: The bytes are not such a snapshot, or are damaged.
        """
        file = application_files.read_snapshot(content, cls.kind)
        try:
            header = file.header
            algorithm = from_json(header["algorithm"]) if "algorithm" in header else "law"
            made = cls._made(header["settings"], algorithm)
            vars(made)["learner"] = application_files.decider_of(made.learner, file, seed, key)
        except IMPOSSIBLE_CONTENT as error:
            raise CheckpointError(f"The snapshot is inconsistent: {error}") from error
        return made

    def save(self, path: str | os.PathLike[str] | io.BytesIO) -> None:
        """Write everything to one file, atomically. `load` resumes from it.

        An existing file keeps its permissions; a symbolic link is followed.

        Args:
            path: The file, whose folder must exist; or a buffer.

        Raises:
            CheckpointError: The file cannot be written, or the state holds NaN. An existing file
                is then unchanged.
        """
        if not isinstance(self.learner, LawLearner | Learner):
            raise only_decides("save")
        application_files.write(
            path, self.learner, self.kind, self.settings(), self.state(), type(self).__name__
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str] | io.BytesIO, **changes: Any) -> Self:
        """Return what `save` wrote. It resumes exactly, and takes all tokens that were made before.

        Args:
            path: The file, or a buffer that holds what `save` wrote.
            **changes: Settings to change, by the names of the constructor. What a law has learned
                is moved to the new settings, as `take_counts` does; the guard and the test of
                independence then start again. A feedback graph cannot change.

        Raises:
            FileNotFoundError: There is no such file.
            CheckpointError: The file is damaged, or was not written by this class.
            InvalidParameterError: There is no such setting, or what was learned does not fit it.
        """
        file = application_files.read(path, cls.kind, cls.__name__)
        try:
            application = cls._made(file.notes["settings"], file.algorithm)
            application._resume(file)  # noqa: SLF001 - its own
        except IMPOSSIBLE_CONTENT as error:
            raise CheckpointError(
                f"The checkpoint {archive.name_of(path)} is inconsistent: {error}"
            ) from error
        return application._changed(changes) if changes else application  # noqa: SLF001 - its own

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        """Return an application with other settings that has learned the same."""
        settings = self.settings()
        unknown = set(changes) - set(settings)
        if unknown:
            expected = f"one of {', '.join(settings)}"
            reject(f"{type(self).__name__}.load", min(unknown), expected, verbatim("another"))
        algorithm = "law" if isinstance(self.learner, LawLearner) else self.learner.algorithm
        made = self._made({**settings, **changes}, algorithm)
        made._take_over(self)  # noqa: SLF001 - its own
        return made

    def _take_over(self, other: Self) -> None:
        """Take over the learner and the state of an application with other settings."""
        if isinstance(self.learner, LawLearner) or self.learner.problem != other.learner.problem:
            raise InvalidParameterError(
                f"What this {type(self).__name__} has learned holds for the settings it has. "
                "Make a new one."
            )
        vars(self)["learner"] = other.learner
        self.restore(other.state())

    def _resume(self, file: application_files.ApplicationFile) -> None:
        """Take over a learner and a state, or raise ValueError if they do not fit the settings."""
        source = file.source
        if not isinstance(source, Learner):
            if not isinstance(self.learner, LawLearner):
                raise ValueError("its settings describe an application without a law")  # noqa: TRY004 - of a file
            law_files.resume(self.learner, source.header, source.arrays)
        elif isinstance(self.learner, LawLearner) or self.learner.problem != source.problem:
            raise ValueError("its settings describe another problem than its learner's")
        else:
            vars(self)["learner"] = source
        self.restore(file.state(self.state()))


def usual_algorithm(feedback: str) -> CrossGraphAdaptive:
    """Return the default algorithm for bids with a feedback graph, with anchors if they help.

    They help with feedback after a loss: then a bid reveals the next higher bid, and the two mostly
    win and lose together.

    Args:
        feedback: One of the kinds of `crossbandit.environments.auctions.FEEDBACK`.
    """
    return CrossGraphAdaptive(anchored=feedback == "after-loss")


def anchored_as(default: Algorithm, algorithm: Algorithm) -> Algorithm:
    """Return `algorithm`, with the default's choice of `anchored` if its own is None."""
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
