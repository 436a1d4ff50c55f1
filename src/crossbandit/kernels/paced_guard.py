"""Bidding by a guarded law of prices under limits, on whole logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.guard import guarded_decide, guarded_learn, see
from crossbandit.kernels.laws.learning import absorb
from crossbandit.kernels.laws.outcomes import outcome_kind
from crossbandit.kernels.laws.reading import band_of
from crossbandit.kernels.laws.state import TOLD
from crossbandit.kernels.pace_plan import open_auction
from crossbandit.kernels.pace_steps import adapt, reserve, settle

if TYPE_CHECKING:
    from crossbandit.kernels.laws.guard import GuardState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.kernels.pacing import PaceRules, PaceState
    from crossbandit.types import Floats, Integers


@inlined
def lower_chances(chances: Floats, cap: int) -> None:
    """Move the chances of all amounts above `cap` to it, as it is bid in place of them."""
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
    """Decide, settle and learn in n first-price auctions, one after the other.

    As `paced_play`, for a guarded law. uniforms: (n, 5).
    """
    for i in range(contexts.size):
        value, first = worths[i], firsts[i]
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
        price = rules.prices[amount]
        reserve(rules, state, ticket, value, price)
        won = cells[i] <= amount
        kind = outcome_kind(law_rules.feedback, amount, cells[i])
        would = cells[i] <= wanted and (won or kind == TOLD)  # as in `paced_play`
        paid = rules.prices[wanted] if would else -1
        settle(rules, state, ticket, value, price, paid, won, True)  # noqa: FBT003
        guarded_learn(law_rules, guard, worth, top, bid, amount, cells[i])
        index = cells[i] if kind == TOLD else amount
        band = band_of(law_rules, contexts[i])
        tried = amount if amount == bid else -1  # as in `guarded_play`
        absorb(law_rules, law, scratch, band, slots[i], kind, index, tried)
