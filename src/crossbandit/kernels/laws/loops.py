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

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers


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
def learn_and_test(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    context: float,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
) -> None:
    """Learn from an outcome, and take it into the test of independence; see `learn`.

    A kind below 0 says nothing about any amount.
    """
    if kind >= 0:
        learn(rules, state, scratch, context, slots, kind, index, amount)
        test_one(rules.feedback, rules.mirrored, test, band_of(rules, context), kind, index)


@compiled
def learn_and_test_all(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    contexts: Floats,
    slots: Integers,
    kinds: Integers,
    indices: Integers,
    amounts: Integers,
) -> None:
    """Do what `learn_and_test` does with n outcomes. All (n,); slots: (n, features + 1)."""
    for i in range(contexts.size):
        context, kind, index = contexts[i], kinds[i], indices[i]
        learn_and_test(rules, state, scratch, test, context, slots[i], kind, index, amounts[i])
