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
    from crossbandit.algorithms.learners.seen_core import (
        ON_PAGE,
        DecisionFields,
        Page,
        ShellCore,
        now,
    )
    from crossbandit.core.locks import Lock
    from crossbandit.core.uniforms import Uniforms
    from crossbandit.laws.law_core import LawCore, LawParts
    from crossbandit.laws.test_core import TestCore, TestParts
    from crossbandit.limits.pace_core import PaceCore
    from crossbandit.limits.state import WANTED

from math import nan

FIRST_CODE = cython.declare(cython.Py_ssize_t, 4)  # as in the core of a law
REACHED = cython.declare(cython.Py_ssize_t, 32768)  # as in `law_learner.py`
HIGHEST = cython.declare(cython.longlong, 255)  # the highest place, and the highest chance
SCALE = cython.declare(cython.longlong, 1048576)  # see `Decision`
DECLINED = cython.declare(cython.longlong, 281474976710656)  # 2**48; see `Decision`
COHORT = cython.declare(cython.longlong, 512)  # of consecutive decisions that are watched
DENSE = cython.declare(cython.longlong, 16)  # all of the first cohorts; then those at powers of two
SPARSE = cython.declare(cython.longlong, 65536)  # then one cohort per so many decisions


def is_watched(number):
    """Return whether the watch looks at a decision. It looks at fewer cohorts as time goes on.

    It does not look at decisions not to act: they need no outcome.
    """
    if number >= SPARSE:  # most of the time
        return number % SPARSE < COHORT and number < DECLINED
    cohort: cython.longlong = number // COHORT
    return cohort < DENSE or cohort & (cohort - 1) == 0


def watched(numbers: cython.const[cython.longlong][::1]):
    """Return at which of many decisions the watch looks."""
    return [i for i in range(numbers.shape[0]) if is_watched(numbers[i])]


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

    def act(self, given, first, last):
        """Choose an amount. given: a `Round`."""
        if self.guard is not None:
            return self.act_guarded(given, first, last)
        context, worth, cost, labels = given
        return self.act_unguarded(context, worth, cost, labels, first, last)

    def act_unguarded(self, context, worth, cost, labels, first, last):
        """Do what `act` does, without a guard."""
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
            return self.decided(arm, first, last, None)
        finally:
            lock.release()

    def act_between(self, context, worth, cost, labels, low, high, most):
        """Choose an amount from `low` to `high`, and play it or `most`, if that is less.

        Return the decision, the amount that was chosen, and the chance of the one that is played.
        All amounts are in money. As under limits on a grid, no lower amount is tried if the worth
        is below the context, and the best amount is below half of the context.
        """
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
            band: cython.Py_ssize_t = law.read_to_choose(context)
            arm: cython.Py_ssize_t = law.without_tries(worth / unit, cost, first, last)
            if law.may_try() and (worth >= context or 2.0 * law.amounts[arm] * unit >= context):
                arm = law.probe(band, arm, worth / unit, first, law.w)
            amount: cython.double = law.amounts[arm] * unit
            if amount > high:  # a value below all amounts of the grid
                amount = 0.5 * high
            amount = min(max(amount, low), high)
            if most < amount:
                arm = law.amount_up_to(most / unit)
            chance: cython.double = law.chance_of(arm)
            return self.decided(arm, min(first, arm), last, None), amount, chance
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

    def decision_for(self, arm, first, last, part=None):
        """Do what `decided` does, for Python."""
        return self.decided(arm, first, last, part)

    def decided(self, arm, first, last, part):
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
        made.learner, made.decider, made.time = self.learner, self.id, now(self.clock)
        made.guard, made.key = part, self._key
        return made

    def learn(self, decision, context, labels, shown, correction=False, payment=None):
        """Learn from the outcome of a decision. shown: a `Shown`. payment: a `Payment`, or None."""
        self.learn_outcome(decision, context, labels, shown, correction, payment)

    def learn_outcome(self, decision, context, labels, shown, correction, payment):
        """Do what `learn` does.

        Nothing changes before `add_outcome`. What is called from there on is no Python code, but
        for the grid of a law, which is laid last.
        """
        amount, reached, number = shown
        counter: cython.longlong = decision.round
        decider = decision.decider
        part = decision.guard
        learning, deciding = self.learning, self.deciding
        lock: Lock = None
        key = slots = None
        paid = weighed = admitted = ()
        if len(labels) != self.features:
            self.refuse_labels(decision, labels)
        learning.acquire()
        try:
            page: Page = self.seen.page_for(decider, counter, decision.time)
            if correction:
                self.correct(decision, context, labels, page, shown, payment)
                return
            if page.table[counter & ON_PAGE] != 0 or self.watch.misled or is_watched(counter):
                admitted = self.admit(decision, page, reached)
            if payment is not None:
                money, key = payment
                lock = money.lock
                lock.acquire()
                if not self.pays(decision, money, key, amount):
                    paid = money.settled(key, context, *shown)
                    key = None
            deciding.acquire()
            try:
                law: LawParts = self.law
                if self.features > 0:
                    slots = law.levels.slots(labels)
                if part is not None:
                    weighed = self.weighing(part, shown)
                self.add_outcome(decision, page, context, labels, slots, shown)
                if key is not None:
                    pay(money.pacer.reserved, key, reached, number)
                if weighed or admitted or paid:
                    for step in (*weighed, *admitted, *paid):
                        step()
                if law.core.stale:
                    law.lay(self.test)
            finally:
                deciding.release()
        finally:
            if lock is not None:
                lock.release()
            learning.release()
        if admitted:
            self.watch.warn()

    def pays(self, decision, money, key, amount):
        """Return whether a bid is reserved, at this amount, and no rows have to be dropped."""
        parts: LawParts = self.law
        reserved = money.pacer.reserved
        core: PaceCore = reserved.core
        row = reserved.rows.get(key)
        return (
            row is not None
            and not parts.core.laid
            and 0 <= decision.arm < parts.core.size
            and parts.core.amounts[decision.arm] == amount
            and core.held_prices[cython.cast(cython.Py_ssize_t, row), WANTED] > 0
            and len(reserved.free) <= reserved.spare
        )

    def add_outcome(self, decision, page, context, labels, slots, shown):
        """Learn from the outcome of an amount, and remember that. Both locks must be held.

        The test of independence learns as well, and keeps the round: see `IndependenceTest.recent`.
        It counts outcomes, and answered decisions of the learner's own.
        """
        parts: LawParts = self.law
        law: LawCore = parts.core
        others: TestParts = self.test
        test: TestCore = others.core
        amount, reached, number = shown
        counter: cython.longlong = decision.round
        part = decision.guard
        # The law explores by itself. Bids that the guard chose do not count as its exploration.
        tried: cython.bint = part is None or amount == part.law_amount
        others.ring[test.tested[0] % len(others.ring)] = (context, labels)
        if slots is not None:
            law.set_keys(slots)
        mark: cython.Py_ssize_t = law.settle_one(test, context, amount, reached, number, tried)
        if mark >= 0:
            test.tested[0] += 1
        if counter < DECLINED and (decision.decider is self.id or decision.decider in self.own):
            test.answered[0] += 1
        page.table[counter & ON_PAGE] = FIRST_CODE + mark + (REACHED if law.laid and reached else 0)

    def add_outcomes(self, given, labels, codes: cython.longlong[::1], own):
        """Do what `add_outcome` does, but set the codes of many outcomes, put on pages by others.

        given: what `OutcomeLaw.settle_all` takes. own: how many decisions were the learner's own.
        """
        parts: LawParts = self.law
        others: TestParts = self.test
        if parts.lays:
            parts.settle_all(others, *given, codes)
        else:  # one call of machine code, which no interrupt can part
            parts.core.settle_all(others.core, *given, codes)
        test: TestCore = others.core
        test.answered[0] += own
        contexts, ring = given[0], others.ring
        size: cython.Py_ssize_t = len(ring)
        start: cython.longlong = test.tested[0] - size
        at: cython.longlong = test.tested[0]
        i: cython.Py_ssize_t = codes.shape[0]
        while i > 0 and at > start:  # the latest rounds are kept
            i -= 1
            if codes[i] >= FIRST_CODE:
                at -= 1
                ring[at % size] = (float(contexts[i]), labels[i] if labels else ())
