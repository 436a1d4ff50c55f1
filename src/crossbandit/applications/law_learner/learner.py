"""`LawLearner`: a law that decides for an application and learns from the outcomes."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from crossbandit.applications.law_learner.decider import LawDecider
from crossbandit.applications.law_learner.decisions import LawDecision
from crossbandit.applications.law_learner.missing_outcomes import (
    OutcomeWatch,
    is_watched,
    watched,
)
from crossbandit.applications.law_learner.outcome_codes import (
    FIRST,
    HELD,
    KNOWN,
    code_of,
    outcome_of,
    put_codes,
    seen_before,
)
from crossbandit.applications.money import flag_of
from crossbandit.errors import DecisionError, ForeignDecisionError, LearnedBeforeError
from crossbandit.kernels.compilation import Bound, resolved
from crossbandit.kernels.laws.outcomes import correct, settle, settle_all
from crossbandit.laws import IndependenceTest
from crossbandit.laws.independence import SAMPLE
from crossbandit.laws.keeping import look_like
from crossbandit.laws.rounds import shown_by
from crossbandit.learners.seen import SeenDecisions, new_id
from crossbandit.learners.seen_pages import PAGE

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence
    from typing import Self

    from crossbandit.applications.law_learner.decisions import Made
    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.streams import Seed
    from crossbandit.types import Booleans, Floats, Integers


class LawLearner(LawDecider):
    """A `LawDecider` that learns: from each decision once, wherever it was made.

    A copy has an id of its own and the same random numbers. In a forked process it has an id of
    its own and new random numbers.

    Which decisions were learned from is remembered for `seen.window` seconds; older decisions have
    expired. Nothing else is remembered of a decision.

    Any number of threads may call its methods. Learning takes two locks, deciding only the second
    one. So what reads the state for long, such as `save`, holds the first and delays no decision.

    Args:
        law: The law.
        guarded: Whether `GuardedLaw` decides.
        missing: What to do if outcomes are missing with a bias; see `OutcomeWatch`.
        words: What a reached and a missed number are called, for messages.

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

    _parts: Any = None  # the arrays of the law that `_step` works on
    _step: Callable[..., Any] | None = None

    def __init__(
        self,
        law: OutcomeLaw,
        *,
        guarded: bool = False,
        missing: str = "refuse",
        words: tuple[str, str] = ("reached", "missed"),
    ) -> None:
        super().__init__(law, guarded=guarded)
        self.test = IndependenceTest(law)
        self.seen = SeenDecisions()
        self.watch = OutcomeWatch(missing, words, self.clock)
        self.former: set[str] = set()
        self.own = {self.id}
        self.answered = 0
        self.features = len(law.classes)
        self._no_slots = law.levels.slots((), new=True)
        self.learning = Lock()  # guards the state; take this lock first if both are needed

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_parts": None, "_step": None}

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
        return self.round - self.answered

    def expects(self, decision: Any) -> None:
        """Check that a decision was made for this learner.

        Args:
            decision: The decision.

        Raises:
            ForeignDecisionError: It was made for another learner.
        """
        if decision.learner == self.learner and type(decision) is LawDecision:
            return
        if decision.learner not in self.former or type(decision) is not LawDecision:
            raise ForeignDecisionError(
                f"The decision of round {decision.round} was made by another learner "
                f"({decision.learner}). Give it to the learner that made it, or drop it."
            )

    def code(self, decision: Any) -> int:
        """Return the code of the outcome that was learned from a decision; see `outcome_codes`.

        Args:
            decision: What `act` returned.

        Raises:
            DecisionError: It has expired.
        """
        with self.learning:
            return int(self.seen.check(decision.decider, decision.round, decision.time))

    def learn(
        self,
        decision: Any,
        context: float,
        labels: tuple[Label, ...],
        amount: float,
        *,
        reached: bool,
        number: float,
        correction: bool = False,
    ) -> None:
        """Learn from the outcome of a decision.

        Args:
            decision: What `act` returned, here or in a snapshot; each counts once.
            context: The context, as it was given to `act`.
            labels: The classes, as they were given to `act`.
            amount: The amount that was played.
            reached: Whether the amount reached the number.
            number: The number; ignored where the law's feedback does not show it.
            correction: Whether this replaces an outcome that was learned before.

        Raises:
            DecisionError: The decision was made for another learner, was learned from before, or
                has expired; or there is nothing to correct.
            MissingOutcomesError: Outcomes are missing with a bias. Nothing is learned.
            InvalidLossesError: It is not clear whether it is a correction.
        """
        if correction is not False or len(labels) != self.features:
            correction = self._checked(decision, labels, correction)
        decider, round_ = decision.decider, decision.round
        with self.learning:
            codes, at = self.seen.page_of(decider, round_, decision.time), round_ % PAGE
            if correction:
                given = (decision, context, labels, codes[at], amount, reached, number)
                codes[at] = self._correct(*given)
                return
            if codes[at] or self.watch.misled or is_watched(round_):  # rarely
                self._admit(decision, codes, reached)
            law, part = self.law, decision.guard
            # The law explores by itself. Bids that the guard chose do not count as its exploration.
            tried = part is None or amount == part.law_amount
            with self.deciding:
                slots = law.levels.slots(labels, new=True) if labels else self._no_slots
                step: Any = self._step if self._parts is law.parts else self._bind()
                mark: int = step(context, slots, amount, reached, number, tried)
                if decider in self.own:
                    self.answered += 1
                if mark >= 0:
                    self.test.saw(context, labels)
                    if part is not None and self.guard is not None:
                        choice = part.choice(law.amounts, amount, context, labels)
                        if choice is not None:
                            self.guard.weigh(choice, *outcome_of(FIRST + mark))
            codes[at] = FIRST + mark

    def _checked(
        self, decision: LawDecision, labels: tuple[Label, ...], correction: object
    ) -> bool:
        """Return whether an outcome is corrected; raise if classes of the decision are missing."""
        corrects = flag_of("settle", "correction", correction)
        if len(labels) != self.features:
            raise DecisionError(
                f"The decision of round {decision.round} must come with its classes, "
                f"{', '.join(self.law.classes)}. Got {labels}."
            )
        return corrects

    def _admit(self, decision: LawDecision, codes: array[int], reached: bool) -> None:  # noqa: FBT001
        """Let the watch see an outcome; raise if it cannot be learned from. codes: of its page."""
        round_, watch = decision.round, self.watch
        before = codes[round_ % PAGE]
        if before > HELD:
            raise LearnedBeforeError(
                f"The decision of round {round_} has been learned from before. Each counts once. "
                "If its outcome was wrong, settle it with correction=True."
            )
        if before != HELD and is_watched(round_):
            made = (decision.decider, round_, decision.time, decision.score, decision.total)
            watch.add(*made, reached=reached)
        if watch.misled:
            codes[round_ % PAGE] = HELD
            raise watch.error()

    def _bind(self) -> Callable[..., Any]:
        """Keep the compiled step of one outcome together with the arrays that it always takes."""
        law = self.law
        bound = Bound(*law.parts, self.test.state)
        last = (0.0, self._no_slots, 0.0, False, 0.0, True)
        self._parts, self._step = law.parts, partial(resolved(settle, bound, *last), bound)
        return self._step

    def _correct(
        self,
        decision: LawDecision,
        context: float,
        labels: tuple[Label, ...],
        before: int,
        amount: float,
        reached: bool,  # noqa: FBT001
        number: float,
    ) -> int:
        """Replace the learned outcome, whose code is `before`; return the new code."""
        if self.guard is not None:
            raise DecisionError(
                "A guard cannot take an outcome back: its estimates have been used since. Leave "
                "the first outcome, or use a bidder with guarded=False."
            )
        if before < KNOWN:
            found = "was learned on other amounts" if before > HELD else "was not learned from"
            raise DecisionError(
                f"The decision of round {decision.round} {found}, so there is nothing that could "
                "be corrected. Settle it without 'correction', if it was not settled."
            )
        first, law = outcome_of(before), self.law
        outcome = shown_by(law, amount, reached=reached, number=number)
        if first != outcome[:2] and first[0] >= 0 and outcome[0] >= 0:
            with self.deciding:
                slots = law.levels.slots(labels)
                state = (*law.parts, self.test.state)
                law.code[correct](*state, context, slots, *first, *outcome)
        return code_of(outcome[0], outcome[1])

    def learn_many(
        self,
        made: Sequence[Made],
        rows: Integers,
        total: int,
        contexts: Floats,
        labels: Sequence[tuple[Label, ...]],
        outcomes: tuple[Floats, Booleans, Floats],
    ) -> None:
        """Learn from many outcomes, in one call of compiled code; not under a guard.

        Args:
            made: The decisions, by their deciders; together as many as contexts.
            rows: The row of each of them in the batch that was given.
            total: The number of rows of that batch; some may have no decision.
            contexts: The context of each round. This and what follows is in the order of the rows.
            labels: The classes of each round; empty if there are none.
            outcomes: The amount of each, whether it reached the number, and the number.

        Raises:
            DecisionError: Some were learned from before, come twice, or have expired. The message
                names the rows. Nothing is learned.
            MissingOutcomesError: Outcomes are missing with a bias. Nothing is learned.
        """
        law, count = self.law, contexts.size
        marks = np.empty(count, dtype=np.int64)
        columns = {name: np.array([one[i] for one in labels]) for i, name in enumerate(law.classes)}
        with self.learning:
            before = seen_before(self.seen, made, rows, total)
            # Change from the order of the rows to the order of the deciders.
            order = np.searchsorted(np.sort(rows), rows) if len(made) > 1 else slice(None)
            self._watch_many(made, before, outcomes[1][order])
            if self.watch.misled:
                put_codes(self.seen, made, np.full(count, HELD))
                raise self.watch.error(count)
            with self.deciding:
                slots = law.levels.table(columns, count)
                state = (*law.parts, self.test.state)
                law.code[settle_all](*state, contexts, slots, *outcomes, marks)
                self.answered += sum(one.rounds.size for one in made if one.decider in self.own)
                self._note(contexts, labels, marks)
            put_codes(self.seen, made, (FIRST + marks)[order])

    def _note(self, contexts: Floats, labels: Sequence[tuple[Label, ...]], marks: Integers) -> None:
        """Tell the test of independence which rounds the compiled step has added to it."""
        known = np.flatnonzero(marks >= 0)
        last = known[-SAMPLE:]
        latest = [labels[i] for i in last.tolist()] if labels else [()] * last.size
        self.test.saw_many(known.size, contexts[last].tolist(), latest)

    def _watch_many(self, made: Sequence[Made], before: Integers, reached: Booleans) -> None:
        """Let the watch see the outcomes of many decisions that it has not seen."""
        start = 0
        for one in made:
            stop = start + one.rounds.size
            new = before[start:stop] != HELD
            for i in np.flatnonzero(new & watched(one.rounds)).tolist():
                name = (one.decider, int(one.rounds[i]), float(one.times[i]))
                scores = (int(one.scores[i]), int(one.totals[i]))
                self.watch.add(*name, *scores, reached=bool(reached[start + i]))
            start = stop

    def decider(self, law: OutcomeLaw, seed: Seed | None) -> LawDecider:
        """Return what decides as this learner does now, and never changes.

        Args:
            law: A new law of the same form, which becomes a copy.
            seed: The seed of the random numbers; None for new ones.
        """
        guarded = self.guard is not None
        made = LawDecider(law, guarded=guarded, learner=self.learner)
        with self.learning:
            look_like(law, self.law, seed)
            if self.guard is not None and made.guard is not None:
                made.guard.restore(self.guard.arrays())
        made.token_key, made.clock = self.token_key, self.clock
        return made

    def merge(self, other: Self) -> None:
        """Add what another learner has learned. Outcomes of its decisions still go to it.

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
