"""The core of limits: how much they leave, the plan of a budget, the multiplier of each limit.

Money is counted in whole units, so sums are exact. A *limit* is a budget or a target. Under a
budget, an amount may be spent. Under a target, every win has a *credit*, and what is paid must not
exceed the credits: with a return on spend of r, the credit of a value v is v / r.

A win with bid b earns v - b, or v if the aim is value. Each limit has a multiplier, and turns the
value into a *pseudo-value* to bid for. Under a budget it is v exp(s). Under a target it is
credit + v exp(s), or credit + (v - credit) exp(s) if a win earns v - b. The lowest pseudo-value of
all limits is used.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from crossbandit.core import shim as cython  # type: ignore[no-redef]

if cython.compiled:
    from cython.cimports.crossbandit.laws.guard_core import GuardCore
    from cython.cimports.crossbandit.laws.law_core import LawCore, outcome_kind
    from cython.cimports.crossbandit.laws.price_core import PriceEstimate
    from cython.cimports.libc.math import INFINITY, exp, floor, sqrt
else:
    from math import exp, floor, sqrt
    from math import inf as INFINITY  # noqa: N812

    from crossbandit.laws.guard_core import GuardCore
    from crossbandit.laws.law_core import LawCore, outcome_kind
    from crossbandit.laws.price_core import PriceEstimate

import numpy as np

# Kinds of limits; columns of arrays: see `limits/state.py`.
BUDGET = cython.declare(cython.Py_ssize_t, 0)
TARGET = cython.declare(cython.Py_ssize_t, 1)
LOOSE_TARGET = cython.declare(cython.Py_ssize_t, 2)
GIVEN = cython.declare(cython.Py_ssize_t, 0)
SPENT = cython.declare(cython.Py_ssize_t, 1)
RESERVED = cython.declare(cython.Py_ssize_t, 2)
LOG = cython.declare(cython.Py_ssize_t, 0)
SQUARES = cython.declare(cython.Py_ssize_t, 1)
OPEN = cython.declare(cython.Py_ssize_t, 2)
OPEN_SQUARES = cython.declare(cython.Py_ssize_t, 3)
DUE = cython.declare(cython.Py_ssize_t, 4)
WAITING = cython.declare(cython.Py_ssize_t, 5)
HOLDING = cython.declare(cython.Py_ssize_t, 6)
HOLDING_SQUARES = cython.declare(cython.Py_ssize_t, 7)
PLANNED = cython.declare(cython.Py_ssize_t, 0)
RELAXES = cython.declare(cython.Py_ssize_t, 1)
OF_PERIOD = cython.declare(cython.Py_ssize_t, 2)
EXPECTED = cython.declare(cython.Py_ssize_t, 3)
MADE_AT = cython.declare(cython.Py_ssize_t, 0)
BID_FOR = cython.declare(cython.Py_ssize_t, 1)
COSTS = cython.declare(cython.Py_ssize_t, 0)
WANTED = cython.declare(cython.Py_ssize_t, 1)
AT_ONCE = cython.declare(cython.Py_ssize_t, 0)
BY_AUCTIONS = cython.declare(cython.Py_ssize_t, 1)
BY_TIME = cython.declare(cython.Py_ssize_t, 2)
START = cython.declare(cython.Py_ssize_t, 0)
END = cython.declare(cython.Py_ssize_t, 1)
LATEST = cython.declare(cython.Py_ssize_t, 2)
AUCTIONS = cython.declare(cython.Py_ssize_t, 3)
GAP = cython.declare(cython.Py_ssize_t, 4)
GAPS = cython.declare(cython.Py_ssize_t, 5)
PERIOD = cython.declare(cython.Py_ssize_t, 6)
STEP = cython.declare(cython.Py_ssize_t, 7)
BINS = cython.declare(cython.Py_ssize_t, 96)
GROUPS = cython.declare(cython.Py_ssize_t, 16)
TOLD = cython.declare(cython.Py_ssize_t, 0)

MOST_CREDIT = cython.declare(cython.double, 9007199254740992.0)  # units of one win: 2^53
MOST_UNITS = cython.declare(cython.longlong, 2305843009213693952)  # of all credits: 2^61
HIGHEST = cython.declare(cython.double, 60.0)  # the largest logarithm s: exp(s) is finite
MEMORY = cython.declare(cython.double, 64.0)  # auctions over which the usual gap is averaged
# A gap that is longer than this many usual gaps, and than this share of the plan, is a pause, and
# counts as the longer of the two. Gaps between bursts of auctions are no pauses.
LONG = cython.declare(cython.double, 8.0)
PAUSE = cython.declare(cython.double, 1.0 / 12.0)
FAR = cython.declare(cython.double, 1.0)  # no more relaxing at e times the lowest pseudo-value
RECENT = cython.declare(cython.double, 512.0)  # bids over which a share of wins is averaged
CHEAP = cython.declare(cython.double, 7.0)  # log of the highest cost of holding, which is then 1


@cython.cclass
class PaceCore:
    """The state of limits and of bids without an outcome, and the steps of an auction.

    An auction is opened in a *row* of the reserved bids, which holds its ticket. `look` and what
    calls it set `worth`, the pseudo-value; `usable`, the highest amount up to it; and `cap`, the
    highest amount that may be bid, or -1.
    """

    def __init__(self, rules, state, reserved) -> None:
        self.made_of = (rules, state, reserved)
        self.amounts, self.prices, self.unit = rules.amounts, rules.prices, rules.unit
        self.kinds, self.plans, self.credits = rules.kinds, rules.plans, rules.credits
        self.surplus, self.limits = rules.surplus, len(rules.kinds)
        self.money, self.duals, self.wins = state.money, state.duals, state.wins
        self.times, self.bins = state.times, state.bins
        self.held, self.held_prices = reserved.held, reserved.prices
        self.tickets = reserved.tickets

    def __reduce__(self):
        return type(self), self.made_of

    # --- what Python calls ---------------------------------------------------------------------

    def look(self, value: cython.double, first: cython.Py_ssize_t, last: cython.Py_ssize_t):
        """Return the pseudo-value, the highest amount up to it, and the highest to be bid."""
        self.check(0, first, last)
        self.look_at(value, first, last)
        return self.worth, self.usable, self.cap

    def open(
        self,
        row: cython.Py_ssize_t,
        now: cython.double,
        value: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
    ):
        """Count an auction in a row, and return what `look` returns."""
        self.check(row, first, last)
        self.open_auction(row, now, value, first, last)
        return self.worth, self.usable, self.cap

    def reserve(
        self,
        row: cython.Py_ssize_t,
        now: cython.double,
        value: cython.double,
        amount: cython.Py_ssize_t,
        wanted: cython.Py_ssize_t,
    ) -> None:
        """Reserve money for a bid in the auction that was opened in a row. Amounts: by number."""
        self.check(row, amount, amount)
        self.check(row, wanted, wanted)
        self.reserve_price(row, value, self.prices[amount])
        self.hold(row, now, value, amount, wanted)

    def decline(self, row: cython.Py_ssize_t, value: cython.double) -> None:
        """Account for the auction of a row, in which no bid could be made."""
        self.adapt(row, value, 0, -1)

    def pass_by(self, row: cython.Py_ssize_t, value: cython.double) -> None:
        """Account for the auction of a row, in which the amount 0 was chosen: no bid is made."""
        self.choose_nothing(row, value)

    def settle(
        self, row: cython.Py_ssize_t, won: cython.bint, least: cython.double, alone: cython.bint
    ) -> None:
        """Account for the bid of a row.

        least: the lowest amount that would have won. alone: whether no other bid is without an
        outcome.
        """
        self.settle_row(row, won, least, alone)

    def settle_all(
        self,
        rows: cython.const[cython.longlong][::1],
        won: cython.const[cython.uchar][::1],
        least: cython.const[cython.double][::1],
        others: cython.Py_ssize_t,
    ) -> None:
        """Do what `settle` does with n bids; all (n,). others: how many other bids are open."""
        i: cython.Py_ssize_t
        last: cython.Py_ssize_t = rows.shape[0] - 1
        for i in range(rows.shape[0]):
            self.settle_row(rows[i], won[i] != 0, least[i], others == 0 and i == last)

    def pay(
        self,
        limit: cython.Py_ssize_t,
        value: cython.double,
        price: cython.longlong,
        times: cython.Py_ssize_t,
    ) -> None:
        """Count what a win costs, and its credit. times: 1, or -1 to undo a win."""
        self.pay_for(limit, value, price, times)

    def at_risk(
        self, limit: cython.Py_ssize_t, value: cython.double, price: cython.longlong
    ) -> int:
        """Return the units to reserve for a bid that costs `price` units."""
        return self.risk_of(limit, value, price)

    def free_money(self, limit: cython.Py_ssize_t, value: cython.double) -> int:
        """Return the units that may be bid under one limit, even if all reserved is spent."""
        return self.free(limit, value)

    def limited_value(self, limit: cython.Py_ssize_t, value: cython.double) -> float:
        """Return the pseudo-value under one limit."""
        return self.value_under(limit, value)

    def pseudo_value(self, value: cython.double) -> float:
        """Return what to bid for: the lowest of the pseudo-values of all limits."""
        return self.pseudo(value)

    def planned_until(self, limit: cython.Py_ssize_t, now: cython.double) -> float:
        """Return the share of the period's budget that is planned until `now`."""
        return self.plan_at(limit, now)

    def pass_time(self, limit: cython.Py_ssize_t, now: cython.double) -> float:
        """Advance to `now`, and return the share of the plan until then."""
        return self.advance(limit, now)

    def cost_of_holding(self) -> float:
        """Return what it costs to reserve a unit of money for a bid, whether it wins or not."""
        return self.holding()

    def auctions(self, limits, contexts=None):
        """Return auctions under these limits, to be settled one by one; see `PacedAuctions`."""
        return PacedAuctions(limits, contexts)

    def decide(
        self,
        law: LawCore,
        row: cython.Py_ssize_t,
        now: cython.double,
        value: cython.double,
        slots: cython.const[cython.longlong][::1],
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
        uniforms: cython.const[cython.double][::1],
    ):
        """Open an auction, let a law choose for its pseudo-value, and reserve the money.

        Returns the pseudo-value, the highest amount up to it, and the amount that was chosen, which
        is -1 if nothing may be bid. If it is 0, no bid is made and nothing is stored.
        """
        self.check(row, first, last)
        self.check_law(law)
        if uniforms.shape[0] < 3:
            raise IndexError("there are too few random numbers")
        law.set_classes(slots)
        law.set_uniforms(uniforms)
        wanted: cython.Py_ssize_t = self.decide_in(law, row, value, now, value, first, last)
        bid: cython.Py_ssize_t = min(wanted, self.cap)
        if bid >= 0 and self.prices[bid] > 0:
            self.hold(row, now, value, bid, wanted)
        return self.worth, self.usable, bid

    def decide_all(
        self,
        law: LawCore,
        now: cython.double,
        values: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        rows: cython.const[cython.longlong][::1],
        out: cython.longlong[::1],
        chances: cython.double[::1],
        usable: cython.longlong[::1],
        pseudo: cython.double[::1],
        tightest: cython.longlong[:, ::1],
    ) -> None:
        """Do what `decide` does in n auctions of one time; no period ends in between.

        slots: (n, width). uniforms: (n, 3). rows: the row of each bid. The last five arrays are
        filled: the bids, -1 if nothing can be bid; their chances of winning, by the law; the
        highest amounts up to the pseudo-values; these; and `tightest` (n, 3). If nothing can be
        bid, this is the limit that leaves least, what it leaves, and what it has reserved. All
        other arrays: (n,).
        """
        i: cython.Py_ssize_t
        limit: cython.Py_ssize_t
        wanted: cython.Py_ssize_t
        left: cython.longlong
        value: cython.double
        self.check_law(law)
        with cython.nogil:
            for i in range(values.shape[0]):
                value = values[i]
                law.take_row(slots, uniforms, i)
                wanted = self.decide_in(law, rows[i], value, now, value, firsts[i], lasts[i])
                pseudo[i], usable[i] = self.worth, self.usable
                out[i] = -1
                chances[i] = 0.0
                if self.cap >= 0:
                    out[i] = min(wanted, self.cap)
                    chances[i] = law.chance_of(out[i])
                    if self.prices[out[i]] > 0:
                        self.hold(rows[i], now, value, out[i], wanted)
                    continue
                for limit in range(self.limits):
                    left = self.free(limit, value)
                    if limit == 0 or left < tightest[i, 1]:
                        tightest[i, 0] = limit
                        tightest[i, 1] = left
                        tightest[i, 2] = self.money[limit, RESERVED]

    def play(
        self,
        law: LawCore,
        row: cython.Py_ssize_t,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        worths: cython.const[cython.double][::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        cells: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        times: cython.const[cython.double][::1],
        out: cython.longlong[::1],
        pseudo: cython.double[::1],
    ) -> None:
        """Decide, settle and learn in n first-price auctions, one after the other.

        The arguments are those of `LawCore.play`. No period ends in between. row: that of the
        ticket. times: (n,). If nothing can be bid, out[i] = -1. pseudo: (n,), set to the
        pseudo-values.
        """
        i: cython.Py_ssize_t
        wanted: cython.Py_ssize_t
        self.check_law(law)
        with cython.nogil:
            for i in range(contexts.shape[0]):
                law.take_row(slots, uniforms, i)
                wanted = self.decide_in(
                    law, row, contexts[i], times[i], worths[i], firsts[i], lasts[i]
                )
                pseudo[i] = self.worth
                out[i] = -1
                if self.cap < 0:
                    continue
                out[i] = min(wanted, self.cap)
                self.settle_at_once(law.feedback, row, worths[i], out[i], wanted, cells[i])
                law.absorb_cell(law.band_of(contexts[i]), out[i], cells[i], out[i])

    def play_guarded(
        self,
        guard: GuardCore,
        row: cython.Py_ssize_t,
        contexts: cython.const[cython.double][::1],
        slots: cython.const[cython.longlong][:, ::1],
        worths: cython.const[cython.double][::1],
        firsts: cython.const[cython.longlong][::1],
        lasts: cython.const[cython.longlong][::1],
        cells: cython.const[cython.longlong][::1],
        uniforms: cython.const[cython.double][:, ::1],
        times: cython.const[cython.double][::1],
        out: cython.longlong[::1],
        pseudo: cython.double[::1],
    ) -> None:
        """Do what `play` does, for a guarded law. uniforms: (n, 5)."""
        i: cython.Py_ssize_t
        self.check_law(guard.law)
        with cython.nogil:
            for i in range(contexts.shape[0]):
                self.open_auction(row, times[i], worths[i], firsts[i], lasts[i])
                pseudo[i] = self.worth
                out[i] = -1
                if self.cap < 0:
                    self.adapt(row, worths[i], 0, -1)
                    continue
                guard.take_row(slots, uniforms, i)
                out[i] = self.play_one_guarded(
                    guard, row, contexts[i], worths[i], firsts[i], cells[i]
                )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def play_one_guarded(
        self,
        guard: GuardCore,
        row: cython.Py_ssize_t,
        context: cython.double,
        value: cython.double,
        first: cython.Py_ssize_t,
        cell: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        band: cython.Py_ssize_t = guard.law.read_law(context)
        wanted: cython.Py_ssize_t = guard.choose(band, self.worth, first, self.usable)
        bid: cython.Py_ssize_t = guard.bid
        if self.cap < self.usable:
            bid = min(bid, self.cap)
            guard.lower(self.cap)
            guard.set_seen(guard.weight, bid)
        amount: cython.Py_ssize_t = min(wanted, self.cap)
        self.reserve_or_pass(row, value, self.prices[amount])
        self.settle_at_once(guard.law.feedback, row, value, amount, wanted, cell)
        if guard.law.shows_nothing(amount, cell):
            return amount
        guard.learn_outcome(self.worth, bid, amount, cell)
        guard.law.absorb_cell(band, amount, cell, amount if amount == bid else -1)
        return amount

    @cython.cfunc
    def check(self, row: cython.Py_ssize_t, first: cython.Py_ssize_t, last: cython.Py_ssize_t):
        if not 0 <= row < self.tickets.shape[0]:
            raise IndexError("there is no such row")
        if first < 0 or last >= self.amounts.shape[0]:
            raise IndexError("there is no such amount")

    @cython.cfunc
    def check_law(self, law: LawCore):
        if law.size != self.amounts.shape[0]:
            raise ValueError("the law has other amounts than the limits")

    # --- steps ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def credit_of(self, limit: cython.Py_ssize_t, value: cython.double) -> cython.longlong:
        """Return the credit of a win in units, rounded down, up to the precision of floats."""
        credit: cython.double = self.credits[limit, 0] + self.credits[limit, 1] * value
        # A value of 0.3 with a return of 3 has a credit of 0.1, though in floats it is a bit less.
        return cython.cast(
            cython.longlong, floor(min(credit / self.unit * (1.0 + 4.5e-16), MOST_CREDIT))
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pseudo(self, value: cython.double) -> cython.double:
        limit: cython.Py_ssize_t
        lowest: cython.double = value if self.surplus else INFINITY
        for limit in range(self.limits):
            lowest = min(lowest, self.value_under(limit, value))
        return lowest

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def clipped(self, limit: cython.Py_ssize_t, at: cython.double) -> cython.double:
        """Return the logarithm s of a limit within its bounds."""
        return min(max(at, self.credits[limit, 3]), 0.0 if self.surplus else HIGHEST)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def value_under(self, limit: cython.Py_ssize_t, value: cython.double) -> cython.double:
        """Return the pseudo-value under one limit.

        Bids without an outcome count with their expected gradients. Otherwise, if outcomes are
        late, far too much would be bid before the multiplier reacts.
        """
        at: cython.double = self.duals[limit, LOG]
        if self.duals[limit, OPEN] != 0.0:
            squares: cython.double = self.duals[limit, SQUARES] + self.duals[limit, OPEN_SQUARES]
            at = self.clipped(limit, at - self.duals[limit, OPEN] / sqrt(squares))
        factor: cython.double = exp(at)
        if self.kinds[limit] == BUDGET:
            return value * factor
        credit: cython.double = self.credits[limit, 0] + self.credits[limit, 1] * value
        if self.surplus:
            return credit + (value - credit) * factor
        return credit + value * self.credits[limit, 2] * factor

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def look_at(
        self, value: cython.double, first: cython.Py_ssize_t, last: cython.Py_ssize_t
    ) -> cython.void:
        """Set `worth`, `usable` and `cap`.

        The cap is -1 if no amount may be bid, or if the limits leave only an amount of 0. With a
        reserve price, even the first amount can be above the pseudo-value. A win would then cost
        more than it is worth, so nothing is bid.
        """
        self.worth = self.pseudo(value)
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def affordable(self, value: cython.double, last: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the highest amount up to `last` that can break no limit; -1 if there is none."""
        limit: cython.Py_ssize_t
        left: cython.longlong
        for limit in range(self.limits):
            left = self.free(limit, value)
            while last >= 0 and self.prices[last] > left:
                last -= 1
        return last

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def free(self, limit: cython.Py_ssize_t, value: cython.double) -> cython.longlong:
        if self.kinds[limit] == LOOSE_TARGET:
            return self.prices[self.prices.shape[0] - 1]
        left: cython.longlong = (
            self.money[limit, GIVEN] - self.money[limit, SPENT] - self.money[limit, RESERVED]
        )
        if self.kinds[limit] == TARGET:
            left += self.credit_of(limit, value)
        return left

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def risk_of(
        self, limit: cython.Py_ssize_t, value: cython.double, price: cython.longlong
    ) -> cython.longlong:
        """Return the units to reserve for a bid that costs `price` units."""
        over: cython.longlong
        if self.kinds[limit] == BUDGET:
            return price
        over = price - self.credit_of(limit, value)
        return max(0, over)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def planned_share(self, limit: cython.Py_ssize_t, now: cython.double) -> cython.double:
        """Count an auction, and return the share of what is left that is planned for it."""
        bins: cython.double = BINS
        self.times[limit, AUCTIONS] += 1.0
        if self.plans[limit] == BY_AUCTIONS:
            return 1.0 / max(self.times[limit, END] - self.times[limit, AUCTIONS] + 1.0, 1.0)
        if self.plans[limit] == AT_ONCE:
            return 0.0
        done: cython.double = self.advance(limit, now)
        self.bins[limit, 1, BINS] += 1.0
        start: cython.double = self.times[limit, START]
        part: cython.double = (
            (self.times[limit, LATEST] - start) / (self.times[limit, END] - start) * bins
        )
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, min(max(part, 0.0), bins - 1.0))
        self.bins[limit, 1, at] += 1.0
        self.set_gap(limit, at)
        if self.gap <= 0.0:
            return 0.0
        return self.gap / max(1.0 - done - self.before + self.gap, self.gap)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def advance(self, limit: cython.Py_ssize_t, now: cython.double) -> cython.double:
        """Advance to `now`, and return the share of the plan until then.

        Auctions that came at the same time share the gap that follows them.
        """
        gap: cython.double
        memory: cython.double = MEMORY
        weight: cython.double
        bins: cython.double = BINS
        before: cython.double = self.plan_at(limit, self.times[limit, LATEST])
        self.times[limit, LATEST] = max(self.times[limit, LATEST], now)
        done: cython.double = self.plan_at(limit, self.times[limit, LATEST])
        together: cython.double = self.bins[limit, 1, BINS]
        if done > before and together > 0.0:
            gap = (done - before) / together
            if self.times[limit, GAPS] >= LONG and self.times[limit, GAP] > 0.0:
                gap = min(gap, max(LONG * self.times[limit, GAP], PAUSE / together))
                memory = max(memory, 1.0 / (bins * self.times[limit, GAP]))
            self.times[limit, GAPS] = min(self.times[limit, GAPS] + together, memory)
            weight = min(together, self.times[limit, GAPS]) / self.times[limit, GAPS]
            self.times[limit, GAP] += (gap - self.times[limit, GAP]) * weight
            self.times[limit, STEP] += (gap * together - self.times[limit, STEP]) * weight
            self.bins[limit, 1, BINS] = 0.0
        return done

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_gap(self, limit: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.void:
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def plan_at(self, limit: cython.Py_ssize_t, now: cython.double) -> cython.double:
        bins: cython.double = BINS
        start: cython.double = self.times[limit, START]
        at: cython.double = (now - start) / (self.times[limit, END] - start) * bins
        at = min(max(at, 0.0), bins)
        low: cython.Py_ssize_t = min(cython.cast(cython.Py_ssize_t, at), BINS - 1)
        first: cython.double = self.bins[limit, 0, low]
        return first + (at - low) * (self.bins[limit, 0, low + 1] - first)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def expected_left(self, limit: cython.Py_ssize_t) -> cython.double:
        """Return the units of a budget that are left if open bids cost as expected."""
        left: cython.double = self.money[limit, GIVEN] - self.money[limit, SPENT]
        return left - self.duals[limit, DUE]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open_auction(
        self,
        row: cython.Py_ssize_t,
        now: cython.double,
        value: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
    ) -> cython.void:
        """Count an auction in a row, and do what `look_at` does. Sets the ticket of the row."""
        limit: cython.Py_ssize_t
        share: cython.double
        self.look_at(value, first, last)
        for limit in range(self.limits):
            share = self.planned_share(limit, now)
            self.tickets[row, limit, PLANNED] = share * self.expected_left(limit)
            far: cython.bint = self.value_under(limit, value) > self.worth * exp(FAR)
            self.tickets[row, limit, RELAXES] = 0.0 if far else 1.0
            self.tickets[row, limit, OF_PERIOD] = self.times[limit, PERIOD]
            self.tickets[row, limit, EXPECTED] = 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def group_of(self, price: cython.longlong) -> cython.Py_ssize_t:
        """Return the group of the highest amount that costs at most `price` units."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.prices.shape[0]
        middle: cython.Py_ssize_t
        while high - low > 1:
            middle = (low + high) // 2
            if self.prices[middle] <= price:
                low = middle
            else:
                high = middle
        return low * GROUPS // self.prices.shape[0]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reserve_price(
        self, row: cython.Py_ssize_t, value: cython.double, price: cython.longlong
    ) -> cython.void:
        """Reserve money for a bid, and set its expected cost in its ticket."""
        limit: cython.Py_ssize_t
        group: cython.Py_ssize_t = self.group_of(price)
        expected: cython.double = price * (self.wins[group, 0] + 1.0) / (self.wins[group, 1] + 1.0)
        for limit in range(self.limits):
            self.money[limit, RESERVED] += self.risk_of(limit, value, price)
            if self.kinds[limit] == BUDGET:
                self.duals[limit, WAITING] += 1.0 if price > 0 else 0.0
                self.tickets[row, limit, EXPECTED] = expected
                self.duals[limit, DUE] += expected
                self.foresee(row, limit, 1.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def holding(self) -> cython.double:
        limit: cython.Py_ssize_t
        highest: cython.double = 0.0
        for limit in range(self.limits):
            highest = max(highest, self.duals[limit, HOLDING])
        return exp(highest - CHEAP) if highest > 0.0 else 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_holding(self, price: cython.longlong) -> cython.void:
        """Adapt the cost of holding money to a bid of `price` units that is wanted.

        If nearly all that is left of a budget is reserved for bids without an outcome, hardly any
        bid can be made, whatever it would earn. Then the cost of holding rises, so that the bids
        that are made win more often.
        """
        limit: cython.Py_ssize_t
        left: cython.double
        reserved: cython.double
        usual: cython.double
        gradient: cython.double
        at: cython.double
        for limit in range(self.limits):
            if self.kinds[limit] != BUDGET:
                continue
            if self.duals[limit, WAITING] == 0.0:
                self.duals[limit, HOLDING] = 0.0
                continue
            left = self.money[limit, GIVEN] - self.money[limit, SPENT]
            reserved = self.money[limit, RESERVED] + price
            usual = price if price > 0 else reserved / self.duals[limit, WAITING]
            gradient = usual * min(reserved / max(left, 1.0) - 1.0, 1.0)
            if gradient > 0.0 or (gradient < 0.0 and self.duals[limit, HOLDING] > 0.0):
                self.duals[limit, HOLDING_SQUARES] += gradient * gradient
                at = self.duals[limit, HOLDING]
                at += gradient / sqrt(self.duals[limit, HOLDING_SQUARES])
                self.duals[limit, HOLDING] = min(max(at, 0.0), CHEAP)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def foresee(
        self, row: cython.Py_ssize_t, limit: cython.Py_ssize_t, sign: cython.double
    ) -> cython.void:
        """Add the expected gradient of a bid to the sums of OPEN (sign 1), or subtract it (-1)."""
        gradient: cython.double
        if self.tickets[row, limit, PLANNED] > 0.0:
            gradient = self.tickets[row, limit, EXPECTED] - self.tickets[row, limit, PLANNED]
            self.duals[limit, OPEN] += sign * gradient
            self.duals[limit, OPEN_SQUARES] += sign * gradient * gradient

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def release(
        self, row: cython.Py_ssize_t, value: cython.double, price: cython.longlong, won: cython.bint
    ) -> cython.void:
        """Release what was reserved for a bid, and pay if it has won, both in its period."""
        limit: cython.Py_ssize_t
        self.count_outcome(price, won)
        for limit in range(self.limits):
            if self.tickets[row, limit, OF_PERIOD] != self.times[limit, PERIOD]:
                continue
            if self.kinds[limit] == BUDGET:
                self.foresee(row, limit, -1.0)
            self.money[limit, RESERVED] -= self.risk_of(limit, value, price)
            self.duals[limit, DUE] -= self.tickets[row, limit, EXPECTED]
            if self.kinds[limit] == BUDGET and price > 0:
                self.duals[limit, WAITING] = max(self.duals[limit, WAITING] - 1.0, 0.0)
            if won:
                self.pay_for(limit, value, price, 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_outcome(self, price: cython.longlong, won: cython.bint) -> cython.void:
        """Count a win or a loss in the group of an amount of `price` units."""
        group: cython.Py_ssize_t = self.group_of(price)
        if self.wins[group, 1] >= RECENT:
            self.wins[group, 0] *= 0.5
            self.wins[group, 1] *= 0.5
        self.wins[group, 0] += 1.0 if won else 0.0
        self.wins[group, 1] += 1.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_nothing(self, row: cython.Py_ssize_t, value: cython.double) -> cython.void:
        self.count_outcome(0, False)
        self.adapt(row, value, 0, -1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reserve_or_pass(
        self, row: cython.Py_ssize_t, value: cython.double, price: cython.longlong
    ) -> cython.void:
        """Reserve the money of a bid; if it is 0, no bid is made and the auction is over."""
        if price > 0:
            self.reserve_price(row, value, price)
        else:
            self.choose_nothing(row, value)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pay_for(
        self,
        limit: cython.Py_ssize_t,
        value: cython.double,
        price: cython.longlong,
        times: cython.Py_ssize_t,
    ) -> cython.void:
        given: cython.longlong
        self.money[limit, SPENT] += times * price
        if self.kinds[limit] != BUDGET:
            given = self.money[limit, GIVEN] + times * self.credit_of(limit, value)
            self.money[limit, GIVEN] = min(MOST_UNITS, given)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def adapt(
        self,
        row: cython.Py_ssize_t,
        value: cython.double,
        paid: cython.longlong,
        wanted: cython.longlong,
    ) -> cython.void:
        """Update every multiplier after an auction.

        paid: the units paid. wanted: the units that would have been paid without hard limits (those
        that must hold at any time), or -1 if the bid without them would not have won.
        """
        limit: cython.Py_ssize_t
        gradient: cython.double
        at: cython.double
        for limit in range(self.limits):
            if self.kinds[limit] == BUDGET:
                if self.tickets[row, limit, PLANNED] <= 0.0:
                    continue
                gradient = paid - self.tickets[row, limit, PLANNED]
            elif wanted < 0:
                continue
            else:
                gradient = wanted - self.credit_of(limit, value)
            self.duals[limit, SQUARES] += gradient * gradient
            if gradient < 0.0 and self.tickets[row, limit, RELAXES] == 0.0:
                continue
            if gradient != 0.0:
                at = self.duals[limit, LOG] - gradient / sqrt(self.duals[limit, SQUARES])
                self.duals[limit, LOG] = self.clipped(limit, at)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def settle_bid(
        self,
        row: cython.Py_ssize_t,
        value: cython.double,
        price: cython.longlong,
        wanted: cython.longlong,
        won: cython.bint,
        alone: cython.bint,
    ) -> cython.void:
        """Account for an auction that is over.

        price: the units that were bid. wanted: the units that would have been bid without a hard
        limit, or -1 if they would not have won.
        """
        limit: cython.Py_ssize_t
        column: cython.Py_ssize_t
        self.release(row, value, price, won)
        if alone:  # so that rounding errors do not accumulate
            for limit in range(self.limits):
                for column in range(OPEN, WAITING + 1):
                    self.duals[limit, column] = 0.0
        self.adapt(row, value, price if won else 0, wanted)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def settle_row(
        self, row: cython.Py_ssize_t, won: cython.bint, least: cython.double, alone: cython.bint
    ) -> cython.void:
        price: cython.longlong = self.held_prices[row, COSTS]
        wanted: cython.longlong = self.held_prices[row, WANTED]
        would: cython.bint = won or wanted * self.unit >= least
        self.settle_bid(row, self.held[row, BID_FOR], price, wanted if would else -1, won, alone)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def settle_at_once(
        self,
        feedback: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        value: cython.double,
        amount: cython.Py_ssize_t,
        wanted: cython.Py_ssize_t,
        cell: cython.Py_ssize_t,
    ) -> cython.void:
        """Account for a bid whose outcome is known immediately."""
        won: cython.bint = cell <= amount
        if self.prices[amount] == 0:  # no bid is made, and the auction is over
            return
        # It is known whether the wanted amount would have won after a win, or if the price is told.
        would: cython.bint = cell <= wanted and (
            won or outcome_kind(feedback, amount, cell) == TOLD
        )
        paid: cython.longlong = self.prices[wanted] if would else -1
        self.settle_bid(row, value, self.prices[amount], paid, won, True)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def hold(
        self,
        row: cython.Py_ssize_t,
        now: cython.double,
        value: cython.double,
        amount: cython.Py_ssize_t,
        wanted: cython.Py_ssize_t,
    ) -> cython.void:
        """Store a bid in a row, which already has its ticket. amount, wanted: by number."""
        self.held[row, MADE_AT] = now
        self.held[row, BID_FOR] = value
        self.held_prices[row, COSTS] = self.prices[amount]
        self.held_prices[row, WANTED] = self.prices[wanted]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def decide_in(
        self,
        law: LawCore,
        row: cython.Py_ssize_t,
        context: cython.double,
        now: cython.double,
        value: cython.double,
        first: cython.Py_ssize_t,
        last: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Open an auction, let a law choose, reserve the money; return the amount it wants.

        The lower of it and the cap is bid. If nothing may be bid, both are -1, and the auction is
        over. It is also over if that amount is 0.

        A lower amount is sometimes tried, as in `LawCore.choose`, but only if the best amount is at
        least half of the *value*. Otherwise bids are low because of the limits. There are few
        wins then, and a try may lose one. Bids vary anyway, because the multipliers change.
        """
        self.open_auction(row, now, value, first, last)
        if self.cap < 0:
            self.adapt(row, value, 0, -1)
            return -1
        band: cython.Py_ssize_t = law.read_law(context)
        wanted: cython.Py_ssize_t = law.without_tries(
            self.worth, self.holding(), first, self.usable
        )
        if law.may_try() and 2.0 * law.amounts[wanted] >= value:
            wanted = law.probe(band, wanted, self.worth, first, law.w)
        self.weigh_holding(self.prices[wanted])
        self.reserve_or_pass(row, value, self.prices[min(wanted, self.cap)])
        return wanted


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

    def limit(self, i: cython.Py_ssize_t) -> None:
        """Set the context of round `i`, and which bids it may make, to what the limits leave."""
        k: cython.Py_ssize_t
        core: PaceCore = self.core
        self.open(i)
        self.table[self.entry[i], 0, 1] = self.factor * self.pseudo[i]
        for k in range(1, self.bids.shape[0]):
            self.available[i, k] = k <= core.cap and self.bids[k] <= self.pseudo[i]
        self.available[i, 0] = True

    def settle(self, i: cython.Py_ssize_t, arm: cython.Py_ssize_t) -> None:
        """Pay for the bid that was made in round `i`, if it wins, and update the multipliers."""
        self.pay(i, arm)

    def record(self, i: cython.Py_ssize_t, arm: cython.Py_ssize_t) -> None:
        """Settle round `i`, and set the context of the next."""
        self.pay(i, arm)
        if i + 1 < self.values.shape[0]:
            self.limit(i + 1)

    def respond(
        self, first: cython.Py_ssize_t, estimate: PriceEstimate, out: cython.longlong[::1]
    ) -> None:
        """Set `out[i]` to the best response at the pseudo-value of auction i.

        first: the first bid that can win. estimate: of the prices; it learns.
        """
        i: cython.Py_ssize_t
        made: cython.Py_ssize_t
        for i in range(self.values.shape[0]):
            self.open(i)
            made = min(estimate.best_bid(self.pseudo[i], first), self.core.cap)
            if made < first:
                made = 0
            out[i] = made
            self.pay(i, made)
            estimate.learn(made, self.cells[i])

    def throttle(
        self, costs: cython.const[cython.longlong][::1], won: cython.const[cython.uchar][::1], made
    ) -> None:
        """Set `made[i]` to whether bid i is made: if it breaks no limit, and none is ahead of plan.

        costs: (n,), in units of money. won: (n,), whether the bid wins if it is made.
        """
        i: cython.Py_ssize_t
        limit: cython.Py_ssize_t
        makes: cython.bint
        core: PaceCore = self.core
        filled: cython.uchar[::1] = made.view(np.uint8)
        for i in range(costs.shape[0]):
            makes = costs[i] > 0
            for limit in range(core.limits):
                core.planned_share(limit, self.times[i])  # counts the auction
                makes = makes and costs[i] <= core.free(limit, self.values[i])
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
                        spent <= given * core.plan_at(limit, core.times[limit, LATEST])
                    )
            filled[i] = makes
            if makes and won[i]:
                for limit in range(core.limits):
                    core.pay_for(limit, self.values[i], costs[i], 1)

    @cython.cfunc
    def open(self, i: cython.Py_ssize_t):
        core: PaceCore = self.core
        core.open_auction(0, self.times[i], self.values[i], 0, self.bids.shape[0] - 1)
        self.pseudo[i] = min(core.worth, self.values[i])

    @cython.cfunc
    def pay(self, i: cython.Py_ssize_t, arm: cython.Py_ssize_t):
        # The outcome is known immediately, so no money needs to be reserved.
        limit: cython.Py_ssize_t
        core: PaceCore = self.core
        price: cython.longlong = core.prices[arm]
        won: cython.bint = self.cells[i] <= arm
        if won:
            for limit in range(core.limits):
                core.pay_for(limit, self.values[i], price, 1)
        core.adapt(0, self.values[i], price if won else 0, price if won else -1)
