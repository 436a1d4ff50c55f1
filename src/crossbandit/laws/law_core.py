# cython: infer_types=True
"""The core of a law: counts by node, the laws computed from them, choices, and learning.

The hidden number of a round is seen on a grid of K amounts: its *cell* is the number of the lowest
amount that reaches it, or K if none does. So amount k reaches the number iff the cell is at most k.

Every *node* counts outcomes of some rounds. There are two kinds of nodes, one per row:

- pool: a full binary tree over bands of the context, in the order of a heap (row 0 is the root);
- recent: such a tree, less deep, for every half-life: its counts are discounted.

Counts are in *risk order*: with feedback that hides high cells, cell j is kept in column K - j and
amount k in column K - 1 - k ("mirrored"). Then in all cases only low columns are ever hidden.

The law of a node is a row of hazards, h_j = P(cell = j | cell <= j), in risk order. In a node, n_j
outcomes were told in column j, and r_j rounds were at risk there. It begins with the hazards h_j of
its parent and their variances V_j. If d is the variance of the node's hazards around these (like
V_j, relative to h_j (1 - h_j)), then

    h_j <- (n_j + h_j / d) / (r_j + 1 / d)                                    `draw_near`
    V_j <- 1 / (r_j + 1 / d) + ((1 / d) / (r_j + 1 / d))^2 V_j

So the parent's law counts as 1 / d rounds. At the root, d = 1. Elsewhere it is estimated, by
empirical Bayes (James-Stein), from 0 to 1:

    e_j = r_j h_j (1 - h_j),   w_j = e_j / (e_j + 1)
    d = sum_j w_j ((n_j - r_j h_j)^2 / e_j - 1) / sum_j w_j (r_j - 1)         `shrink_columns`

and the result is shrunk towards that of other nodes of the same kind and depth (`heterogeneity`).
This is done twice: first for a few blocks of columns, each with one ratio of node to parent, then
for single columns. If it is only seen whether an amount reached the number, a law is a row of log
odds instead (`shrink_odds`).

Lower amounts are tried in contexts where the law of these amounts comes from other contexts. If a
band of contexts always plays high amounts, and these reach the number, it never sees what lower
amounts would have earned. If lower amounts could earn far more than the best one, they are
sometimes tried, at first half of the best amount. A lower amount reaches the number less often. So
if half of the best amount hardly ever does, nothing below it needs to be tried. Otherwise it is
tried again, and then lower amounts are.

What the features of a round change in this law is added by `effect_core.py`.

Sums over columns are computed as eight sums at a time: in one sum, each addition must wait for the
one before it. The order of the additions is fixed.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.crossbandit.laws.effect_core import EffectCore
    from cython.cimports.crossbandit.laws.test_core import TestCore
    from cython.cimports.libc.math import INFINITY, cos, exp, floor, log, pow, sin, sqrt
else:
    from math import cos, exp, floor, log, pow, sin, sqrt
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.laws.effect_core import EffectCore
    from crossbandit.laws.test_core import TestCore

import numpy as np

# What is told: the number if the amount did not reach it, if it did, always, never.
AFTER_LOSS = cython.declare(cython.Py_ssize_t, 0)
AFTER_WIN = cython.declare(cython.Py_ssize_t, 1)
ALWAYS = cython.declare(cython.Py_ssize_t, 2)
WON_LOST = cython.declare(cython.Py_ssize_t, 3)
# What amount a earns with a worth w and a cost c: w - a if it reaches the number, minus c * a in
# any case; a - c if it does not reach the number; w * min(number, a) - c * a.
FIRST_PRICE = cython.declare(cython.Py_ssize_t, 0)
POSTED_PRICE = cython.declare(cython.Py_ssize_t, 1)
NEWSVENDOR = cython.declare(cython.Py_ssize_t, 2)
# What an outcome says: the cell; that the cell is at most an amount; that it is above an amount.
TOLD = cython.declare(cython.Py_ssize_t, 0)
AT_MOST = cython.declare(cython.Py_ssize_t, 1)
ABOVE = cython.declare(cython.Py_ssize_t, 2)

FIRST_CODE = cython.declare(cython.Py_ssize_t, 4)  # added to the code of an outcome
LEVELS = cython.declare(cython.Py_ssize_t, 10)  # more than any tree is deep
TRY_DEPTH = cython.declare(cython.Py_ssize_t, 2)  # amounts are tried in the pool down to here
SPLIT = cython.declare(cython.double, 512.0)  # a node with fewer rounds has no children
MATURE = cython.declare(cython.double, 32.0)  # a child with fewer is not used
FRESH = cython.declare(cython.double, 0.03125)  # growth after which a law is computed again
BLOCKS = cython.declare(cython.double, 8.0)  # of columns, with the same expected outcomes
COVERED = cython.declare(cython.double, 8.0)  # rounds at risk for which a block's ratio holds
LEAST = cython.declare(cython.double, 1e-300)  # outcomes that must be expected for blocks
CERTAIN = cython.declare(cython.double, 0.999)  # no hazard is larger
TINY = cython.declare(cython.double, 1e-9)  # added to hazards in ratios; the least likelihood
SETTLED = cython.declare(cython.double, 128.0)  # rounds before the blocks of effects are set
TRIED = cython.declare(cython.double, 32.0)  # amounts with fewer rounds count as untried
LARGE = cython.declare(cython.double, 1e15)  # a larger scale is reset to 1
CONTRADICTION = cython.declare(cython.double, 5.0)  # in standard errors
DIFFERENT = cython.declare(cython.double, 16.0)  # no variance of log odds is larger
HIGHEST = cython.declare(cython.double, 12.0)  # no log odds are larger
WIDTH = cython.declare(cython.double, 0.04)  # of an amount's neighbourhood, as a share of all
SCATTER = cython.declare(cython.double, 0.25)  # relative deviation of an amount at the beginning
STEEP = cython.declare(cython.double, 3.0)  # its factor, per standard deviation among bands
LOG_2 = cython.declare(cython.double, 0.6931471805599453)
TWO_PI = cython.declare(cython.double, 6.283185307179586)

# Tries of lower amounts.
FAR = cython.declare(cython.double, 0.5)  # the next lower amount, as a share of an amount
TWICE = cython.declare(cython.double, 2.0)  # what they must be able to earn, times the best
CLEARLY = cython.declare(cython.double, 1.2)  # the same, if judged by the rounds of tries
ENOUGH = cython.declare(cython.double, 128.0)  # rounds after which an amount is not tried again
FEW = cython.declare(cython.double, 16.0)  # with fewer, the share that reached says too little
ERRORS = cython.declare(cython.double, 2.0)  # by how many errors that share may be too low
SHARE = cython.declare(cython.double, 0.0078125)  # mean cost, as a share of the possible gain
MOST = cython.declare(cython.double, 2.0)  # that gain counts up to this many times the best
OFTEN = cython.declare(cython.double, 0.125)  # the largest probability of a try
LINES = cython.declare(cython.Py_ssize_t, 256)  # nodes of the pool whose laws are kept
# Columns of `kept`: the nodes of an expert and of the pool, the last change before its chances
# were computed, the columns for which they were, and the last change before its spreads were.
ROW, POOL = cython.declare(cython.Py_ssize_t, 0), cython.declare(cython.Py_ssize_t, 1)
CHANCES, LOW = cython.declare(cython.Py_ssize_t, 2), cython.declare(cython.Py_ssize_t, 3)
HIGH, SPREADS = cython.declare(cython.Py_ssize_t, 4), cython.declare(cython.Py_ssize_t, 5)

# Where the law lays its own grid.
SOON = cython.declare(cython.double, 0.0625)  # a node has children after this share of all rounds
EARLY = cython.declare(cython.double, 64.0)  # but not with fewer rounds than this
CALM = cython.declare(cython.double, 0.5)  # the noise of the first choice, as a share of the usual
RISING = cython.declare(cython.double, 1e-4)  # by how much the noise of choices rises in a round
NARROW = cython.declare(cython.double, 0.1)  # the relative width in which a number is predicted
RARE = cython.declare(cython.double, 1e-5)  # added to likelihoods
HEED = cython.declare(cython.double, 0.5)  # a round counts by this power of its context
SAME = cython.declare(cython.double, 1e-12)  # amounts that differ by less are equal
PERIOD = cython.declare(cython.Py_ssize_t, 256)  # rounds after which the grid is looked at


@cython.cclass
class LawParts:
    """What machine code uses of an `OutcomeLaw`."""


@cython.final
@cython.cclass
class LawCore:
    """The settings, the counts and the steps of one law."""

    def __init__(self, rules, state, scratch) -> None:
        self.made_of = (rules, state, scratch)
        self.amounts = rules.amounts
        self.cuts, self.power, self.laid = rules.cuts, rules.power, rules.center > 0.0
        self.depth, self.recent_depth = rules.depth, rules.recent_depth
        self.growth, self.half_lives = rules.growth, rules.half_lives
        self.share, self.feedback, self.payoff = rules.share, rules.feedback, rules.payoff
        self.mirrored, self.strict = rules.mirrored, rules.strict
        self.features, self.optimism = rules.features, rules.optimism
        self.probing = rules.probing
        self.size, self.memories = len(rules.amounts), len(rules.growth)
        self.latest, self.latest_keys, self.ring = state.kept, state.kept_keys, state.ring
        self.stale, self.predicted = False, 0.0
        self.told, self.hidden = state.told, state.hidden
        self.visits, self.since = state.visits, state.since
        self.law, self.spread = state.law, state.spread
        self.evidence, self.totals = state.evidence, state.totals
        self.scale, self.weights, self.asked = state.scale, state.weights, state.asked
        self.untried, self.reached = state.untried, state.reached
        self.rounds = state.rounds
        self.experts = len(state.weights)
        # The lowest amount that means to act: a bid of 0 means not to bid.
        self.lowest = 1 if self.payoff == FIRST_PRICE and rules.amounts[0] == 0.0 else 0
        self.work, self.chances = scratch.work, scratch.chances
        self.spreads, self.rows, self.flat = scratch.spreads, scratch.rows, scratch.flat
        self.changed, self.changes = np.zeros(len(state.visits), dtype=np.int64), 0
        self.kept, self.line = np.full((LINES, self.experts, 6), -1), 0
        self.kept_chances, self.kept_spreads = np.empty((2, LINES, self.experts, self.size))
        self.keys, self.combined = np.full(max(rules.features, 1), -1), -1
        self.effects = EffectCore(rules, state, self.keys)

    def __reduce__(self):
        return type(self), self.made_of

    # --- what Python calls ---------------------------------------------------------------------

    def decide(
        self,
        context: cython.double,
        slots: cython.const[cython.longlong][::1],
        worth: cython.double,
        cost: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        uniforms: cython.const[cython.double][::1],
    ) -> int:
        """Return the amount to play. The counts are not changed."""
        self.check(first, last, uniforms)
        self.set_keys(slots)
        self.set_uniforms(uniforms)
        return self.choose(self.read_to_choose(context), worth, cost, first, last)

    def chance(self, amount: cython.Py_ssize_t) -> float:
        """Return the chance that an amount reaches the number, by the law that was read last."""
        if not 0 <= amount < self.size:
            raise IndexError("there is no such amount")
        return self.chance_of(amount)

    def decide_all(
        self,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        worths: cython.const[cython.double][::1],
        costs: cython.const[cython.double][::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        out: cython.longlong[::1],
        chances: cython.double[::1],
    ) -> None:
        """Decide in n rounds. slots: (n, width). uniforms: (n, 3). All other arrays: (n,).

        If firsts[i] > lasts[i], no amount may be played, and out[i] = -1. chances: set to the
        probability that the amount reaches the number, by the law.
        """
        with cython.nogil:
            for i in range(contexts.shape[0]):
                out[i] = -1
                chances[i] = 0.0
                if firsts[i] <= lasts[i]:
                    self.take_row(slots, uniforms, i)
                    out[i] = self.choose(
                        self.read_to_choose(contexts[i]), worths[i], costs[i], firsts[i], lasts[i]
                    )
                    chances[i] = self.chance_of(out[i])

    def weigh_choices(
        self,
        context: cython.double,
        slots: cython.const[cython.longlong][::1],
        worth: cython.double,
        cost: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        lowest: cython.double,
        uniforms: cython.const[cython.double][:, ::1],
        weights: cython.const[cython.double][::1],
        out: cython.double[::1],
    ) -> None:
        """Add the weight of each row of random numbers to `out` (K,), at the amount chosen with it.

        lowest: if the best amount is below this one, no lower amount is tried. uniforms: (n, 2).
        weights: (n,).
        """
        self.set_keys(slots)
        band: cython.Py_ssize_t = self.read_law(context)
        worth /= self.unit
        for i in range(weights.shape[0]):
            self.u, self.v = uniforms[i, 0], uniforms[i, 1]
            best = self.without_tries(worth, cost, first, last)
            if self.may_try() and self.amounts[best] >= lowest:
                self.weigh_tries(band, best, worth, first, weights[i], out)
            else:
                out[best] += weights[i]

    def read(self, context: cython.double, slots: cython.const[cython.longlong][::1]) -> None:
        """Read the law at a context into the scratch arrays."""
        self.set_keys(slots)
        self.read_law(context)

    def learn(
        self,
        context: cython.double,
        slots: cython.const[cython.longlong][::1],
        kind: cython.Py_ssize_t,
        index: cython.Py_ssize_t,
        amount: cython.Py_ssize_t,
    ) -> None:
        """Count an outcome: the cell was TOLD, or it is known to be AT_MOST or ABOVE an amount."""
        self.set_keys(slots)
        self.learn_at(self.band_of(context), kind, index, amount)

    def learn_all(
        self,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        kinds: cython.const[cython.longlong][::1],
        indices: cython.const[cython.longlong][::1],
        amounts: cython.const[cython.longlong][::1],
    ) -> None:
        """Learn from n outcomes. slots: (n, features + 1). All other arrays: (n,)."""
        with cython.nogil:
            for i in range(contexts.shape[0]):
                if kinds[i] != TOLD and 0 <= amounts[i] < self.lowest:
                    continue  # no bid was made, and nothing is told
                self.take_keys(slots, i)
                self.learn_at(self.band_of(contexts[i]), kinds[i], indices[i], amounts[i])

    def play(
        self,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        worths: cython.const[cython.double][::1],
        costs: cython.const[cython.double][::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        cells: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        out: cython.longlong[::1],
    ) -> None:
        """Decide and learn in n rounds. slots: (n, features + 1). uniforms: (n, 3). Others: (n,).

        If firsts[i] > lasts[i], no amount may be played, and out[i] = -1.
        """
        with cython.nogil:
            for i in range(contexts.shape[0]):
                out[i] = -1
                if firsts[i] <= lasts[i]:
                    self.take_row(slots, uniforms, i)
                    band = self.read_to_choose(contexts[i])
                    out[i] = self.choose(band, worths[i], costs[i], firsts[i], lasts[i])
                    self.absorb_cell(band, out[i], cells[i], out[i])

    def shown(self, amount: cython.double, reached: cython.bint, number: cython.double):
        """Return what an outcome says on the grid: its kind, what it is about, the amount played.

        If an amount between two amounts of the grid has reached the number, the higher of the two
        reaches it as well. If it has not, the lower of the two does not reach it either. The kind
        is negative if nothing is known about any amount of the grid. The amount played is -1 if it
        is not on the grid. number: used only if it is told; it agrees with `reached`, up to
        rounding.
        """
        played: cython.Py_ssize_t = self.grid_place(amount)
        code: cython.Py_ssize_t = self.show(amount, played, reached, number)
        return (code & 3) - 1, (code >> 2) - 1, played

    def rebuild(self, table: cython.const[cython.longlong][:, ::1]) -> None:
        """Compute the laws of all nodes in use, parents first.

        table: (nodes, 5): row, parent or -1, place in the pool, depth, and group.
        """
        for i in range(table.shape[0]):
            row, parent, group = table[i, 0], table[i, 1], table[i, 4]
            unit = self.scale[group]
            if self.visits[row] <= 0.0 or (parent >= 0 and self.visits[row] < MATURE * unit):
                continue
            if parent >= 0 and self.visits[parent] < self.split() * unit:
                continue
            self.refresh(group, row, parent, table[i, 2], table[i, 3])

    def settle_all(
        self,
        test: object,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        amounts: cython.const[cython.double][::1],
        reached: cython.const[cython.uchar][::1],
        numbers: cython.const[cython.double][::1],
        tried: cython.const[cython.uchar][::1],
        codes: cython.longlong[::1],
    ) -> int:
        """Learn from outcomes, and set their codes, until all are learned or the grid is stale.

        Return how many were learned. slots: (n, features + 1). Others: (n,). Answered decisions are
        not counted.
        """
        one: TestCore = test  # or None
        i: cython.Py_ssize_t = 0
        with cython.nogil:
            while i < contexts.shape[0] and not self.stale:
                self.take_keys(slots, i)
                mark = self.settle_one(
                    one, contexts[i], amounts[i], reached[i] != 0, numbers[i], tried[i] != 0
                )
                if mark >= 0 and one is not None:
                    one.tested[0] += 1
                codes[i] = FIRST_CODE + mark
                i += 1
        return i

    def settle_one(self, test, context, amount, reached, number, tried):
        if self.laid:
            self.keep(context, amount, reached, number, tried)
            self.heed = pow(context, HEED)
            unit: cython.double = self.unit_at(context)
            number /= unit
            amount = self.nearest(amount / unit)
        played: cython.Py_ssize_t = self.grid_place(amount)
        code: cython.Py_ssize_t = self.show(amount, played, reached, number)
        kind: cython.Py_ssize_t = (code & 3) - 1
        index: cython.Py_ssize_t = (code >> 2) - 1
        if kind < 0:
            return -1
        if self.laid and played < 0 and 0.0 <= amount <= self.amounts[self.size - 1]:
            # Wins and losses of amounts between two of the grid must count in the same cell.
            played = self.place_of(amount, False)
            if kind == TOLD and index == played and self.feedback == AFTER_LOSS:
                kind = AT_MOST
            elif kind == TOLD and index == played and self.feedback == AFTER_WIN and played > 0:
                kind, index = ABOVE, played - 1
        band: cython.Py_ssize_t = self.band_of(context)
        if kind == TOLD or not 0 <= played < self.lowest:  # otherwise no bid was made
            self.learn_at(band, kind, index, played if tried else -1)
        if test is not None:
            test.test_one(self.feedback, self.mirrored, band, self.combined, kind, index, played)
        return 4 * index + kind

    def keep(self, context, amount, reached, number, tried):
        """Keep a round in money; the grid is stale when it may have to be laid again."""
        ring: cython.Py_ssize_t = self.latest.shape[0]
        count: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.ring[0])
        at: cython.Py_ssize_t = count % ring
        if 0.0 <= amount < INFINITY and not tells(self.feedback, reached):
            number = 0.0
        self.latest[at, 0], self.latest[at, 1], self.latest[at, 2] = context, amount, number
        self.latest[at, 3] = (1.0 if reached else 0.0) + (2.0 if tried else 0.0)
        for f in range(self.features):
            self.latest_keys[at, f] = self.keys[f]
        self.latest_keys[at, self.features] = self.combined
        self.ring[2] = context if count == 0 else min(self.ring[2], context)
        self.ring[3] = context if count == 0 else max(self.ring[3], context)
        count += 1
        self.ring[0] = count
        # An interrupt may have come before the grid was laid.
        self.stale |= count & (count - 1) == 0 if count <= ring else count % PERIOD == 0

    def nearest(self, amount):
        """Return the amount of the grid that an amount equals, up to rounding; else the amount.

        If it is only seen whether an amount reached the number, the nearest one takes its place.
        """
        above: cython.Py_ssize_t = self.place_of(amount, False)
        best: cython.double = amount
        for k in range(max(above - 1, 0), min(above + 1, self.size)):
            near: cython.bint = abs(self.amounts[k] - amount) < SAME * amount
            if self.feedback == WON_LOST and (
                best == amount or abs(self.amounts[k] - amount) < abs(best - amount)
            ):
                near = True
            if near:
                best = self.amounts[k]
        return best

    def amount_up_to(self, number):
        """Return the highest amount up to a number, by number; 0 if there is none."""
        return max(self.place_of(number, True) - 1, 0)

    def unit_at(self, context):
        """Return what an amount of 1 on the grid is at a context, in money."""
        return pow(context, self.power) if self.power != 0.0 else 1.0

    def split(self):
        """Return how many rounds a node needs for children."""
        return min(max(self.rounds[0] * SOON, EARLY), SPLIT) if self.laid else SPLIT

    def correct(
        self,
        test: TestCore,
        context: cython.double,
        slots: cython.const[cython.longlong][::1],
        kind: cython.Py_ssize_t,
        index: cython.Py_ssize_t,
        new_kind: cython.Py_ssize_t,
        new_index: cython.Py_ssize_t,
        amount: cython.Py_ssize_t,
    ) -> None:
        """Replace an outcome that was learned by another; see `learn` for what they are.

        One round is moved from the old column to the new one in every node of the context, and the
        laws of these nodes are computed again.
        """
        band: cython.Py_ssize_t = self.band_of(context)
        self.set_keys(slots)
        self.find_rows(band)
        old: cython.Py_ssize_t = self.column_of(kind, index)
        new: cython.Py_ssize_t = self.column_of(new_kind, new_index)
        if self.features > 0:
            self.read_near(0)
            self.effects.correct(
                kind, old, self.is_below(kind), new_kind, new, self.is_below(new_kind)
            )
        self.reweigh(kind, old, new_kind, new)
        was_told: cython.bint = self.is_told(kind)
        now_told: cython.bint = self.is_told(new_kind)
        for m in range(self.memories):
            start, unit = self.first_row(m), self.scale[m]
            for level in range((self.depth if m == 0 else self.recent_depth) + 1):
                place = self.node_of(band, level)
                row = start + place
                self.move(row, unit, was_told, old, now_told, new)
                if m == 0 and level <= TRY_DEPTH and amount >= 0:
                    asked = self.size - 1 - amount if self.mirrored else amount
                    # Another amount may have been placed before; a share stays from 0 to 1.
                    count: cython.double = self.reached[place, asked]
                    count -= reaches(kind, index, amount)
                    count += reaches(new_kind, new_index, amount)
                    self.reached[place, asked] = min(max(count, 0.0), self.asked[place, asked])
                parent = -1 if level == 0 else start + self.node_of(band, level - 1)
                if parent < 0 or (
                    self.visits[parent] >= self.split() * unit and self.visits[row] >= MATURE * unit
                ):
                    self.refresh(m, row, parent, place, level)
        test.move(self.feedback, 0, kind, old, new_kind, new)
        row = test.known_row(self.combined)
        if row >= 0:
            test.move(self.feedback, row, kind, old, new_kind, new)

    def check(self, first, last, uniforms):
        if not 0 <= first <= last < self.size or uniforms.shape[0] < 3:
            raise IndexError("there are no such amounts, or too few random numbers")

    def set_keys(self, slots):
        """Note the features of a round: a key of each, and last that of all categories together."""
        for f in range(self.features):
            self.keys[f] = slots[f] if f < slots.shape[0] else -1
        self.combined = slots[slots.shape[0] - 1] if slots.shape[0] > 0 else -1

    def take_keys(self, slots, i):
        for f in range(self.features):
            self.keys[f] = slots[i, f] if f < slots.shape[1] else -1
        self.combined = slots[i, slots.shape[1] - 1] if slots.shape[1] > 0 else -1

    def set_uniforms(self, uniforms):
        """Note the random numbers of a round."""
        self.u, self.v, self.w = uniforms[0], uniforms[1], uniforms[2]

    def take_row(self, slots, uniforms, i):
        self.take_keys(slots, i)
        self.u, self.v, self.w = uniforms[i, 0], uniforms[i, 1], uniforms[i, 2]

    # --- where things are ----------------------------------------------------------------------

    def band_of(self, context):
        """Return the number of the finest band in which a context lies."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.cuts.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if context < self.cuts[middle]:
                high = middle
            else:
                low = middle + 1
        return low

    def first_row(self, memory):
        """Return the root of a memory's tree."""
        one: cython.Py_ssize_t = 1
        deep: cython.Py_ssize_t = (one << (self.depth + 1)) - 1
        other: cython.Py_ssize_t = (one << (self.recent_depth + 1)) - 1
        return 0 if memory == 0 else deep + (memory - 1) * other

    def node_of(self, band, depth):
        """Return the pool's node of a band at a depth. It is also the place in any full tree."""
        one: cython.Py_ssize_t = 1
        return (one << depth) - 1 + (band >> (self.depth - depth))

    def column_of(self, kind, index):
        """Return the column, in risk order, of a cell that was told or of an amount."""
        if self.mirrored:
            return self.size - (0 if kind == TOLD else 1) - index
        return index

    def is_told(self, kind):
        """Return whether an outcome is counted in `told`."""
        return kind == (AT_MOST if self.feedback == WON_LOST else TOLD)

    def place_of(self, number, strict):
        """Return the lowest amount that is at least `number`, by number; above it, if `strict`."""
        return place_in(self.amounts, self.size, number, strict)

    def grid_place(self, amount):
        """Return the number of an amount; -1 if it is not on the grid."""
        place: cython.Py_ssize_t = self.place_of(amount, False)
        return place if place < self.size and self.amounts[place] == amount else -1

    def show(self, amount, played, reached, number):
        """Return kind and index of `shown` as one number: 4 * (index + 1) + kind + 1.

        played: the number of the amount; -1 if it is not on the grid. Nothing is written: other
        threads may call this while the law learns.
        """
        above: cython.Py_ssize_t = played
        below: cython.Py_ssize_t = played
        if played < 0:
            above = self.place_of(amount, False)
            below = above - 1
        if tells(self.feedback, reached):
            kind, index = TOLD, self.place_of(number, self.strict)
            index = min(index, above) if reached else max(index, below + 1)
        elif reached:
            kind, index = AT_MOST if above < self.size else -1, above
        else:
            kind, index = ABOVE if below >= 0 else -1, below
        return 4 * (index + 1) + kind + 1

    # --- reading -------------------------------------------------------------------------------

    def find_rows(self, band):
        """Set rows[i] to the deepest node in use of memory i, and the pool's there."""
        pool_depth: cython.Py_ssize_t = 0
        split: cython.double = self.split()
        for m in range(self.memories):
            start = self.first_row(m)
            depth = self.depth if m == 0 else min(self.recent_depth, pool_depth)
            many, enough = split * self.scale[m], MATURE * self.scale[m]
            place = self.node_of(band, depth)
            while depth > 0:  # a node has no more rounds than its parent
                parent = (place - 1) >> 1
                if self.visits[start + place] >= enough and self.visits[start + parent] >= many:
                    break
                depth, place = depth - 1, parent
            if m == 0:
                pool_depth = depth
            self.rows[m, 0] = start + place
            self.rows[m, 1] = place

    def read_law(self, context):
        """Set the law at a context, and return its band."""
        return self.read_chances(context, True)

    def read_to_choose(self, context):
        """Do what `read_law` does, for one choice: it needs no spreads if it is not noisy."""
        noisy: cython.bint = self.feedback != ALWAYS
        if self.feedback != WON_LOST and 0.26 < self.v < 0.74:  # the cosine in `noise` is below 0
            noisy = False
        return self.read_chances(context, noisy)

    def read_chances(self, context, with_spreads):
        band: cython.Py_ssize_t = self.band_of(context)
        self.unit = self.unit_at(context)
        self.find_rows(band)
        self.find_laws(0, self.size - 1, with_spreads)
        self.mix(0, with_spreads)
        if self.features > 0:
            self.effects.apply(self.chances, self.spreads, 0, self.rounds[0], with_spreads)
        if self.lowest > 0:  # that no bid wins nothing is known, and need not be learned
            k = self.size - 1 if self.mirrored else 0
            self.chances[k] = 1.0 if self.mirrored else 0.0
            self.spreads[k] = 0.0
        return band

    def read_near(self, column):
        """Set the laws at one column and the one below it, as `read_law` would."""
        low: cython.Py_ssize_t = max(min(column, self.size) - 1, 0)
        if self.laid and self.ring[0] <= self.latest.shape[0]:
            low, column = 0, self.size - 1
        if self.features == 0:
            self.find_laws(low, min(column, self.size - 1), False)
            return
        if self.feedback == WON_LOST:
            low = 0  # log odds are raised from the lowest amount on
        self.find_laws(low, self.size - 1, False)
        self.mix(low, False)
        self.effects.apply(self.chances, self.spreads, low, self.rounds[0], False)

    def mix(self, low, with_spreads):
        """Set the mixture of the experts, from column `low` on."""
        for e in range(self.experts):
            weight = self.weights[e]
            for k in range(low, self.size):
                before = self.chances[k] if e > 0 else 0.0
                self.chances[k] = before + weight * self.kept_chances[self.line, e, k]
            if with_spreads:
                for k in range(self.size):
                    before = self.spreads[k] if e > 0 else 0.0
                    self.spreads[k] = before + weight * self.kept_spreads[self.line, e, k]

    def find_laws(self, low, high, with_spreads):
        """Set `line` to where the laws of all experts are kept, for the rows that were found.

        There is an expert for each memory. Its law is the chance of each amount to reach the
        number, in risk order. Only the columns from `low` to `high` are needed, and they are
        computed again only if the law of a node has changed.
        """
        line: cython.Py_ssize_t = self.rows[0, 0] & (LINES - 1)
        self.line = line
        for e in range(self.experts):
            pool, row = self.rows[0, 0], self.rows[e, 0]
            if self.kept[line, e, POOL] != pool or self.kept[line, e, ROW] != row:
                self.kept[line, e, POOL], self.kept[line, e, ROW] = pool, row
                self.kept[line, e, CHANCES] = self.kept[line, e, SPREADS] = -1
            changed = max(self.changed[pool], self.changed[row], self.changed[self.rows[e, 1]])
            if self.kept[line, e, CHANCES] < changed:
                self.kept[line, e, LOW], self.kept[line, e, HIGH] = self.size, -1
            if self.kept[line, e, LOW] > low or self.kept[line, e, HIGH] < high:
                self.keep_chances(e, low, high)
            if with_spreads and self.kept[line, e, SPREADS] < changed:
                self.keep_spreads(e)

    def keep_chances(self, e, low, high):
        line: cython.Py_ssize_t = self.line
        start: cython.Py_ssize_t = self.kept[line, e, LOW]  # from here on, they are kept
        product: cython.double = 1.0
        if self.feedback == WON_LOST:
            self.add_odds(e, low, high)
        else:
            high = self.size - 1
            if start <= high:
                product = self.kept_chances[line, e, start]
            self.set_stays(e, low, start)
            for k in range(start - 1, low - 1, -1):
                product *= self.work[0, k]
                self.kept_chances[line, e, k] = product
        self.kept[line, e, CHANCES] = self.changes
        self.kept[line, e, LOW], self.kept[line, e, HIGH] = low, high

    def keep_spreads(self, e):
        line: cython.Py_ssize_t = self.line
        own: cython.Py_ssize_t = self.rows[e, 0]
        total: cython.double = 0.0
        self.kept[line, e, SPREADS] = self.changes
        if self.feedback == WON_LOST:
            for k in range(self.size):
                self.kept_spreads[line, e, k] = self.spread[own, k]
            return
        self.set_stays(e, 0, self.size)
        for k in range(self.size):
            self.work[0, k] = self.spread[own, k + 1] * (1.0 - self.work[0, k]) / self.work[0, k]
        for k in range(self.size - 1, -1, -1):
            total += self.work[0, k]
            self.kept_spreads[line, e, k] = total

    def set_stays(self, e, low, stop):
        """Set work[0, k] to 1 minus the hazard at the column above k, by one expert's law."""
        pool: cython.Py_ssize_t = self.rows[0, 0]
        own: cython.Py_ssize_t = self.rows[e, 0]
        other: cython.Py_ssize_t = self.rows[e, 1]
        if e == 0:
            for k in range(low + 1, stop + 1):
                self.work[0, k - 1] = 1.0 - min(self.law[pool, k], CERTAIN)
            return
        for k in range(low + 1, stop + 1):
            ratio = (self.law[own, k] + TINY) / (self.law[other, k] + TINY)
            self.work[0, k - 1] = 1.0 - min(self.law[pool, k] * ratio, CERTAIN)

    def add_odds(self, e, low, high):
        """Set the chances of an expert from sums of log odds."""
        pool: cython.Py_ssize_t = self.rows[0, 0]
        own: cython.Py_ssize_t = self.rows[e, 0]
        other: cython.Py_ssize_t = self.rows[e, 1]
        highest: cython.double = -30.0
        for k in range(high + 1):
            highest = max(highest, self.law[pool, k] + self.law[own, k] - self.law[other, k])
            if k >= low:
                self.kept_chances[self.line, e, k] = 1.0 / (1.0 + exp(-highest))

    def likelihood(self, e, kind, column):
        """Return the probability of an outcome by an expert. `column` is in risk order."""
        line: cython.Py_ssize_t = self.line
        upper: cython.double = self.kept_chances[line, e, column] if column < self.size else 1.0
        lower: cython.double = self.kept_chances[line, e, column - 1] if column > 0 else 0.0
        if self.is_below(kind):
            return upper
        if kind == (AT_MOST if self.mirrored else ABOVE):
            return 1.0 - upper
        return upper - lower

    def chance_of(self, amount):
        if self.mirrored:
            return 1.0 - self.chances[self.size - 1 - amount]
        return self.chances[amount]

    # --- choosing ------------------------------------------------------------------------------

    def best_amount(self, noise, worth, cost, first, last):
        """Return the amount from `first` to `last` that earns most; the lowest of equals.

        noise: by how many standard deviations the law is moved to the side where more is earned.
        """
        chance: cython.double
        earned: cython.double
        missed: cython.double
        moved: cython.double
        # In a first-price auction it is good to reach the number, otherwise it is bad. If the law
        # is mirrored, its chances are those of not reaching it.
        sign: cython.double = 1.0 if (self.payoff == FIRST_PRICE) != self.mirrored else -1.0
        best: cython.Py_ssize_t = first
        most: cython.double = -INFINITY
        sold: cython.double = self.amounts[0]
        before: cython.double = 0.0
        start: cython.Py_ssize_t = 0 if self.payoff == NEWSVENDOR else first
        for k in range(start, last + 1):
            if self.payoff == FIRST_PRICE and most >= 0.0 and most >= worth - self.amounts[k]:
                break  # no higher amount can earn more, even if it always wins
            column = self.size - 1 - k if self.mirrored else k
            chance = self.chances[column]
            if noise != 0.0:
                moved = sign * noise * sqrt(self.spreads[column])
                if self.feedback != WON_LOST:
                    moved /= 1.0 - chance + 1e-3
                chance = chance / (chance + (1.0 - chance) * exp(-moved))
            if self.mirrored:
                chance = 1.0 - chance
            if k > start and self.payoff == NEWSVENDOR:
                # The units from amount k - 1 to k are sold if the number is above k - 1 (or at
                # least k): exact for numbers on the grid of the amounts.
                missed = chance if self.strict else before
                sold += (self.amounts[k] - self.amounts[k - 1]) * (1.0 - missed)
            before = chance
            if self.payoff == FIRST_PRICE:
                earned = (worth - self.amounts[k]) * chance - cost * self.amounts[k]
            elif self.payoff == POSTED_PRICE:
                earned = (self.amounts[k] - cost) * (1.0 - chance)
            else:
                earned = worth * sold - cost * self.amounts[k]
            if k >= first and earned > most:
                most = earned
                best = k
        return best

    def scatter(self, best, first, last):
        """Return `best` or a random amount beside it, nearer the more rounds the node has.

        If it is only seen whether the amount reached the number, the slope of the law in a band is
        learned only if amounts vary within the band. Otherwise it is that of all bands together,
        which play other amounts because their numbers are different: too flat. So amounts vary as
        far as bands differ. They move only to the side where more is reached or sold: if many
        numbers are equal, such as round prices, the amount on their other side earns far less.
        """
        differs: cython.double = 0.0
        for level in range(1, self.depth + 1):
            if self.totals[level, 1] > 0.0:
                differs += max(self.totals[level, 0], 0.0) / self.totals[level, 1]
        if differs <= 0.0 or best < self.lowest:
            return best
        visits: cython.double = self.visits[self.rows[0, 0]]
        normal: cython.double = abs(sqrt(-2.0 * log(1.0 - self.u)) * sin(TWO_PI * self.v))
        width: cython.double = SCATTER * self.probing * pow(1.0 + visits, -0.25)
        moved: cython.double = normal * width * min(STEEP * sqrt(differs), 1.0) * (best + 1.0)
        if self.payoff != FIRST_PRICE:
            moved = -moved
        near: cython.double = floor(best + moved + 0.5)
        if self.laid:
            near = self.place_of(self.amounts[best] * (1.0 + moved / (best + 1.0)), False)
        return cython.cast(cython.Py_ssize_t, min(max(near, first), last))

    def choose(self, band, worth, cost, first, last):
        """Return the amount to play, by the law that was read last."""
        worth /= self.unit
        best: cython.Py_ssize_t = self.without_tries(worth, cost, first, last)
        if not self.may_try():
            return best
        return self.probe(band, best, worth, first, self.w)

    def may_try(self):
        """Return whether lower amounts are sometimes tried."""
        return self.feedback == AFTER_LOSS and self.payoff == FIRST_PRICE and self.probing > 0.0

    def noise(self):
        """Return by how many standard deviations a choice moves the law; see `best_amount`."""
        if self.feedback == ALWAYS:
            return 0.0
        noise: cython.double = sqrt(-2.0 * log(1.0 - self.u)) * cos(TWO_PI * self.v)
        noise *= self.optimism
        if self.laid:  # little at first, before it can pay
            noise *= min(CALM + self.rounds[0] * RISING, 1.0)
        return noise if self.feedback == WON_LOST else max(noise, 0.0)

    def without_tries(self, worth, cost, first, last):
        """Return what `choose` returns if it does not try a lower amount."""
        best: cython.Py_ssize_t = self.best_amount(self.noise(), worth, cost, first, last)
        if self.feedback == WON_LOST:
            return self.scatter(best, first, last)
        return best

    def set_try(self, row, best, worth, first):
        """Return an amount below `best` to try in a broad node; set the `probability` of a try.

        It is chosen so that, by the law that was read last, tries cost on average a share SHARE of
        what could be gained.
        """
        amount: cython.Py_ssize_t
        most: cython.double = (worth - self.amounts[best]) * self.chances[best]
        tried: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self.untried[row]) - 1
        upper: cython.double = self.chances[best]
        lowest: cython.Py_ssize_t = max(first, self.lowest)
        self.probability = 0.0
        if most <= 0.0 or self.visits[row] <= 0.0:
            return best
        if tried > self.far_below(best):
            amount = max(cython.cast(cython.Py_ssize_t, self.far_below(best)), lowest)
            factor = TWICE
            possible = (worth - self.amounts[first]) * upper
        else:
            upper = self.highest_chance(row, tried)
            amount, factor = max(tried, lowest), CLEARLY
            possible = (worth - self.amounts[amount]) * upper
            if self.plays >= ENOUGH or possible < factor * most:
                amount = max(cython.cast(cython.Py_ssize_t, self.far_below(tried)), lowest)
                possible = (worth - self.amounts[first]) * upper
                if amount >= tried:
                    return best
        if amount >= best or possible < factor * most:
            return best
        cost: cython.double = most - (worth - self.amounts[amount]) * self.chances[amount]
        allowed: cython.double = self.probing * SHARE * min(possible - most, MOST * most)
        self.probability = OFTEN if allowed >= OFTEN * cost else allowed / cost
        return amount

    def far_below(self, amount):
        """Return where the next lower amount to try lies, by number."""
        if self.laid and amount >= 0:
            return self.place_of(self.amounts[amount] * FAR, False)
        return amount * FAR

    def highest_chance(self, row, amount):
        """Return an upper bound on an amount's chance, by a node's rounds with amounts up to it.

        The chance is that of reaching the number. Lower amounts reach it less often, so the rounds
        with the highest of these amounts say most. Sets `plays` to how many rounds there are.
        """
        reached: cython.double = 0.0
        upper: cython.double = 0.0
        self.plays = 0.0
        for k in range(amount, -1, -1):
            self.plays += self.asked[row, k]
            reached += self.reached[row, k]
            if self.plays >= FEW:
                chance = reached / self.plays
                upper = max(upper, chance + ERRORS * sqrt(chance * (1.0 - chance) / self.plays))
        return min(upper, 1.0)

    def probe(self, band, best, worth, first, uniform):
        """Return `best`, or sometimes a lower amount; `uniform` is a random number from [0, 1)."""
        if uniform >= OFTEN:
            return best
        for depth in range(1, TRY_DEPTH + 1):
            amount = self.set_try(self.node_of(band, depth), best, worth, first)
            if uniform < self.probability:
                return amount
        return best

    def weigh_tries(self, band, best, worth, first, weight, out):
        """Add a weight to `out`, divided among the amounts that `probe` may return."""
        used: cython.double = 0.0
        for depth in range(1, TRY_DEPTH + 1):
            amount = self.set_try(self.node_of(band, depth), best, worth, first)
            if self.probability > used:
                out[amount] += weight * (self.probability - used)
                used = self.probability
        out[best] += weight * (1.0 - used)

    # --- learning ------------------------------------------------------------------------------

    def learn_at(self, band, kind, index, amount):
        self.find_rows(band)
        self.read_near(self.column_of(kind, index))
        self.absorb(band, kind, index, amount)

    def absorb_cell(self, band, amount, cell, tried):
        """Learn what playing an amount shows if the number is in this cell."""
        kind: cython.Py_ssize_t = outcome_kind(self.feedback, amount, cell)
        if not self.shows_nothing(amount, cell):
            self.absorb(band, kind, cell if kind == TOLD else amount, tried)

    def shows_nothing(self, amount, cell):
        """Return whether no bid is made, and nothing is told."""
        return amount < self.lowest and outcome_kind(self.feedback, amount, cell) != TOLD

    def absorb(self, band, kind, index, amount):
        """Do what `learn` does, if the laws at the context were read."""
        column: cython.Py_ssize_t = self.column_of(kind, index)
        told: cython.double = self.is_told(kind)
        exposed: cython.double = 1.0
        if self.features > 0 and self.feedback == WON_LOST:
            # What the features explain is not counted: the base is the law without them.
            told += self.effects.explained(column)
        elif self.features > 0 and self.feedback != ALWAYS:
            exposed = self.effects.exposure(kind, column, self.rounds[0])
        self.weigh(kind, column)
        if self.features > 0:
            self.effects.learn(kind, column, self.is_below(kind), self.rounds[0])
        self.rounds[0] += 1.0
        if amount >= 0:
            asked = self.size - 1 - amount if self.mirrored else amount
            for level in range(min(self.depth, TRY_DEPTH) + 1):
                place = self.node_of(band, level)
                self.ask(place, asked)
                self.reached[place, asked] += reaches(kind, index, amount)
        for m in range(self.memories):
            self.grow(m)
            self.count(m, band, column, told, exposed)
        if self.features > 0 and self.rounds[0] >= SETTLED and self.effects.due[1] == 0.0:
            self.effects.settle_blocks(self.law)

    def is_below(self, kind):
        """Return whether an outcome says that the column is at most some column."""
        return kind == (ABOVE if self.mirrored else AT_MOST)

    def weigh(self, kind, column):
        """Multiply the weight of each expert by the likelihood of the outcome under its law."""
        if self.laid and self.ring[0] <= self.latest.shape[0]:
            self.note_likelihood(kind, column)
        if self.experts == 1:
            return
        for e in range(self.experts):
            self.weights[e] *= max(self.likelihood(e, kind, column), TINY)
        self.share_out()

    def note_likelihood(self, kind, column):
        """Add the logarithm of the likelihood of an outcome by the law before it.

        A number that was told counts as one of an interval of the relative width NARROW.
        """
        total: cython.double = 0.0
        k: cython.Py_ssize_t = self.size - column if self.mirrored else column
        if kind == TOLD and 0 < k < self.size:
            total = self.mixture(k) - self.chance_up_to(self.amounts[k] * (1.0 - NARROW))
        else:
            for e in range(self.experts):
                total += self.weights[e] * self.likelihood(e, kind, column)
        self.predicted += self.heed * log(total + RARE)

    def chance_up_to(self, number):
        """Return the chance of numbers up to this one, by all experts: a line in each cell."""
        j: cython.Py_ssize_t = min(self.place_of(number, False), self.size - 1)
        low: cython.double = self.amounts[j - 1] if j > 0 else 0.0
        before: cython.double = self.mixture(j - 1) if j > 0 else 0.0
        part: cython.double = min((number - low) / (self.amounts[j] - low), 1.0)
        return before + (self.mixture(j) - before) * part

    def mixture(self, amount):
        """Return the chance that an amount reaches the number, by all experts."""
        column: cython.Py_ssize_t = self.size - 1 - amount if self.mirrored else amount
        total: cython.double = 0.0
        for e in range(self.experts):
            total += self.weights[e] * self.kept_chances[self.line, e, column]
        return 1.0 - total if self.mirrored else total

    def share_out(self):
        """Normalise the weights of the experts; a small share is spread evenly over all of them."""
        total: cython.double = 0.0
        experts: cython.double = self.experts
        even: cython.double = self.share / experts
        for e in range(self.experts):
            total += self.weights[e]
        for e in range(self.experts):
            self.weights[e] = (1.0 - self.share) * self.weights[e] / total + even

    def reweigh(self, kind, old, new_kind, new):
        """Correct the weights of the experts: the new outcome replaces the old, by present laws."""
        experts: cython.double = self.experts
        if self.experts == 1:
            return
        for e in range(self.experts):
            self.weights[e] = max(self.weights[e] - self.share / experts, TINY)
        self.read_near(old)
        for e in range(self.experts):
            self.weights[e] *= 1.0 / max(self.likelihood(e, kind, old), TINY)
        self.read_near(new)
        for e in range(self.experts):
            self.weights[e] *= max(self.likelihood(e, new_kind, new), TINY)
        self.share_out()

    def move(self, row, unit, was_told, old, now_told, new):
        """Move one round, with its present weight, to another column; at most what is counted."""
        if was_told:
            taken = min(unit, self.told[row, old])
            self.told[row, old] -= taken
        else:
            taken = min(unit, self.hidden[row, old])
            self.hidden[row, old] -= taken
        if now_told:
            self.told[row, new] += taken
        else:
            self.hidden[row, new] += taken

    def grow(self, memory):
        """Let a new round count more than the last one: this discounts the past."""
        one: cython.Py_ssize_t = 1
        self.scale[memory] *= self.growth[memory]
        if self.scale[memory] <= LARGE:
            return
        start: cython.Py_ssize_t = self.first_row(memory)
        for row in range(start, start + (one << (self.recent_depth + 1)) - 1):
            self.visits[row] /= self.scale[memory]
            for j in range(self.size + 1):
                self.told[row, j] /= self.scale[memory]
                self.hidden[row, j] /= self.scale[memory]
        self.scale[memory] = 1.0

    def begin(self, row):
        """Set the law of a node that has seen nothing. Before its first round, nothing reads it."""
        self.note_change(row)
        for j in range(self.size + 1):
            self.law[row, j] = self.flat[j]
            self.spread[row, j] = 1.0

    def note_change(self, row):
        """Note that the law of a node changes: see `find_laws`."""
        self.changes += 1
        self.changed[row] = self.changes

    def count(self, memory, band, column, told, exposed):
        """Count one outcome in all nodes of a band; compute laws again that have enough new rounds.

        told: 1 or 0; for odds, less what the features explain. exposed: for how many rounds at risk
        it counts.
        """
        start: cython.Py_ssize_t = self.first_row(memory)
        unit: cython.double = self.scale[memory]
        many: cython.double = self.split() * unit
        above: cython.double = INFINITY  # the rounds of the parent
        least: cython.double = 0.0
        parent: cython.Py_ssize_t = -1
        beside: cython.Py_ssize_t = column
        hidden: cython.double = exposed
        if self.feedback == WON_LOST:
            hidden = 1.0 - told
        elif told != 0.0:
            beside, hidden = max(column - 1, 0), exposed - 1.0
        for level in range((self.depth if memory == 0 else self.recent_depth) + 1):
            place = self.node_of(band, level)
            row = start + place
            visits: cython.double = self.visits[row]
            if visits == 0.0:
                self.begin(row)
            if told != 0.0:
                self.told[row, column] += unit * told
            if hidden != 0.0:
                self.hidden[row, beside] += unit * hidden
            visits += unit
            self.visits[row] = visits
            self.since[row] += 1.0
            if self.since[row] >= FRESH * visits / unit and above >= many and visits >= least:
                self.refresh(memory, row, parent, place, level)
            parent, above, least = row, visits, MATURE * unit

    def ask(self, row, column):
        """Count an amount that was played, and find the lowest amount with enough rounds."""
        total: cython.double = 0.0
        lowest: cython.Py_ssize_t = 0
        self.asked[row, column] += 1.0
        if column > self.untried[row]:
            return
        while lowest < self.size:
            total += self.asked[row, lowest]
            if total >= TRIED:
                break
            lowest += 1
        self.untried[row] = lowest + 1.0

    # --- the law of a node ---------------------------------------------------------------------

    def refresh(self, group, row, parent, place, level):
        """Compute a node's law from its counts and its parent's law.

        group: the memory. place: the pool's node of the same band. For a node of recent rounds, the
        parent's law is first changed by as much as the pool's law changes from the parent's band to
        this one.
        """
        above: cython.Py_ssize_t = max(parent, 0)
        base: cython.Py_ssize_t = (place - 1) >> 1
        root: cython.bint = group == 0 and parent < 0
        self.note_change(row)
        self.since[row] = 0.0
        if root:
            self.set_flat(row)
        else:
            for j in range(self.size + 1):
                self.law[row, j] = self.law[above, j]
                self.spread[row, j] = self.spread[above, j]
        if group > 0 and parent >= 0 and self.visits[place] >= MATURE:
            if self.feedback == WON_LOST:
                for j in range(self.size + 1):
                    self.law[row, j] += self.law[place, j] - self.law[base, j]
            else:
                for j in range(self.size + 1):
                    self.law[row, j] = min(
                        CERTAIN,
                        self.law[row, j]
                        * ((self.law[place, j] + TINY) / (self.law[base, j] + TINY)),
                    )
        unit = 1.0 / self.scale[group]
        # After many rounds, the variance of a discounted count is half of its mean.
        noise = 1.0 - 0.5 * min(1.0, self.rounds[0] * LOG_2 / self.half_lives[group])
        if self.feedback == WON_LOST:
            self.shrink_odds(row, unit, noise, root, group * LEVELS + level)
        else:
            self.at_risk(row, unit)
            if root:
                self.draw_near(row, unit, 1.0, 1, self.size + 1)
            else:
                self.shrink_blocks(row, unit, noise, group * LEVELS + level)
                self.shrink_columns(row, unit, noise, group * LEVELS + level)

    def set_flat(self, row):
        """Set the law that is assumed before anything is seen: all cells are equally likely."""
        for j in range(self.size + 1):
            self.law[row, j] = self.flat[j]
            self.spread[row, j] = 1.0

    def at_risk(self, row, unit):
        """Set work[0, j], j >= 1, to the rounds in which a cell of column j would be told."""
        part: cython.double
        s: cython.Py_ssize_t = 1
        total: cython.double = self.told[row, 0]
        while s + 8 <= self.size + 1:
            part = 0.0
            for i in range(s, s + 8):
                part += self.hidden[row, i - 1] + self.told[row, i]
                self.work[0, i] = (total + part) * unit
            total += part
            s += 8
        part = 0.0
        for i in range(s, self.size + 1):
            part += self.hidden[row, i - 1] + self.told[row, i]
            self.work[0, i] = (total + part) * unit

    def sum_of(self, line):
        """Return the sum of work[line, 1:], as eight sums at a time."""
        n: cython.Py_ssize_t = self.size
        a: cython.double = 0.0
        b: cython.double = 0.0
        c: cython.double = 0.0
        d: cython.double = 0.0
        e: cython.double = 0.0
        f: cython.double = 0.0
        g: cython.double = 0.0
        h: cython.double = 0.0
        for i in range(n >> 3):
            a += self.work[line, 8 * i + 1]
            b += self.work[line, 8 * i + 2]
            c += self.work[line, 8 * i + 3]
            d += self.work[line, 8 * i + 4]
            e += self.work[line, 8 * i + 5]
            f += self.work[line, 8 * i + 6]
            g += self.work[line, 8 * i + 7]
            h += self.work[line, 8 * i + 8]
        for i in range(n & 7):
            a += self.work[line, n - i]
        return ((a + b) + (c + d)) + ((e + f) + (g + h))

    def heterogeneity(self, found, weight, noise, row, kind, at, most):
        """Return the variance of a node's ratios around its parent's: empirical Bayes.

        `found / weight` is the node's own estimate, and `noise` is half of its squared error if
        there is no variance. It is shrunk towards the estimate from all nodes of its kind and
        depth. The three numbers replace the old ones in `evidence` from column `at` on, and in the
        sums of `totals`.
        """
        usual: cython.double = 0.0
        self.totals[kind, at] += found - self.evidence[row, at]
        self.totals[kind, at + 1] += weight - self.evidence[row, at + 1]
        self.totals[kind, at + 2] += noise - self.evidence[row, at + 2]
        self.evidence[row, at] = found
        self.evidence[row, at + 1] = weight
        self.evidence[row, at + 2] = noise
        if self.totals[kind, at + 1] > 0.0:
            usual = max(self.totals[kind, at], 0.0) / self.totals[kind, at + 1]
        pull: cython.double = sqrt(2.0 * max(noise, 0.0)) / max(usual, 1e-3)
        return min(max((max(found, 0.0) + usual * pull) / (weight + pull + 1e-9), 0.0), most)

    def shrink_blocks(self, row, unit, noise, kind):
        """Multiply the hazards of each block of columns by one ratio.

        The first block begins at the highest column. A block ends where it has its share of the
        expected outcomes. Columns with too few rounds at risk keep the parent's hazard: what is
        seen above them says little about them. work[1] has, at the highest column of each block,
        its lowest column.
        """
        count: cython.double
        mean: cython.double
        ratio: cython.double
        share: cython.double
        variance: cython.double
        found: cython.double = 0.0
        weight: cython.double = 0.0
        squares: cython.double = 0.0
        for j in range(1, self.size + 1):
            self.work[4, j] = self.work[0, j] * self.law[row, j]
        expected: cython.double = self.sum_of(4)
        self.work[1, self.size] = 1.0
        if not expected > LEAST:  # blocks of nothing would never end
            return
        limit: cython.double = expected / BLOCKS
        j = self.size
        while j >= 1:
            top, count, mean, variance = j, 0.0, 0.0, 0.0
            while j >= 1 and mean < limit:
                count += self.told[row, j] * unit
                mean += self.work[4, j]
                variance += self.work[4, j] * (1.0 - self.law[row, j])
                j -= 1
            self.work[1, top] = j + 1.0
            self.work[2, top] = count
            self.work[3, top] = -1.0
            if variance > 1e-9:
                self.work[3, top] = mean
                share = variance / (variance + 1.0)
                found += share * ((count - mean) * (count - mean) / variance - noise)
                weight += share * mean * mean / variance
                squares += share * share
        differs: cython.double = self.heterogeneity(found, weight, squares, row, kind, 0, 1.0)
        if differs <= 1e-9:
            return
        top = self.size
        while top >= 1:
            bottom, mean, ratio = (
                cython.cast(cython.Py_ssize_t, self.work[1, top]),
                self.work[3, top],
                1.0,
            )
            if mean >= 0.0:
                ratio = (self.work[2, top] * differs + 1.0) / (mean * differs + 1.0)
            for j in range(bottom, top + 1):
                near: cython.double = min(CERTAIN, self.law[row, j] * ratio)
                self.law[row, j] = near if self.work[0, j] >= COVERED else self.law[row, j]
            top = bottom - 1

    def shrink_columns(self, row, unit, noise, kind):
        """Shrink the share that was told in each column towards the hazard.

        If a block of columns contradicts the parent's law by far more than chance, it is shrunk
        less than the others: many rounds that agree elsewhere must not hide it.
        """
        found: cython.double
        most: cython.double
        square: cython.double
        weight: cython.double
        top: cython.Py_ssize_t = self.size
        end: cython.Py_ssize_t = self.size + 1
        for j in range(1, self.size + 1):
            mean = self.work[0, j] * self.law[row, j]
            variance = mean * (1.0 - self.law[row, j])
            gap = self.told[row, j] * unit - mean
            part = 1.0 / (variance + 1.0)
            share = variance * part
            if variance > 1e-12:
                self.work[2, j] = (gap * gap - noise * variance) * part
                self.work[3, j] = share * max(self.work[0, j] - noise, 0.0)
                self.work[4, j] = share * share
            else:
                self.work[2, j] = 0.0
                self.work[3, j] = 0.0
                self.work[4, j] = 0.0
        differs: cython.double = self.heterogeneity(
            self.sum_of(2), self.sum_of(3), self.sum_of(4), row, kind, 3, 1.0
        )
        while top >= 1:
            bottom, found, square = cython.cast(cython.Py_ssize_t, self.work[1, top]), 0.0, 0.0
            for j in range(bottom, top + 1):
                found += self.work[2, j]
                square += self.work[4, j]
            if found > CONTRADICTION * sqrt(2.0 * square):
                weight = 0.0
                for j in range(bottom, top + 1):
                    weight += self.work[3, j]
                most = min(max(differs, found / (weight + 1e-9)), 1.0)
                self.draw_near(row, unit, differs, top + 1, end)
                self.draw_near(row, unit, most, bottom, top + 1)
                end = bottom
            top = bottom - 1
        self.draw_near(row, unit, differs, 1, end)

    def draw_near(self, row, unit, differs, start, stop):
        """Update the hazards and variances from `start` to `stop` by the counts; `differs` is d."""
        for j in range(start, stop):
            part = 1.0 / (1.0 + self.work[0, j] * differs)
            self.law[row, j] = (self.told[row, j] * unit * differs + self.law[row, j]) * part
            self.spread[row, j] = part * differs + part * part * self.spread[row, j]

    def shrink_odds(self, row, unit, noise, root, kind):
        """Turn the parent's log odds in `law` and `spread` into the node's.

        First the log odds of neighbouring amounts are moved together, then those of each amount
        alone. Then they are made nondecreasing.
        """
        found: cython.double
        gap: cython.double
        share: cython.double
        squares: cython.double
        variance: cython.double
        weight: cython.double
        size: cython.double = self.size
        for step in range(2):
            width = max(self.size // 8, 1) if step == 0 else 1
            found = weight = squares = 0.0
            k = 0
            while k < self.size:
                gap = variance = 0.0
                for i in range(k, min(k + width, self.size)):
                    chance = 1.0 / (1.0 + exp(-self.law[row, i]))
                    plays = (self.told[row, i] + self.hidden[row, i]) * unit
                    gap += self.told[row, i] * unit - plays * chance
                    variance += plays * chance * (1.0 - chance)
                k += width
                if variance > 1e-9:
                    share = variance / (variance + 1.0)
                    found += share * (gap * gap / variance - noise)
                    weight += share * variance
                    squares += share * share
            differs = self.heterogeneity(found, weight, squares, row, kind, 3 * step, DIFFERENT)
            if root and step == 0:
                differs = 4.0
            if differs > 1e-9:
                fading = exp(-1.0 / (WIDTH * size)) if step == 0 else 0.0
                self.move_odds(row, unit, differs, fading)
        self.raise_odds(row)

    def move_odds(self, row, unit, differs, fading):
        """Move each log odds by the counts of its neighbourhood; `fading` weighs a neighbour."""
        wins: cython.double = 0.0
        plays: cython.double = 0.0
        mean: cython.double = 0.0
        for k in range(self.size):
            count = (self.told[row, k] + self.hidden[row, k]) * unit
            wins = wins * fading + self.told[row, k] * unit
            plays = plays * fading + count
            mean = mean * fading + count / (1.0 + exp(-self.law[row, k]))
            self.work[0, k] = wins
            self.work[1, k] = plays
            self.work[2, k] = mean
        wins = plays = mean = 0.0
        for k in range(self.size - 1, -1, -1):
            count = (self.told[row, k] + self.hidden[row, k]) * unit
            chance = 1.0 / (1.0 + exp(-self.law[row, k]))
            near, all_plays = max(self.work[0, k] + wins, 0.0), self.work[1, k] + plays
            expected = self.work[2, k] + mean
            wins = (wins + self.told[row, k] * unit) * fading
            plays = (plays + count) * fading
            mean = (mean + count * chance) * fading
            if all_plays <= 1e-12:
                self.spread[row, k] += differs
                continue
            rate = min(max(expected / all_plays, 1e-6), 1.0 - 1e-6)
            variance = rate * (1.0 - rate)
            added = 1.0 / (differs * variance)
            odds = (near + added * rate) / (max(all_plays - near, 0.0) + added * (1.0 - rate))
            self.law[row, k] = min(
                max(self.law[row, k] + log(odds * (1.0 - rate) / rate), -HIGHEST), HIGHEST
            )
            part = 1.0 / (1.0 + differs * all_plays * variance)
            self.spread[row, k] = differs * part + part * part * self.spread[row, k]

    def raise_odds(self, row):
        """Make log odds nondecreasing: the mean of maxima from below and minima from above."""
        highest: cython.double = -HIGHEST
        lowest: cython.double = HIGHEST
        for k in range(self.size):
            highest = max(highest, self.law[row, k])
            self.work[0, k] = highest
        for k in range(self.size - 1, -1, -1):
            lowest = min(lowest, self.law[row, k])
            self.law[row, k] = 0.5 * (self.work[0, k] + lowest)


def place_in(grid, size, number, strict):
    """Return the lowest of the first amounts of a grid that is at least `number`, by number."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = size
    while low < high:
        middle = (low + high) >> 1
        if grid[middle] < number or (strict and grid[middle] == number):
            low = middle + 1
        else:
            high = middle
    return low


def tells(feedback, reached):
    """Return whether the number is told. reached: whether the amount has reached it."""
    if feedback == ALWAYS:
        return True
    return feedback != WON_LOST and reached == (feedback == AFTER_WIN)


def outcome_kind(feedback, amount, cell):
    """Return the kind of the outcome of an amount, if the number is in this cell."""
    reached: cython.bint = cell <= amount
    if tells(feedback, reached):
        return TOLD
    return AT_MOST if reached else ABOVE


def reaches(kind, index, amount):
    """Return 1 if an outcome says that an amount reaches the number, else 0."""
    return 1.0 if kind != ABOVE and index <= amount else 0.0
