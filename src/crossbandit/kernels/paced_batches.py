"""Batches of bids under limits: many auctions of one time, and many outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled
from crossbandit.kernels.laws.choice import chance_of
from crossbandit.kernels.pace_steps import settle
from crossbandit.kernels.paced_laws import paced_decide
from crossbandit.kernels.pacing import RESERVED, free_money

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.kernels.pacing import PaceRules, PaceState
    from crossbandit.types import Booleans, Floats, Integers


@compiled
def paced_decide_all(
    law_rules: LawRules,
    law: LawState,
    scratch: Scratch,
    rules: PaceRules,
    state: PaceState,
    now: float,
    values: Floats,
    slots: Integers,
    firsts: Integers,
    lasts: Integers,
    uniforms: Floats,
    out: Integers,
    chances: Floats,
    wanted: Integers,
    usable: Integers,
    pseudo: Floats,
    tightest: Integers,
    tickets: Floats,
) -> None:
    """Do what `paced_decide` does in n auctions of one time; no period ends in between.

    All (n,); slots: (n, width); uniforms: (n, 3). The last seven are filled: the bids, -1 where
    nothing can be bid; their chances of winning, as the law believes; what `paced_decide` returns;
    tightest: (n, 3), where nothing can be bid, the limit that leaves least, what it leaves, what it
    has reserved; tickets: (n, L, 4).
    """
    for i in range(values.size):
        value = values[i]
        pseudo[i], usable[i], cap, wanted[i] = paced_decide(
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
            tickets[i],
        )
        out[i] = -1
        chances[i] = 0.0
        if cap >= 0:
            out[i] = min(wanted[i], cap)
            chances[i] = chance_of(law_rules, law, scratch, out[i])
            continue
        for limit in range(rules.kinds.size):
            left = free_money(rules, state, limit, value)
            if limit == 0 or left < tightest[i, 1]:
                tightest[i, 0] = limit
                tightest[i, 1] = left
                tightest[i, 2] = state.money[limit, RESERVED]


@compiled
def settle_all(
    rules: PaceRules,
    state: PaceState,
    tickets: Floats,
    values: Floats,
    prices: Integers,
    wanted: Integers,
    won: Booleans,
    others: int,
) -> None:
    """Account for n auctions that are over; see `settle`.

    All (n,); tickets: (n, L, 4). others: the number of bids without an outcome, without these.
    """
    for i in range(values.size):
        alone = others == 0 and i == values.size - 1
        settle(rules, state, tickets[i], values[i], prices[i], wanted[i], won[i], alone)
