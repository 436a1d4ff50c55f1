# cython: infer_types=True
"""Tests, valid at any time, of whether the number depends on the context, and on the class.

The first test asks whether the deviation at a column (1 or 0 for what happened there, minus its
chance) depends on the rank of the context. Ranks are centred, and chances estimated, within a
*stratum*: all rounds, or those of a class.

The second test compares pairs of rounds of different classes in the same finest band of contexts.
If the number does not depend on the class, given the context, the outcomes of the two rounds are
exchangeable: their difference is as likely as its negative, whatever the law is. Nothing is
estimated. The difference, times the difference between the scores of the two classes in earlier
pairs, is a step x of a martingale with E exp(x - x^2 / 2) <= 1, because cosh(x) <= exp(x^2 / 2).
Only columns that were at risk in both rounds are compared. If the amount of a round is not known,
it is assumed to show all columns. The test is not exact for two reasons: contexts in one band
differ a little, and the outcome of the first round of a pair may have changed the amount of the
second.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.libc.math import INFINITY, exp, log, sqrt
else:
    from math import exp, log, sqrt
    from math import inf as INFINITY  # noqa: N812

import numpy as np

ALWAYS = cython.declare(cython.Py_ssize_t, 2)
WON_LOST = cython.declare(cython.Py_ssize_t, 3)
TOLD = cython.declare(cython.Py_ssize_t, 0)
ABOVE = cython.declare(cython.Py_ssize_t, 2)

RATE = cython.declare(cython.double, 0.005)  # of averages of scores of rounds at risk: 200 rounds
PRIOR = cython.declare(cython.double, 10.0)  # is added to the variances of the evidence
GROUP = cython.declare(cython.Py_ssize_t, 16)  # bins of contexts that are also counted together
EVERY = cython.declare(cython.Py_ssize_t, 16)  # rounds after which sides are computed again
COARSE = cython.declare(cython.Py_ssize_t, 3)  # if one column is seen, pairs share 2**3 bands


@cython.cclass
class TestParts:
    """What machine code uses of an `IndependenceTest`."""


@cython.final
@cython.cclass
class TestCore:
    """What the tests have seen, and their steps. Columns are in risk order."""

    def __init__(self, state, tested, answered) -> None:
        self.made_of = (state, tested, answered)
        self.tested, self.answered = tested, answered
        self.told, self.counts, self.usual = state.told, state.counts, state.usual
        self.shown, self.ranks, self.sums = state.shown, state.ranks, state.sums
        self.variances, self.rows, self.owners = state.variances, state.rows, state.owners
        self.used, self.sides, self.expected = state.used, state.sides, state.expected
        self.waiting, self.risk = state.waiting, state.risk
        self.size = state.risk.shape[1] - 1
        self.total = np.sum(state.ranks)
        self.groups = np.add.reduceat(state.ranks, np.arange(0, len(state.ranks), GROUP))
        self.flat = 1.0 / np.arange(1.0, self.size + 2.0)
        self.factors = np.full((2, self.size + 1), RATE)

    def __reduce__(self):
        return type(self), self.made_of

    def test_all(
        self,
        feedback: cython.Py_ssize_t,
        mirrored: cython.bint,
        bins: cython.const[cython.longlong][::1],
        slots: cython.const[cython.longlong][:, ::1],
        kinds: cython.const[cython.longlong][::1],
        indices: cython.const[cython.longlong][::1],
        amounts: cython.const[cython.longlong][::1],
    ) -> None:
        """Test with n outcomes: bins of contexts, kinds of outcomes, cells or amounts; all (n,).

        slots: (n, width), the classes. amounts: those played, -1 if not known.
        """
        last: cython.Py_ssize_t = slots.shape[1] - 1
        with cython.nogil:
            for i in range(bins.shape[0]):
                self.test_one(
                    feedback, mirrored, bins[i], slots[i, last], kinds[i], indices[i], amounts[i]
                )

    def class_row(self, number: cython.longlong) -> int:
        """Return the stratum of a class: a new one if needed, -1 without room."""
        return self.stratum_for(number)

    def log_evidence(self, test: cython.Py_ssize_t) -> float:
        """Return the logarithm of the evidence of the test: 0 for the context, 1 for the class."""
        highest: cython.double = -INFINITY
        total: cython.double = 0.0
        for i in range(4):
            highest = max(highest, self.log_part(test, i))
        for i in range(4):
            total += exp(self.log_part(test, i) - highest)
        return highest + log(total / 4.0)

    def log_part(self, test, i):
        total: cython.double = self.sums[test, i]
        scale: cython.double = self.variances[test, i] + PRIOR
        return 0.5 * log(PRIOR / scale) + total * total / (2.0 * scale)

    def test_one(self, feedback, mirrored, place, number, kind, index, amount):
        """Test with one outcome. place: the bin of the context. number: the combined class, or -1.

        amount: the one played, by number; -1 if it is not known.
        """
        column: cython.Py_ssize_t = index
        if mirrored:
            column = self.size - column if kind == TOLD else self.size - 1 - column
        total: cython.double = self.total
        group: cython.Py_ssize_t = place // GROUP
        below: cython.double = 0.0
        for i in range(group):
            below += self.groups[i]
        for i in range(group * GROUP, place):
            below += self.ranks[i]
        rank: cython.double = (below + 0.5 * self.ranks[place] + 0.5) / (total + 1.0) - 0.5
        self.ranks[place] += 1.0
        self.groups[group] += 1.0
        self.total += 1.0
        bend: cython.double = 6.0 * rank * rank - 0.5
        alone: cython.bint = feedback == WON_LOST  # only one column is seen
        hit: cython.bint = kind == TOLD or (alone and kind != ABOVE)
        top: cython.Py_ssize_t = self.size
        lowest: cython.Py_ssize_t = first_at_risk(kind, column)
        if alone:
            top = lowest = column
        elif total < EVERY * EVERY or cython.cast(cython.longlong, total) % EVERY == 0:
            self.set_hazards(0, self.size + 1)
            self.set_sides()
        at: cython.Py_ssize_t = column if hit else -1
        if alone:  # before any round, the chance of the column is 1 / 2
            self.risk[0, column] = (self.told[0, column] + 0.5) / (self.counts[0, column] + 1.0)
            self.sides[column] = 2.0 * self.risk[0, column] - 1.0
        else:
            self.set_hazards(lowest, top + 1)
        if self.rows.shape[0] == 0:
            self.take_in(0, rank, bend, at, lowest, top + 1, 0)
        else:
            for j in range(lowest, top + 1):
                self.counts[0, j] += 1.0
            row = self.stratum_for(number)
            if row >= 0:
                for j in range(lowest, top + 1):  # the hazards of all rounds count as one round
                    self.risk[1, j] = (self.told[row, j] + self.risk[0, j]) / (
                        self.counts[row, j] + 1.0
                    )
                self.take_in(row, rank, bend, at, lowest, top + 1, 1)
                if at >= 0:
                    self.told[row, at] += 1.0
                limit = self.first_shown(feedback, mirrored, kind, lowest, amount)
                self.pair_up(feedback, place, row, lowest, hit, limit)
        if hit:
            self.told[0, column] += 1.0

    def first_shown(self, feedback, mirrored, kind, lowest, amount):
        """Return the lowest column that the amount could have shown; 1 if the amount is not known.

        lowest: what `first_at_risk` returned. If nothing was told, it is this column.
        """
        if kind != TOLD or feedback == WON_LOST:
            return lowest
        if feedback == ALWAYS or amount < 0:
            return 1
        return max((self.size - 1 - amount if mirrored else amount) + 1, 1)

    def stratum_for(self, number):
        if number < 0:
            return -1
        place: cython.Py_ssize_t = number % self.rows.shape[0]
        if self.owners[place] != number:
            if self.rows[place] >= 0:
                return -1  # another class has the place
            self.owners[place] = number
        if self.rows[place] < 0 and self.used[0] < self.told.shape[0]:
            self.rows[place] = self.used[0]
            self.used[0] += 1
        return self.rows[place]

    def known_row(self, number):
        """Return the stratum of a class, or -1 if there is none."""
        if number < 0 or self.rows.shape[0] == 0:
            return -1
        place: cython.Py_ssize_t = number % self.rows.shape[0]
        return self.rows[place] if self.owners[place] == number else -1

    def set_hazards(self, start, stop):
        """Set the hazards of some columns in all rounds."""
        for j in range(start, stop):
            self.risk[0, j] = (self.told[0, j] + self.flat[j]) / (self.counts[0, j] + 1.0)

    def set_sides(self):
        """Set the side of each column: twice its chance of being reached, minus 1.

        Each factor depends on the one before, so this is slow. It is done once in EVERY rounds. The
        sides are weights in the test, which is valid with any weights that do not depend on the
        outcome. `expected` is set to the sums of hazards, and of hazards times sides, from each
        column up.
        """
        chance: cython.double = 1.0
        plain: cython.double = 0.0
        turned: cython.double = 0.0
        for j in range(self.size, -1, -1):
            self.sides[j] = 2.0 * chance - 1.0
            chance *= 1.0 - self.risk[0, j]
            plain += self.risk[0, j]
            turned += self.risk[0, j] * self.sides[j]
            self.expected[0, j] = plain
            self.expected[1, j] = turned

    def take_in(self, row, rank, bend, at, start, stop, line):
        """Compare a round with its stratum, then count it there. rank, bend: its scores.

        at: the column at which something happened, or -1. line: the row of `risk` with the hazards.
        The sides come from the hazards of all rounds. Those from the hazards of a stratum would be
        correlated with the deviations from these hazards.

        The variance is a third of the square plus two thirds of its expectation. With this
        variance, the exponential of the martingale has a mean of at most 1 for any steps, because
        exp(x - x^2 / 6) is at most 1 + x + x^2 / 3 for every x. With hazard h, the variance is
        h (2 - h) / 3 at a column where nothing happened, and (1 - 2 h) / 3 more where it happened.
        """
        a: cython.double = 0.0
        b: cython.double = 0.0
        c: cython.double = 0.0
        d: cython.double = 0.0
        e: cython.double = 0.0
        f: cython.double = 0.0
        g: cython.double = 0.0
        h: cython.double = 0.0
        happened: cython.bint = at >= 0 and self.counts[row, at] > 0.0
        first: cython.double = rank - self.usual[row, 0, at] if happened else 0.0
        second: cython.double = bend - self.usual[row, 1, at] if happened else 0.0
        # Counts do not decrease from column to column: a round is at risk at all above its lowest.
        if self.counts[row, start] == 0.0:
            for j in range(start, stop):
                if self.counts[row, j] == 0.0:
                    self.risk[line, j] = 0.0
        young: cython.Py_ssize_t = 1 if (self.counts[row, start] + 1.0) * RATE < 1.0 else 0
        for j in range(start, stop):
            self.counts[row, j] += 1.0
        if young:
            for j in range(start, stop):
                self.factors[1, j] = max(1.0 / self.counts[row, j], RATE)
        for j in range(start, stop):
            hazard, side, factor = self.risk[line, j], self.sides[j], self.factors[young, j]
            gap, other = rank - self.usual[row, 0, j], bend - self.usual[row, 1, j]
            self.usual[row, 0, j] += factor * gap
            self.usual[row, 1, j] += factor * other
            rest, square = 2.0 - hazard, side * side
            missed, lost = hazard * gap, hazard * other
            a -= missed
            b -= missed * side
            c -= lost
            d -= lost * side
            varied, swung = missed * gap * rest, lost * other * rest
            e += varied
            f += varied * square
            g += swung
            h += swung * square
        if happened:
            turned, bent = first * self.sides[at], second * self.sides[at]
            spread = 1.0 - 2.0 * self.risk[line, at]
            a += first
            b += turned
            c += second
            d += bent
            e += spread * first * first
            f += spread * turned * turned
            g += spread * second * second
            h += spread * bent * bent
        self.sums[0, 0] += a
        self.sums[0, 1] += b
        self.sums[0, 2] += c
        self.sums[0, 3] += d
        self.variances[0, 0] += e / 3.0
        self.variances[0, 1] += f / 3.0
        self.variances[0, 2] += g / 3.0
        self.variances[0, 3] += h / 3.0

    def move(self, feedback, row, kind, old, new_kind, new):
        """Move one round of a stratum from column `old` to `new`. Earlier comparisons stay."""
        counted: cython.Py_ssize_t = (
            1 if feedback == WON_LOST else TOLD
        )  # the kind that is counted in `told`
        if kind == counted:
            self.told[row, old] = max(self.told[row, old] - 1.0, 0.0)
        if new_kind == counted:
            self.told[row, new] += 1.0
        if feedback == WON_LOST:
            return
        before: cython.Py_ssize_t = first_at_risk(kind, old)
        after: cython.Py_ssize_t = first_at_risk(new_kind, new)
        for j in range(after, before):
            self.counts[row, j] += 1.0
        for j in range(before, after):
            self.counts[row, j] = max(self.counts[row, j] - 1.0, 0.0)

    # --- pairs ---------------------------------------------------------------------------------

    def pair_up(self, feedback, band, row, lowest, hit, limit):
        """Compare a round with the one that waits in its band, or let it wait for a partner.

        row: the stratum of its class. lowest: its lowest column at risk, where something was told
        if `hit`. limit: the lowest column that could have been told, given the amount.
        """
        place: cython.Py_ssize_t = band
        if feedback == WON_LOST:
            place = (band >> COARSE) * (self.size + 1) + lowest
        other: cython.Py_ssize_t = self.waiting[place, 0]
        if other < 0 or other == row:
            self.waiting[place, 0] = row
            self.waiting[place, 1] = lowest
            self.waiting[place, 2] = 1 if hit else 0
            self.waiting[place, 3] = limit
            return
        self.waiting[place, 0] = -1
        least: cython.Py_ssize_t = max(limit, self.waiting[place, 3])
        theirs: cython.Py_ssize_t = self.waiting[place, 1]
        their_hit: cython.bint = self.waiting[place, 2] != 0
        first: cython.double = self.shows(lowest, hit, least, 0) - self.shows(
            theirs, their_hit, least, 0
        )
        second: cython.double = self.shows(lowest, hit, least, 1) - self.shows(
            theirs, their_hit, least, 1
        )
        for i in range(2):
            gap = self.score(row, 2 * i) - self.score(other, 2 * i)
            for j in range(2):
                step = gap * (first if j == 0 else second)
                self.sums[1, 2 * i + j] += step
                self.variances[1, 2 * i + j] += step * step
        self.remember(row, first, second)
        self.remember(other, -first, -second)

    def shows(self, lowest, hit, least, kind):
        """Return what a round has shown from column `least` on, minus what all rounds let expect.

        kind: 0 for whether something was told, 1 for the side of the column at which it was told.
        """
        at: cython.Py_ssize_t = max(lowest, least)
        told: cython.double = 0.0
        if hit and lowest >= least:
            told = 1.0 if kind == 0 else self.sides[at]
        return told - self.expected[kind, at]

    def remember(self, row, first, second):
        """Add the two differences of a pair, and their squares, to the sums of a class."""
        self.shown[row, 0] += first
        self.shown[row, 1] += first * first
        self.shown[row, 2] += second
        self.shown[row, 3] += second * second

    def score(self, row, at):
        """Return the score of a class, from -1/2 to 1/2, by its sums over earlier pairs."""
        difference: cython.double = self.shown[row, at]
        return 0.5 * difference / sqrt(1.0 + self.shown[row, at + 1] + difference * difference)


def first_at_risk(kind, column):
    """Return the lowest column at which a round with this outcome was at risk."""
    return max(column if kind == TOLD else column + 1, 1)
