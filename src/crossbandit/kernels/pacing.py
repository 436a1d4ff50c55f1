"""Limits on bids: how much they leave, the plan of a budget, and the multiplier of each limit.

Money is counted in whole units, so sums are exact. A *limit* is a budget or a target. Under a
budget, an amount may be spent. Under a target, every win has a *credit*, and what is paid must not
exceed the credits: with a return on spend of r, the credit of a value v is v / r.

A win with bid b earns v - b, or v if the aim is value. Each limit has a multiplier, and turns the
value into a *pseudo-value* to bid for. Under a budget it is v exp(s). Under a target it is
credit + v exp(s), or credit + (v - credit) exp(s) if a win earns v - b. The lowest pseudo-value of
all limits is used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

BUDGET, TARGET, LOOSE_TARGET = range(3)  # a loose target holds only in the long run
# Columns of `PaceState.money`. A budget has its amount, what was spent, and what is reserved. A
# target has the credits of wins, what was spent, and by how much the reserved bids could exceed
# their credits.
GIVEN, SPENT, RESERVED = range(3)
# Columns of `PaceState.duals`: the logarithm s; the sum of squared gradients. Four are about bids
# without an outcome: the sum of their expected gradients; the sum of the squares of these; what
# those of this period are expected to cost; how many there are. The last two are the logarithm of
# the cost of holding money, 0 for none, and its sum of squared gradients.
LOG, SQUARES, OPEN, OPEN_SQUARES, DUE, WAITING, HOLDING, HOLDING_SQUARES = range(8)
# Columns of a ticket: what was planned for the auction; 1 if the limit may be relaxed after it; the
# period of the auction; what the bid is expected to cost.
PLANNED, RELAXES, OF_PERIOD, EXPECTED = range(4)
# Columns of `Reserved.held` and `Reserved.prices`.
MADE_AT, BID_FOR = range(2)
COSTS, WANTED = range(2)

# How a budget is spread: not at all, over a number of auctions, or over time.
AT_ONCE, BY_AUCTIONS, BY_TIME = range(3)
# Columns of `PaceState.times`: when the period began and when it ends, in seconds or auctions; the
# time of the latest auction; the number of auctions of the period; the mean share of the plan
# between two auctions (the usual gap), and over how many it is averaged; the number of the period;
# the mean share of the plan between two times at which auctions came (the usual step).
START, END, LATEST, AUCTIONS, GAP, GAPS, PERIOD, STEP = range(8)
BINS = 96  # bins of a period: quarters of an hour, if it is a day
GROUPS = 16  # groups of amounts, each with its own share of wins

_MOST_CREDIT = 2.0**53  # units; a higher credit of one win counts as this one
MOST_UNITS = 2**61  # the highest sum of credits: sums of it and of what is spent do not overflow
_HIGHEST = 60.0  # the largest logarithm s: exp(s) does not overflow
_MEMORY = 64.0  # auctions over which the usual gap is averaged, or those of a bin if they are more
# A gap that is longer than this many usual gaps, and than this share of the plan, is a pause, and
# counts as the longer of the two. Gaps between bursts of auctions are no pauses.
_LONG = 8.0
_PAUSE = 1 / 12
_FAR = 1.0  # a limit is not relaxed further if its pseudo-value is e times the lowest one


class PaceRules(NamedTuple):
    """The settings of L limits on K amounts. There are few arrays, as passing each takes time."""

    amounts: Floats  # (K,), ascending
    prices: Integers  # (K,): what each amount costs, in units, rounded up
    unit: float  # of money
    kinds: Integers  # (L,): BUDGET, TARGET or LOOSE_TARGET
    plans: Integers  # (L,): AT_ONCE, BY_AUCTIONS or BY_TIME
    # (L, 4): a win of value v has the credit credits[0] + credits[1] * v. The third number is a
    # scale. The fourth is the lowest s, below which nothing is bid anyway.
    credits: Floats
    surplus: bool  # whether v - b is earned, not v


class PaceState(NamedTuple):
    """The state of the limits."""

    money: Integers  # (L, 3), in units
    duals: Floats  # (L, 8)
    wins: Floats  # (GROUPS, 2): wins and bids, by groups of amounts
    times: Floats  # (L, 8)
    # (L, 2, BINS + 1). First row: the share of the period's budget that is planned up to each bin.
    # Second row: the auctions in each bin; its last entry: those since the plan last advanced.
    bins: Floats


class Reserved(NamedTuple):
    """Bids without an outcome, one per row; other rows are free."""

    held: Floats  # (N, 2): when it was made; the value that was bid for
    # (N, 2), in units: what it costs if it wins; what would have been bid without hard limits.
    prices: Integers
    tickets: Floats  # (N, L, 4): what each limit needs to know when the auction is over


@inlined
def credit_of(rules: PaceRules, limit: int, value: float) -> int:
    """Return the credit of a win in units, rounded down, up to the precision of floats."""
    credit: float = rules.credits[limit, 0] + rules.credits[limit, 1] * value
    # A value of 0.3 with a return of 3 has a credit of 0.1, although in floats it is a little less.
    return math.floor(min(credit / rules.unit * (1.0 + 4.5e-16), _MOST_CREDIT))


@inlined
def pseudo_value(rules: PaceRules, state: PaceState, value: float) -> float:
    """Return what to bid for: the lowest of the pseudo-values of all limits."""
    lowest = value if rules.surplus else math.inf
    for limit in range(rules.kinds.size):
        lowest = min(lowest, limited_value(rules, state, limit, value))
    return lowest


@inlined
def clipped(rules: PaceRules, limit: int, at: float) -> float:
    """Return the logarithm s of a limit within its bounds."""
    return float(min(max(at, rules.credits[limit, 3]), 0.0 if rules.surplus else _HIGHEST))


@inlined
def limited_value(rules: PaceRules, state: PaceState, limit: int, value: float) -> float:
    """Return the pseudo-value under one limit.

    Bids without an outcome count with their expected gradients. Otherwise, if outcomes are late,
    far too much would be bid before the multiplier reacts.
    """
    at = state.duals[limit, LOG]
    if state.duals[limit, OPEN] != 0.0:
        squares = state.duals[limit, SQUARES] + state.duals[limit, OPEN_SQUARES]
        at = clipped(rules, limit, at - state.duals[limit, OPEN] / math.sqrt(squares))
    factor = math.exp(at)
    if rules.kinds[limit] == BUDGET:
        return value * factor
    credit = rules.credits[limit, 0] + rules.credits[limit, 1] * value
    if rules.surplus:
        return float(credit + (value - credit) * factor)
    return float(credit + value * rules.credits[limit, 2] * factor)


@inlined
def look(
    rules: PaceRules, state: PaceState, value: float, first: int, last: int
) -> tuple[float, int, int]:
    """Return the pseudo-value, the highest amount up to it, and the highest one that may be bid.

    The last one is -1 if no amount may be bid, or if the limits leave only an amount of 0. With a
    reserve price, even the first amount can be above the pseudo-value. A win would then cost more
    than it is worth, so nothing is bid.
    """
    worth = pseudo_value(rules, state, value)
    if first > last:
        return worth, last, -1
    usable = last
    while usable > first and rules.amounts[usable] > worth:
        usable -= 1
    if rules.amounts[usable] > worth:
        return worth, usable, -1
    cap = affordable(rules, state, value, usable)
    if cap < first or (rules.prices[cap] == 0 and rules.prices[last] > 0):
        cap = -1
    return worth, usable, cap


@inlined
def affordable(rules: PaceRules, state: PaceState, value: float, last: int) -> int:
    """Return the highest amount up to `last` that can break no limit; -1 if there is none."""
    for limit in range(rules.kinds.size):
        left = free_money(rules, state, limit, value)
        while last >= 0 and rules.prices[last] > left:
            last -= 1
    return last


@inlined
def free_money(rules: PaceRules, state: PaceState, limit: int, value: float) -> int:
    """Return the units that may be bid under one limit, even if all reserved money is spent."""
    if rules.kinds[limit] == LOOSE_TARGET:
        return int(rules.prices[rules.prices.size - 1])
    left: int = state.money[limit, GIVEN] - state.money[limit, SPENT] - state.money[limit, RESERVED]
    if rules.kinds[limit] == TARGET:
        left += credit_of(rules, limit, value)
    return left


@inlined
def at_risk(rules: PaceRules, limit: int, value: float, price: int) -> int:
    """Return the units to reserve for a bid that costs `price` units."""
    if rules.kinds[limit] == BUDGET:
        return price
    return max(0, price - credit_of(rules, limit, value))


@inlined
def planned_share(rules: PaceRules, state: PaceState, limit: int, now: float) -> float:
    """Count an auction, and return the share of what is left that is planned for it."""
    times = state.times[limit]
    times[AUCTIONS] += 1.0
    if rules.plans[limit] == BY_AUCTIONS:
        return float(1.0 / max(times[END] - times[AUCTIONS] + 1.0, 1.0))
    if rules.plans[limit] == AT_ONCE:
        return 0.0
    done = pass_time(state, limit, now)
    state.bins[limit, 1, BINS] += 1.0
    at = int((times[LATEST] - times[START]) / (times[END] - times[START]) * BINS)
    at = min(max(at, 0), BINS - 1)
    state.bins[limit, 1, at] += 1.0
    gap, before = expected_gap(state, limit, at)
    return float(gap / max(1.0 - done - before + gap, gap)) if gap > 0.0 else 0.0


@inlined
def pass_time(state: PaceState, limit: int, now: float) -> float:
    """Advance to `now`, and return the share of the plan until then.

    Auctions that came at the same time share the gap that follows them.
    """
    times = state.times[limit]
    before = planned_until(state, limit, times[LATEST])
    times[LATEST] = max(times[LATEST], now)
    done = planned_until(state, limit, times[LATEST])
    together = state.bins[limit, 1, BINS]
    if done > before and together > 0.0:
        gap, memory = (done - before) / together, _MEMORY
        if times[GAPS] >= _LONG and times[GAP] > 0.0:
            gap = min(gap, max(_LONG * times[GAP], _PAUSE / together))
            memory = max(memory, 1.0 / (BINS * times[GAP]))
        times[GAPS] = min(times[GAPS] + together, memory)
        weight = min(together, times[GAPS]) / times[GAPS]
        times[GAP] += (gap - times[GAP]) * weight
        times[STEP] += (gap * together - times[STEP]) * weight
        state.bins[limit, 1, BINS] = 0.0
    return done


@inlined
def expected_gap(state: PaceState, limit: int, at: int) -> tuple[float, float]:
    """Return the share of the plan for the latest auction, and that for earlier ones of its time.

    at: the bin of the auction. The share of an auction is the usual gap, with an upper bound. For
    the n-th auction of one time, the bound is an n-th of the bin's share or of the usual step,
    whichever is larger. So a batch that is larger than usual cannot use up the money. While all
    auctions came at one time, there is no usual gap. Then nothing is planned until the bin's share
    of the money is used; after that, the bound is planned.
    """
    times, plan = state.times[limit], state.bins[limit, 0]
    part = plan[at + 1] - plan[at]
    most, together = max(times[STEP], part), state.bins[limit, 1, BINS]
    if times[GAP] > 0.0:
        before = min((together - 1.0) * times[GAP], most)
        return float(min(times[GAP], most / together)), float(before)
    given = float(state.money[limit, GIVEN])
    used = given - expected_left(state, limit)
    return (float(most / together), float(part)) if used > part * given else (0.0, 0.0)


@inlined
def planned_until(state: PaceState, limit: int, now: float) -> float:
    """Return the share of the period's budget that is planned until `now`."""
    times = state.times[limit]
    at = (now - times[START]) / (times[END] - times[START]) * BINS
    at = min(max(at, 0.0), float(BINS))
    low = min(int(at), BINS - 1)
    plan = state.bins[limit, 0]
    share: float = plan[low] + (at - low) * (plan[low + 1] - plan[low])
    return share


@inlined
def expected_left(state: PaceState, limit: int) -> float:
    """Return the units of a budget that are left if bids without an outcome cost as expected."""
    left = state.money[limit, GIVEN] - state.money[limit, SPENT]
    return float(left - state.duals[limit, DUE])


@inlined
def count_auction(
    rules: PaceRules, state: PaceState, now: float, value: float, worth: float, ticket: Floats
) -> None:
    """Count an auction with the pseudo-value `worth`, and set its `ticket` (L, 4)."""
    for limit in range(rules.kinds.size):
        share = planned_share(rules, state, limit, now)
        ticket[limit, PLANNED] = share * expected_left(state, limit)
        far = limited_value(rules, state, limit, value) > worth * math.exp(_FAR)
        ticket[limit, RELAXES] = 0.0 if far else 1.0
        ticket[limit, OF_PERIOD] = state.times[limit, PERIOD]
        ticket[limit, EXPECTED] = 0.0


@inlined
def open_auction(
    rules: PaceRules,
    state: PaceState,
    now: float,
    value: float,
    first: int,
    last: int,
    ticket: Floats,
) -> tuple[float, int, int]:
    """Count an auction, and return what `look` returns. Sets `ticket`."""
    worth, usable, cap = look(rules, state, value, first, last)
    count_auction(rules, state, now, value, worth, ticket)
    return worth, usable, cap
