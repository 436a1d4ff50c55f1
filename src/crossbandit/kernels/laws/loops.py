"""Whole logs in one call: the same steps, in the same order, to the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.choice import choose, read_law
from crossbandit.kernels.laws.independence import test_one
from crossbandit.kernels.laws.learning import absorb, learn
from crossbandit.kernels.laws.reading import band_of
from crossbandit.kernels.laws.state import (
    ABOVE,
    AFTER_WIN,
    ALWAYS,
    AT_MOST,
    TOLD,
    WON_LOST,
)
from crossbandit.kernels.laws.watching import WAITING, watched

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers

LEARNED, CHECKED, REFUSED = range(3)  # what `settle` has done


@inlined
def outcome_kind(feedback: int, amount: int, cell: int) -> int:
    """Return what is shown of a cell to who has played an amount."""
    reached = cell <= amount
    if feedback == ALWAYS or (feedback != WON_LOST and reached == (feedback == AFTER_WIN)):
        return TOLD
    return AT_MOST if reached else ABOVE


@compiled
def play(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    contexts: Floats,
    slots: Integers,
    worths: Floats,
    costs: Floats,
    firsts: Integers,
    lasts: Integers,
    cells: Integers,
    uniforms: Floats,
    out: Integers,
) -> None:
    """Decide and learn in n rounds. All (n,); slots: (n, features + 1); uniforms: (n, 3).

    Where firsts[i] > lasts[i], no amount may be played: out[i] = -1.
    """
    for i in range(contexts.size):
        if firsts[i] > lasts[i]:
            out[i] = -1
            continue
        band = read_law(rules, state, scratch, contexts[i], slots[i])
        amount = choose(
            rules,
            state,
            scratch,
            band,
            worths[i],
            costs[i],
            firsts[i],
            lasts[i],
            uniforms[i],
        )
        out[i] = amount
        kind = outcome_kind(rules.feedback, amount, cells[i])
        index = cells[i] if kind == TOLD else amount
        absorb(rules, state, scratch, band, slots[i], kind, index, amount)


@compiled
def learn_all(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    contexts: Floats,
    slots: Integers,
    kinds: Integers,
    indices: Integers,
    amounts: Integers,
) -> None:
    """Learn from n outcomes. All (n,); slots: (n, features + 1)."""
    for i in range(contexts.size):
        learn(
            rules,
            state,
            scratch,
            contexts[i],
            slots[i],
            kinds[i],
            indices[i],
            amounts[i],
        )


@compiled
def settle(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    sums: Floats,
    limit: float,
    context: float,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
    chance: float,
    usual: float,
) -> int:
    """Count an outcome for the watch, and learn from it if that allows: LEARNED, unless REFUSED.

    CHECKED if it was learned and the watch has checked whether outcomes are missing with a bias.

    sums, limit, chance, usual: as `watching.watched` takes them. The rest: as `learn` takes it; a
    kind below 0 says nothing about any amount.
    """
    if not watched(sums, limit, chance, usual):
        return REFUSED
    if kind >= 0:
        learn(rules, state, scratch, context, slots, kind, index, amount)
        test_one(rules.feedback, rules.mirrored, test, band_of(rules, context), kind, index)
    return CHECKED if sums[WAITING] == 0.0 else LEARNED


@compiled
def settle_all(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    sums: Floats,
    limit: float,
    contexts: Floats,
    slots: Integers,
    kinds: Integers,
    indices: Integers,
    amounts: Integers,
    chances: Floats,
    usuals: Floats,
    out: Integers,
) -> None:
    """Do what `settle` does with n outcomes. All (n,); slots: (n, features + 1)."""
    for i in range(contexts.size):
        out[i] = settle(
            rules,
            state,
            scratch,
            test,
            sums,
            limit,
            contexts[i],
            slots[i],
            kinds[i],
            indices[i],
            amounts[i],
            chances[i],
            usuals[i],
        )
