"""The core of limits: how much they leave, the plan of a budget, the multiplier of each limit.

Money is counted in whole units, so sums are exact. A *limit* is a budget or a target. Under a
budget, an amount may be spent. Under a target, every win has a *credit*, and what is paid must not
exceed the credits: with a return on spend of r, the credit of a value v is v / r.

A win with bid b earns v - b, or v if the aim is value. Each limit has a multiplier, and turns the
value into a *pseudo-value* to bid for. Under a budget it is v exp(s). Under a target it is
credit + v exp(s), or credit + (v - credit) exp(s) if a win earns v - b. The lowest pseudo-value of
all limits is used.

The types of attributes and methods are in `pace_core.pxd`, and those of variables are here.

The accounting of a budget, in whole units: a unit is a power of ten, at most 1e-9 of the highest
bid, so every price is a whole number of units (rounded up), and amounts are rounded down.

- State of a period: A = GIVEN, H = MOST = floor(amount (1 + worst_case)) >= A, S = SPENT; each bid
  without an outcome has a price b > 0 and an r with 0 <= r <= b. R = RESERVED is the sum of the b,
  Q = COUNTED the sum of the r, and Q* = min(R, ceil(c Q)), with c >= 1. At first all are 0.
- A bid of price b may be made if S + Q* + b <= A and S + R + b <= H. Then R += b and Q += r.
- An outcome comes once: R -= b, Q -= r, and S += b if the bid has won. An expired bid counts as
  lost. Outcomes of bids of earlier periods change nothing. In a new period S = R = Q = 0.
- A win that comes after its bid has expired or was reported as lost: S += b. A win that was none,
  of this period: S -= b. A is lowered or raised by the user, and H with it.
- Without the last kind of event, S + R <= H at any time, whatever wins. With worst_case 0, r = b,
  so Q* = R and H = A: no bid is made that could exceed the amount.

r is the certainty equivalent of a cost that is b with probability p: with x = risk b,
r = log(1 + p (exp(x) - 1)) / risk. Between the bids, exp(risk (S + Q - (1 + e) A)) is a
supermartingale if chances are calibrated, and after each bid it is at most exp(-risk e A). With
risk = RISK / A it exceeds 1, and S exceeds (1 + e) A, with a probability below 1e-4 for e = 0.01.
"""

# ruff: noqa: F403, F405 - the numbers of columns are those of `state.py`

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:  # the numbers of columns are in the .pxd file
    from cython.cimports.crossbandit.laws.law_core import outcome_kind
    from cython.cimports.libc.math import INFINITY, exp, floor, log, sqrt
else:
    from math import exp, floor, log, sqrt
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.laws.law_core import outcome_kind
    from crossbandit.limits.state import *

import numpy as np

TOLD = 0  # as in `laws/state.py`
MOST_CREDIT = 9007199254740992.0  # units of one win: 2^53
MOST_UNITS = 2305843009213693952  # of all credits, 2^61: with what is spent, it does not overflow
HIGHEST = 60.0  # the largest logarithm s: exp(s) is finite
MEMORY = 64.0  # the least number of auctions over which the usual gap is averaged ...
WINDOW = 0.25  # ... and the part of the plan
# A gap that is longer than this many usual gaps, and than this share of the plan, is a pause, and
# counts as the longer of the two. Gaps between bursts of auctions are no pauses.
LONG = 8.0
PAUSE = 1.0 / 12.0
FAR = 1.0  # no more relaxing at e times the lowest pseudo-value
RECENT = 512.0  # bids over which a share of wins is averaged
CHEAP = 7.0  # log of the highest cost of holding, which is then 1
DOUBTFUL = 4.605170185988091  # log 100: how strong a doubt must be
LOG_2 = 0.6931471805599453
LEAST = 1e-6  # the lowest chance that a bid counts with


@cython.cclass
class AuctionColumns:
    """A part of many auctions, as columns: what is given, and what is to be filled.

    Given are contexts, slots, worths (the values), firsts, lasts, cells, uniforms, times, and the
    rows of bids; see `LawCore.play`. Filled are `PacedLog` or `PacedChoices`.
    """

    def __init__(self, columns, start, stop) -> None:
        part = {name: column[start:stop] for name, column in columns.items()}
        self.contexts, self.slots, self.worths = part["contexts"], part["slots"], part["worths"]
        self.firsts, self.lasts, self.cells = part["firsts"], part["lasts"], part.get("cells")
        self.uniforms, self.times, self.rows = part["uniforms"], part["times"], part["rows"]
        self.bids, self.pseudo_values = part["bids"], part["pseudo_values"]
        self.chances, self.usable = part.get("chances"), part.get("usable")
        self.tightest = part.get("tightest")


@cython.final
@cython.cclass
class PaceCore:
    """The state of limits and of bids without an outcome, and the steps of an auction.

    An auction is opened in a *row* of the reserved bids, which holds its ticket. Its steps use
    `row`, `value`, `now` and `first` of the auction. `look_at` sets `worth`, the pseudo-value;
    `usable`, the highest amount up to it; and `cap`, the highest amount that may be bid, or -1.
    """

    def __init__(self, rules, state, reserved) -> None:
        self.made_of = (rules, state, reserved)
        self.amounts, self.prices, self.unit = rules.amounts, rules.prices, rules.unit
        self.kinds, self.plans, self.credits = rules.kinds, rules.plans, rules.credits
        self.surplus, self.limits = rules.surplus, len(rules.kinds)
        self.risks, self.doubts = rules.risks, state.doubts
        self.money, self.duals, self.wins = state.money, state.duals, state.wins
        self.times, self.bins = state.times, state.bins
        self.planned_from = state.planned_from
        self.held, self.held_prices = reserved.held, reserved.prices
        self.tickets = reserved.tickets

    def __reduce__(self):
        return type(self), self.made_of

    # --- what only Python calls ----------------------------------------------------------------

    def look(self, value, first, last):
        """Return the pseudo-value, the highest amount up to it, and the highest to be bid."""
        self.check(0, first, last)
        self.look_at(value, first, last)
        return self.worth, self.usable, self.cap

    def open(self, row, now, value, first, last):
        """Count an auction in a row, and return what `look` returns."""
        self.check(row, first, last)
        self.open_auction(row, now, value, first, last)
        return self.worth, self.usable, self.cap

    def reserve(self, row, now, value, price, wanted, chance):
        """Reserve `price` units for a bid in the auction that was opened in a row.

        wanted: the units that would have been bid without hard limits. chance: that it wins; 1 if
        there is no law that knows it.
        """
        self.check(row, 0, -1)
        self.row, self.now, self.value = row, now, value
        self.reserve_price(price, chance)
        self.hold(price, wanted)

    def decline(self, row, value):
        """Account for the auction of a row without a bid."""
        self.row, self.value = row, value
        self.adapt(0, -1)

    def decide(self, law, row, now, auction, slots, uniforms):
        """Open an auction, let a law choose for its pseudo-value, and reserve the money.

        auction: its value, and the first and the last amount that may be bid without limits.
        Returns the pseudo-value, the highest amount up to it, and the amount that was chosen, which
        is -1 if nothing may be bid. If it is 0, no bid is made and nothing is stored.
        """
        value: cython.double
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        value, first, last = auction
        self.check(row, first, last)
        self.check_law(law)
        if uniforms.shape[0] < 3:
            raise IndexError("there are too few random numbers")
        law.set_keys(slots)
        law.set_uniforms(uniforms)
        bid: cython.Py_ssize_t = self.decide_here(law, row, now, value, first, last)
        return self.worth, self.usable, bid

    def decide_here(self, law, row, now, value, first, last):
        """Do what `decide` does, if the law has the classes and the random numbers."""
        self.open_auction(row, now, value, first, last)
        if self.cap < 0:
            self.adapt(0, -1)
            return -1
        wanted: cython.Py_ssize_t = self.choose(law, value)
        bid: cython.Py_ssize_t = min(wanted, self.cap)
        if self.prices[bid] > 0:
            self.hold(self.prices[bid], self.prices[wanted])
        return bid

    def decide_all(self, law, auctions):
        """Do what `decide` does in auctions of one time; no period ends in between."""
        i: cython.Py_ssize_t
        self.check_law(law)
        with cython.nogil:
            for i in range(auctions.bids.shape[0]):
                if self.open_next(auctions, i):
                    law.take_row(auctions.slots, auctions.uniforms, i)
                    wanted: cython.Py_ssize_t = self.choose(law, auctions.contexts[i])
                    bid: cython.Py_ssize_t = min(wanted, self.cap)
                    auctions.bids[i] = bid
                    auctions.chances[i] = law.chance_of(bid)
                    if self.prices[bid] > 0:
                        self.hold(self.prices[bid], self.prices[wanted])
                else:
                    auctions.chances[i] = 0.0
                    self.set_tightest(auctions, i)
                auctions.usable[i] = self.usable

    def play(self, law, auctions):
        """Decide, settle and learn in auctions, one after the other; no period ends in between."""
        i: cython.Py_ssize_t
        self.check_law(law)
        with cython.nogil:
            for i in range(auctions.bids.shape[0]):
                if self.open_next(auctions, i):
                    law.take_row(auctions.slots, auctions.uniforms, i)
                    wanted: cython.Py_ssize_t = self.choose(law, auctions.contexts[i])
                    bid: cython.Py_ssize_t = min(wanted, self.cap)
                    auctions.bids[i] = bid
                    self.settle_at_once(law.feedback, bid, wanted, auctions.cells[i])
                    law.absorb_cell(law.band_of(auctions.contexts[i]), bid, auctions.cells[i], bid)

    def play_guarded(self, guard, auctions):
        """Do what `play` does, for a guarded law, which needs five random numbers each."""
        i: cython.Py_ssize_t
        self.check_law(guard.law)
        with cython.nogil:
            for i in range(auctions.bids.shape[0]):
                if self.open_next(auctions, i):
                    guard.take_row(auctions.slots, auctions.uniforms, i)
                    auctions.bids[i] = self.play_one_guarded(
                        guard, auctions.contexts[i], auctions.cells[i]
                    )

    def settle_all(self, rows, won, least, others):
        """Do what `settle` does with n bids; all (n,). others: how many other bids are open."""
        i: cython.Py_ssize_t
        last: cython.Py_ssize_t = rows.shape[0] - 1
        for i in range(rows.shape[0]):
            self.settle(rows[i], won[i] != 0, least[i], others == 0 and i == last)

    def auctions(self, limits, contexts=None):
        """Return auctions under these limits, to be settled one by one; see `PacedAuctions`."""
        return PacedAuctions(limits, contexts)

    def check(self, row, first, last):
        if not 0 <= row < self.tickets.shape[0]:
            raise IndexError("there is no such row")
        if first < 0 or last >= self.amounts.shape[0]:
            raise IndexError("there is no such amount")

    def check_law(self, law):
        if law.size != self.amounts.shape[0]:
            raise ValueError("the law has other amounts than the limits")

    # --- what may be bid -----------------------------------------------------------------------

    def look_at(self, value, first, last):
        """Set `worth`, `usable` and `cap`.

        The cap is -1 if no amount may be bid, or if the limits leave only an amount of 0. With a
        reserve price, even the first amount can be above the pseudo-value. A win would then cost
        more than it is worth, so nothing is bid.
        """
        self.worth = self.pseudo_value(value)
        self.usable, self.cap = last, -1
        if first > last:
            return
        while self.usable > first and self.amounts[self.usable] > self.worth:
            self.usable -= 1
        if self.amounts[self.usable] > self.worth:
            return
        cap: cython.Py_ssize_t = self.affordable(value, self.usable)
        if cap >= first and not (self.prices[cap] == 0 and self.prices[last] > 0):
            self.cap = cap

    def pseudo_value(self, value):
        """Return what to bid for: the lowest of the pseudo-values of all limits."""
        limit: cython.Py_ssize_t
        lowest: cython.double = value if self.surplus else INFINITY
        for limit in range(self.limits):
            lowest = min(lowest, self.limited_value(limit, value))
        return lowest

    def limited_value(self, limit, value):
        """Return the pseudo-value under one limit.

        Bids without an outcome count with their expected gradients. Otherwise, if outcomes are
        late, far too much would be bid before the multiplier reacts.
        """
        at: cython.double = self.duals[limit, LOG]
        if self.duals[limit, OPEN] != 0.0:
            squares: cython.double = self.duals[limit, SQUARES] + self.duals[limit, OPEN_SQUARES]
            at = self.clipped(limit, at - self.duals[limit, OPEN] / self.inertia(limit, squares))
        factor: cython.double = exp(at)
        if self.kinds[limit] == BUDGET:
            return value * factor
        credit: cython.double = self.credits[limit, 0] + self.credits[limit, 1] * value
        if self.surplus:
            return credit + (value - credit) * factor
        return credit + value * self.credits[limit, 2] * factor

    def inertia(self, limit, squares):
        """Return what a gradient is divided by. squares: the sum of squared gradients.

        Under a budget it is at least half of what was spent since the plan began, or of what was
        planned, or of what is left, whichever is least. The spend is about in proportion to exp(s),
        so s then follows the spend of the whole period. A multiplier that follows the latest
        auctions would buy as much when values are low as when they are high.
        """
        size: cython.double = sqrt(squares)
        if self.kinds[limit] != BUDGET or self.plans[limit] == AT_ONCE:
            return size
        share: cython.double = self.times[limit, AUCTIONS] / self.times[limit, END]
        if self.plans[limit] == BY_TIME:
            share = self.planned_until(limit, self.times[limit, LATEST])
        planned: cython.double = (share - self.planned_from[limit, 0]) * self.money[limit, GIVEN]
        spent: cython.double = self.money[limit, SPENT] - self.planned_from[limit, 1]
        return max(size, 0.5 * min(spent, planned, self.expected_left(limit)))

    def clipped(self, limit, at):
        """Return the logarithm s of a limit within its bounds."""
        return min(max(at, self.credits[limit, 3]), 0.0 if self.surplus else HIGHEST)

    def affordable(self, value, last):
        """Return the highest amount up to `last` that can break no limit; -1 if there is none."""
        limit: cython.Py_ssize_t
        for limit in range(self.limits):
            left: cython.longlong = self.free_money(limit, value)
            while last >= 0 and self.prices[last] > left:
                last -= 1
        return last

    def free_money(self, limit, value):
        """Return the units that may be bid under one limit, even if all reserved is spent."""
        if self.kinds[limit] == LOOSE_TARGET:
            return self.prices[self.prices.shape[0] - 1] if self.prices.shape[0] > 0 else MOST_UNITS
        unspent: cython.longlong = self.money[limit, GIVEN] - self.money[limit, SPENT]
        left: cython.longlong = unspent - self.counted(limit)
        if self.kinds[limit] == TARGET:
            return left + self.credit_of(limit, value)
        most: cython.longlong = self.money[limit, MOST] - self.money[limit, SPENT]
        return min(left, most - self.money[limit, RESERVED])

    def counted(self, limit):
        """Return the units that bids without an outcome count with, in this period."""
        reserved: cython.longlong = self.money[limit, RESERVED]
        counted: cython.longlong = self.money[limit, COUNTED]
        factor: cython.double = self.doubts[DOUBTS]
        if counted >= reserved or factor == 1.0:
            return min(counted, reserved)
        more: cython.double = factor * counted
        return (
            reserved if more >= reserved else min(cython.cast(cython.longlong, more) + 1, reserved)
        )

    def set_tightest(self, auctions, i):
        """Set the limit that leaves least, what it leaves, and what it has reserved."""
        limit: cython.Py_ssize_t
        for limit in range(self.limits):
            left: cython.longlong = self.free_money(limit, self.value)
            if limit == 0 or left < auctions.tightest[i, 1]:
                auctions.tightest[i, 0] = limit
                auctions.tightest[i, 1] = left
                auctions.tightest[i, 2] = self.held_money(limit)

    def held_money(self, limit):
        """Return the units that open bids count with; minus those that they cost if all win.

        It is the latter, below 0, if the worst case leaves less than the amount.
        """
        counted: cython.longlong = self.counted(limit)
        spare: cython.longlong = self.money[limit, MOST] - self.money[limit, RESERVED]
        if self.kinds[limit] == BUDGET and spare < self.money[limit, GIVEN] - counted:
            return -self.money[limit, RESERVED]
        return counted

    def at_risk(self, limit, value, price):
        """Return the units to reserve for a bid that costs `price` units."""
        if self.kinds[limit] == BUDGET:
            return price
        over: cython.longlong = price - self.credit_of(limit, value)
        return max(0, over)

    def credit_of(self, limit, value):
        """Return the credit of a win in units, rounded down, up to the precision of floats."""
        credit: cython.double = self.credits[limit, 0] + self.credits[limit, 1] * value
        # A value of 0.3 with a return of 3 has a credit of 0.1, though in floats it is a bit less.
        return cython.cast(
            cython.longlong, floor(min(credit / self.unit * (1.0 + 4.5e-16), MOST_CREDIT))
        )

    # --- the plan of a budget ------------------------------------------------------------------

    def planned_share(self, limit, now):
        """Count an auction, and return the share of what is left that is planned for it."""
        self.times[limit, AUCTIONS] += 1.0
        if self.plans[limit] == BY_AUCTIONS:
            return 1.0 / max(self.times[limit, END] - self.times[limit, AUCTIONS] + 1.0, 1.0)
        if self.plans[limit] == AT_ONCE:
            return 0.0
        done: cython.double = self.pass_time(limit, now)
        self.bins[limit, 1, BINS] += 1.0
        start: cython.double = self.times[limit, START]
        part: cython.double = (
            (self.times[limit, LATEST] - start) / (self.times[limit, END] - start) * BINS
        )
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, min(max(part, 0.0), BINS - 1.0))
        self.bins[limit, 1, at] += 1.0
        self.set_gap(limit, at)
        if self.gap <= 0.0:
            return 0.0
        return self.gap / max(1.0 - done - self.before + self.gap, self.gap)

    def pass_time(self, limit, now):
        """Advance to `now`, and return the share of the plan until then.

        Auctions that came at the same time share the gap that follows them. The usual gap is the
        mean over the latest part of the plan, as auctions may come in bursts, or over a number of
        auctions if these are more.
        """
        before: cython.double = self.planned_until(limit, self.times[limit, LATEST])
        self.times[limit, LATEST] = max(self.times[limit, LATEST], now)
        done: cython.double = self.planned_until(limit, self.times[limit, LATEST])
        together: cython.double = self.bins[limit, 1, BINS]
        if done > before and together > 0.0:
            gap: cython.double = (done - before) / together
            if self.times[limit, GAPS] >= LONG and self.times[limit, GAP] > 0.0:
                gap = min(gap, max(LONG * self.times[limit, GAP], PAUSE / together))
            kept: cython.double = min(self.times[limit, GAPS], max(MEMORY - together, 0.0))
            kept = max(kept, self.times[limit, GAPS] * exp(-gap * together / WINDOW))
            self.times[limit, GAPS] = kept + together
            weight: cython.double = together / (kept + together)
            self.times[limit, GAP] += (gap - self.times[limit, GAP]) * weight
            self.times[limit, STEP] += (gap * together - self.times[limit, STEP]) * weight
            self.bins[limit, 1, BINS] = 0.0
        return done

    def set_gap(self, limit, at):
        """Set `gap`, the share of the plan for the latest auction, and `before`.

        at: the bin of the auction. `before` is the share of earlier auctions of its time. The share
        of an auction is the usual gap, with an upper bound. For the n-th auction of one time, the
        bound is an n-th of the bin's share or of the usual step, whichever is larger. So a batch
        that is larger than usual cannot use up the money. While all auctions came at one time,
        there is no usual gap. Then nothing is planned until the bin's share of the money is used;
        after that, the bound is planned.
        """
        part: cython.double = self.bins[limit, 0, at + 1] - self.bins[limit, 0, at]
        most: cython.double = max(self.times[limit, STEP], part)
        together: cython.double = self.bins[limit, 1, BINS]
        if self.times[limit, GAP] > 0.0:
            self.before = min((together - 1.0) * self.times[limit, GAP], most)
            self.gap = min(self.times[limit, GAP], most / together)
            return
        given: cython.double = self.money[limit, GIVEN]
        used: cython.double = given - self.expected_left(limit)
        self.gap = self.before = 0.0
        if used > part * given:
            self.gap, self.before = most / together, part

    def planned_until(self, limit, now):
        """Return the share of the period's budget that is planned until `now`."""
        bins: cython.double = BINS
        start: cython.double = self.times[limit, START]
        at: cython.double = (now - start) / (self.times[limit, END] - start) * bins
        at = min(max(at, 0.0), bins)
        low: cython.Py_ssize_t = min(cython.cast(cython.Py_ssize_t, at), BINS - 1)
        first: cython.double = self.bins[limit, 0, low]
        return first + (at - low) * (self.bins[limit, 0, low + 1] - first)

    def expected_left(self, limit):
        """Return the units of a budget that are left if open bids cost as expected."""
        left: cython.double = self.money[limit, GIVEN] - self.money[limit, SPENT]
        return left - self.duals[limit, DUE]

    # --- an auction begins ---------------------------------------------------------------------

    def open_auction(self, row, now, value, first, last):
        """Count an auction in a row, and do what `look_at` does. Sets the ticket of the row."""
        limit: cython.Py_ssize_t
        self.row, self.now, self.value, self.first = row, now, value, first
        for limit in range(self.limits):
            share: cython.double = self.planned_share(limit, now)
            self.tickets[row, limit, PLANNED] = share * self.expected_left(limit)
            if self.duals[limit, SQUARES] == 0.0:
                self.set_out(limit)
        self.look_at(value, first, last)
        for limit in range(self.limits):
            far: cython.bint = self.limited_value(limit, value) > self.worth * exp(FAR)
            self.tickets[row, limit, RELAXES] = 0.0 if far else 1.0
            self.tickets[row, limit, OF_PERIOD] = self.times[limit, PERIOD]
            self.tickets[row, limit, EXPECTED] = 0.0

    def set_out(self, limit):
        """Set the multiplier of a budget, and the scale of its steps, before anything is learned.

        Without a limit an auction costs about a quarter of its value, and costs are about in
        proportion to the square of the multiplier. A first step is the cost divided by the
        pseudo-value. Otherwise the first few wins would use up a budget that buys few. Under a plan
        by time it is not known how many auctions will come; they are taken for one per bin.
        """
        planned: cython.double = self.tickets[self.row, limit, PLANNED]
        if self.plans[limit] == BY_TIME:
            planned = max(planned, self.expected_left(limit) / BINS)
        usual: cython.double = 0.25 * self.value / self.unit
        if self.kinds[limit] != BUDGET or planned <= 0.0 or usual <= 0.0:
            return
        self.duals[limit, LOG] = self.clipped(limit, 0.5 * log(planned / usual))
        scale: cython.double = 4.0 * usual * exp(self.duals[limit, LOG])
        self.duals[limit, SQUARES] = scale * scale

    def open_next(self, auctions, i):
        """Open one of many auctions, and return whether anything may be bid."""
        self.open_auction(
            auctions.rows[i],
            auctions.times[i],
            auctions.worths[i],
            auctions.firsts[i],
            auctions.lasts[i],
        )
        auctions.pseudo_values[i] = self.worth
        auctions.bids[i] = -1
        if self.cap < 0:
            self.adapt(0, -1)
            return False
        return True

    def choose(self, law, context):
        """Let a law choose, reserve the money, and return the amount that it wants.

        The lower of it and the cap is bid. If that is 0, no bid is made, and the auction is over.

        A lower amount is sometimes tried, as in `LawCore.choose`, but only if the best amount is at
        least half of the *value*. Otherwise bids are low because of the limits. There are few
        wins then, and a try may lose one. Bids vary anyway, because the multipliers change.
        """
        band: cython.Py_ssize_t = law.read_to_choose(context)
        wanted: cython.Py_ssize_t = law.without_tries(
            self.worth, self.cost_of_holding(), self.first, self.usable
        )
        if law.may_try() and 2.0 * law.amounts[wanted] >= self.value:
            wanted = law.probe(band, wanted, self.worth, self.first, law.w)
        self.weigh_holding(self.prices[wanted])
        bid: cython.Py_ssize_t = min(wanted, self.cap)
        self.reserve_or_pass(self.prices[bid], law.chance_of(bid))
        return wanted

    def play_one_guarded(self, guard, context, cell):
        band: cython.Py_ssize_t = guard.law.read_to_choose(context)
        wanted: cython.Py_ssize_t = guard.choose(band, self.worth, self.first, self.usable)
        bid: cython.Py_ssize_t = guard.bid
        if self.cap < self.usable:
            bid = min(bid, self.cap)
            guard.lower(self.cap)
            guard.set_seen(guard.weight, bid)
        amount: cython.Py_ssize_t = min(wanted, self.cap)
        self.reserve_or_pass(self.prices[amount], guard.law.chance_of(amount))
        self.settle_at_once(guard.law.feedback, amount, wanted, cell)
        if guard.law.shows_nothing(amount, cell):
            return amount
        guard.learn_outcome(self.worth, bid, amount, cell)
        guard.law.absorb_cell(band, amount, cell, amount if amount == bid else -1)
        return amount

    # --- money is reserved ---------------------------------------------------------------------

    def reserve_or_pass(self, price, chance):
        """Reserve the money of a bid; if it is 0, no bid is made and the auction is over."""
        if price > 0:
            self.reserve_price(price, chance)
        else:
            self.adapt(0, -1)

    def reserve_price(self, price, chance):
        """Reserve money for a bid, and set its expected cost in its ticket.

        The chance that it wins is calibrated by the wins of earlier bids of about this amount.
        """
        limit: cython.Py_ssize_t
        group: cython.Py_ssize_t = self.group_of(price)
        self.chance = min(max(chance, 0.0), 1.0)
        ratio: cython.double = (self.wins[group, WON] + 1.0) / (self.wins[group, FORETOLD] + 1.0)
        self.likely = min(max(self.chance * ratio, LEAST), 1.0)
        expected: cython.double = price * self.likely
        for limit in range(self.limits):
            at_risk: cython.longlong = self.at_risk(limit, self.value, price)
            self.tickets[self.row, limit, COUNTS] = at_risk
            self.money[limit, RESERVED] += at_risk
            if self.kinds[limit] == BUDGET:
                self.tickets[self.row, limit, COUNTS] = self.counts(limit, price)
                self.duals[limit, WAITING] += 1.0 if price > 0 else 0.0
            else:
                credit: cython.double = self.credit_of(limit, self.value)
                self.tickets[self.row, limit, PLANNED] = credit * self.likely
            self.tickets[self.row, limit, EXPECTED] = expected
            self.duals[limit, DUE] += expected
            self.foresee(limit, 1.0)
            self.money[limit, COUNTED] += cython.cast(
                cython.longlong, self.tickets[self.row, limit, COUNTS]
            )

    def counts(self, limit, price):
        """Return the units that a bid counts with: its certainty equivalent, rounded up."""
        full: cython.double = price
        risk: cython.double = self.risks[limit]
        if risk == INFINITY:
            return full
        return min(
            floor(full + log(self.likely + (1.0 - self.likely) * exp(-risk * full)) / risk) + 1.0,
            full,
        )

    def group_of(self, price):
        """Return the group of the highest amount that costs at most `price` units.

        Without a grid, it is a group of bids with about the same share of the value.
        """
        if self.prices.shape[0] == 0:
            share: cython.double = price * self.unit / self.value if self.value > 0.0 else 0.0
            return cython.cast(cython.Py_ssize_t, min(share * GROUPS, GROUPS - 1.0))
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.prices.shape[0]
        while high - low > 1:
            middle: cython.Py_ssize_t = (low + high) // 2
            if self.prices[middle] <= price:
                low = middle
            else:
                high = middle
        return low * GROUPS // self.prices.shape[0]

    def hold(self, price, wanted):
        """Store a bid in its row, which already has its ticket. price, wanted: in units."""
        self.held[self.row, MADE_AT] = self.now
        self.held[self.row, BID_FOR] = self.value
        self.held[self.row, CHANCE] = self.chance
        self.held[self.row, LIKELY] = self.likely
        self.held_prices[self.row, COSTS] = price
        self.held_prices[self.row, WANTED] = wanted

    def cost_of_holding(self):
        """Return what it costs to reserve a unit of money for a bid, whether it wins or not."""
        limit: cython.Py_ssize_t
        highest: cython.double = 0.0
        for limit in range(self.limits):
            highest = max(highest, self.duals[limit, HOLDING])
        return exp(highest - CHEAP) if highest > 0.0 else 0.0

    def weigh_holding(self, price):
        """Adapt the cost of holding money to a bid of `price` units that is wanted.

        If nearly all that is left of a budget is reserved for bids without an outcome, hardly any
        bid can be made, whatever it would earn. Then the cost of holding rises, so that the bids
        that are made win more often.
        """
        limit: cython.Py_ssize_t
        for limit in range(self.limits):
            if self.kinds[limit] != BUDGET:
                continue
            if self.duals[limit, WAITING] == 0.0:
                self.duals[limit, HOLDING] = 0.0
                continue
            unspent: cython.double = self.money[limit, GIVEN] - self.money[limit, SPENT]
            most: cython.double = self.money[limit, MOST] - self.money[limit, SPENT]
            reserved: cython.double = self.money[limit, RESERVED] + price
            counted: cython.double = self.counted(limit) + price
            usual: cython.double = price if price > 0 else reserved / self.duals[limit, WAITING]
            used: cython.double = max(counted / max(unspent, 1.0), reserved / max(most, 1.0))
            gradient: cython.double = usual * min(used - 1.0, 1.0)
            if gradient > 0.0 or (gradient < 0.0 and self.duals[limit, HOLDING] > 0.0):
                self.duals[limit, HOLDING_SQUARES] += gradient * gradient
                at: cython.double = self.duals[limit, HOLDING]
                at += gradient / sqrt(self.duals[limit, HOLDING_SQUARES])
                self.duals[limit, HOLDING] = min(max(at, 0.0), CHEAP)

    def foresee(self, limit, sign):
        """Add the bid's expected gradient to the sums of OPEN (sign 1), or subtract it (-1)."""
        planned: cython.double = self.tickets[self.row, limit, PLANNED]
        if planned > 0.0:
            gradient: cython.double = self.tickets[self.row, limit, EXPECTED] - planned
            self.duals[limit, OPEN] += sign * gradient
            self.duals[limit, OPEN_SQUARES] += sign * gradient * gradient

    # --- an auction is over --------------------------------------------------------------------

    def settle(self, row, won, least, alone):
        """Account for the bid of a row.

        least: the lowest amount that would have won. alone: whether no other bid is without an
        outcome.
        """
        wanted: cython.longlong = self.held_prices[row, WANTED]
        would: cython.bint = won or wanted * self.unit >= least
        self.row, self.value = row, self.held[row, BID_FOR]
        self.chance, self.likely = self.held[row, CHANCE], self.held[row, LIKELY]
        self.settle_bid(self.held_prices[row, COSTS], wanted if would else -1, won, alone)

    def settle_at_once(self, feedback, amount, wanted, cell):
        """Account for a bid whose outcome is known immediately."""
        won: cython.bint = cell <= amount
        if self.prices[amount] == 0:  # no bid is made, and the auction is over
            return
        # It is known whether the wanted amount would have won after a win, or if the price is told.
        would: cython.bint = cell <= wanted and (
            won or outcome_kind(feedback, amount, cell) == TOLD
        )
        self.settle_bid(self.prices[amount], self.prices[wanted] if would else -1, won, True)

    def settle_bid(self, price, wanted, won, alone):
        """Account for an auction that is over.

        price: the units that were bid. wanted: the units that would have been bid without a hard
        limit, or -1 if they would not have won.
        """
        limit: cython.Py_ssize_t
        column: cython.Py_ssize_t
        self.release(price, won)
        if alone:  # so that rounding errors do not accumulate
            for limit in range(self.limits):
                for column in range(OPEN, WAITING + 1):
                    self.duals[limit, column] = 0.0
        self.adapt(price if won else 0, wanted)

    def release(self, price, won):
        """Release what was reserved for a bid, and pay if it has won, both in its period."""
        limit: cython.Py_ssize_t
        if self.likely > 0.0:  # otherwise nothing was known of the bid
            self.count_outcome(price, won)
        for limit in range(self.limits):
            if self.tickets[self.row, limit, OF_PERIOD] != self.times[limit, PERIOD]:
                continue
            self.foresee(limit, -1.0)
            self.money[limit, RESERVED] -= self.at_risk(limit, self.value, price)
            self.money[limit, COUNTED] -= cython.cast(
                cython.longlong, self.tickets[self.row, limit, COUNTS]
            )
            self.duals[limit, DUE] -= self.tickets[self.row, limit, EXPECTED]
            if self.kinds[limit] == BUDGET and price > 0:
                self.duals[limit, WAITING] = max(self.duals[limit, WAITING] - 1.0, 0.0)
            if won:
                self.pay(limit, self.value, price, 1)

    def count_outcome(self, price, won):
        """Count a win or a loss in the group of an amount of `price` units."""
        column: cython.Py_ssize_t
        group: cython.Py_ssize_t = self.group_of(price)
        if self.wins[group, BIDS] >= RECENT:
            for column in range(3):
                self.wins[group, column] *= 0.5
        self.wins[group, WON] += 1.0 if won else 0.0
        self.wins[group, FORETOLD] += self.chance
        self.wins[group, BIDS] += 1.0
        self.doubt(won)

    def doubt(self, won):
        """Test by an outcome whether chances are right, and set the factor of open bids.

        If bids win at most f = 2^j times as often as their chances p say, exp(X log 2 - f p) is at
        most 1 in expectation, for X = 1 after a win and 0 otherwise. A doubt is the logarithm of
        the product of these, restarted whenever it falls below 1.
        """
        j: cython.Py_ssize_t
        usual: cython.double = 1.0
        factor: cython.double = 1.0
        for j in range(DOUBTS):
            doubt: cython.double = self.doubts[j] - usual * self.likely
            if won:
                doubt += LOG_2
            self.doubts[j] = min(max(doubt, 0.0), 2.0 * DOUBTFUL)
            usual *= 2.0
            if doubt >= DOUBTFUL:
                factor = usual
        self.doubts[DOUBTS] = factor

    def pay(self, limit, value, price, times):
        """Count what a win costs, and its credit. times: 1, or -1 to undo a win."""
        self.money[limit, SPENT] += times * price
        if self.kinds[limit] != BUDGET:
            given: cython.longlong = self.money[limit, GIVEN] + times * self.credit_of(limit, value)
            self.money[limit, GIVEN] = min(MOST_UNITS, given)

    def adapt(self, paid, wanted):
        """Update every multiplier after an auction.

        paid: the units paid. wanted: the units that would have been paid without hard limits (those
        that must hold at any time), or -1 if the bid without them would not have won.
        """
        limit: cython.Py_ssize_t
        gradient: cython.double
        for limit in range(self.limits):
            if self.kinds[limit] == BUDGET:
                if self.tickets[self.row, limit, PLANNED] <= 0.0:
                    continue
                gradient = paid - self.tickets[self.row, limit, PLANNED]
                expected: cython.double = self.tickets[self.row, limit, EXPECTED]
                if expected > 0.0 and self.chance < 1.0:  # varies less than what was paid
                    gradient += 0.5 * (expected - paid)
            elif wanted < 0:
                continue
            else:
                gradient = wanted - self.credit_of(limit, self.value)
            self.duals[limit, SQUARES] += gradient * gradient
            if gradient < 0.0 and self.tickets[self.row, limit, RELAXES] == 0.0:
                continue
            if gradient != 0.0:
                at: cython.double = self.duals[limit, LOG]
                due: cython.double = self.duals[limit, DUE] if self.kinds[limit] == BUDGET else 0.0
                at -= gradient / (due + self.inertia(limit, self.duals[limit, SQUARES]))
                self.duals[limit, LOG] = self.clipped(limit, at)


@cython.cclass
class PacedAuctions:
    """First-price auctions under limits whose outcomes are known immediately.

    This is for three kinds of bids: those of a learner with a feedback graph, best responses to
    estimated prices, and given bids, some of which are not made (`throttle`). Contexts and
    available bids depend on what was spent: before each round its context becomes
    (1, factor * pseudo-value), and bids above the pseudo-value, or above what the limits leave,
    become unavailable.
    """

    def __init__(self, limits, contexts=None) -> None:
        self.core = limits.core
        self.bids, self.values, self.cells = limits.bids, limits.values, limits.cells
        self.times, self.pseudo, self.factor = limits.times, limits.pseudo, limits.factor
        if contexts is not None:
            self.entry, self.table = contexts.entry, contexts.table
            self.available = contexts.available.view(np.uint8)

    def limit(self, i):
        """Set the context of round `i`, and which bids it may make, to what the limits leave."""
        k: cython.Py_ssize_t
        self.open(i)
        self.table[self.entry[i], 0, 1] = self.factor * self.pseudo[i]
        for k in range(1, self.bids.shape[0]):
            self.available[i, k] = k <= self.core.cap and self.bids[k] <= self.pseudo[i]
        self.available[i, 0] = True

    def settle(self, i, arm):
        """Pay for the bid that was made in round `i`, if it wins, and update the multipliers."""
        # The outcome is known immediately, so no money needs to be reserved.
        limit: cython.Py_ssize_t
        core: PaceCore = self.core
        price: cython.longlong = core.prices[arm]
        won: cython.bint = self.cells[i] <= arm
        if won:
            for limit in range(core.limits):
                core.pay(limit, self.values[i], price, 1)
        core.row, core.value = 0, self.values[i]
        core.adapt(price if won else 0, price if won else -1)

    def record(self, i, arm):
        """Settle round `i`, and set the context of the next."""
        self.settle(i, arm)
        if i + 1 < self.values.shape[0]:
            self.limit(i + 1)

    def respond(self, first, estimate, out):
        """Set `out[i]` to the best response at the pseudo-value of auction i.

        first: the first bid that can win. estimate: of the prices; it learns.
        """
        i: cython.Py_ssize_t
        for i in range(self.values.shape[0]):
            self.open(i)
            made: cython.Py_ssize_t = min(estimate.best_bid(self.pseudo[i], first), self.core.cap)
            if made < first:
                made = 0
            out[i] = made
            self.settle(i, made)
            estimate.learn(made, self.cells[i])

    def throttle(self, costs, won, made):
        """Set `made[i]` to whether bid i is made: if it breaks no limit, and none is ahead of plan.

        costs: (n,), in units of money. won: (n,), whether the bid wins if it is made.
        """
        i: cython.Py_ssize_t
        limit: cython.Py_ssize_t
        core: PaceCore = self.core
        filled: cython.uchar[::1] = made.view(np.uint8)
        for i in range(costs.shape[0]):
            makes: cython.bint = costs[i] > 0
            for limit in range(core.limits):
                core.planned_share(limit, self.times[i])  # counts the auction
                makes = makes and costs[i] <= core.free_money(limit, self.values[i])
                if core.kinds[limit] != BUDGET:
                    continue
                given: cython.double = core.money[limit, GIVEN]
                spent: cython.double = core.money[limit, SPENT]
                if core.plans[limit] == BY_AUCTIONS:
                    makes = makes and (
                        spent <= given * core.times[limit, AUCTIONS] / core.times[limit, END]
                    )
                if core.plans[limit] == BY_TIME:
                    makes = makes and (
                        spent <= given * core.planned_until(limit, core.times[limit, LATEST])
                    )
            filled[i] = makes
            if makes and won[i]:
                for limit in range(core.limits):
                    core.pay(limit, self.values[i], costs[i], 1)

    def open(self, i):
        self.core.open_auction(0, self.times[i], self.values[i], 0, self.bids.shape[0] - 1)
        self.pseudo[i] = min(self.core.worth, self.values[i])
