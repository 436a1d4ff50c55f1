"""Outcomes: what they show on the grid; learn from one or from a whole log; correct one.

The results for a whole log are exactly those of one round after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined, opened
from crossbandit.kernels.feedback import WON_LOST, tells
from crossbandit.kernels.laws.choice import choose, read_law
from crossbandit.kernels.laws.independence import first_at_risk, known_row, test_one
from crossbandit.kernels.laws.learning import (
    absorb,
    column_of,
    is_told,
    learn_at,
    reaches,
    refresh,
    share_out,
)
from crossbandit.kernels.laws.nodes import root_of
from crossbandit.kernels.laws.reading import (
    band_of,
    find_rows,
    first_row,
    laws_near,
    likelihood,
    node_of,
)
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, BROAD, MATURE, SPLIT, TINY, TOLD

if TYPE_CHECKING:
    from crossbandit.kernels.compilation import Bound
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Booleans, Floats, Integers


@inlined
def outcome_kind(feedback: int, amount: int, cell: int) -> int:
    """Return the kind of the outcome of an amount, if the number is in this cell."""
    reached = cell <= amount
    if tells(feedback, reached):
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
    """Decide and learn in n rounds. slots: (n, features + 1). uniforms: (n, 3). Others: (n,).

    If firsts[i] > lasts[i], no amount may be played, and out[i] = -1.
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
    """Learn from n outcomes. slots: (n, features + 1). All other arrays: (n,)."""
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

    If an amount between two amounts of the grid has reached the number, the higher of the two
    reaches it as well. If it has not, the lower of the two does not reach it either. The kind is
    negative if nothing is known about any amount of the grid. The amount played is -1 if it is not
    on the grid. number: used only if it is told; it agrees with `reached`, up to rounding.
    """
    size = rules.amounts.size
    above = place_of(rules.amounts, amount, False)  # noqa: FBT003
    played = above if above < size and rules.amounts[above] == amount else -1
    below = above if played >= 0 else above - 1
    if tells(rules.feedback, reached):
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
    """Learn from the outcome of an amount, in the law and in its test of independence.

    bound: the rules, the state and the scratch of a law, and the state of its test. tried: whether
    the amount was the law's own choice. Returns 4 times the index that `shown` finds, plus the kind
    of the outcome; or -1 if nothing is known about any amount, and nothing is learned.
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
    """Do what `settle` does, inlined into its callers: passing a law to a function is slow."""
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
    """Do what `settle` does with n outcomes. slots: (n, features + 1). Other arrays: (n,)."""
    for i in range(contexts.size):
        given = (contexts[i], slots[i], amounts[i], reached[i], numbers[i], True)
        out[i] = settle_one(rules, state, scratch, test, *given)


@compiled
def correct(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    test: TestState,
    context: float,
    slots: Integers,
    kind: int,
    index: int,
    new_kind: int,
    new_index: int,
    amount: int,
) -> None:
    """Replace an outcome that was learned by another; see `learn` for what they are.

    One round is moved from the old column to the new one in every node of the context, and the
    laws of these nodes are computed again.
    """
    band = band_of(rules, context)
    find_rows(rules, state, band, slots, scratch.rows)
    old, new = column_of(rules, kind, index), column_of(rules, new_kind, new_index)
    reweigh(rules, state, scratch, kind, old, new_kind, new)
    was_told, now_told = is_told(rules, kind), is_told(rules, new_kind)
    for m in range(rules.growth.size):
        start = first_row(rules, m)
        for level in range((rules.depth if m == 0 else rules.recent_depth) + 1):
            place = node_of(rules, band, level)
            row, unit = start + place, state.scale[m]
            move(state, row, unit, was_told, old, now_told, new)
            if m == 0 and place < BROAD and amount >= 0:
                asked = rules.amounts.size - 1 - amount if rules.mirrored else amount
                state.reached[place, asked] -= reaches(kind, index, amount)
                state.reached[place, asked] += reaches(new_kind, new_index, amount)
            parent = -1 if level == 0 else start + node_of(rules, band, level - 1)
            mature = state.visits[row] >= MATURE * unit
            if parent < 0 or (state.visits[parent] >= SPLIT * unit and mature):
                refresh(rules, state, scratch, m, row, parent, place, level)
    for f in range(scratch.rows.shape[0] - rules.growth.size):
        row, parent, level = root_of(state, slots, f), -1, 0
        while row >= 0:
            place = node_of(rules, band, level)
            move(state, row, 1.0, was_told, old, now_told, new)
            if parent < 0 or state.visits[row] >= MATURE:
                refresh(rules, state, scratch, rules.growth.size + f, row, parent, place, level)
            parent = row
            row = state.children[row, (band >> (rules.depth - level - 1)) & 1]
            level += 1
    correct_test(rules, test, 0, kind, old, new_kind, new)
    row = known_row(test, slots)
    if row >= 0:
        correct_test(rules, test, row, kind, old, new_kind, new)


@inlined
def reweigh(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    kind: int,
    old: int,
    new_kind: int,
    new: int,
) -> None:
    """Correct the weights of the experts: the new outcome replaces the old one, by present laws."""
    experts = state.weights.size
    if experts == 1:
        return
    for e in range(experts):
        state.weights[e] = max(state.weights[e] - rules.share / experts, TINY)
    laws_near(rules, state, scratch, old)
    for e in range(experts):
        chance = max(likelihood(rules, scratch.chances[e], kind, old), TINY)
        state.weights[e] *= 1.0 / chance
    laws_near(rules, state, scratch, new)
    for e in range(experts):
        state.weights[e] *= max(likelihood(rules, scratch.chances[e], new_kind, new), TINY)
    share_out(rules, state)


@inlined
def move(
    state: LawState,
    row: int,
    unit: float,
    was_told: bool,  # noqa: FBT001
    old: int,
    now_told: bool,  # noqa: FBT001
    new: int,
) -> None:
    """Move one round, with its present weight, to another column; at most what is counted."""
    if was_told:
        taken = min(unit, state.told[row, old])
        state.told[row, old] -= taken
    else:
        taken = min(unit, state.hidden[row, old])
        state.hidden[row, old] -= taken
    if now_told:
        state.told[row, new] += taken
    else:
        state.hidden[row, new] += taken


@inlined
def correct_test(
    rules: LawRules, test: TestState, row: int, kind: int, old: int, new_kind: int, new: int
) -> None:
    """Move one round of a stratum from column `old` to `new`. Earlier comparisons stay."""
    if is_told(rules, kind):
        test.told[row, old] = max(test.told[row, old] - 1.0, 0.0)
    if is_told(rules, new_kind):
        test.told[row, new] += 1.0
    if rules.feedback == WON_LOST:
        return
    before, after = first_at_risk(kind, old), first_at_risk(new_kind, new)
    for j in range(after, before):
        test.counts[row, j] += 1.0
    for j in range(before, after):
        test.counts[row, j] = max(test.counts[row, j] - 1.0, 0.0)
