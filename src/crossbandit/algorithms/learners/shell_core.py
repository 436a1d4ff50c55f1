"""What a learner of a law does for every decision, in one call of machine code.

No interrupt can come between the steps of such a call: Python handles signals between instructions
of Python code.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if not cython.compiled:  # the .pxd names what machine code imports
    from crossbandit.algorithms.learners.seen_core import ON_PAGE, DecisionFields, Page, ShellCore
    from crossbandit.core.locks import Lock
    from crossbandit.core.uniforms import Uniforms
    from crossbandit.laws.law_core import LawCore, LawParts
    from crossbandit.laws.test_core import TestCore, TestParts
    from crossbandit.limits.pace_core import PaceCore
    from crossbandit.limits.state import WANTED

from math import nan

FIRST_CODE = cython.declare(cython.Py_ssize_t, 4)  # as in the core of a law
HIGHEST = cython.declare(cython.longlong, 255)  # the highest place, and the highest chance
SCALE = cython.declare(cython.longlong, 1048576)  # see `Decision`
DECLINED = cython.declare(cython.longlong, 281474976710656)  # 2**48; see `Decision`
COHORT = cython.declare(cython.longlong, 512)  # of consecutive decisions that are watched
DENSE = cython.declare(cython.longlong, 16)  # all of the first cohorts are watched
SPARSE = cython.declare(cython.longlong, 65536)  # then one cohort per so many decisions


def is_watched(number):
    """Return whether the watch looks at a decision. It looks at fewer cohorts as time goes on.

    It does not look at decisions not to act: they need no outcome.
    """
    if number >= SPARSE:  # most of the time
        return number % SPARSE < COHORT and number < DECLINED
    cohort: cython.longlong = number // COHORT
    return cohort < DENSE or cohort & (cohort - 1) == 0


def pays(reserved, key):
    """Return whether a bid is reserved, with what it costs, and no rows have to be dropped."""
    core: PaceCore = reserved.core
    row = reserved.rows.get(key)
    return (
        row is not None
        and core.held_prices[cython.cast(cython.Py_ssize_t, row), WANTED] > 0
        and len(reserved.free) <= reserved.spare
    )


def pay(reserved, key, won, least):
    """Account for the outcome of a reserved bid, and free its row; as `Pacer.settled`."""
    core: PaceCore = reserved.core
    row: cython.Py_ssize_t = reserved.rows[key]
    core.settle(row, won, least, len(reserved.rows) == 1)
    del reserved.rows[key]
    reserved.free.append(row)


@cython.cclass
class LawShell(ShellCore):
    """The counters of a decider, and what a decision and an outcome change."""

    def __init__(self, law, guard, decision, clock) -> None:
        self.law, self.guard, self.decision, self.clock = law, guard, decision, clock
        self.round = self.declined = self.total = 0
        self.learning = self.test = self.watch = self.seen = None  # set if it learns
        self.own, self.features = set(), len(law.classes)

    def act_usual(self, context, worth, cost, labels, first, last):
        """Choose an amount; not under a guard."""
        lock = self.deciding
        lock.acquire()
        try:
            parts: LawParts = self.law
            law: LawCore = parts.core
            if not 0 <= first <= last < law.size:
                raise IndexError("there are no such amounts")
            self.set_round(law, labels)
            arm: cython.Py_ssize_t = law.choose(
                law.read_to_choose(context), worth, cost, first, last
            )
            return self.decided(arm, first, last)
        finally:
            lock.release()

    def act_between(self, context, worth, labels, low, high):
        """Return a decision, and its amount from `low` to `high`, both in money."""
        lock = self.deciding
        lock.acquire()
        try:
            parts: LawParts = self.law
            law: LawCore = parts.core
            if context <= 0.0 or not low <= high:
                raise IndexError("there are no such amounts")
            self.set_round(law, labels)
            unit: cython.double = law.unit_at(context)
            first: cython.Py_ssize_t = law.amount_up_to(low / unit)
            last: cython.Py_ssize_t = max(law.amount_up_to(high / unit), first)
            arm: cython.Py_ssize_t = law.choose(
                law.read_to_choose(context), worth, 0.0, first, last
            )
            amount: cython.double = law.amounts[arm] * unit
            if amount > high:  # a value below all amounts of the grid
                amount = 0.5 * high
            return self.decided(arm, first, last), min(max(amount, low), high)
        finally:
            lock.release()

    def set_round(self, law, labels):
        """Give a law the features and the random numbers of a round."""
        parts: LawParts = self.law
        uniforms: Uniforms = parts.uniforms
        if law.features > 0:
            law.set_keys(parts.levels.slots(labels))
        law.u = uniforms.next()
        law.v = uniforms.next()
        law.w = uniforms.next()

    def decided(self, arm, first, last, part=None):
        """Return the decision for an amount that was chosen. `deciding` must be held."""
        parts: LawParts = self.law
        law: LawCore = parts.core
        if not 0 <= arm < law.size:
            raise IndexError("there is no such amount")
        place: cython.longlong = HIGHEST // 2
        if arm < law.lowest:
            self.declined += 1
            return self.make(DECLINED + self.declined - 1, arm, 0, part)
        if last > first:
            place = HIGHEST * (arm - first) // (last - first)
        score: cython.longlong = place + SCALE * cython.cast(
            cython.longlong, HIGHEST * law.chance_of(arm)
        )
        made = self.make(self.round, arm, score, part)
        self.round += 1
        self.total = (self.total + score) % (SCALE * SCALE)
        return made

    def make(self, number, arm, score, part):
        # This is `Decision(...)`, in a third of the time.
        kind: type = self.decision
        made: DecisionFields = kind.__new__(kind)
        made.sealed, made.by_law, made.probability, made.revealed = False, True, nan, ()
        made.round, made.arm, made.score, made.total = number, arm, score, self.total
        made.counter, made.context = number, None
        made.learner, made.decider, made.time = self.learner, self.id, self.clock()
        made.guard, made.key = part, self._key
        return made

    def learn_usual(self, decision, context, labels, amount, reached, number, money=None, key=None):
        """Learn from an outcome and remember that, in the usual case; otherwise return False.

        It is unusual that a decision was learned from before, is watched, or has a guard's part, or
        that its page must be made. Nothing has changed then. money: what accounts for a bid, by its
        key; see `Spending`.
        """
        counter: cython.longlong = decision.round
        slots = reserved = None
        lock: Lock = None
        if is_watched(counter) or decision.guard is not None:
            return False
        learning, deciding = self.learning, self.deciding
        learning.acquire()
        try:
            if self.watch.misled:
                return False
            decider = decision.decider
            page: Page = self.seen.find(decider, counter, decision.time)
            if page is None or page.table[counter & ON_PAGE] != 0:
                return False
            own: cython.bint = counter < DECLINED and (decider is self.id or decider in self.own)
            if money is not None:
                lock = money.lock
                lock.acquire()
                reserved = money.pacer.reserved
                if not pays(reserved, key):
                    return False
            deciding.acquire()
            try:
                if self.features > 0:
                    law: LawParts = self.law
                    slots = law.levels.slots(labels)
                self.keep_round(context, labels)
                self.add_outcome(
                    page, counter & ON_PAGE, context, slots, amount, reached, number, True, own
                )
                if money is not None:
                    pay(reserved, key, reached, number)
            finally:
                deciding.release()
        finally:
            if lock is not None:
                lock.release()
            learning.release()
        return True

    def keep_round(self, context, labels):
        """Keep a round before its outcome is added: see `IndependenceTest.recent`."""
        test: TestParts = self.test
        test.ring[test.core.tested[0] % len(test.ring)] = (context, labels)

    def add_outcome(self, page, at, context, slots, amount, reached, number, tried, own):
        """Learn from the outcome of an amount, and remember that. Both locks must be held.

        The test of independence learns as well. It counts outcomes, and answered decisions of the
        learner's own.
        """
        parts: LawParts = self.law
        law: LawCore = parts.core
        others: TestParts = self.test
        test: TestCore = others.core
        if not 0 <= at <= ON_PAGE:
            raise IndexError("there is no such place on a page")
        if slots is not None:
            law.set_keys(slots)
        mark: cython.Py_ssize_t = law.settle_one(test, context, amount, reached, number, tried)
        if mark >= 0:
            test.tested[0] += 1
        test.answered[0] += own
        page.table[at] = FIRST_CODE + mark
        if law.stale:
            parts.lay(others)
