"""Snapshots: objects that decide as their learner would, in other threads and processes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crossbandit.algorithms.learners.feedback import read_many
from crossbandit.algorithms.learners.files import (
    initial_state,
    read_learner,
    restarted,
    write_learner,
    write_problem,
)
from crossbandit.algorithms.learners.seen import new_id
from crossbandit.algorithms.learners.shell import Shell
from crossbandit.algorithms.learners.tokens import checked_key
from crossbandit.core import record
from crossbandit.core.streams import stream
from crossbandit.errors import IMPOSSIBLE_CONTENT, CheckpointError, InvalidParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from crossbandit.algorithms.learners.algorithm import Algorithm
    from crossbandit.algorithms.learners.decisions import Decision
    from crossbandit.algorithms.learners.learner import Learner
    from crossbandit.algorithms.learners.problem import Problem
    from crossbandit.core.forms import Context, Readout
    from crossbandit.core.locks import Lock
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Floats

_FORMAT = "crossbandit-snapshot"
_VERSION = 1
_KEYS = {"format", "version", "learner", "algorithm", "parameters", "round", "problem"}


class Snapshot(Shell):
    """What a learner had learned at one time: it decides, and never learns.

    `Learner.snapshot` makes one. Its policy does not change. Each decision is the one that the
    learner would have made next, with the snapshot's own random numbers. The learner accepts its
    decisions and their tokens. Any number of threads may use a snapshot.

    Args:
        decider: A learner that only this snapshot uses. It decides by what it has learned.
        learner: The id of the learner that takes the decisions.
        seed: The seed of the random numbers; None for new ones.
        key: The key of the tokens, or None.

    Attributes:
        id: A name that is stored with its decisions.
        learner: The id of the learner that takes its decisions.

    >>> from crossbandit import CrossGraphAdaptive, Problem, graphs
    >>> learner = CrossGraphAdaptive().start(Problem(graphs.complete(2), contexts=1), seed=0)
    >>> worker = Snapshot.from_bytes(learner.snapshot().to_bytes())  # in another process
    >>> learner.learn(worker.act(0).token, [[0.5], [0.25]])
    """

    listed = "act act_many algorithm from_bytes problem round"
    locks: ClassVar[tuple[str | None, ...]] = ("_lock",)
    _lock: Lock

    def __init__(
        self, decider: Learner, learner: str, seed: Seed | None, key: bytes | None
    ) -> None:
        self.learner = learner
        self._decider = decider
        decider.as_decider()
        decider.watches = False
        self._counter, self._round = 0, decider.round
        decider.generator = np.random.default_rng() if seed is None else stream(seed, "learner")
        state = decider.state()
        self._changing = [state[name] for name in decider.changed_by_play]
        self._fixed = [array.copy() for array in self._changing]
        self._set_up()
        self.token_key = key

    @property
    def token_key(self) -> bytes | None:
        """The key with which tokens are signed, or None; may be set."""
        return self._decider.token_key

    @token_key.setter
    def token_key(self, key: bytes | None) -> None:
        self._decider.token_key = key

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make a copy, which has a new id and new random numbers."""
        return _copied, (self.to_bytes(), self.token_key)

    def after_fork(self) -> None:
        """Take a new id and new random numbers, in a forked process."""
        self.id = new_id()
        self._decider.generator = np.random.default_rng()

    @classmethod
    def of(cls, learner: Learner, seed: Seed | None = None) -> Snapshot:
        """Return a snapshot of a learner.

        Args:
            learner: The learner. It is not changed.
            seed: The seed of the snapshot's random numbers; None for new ones.

        Raises:
            InvalidParameterError: The algorithm needs memory, or graphs change.
        """
        if learner.algorithm.needs_memory:
            raise InvalidParameterError(
                f"{type(learner.algorithm).__name__} must remember its decisions, so only the "
                "learner itself can make them, and there is no snapshot. Use CrossGraphAdaptive."
            )
        if learner.graph_kind != "fixed":
            raise InvalidParameterError(
                f"The graphs of this learner's problem are {learner.graph_kind}, and a snapshot "
                "cannot be given a graph. Use the learner itself."
            )
        decider = restarted(learner.algorithm, learner.tuned(), learner.problem)
        with learner._lock:
            for name, array in learner.state().items():
                decider.state()[name][...] = array
            decider.round = learner.round
        decider.learned_from.clock = learner.learned_from.clock
        return cls(decider, learner.id, seed, learner.token_key)

    @property
    def algorithm(self) -> Algorithm:
        """The parameters of the algorithm."""
        algorithm: Algorithm = self._decider.algorithm
        return algorithm

    @property
    def decider_name(self) -> str:
        """What the text of an application calls it."""
        return self._decider.decider_name

    @property
    def problem(self) -> Problem:
        """What is known before the first round."""
        return self._decider.problem

    @property
    def round(self) -> int:
        """The number of rounds that the learner had played."""
        return self._round

    def act(self, context: npt.ArrayLike, available: npt.ArrayLike | None = None) -> Decision:
        """Choose an arm.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each. None means all arms.

        Returns:
            The decision. Give it, or its token, to `learn` of the learner.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        if available is None:
            with self._lock:
                made = self._decider.act_usual(context)
                if made is not None:
                    return self._own(made)
        return self._act(*self._decider._read(context, available))

    def act_many(
        self, contexts: npt.ArrayLike, available: npt.ArrayLike | None = None
    ) -> list[Decision]:
        """Choose an arm in each of many contexts, as `act` would one after the other.

        Args:
            contexts: The contexts: numbers (n,), or feature vectors (n, features).
            available: Which arms may be chosen in each, (n, K) booleans. None means all arms.

        Returns:
            The decisions.

        Raises:
            InvalidContextError: As for `act`. No decision is made.
            InvalidParameterError: As for `act`; or the numbers of masks and contexts differ.
        """
        given, masks = read_many(contexts, available)
        read = [self._decider._read(one, mask) for one, mask in zip(given, masks, strict=True)]
        return [self._act(plain, readout) for plain, readout in read]

    def _act(self, plain: Context, readout: Readout) -> Decision:
        decider = self._decider
        with self._lock:
            made = decider.make(plain, readout, self._round)
            decider.finish(made, decider.play(made))
            return self._own(made)

    def _own(self, made: Decision) -> Decision:
        """Undo what a decision has changed, and return it as one of this snapshot."""
        self._decider.set_counts(self._round, 0)
        for array, fixed in zip(self._changing, self._fixed, strict=True):
            array[...] = fixed
        made.sealed = False
        made.round += self._counter
        made.learner, made.decider, made.counter = self.learner, self.id, self._counter
        made.sealed = True
        self._counter += 1
        return made

    def policy(self, context: npt.ArrayLike, available: npt.ArrayLike | None = None) -> Floats:
        """Return the distribution from which `act` draws.

        Args:
            context: The number of a context, or a feature vector.
            available: Which arms may be chosen, a boolean for each; None means all arms.

        Returns:
            A probability for each arm.

        Raises:
            InvalidContextError: The problem has no such context, or no arm is available.
            InvalidParameterError: The algorithm cannot be told which arms are available.
        """
        with self._lock:
            return self._decider.policy(context, available)

    def to_bytes(self) -> bytes:
        """Return everything but the id, the random numbers and the key, as bytes.

        Raises:
            CheckpointError: The state holds NaN.
        """
        decider = self._decider
        parts: dict[str, Any] = {}
        with self._lock:
            header = write_learner(decider, parts)
        header |= {
            "format": _FORMAT,
            "version": _VERSION,
            "learner": self.learner,
            "problem": write_problem(decider.problem, parts),
        }
        model = partial(initial_state, decider)
        return record.to_bytes(header, record.joined(parts), owner="Snapshot", model=model)

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what `Learner.decider_of` takes: a header, and arrays by name."""
        content = np.frombuffer(self.to_bytes(), dtype=np.uint8)
        return {"algorithm": self.algorithm.to_json()}, {"learner": content}

    @classmethod
    def from_bytes(
        cls, content: bytes, *, seed: Seed | None = None, key: bytes | None = None
    ) -> Snapshot:
        """Return a snapshot from what `to_bytes` returned, with a new id and new random numbers.

        So several workers may be given the same bytes.

        Args:
            content: The bytes. They may come from an untrusted source.
            seed: The seed of its random numbers. If None, they differ from those of all others.
            key: The key of the learner's tokens, if it has one.

        Raises:
            CheckpointError: The bytes are something else, are damaged, or of another version.
            InvalidParameterError: The key is not a possible key.
        """
        key = checked_key("Snapshot", "key", key)
        file = record.from_bytes(content)
        header = file.header
        if header.get("format") != _FORMAT or header.get("version") != _VERSION:
            raise CheckpointError(
                "Snapshot.from_bytes needs what Snapshot.to_bytes of this version returned. Got "
                f"{header.get('format')!r} of version {header.get('version')!r}."
            )
        try:
            decider = _restore(file)
        except IMPOSSIBLE_CONTENT as error:
            raise CheckpointError(
                f"The snapshot is inconsistent: {error}. Take a new one."
            ) from error
        return cls(decider, str(header["learner"]), seed, key)


def _copied(content: bytes, key: bytes | None) -> Snapshot:
    return Snapshot.from_bytes(content, key=key)


def _restore(file: record.Archive) -> Learner:
    header, arrays, size = file
    if set(header) != _KEYS:
        raise ValueError(f"its header has the entries {sorted(header)[:20]}")
    bytes.fromhex(header["learner"])
    decider = read_learner(header, record.parted(arrays, ("state", "problem")), size)
    if decider.algorithm.needs_memory:
        raise ValueError("its algorithm needs memory")
    decider.check_state()
    return decider
