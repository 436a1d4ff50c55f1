# cython: infer_types=True
"""The core of features: what each of them changes in the law of a round.

A round has features: levels of categories, and numbers. They change the *odds* of a law. With
feedback that tells numbers, these are the odds h / (1 - h) of each hazard; if it is only seen
whether an amount reached the number, the odds that it does. See `law_core.py` for hazards, columns
and risk order. The law without features is the base. A *term* is a constant, a feature as a level,
a number in 8 or in 32 bands, or a pair of features. For column j

    logit h_j = logit h_j(base) + sum over terms t of (theta[t, all] + theta[t, knots near j]
                + theta[t, block of j])

where theta depends on the level that term t has in this round. There is one theta for all columns,
one for each of 8 knots (linear in between), and one for each of up to 64 blocks of columns: real
prices have atoms, and these depend on features, too. Pairs have no blocks.

Each theta has a normal prior. Its variance tau[t, z] belongs to the term t and the resolution z,
and is 0 until the data show that it is not; the mean mu is that of the term's levels. An outcome
gives, for each block, a score s = sum (y_j - h_j) and an information i = sum h_j (1 - h_j) over the
columns at risk. If v is the variance of all thetas of a column together, V the variance and M the
mean of one of them, then (a Kalman filter with a diagonal covariance)

    u = 1 / (1 + i (v - V)),   g += u (s + i M),   I += u i
    V = tau / (1 + I tau),     M = (g - I mu) V

After every 15 % more rounds, one step of Fisher scoring of the marginal likelihood sets

    tau <- sum w (c^2 / I - f) / sum w I f,   c = g - I mu,   w = I / (1 + I tau)^2

over the levels of a term, from 0 to 2 tau + 0.1; f is 1 minus the level's share of the information.

Three *stages* are mixed by how well they predict: the base; with single features; with pairs. If a
stage has predicted clearly worse than the one below since the last estimate, it starts again. So
features that say nothing cost almost nothing. The variance of the effects is not a reason to try
other amounts: it made bids too high.

A level has a row. Singles and pairs have `limit` rows each. A level may take one of four rows. If
others have all of them, the least used of these wears down, and is then replaced. So memory is
bounded, and levels that come often keep their rows.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.libc.math import exp, log
else:
    from math import exp, log

import numpy as np

TOLD = cython.declare(cython.Py_ssize_t, 0)  # as in the core of a law
AT_MOST = cython.declare(cython.Py_ssize_t, 1)
WON_LOST = cython.declare(cython.Py_ssize_t, 3)

KNOTS = cython.declare(cython.Py_ssize_t, 8)
COARSE = cython.declare(cython.Py_ssize_t, 9)  # the constant, and the knots
BANDS = cython.declare(cython.Py_ssize_t, 32)  # of a number
BROAD_BANDS = cython.declare(cython.Py_ssize_t, 8)
KEPT = cython.declare(cython.Py_ssize_t, 256)  # numbers of a feature, from which bands are cut
PROBES = cython.declare(cython.Py_ssize_t, 4)
BEGIN = cython.declare(cython.double, 16.0)  # rounds before the first estimate
SETTLED = cython.declare(cython.double, 128.0)  # rounds before knots and blocks are set
GROWTH = cython.declare(cython.double, 1.15)  # of the rounds, from one estimate to the next
FIRST = cython.declare(cython.double, 0.1)  # a variance grows to at most 2 x + this
WORSE = cython.declare(cython.double, 3.0)  # nats, after which a stage starts again
SHARE = cython.declare(cython.double, 1e-4)  # of the weights that is spread over the stages
TINY = cython.declare(cython.double, 1e-9)
NONE = cython.declare(cython.double, 1e-300)
STEEP = cython.declare(cython.double, 6.0)  # no sum of effects is larger
RATIO = cython.declare(cython.double, 2.0)  # the largest logarithm of what a round counts for
RECENT = cython.declare(cython.double, 0.005)  # of averages: 200 rounds
TURN = cython.declare(cython.double, 1000.0)  # rounds that a pair has to show something
MASK = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


def mixed(number):
    """Return a hash of a number of 64 bits, from 0 to 2**62 - 1."""
    x: cython.ulonglong = cython.cast(cython.ulonglong, number)
    x ^= x >> 31
    x = (x * cython.cast(cython.ulonglong, 0x9E3779B97F4A7C15)) & MASK
    x ^= x >> 29
    x = (x * cython.cast(cython.ulonglong, 0xBF58476D1CE4E5B9)) & MASK
    x ^= x >> 32
    return cython.cast(cython.longlong, x >> 2)


def level_key(level, term):
    """Return the key of a level of a term."""
    return mixed(level + 1 + mixed(term))


@cython.final
@cython.cclass
class EffectCore:
    """The effects of features, and their steps. keys: those of a round, which a law sets."""

    def __init__(self, rules, state, keys) -> None:
        self.features, self.size = rules.features, len(rules.amounts)
        self.alone = rules.feedback == WON_LOST
        self.keys = keys
        self.owners, self.terms, self.used = state.owners, state.terms, state.used
        self.scores, self.infos = state.scores, state.infos
        self.fine_scores, self.fine_infos = state.fine_scores, state.fine_infos
        self.tau, self.mu, self.fine_mu = state.tau, state.mu, state.fine_mu
        self.stages, self.gains, self.due = state.stages, state.gains, state.due
        self.usual = state.usual
        self.pairs, self.since, self.turn = state.pairs, state.paired, state.turn
        self.numbers, self.counted, self.cuts = state.numbers, state.counted, state.number_cuts
        self.block, self.knot, self.part = state.block, state.knot, state.part
        self.limit, self.fine = state.fine_scores.shape
        self.singles = 1 + 3 * self.features
        self.count = len(state.tau)
        self.pool = self.count - self.singles
        pairs = [(a, b) for a in range(self.features) for b in range(a)]
        self.listed = np.array(pairs or [(0, 0)], dtype=np.int64)
        self.possible = len(pairs)
        size = self.size
        self.bands = np.full(max(self.features, 1), -1)
        self.term_keys, self.rows = np.full((2, max(self.count, 1)), -1)
        self.laws, self.ratios = np.zeros((3, size)), np.ones((3, self.fine))
        self.eta, self.eta_fine = np.zeros((3, COARSE)), np.zeros((3, self.fine))
        self.var, self.var_fine = np.zeros((3, COARSE)), np.zeros((3, self.fine))
        self.s, self.i = np.zeros((2, COARSE))
        self.s_fine, self.i_fine = np.zeros((2, self.fine))
        self.us, self.ui, self.all = np.zeros((3, COARSE))
        self.us_fine, self.ui_fine, self.all_fine = np.zeros((3, self.fine))
        self.salts = np.array([mixed(t) for t in range(self.count)], dtype=np.int64)
        self.likely, self.awake = np.zeros(3), np.zeros(3, dtype=np.int64)
        self.sums, self.weight = np.zeros((self.count, COARSE)), np.zeros((self.count, COARSE))
        self.fine_sums = np.zeros((self.singles, self.fine))
        self.fine_weight = np.zeros((self.singles, self.fine))
        self.found = np.zeros((self.count, 3, 2))

    def renew(self) -> None:
        """Estimate the variances again, after levels of others were added."""
        with cython.nogil:
            for _ in range(4):
                self.estimate()

    def settle(self, law: cython.const[cython.double][:, ::1]) -> None:
        """Set the blocks by the laws of nodes; see `settle_blocks`."""
        with cython.nogil:
            self.settle_blocks(law)

    def take(self, key: cython.longlong, term: cython.Py_ssize_t, used: cython.double) -> int:
        """Return the row of a level that was used so often elsewhere, or -1 without room.

        It takes the row of a level that was used less.
        """
        if not 0 <= term < self.count or key < 0 or self.limit == 0:
            raise IndexError("there is no such term")
        self.term_keys[term] = key
        self.rows[term] = self.row_of(term)
        row: cython.Py_ssize_t = self.row_for(term, used)
        if row >= 0:
            self.used[row] += used
        return row

    # --- levels --------------------------------------------------------------------------------

    def band_of(self, feature):
        """Return the band of a round's number, from 0 to 31; -1 if there is none."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = BANDS - 1
        key: cython.longlong = self.keys[feature]
        if key >= -1 or self.counted[feature] < BANDS:
            return -1
        while low < high:
            middle = (low + high) >> 1
            if key < self.cuts[feature, middle]:
                high = middle
            else:
                low = middle + 1
        return low

    def level_of(self, feature):
        """Return the level that a feature has in a pair; -1 if it has none."""
        if self.keys[feature] >= 0:
            return self.keys[feature]
        if self.bands[feature] < 0:
            return -1
        return self.bands[feature] * BROAD_BANDS // BANDS

    def find(self, rounds):
        """Set the key of each term in this round, and its row; -1 if it has none."""
        f: cython.Py_ssize_t
        level: cython.longlong
        other: cython.longlong
        turn: cython.longlong = cython.cast(cython.longlong, rounds)
        for f in range(self.features):
            self.bands[f] = self.band_of(f)
        for t in range(self.count):
            level = -1
            if t == 0:
                level = -1
            elif t < self.singles:
                f = (t - 1) % self.features
                if t <= self.features:
                    level = self.keys[f] if self.keys[f] >= 0 else -1
                elif self.bands[f] >= 0:
                    level = self.bands[f]
                    if t <= 2 * self.features:
                        level = level * BROAD_BANDS // BANDS
            elif self.tau[t, 0] + self.tau[t, 1] > 0.0 or (turn + t) % 4 == 0:
                pair = self.pairs[t - self.singles]
                level = self.level_of(self.listed[pair, 0])
                other = self.level_of(self.listed[pair, 1])
                level = mixed(level + mixed(other + 1)) if level >= 0 and other >= 0 else -1
            self.term_keys[t] = mixed(level + 1 + self.salts[t]) if level >= 0 else -1
            self.rows[t] = self.row_of(t)

    def row_of(self, t):
        """Return the row of the level that a term has in this round, or -1."""
        key: cython.longlong = self.term_keys[t]
        start: cython.Py_ssize_t = self.limit if t >= self.singles else 0
        if key < 0:
            return -1
        place: cython.Py_ssize_t = key % self.limit
        for _ in range(PROBES):
            if self.owners[start + place] == key:
                return start + place
            place += 1
            if place == self.limit:
                place = 0
        return -1

    def row_for(self, t, used):
        """Return the row of a level. If none is free, one wears down by `used`, or is taken."""
        row: cython.Py_ssize_t = self.rows[t]
        least: cython.double = 1e300
        best: cython.Py_ssize_t = -1
        key: cython.longlong = self.term_keys[t]
        if row >= 0 or key < 0:
            return row
        start: cython.Py_ssize_t = self.limit if t >= self.singles else 0
        place: cython.Py_ssize_t = key % self.limit
        for probe in range(PROBES):
            row = start + (place + probe) % self.limit
            worn = self.used[row] if self.owners[row] >= 0 else -1.0
            if worn < least:
                best, least = row, worn
        if least > 0.0 and least >= used:
            self.used[best] -= used
            return -1
        self.clear(best)
        self.owners[best] = key
        self.terms[best] = t
        return best

    def clear(self, row):
        self.owners[row] = -1
        self.terms[row] = -1
        self.used[row] = 0.0
        for q in range(COARSE):
            self.scores[row, q] = 0.0
            self.infos[row, q] = 0.0
        if row < self.limit:
            for q in range(self.fine):
                self.fine_scores[row, q] = 0.0
                self.fine_infos[row, q] = 0.0

    def note_number(self, f):
        """Keep the first numbers of a feature in order, and cut bands with as many of each."""
        key: cython.longlong = self.keys[f]
        count: cython.Py_ssize_t = self.counted[f]
        if key >= -1 or count >= KEPT:
            return
        at: cython.Py_ssize_t = count
        while at > 0 and self.numbers[f, at - 1] > key:
            self.numbers[f, at] = self.numbers[f, at - 1]
            at -= 1
        self.numbers[f, at] = key
        count += 1
        self.counted[f] = count
        if count >= BANDS and count & (count - 1) == 0:
            for k in range(1, BANDS):
                self.cuts[f, k - 1] = self.numbers[f, k * count // BANDS]

    # --- the law of a round --------------------------------------------------------------------

    def apply(self, chances, spreads, low, rounds, with_spreads):
        """Replace the base law in `chances` by the mixture of the stages.

        Columns from `low` on are set. The laws of the stages are kept for `learn`.
        """
        first: cython.double
        second: cython.double
        for k in range(low, self.size):
            self.laws[0, k] = chances[k]
        self.find(rounds)
        self.gather(1, 0, self.singles)
        self.gather(2, self.singles, self.count)
        self.set_law(1, low)
        self.set_law(2, low)
        if not self.awake[1] and not self.awake[2]:
            return
        first, second = self.stages[1], self.stages[2]
        if self.awake[2] == 0:
            first, second = first + second, 0.0
        for k in range(low, self.size):
            chances[k] = self.stages[0] * self.laws[0, k] + first * self.laws[1, k]
        if second > 0.0 and self.awake[2]:
            for k in range(low, self.size):
                chances[k] += second * self.laws[2, k]
        if with_spreads and not self.alone:
            self.move_spreads(spreads, first, second)

    def move_spreads(self, spreads, first, second):
        """Change the variance of each column by as much as the odds of its hazard."""
        above: cython.double = 0.0
        total: cython.double = 0.0
        for k in range(self.size - 1, -1, -1):
            block = self.block[k + 1]
            own = spreads[k]
            total += (own - above) * (
                self.stages[0] + first * self.ratios[1, block] + second * self.ratios[2, block]
            )
            above = own
            spreads[k] = total

    def gather(self, e, start, stop):
        """Sum up the means and variances of the effects of a stage."""
        settled: cython.bint = self.due[1] > 0.0
        self.awake[e] = 0
        for q in range(COARSE):
            self.eta[e, q] = 0.0
            self.var[e, q] = 0.0
        if e == 1:
            for q in range(self.fine):
                self.eta_fine[e, q] = 0.0
                self.var_fine[e, q] = 0.0
        for t in range(start, stop):
            row = self.rows[t]
            if row < 0:
                if self.term_keys[t] >= 0:
                    self.expect(e, t)
                continue
            tau = self.tau[t, 0]
            if tau > 0.0:
                self.awake[e] |= 1
                v = tau / (1.0 + self.infos[row, 0] * tau)
                self.eta[e, 0] += (self.scores[row, 0] - self.infos[row, 0] * self.mu[t, 0]) * v
                self.var[e, 0] += v
            tau = self.tau[t, 1]
            if tau > 0.0 and settled:
                self.awake[e] |= 2
                for q in range(1, COARSE):
                    v = tau / (1.0 + self.infos[row, q] * tau)
                    self.eta[e, q] += (self.scores[row, q] - self.infos[row, q] * self.mu[t, q]) * v
                    self.var[e, q] += v
            tau = self.tau[t, 2]
            if tau > 0.0 and settled and e == 1:
                self.awake[e] |= 4
                for q in range(self.fine):
                    v = tau / (1.0 + self.fine_infos[row, q] * tau)
                    self.eta_fine[e, q] += (
                        self.fine_scores[row, q] - self.fine_infos[row, q] * self.fine_mu[t, q]
                    ) * v
                    self.var_fine[e, q] += v

    def expect(self, e, t):
        """Add the variances of a level that has seen nothing."""
        self.var[e, 0] += self.tau[t, 0]
        if self.due[1] == 0.0:
            return
        for q in range(1, COARSE):
            self.var[e, q] += self.tau[t, 1]
        if e == 1 and self.tau[t, 2] > 0.0:
            for q in range(self.fine):
                self.var_fine[e, q] += self.tau[t, 2]

    def set_ratios(self, e):
        """Set the factor of the odds in each block, by this stage and those below."""
        y: cython.double
        if self.awake[e] == 1:
            y = exp(min(STEEP, max(-STEEP, self.eta[e, 0])))
            for q in range(self.fine):
                self.ratios[e, q] = y * self.ratios[e - 1, q]
            return
        for q in range(self.fine):
            m = self.knot[q] + 1
            y = (
                self.eta_fine[e, q]
                + (1.0 - self.part[q]) * self.eta[e, m]
                + self.part[q] * self.eta[e, m + 1]
                + self.eta[e, 0]
            )
            self.ratios[e, q] = exp(min(STEEP, max(-STEEP, y))) * self.ratios[e - 1, q]

    def set_law(self, e, low):
        """Set the law of a stage; if nothing in it is awake, it is that of the stage below."""
        chance: cython.double = 1.0
        highest: cython.double = 0.0
        if not self.awake[e]:
            for q in range(self.fine):
                self.ratios[e, q] = self.ratios[e - 1, q]
            for k in range(low, self.size):
                self.laws[e, k] = self.laws[e - 1, k]
            return
        self.set_ratios(e)
        if self.alone:
            for k in range(low, self.size):
                chance = self.laws[0, k] * self.ratios[e, self.block[k]]
                highest = max(highest, chance / (chance + 1.0 - self.laws[0, k] + NONE))
                self.laws[e, k] = highest
            return
        above: cython.double = 1.0
        for k in range(self.size - 1, low - 1, -1):
            own = self.laws[0, k]
            chance *= own / (own + (above - own) * self.ratios[e, self.block[k + 1]] + NONE)
            above = own
            self.laws[e, k] = chance

    def mixture(self, column):
        """Return the chance at a column by all stages together."""
        return (
            self.stages[0] * self.laws[0, column]
            + self.stages[1] * self.laws[1, column]
            + self.stages[2] * self.laws[2, column]
        )

    def explained(self, column):
        """Return what the features of a round subtract from the chance of an amount."""
        return self.laws[0, column] - self.mixture(column)

    def exposure(self, kind, column, rounds):
        """Return by how much features raise the hazards of the columns at risk, all together.

        The base counts a round for so many: if cheap sites get low bids, low columns are at risk
        only there. It is relative to the usual ratio, or else the base and all effects together
        could move in opposite directions.
        """
        first: cython.Py_ssize_t = max(column if kind == TOLD else column + 1, 1) - 1
        if first >= self.size:
            return 1.0
        base: cython.double = -log(max(self.laws[0, first], TINY))
        found: cython.double = -log(max(self.mixture(first), TINY))
        if base <= TINY or found <= TINY:
            return 1.0
        ratio: cython.double = log(found / base)
        self.usual[0] += max(1.0 / (rounds + 1.0), RECENT) * (ratio - self.usual[0])
        return exp(min(max(ratio - self.usual[0], -RATIO), RATIO))

    # --- learning ------------------------------------------------------------------------------

    def likelihood(self, e, kind, column, below):
        """Return the probability of an outcome by a stage; `below`: its column is at most this."""
        upper: cython.double = self.laws[e, column] if column < self.size else 1.0
        lower: cython.double = self.laws[e, column - 1] if column > 0 else 0.0
        if kind == TOLD:
            return max(upper - lower, TINY)
        return max(upper if below else 1.0 - upper, TINY)

    def learn(self, kind, column, below, rounds):
        """Learn from an outcome, after `apply`. column: in risk order. rounds: before this one."""
        for e in range(3):
            self.likely[e] = self.likelihood(e, kind, column, below)
            self.stages[e] *= self.likely[e]
        self.gains[0] += log(self.likely[1] / self.likely[0])
        self.gains[1] += log(self.likely[2] / self.likely[1])
        self.share_out()
        for f in range(self.features):
            self.note_number(f)
        for t in range(self.count):
            row = self.row_for(t, 1.0)
            self.rows[t] = row
            if row >= 0:
                self.used[row] += 1.0
        self.score(1, kind, column, below, 1.0)
        self.learn_stage(1, 0, self.singles, rounds)
        if self.awake[2]:
            self.score(2, kind, column, below, 1.0)
        self.learn_stage(2, self.singles, self.count, rounds)
        if rounds + 1.0 >= self.due[0]:
            self.due[0] = GROWTH * (rounds + 1.0) + 1.0
            self.review(rounds)

    def share_out(self):
        total: cython.double = self.stages[0] + self.stages[1] + self.stages[2]
        for e in range(3):
            self.stages[e] = (1.0 - SHARE) * self.stages[e] / total + SHARE / 3.0

    def correct(self, kind, old, below, new_kind, new, new_below):
        """Replace an outcome by another, by present laws, after `apply` with `low` = 0."""
        start: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        for e in range(3):
            self.stages[e] = max(self.stages[e] - SHARE / 3.0, TINY)
            self.stages[e] *= self.likelihood(e, new_kind, new, new_below) / self.likelihood(
                e, kind, old, below
            )
        self.share_out()
        for e in range(1, 3):
            start = 0 if e == 1 else self.singles
            stop = self.singles if e == 1 else self.count
            for sign in range(2):
                if sign == 0:
                    self.score(e, kind, old, below, -1.0)
                else:
                    self.score(e, new_kind, new, new_below, 1.0)
                self.learn_stage(e, start, stop, 0.0)
            for t in range(start, stop):
                if self.rows[t] >= 0:
                    self.clip(self.rows[t])

    def clip(self, row):
        """Let no information be negative, after an outcome was taken back."""
        for q in range(COARSE):
            self.infos[row, q] = max(self.infos[row, q], 0.0)
        if row < self.limit:
            for q in range(self.fine):
                self.fine_infos[row, q] = max(self.fine_infos[row, q], 0.0)

    def score(self, e, kind, column, below, sign):
        """Set the score and the information of an outcome, times `sign`, under a stage's law."""
        chance: cython.double
        above: cython.double = 1.0
        first: cython.Py_ssize_t = max(column if kind == TOLD else column + 1, 1)
        for q in range(self.fine):
            self.s_fine[q] = 0.0
            self.i_fine[q] = 0.0
        for q in range(COARSE):
            self.s[q] = 0.0
            self.i[q] = 0.0
        if self.alone:
            chance = self.laws[e, column]
            q = self.block[column]
            self.s_fine[q] = sign * ((1.0 if below else 0.0) - chance)
            self.i_fine[q] = sign * chance * (1.0 - chance)
        else:
            for k in range(self.size - 1, first - 2, -1):
                own = self.laws[e, k]
                hazard = (above - own) / (above + NONE)
                above = own
                q = self.block[k + 1]
                self.s_fine[q] -= sign * hazard
                self.i_fine[q] += sign * hazard * (1.0 - hazard)
            if kind == TOLD and column > 0:
                self.s_fine[self.block[column]] += sign
        for q in range(self.fine):
            m = self.knot[q] + 1
            near = 1.0 - self.part[q]
            self.s[m] += near * self.s_fine[q]
            self.i[m] += near * self.i_fine[q]
            self.s[m + 1] += self.part[q] * self.s_fine[q]
            self.i[m + 1] += self.part[q] * self.i_fine[q]
            self.s[0] += self.s_fine[q]
            self.i[0] += self.i_fine[q]

    def learn_stage(self, e, start, stop, rounds):
        """Add a score and its information to the effects of a stage.

        Terms that have shown nothing have no variance: they all add the same. Their blocks learn
        in one round of four.
        """
        v: cython.double
        row: cython.Py_ssize_t
        turn: cython.longlong = cython.cast(cython.longlong, rounds)
        settled: cython.bint = self.due[1] > 0.0
        columns: cython.Py_ssize_t = COARSE if settled else 1
        asleep: cython.bint
        for q in range(columns):
            v = self.var[1, q] + (self.var[1, 0] if q > 0 else 0.0)
            if e == 2:
                v += self.var[2, q] + (self.var[2, 0] if q > 0 else 0.0)
            u = 1.0 / (1.0 + max(self.i[q], 0.0) * v)
            self.all[q] = v
            self.us[q] = u * self.s[q]
            self.ui[q] = u * self.i[q]
        if e == 1 and settled:
            for q in range(self.fine):
                m = self.knot[q] + 1
                near = self.part[q]
                v = (
                    self.var_fine[1, q]
                    + (1.0 - near) * self.var[1, m]
                    + near * self.var[1, m + 1]
                    + self.var[1, 0]
                )
                u = 1.0 / (1.0 + max(self.i_fine[q], 0.0) * v)
                self.all_fine[q] = v
                self.us_fine[q] = u * self.s_fine[q]
                self.ui_fine[q] = u * self.i_fine[q]
        for t in range(start, stop):
            row = self.rows[t]
            if row < 0:
                continue
            asleep = self.tau[t, 0] + self.tau[t, 1] == 0.0
            if asleep:
                for q in range(columns):
                    self.scores[row, q] += self.us[q]
                    self.infos[row, q] += self.ui[q]
            else:
                for q in range(columns):
                    self.add(row, t, q)
            if e == 2 or not settled:
                continue
            if self.tau[t, 2] > 0.0:
                self.add_fine(row, t)
            elif not asleep or (turn + t) & 3 == 0:
                for q in range(self.fine):
                    self.fine_scores[row, q] += self.us_fine[q]
                    self.fine_infos[row, q] += self.ui_fine[q]

    def add(self, row, t, q):
        """Do one step of the filter for one effect."""
        tau: cython.double = self.tau[t, 1 if q > 0 else 0]
        info: cython.double = self.infos[row, q]
        own: cython.double = tau / (1.0 + info * tau)
        mean: cython.double = (self.scores[row, q] - info * self.mu[t, q]) * own
        u: cython.double = 1.0 / (1.0 + max(self.i[q], 0.0) * max(self.all[q] - own, 0.0))
        self.scores[row, q] += u * (self.s[q] + self.i[q] * mean)
        self.infos[row, q] = info + u * self.i[q]

    def add_fine(self, row, t):
        tau: cython.double = self.tau[t, 2]
        for q in range(self.fine):
            info = self.fine_infos[row, q]
            own = tau / (1.0 + info * tau)
            mean = (self.fine_scores[row, q] - info * self.fine_mu[t, q]) * own
            i = self.i_fine[q]
            u = 1.0 / (1.0 + max(i, 0.0) * max(self.all_fine[q] - own, 0.0))
            self.fine_scores[row, q] += u * (self.s_fine[q] + i * mean)
            self.fine_infos[row, q] = info + u * i

    # --- estimates -----------------------------------------------------------------------------

    def review(self, rounds):
        """Forget what has predicted worse, estimate all variances, and try other pairs."""
        if self.gains[0] < -WORSE:
            self.forget(0, self.count)
        elif self.gains[1] < -WORSE:
            self.forget(self.singles, self.count)
        self.gains[0] = 0.0
        self.gains[1] = 0.0
        self.estimate()
        for t in range(self.singles, self.count):
            at = t - self.singles
            if self.possible <= self.pool:
                break
            if self.tau[t, 0] + self.tau[t, 1] > 0.0:
                continue
            if rounds - self.since[at] > TURN + 0.2 * rounds:
                self.pairs[at] = self.next_pair()
                self.since[at] = rounds
                self.forget(t, t + 1)

    def next_pair(self):
        """Return the next pair of features that is not in the pool."""
        taken: cython.bint = True
        while taken:
            self.turn[0] = (self.turn[0] + 1) % self.possible
            taken = False
            for at in range(self.pool):
                if self.pairs[at] == self.turn[0]:
                    taken = True
        return self.turn[0]

    def forget(self, start, stop):
        """Let some terms start again from nothing."""
        for row in range(self.owners.shape[0]):
            if start <= self.terms[row] < stop:
                self.clear(row)
        for t in range(start, stop):
            for z in range(3):
                self.tau[t, z] = 0.0
            for q in range(COARSE):
                self.mu[t, q] = 0.0
            if t < self.singles:
                for q in range(self.fine):
                    self.fine_mu[t, q] = 0.0

    def estimate(self):
        """Set the means of the effects of each term, and then their variances."""
        for t in range(self.count):
            for q in range(COARSE):
                self.sums[t, q] = 0.0
                self.weight[t, q] = TINY
            for z in range(3):
                self.found[t, z, 0] = 0.0
                self.found[t, z, 1] = 0.0
        for t in range(self.singles):
            for q in range(self.fine):
                self.fine_sums[t, q] = 0.0
                self.fine_weight[t, q] = TINY
        for row in range(self.owners.shape[0]):
            t = self.terms[row]
            if t < 0:
                continue
            for q in range(COARSE):
                self.sums[t, q] += self.scores[row, q]
                self.weight[t, q] += self.infos[row, q]
            if row < self.limit:
                for q in range(self.fine):
                    self.fine_sums[t, q] += self.fine_scores[row, q]
                    self.fine_weight[t, q] += self.fine_infos[row, q]
        for t in range(1, self.count):
            for q in range(COARSE):
                self.mu[t, q] = self.sums[t, q] / self.weight[t, q]
        for t in range(1, self.singles):
            for q in range(self.fine):
                self.fine_mu[t, q] = self.fine_sums[t, q] / self.fine_weight[t, q]
        for row in range(self.owners.shape[0]):
            t = self.terms[row]
            if t < 0:
                continue
            for q in range(COARSE):
                self.weigh(
                    t,
                    1 if q > 0 else 0,
                    self.infos[row, q],
                    self.scores[row, q] - self.infos[row, q] * self.mu[t, q],
                    self.weight[t, q],
                )
            if row < self.limit:
                for q in range(self.fine):
                    self.weigh(
                        t,
                        2,
                        self.fine_infos[row, q],
                        self.fine_scores[row, q] - self.fine_infos[row, q] * self.fine_mu[t, q],
                        self.fine_weight[t, q],
                    )
        for t in range(self.count):
            for z in range(3):
                if self.found[t, z, 1] > 0.0:
                    most = 2.0 * self.tau[t, z] + FIRST
                    self.tau[t, z] = max(0.0, min(most, self.found[t, z, 0] / self.found[t, z, 1]))

    def weigh(self, t, z, info, centred, total):
        """Add what one effect says about the variance of those of its term."""
        if info <= 1e-6:
            return
        u: cython.double = 1.0 + info * self.tau[t, z]
        w: cython.double = info / (u * u)
        free: cython.double = 1.0 if t == 0 else 1.0 - info / total
        self.found[t, z, 0] += w * (centred * centred / info - free)
        self.found[t, z, 1] += w * info * free

    def settle_blocks(self, law):
        """Set blocks and knots: as many outcomes are expected in each, by the law of all rounds.

        law: the hazards of all rounds, in risk order; log odds are not used.
        """
        left: cython.double = 1.0
        mass: cython.double = 0.0
        x: cython.double
        fine: cython.double = self.fine
        for q in range(self.fine):
            self.part[q] = (q + 0.5) / fine
        if self.alone:
            for k in range(self.size):
                self.block[k] = k * self.fine // self.size
        else:
            for j in range(self.size, 0, -1):
                mass = 1.0 - left + 0.5 * left * law[0, j]
                left *= 1.0 - law[0, j]
                if self.fine == self.size:
                    self.block[j] = j - 1
                    self.part[j - 1] = mass
                else:
                    self.block[j] = min(self.fine - 1, cython.cast(cython.Py_ssize_t, mass * fine))
        for q in range(self.fine):
            x = min(KNOTS - 1.001, max(0.0, self.part[q] * KNOTS - 0.5))
            self.knot[q] = cython.cast(cython.Py_ssize_t, x)
            self.part[q] = x - self.knot[q]
        self.due[1] = SETTLED + 1.0
