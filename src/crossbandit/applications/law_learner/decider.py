"""A law that decides for an application."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossbandit import forks
from crossbandit.applications.action import only_decides
from crossbandit.applications.law_learner.decisions import (
    SCALE,
    TOP,
    TOTALS,
    GuardPart,
    LawDecision,
    Made,
)
from crossbandit.kernels.laws.choice import decide_all
from crossbandit.laws import GuardedLaw
from crossbandit.laws.rounds import choose, last_chance
from crossbandit.learners.seen import new_id
from crossbandit.learners.tokens import checked_key
from crossbandit.streams import Uniforms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label
    from crossbandit.types import Floats, Integers

_LOCKS = ("deciding", "learning")


class Round(NamedTuple):
    """What a law knows about a round before it decides.

    Attributes:
        context: What the hidden number may depend on.
        worth: A number that the payoff depends on; see `OutcomeLaw`.
        cost: Another number that the payoff depends on.
        labels: The classes, in the order of the law's features.
    """

    context: float
    worth: float
    cost: float
    labels: tuple[Label, ...]


class LawDecider:
    """An `OutcomeLaw` that makes decisions. They carry all that learning from them needs.

    Any number of threads may call its methods: those that decide take turns. A copy has an id of
    its own and new random numbers, and so has the decider in a forked process.

    Args:
        law: The law.
        guarded: Whether `GuardedLaw` decides.
        learner: The id of the learner that may learn from the decisions; a new one if None.

    Attributes:
        law: The law.
        guard: The guard, or None.
        round: The number of decisions made.
        total: The sum of their scores, modulo `TOTALS`.
        learner: The id of the learner that may learn from the decisions.
        id: The id that its decisions carry as their decider.
        clock: Returns the time in seconds; may be set.
    """

    def __init__(
        self, law: OutcomeLaw, *, guarded: bool = False, learner: str | None = None
    ) -> None:
        self.law = law
        self.guard = GuardedLaw(law) if guarded else None
        self.round = 0
        self.total = 0
        self.id = new_id()
        self.learner = self.id if learner is None else learner
        self.token_key = None
        self.clock: Callable[[], float] = time.time
        self.deciding = Lock()  # guards scratch, random numbers and counters; held for microseconds
        forks.know(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the locks. A copy gets its own locks and its own id."""
        return {name: one for name, one in vars(self).items() if name not in _LOCKS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.deciding = Lock()
        self.as_copy()
        forks.know(self)

    def fork_locks(self) -> tuple[Any, ...]:
        """Return None, as it does not learn, and the lock of deciding."""
        return None, self.deciding

    def after_fork(self) -> None:
        """Take an id and random numbers of its own, in a forked process."""
        self.id = new_id()
        self.law.uniforms = Uniforms(np.random.default_rng())

    def as_copy(self) -> None:
        """Take an id and random numbers of its own, as a copy."""
        self.after_fork()

    @property
    def token_key(self) -> bytes | None:
        """A secret of 1 to 64 bytes with which tokens are signed, or None; may be set."""
        return self._key

    @token_key.setter
    def token_key(self, key: bytes | None) -> None:
        self._key = checked_key(type(self).__name__, "token_key", key)

    @property
    def name(self) -> str:
        """What the text of an application calls it."""
        return "law" if self.guard is None else "guarded-law"

    def act(self, given: Round, first: int, last: int) -> LawDecision:
        """Choose an amount.

        Args:
            given: The round.
            first: The lowest amount that may be chosen, by number.
            last: The highest one.
        """
        part = None
        with self.deciding:
            if self.guard is None:
                context, worth, cost, labels = given
                arm = choose(self.law, context, labels, worth, cost, first, last)
            else:
                classes = dict(zip(self.law.classes, given.labels, strict=True))
                made = self.guard.decide(
                    given.context, worth=given.worth, first=first, last=last, **classes
                )
                arm = made.index
                law_amount = float(self.law.amounts[made.law_index])
                part = GuardPart(made.worth, law_amount, made.weight, made.chances)
            return self.decided(arm, first, last, part)

    def decided(
        self, arm: int, first: int, last: int, part: GuardPart | None = None
    ) -> LawDecision:
        """Return the decision for an amount that was chosen. `deciding` must be held.

        Args:
            arm: The amount, by number.
            first: The lowest amount that might have been chosen.
            last: The highest one.
            part: What learning under a guard needs.
        """
        number, total = self.round, self.total
        place = TOP * (arm - first) // (last - first) if last > first else TOP // 2
        score = place + SCALE * int(TOP * last_chance(self.law, arm))
        self.round, self.total = number + 1, (total + score) % TOTALS
        return LawDecision(
            number,
            arm,
            self.learner,
            self.id,
            self.clock(),
            score,
            total,
            part,
            self._key,
        )

    def follow(self, newer: LawDecider) -> None:
        """Decide from now on as another one does, under the same id and with the same counters.

        A process that takes new snapshots again and again thus remains one decider. Each decider
        costs the learner a page of memory, so there should not be a new one every second.

        Args:
            newer: What decides now, with a law of the same form. Nobody may use it any more.
        """
        with self.deciding:
            self.law, self.guard = newer.law, newer.guard

    def act_many(
        self,
        contexts: Floats,
        labels: Mapping[str, npt.ArrayLike],
        worths: Floats,
        costs: Floats,
        firsts: Integers,
        lasts: Integers,
    ) -> Made:
        """Decide in n rounds, in one call of compiled code; not under a guard.

        Args:
            contexts: The context of each round, in the range of the contexts.
            labels: A column of labels for every feature.
            worths: As in `Round`.
            costs: As in `Round`.
            firsts: The lowest amount that may be chosen, by number.
            lasts: The highest one; where it is lower, nothing is chosen.
        """
        count, law = contexts.size, self.law
        arms, chances = np.empty(count, dtype=np.int64), np.empty(count)
        with self.deciding:
            slots = law.levels.table(labels, count, new=False)
            uniforms = law.uniforms.rows(firsts <= lasts, 3)
            given = (contexts, slots, worths, costs, firsts, lasts, uniforms)
            law.code[decide_all](*law.parts, *given, arms, chances)
            return self.decided_many(arms, chances, firsts, lasts)

    def decided_many(
        self, arms: Integers, chances: Floats, firsts: Integers, lasts: Integers
    ) -> Made:
        """Return the decisions for amounts that were chosen. `deciding` must be held.

        Args:
            arms: The amount of each round, by number; -1 where nothing was chosen.
            chances: The probability of reaching the number with the amount, as the law believes.
            firsts: The lowest amount that might have been chosen.
            lasts: The highest one.
        """
        count, active = arms.size, arms >= 0
        chosen, width = int(np.count_nonzero(active)), lasts - firsts
        scores = TOP * (arms - firsts) // np.maximum(width, 1)
        scores[width == 0] = TOP // 2
        scores += SCALE * (TOP * chances).astype(np.int64)
        scores[~active] = 0
        totals = (self.total + np.cumsum(scores) - scores) % TOTALS
        rounds = self.round + np.cumsum(active) - 1
        rounds[~active] = -1
        self.round += chosen
        self.total = (self.total + int(scores.sum())) % TOTALS
        times = np.full(count, self.clock())
        ids = (self.learner, self.id, self._key)
        return Made(arms, rounds, scores, totals, times, *ids, run=0 < chosen == count)

    def policy(self, given: Round, first: int, last: int) -> Floats:
        """Return the probability of each amount, from a fixed grid of quantiles.

        Args:
            given: The round.
            first: The lowest amount that may be chosen, by number.
            last: The highest one.
        """
        classes = dict(zip(self.law.classes, given.labels, strict=True))
        with self.deciding:
            if self.guard is not None:
                return self.guard.policy(
                    given.context, worth=given.worth, first=first, last=last, **classes
                )
            limited = given.worth != given.context  # see `limited_choice` of the kernels
            return self.law.policy(
                given.context,
                worth=given.worth,
                cost=given.cost,
                first=first,
                last=last,
                tried_from=0.5 * given.context if limited else 0.0,
                **classes,
            )

    def expects(self, decision: Any) -> None:
        """Refuse a decision, because a decider cannot learn.

        Args:
            decision: A decision.

        Raises:
            InvalidParameterError: Always.
        """
        del decision
        raise only_decides("settle")
