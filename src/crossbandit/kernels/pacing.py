"""Limits on what is bid: reserving money, and a multiplier for every limit.

Money is counted in whole units, so sums are exact. A *limit* is a budget or a target. A budget
allows to spend an amount. A target gives a *credit* for every win, and what is paid must not exceed
the credits: with a return on spend of r, the credit of a value v is v / r.

The bidder earns v - b, or v if it is after value. With a multiplier for every limit, bidding is
bidding for a *pseudo-value*: v exp(s) under a budget, credit + v exp(s) under a target (credit +
(v - credit) exp(s), if it earns v - b). The lowest one counts: it belongs to the limit that binds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from crossbandit.kernels.compilation import inlined

if TYPE_CHECKING:
    from crossbandit.types import Floats, Integers

BUDGET, TARGET, LOOSE_TARGET = range(3)  # a loose target is kept in the long run only
# Columns of `PaceState.money`. Of a budget: its amount, what was spent, what is reserved. Of a
# target: the credits of wins, what was spent, and by how much the reserved bids could exceed their
# credits.
GIVEN, SPENT, RESERVED = range(3)
# Columns of `PaceState.duals`: the logarithm s; the sum of squared gradients. Of bids without an
# outcome: sums of the gradients that are expected of them, and of their squares; what those of this
# period are expected to cost, and how many they are. The logarithm of the cost of holding money, 0
# for none; its sum of squared gradients.
LOG, SQUARES, OPEN, OPEN_SQUARES, DUE, WAITING, HOLDING, HOLDING_SQUARES = range(8)
# Columns of a ticket: what was planned for the auction; 1 if the limit may be relaxed after it; the
# period it belongs to; what the bid is expected to cost.
PLANNED, RELAXES, OF_PERIOD, EXPECTED = range(4)

# How a budget is spread: not at all, over a number of auctions, over time.
AT_ONCE, BY_AUCTIONS, BY_TIME = range(3)
# Columns of `PaceState.times`: when the period began and when it ends, in seconds or auctions; the
# latest auction; the auctions of the period; the usual share of the plan between two auctions, and
# of how many it is the mean; the number of the period.
START, END, LATEST, AUCTIONS, GAP, GAPS, PERIOD = range(7)
BINS = 96  # of a period: quarters of an hour, if it is a day
GROUPS = 16  # of amounts, each with its own share of wins

_FAR = 1.0  # a limit whose pseudo-value is e times the one that counts is not relaxed further
_HIGHEST = 60.0  # of the logarithm s: exp(s) stays a usual number
_RECENT = 512.0  # bids, of a share of wins
_MEMORY = 64.0  # auctions, of the usual gap
_CHEAP = 7.0  # by so many steps is the cost of holding money above that which is none
_LONG = 8.0  # usual gaps: a longer one counts as this, as nobody bids in a pause


class PaceRules(NamedTuple):
    """What does not change. L limits, K amounts. Few arrays: each takes time to be passed."""

    amounts: Floats  # (K,), ascending
    prices: Integers  # (K,): what each amount costs, in units, rounded up
    unit: float  # of money
    kinds: Integers  # (L,): BUDGET, TARGET or LOOSE_TARGET
    plans: Integers  # (L,): AT_ONCE, BY_AUCTIONS or BY_TIME
    # (L, 4): a win of value v has the credit credits[0] + credits[1] * v; a scale; the lowest s,
    # below which nothing is bid anyway.
    credits: Floats
    surplus: bool  # whether v - b is earned, not v


class PaceState(NamedTuple):
    """All that changes."""

    money: Integers  # (L, 3), in units
    duals: Floats  # (L, 8)
    wins: Floats  # (GROUPS, 2): wins and bids, by groups of amounts
    times: Floats  # (L, 7)
    # (L, 2, BINS + 1): the share of the period's budget that is planned up to each bin; the
    # auctions in each bin, and last those since the plan went on.
    bins: Floats


@inlined
def credit_of(rules: PaceRules, limit: int, value: float) -> int:
    """Return the credit of a win in units, rounded down, up to the precision of floats."""
    credit: float = rules.credits[limit, 0] + rules.credits[limit, 1] * value
    # A value of 0.3 at a return of 3 allows 0.1, although floats say a little less.
    return math.floor(credit / rules.unit * (1.0 + 4.5e-16))


@inlined
def planned_share(rules: PaceRules, state: PaceState, limit: int, now: float) -> float:
    """Count an auction, and return the share of what is left that is planned for it."""
    times = state.times[limit]
    times[AUCTIONS] += 1.0
    if rules.plans[limit] == BY_AUCTIONS:
        return float(1.0 / max(times[END] - times[AUCTIONS] + 1.0, 1.0))
    if rules.plans[limit] == AT_ONCE:
        return 0.0
    before = planned_until(state, limit, times[LATEST])
    times[LATEST] = max(times[LATEST], now)
    done = planned_until(state, limit, times[LATEST])
    gap = done - before
    if gap > 0.0 and (times[GAPS] > 0.0 or times[AUCTIONS] > 1.0):
        # Auctions that came at the same time share the gap that follows them.
        together = max(state.bins[limit, 1, BINS], 1.0)
        gap /= together
        if times[GAPS] >= _LONG and times[GAP] > 0.0:
            gap = min(gap, _LONG * times[GAP])
        times[GAPS] = min(times[GAPS] + together, _MEMORY)
        times[GAP] += (gap - times[GAP]) * min(together, times[GAPS]) / times[GAPS]
        state.bins[limit, 1, BINS] = 0.0
    state.bins[limit, 1, BINS] += 1.0
    at = int((times[LATEST] - times[START]) / (times[END] - times[START]) * BINS)
    state.bins[limit, 1, min(max(at, 0), BINS - 1)] += 1.0
    if times[GAP] <= 0.0:
        return 0.0
    return float(times[GAP] / (1.0 - done + times[GAP]))


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
    """Return the units of a budget that are left, if bids without an outcome cost as expected."""
    left = state.money[limit, GIVEN] - state.money[limit, SPENT]
    return float(left - state.duals[limit, DUE])


@inlined
def group_of(rules: PaceRules, price: int) -> int:
    """Return the group of the highest amount that costs at most `price` units."""
    low, high = 0, rules.prices.size
    while high - low > 1:
        middle = (low + high) // 2
        if rules.prices[middle] <= price:
            low = middle
        else:
            high = middle
    return low * GROUPS // rules.prices.size


@inlined
def pseudo_value(rules: PaceRules, state: PaceState, value: float) -> float:
    """Return what to bid for: the lowest of the pseudo-values of all limits."""
    lowest = value if rules.surplus else math.inf
    for limit in range(rules.kinds.size):
        lowest = min(lowest, limited_value(rules, state, limit, value))
    return lowest


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
def clipped(rules: PaceRules, limit: int, at: float) -> float:
    """Return the logarithm s of a limit within its bounds."""
    return float(min(max(at, rules.credits[limit, 3]), 0.0 if rules.surplus else _HIGHEST))


@inlined
def limited_value(rules: PaceRules, state: PaceState, limit: int, value: float) -> float:
    """Return the pseudo-value under one limit.

    Bids without an outcome count with what is expected of them: if outcomes are late, they would
    otherwise be noticed after far too much was bid.
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

    The last one is -1 if no amount may be bid, or only 0 because of the limits.
    """
    worth = pseudo_value(rules, state, value)
    if first > last:
        return worth, last, -1
    usable = last
    while usable > first and rules.amounts[usable] > worth:
        usable -= 1
    cap = affordable(rules, state, value, usable)
    if cap < first or (rules.prices[cap] == 0 and rules.prices[last] > 0):
        cap = -1
    return worth, usable, cap


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
    """Return the units that may be bid under one limit, whatever becomes of reserved money."""
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
def reserve(rules: PaceRules, state: PaceState, ticket: Floats, value: float, price: int) -> None:
    """Reserve money for a bid; its ticket gets what it is expected to cost."""
    wins, bids = state.wins[group_of(rules, price)]
    expected = price * (wins + 1.0) / (bids + 1.0)
    for limit in range(rules.kinds.size):
        state.money[limit, RESERVED] += at_risk(rules, limit, value, price)
        if rules.kinds[limit] == BUDGET:
            state.duals[limit, WAITING] += 1.0 if price > 0 else 0.0
            ticket[limit, EXPECTED] = expected
            state.duals[limit, DUE] += expected
            foresee(state, ticket, limit, 1.0)


@inlined
def cost_of_holding(state: PaceState) -> float:
    """Return what a unit that is bid costs, whether the bid wins or not, because it is reserved."""
    highest = 0.0
    for limit in range(state.duals.shape[0]):
        highest = max(highest, state.duals[limit, HOLDING])
    return math.exp(highest - _CHEAP) if highest > 0.0 else 0.0


@inlined
def weigh_holding(rules: PaceRules, state: PaceState, price: int) -> None:
    """Adapt the cost of holding money to a bid of `price` units that is wanted.

    If bids without an outcome hold nearly all that is left of a budget, hardly any bid can be made,
    whatever it would earn. So holding costs more then, and bids are made that win more often.
    """
    for limit in range(rules.kinds.size):
        duals = state.duals[limit]
        if rules.kinds[limit] != BUDGET:
            continue
        if duals[WAITING] == 0.0:
            duals[HOLDING] = 0.0
            continue
        left = float(state.money[limit, GIVEN] - state.money[limit, SPENT])
        reserved = float(state.money[limit, RESERVED] + price)
        usual = float(price) if price > 0 else reserved / duals[WAITING]
        gradient = usual * min(reserved / max(left, 1.0) - 1.0, 1.0)
        if gradient > 0.0 or (gradient < 0.0 and duals[HOLDING] > 0.0):
            duals[HOLDING_SQUARES] += gradient * gradient
            at = duals[HOLDING] + gradient / math.sqrt(duals[HOLDING_SQUARES])
            duals[HOLDING] = min(max(at, 0.0), _CHEAP)


@inlined
def foresee(state: PaceState, ticket: Floats, limit: int, sign: float) -> None:
    """Add the gradient that is expected of a bid to those without an outcome, or take it away."""
    if ticket[limit, PLANNED] > 0.0:
        gradient = ticket[limit, EXPECTED] - ticket[limit, PLANNED]
        state.duals[limit, OPEN] += sign * gradient
        state.duals[limit, OPEN_SQUARES] += sign * gradient * gradient


@inlined
def release(
    rules: PaceRules,
    state: PaceState,
    ticket: Floats,
    value: float,
    price: int,
    won: bool,  # noqa: FBT001 - kernels take no keywords
) -> None:
    """Give back what was reserved for a bid, and pay if it has won; both in the bid's period."""
    group = state.wins[group_of(rules, price)]
    if group[1] >= _RECENT:
        group *= 0.5
    group[0] += 1.0 if won else 0.0
    group[1] += 1.0
    for limit in range(rules.kinds.size):
        if rules.kinds[limit] == BUDGET:
            foresee(state, ticket, limit, -1.0)
        if ticket[limit, OF_PERIOD] != state.times[limit, PERIOD]:
            continue
        state.money[limit, RESERVED] -= at_risk(rules, limit, value, price)
        state.duals[limit, DUE] -= ticket[limit, EXPECTED]
        if rules.kinds[limit] == BUDGET and price > 0:
            state.duals[limit, WAITING] = max(state.duals[limit, WAITING] - 1.0, 0.0)
        if won:
            pay(rules, state, limit, value, price, 1)


@inlined
def pay(
    rules: PaceRules, state: PaceState, limit: int, value: float, price: int, times: int
) -> None:
    """Count what a win costs, and its credit. times: 1, or -1 to take a win back."""
    state.money[limit, SPENT] += times * price
    if rules.kinds[limit] != BUDGET:
        state.money[limit, GIVEN] += times * credit_of(rules, limit, value)


@inlined
def adapt(
    rules: PaceRules,
    state: PaceState,
    ticket: Floats,
    value: float,
    paid: int,
    wanted: int,
) -> None:
    """Move every multiplier after an auction.

    paid: the units paid. wanted: the units that would have been paid without a hard limit, or -1 if
    the bid without it would not have won.
    """
    for limit in range(rules.kinds.size):
        if rules.kinds[limit] == BUDGET:
            if ticket[limit, PLANNED] <= 0.0:
                continue
            gradient = paid - ticket[limit, PLANNED]
        elif wanted < 0:
            continue
        else:
            gradient = float(wanted - credit_of(rules, limit, value))
        state.duals[limit, SQUARES] += gradient * gradient
        if gradient < 0.0 and ticket[limit, RELAXES] == 0.0:
            continue
        if gradient != 0.0:
            at = state.duals[limit, LOG] - gradient / math.sqrt(state.duals[limit, SQUARES])
            state.duals[limit, LOG] = clipped(rules, limit, at)


@inlined
def settle(
    rules: PaceRules,
    state: PaceState,
    ticket: Floats,
    value: float,
    price: int,
    wanted: int,
    won: bool,  # noqa: FBT001 - kernels take no keywords
    alone: bool,  # noqa: FBT001
) -> None:
    """Account for an auction that is over.

    price: the units that were bid. wanted: the units that would have been bid without a hard limit,
    or -1 if they would not have won. alone: whether no other bid is without an outcome.
    """
    release(rules, state, ticket, value, price, won)
    if alone:  # so that rounding does not add up
        state.duals[:, OPEN : WAITING + 1] = 0.0
    adapt(rules, state, ticket, value, price if won else 0, wanted)
