"""What a learner with a feedback graph does for every decision, in one call of machine code.

No interrupt can come between the steps of such a call: Python handles signals between instructions
of Python code.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.libc.math import isfinite, isnan
else:  # the .pxd names the other modules
    from math import isfinite, isnan

    from crossbandit.algorithms.learners.seen_core import (
        ON_PAGE,
        DecisionFields,
        Page,
        ShellCore,
        WatchCounts,
        now,
    )
    from crossbandit.core.losses import first_beyond_box, first_loss_outside, first_outside
    from crossbandit.core.rounds import RoundCore, copy_floats
    from crossbandit.core.uniforms import Uniforms

from math import inf, nan

import numpy as np

WEIGHTS = cython.declare(cython.Py_ssize_t, 0)  # as in `RoundCore`
GIVEN = cython.declare(cython.Py_ssize_t, 2)
GENERATOR = cython.declare(object, np.random.Generator)
INTEGER = cython.declare(object, np.int64)


@cython.cclass
class GraphShell(ShellCore):
    """The counters of a learner, and what a decision and its feedback change."""

    @property
    def generator(self):
        return self.numbers

    @generator.setter
    def generator(self, generator):
        self.numbers = generator
        self.uniforms = Uniforms(generator) if type(generator) is GENERATOR else None

    def set_counts(self, number, waiting):
        """Set how many rounds were played, and how many wait for feedback, in one step."""
        self.round, self._waiting = number, waiting

    def prepare(self):
        """Find out whether a round can be usual, before the first one; return it."""
        parts = self._usual_parts() if isinstance(self.core, RoundCore) else None
        self.quick = -1 if parts is None else 1
        if parts is not None:
            self.form, self.limits, self.weighted = parts
            self.contexts, self.entries, self.least, self.most, self.shares = self.limits
            self.usual_core = self.core
            self.usual_core.make_room(self.form.columns)
        return parts is not None

    # --- decisions -----------------------------------------------------------------------------

    def act_usual(self, context):
        """Return a decision; None if anything is unusual, and then nothing has changed."""
        lock = self._lock
        lock.acquire()
        try:
            if not self.is_usual():
                return None
            plain = self.read_usual(context)
            return None if plain is None else self.decided(plain)
        finally:
            lock.release()

    def act_many_usual(self, contexts):
        """Return the decisions of `act_usual` in many contexts; None if any is unusual."""
        lock = self._lock
        lock.acquire()
        try:
            if not self.is_usual():
                return None
            plain = [self.read_usual(context) for context in contexts]
            return None if None in plain else [self.act_usual(one) for one in plain]
        finally:
            lock.release()

    def is_usual(self):
        """Return whether a round can be usual."""
        return self.quick >= 0 and self.uniforms is not None and (self.quick > 0 or self.prepare())

    def read_usual(self, context):
        """Read a context; return it in plain form, or None if it is unusual."""
        if self.contexts < 0:
            return self.read_vector(context)
        core: RoundCore = self.usual_core
        if type(context) is INTEGER:
            context = int(context)
        if type(context) is not int or not 0 <= context < self.contexts:
            return None
        index: cython.Py_ssize_t = context
        core.now.restricted = False
        core.now_offset[0] = index
        if self.entries is not None:
            core.now_offset[0] = 0
            for v in range(core.now_table.shape[2]):
                core.now_table[0, 0, v] = self.entries[index, 0, v]
        return context

    def read_vector(self, context):
        core: RoundCore = self.usual_core
        width: cython.Py_ssize_t = core.now_table.shape[2]
        plain: cython.bint = type(context) is tuple and len(context) == width
        if plain:
            for v in range(width):
                if type(context[v]) is not float:
                    return None
                core.now_table[0, 0, v] = context[v]
        elif not copy_floats(context, 1, 1, width, core.now_table[0]):
            return None
        for v in range(width):
            if not isfinite(core.now_table[0, 0, v]):
                return None
        core.now.restricted = False
        core.now_offset[0] = 0
        return context if plain else tuple([float(core.now_table[0, 0, v]) for v in range(width)])

    def decided(self, context):
        """Return a decision in the context that was read."""
        one: DecisionFields = self.make(context, None, self.round)
        one.form = self.form
        self.record(one, self.play_usual(one, context if self.contexts >= 0 else 0))
        return one

    def make(self, context, readout, number):
        """Return a decision without an arm."""
        # This is `Decision(...)`, in a fraction of the time.
        one: DecisionFields = self.decision_type.__new__(self.decision_type)
        one.sealed = one.by_law = False
        one.context, one.reading, one.round, one.counter = context, readout, number, number
        one.form = one.factors = one.baseline = one.rows = one.graph = None
        one.known = one.written = one.guard = None
        one.arm, one.probability, one.revealed = -1, nan, ()
        one.learner = one.decider = self.id
        one.time = now(self.learned_from.clock)
        return one

    def finish(self, one, probability):
        """Complete what a decision shows, so that it can be given away."""
        one.probability, one.key, one.remembered = probability, self._key, self.remembers
        one.revealed = self._revealed.get(one.arm) if self.quick > 0 else None
        if one.revealed is None:
            one.revealed = self.revealed(one)
        one.sealed = True

    def record(self, one, probability):
        """Record that a decision was made."""
        self.finish(one, probability)
        self.round = one.round + 1
        self._waiting += 1
        if self.watches:
            watch: WatchCounts = self._watch
            if watch is None:
                watch = self._start_watch(one.round)
            if watch.is_latest(one.round):
                watch.count(len(watch._cohorts) - 1, 0, one.arm)
            else:
                watch.count_decision(one.round, one.arm)
        if self.remembers:
            self._pending[one.round] = one
            while len(self._pending) > self._max_pending:
                self._last_expired = next(iter(self._pending))
                del self._pending[self._last_expired]

    def play_usual(self, one, context):
        """Play a round; return the probability of its arm."""
        core: RoundCore = self.usual_core
        one.arm = core.play_usual(one.round, context, self.uniforms, 1)
        one.baseline = None if isnan(core.baseline) else core.baseline
        if self.weighted:
            one.factors = core.packed_weights()
        return core.probability

    # --- feedback ------------------------------------------------------------------------------

    def learn_usual(self, decision, losses):
        """Learn from the feedback of a decision, and mark it, in the usual case; else return False.

        It is unusual that the decision was not made here by `act_usual`, or was learned from
        before, and that losses are no array of floats in their range.
        Nothing has changed then.
        """
        lock = self._lock
        lock.acquire()
        try:
            if not self.is_learnable(decision, losses):
                return False
            self.learn_read(decision, losses)
        finally:
            lock.release()
        return True

    def learn_many_usual(self, decisions, losses):
        """Do what `learn_usual` does with many decisions, if all are usual; else return False."""
        count: cython.Py_ssize_t = len(decisions)
        rounds = set()
        lock = self._lock
        lock.acquire()
        try:
            for i in range(count):
                if not self.is_learnable(decisions[i], losses[i]):
                    return False
                rounds.add(decisions[i].round)
            if len(rounds) < count:
                return False
            for i in range(count):
                self.learn_usual(decisions[i], losses[i])
        finally:
            lock.release()
        return True

    def is_learnable(self, decision, losses):
        """Return whether a decision is usual and was not learned from; read its losses."""
        if self.quick <= 0 or type(decision) is not self.decision_type:
            return False
        one: DecisionFields = decision
        if not self.is_own(one):
            return False
        if self.remembers:
            new: cython.bint = self._pending.get(one.round) is one
        else:
            page: Page = self.learned_from.find(one.decider, one.counter, one.time)
            if page is None:
                page = self.learned_from.page_if_live(one.decider, one.counter, one.time)
            new = page is not None and page.table[one.counter & ON_PAGE] == 0
        return new and self.read_feedback(one, losses)

    def learn_read(self, one, losses):
        """Learn from the losses that were read, and mark the decision."""
        self.learn_here(one, losses)
        self._waiting -= 1
        if self.watches:
            watch: WatchCounts = self._watch
            cohort: cython.Py_ssize_t = watch.cohort_of(one.round)
            if cohort >= 0:
                watch.count(cohort, 1, one.arm)
        if self.remembers:
            del self._pending[one.round]
        else:
            page: Page = self.learned_from.find(one.decider, one.counter, one.time)
            page.table[one.counter & ON_PAGE] = 1

    def is_own(self, one):
        """Return whether a decision was made here, by `act_usual`."""
        return (
            one.form is self.form
            and one.known is None
            and one.counter == one.round
            and one.round < self.round
            and one.decider == one.learner == self.id
        )

    def read_feedback(self, one, losses):
        """Read the context and the losses of a decision; return False if they are unusual."""
        core: RoundCore = self.usual_core
        revealed = self._revealed.get(one.arm)
        if revealed is None or not 0 <= one.arm < core.arms:
            return False
        count: cython.Py_ssize_t = len(revealed)
        return (
            self.read_usual(one.context) is not None
            and copy_floats(losses, 2, count, core.given.shape[1], core.given)
            and (one.factors is None or core.give_weights(one.factors))
            and self.accepts(count)
        )

    def accepts(self, count):
        """Return whether losses are in their range, as `LossForm.check` would find it."""
        core: RoundCore = self.usual_core
        low: cython.double = -1e-9
        high: cython.double = 1.0 + 1e-9
        if self.contexts >= 0 and self.entries is None:
            return first_outside(core.given[:count], low, high) < 0
        largest: cython.double = inf if self.contexts >= 0 else 1e100
        if first_loss_outside(core.given[:count], core.now_table[0], low, high, largest) >= 0:
            return False
        if self.contexts < 0 or (self.shares and first_outside(core.given[:count], 0.0, 1.0) < 0):
            return True
        arms = core.revealed[:count]  # any: all have the same box
        return first_beyond_box(core.given[:count], arms, self.least, self.most, low, high) < 0

    def learn_here(self, one, losses):
        """Learn from the feedback that was read."""
        core: RoundCore = self.usual_core
        if one.factors is None:
            if self.weighted:  # it is not used
                return
            core.copy_row(WEIGHTS, GIVEN)
        baseline: cython.double = nan if one.baseline is None else one.baseline
        context: cython.Py_ssize_t = one.context if self.contexts >= 0 else 0
        core.learn_usual(one.round, context, self.round - 1, one.arm, baseline)
