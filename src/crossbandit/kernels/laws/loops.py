"""Whole logs in one call: the same steps, in the same order, to the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined, opened
from crossbandit.kernels.laws.choice import choose, read_law
from crossbandit.kernels.laws.independence import test_one
from crossbandit.kernels.laws.learning import absorb, learn_at
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
    from crossbandit.kernels.compilation import Bound
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Booleans, Floats, Integers


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
        band = band_of(rules, contexts[i])
        given = (kinds[i], indices[i], amounts[i])
        learn_at(rules, state, scratch, band, slots[i], *given)


@inlined
def place_of(amounts: Floats, number: float, strict: bool) -> int:  # noqa: FBT001
    """Return the number of the lowest amount that is at least `number`; above it, if `strict`."""
    low, high = 0, amounts.size
    while low < high:
        middle = (low + high) >> 1
        if amounts[middle] < number or (strict and amounts[middle] == number):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def shown(
    rules: LawRules,
    amount: float,
    reached: bool,  # noqa: FBT001
    number: float,
) -> tuple[int, int, int]:
    """Return what an outcome says on the grid: its kind, what it is about, and the amount played.

    An amount between two of the grid that has reached the number shows that the higher one does; if
    it has not, that the lower one does not. The kind is below 0 if it says nothing about any. The
    amount played is -1 if it is not on the grid. number: looked at only where it is told; it agrees
    with `reached`, but for rounding.
    """
    size = rules.amounts.size
    above = place_of(rules.amounts, amount, False)  # noqa: FBT003
    played = above if above < size and rules.amounts[above] == amount else -1
    below = above if played >= 0 else above - 1
    win = rules.feedback == AFTER_WIN
    if rules.feedback == ALWAYS or (rules.feedback != WON_LOST and reached == win):
        cell = place_of(rules.amounts, number, rules.strict)
        return TOLD, min(cell, above) if reached else max(cell, below + 1), played
    if reached:
        return AT_MOST if above < size else -1, above, played
    return ABOVE if below >= 0 else -1, below, played


@compiled
def settle(
    bound: Bound,
    context: float,
    slots: Integers,
    amount: float,
    reached: bool,  # noqa: FBT001
    number: float,
    tried: bool,  # noqa: FBT001
) -> int:
    """Learn from what became of an amount, and take it into the test of independence.

    bound: of the rules, the state and the scratch of a law, and the state of its test. tried:
    whether the amount was the law's own choice. Returns 4 times the index of what is known, plus
    its kind; -1 if it says nothing about any amount, and nothing is learned.
    """
    rules, state, scratch, test = opened(bound)
    return settle_one(rules, state, scratch, test, context, slots, amount, reached, number, tried)


@inlined
def settle_one(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    context: float,
    slots: Integers,
    amount: float,
    reached: bool,  # noqa: FBT001
    number: float,
    tried: bool,  # noqa: FBT001
) -> int:
    """Do what `settle` does, as a part of its callers: to pass a law takes long."""
    kind, index, played = shown(rules, amount, reached, number)
    if kind < 0:
        return -1
    band = band_of(rules, context)
    learn_at(rules, state, scratch, band, slots, kind, index, played if tried else -1)
    test_one(rules.feedback, rules.mirrored, test, band, slots, kind, index, played)
    return 4 * index + kind


@compiled
def settle_all(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    contexts: Floats,
    slots: Integers,
    amounts: Floats,
    reached: Booleans,
    numbers: Floats,
    out: Integers,
) -> None:
    """Do what `settle` does with n outcomes. All (n,); slots: (n, features + 1)."""
    for i in range(contexts.size):
        given = (contexts[i], slots[i], amounts[i], reached[i], numbers[i], True)
        out[i] = settle_one(rules, state, scratch, test, *given)
