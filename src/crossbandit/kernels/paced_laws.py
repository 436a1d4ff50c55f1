"""Bidding by a law of prices under limits: one auction, and whole logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.choice import may_try, read_law, without_tries
from crossbandit.kernels.laws.learning import absorb
from crossbandit.kernels.laws.outcomes import outcome_kind
from crossbandit.kernels.laws.reading import band_of
from crossbandit.kernels.laws.state import TOLD
from crossbandit.kernels.laws.tries import probe
from crossbandit.kernels.pace_plan import open_auction
from crossbandit.kernels.pace_steps import adapt, cost_of_holding, reserve, settle, weigh_holding

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.kernels.pacing import PaceRules, PaceState
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

    A lower amount is tried at times, as by `choose`, but only if the best is at least a half of
    the *value*. Below that it is the limits that make bids low. A try costs a win, of which there
    are few then, and bids vary anyway, as the multipliers move.
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

    Returns what `open_auction` returns, and the amount that was wanted: the lower one of the last
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

    As `laws.loops.play`. No period ends in between. times: (n,). ticket: (L, 4), scratch. Where
    nothing can be bid, out[i] = -1. pseudo: (n,), is set to the pseudo-values.
    """
    for i in range(contexts.size):
        value = worths[i]
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
        price = rules.prices[amount]
        won = cells[i] <= amount
        kind = outcome_kind(law_rules.feedback, amount, cells[i])
        # Whether what was wanted would have won is known after a win, or if the price is told.
        would = cells[i] <= wanted and (won or kind == TOLD)
        paid = rules.prices[wanted] if would else -1
        settle(rules, state, ticket, value, price, paid, won, True)  # noqa: FBT003
        index = cells[i] if kind == TOLD else amount
        band = band_of(law_rules, contexts[i])
        absorb(law_rules, law, scratch, band, slots[i], kind, index, amount)
