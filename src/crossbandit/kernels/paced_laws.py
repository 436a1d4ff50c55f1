"""Bid by a law of prices under limits: in one auction, in many of one time, or on a whole log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined, opened
from crossbandit.kernels.laws.choice import chance_of, may_try, read_law, without_tries
from crossbandit.kernels.laws.guard import guarded_decide, guarded_learn, see
from crossbandit.kernels.laws.learning import absorb
from crossbandit.kernels.laws.outcomes import outcome_kind
from crossbandit.kernels.laws.reading import band_of
from crossbandit.kernels.laws.state import TOLD
from crossbandit.kernels.laws.tries import probe
from crossbandit.kernels.pace_steps import (
    adapt,
    cost_of_holding,
    hold,
    reserve,
    settle,
    weigh_holding,
)
from crossbandit.kernels.pacing import RESERVED, free_money, open_auction

if TYPE_CHECKING:
    from crossbandit.kernels.compilation import Bound
    from crossbandit.kernels.laws.guard import GuardState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.kernels.pacing import PaceRules, PaceState, Reserved
    from crossbandit.types import Floats, Integers


@inlined
def limited_choice(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    band: int,
    value: float,
    worth: float,
    cost: float,
    first: int,
    last: int,
    uniforms: Floats,
) -> int:
    """Return what a law chooses at a pseudo-value; `scratch` holds the laws at the context.

    A lower amount is sometimes tried, as in `choose`, but only if the best amount is at least half
    of the *value*. Otherwise bids are low because of the limits. There are few wins then, and a try
    may lose one. Bids vary anyway, because the multipliers change.
    """
    best = without_tries(rules, state, scratch, worth, cost, first, last, uniforms)
    if not may_try(rules) or 2.0 * rules.amounts[best] < value:
        return best
    chances = scratch.chances[state.weights.size]
    return probe(rules, state, chances, band, best, worth, first, uniforms[2])


@inlined
def paced_decide(
    law_rules: LawRules,
    law: LawState,
    scratch: Scratch,
    rules: PaceRules,
    state: PaceState,
    context: float,
    slots: Integers,
    now: float,
    value: float,
    first: int,
    last: int,
    uniforms: Floats,
    ticket: Floats,
) -> tuple[float, int, int, int]:
    """Open an auction, let a law choose for its pseudo-value, and reserve the money.

    Returns what `open_auction` returns, and the amount that the law wants. The lower of the last
    two is bid. If nothing may be bid, both are -1, and the auction is over.
    """
    worth, usable, cap = open_auction(rules, state, now, value, first, last, ticket)
    if cap < 0:
        adapt(rules, state, ticket, value, 0, -1)
        return worth, usable, -1, -1
    band = read_law(law_rules, law, scratch, context, slots)
    cost = cost_of_holding(state)
    wanted = limited_choice(
        law_rules, law, scratch, band, value, worth, cost, first, usable, uniforms
    )
    weigh_holding(rules, state, rules.prices[wanted])
    reserve(rules, state, ticket, value, rules.prices[min(wanted, cap)])
    return worth, usable, cap, wanted


@compiled
def decide_bound(
    bound: Bound,
    row: int,
    now: float,
    value: float,
    slots: Integers,
    first: int,
    last: int,
    uniforms: Floats,
) -> tuple[float, int, int]:
    """Do what `paced_decide` does, and store the bid in a row.

    bound: the rules, the state and the scratch of a law, the rules and the state of the limits, and
    the reserved bids. Returns the pseudo-value, the highest amount up to it, and the bid, which is
    -1 if nothing may be bid.
    """
    law_rules, law, scratch, rules, state, reserved = opened(bound)
    ticket = reserved.tickets[row]
    worth, usable, cap, wanted = paced_decide(
        law_rules,
        law,
        scratch,
        rules,
        state,
        value,
        slots,
        now,
        value,
        first,
        last,
        uniforms,
        ticket,
    )
    bid = min(wanted, cap)
    if bid >= 0:
        hold(rules, reserved, row, now, value, bid, wanted)
    return worth, usable, bid


@compiled
def paced_decide_all(
    law_rules: LawRules,
    law: LawState,
    scratch: Scratch,
    rules: PaceRules,
    state: PaceState,
    reserved: Reserved,
    now: float,
    values: Floats,
    slots: Integers,
    firsts: Integers,
    lasts: Integers,
    uniforms: Floats,
    rows: Integers,
    out: Integers,
    chances: Floats,
    usable: Integers,
    pseudo: Floats,
    tightest: Integers,
) -> None:
    """Do what `decide_bound` does in n auctions of one time; no period ends in between.

    slots: (n, width). uniforms: (n, 3). rows: the row of each bid. The last five arrays are filled:
    the bids, -1 if nothing can be bid; their chances of winning, by the law; the results of
    `paced_decide`; and `tightest` (n, 3). If nothing can be bid, this is the limit that leaves
    least, what it leaves, and what it has reserved. All other arrays: (n,).
    """
    for i in range(values.size):
        value = values[i]
        pseudo[i], usable[i], cap, wanted = paced_decide(
            law_rules,
            law,
            scratch,
            rules,
            state,
            value,
            slots[i],
            now,
            value,
            firsts[i],
            lasts[i],
            uniforms[i],
            reserved.tickets[rows[i]],
        )
        out[i] = -1
        chances[i] = 0.0
        if cap >= 0:
            out[i] = min(wanted, cap)
            chances[i] = chance_of(law_rules, law, scratch, out[i])
            hold(rules, reserved, rows[i], now, value, out[i], wanted)
            continue
        for limit in range(rules.kinds.size):
            left = free_money(rules, state, limit, value)
            if limit == 0 or left < tightest[i, 1]:
                tightest[i, 0] = limit
                tightest[i, 1] = left
                tightest[i, 2] = state.money[limit, RESERVED]


@inlined
def settle_at_once(
    feedback: int,
    rules: PaceRules,
    state: PaceState,
    ticket: Floats,
    value: float,
    amount: int,
    wanted: int,
    cell: int,
) -> int:
    """Account for a bid whose outcome is known immediately, and return what it shows."""
    won = cell <= amount
    kind = outcome_kind(feedback, amount, cell)
    # It is known whether the wanted amount would have won after a win, or if the price is told.
    would = cell <= wanted and (won or kind == TOLD)
    paid = rules.prices[wanted] if would else -1
    settle(rules, state, ticket, value, rules.prices[amount], paid, won, True)  # noqa: FBT003
    return kind


@compiled
def paced_play(
    law_rules: LawRules,
    law: LawState,
    scratch: Scratch,
    rules: PaceRules,
    state: PaceState,
    contexts: Floats,
    slots: Integers,
    worths: Floats,
    firsts: Integers,
    lasts: Integers,
    cells: Integers,
    uniforms: Floats,
    times: Floats,
    ticket: Floats,
    out: Integers,
    pseudo: Floats,
) -> None:
    """Decide, settle and learn in n first-price auctions, one after the other.

    The other arguments are those of `laws.outcomes.play`. No period ends in between. times: (n,).
    ticket: (L, 4), scratch. If nothing can be bid, out[i] = -1. pseudo: (n,), set to the
    pseudo-values.
    """
    feedback = law_rules.feedback
    for i in range(contexts.size):
        value, cell = worths[i], cells[i]
        pseudo[i], _, cap, wanted = paced_decide(
            law_rules,
            law,
            scratch,
            rules,
            state,
            contexts[i],
            slots[i],
            times[i],
            value,
            firsts[i],
            lasts[i],
            uniforms[i],
            ticket,
        )
        out[i] = -1
        if cap < 0:
            continue
        amount = min(wanted, cap)
        out[i] = amount
        kind = settle_at_once(feedback, rules, state, ticket, value, amount, wanted, cell)
        index = cell if kind == TOLD else amount
        band = band_of(law_rules, contexts[i])
        absorb(law_rules, law, scratch, band, slots[i], kind, index, amount)


@inlined
def lower_chances(chances: Floats, cap: int) -> None:
    """Move the chances of all amounts above `cap` to `cap`, which is bid instead of them."""
    for k in range(cap + 1, chances.size):
        chances[cap] += chances[k]
        chances[k] = 0.0


@compiled
def paced_guarded_play(
    law_rules: LawRules,
    law: LawState,
    scratch: Scratch,
    guard: GuardState,
    top: float,
    rules: PaceRules,
    state: PaceState,
    contexts: Floats,
    slots: Integers,
    worths: Floats,
    firsts: Integers,
    lasts: Integers,
    cells: Integers,
    uniforms: Floats,
    times: Floats,
    ticket: Floats,
    out: Integers,
    pseudo: Floats,
) -> None:
    """Do what `paced_play` does, for a guarded law. uniforms: (n, 5)."""
    feedback = law_rules.feedback
    for i in range(contexts.size):
        value, first, cell = worths[i], firsts[i], cells[i]
        worth, usable, cap = open_auction(rules, state, times[i], value, first, lasts[i], ticket)
        pseudo[i] = worth
        out[i] = -1
        if cap < 0:
            adapt(rules, state, ticket, value, 0, -1)
            continue
        wanted, bid, weight = guarded_decide(
            law_rules,
            law,
            scratch,
            guard,
            top,
            contexts[i],
            slots[i],
            worth,
            first,
            usable,
            uniforms[i],
        )
        if cap < usable:
            bid = min(bid, cap)
            lower_chances(guard.chances, cap)
            see(law_rules, guard, weight, bid)
        amount = min(wanted, cap)
        out[i] = amount
        reserve(rules, state, ticket, value, rules.prices[amount])
        kind = settle_at_once(feedback, rules, state, ticket, value, amount, wanted, cell)
        guarded_learn(law_rules, guard, worth, top, bid, amount, cell)
        index = cell if kind == TOLD else amount
        band = band_of(law_rules, contexts[i])
        tried = amount if amount == bid else -1  # as in `guarded_play`
        absorb(law_rules, law, scratch, band, slots[i], kind, index, tried)
