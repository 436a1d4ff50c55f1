"""Which decisions were made, which of them may be learned from, and which were."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit import forks
from crossbandit.errors import (
    CheckpointError,
    DamagedTokenError,
    DecisionError,
    InvalidParameterError,
)
from crossbandit.learners.decisions import (
    Decision,
    PendingDecision,
    check_maker,
    expired_round,
    foreign,
    learned_before,
)
from crossbandit.learners.learner_base import AlgorithmT, LearnerBase
from crossbandit.learners.missing import FeedbackWatch
from crossbandit.learners.payloads import decoded
from crossbandit.learners.seen import SeenDecisions, new_id
from crossbandit.learners.tokens import GRAPH, Token, checked_key
from crossbandit.validation import integer, reject, verbatim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crossbandit.graphs import FeedbackGraph
    from crossbandit.losses import Context, Readout
    from crossbandit.problem import Problem
    from crossbandit.streams import Seed
    from crossbandit.types import Integers


class DecisionRecords(LearnerBase[AlgorithmT]):
    """The part of a learner that records decisions.

    Its private methods are called under the lock of the learner.
    """

    def __init__(
        self,
        algorithm: AlgorithmT,
        problem: Problem,
        *,
        seed: Seed,
        graph: FeedbackGraph | None = None,
    ) -> None:
        super().__init__(algorithm, problem, seed=seed, graph=graph)
        self.round = 0
        self.id = new_id()
        self.learned_from = SeenDecisions()
        self._lock = threading.RLock()
        self._key: bytes | None = None
        self._former_ids: dict[str, int] = {}  # with the rounds that were counted under them
        self._waiting = 0  # own decisions without feedback
        self._max_pending = 100_000
        self._last_expired = -1  # the latest round that is not remembered any more
        self._pending: dict[int, PendingDecision] = {}  # those that are remembered
        self._watch: FeedbackWatch | None = None  # from the first decision on, if it is needed
        forks.know(self)

    @property
    def pending(self) -> int:
        """How many of its own decisions have no feedback so far.

        Decisions of its snapshots are not counted: it does not know them until it learns from them.
        """
        return len(self._pending) if self.algorithm.needs_memory else self._waiting

    @property
    def max_pending(self) -> int:
        """How many pending decisions are remembered, if the algorithm needs memory; may be set."""
        return self._max_pending

    @max_pending.setter
    def max_pending(self, decisions: int) -> None:
        self._max_pending = integer("Learner", "max_pending", decisions, at_least=0)

    @property
    def token_key(self) -> bytes | None:
        """A secret of 1 to 64 bytes with which tokens are signed, or None; may be set.

        With a key, forged tokens are refused; without one, only damaged ones are. It is not saved.
        """
        return self._key

    @token_key.setter
    def token_key(self, key: bytes | None) -> None:
        self._key = checked_key("Learner", "token_key", key)

    def decision_of(self, token: bytes | str) -> Decision:
        """Return the decision of a token, whether it may still be learned from or not.

        Args:
            token: The token, as bytes or as text.

        Raises:
            DecisionError: It is damaged, or was made for another learner.
        """
        return self._decision(self._decoded(token), math.nan)

    def merge(self, other: DecisionRecords[AlgorithmT]) -> None:
        """Add what another learner has learned. This needs an algorithm that keeps only sums.

        Both must have started with nothing, on the same problem with the same parameters. Then the
        result is that of one learner which learned from all decisions of both. This learner then
        also accepts the decisions of the other. Each learner can be merged once. An algorithm that
        needs memory remembers its pending decisions by round, so the other must have none.

        Args:
            other: The other learner. It is not changed.

        Raises:
            InvalidParameterError: The algorithm keeps more than sums, or the two learners differ,
                have decisions in common, or the other remembers pending decisions.
        """
        self._check_mergeable(other)
        first, second = sorted((self, other), key=id)
        with first._lock, second._lock:  # in one order: two merges never wait for each other
            theirs = {**other._former_ids, other.id: other.round}
            if theirs.keys() & {self.id, *self._former_ids}:
                got = verbatim("one that comes from the same learner, or was merged before")
                reject("merge", "other", "a learner with decisions of its own", got)
            if other._pending:
                got = verbatim(f"one with {len(other._pending)} of them; learn from them first")
                reject("merge", "other", "a learner without pending decisions", got)
            state, added = self.state(), other.state()
            for name in self.additive_state:
                state[name][...] += added[name]
            self.round += other.round
            self._waiting += other._waiting
            self._former_ids |= theirs
            self.learned_from.merge(other.learned_from)
            if self.needs_all_feedback:  # earlier rounds of the two have the same numbers
                self._start_watch(self.round)

    def _check_mergeable(self, other: DecisionRecords[AlgorithmT]) -> None:
        name = type(self.algorithm).__name__
        if not self.additive_state:
            raise InvalidParameterError(
                f"Learners of {name} cannot be merged: their state is more than sums. Give all "
                "tokens to one learner, and decide with its snapshots."
            )
        if type(other) is not type(self):
            reject("merge", "other", f"a learner of {name}", other)
        same = other.problem == self.problem and dict(other.tuned()) == dict(self.tuned())
        if not same or other.algorithm != self.algorithm:
            expected = f"a learner of {self.algorithm} on the same problem"
            got = verbatim(f"one of {other.algorithm}, or another problem")
            reject("merge", "other", expected, got)

    # --- what an algorithm may override --------------------------------------------------------

    def check_state(self) -> None:
        """Check a state that was read from a file, before it is used.

        Override it, and call `super().check_state()`, if a kernel uses a number of the state as an
        index: compiled code does not check its indices, so an index outside its array corrupts
        memory. Also override it if a state may hold infinity.

        Raises:
            CheckpointError: A number is out of its range or not finite.
        """
        for name, array in self.state().items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise CheckpointError(f"The array {name!r} holds numbers that are not finite.")
        self.require_state("round", self.round >= 0, "an integer of at least 0", self.round)
        for one in (one for role in self.remembered().values() for one in role):
            self._check_remembered(one)

    def remembered(self) -> dict[str, list[PendingDecision]]:
        """Return the decisions that are remembered, by their role. A checkpoint stores them.

        Override it, and `restore`, if a learner keeps decisions in other places.
        """
        return {"pending": list(self._pending.values())}

    def restore(self, roles: Mapping[str, list[PendingDecision]]) -> None:
        """Restore what `remembered` returned.

        Args:
            roles: The decisions by their role.
        """
        self._pending = {pending.round: pending for pending in roles["pending"]}

    # --- private steps -------------------------------------------------------------------------

    def _new_decision(self, context: Context, readout: Readout) -> PendingDecision:
        number, now = self.round, float(self.learned_from.clock())
        return PendingDecision(
            number, context, readout, -1, self.id, decider=self.id, counter=number, time=now
        )

    def _record(self, pending: PendingDecision) -> None:
        """Record that a decision was made."""
        self.round = pending.round + 1
        self._waiting += 1
        if self.needs_all_feedback:
            watch = self._watch or self._start_watch(pending.round)
            watch.count_decision(pending.round, pending.arm)
        if not self.algorithm.needs_memory:
            return
        self._pending[pending.round] = pending
        while len(self._pending) > self._max_pending:
            self._last_expired = next(iter(self._pending))
            del self._pending[self._last_expired]

    def _record_many(self, arms: Integers) -> None:
        """Record that decisions were made that need no memory."""
        if self.needs_all_feedback:
            watch = self._watch or self._start_watch(self.round)
            for round_, arm in enumerate(arms.tolist(), self.round):
                watch.count_decision(round_, arm)
        self.round += arms.size
        self._waiting += arms.size

    def _start_watch(self, first: int) -> FeedbackWatch:
        """Watch for missing feedback from a round on."""
        self._watch = FeedbackWatch(self.problem.arms, first)
        return self._watch

    def _decision(self, pending: PendingDecision, probability: float) -> Decision:
        revealed = self.revealed(pending)
        # This is Decision(...), in half the time.
        decision = tuple.__new__(
            Decision,
            (pending.round, pending.context, pending.arm, probability, revealed, pending.learner),
        )
        decision.carried = pending
        if self._key is not None:
            decision.key = self._key
        if self.algorithm.needs_memory:
            decision.remembered = True
        return decision

    def _expected(self, decision: Decision | bytes | str) -> PendingDecision:
        """Return what learning from a decision needs; raise DecisionError if `learn` refuses it."""
        if isinstance(decision, Decision):
            if decision.learner != self.id:
                check_maker(decision, self._former_ids)
            pending = self._remembered(decision.round, decision.learner)
            if pending is None:
                return self._new(decision)
            pending.check(decision, self.revealed(pending))
            return pending
        if not isinstance(decision, bytes | bytearray | memoryview | str):
            raise DecisionError(
                f"learn takes the Decision that act returned, or its token. Got {decision!r}."
            )
        read = self._decoded(decision)
        pending = self._remembered(read.round, read.learner)
        return self._unlearned(read) if pending is None else pending

    def _remembered(self, round_: object, learner: str) -> PendingDecision | None:
        if not self._pending or not isinstance(round_, int):
            return None
        pending = self._pending.get(round_)
        return pending if pending is not None and pending.learner == learner else None

    def _new(self, decision: Decision) -> PendingDecision:
        """Return what a decision carries, if the decision is not remembered."""
        carried = decision.carried
        if carried is None:
            raise expired_round(decision.round, self.max_pending)
        pending = self._decoded(carried) if isinstance(carried, bytes) else carried
        pending.check(decision, self.revealed(pending))
        return self._unlearned(pending)

    def _decoded(self, data: bytes | str) -> PendingDecision:
        token = Token.decode(data, self._key)
        if token.learner != self.id and token.learner not in self._former_ids:
            raise foreign(token.counter, token.learner)
        if token.kind != GRAPH:
            raise DamagedTokenError(
                f"A token must be of a learner with a feedback graph. Got one of kind {token.kind}."
            )
        pending = decoded(token, self.problem, self.reveals)
        own = token.decider == self.id or token.decider in self._former_ids
        if own and pending.round != pending.counter:
            raise DamagedTokenError(
                f"A token of a learner's own decision must have its round as its counter, "
                f"{token.counter}. Got the round {pending.round}."
            )
        return pending

    def _unlearned(self, pending: PendingDecision) -> PendingDecision:
        """Return a decision that is not remembered; raise unless it may be learned from."""
        if not self.algorithm.needs_memory:
            if self.learned_from.check(pending.decider, pending.counter, pending.time):
                raise learned_before(pending.round)
            return pending
        if not self._is_counted(pending):
            raise foreign(pending.round, pending.learner)
        if pending.round > self._last_expired:
            raise learned_before(pending.round)
        raise expired_round(pending.round, self.max_pending)

    def _is_counted(self, pending: PendingDecision) -> bool:
        """Return whether a decision is one of the rounds that this learner has played."""
        rounds = self.round if pending.decider == self.id else self._former_ids.get(pending.decider)
        return rounds is not None and pending.counter < rounds

    def _mark_and_count(self, pending: PendingDecision) -> PendingDecision:
        """Mark a decision as learned from, count its round, and return it as `update` takes it."""
        marked = self._marked(pending)
        if marked is not pending:
            self.count_round(marked)
        return marked

    def _marked(self, pending: PendingDecision) -> PendingDecision:
        """Mark a decision as learned from.

        Returns:
            The decision itself if its round was counted. Otherwise a copy with a new round, which
            must be counted.
        """
        if self._pending and self._pending.get(pending.round) is pending:
            del self._pending[pending.round]
        else:
            self.learned_from.put(pending.decider, pending.counter, pending.time)
        if self._is_counted(pending):
            self._waiting -= 1
            if self._watch is not None:
                self._watch.count_answer(pending.round, pending.arm)
            return pending
        pending = replace(pending, round=min(pending.round, self.round))
        self.round += 1
        return pending

    def _check_remembered(self, one: PendingDecision) -> None:
        arms, where = self.graph.arms, f"round {one.round}"
        right = 0 <= one.arm < arms
        self.require_state(f"arm of {where}", right, f"from 0 to {arms - 1}", one.arm)
        right = one.rows is None or bool(np.isfinite(one.rows).all())
        self.require_state(f"rows of {where}", right, "finite", one.rows)
        right = one.baseline is None or math.isfinite(one.baseline)
        self.require_state(f"baseline of {where}", right, "finite", one.baseline)

    # --- forks and copies ---------------------------------------------------------------------

    def fork_locks(self) -> tuple[Any, ...]:
        """Return None and the lock: an object that owns a learner has a lock that comes first."""
        return None, self._lock

    def after_fork(self) -> None:
        """Take a new id and new random numbers, in a forked process.

        Decisions that were made before the fork can be learned from in both processes.
        """
        self._former_ids[self.id] = self.round
        self.id = new_id()
        self.generator = np.random.default_rng()

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the lock: a copy has its own."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()
        forks.know(self)
