"""`LawLearner`: a law that decides for an application and learns from the outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from crossbandit import laws
from crossbandit.algorithms.learners.decisions import (
    DECLINED,
    SCALE,
    TOP,
    TOTALS,
    Decision,
    GuardPart,
    law_decision,
)
from crossbandit.algorithms.learners.missing import OutcomeWatch
from crossbandit.algorithms.learners.seen import PAGE, SeenDecisions, ascending, new_id
from crossbandit.algorithms.learners.shell import (
    LAST_ROUND,
    LAW_FILE,
    Shell,
    only_decides,
)
from crossbandit.algorithms.learners.shell_core import LawShell, is_watched, watched
from crossbandit.algorithms.learners.tokens import LAW
from crossbandit.core import record
from crossbandit.core.interrupts import interrupts_deferred
from crossbandit.core.steps import at_once
from crossbandit.core.uniforms import Uniforms
from crossbandit.core.validation import because_of, integer, reject
from crossbandit.errors import (
    CheckpointError,
    DecisionError,
    ExpiredDecisionError,
    ForeignDecisionError,
    LearnedBeforeError,
)
from crossbandit.laws.independence import IndependenceTest
from crossbandit.laws.laying import latest_place
from crossbandit.laws.memory import law_arrays, unkept
from crossbandit.laws.rounds import declines, shown_by
from crossbandit.laws.state import AT_MOST, FIRST_CODE, TOLD, TOLD_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol, Self

    import numpy.typing as npt

    from crossbandit.algorithms.learners.files import Arrays, Kept, Written
    from crossbandit.algorithms.learners.seen_core import Page
    from crossbandit.algorithms.learners.tokens import Token
    from crossbandit.core.streams import Seed
    from crossbandit.core.types import Booleans, Floats, Integers
    from crossbandit.laws import OutcomeLaw
    from crossbandit.laws.levels import Label

    class Money(Protocol):
        """What accounts for the money of decisions."""

        lock: Any

        def settled(
            self,
            key: int,
            value: float,
            amount: float,
            won: bool,  # noqa: FBT001
            least: float,
            /,
        ) -> Sequence[Step]:
            """Return the steps that account for an outcome, under `lock`."""

        def corrected(
            self, key: int, value: float, amount: float, /, *, won: bool
        ) -> Sequence[Step]:
            """Return the steps that account for one that replaces another."""


Step = Callable[[], Any]  # see `at_once`
_VERSION = 5  # of the file
_KINDS = ("feedback", "payoff", "ties", "classes", "lays")  # counts can be moved if these agree
_LATEST = 8  # rounds whose features a decider knows
LEFT_OUT = ("told", "hidden")  # arrays of a law that deciding does not need


class Round(NamedTuple):
    """What a law knows about a round before it decides."""

    context: float  # what the hidden number may depend on
    worth: float  # a number that the payoff depends on; see `OutcomeLaw`
    cost: float  # another number that the payoff depends on
    labels: tuple[Label, ...]  # the classes, in the order of the law's features


class Shown(NamedTuple):
    """What became known after a decision."""

    amount: float  # what was played
    reached: bool  # whether it reached the number
    number: float  # the number, or one that shows the same


class Payment(NamedTuple):
    """What accounts for the money of a decision, and the key under which it does."""

    money: Money
    key: int


class ShownMany(NamedTuple):
    """What became known after n decisions, and of their rounds."""

    contexts: Floats
    labels: Sequence[tuple[Label, ...]]  # empty without classes
    amounts: Floats
    reached: Booleans
    numbers: Floats


class Payments(NamedTuple):
    """What accounts for the money of many decisions."""

    lock: Any
    steps: Callable[..., Sequence[Step]]  # returns the steps that do, under `lock`


class Made(NamedTuple):
    """What a law has decided in n rounds at once; all (n,)."""

    arms: Integers  # the number of the amount, -1 where there was nothing to choose from
    rounds: Integers  # the number of each decision, as in `Decision`; -1 where there is none
    scores: Integers  # the scores of the decisions; see `Decision`
    totals: Integers  # the sum of the scores before each decision, modulo `TOTALS`
    times: Floats  # when the decisions were made, in seconds
    learner: str  # the id of the learner that may learn from them
    decider: str  # the id of what made them
    key: bytes | None  # the key of their tokens, or None
    run: bool = False

    def part(self, rows: Integers) -> Made:
        """Return some of the decisions."""
        columns = ("arms", "rounds", "scores", "totals", "times")
        made = self._replace(**{name: getattr(self, name)[rows] for name in columns}, run=False)
        numbers, times = made.rounds, made.times
        run = numbers.size > 0 and bool((np.diff(numbers) == 1).all() and numbers[0] >= 0)
        return made._replace(run=run and bool((times == times[0]).all()))

    @classmethod
    def joined(cls, parts: Sequence[Made]) -> Made:
        """Return decisions of one decider together."""
        columns = ("arms", "rounds", "scores", "totals", "times")
        both: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in parts]) for name in columns
        }
        return parts[0]._replace(**both, run=False)

    def decision(self, i: int) -> Decision | None:
        """Return one of the decisions, or None where there was nothing to choose from."""
        if self.arms[i] < 0:
            return None
        payload = int(self.scores[i]), int(self.totals[i]), None, self.key
        ids, time = (self.learner, self.decider), float(self.times[i])
        return Decision.of_law(int(self.rounds[i]), int(self.arms[i]), ids, time, *payload)


class LawLearner(LawShell, Shell):
    """An `OutcomeLaw` that decides for an application, and learns from each decision once.

    A decision carries all that learning from it needs, so it may have been made anywhere. If the
    id of a learner is given, this one only decides for it: it is a snapshot.

    A copy has an id of its own, and so has the learner in a forked process. A forked process and a
    copy of a snapshot have new random numbers, too.

    Which decisions were learned from is remembered for `seen.window` seconds; older decisions have
    expired. Nothing else is remembered of a decision.

    Any number of threads may call its methods; those that decide take turns. Learning takes two
    locks, deciding only the second one. So what reads the state for long, such as `save`, holds the
    first and delays no decision. The lock of money comes between the two.

    An interrupt, such as Ctrl-C, may come at any time. An outcome is then learned and remembered,
    and its money accounted for, or nothing of that: all changes are made by one call of machine
    code, or by `at_once`.
    """

    # `deciding` guards scratch, random numbers and counters, and is held for microseconds.
    listed = "expects guard law merge pending round"
    locks: ClassVar[tuple[str | None, ...]] = ("learning", None, "deciding")
    kept: ClassVar[tuple[str, ...]] = (
        *("id", "_key", "law", "guard", "decision", "clock", "round", "declined", "total"),
        *("test", "watch", "seen", "own", "features", "learner"),
    )
    algorithm = "law"  # the argument of an application

    def __init__(
        self,
        law: OutcomeLaw,
        *,
        guarded: bool = False,
        missing: str = "refuse",
        words: tuple[str, str] = ("reached", "missed"),
        learner: str | None = None,
    ) -> None:
        super().__init__(law, laws.GuardedLaw(law) if guarded else None, Decision, time.time)
        self._set_up()
        self.learns = learner is None
        self.learner = self.id if learner is None else learner
        self.known: tuple[tuple[Label, ...], ...] = ()  # of the learner, when it was taken
        if self.learns:
            self.test = IndependenceTest(law)
            self.seen = SeenDecisions()
            self.watch = OutcomeWatch(missing, words, self.clock)
            self.former: set[str] = set()
            self.own = {self.id}

    def latest(self) -> tuple[tuple[Label, ...], ...]:
        """Return the features of a few of the latest rounds, without repetitions."""
        recent = [one for _, one in self.test.recent] if self.learns else self.known
        return tuple(dict.fromkeys(map(self.law.levels.named, recent)))[:_LATEST]

    def after_fork(self) -> None:
        """Take an id and random numbers of its own, in a forked process."""
        self.as_copy()
        self._draw_anew()

    def as_copy(self) -> None:
        """Take an id of its own; that of a snapshot has new random numbers, too."""
        self.id = new_id()
        if self.learns:
            self.own = {*self.own, self.id}
        else:
            self._draw_anew()

    def _draw_anew(self) -> None:
        self.law.uniforms = Uniforms(np.random.default_rng())

    @property
    def decider_name(self) -> str:
        """What the text of an application calls it."""
        return "law" if self.guard is None else "guarded-law"

    def act_guarded(self, given: Round, first: int, last: int) -> Decision:
        """Choose an amount under a guard, as `act` does."""
        guard: Any = self.guard
        with self.deciding:
            arm, wanted, weight = guard.choose(*given, first, last)
            law_amount = float(self.law.amounts[wanted])
            part = GuardPart(given.worth, law_amount, weight, guard.chances)
            decision = self.decision_for(arm, first, last, part)
        return decision  # noqa: RET504 - inside, an interrupt after the call would keep the lock

    def follow(self, newer: LawLearner) -> None:
        """Decide from now on as another one does, under the same id and with the same counters.

        A process that takes new snapshots again and again thus remains one decider. Each decider
        costs the learner a page of memory, so there should not be a new one every second.
        """
        with self.deciding:
            self.law, self.guard, self.known = newer.law, newer.guard, newer.known

    def act_many(
        self,
        contexts: Floats,
        labels: Mapping[str, npt.ArrayLike],
        worths: Floats,
        costs: Floats,
        firsts: Integers,
        lasts: Integers,
    ) -> Made:
        """Decide in n rounds, in one call of compiled code; not under a guard."""
        count, law = contexts.size, self.law
        arms, chances = np.empty(count, dtype=np.int64), np.empty(count)
        with self.deciding:
            slots = law.levels.table(labels, count)
            uniforms = law.uniforms.rows(firsts <= lasts, 3)
            given = (contexts, slots, worths, costs, firsts, lasts, uniforms)
            law.core.decide_all(*given, arms, chances)
            return self.decided_many(arms, chances, firsts, lasts)

    def decided_many(
        self, arms: Integers, chances: Floats, firsts: Integers, lasts: Integers
    ) -> Made:
        """Return the decisions for amounts that were chosen. `deciding` must be held."""
        count, declined = arms.size, (arms == 0) & declines(self.law)
        active = (arms >= 0) & ~declined
        chosen, width = int(np.count_nonzero(active)), lasts - firsts
        scores = TOP * (arms - firsts) // np.maximum(width, 1)
        scores[width == 0] = TOP // 2
        scores += SCALE * (TOP * chances).astype(np.int64)
        scores[~active] = 0
        totals = (self.total + np.cumsum(scores) - scores) % TOTALS
        rounds = self.round + np.cumsum(active) - 1
        rounds[~active] = -1
        silent = int(np.count_nonzero(declined))
        rounds[declined] = DECLINED + self.declined + np.arange(silent)
        self.round += chosen
        self.declined += silent
        self.total = (self.total + int(scores.sum())) % TOTALS
        times = np.full(count, self.clock())
        ids = (self.learner, self.id, self._key)
        return Made(arms, rounds, scores, totals, times, *ids, run=0 < chosen == count)

    def policy(self, given: Round, first: int, last: int) -> Floats:
        """Return the probability of each amount, from a fixed grid of quantiles."""
        classes = dict(zip(self.law.classes, given.labels, strict=True))
        with self.deciding:
            if self.guard is not None:
                return self.guard.policy(
                    given.context, worth=given.worth, first=first, last=last, **classes
                )
            limited = given.worth != given.context  # see `decide_in` of `PaceCore`
            return self.law.policy(
                given.context,
                worth=given.worth,
                cost=given.cost,
                first=first,
                last=last,
                tried_from=0.5 * given.context if limited else 0.0,
                **classes,
            )

    def decision_in(self, token: Token, content: tuple[Any, ...]) -> Decision:
        """Return the decision in the token of an action; content: what follows the action."""
        if token.kind != LAW:
            raise ValueError(f"it is of kind {token.kind}")
        return law_decision(token, content, self._key)

    @property
    def answered(self) -> int:
        """How many of its own decisions were learned from."""
        return self.test.answered.item()

    @answered.setter
    def answered(self, decisions: int) -> None:
        self.test.answered[0] = decisions

    @property
    def pending(self) -> int:
        """How many of its own decisions have no outcome so far. Those of snapshots do not count."""
        return self.round - self.answered if self.learns else 0

    def expects(self, decision: Any) -> None:
        """Check that a decision was made for this learner."""
        if not self.learns:
            raise only_decides("settle")
        if decision.learner == self.learner and decision.by_law:
            return
        if decision.learner not in self.former or not decision.by_law:
            raise ForeignDecisionError(
                f"The decision of round {decision.round} was made by another learner "
                f"({decision.learner}). Give it to the learner that made it, or drop it."
            )

    def code(self, decision: Any) -> int:
        """Return the code of the outcome that was learned from a decision; see `outcome_codes`."""
        with self.learning:
            return int(self.seen.check(decision.decider, decision.round, decision.time))

    def refuse_labels(self, decision: Decision, labels: tuple[Label, ...]) -> None:
        """Raise the error for classes that a decision cannot have."""
        raise DecisionError(
            f"The decision of round {decision.round} must come with its classes, "
            f"{', '.join(self.law.classes)}. Got {labels}."
        )

    def weighing(self, part: GuardPart, shown: Shown) -> Sequence[Step]:
        """Return the steps by which the guard learns from an outcome."""
        if self.guard is None:
            return ()
        played = part.places(self.law.amounts, shown[0])
        kind, index, _ = self.law.core.shown(*shown)
        if played is None or kind < 0:
            return ()
        weight = part.weight, part.chances
        steps: Sequence[Step] = self.guard.weighing(part.worth, *played, *weight, kind, index)
        return steps

    def admit(self, decision: Decision, page: Page, reached: bool) -> Sequence[Step]:  # noqa: FBT001
        """Return the step that lets the watch see an outcome; raise if it cannot be learned."""
        round_, codes, watch = decision.round, page.codes, self.watch
        before = codes[round_ % PAGE]
        if before > HELD:
            raise LearnedBeforeError(
                f"The decision of round {round_} has been learned from before. Each counts once. "
                "If its outcome was wrong, settle it with correction=True."
            )
        steps: list[Step] = []
        if before != HELD and is_watched(round_):
            watch = watch.copy()
            made = (decision.decider, round_, decision.time, decision.score, decision.total)
            watch.add(*made, reached=reached)
            steps = [self.watch.taking(watch)]
        if watch.misled:
            at_once(*steps, partial(codes.__setitem__, round_ % PAGE, HELD))
            raise watch.error()
        return steps

    def correct(
        self,
        decision: Decision,
        context: float,
        labels: tuple[Label, ...],
        page: Page,
        shown: Shown,
        payment: Payment | None,
    ) -> None:
        """Replace the outcome that was learned."""
        if self.guard is not None:
            raise DecisionError(
                "A guard cannot take an outcome back: its estimates have been used since. Leave "
                "the first outcome, or use a bidder with guarded=False."
            )
        codes, at = page.codes, decision.round % PAGE
        before = codes[at]
        if before < KNOWN:
            found = "was learned on other amounts" if before > HELD else "was not learned from"
            raise DecisionError(
                f"The decision of round {decision.round} {found}, so there is nothing that could "
                "be corrected. Settle it without 'correction', if it was not settled."
            )
        law, was = self.law, self.reached(before, shown.amount)
        money = nullcontext() if payment is None else payment.money.lock
        given = {"number": shown.number, "context": context}
        new = shown_by(law, shown.amount, reached=shown.reached, **given)
        steps: list[Step] = []
        with money, self.deciding:
            slots = law.levels.slots(labels)
            first, code, played = outcome_of(before), code_of(*new[:2]), new[2]
            if law.lays:
                code += REACHED * shown.reached
                place = latest_place(law.state, context, slots, shown.amount, reached=was)
                if place is None and payment is None:
                    raise DecisionError(
                        f"The decision of round {decision.round} is not among the latest "
                        f"{len(law.state.kept)} that were learned from. A bidder without a grid "
                        "keeps no others, so it cannot take this outcome back. Leave it."
                    )
                first = (-1, 0)  # learned on other amounts, or long ago: its share has faded
                if place is not None:
                    kept = law.state.kept[place]
                    first = law.core.shown(shown.amount, was, float(kept[2]), context)[:2]
                    played = played if int(kept[3]) & 2 else -1
                    number = shown.number
                    steps.append(law.replacing(place, reached=shown.reached, number=number))
            steps.append(partial(codes.__setitem__, at, code))
            if first != new[:2] and first[0] >= 0 and new[0] >= 0:
                outcomes = (context, slots, *first, *new[:2], played)
                steps.append(partial(law.core.correct, self.test.core, *outcomes))
            if payment is not None and was != shown.reached:
                value = context, shown.amount
                steps += payment.money.corrected(payment.key, *value, won=shown.reached)
            at_once(*steps)

    def reached(self, code: int, amount: float) -> bool:
        """Return whether an amount reached the number, by the code of what was learned."""
        law = self.law
        if law.lays:
            return code >= REACHED
        kind, index = outcome_of(code)
        ends = TOLD_AFTER[law.feedback]  # wins, losses, or both
        if kind == TOLD and len(ends) == 1:  # known, whatever amount was placed
            return True in ends
        place = int(law.amounts.searchsorted(amount))
        return kind == AT_MOST or (kind == TOLD and index <= place)

    def learn_many(
        self,
        made: Sequence[Made],
        rows: Integers,
        total: int,
        given: ShownMany,
        payments: Payments | None,
    ) -> None:
        """Learn from many outcomes, in one call of compiled code; not under a guard.

        rows: which rows of a batch of `total` the decisions are. given: in the order of the rows.
        """
        contexts, labels, amounts, reached, numbers = given
        law, count = self.law, contexts.size
        codes = np.empty(count, dtype=np.int64)
        columns = {
            name: np.array([one[i] for one in labels], dtype=object)
            for i, name in enumerate(law.classes)
        }
        with self.learning:
            before = seen_before(self.seen, made, rows, total)
            # Change from the order of the rows to the order of the deciders.
            order = np.searchsorted(np.sort(rows), rows) if len(made) > 1 else None
            watch = self.watch.copy()
            _watch_many(watch, made, before, reached if order is None else reached[order])
            if watch.misled:
                held = put_codes(self.seen, made, np.full(count, HELD))
                at_once(self.watch.taking(watch), *held)
                raise watch.error(count)
            put: list[Step] = [self.watch.taking(watch)]
            sorted_ = codes
            if order is not None:
                sorted_ = np.empty_like(codes)
                put.append(partial(codes.take, order, None, sorted_))
            put += put_codes(self.seen, made, sorted_)
            mine = (one.rounds for one in made if one.decider in self.own)
            own = sum(int((rounds < DECLINED).sum()) for rounds in mine)
            money = nullcontext() if payments is None else payments.lock
            with money, self.deciding, self._unparted():
                slots = law.levels.table(columns, count)
                tried = np.ones(count, dtype=np.uint8)
                all_of = (contexts, slots, amounts, reached.view(np.uint8), numbers, tried)
                learned = partial(self.add_outcomes, all_of, labels, codes, own)
                if law.lays:
                    put.insert(0, partial(np.add, codes, REACHED * reached, codes))
                at_once(learned, *put, *(payments.steps() if payments else ()))
        self.watch.warn()

    def observe(
        self,
        contexts: Floats,
        columns: Mapping[str, npt.NDArray[Any]],
        amounts: Floats,
        reached: Booleans,
        numbers: Floats,
    ) -> None:
        """Learn from rounds in which somebody else chose the amount."""
        count, law = contexts.size, self.law
        labels = list(zip(*(columns[name].tolist() for name in law.classes), strict=True))
        with self.learning, self.deciding, self._unparted():
            slots, tried = law.levels.table(columns, count), np.ones(count, dtype=np.uint8)
            given = (contexts, slots, amounts, reached.view(np.uint8), numbers, tried)
            self.add_outcomes(given, labels, np.empty(count, dtype=np.int64), 0)

    def _unparted(self) -> AbstractContextManager[None]:
        """Delay Ctrl-C while a law learns that may lay its grid again: that is Python code."""
        return interrupts_deferred() if self.law.lays else nullcontext()

    def merge(self, other: Self) -> None:
        """Add what another learner has learned. Outcomes of its decisions still go to it."""
        first, second = sorted((self, other), key=id)
        with first.learning, second.learning, self.deciding:
            if self.guard is not None and other.guard is not None:
                self.guard.merge(other.guard)
            else:
                self.law.merge(other.law)
            if self.law.lays:  # the two grids differ
                self.test.begin_again(None)
            else:
                self.test.merge(other.test)

    # --- files and snapshots -------------------------------------------------------------------

    def written(self, kept: Kept) -> Written:
        """Return a header and arrays for a file. `kept` is called while nothing is learned."""
        with self.learning:
            notes, arrays = kept()
            with self.deciding:  # held only while reading what deciding changes
                rounds, generator = self.round, self.law.uniforms.state
            header = {
                "format": LAW_FILE,
                "version": _VERSION,
                "learner": self.learner,
                "former": sorted(self.former),
                "round": rounds,
                "own": sorted(self.own),
                "answered": self.answered,
                "window": self.seen.window,
                "limit": self.seen.limit,
                "watch": self.watch.settings(),
                "law": {**self.law.description(), "generator": generator},
                "test": self.test.settings(),
                "notes": dict(notes),
            }
            parts: dict[str, Any] = {"law": self.law.arrays(), "test": self.test.arrays()}
            if self.guard is not None:
                parts["guard"] = self.guard.arrays()
            seen = self.seen.freeze()
        return header, {**parts, "seen": seen(), "application": arrays}, {}

    def resumed(
        self, header: Mapping[str, Any], parts: Mapping[str, Arrays], size: int = 0
    ) -> LawLearner:
        """Take over what a file holds of a learner of the same form, and return this learner.

        Its own decisions get an id that none had before. A CheckpointError says that the file does
        not fit this learner, or holds impossible numbers.
        """
        del size
        settings, own = dict(header["law"]), self.law.settings()
        generator = settings.pop("generator")
        if settings != {name: one for name, one in own.items() if name in settings}:
            raise CheckpointError("Its settings describe another law than its learner's.")
        self.law.resume(generator, parts["law"])
        self.test.restore(header["test"], parts["test"])
        if self.guard is not None:
            self.guard.restore(parts["guard"])
        elif parts.get("guard"):
            raise CheckpointError("It has the arrays of a guard, and its learner has none.")
        rounds = integer("file", "round", header["round"], at_least=0, at_most=LAST_ROUND)
        self.answered = integer("file", "answered", header["answered"], at_least=0, at_most=rounds)
        self.round = rounds
        self.former = {str(one) for one in header["former"]}
        self.own |= {str(one) for one in header["own"]}
        self.learner = str(header["learner"])
        if len(bytes.fromhex(self.learner)) != 8:
            raise CheckpointError(f"It has an impossible id, {self.learner!r}.")
        self.seen.window, self.seen.limit = header["window"], header["limit"]
        self.seen.restore(parts["seen"])
        self.watch.restore(header["watch"])
        return self

    def taking_over(self, other: LawLearner, owner: str) -> LawLearner:
        """Continue for another learner, with other amounts or another range; return this one.

        Its tokens are taken, and none counts twice. Outcomes that were learned cannot be corrected
        any more if the amounts are others. Nobody may use the other one any more.
        """
        del owner
        name = difference(self.law, other.law)
        if name is not None:
            expected = f"{getattr(other.law, name)!r} as in the file, or left out"
            reject("load", name, expected, getattr(self.law, name))
        same = self.law.description() == other.law.description()
        if same and (self.guard is None) == (other.guard is None):
            return self.resumed(*other.written(lambda: ({}, {}))[:2])
        self.law.take_counts(other.law)
        seen = other.seen.freeze()()
        codes = seen["codes"]
        seen["codes"] = np.where(codes >= KNOWN, FORGOTTEN, codes).astype(codes.dtype)
        self.seen.window, self.seen.limit = other.seen.window, other.seen.limit
        self.seen.restore(seen)
        self.watch.restore(other.watch.settings())
        self.law.uniforms.state = other.law.uniforms.state
        self.learner, self.former = other.learner, other.former
        self.round, self.answered = other.round, other.answered
        self.own |= other.own
        return self

    def decider(self, new: LawLearner, seed: Seed | None) -> LawLearner:
        """Return a snapshot, which takes the law of a new learner of the same form."""
        made = LawLearner(new.law, guarded=self.guard is not None, learner=self.learner)
        with self.learning:
            made.law.look_like(self.law, seed)
            if self.guard is not None and made.guard is not None:
                made.guard.restore(self.guard.arrays())
        made.token_key, made.clock, made.known = self.token_key, self.clock, self.latest()
        return made

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what `decider_of` takes: a header, and arrays by name."""
        left_out = (*LEFT_OUT, *unkept(self.law.state))
        parts: dict[str, Any] = {"law": law_arrays(self.law.state, without=left_out)}
        if self.guard is not None:
            parts["guard"] = self.guard.arrays()
        header = {
            "learner": self.learner,
            "class_limit": self.law.class_limit,
            "latest": [list(labels) for labels in self.latest()],
        }
        return header, record.joined(parts)

    def decider_of(
        self, header: Mapping[str, Any], arrays: Arrays, seed: Seed | None, key: bytes | None
    ) -> LawLearner:
        """Return the snapshot whose `parts` are given; it takes the law of this new learner."""
        law = self.law
        if header["class_limit"] != law.class_limit or len(bytes.fromhex(header["learner"])) != 8:
            raise ValueError("its header is impossible")
        parts = record.parted(arrays, ("law", "guard"))
        counts = np.zeros((parts["law"]["rows"].size, law.amounts.size + 1))
        learned = {**parts["law"], **dict.fromkeys(LEFT_OUT, counts), **unkept(law.state)}
        law.resume(law.uniforms.state, learned)
        law.look_like(law, seed)
        made = LawLearner(law, guarded=self.guard is not None, learner=str(header["learner"]))
        made.token_key, made.known = key, tuple(map(tuple, header["latest"]))
        if made.guard is not None:
            made.guard.restore(parts["guard"])
        return made


def _watch_many(
    watch: OutcomeWatch, made: Sequence[Made], before: Integers, reached: Booleans
) -> None:
    """Let a watch see the outcomes of many decisions that it has not seen."""
    start = 0
    for one in made:
        stop = start + one.rounds.size
        for i in watched(one.rounds):
            if before[start + i] == HELD:
                continue
            name = (one.decider, int(one.rounds[i]), float(one.times[i]))
            scores = (int(one.scores[i]), int(one.totals[i]))
            watch.add(*name, *scores, reached=bool(reached[start + i]))
        start = stop


# ------------------------------------------------------------------------------- codes of outcomes

HELD = 1  # not learned from, because outcomes were missing with a bias
FORGOTTEN = 2  # learned when the amounts were others
NOTHING = 3  # learned, but it showed nothing about any amount
KNOWN = 3  # codes from here on say what was learned
REACHED = 1 << 15  # added if the amount reached the number, by a law that lays its own grid
ROWS = "the error has all of them as 'rows'"


def code_of(kind: int, index: int) -> int:
    """Return the code of an outcome."""
    return NOTHING if kind < 0 else FIRST_CODE + 4 * index + kind


def outcome_of(code: int) -> tuple[int, int]:
    """Return the kind and the index of a code; the kind is below 0 if it says nothing.

    >>> outcome_of(code_of(2, 99))
    (2, 99)
    """
    return (-1, 0) if code == NOTHING else ((code - FIRST_CODE) % 4, (code - FIRST_CODE) // 4)


def seen_before(seen: SeenDecisions, made: Sequence[Made], rows: Integers, total: int) -> Integers:
    """Return what is remembered of many decisions: 0, or `HELD`."""
    one = made[0]
    if one.run and len(made) == 1 and not seen.expired(one.times[:1])[0]:
        codes = seen.codes(one.decider, one.rounds, run=True)
        if not codes.any():
            return codes
    old = np.concatenate([seen.expired(one.times) for one in made])
    if old.any():
        late = ExpiredDecisionError(
            f"{rows_named(_at(rows, old, total))} expired: decisions are remembered for "
            f"{seen.window:.0f} seconds. Nothing was learned; leave them out ({ROWS})."
        )
        raise because_of(rows[old].tolist(), late)
    codes = np.concatenate([seen.codes(one.decider, one.rounds) for one in made])
    learned = (codes > HELD) | np.concatenate([_repeated(one.rounds) for one in made])
    if learned.any():
        raise repeated(_at(rows, learned, total))
    return codes


def repeated(wrong: npt.NDArray[np.bool_]) -> LearnedBeforeError:
    """Return the error for a batch in which some rows were learned from before, or come twice."""
    error = LearnedBeforeError(
        f"{rows_named(wrong)} been learned from before, or come twice. Each counts once. Nothing "
        f"was learned; leave them out ({ROWS})."
    )
    return because_of(np.flatnonzero(wrong).tolist(), error)


def put_codes(
    seen: SeenDecisions, made: Sequence[Made], codes: Integers
) -> list[Callable[[], Any]]:
    """Return the steps that remember the outcomes of many decisions; see `at_once`."""
    start, steps = 0, []
    for one in made:
        stop = start + one.rounds.size
        steps += seen.putting(one.decider, one.rounds, one.times, codes[start:stop], run=one.run)
        start = stop
    return steps


def rows_named(wrong: npt.NDArray[np.bool_]) -> str:
    """Return the wrong rows in words, as the subject of a sentence with "have".

    >>> rows_named(np.array([False, True, True]))
    'Rows 1 and 2 of 3 have'
    """
    rows = np.flatnonzero(wrong).tolist()
    if len(rows) == 1:
        return f"Row {rows[0]} of {wrong.size} has"
    shown = [str(row) for row in rows[:10]] + (["others"] if len(rows) > 10 else [])
    return f"Rows {', '.join(shown[:-1])} and {shown[-1]} of {wrong.size} have"


def _at(rows: Integers, wrong: npt.NDArray[np.bool_], total: int) -> npt.NDArray[np.bool_]:
    """Return which rows of a batch are wrong."""
    out = np.zeros(total, dtype=bool)
    out[rows] = wrong
    return out


def _repeated(rounds: Integers) -> npt.NDArray[np.bool_]:
    """Return which numbers have come before."""
    if ascending(rounds):
        return np.zeros(rounds.size, dtype=bool)
    out = np.ones(rounds.size, dtype=bool)
    out[np.unique(rounds, return_index=True)[1]] = False
    return out


def difference(law: OutcomeLaw, other: OutcomeLaw) -> str | None:
    """Return the setting because of which the counts of one law cannot be moved to another."""
    return next((name for name in _KINDS if getattr(law, name) != getattr(other, name)), None)
