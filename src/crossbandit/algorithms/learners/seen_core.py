"""What all learners have in machine code: decisions, and which of them were learned from."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.cpython.time import time as system_time
else:
    from time import time as system_time

    ON_PAGE = 1023  # as in the .pxd

import copyreg
import time
from math import isnan

import numpy as np

SYSTEM = cython.declare(object, time.time)

SHIFT = cython.declare(cython.longlong, 10)  # a page has 2**SHIFT decisions
SKEW = cython.declare(cython.double, 60.0)  # seconds by which clocks of machines may differ


@cython.cclass
class ShellCore:
    """The id and the key of a learner or a snapshot; see `Shell`."""

    def __reduce__(self):
        return copyreg.__newobj__, (type(self),), self.__getstate__()


@cython.cclass
class DecisionFields:
    """What a decision carries; see `Decision`."""

    def __init__(self, round, context, arm, probability, revealed, learner, carried) -> None:  # noqa: A002
        self.sealed = self.by_law = self.remembered = False
        self.round, self.context, self.arm, self.learner = round, context, arm, learner
        self.probability, self.revealed = probability, revealed
        self.decider, self.counter, self.time = learner, -1, 0.0
        self.key = self.written = self.known = self.baseline = self.rows = self.graph = None
        self.form = self.reading = self.factors = self.guard = None
        self.score = self.total = 0
        for name, one in carried.items():
            setattr(self, name, one)

    @property
    def readout(self):
        if self.reading is None and self.form is not None:
            self.reading = self.form.readout(self.context)
        return self.reading

    @property
    def weights(self):
        if type(self.factors) is bytes:
            self.factors = np.frombuffer(self.factors).copy()
        return self.factors

    @weights.setter
    def weights(self, weights):
        self.factors = weights

    def shown(self):
        if self.by_law:
            ids = (self.round, self.arm, self.learner, self.decider)
            return (*ids, self.time, self.score, self.total, self.guard)
        chance = None if isnan(self.probability) else self.probability
        return (self.round, self.context, self.arm, chance, self.revealed, self.learner)

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        other_fields: DecisionFields = other
        return self.shown() == other_fields.shown()

    def __hash__(self):
        return hash(self.shown())


@cython.cclass
class Page:
    """The outcomes of consecutive decisions of one decider.

    codes: an array of type "H", 0 where a decision was not learned from. newest: the latest time of
    its decisions. generation: when it was made; pages of earlier generations are never changed.
    """

    def __init__(self, codes, newest, generation) -> None:
        self.codes, self.newest, self.generation = codes, newest, generation
        self.table = codes

    def __reduce__(self):
        return type(self), (self.codes, self.newest, self.generation)

    def copied(self, generation):
        return Page(self.codes[:], self.newest, generation)


@cython.cclass
class SeenPages:
    """The pages by decider and number, and what decides whether a decision has expired."""

    def page_of(self, decider, counter: cython.longlong, time: cython.double):
        """Return the page of a decision, whose code is at `counter % PAGE`; raise as `check` does.

        The code may be read and set as long as the owner's lock is held.
        """
        return self.page_for(decider, counter, time)

    def page_for(self, decider, counter, time):
        """Do what `page_of` does, for machine code."""
        page: Page = self.find(decider, counter, time)
        if page is None:
            self.require(time)
            page = self.live_page(decider, counter, time)
        return page

    def find(self, decider, counter, time):
        """Return the page of a decision in the usual case; None if more has to be looked at."""
        number: cython.longlong = counter >> SHIFT
        page: Page = self.latest
        if page is None or decider is not self.decider or number != self.number:
            page = self.pages.get((decider, number))
            self.latest, self.decider, self.number = page, decider, number
        if page is None or page.generation != self.generation or time <= self.dropped:
            return None
        at: cython.double = now(self.clock)
        ahead: cython.double = min(SKEW, self.span)
        if not at - self.span <= time <= at + ahead:
            return None
        page.newest = max(page.newest, time)
        return page


def now(clock):
    """Return what a clock says; to ask that of the system from machine code takes little time."""
    return system_time() if clock is SYSTEM else clock()


@cython.cclass
class WatchCounts:
    """How many decisions were made and answered; see `FeedbackWatch`."""

    def is_latest(self, round_):
        """Return whether a round is of the latest cohort."""
        return self._begin <= round_ - self._start < self._end

    def cohort_of(self, round_):
        """Return the number of a round's cohort, -1 if it is not counted."""
        times: cython.longlong = (round_ - self._start) // self._first
        cohort: cython.Py_ssize_t = 0
        while times > 0:
            times >>= 1
            cohort += 1
        return cohort if round_ >= self._start and cohort < len(self._cohorts) else -1

    def count(self, cohort, kind, arm):
        """Count a decision of a cohort. kind: 0 if it was made, 1 if it was answered."""
        counts: list = self._cohorts[cohort][kind]
        counts[arm] += 1
