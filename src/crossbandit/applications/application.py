"""What all applications share: how they start, decide, are saved and are loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crossbandit import algorithms
from crossbandit.algorithms.learners.algorithm import as_algorithm, from_json
from crossbandit.algorithms.learners.shell import only_decides
from crossbandit.core import record
from crossbandit.core.notebook import Listed, card, counted
from crossbandit.core.streams import takes_rng
from crossbandit.core.validation import reject, verbatim
from crossbandit.errors import IMPOSSIBLE_CONTENT, CheckpointError, InvalidParameterError

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Callable, Mapping

    from crossbandit.algorithms import Algorithm, Learner
    from crossbandit.algorithms.learners.files import LearnerFile
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.streams import Seed


_SNAPSHOT = "crossbandit-application-snapshot"
_VERSION = 3


class Application(Listed, ABC):
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

    listed = "from_bytes learner load merge pending policy rounds save snapshot to_bytes token_key"
    kind: ClassVar[str]
    later: ClassVar[frozenset[str]] = frozenset()  # arrays that files of earlier versions lack
    fixed: ClassVar[tuple[str, ...]] = ()
    learner: Any  # a Learner or a LawLearner; the application knows which

    def __init_subclass__(cls, **options: Any) -> None:
        """Let its constructor take `rng` for `seed`."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", takes_rng(cls.__init__))  # noqa: B010 - mypy allows no other way

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, without the algorithm and the seed.

        Returns:
            The arguments by name, in a form that `json` can write.
        """

    def settings_of_copies(self) -> dict[str, Any]:
        """Return the arguments of the constructor for a snapshot."""
        return self.settings()

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
        return f"{type(self).__name__}({self._scope()}{counts}, {self.learner.decider_name})"

    def _scope(self) -> str:
        """Return what an application takes, for its text."""
        return ""

    def _repr_html_(self) -> str:
        facts = [
            (counted(self.rounds, "decision"), "how many were made"),
            (f"{self.pending:,} pending", "decisions without an outcome so far"),
            (self.learner.decider_name, "what decides"),
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
        if not learner.learns:
            raise only_decides("snapshot")
        other = self._made(self.settings_of_copies(), learner.algorithm)
        vars(other)["learner"] = learner.decider(other.learner, seed)
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
        if self.learner.learns:
            raise InvalidParameterError(
                f"to_bytes is for snapshots. This {type(self).__name__} learns: use "
                "snapshot().to_bytes(), or save."
            )
        header, arrays = self.learner.parts()
        form = {"format": _SNAPSHOT, "version": _VERSION, "application": self.kind}
        header = {**form, "settings": self.settings_of_copies(), **header}
        return record.to_bytes(header, arrays, owner=self.kind)

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
        header, arrays, _ = record.from_bytes(content)
        found = (header.get("format"), header.get("application"))
        if found != (_SNAPSHOT, cls.kind):
            raise CheckpointError(
                f"from_bytes needs what to_bytes of a snapshot of a {cls.kind} returned. Got "
                f"{found}."
            )
        if header.get("version") != _VERSION:
            raise CheckpointError(
                f"The snapshot has format {header.get('version')!r}, and this version of "
                f"Crossbandit reads format {_VERSION}. Take a new one, or read it with the version "
                "that wrote it."
            )
        try:
            algorithm = from_json(header["algorithm"]) if "algorithm" in header else "law"
            made = cls._made(header["settings"], algorithm)
            vars(made)["learner"] = made.learner.decider_of(header, arrays, seed, key)
        except IMPOSSIBLE_CONTENT as error:
            raise CheckpointError(f"The snapshot is inconsistent: {error}") from error
        return made

    def save(self, path: str | os.PathLike[str] | io.BytesIO) -> None:
        """Write everything but `token_key` to one file, atomically. `load` resumes from it.

        Outcomes that are settled later are not in the file: keep them until the next `save`, and
        settle them again after a crash. An existing file keeps its permissions; a symbolic link is
        followed.

        Args:
            path: The file, whose folder must exist; or a buffer.

        Raises:
            CheckpointError: The file cannot be written, or the state holds NaN. An existing file
                is then unchanged.
        """
        if not self.learner.learns:
            raise only_decides("save")
        from crossbandit.algorithms.learners import files

        files.save(self.learner, path, self._kept, type(self).__name__)

    def _kept(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a file has of this application: notes, and arrays by name."""
        found = self.state()
        arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
        values = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in found.items()
            if name not in arrays
        }
        return {"application": self.kind, "settings": self.settings(), "state": values}, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str] | io.BytesIO, **changes: Any) -> Self:
        """Return what `save` wrote. It resumes exactly, and takes all tokens that were made before.

        If tokens were signed, set `token_key` again: it is not in the file.

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
        from crossbandit.algorithms.learners import files

        file = files.read(path)
        other = file.header["notes"].get("application") or "learner without an application"
        if other != cls.kind:
            name = cls.__name__
            raise CheckpointError(
                f"{name}.load needs a file that {name}.save wrote. Got one of a {other}."
            )
        with file.reading():
            application = cls._made(file.header["notes"]["settings"], file.algorithm)
            application._resume(file)  # noqa: SLF001 - its own
        return application._changed(changes) if changes else application  # noqa: SLF001 - its own

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        """Return an application with other settings that has learned the same."""
        settings = self.settings()
        unknown = set(changes) - set(settings)
        if unknown:
            expected = f"one of {', '.join(settings)}"
            reject(f"{type(self).__name__}.load", min(unknown), expected, verbatim("another"))
        made = self._made({**settings, **changes}, self.learner.algorithm)
        made._take_over(self)  # noqa: SLF001 - its own
        return made

    def _take_over(self, other: Self) -> None:
        """Take over the learner and the state of an application with other settings."""
        vars(self)["learner"] = self.learner.taking_over(other.learner, type(self).__name__)
        self.restore(other.state())

    def _resume(self, file: LearnerFile) -> None:
        """Take over a learner and a state, or raise ValueError if they do not fit the settings."""
        vars(self)["learner"] = self.learner.resumed(file.header, file.parts, file.size)
        values, arrays = file.header["notes"]["state"], file.parts["application"]
        now = self.state()
        kept = {name for name, value in now.items() if isinstance(value, np.ndarray)}
        if set(arrays) not in (kept, kept - self.later) or set(values) != set(now) - kept:
            names = sorted([*arrays, *values])[:20]
            raise ValueError(f"it keeps the values {names} where {sorted(now)} belong")
        self.restore({**values, **arrays})


def anchored_as(algorithm: Algorithm, *, helps: bool) -> Algorithm:
    """Return `algorithm`, with anchors if they help and it leaves the choice to the application.

    They help where a play reveals the next amount as well, such as a higher bid: neighbouring
    amounts mostly win and lose together. See docs/contributors/algorithms-compared.md.
    """
    if isinstance(algorithm, algorithms.CrossGraphAdaptive) and algorithm.anchored is None:
        return replace(algorithm, anchored=helps)
    return algorithm


def start_learner(
    owner: str,
    algorithm: Algorithm | str | None,
    problem: Problem,
    seed: Seed,
    *,
    anchored: bool | None = None,
    expected: str = "None, or an Algorithm such as CrossGraph()",
) -> Learner:
    """Start the learner of an application.

    anchored: Whether anchors help, if arms are amounts of one thing; see `anchored_as`. Then the
    adaptive learner, which uses what neighbouring amounts have in common, is the default.
    """
    usual = algorithms.CrossGraphCertified if anchored is None else algorithms.CrossGraphAdaptive
    given = usual() if algorithm is None else as_algorithm(owner, algorithm, expected)
    return anchored_as(given, helps=bool(anchored)).start(problem, seed=seed)
