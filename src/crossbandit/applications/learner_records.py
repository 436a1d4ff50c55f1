"""What a learner of an application keeps besides its law."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any

from crossbandit.algorithms import Decision
from crossbandit.applications.law_decider import LawDecider
from crossbandit.applications.law_decisions import LawDecision
from crossbandit.applications.outcome_watch import OutcomeWatch
from crossbandit.errors import ForeignDecisionError, LearnedBeforeError
from crossbandit.laws import IndependenceTest
from crossbandit.learners.seen import SeenDecisions, new_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from crossbandit.applications.old_decisions import OldDecision
    from crossbandit.laws import Diagnosis, OutcomeLaw
    from crossbandit.streams import Seed


class LearnerRecords(LawDecider):
    """A `LawDecider` with the records of a learner: which decisions it has learned from.

    A copy has an id of its own and the same random numbers. What a forked process has decides
    under an id of its own, with new random numbers.

    Which decisions were learned from is remembered for `seen.window` seconds; older decisions have
    expired. Nothing else is remembered of a decision.

    Any number of threads may call its methods. Learning takes two locks, deciding only the second
    one: what reads the state for long, such as `save`, holds the first and never delays a decision.

    Args:
        law: The law.
        guarded: Whether `GuardedLaw` decides.
        missing: What to do if outcomes are missing with a bias; see `OutcomeWatch`.
        words: What a reached and a missed number are called, for messages.
        clock: Returns the time in seconds.

    Attributes:
        test: The test of whether the hidden number depends on the context.
        seen: Which decisions were learned from.
        watch: Notices outcomes that are missing with a bias.
        former: The ids of learners whose decisions may be learned from, besides its own.
        own: The ids under which it has made decisions itself.
        answered: How many of these were learned from.
        features: How many classes a decision has.
        learning: The lock of the state; take it before that of deciding if both are needed.
    """

    def __init__(
        self,
        law: OutcomeLaw,
        *,
        guarded: bool = False,
        missing: str = "refuse",
        words: tuple[str, str] = ("reached", "missed"),
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(law, guarded=guarded, clock=clock)
        self.test = IndependenceTest(law)
        self.seen = SeenDecisions(clock=clock)
        self.watch = OutcomeWatch(missing, words, clock)
        self.former: set[str] = set()
        self.old: dict[tuple[str, int], OldDecision] = {}  # pending in a file of an older version
        self.own = {self.id}
        self.answered = 0
        self.features = len(law.classes)
        self._no_slots = law.slots((), new=True)
        self.learning = Lock()  # of the state; take this one first if both are needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.learning = Lock()
        super().__setstate__(state)

    def fork_locks(self) -> tuple[Any, ...]:
        return (self.learning, self.deciding)

    def after_fork(self) -> None:
        super().after_fork()
        self.own = {*self.own, self.id}

    def as_copy(self) -> None:
        """Take an id of its own. The random numbers are those of its seed."""
        self.id = new_id()
        self.own = {*self.own, self.id}

    @property
    def pending(self) -> int:
        """How many of its own decisions have no outcome so far. Those of snapshots do not count."""
        return self.round + len(self.old) - self.answered

    def expects(self, decision: Any) -> None:
        """Check that a decision was made for this learner, and has not expired.

        Args:
            decision: The decision.

        Raises:
            DecisionError: It was made for another learner, or has expired.
        """
        if decision.learner == self.learner and type(decision) is LawDecision:
            return
        if isinstance(decision, Decision):  # of an earlier version
            self.old_decision(decision)
            return
        if decision.learner != self.learner and decision.learner not in self.former:
            raise ForeignDecisionError(
                f"The decision of round {decision.round} was made by another learner "
                f"({decision.learner}). Give it to the learner that made it, or drop it."
            )

    def code(self, decision: Any) -> int:
        """Return the code of the outcome that was learned of a decision; see `outcome_codes`.

        Args:
            decision: What `act` returned.

        Raises:
            DecisionError: It has expired.
        """
        with self.learning:
            return int(self.seen.check(decision.decider, decision.round, decision.time))

    def old_decision(self, decision: Decision) -> OldDecision:
        """Return what a file of an earlier version has kept of a pending decision.

        Args:
            decision: The decision.

        Raises:
            DecisionError: It is not one of those, or was learned from before.
        """
        kept = self.old.get((decision.learner, decision.round))
        if kept is not None and kept.arm == decision.arm:
            return kept
        if decision.learner not in self.former:
            raise ForeignDecisionError(
                f"The decision of round {decision.round} was made by another learner, or by this "
                f"one after the checkpoint from which it was restored ({decision.learner}). Give "
                "it to the learner that made it, or drop it."
            )
        raise LearnedBeforeError(
            f"The decision of round {decision.round} has been learned from before, or is not one "
            "of those that were pending when the file was written. Each counts once."
        )

    def decider(self, law: OutcomeLaw, seed: Seed | None) -> LawDecider:
        """Return what decides as this learner does now, and never changes.

        Args:
            law: A new law of the same form, which becomes a copy.
            seed: The seed of the random numbers; None for new ones.
        """
        guarded = self.guard is not None
        made = LawDecider(law, guarded=guarded, learner=self.learner, clock=self.clock)
        with self.learning:
            law.look_like(self.law, seed)
            if self.guard is not None and made.guard is not None:
                made.guard.restore(self.guard.arrays())
        made.token_key = self.token_key
        return made

    def diagnosis(self) -> Diagnosis:
        """Return whether the hidden number depends on the context, as far as is known."""
        with self.learning, self.deciding:
            return self.test.diagnosis()

    def merge(self, other: Self) -> None:
        """Add what another learner has learned. Its decisions are learned from there.

        Args:
            other: A learner of the same form. It is not changed.
        """
        first, second = sorted((self, other), key=id)
        with first.learning, second.learning, self.deciding:
            if self.guard is not None and other.guard is not None:
                self.guard.merge(other.guard)
            else:
                self.law.merge(other.law)
            self.test.merge(other.test)
