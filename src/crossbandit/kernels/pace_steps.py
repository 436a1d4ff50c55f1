"""Reserve, release and pay the money of a bid, and update the multipliers after its outcome."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined, opened
from crossbandit.kernels.pacing import (
    BID_FOR,
    BUDGET,
    COSTS,
    DUE,
    EXPECTED,
    GIVEN,
    GROUPS,
    HOLDING,
    HOLDING_SQUARES,
    LOG,
    MADE_AT,
    MOST_UNITS,
    OF_PERIOD,
    OPEN,
    OPEN_SQUARES,
    PERIOD,
    PLANNED,
    RELAXES,
    RESERVED,
    SPENT,
    SQUARES,
    WAITING,
    WANTED,
    at_risk,
    clipped,
    credit_of,
    open_auction,
)

if TYPE_CHECKING:
    from crossbandit.kernels.compilation import Bound
    from crossbandit.kernels.pacing import PaceRules, PaceState, Reserved
    from crossbandit.types import Booleans, Floats, Integers

_RECENT = 512.0  # bids over which a share of wins is averaged
_CHEAP = 7.0  # the largest logarithm of the cost of holding a unit, which is then 1


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
def reserve(rules: PaceRules, state: PaceState, ticket: Floats, value: float, price: int) -> None:
    """Reserve money for a bid, and set its expected cost in its ticket."""
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
    """Return what it costs to reserve a unit of money for a bid, whether the bid wins or not."""
    highest = 0.0
    for limit in range(state.duals.shape[0]):
        highest = max(highest, state.duals[limit, HOLDING])
    return math.exp(highest - _CHEAP) if highest > 0.0 else 0.0


@inlined
def weigh_holding(rules: PaceRules, state: PaceState, price: int) -> None:
    """Adapt the cost of holding money to a bid of `price` units that is wanted.

    If nearly all that is left of a budget is reserved for bids without an outcome, hardly any bid
    can be made, whatever it would earn. Then the cost of holding rises, so that the bids that are
    made win more often.
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
    """Add the expected gradient of a bid to the sums of `OPEN` (sign 1), or subtract it (-1)."""
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
    """Release what was reserved for a bid, and pay if it has won, both in the bid's period."""
    group = state.wins[group_of(rules, price)]
    if group[1] >= _RECENT:
        group *= 0.5
    group[0] += 1.0 if won else 0.0
    group[1] += 1.0
    for limit in range(rules.kinds.size):
        if ticket[limit, OF_PERIOD] != state.times[limit, PERIOD]:
            continue
        if rules.kinds[limit] == BUDGET:
            foresee(state, ticket, limit, -1.0)
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
    """Count what a win costs, and its credit. times: 1, or -1 to undo a win."""
    state.money[limit, SPENT] += times * price
    if rules.kinds[limit] != BUDGET:
        given = state.money[limit, GIVEN] + times * credit_of(rules, limit, value)
        state.money[limit, GIVEN] = min(given, MOST_UNITS)


@inlined
def adapt(
    rules: PaceRules,
    state: PaceState,
    ticket: Floats,
    value: float,
    paid: int,
    wanted: int,
) -> None:
    """Update every multiplier after an auction.

    paid: the units paid. wanted: the units that would have been paid without hard limits (those
    that must hold at any time), or -1 if the bid without them would not have won.
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
    if alone:  # so that rounding errors do not accumulate
        state.duals[:, OPEN : WAITING + 1] = 0.0
    adapt(rules, state, ticket, value, price if won else 0, wanted)


@inlined
def hold(
    rules: PaceRules,
    reserved: Reserved,
    row: int,
    now: float,
    value: float,
    amount: int,
    wanted: int,
) -> None:
    """Store a bid in a row, which already has its ticket. amount, wanted: by number."""
    reserved.held[row, MADE_AT] = now
    reserved.held[row, BID_FOR] = value
    reserved.prices[row, COSTS] = rules.prices[amount]
    reserved.prices[row, WANTED] = rules.prices[wanted]


@inlined
def settle_row(
    rules: PaceRules,
    state: PaceState,
    reserved: Reserved,
    row: int,
    won: bool,  # noqa: FBT001
    least: float,
    alone: bool,  # noqa: FBT001
) -> None:
    """Account for the bid of a row. least: the lowest amount that would have won."""
    price, wanted = reserved.prices[row]
    would = won or wanted * rules.unit >= least
    settle(
        rules,
        state,
        reserved.tickets[row],
        reserved.held[row, BID_FOR],
        price,
        wanted if would else -1,
        won,
        alone,
    )


# What Python calls for one auction. bound: the rules, the state and the reserved bids.


@inlined
def open_bound(
    bound: Bound, row: int, now: float, value: float, first: int, last: int
) -> tuple[float, int, int]:
    """Do what `open_auction` does. Sets the ticket of a row."""
    rules, state, reserved = opened(bound)
    return open_auction(rules, state, now, value, first, last, reserved.tickets[row])


@inlined
def reserve_bound(
    bound: Bound, row: int, now: float, value: float, amount: int, wanted: int
) -> None:
    """Reserve money for a bid in the auction that was opened with a row."""
    rules, state, reserved = opened(bound)
    reserve(rules, state, reserved.tickets[row], value, rules.prices[amount])
    hold(rules, reserved, row, now, value, amount, wanted)


@inlined
def settle_bound(
    bound: Bound,
    row: int,
    won: bool,  # noqa: FBT001
    least: float,
    alone: bool,  # noqa: FBT001
) -> None:
    """Do what `settle_row` does."""
    rules, state, reserved = opened(bound)
    settle_row(rules, state, reserved, row, won, least, alone)


@compiled
def settle_all(
    rules: PaceRules,
    state: PaceState,
    reserved: Reserved,
    rows: Integers,
    won: Booleans,
    least: Floats,
    others: int,
) -> None:
    """Do what `settle_row` does with n bids; all (n,). others: how many other bids are open."""
    for i in range(rows.size):
        alone = others == 0 and i == rows.size - 1
        settle_row(rules, state, reserved, rows[i], won[i], least[i], alone)
