"""Replacing an outcome that was learned by the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.laws.independence import first_at_risk, known_row
from crossbandit.kernels.laws.learning import column_of, is_told, reaches, refresh
from crossbandit.kernels.laws.nodes import root_of
from crossbandit.kernels.laws.reading import (
    band_of,
    find_rows,
    first_row,
    laws_near,
    likelihood,
    node_of,
)
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, BROAD, MATURE, SPLIT, TOLD, WON_LOST

if TYPE_CHECKING:
    from crossbandit.kernels.laws.independence import TestState
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Integers

_TINY = 1e-9


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
    laws of these nodes are computed anew. A kind below 0 stands for nothing.
    """
    band = band_of(rules, context)
    find_rows(rules, state, band, slots, scratch.rows)
    reweigh(rules, state, scratch, kind, index, new_kind, new_index)
    place = 0
    for m in range(rules.growth.size):
        start = first_row(rules, m)
        for level in range((rules.depth if m == 0 else rules.recent_depth) + 1):
            place = node_of(rules, band, level)
            row, unit = start + place, state.scale[m]
            move(rules, state, row, unit, kind, index, new_kind, new_index)
            if m == 0 and place < BROAD and amount >= 0:
                asked = rules.amounts.size - 1 - amount if rules.mirrored else amount
                # A file of an earlier version may know of the round, but not whether it reached.
                left = max(state.reached[place, asked] - reaches(kind, index, amount), 0.0)
                now = left + reaches(new_kind, new_index, amount)
                state.reached[place, asked] = min(now, state.asked[place, asked])
            parent = -1 if level == 0 else start + node_of(rules, band, level - 1)
            mature = state.visits[row] >= MATURE * unit
            if parent < 0 or (state.visits[parent] >= SPLIT * unit and mature):
                refresh(rules, state, scratch, m, row, parent, place, level)
    for f in range(scratch.rows.shape[0] - rules.growth.size):
        row, parent, level = root_of(state, slots, f), -1, 0
        while row >= 0:
            place = node_of(rules, band, level)
            move(rules, state, row, 1.0, kind, index, new_kind, new_index)
            if parent < 0 or state.visits[row] >= MATURE:
                refresh(rules, state, scratch, rules.growth.size + f, row, parent, place, level)
            parent = row
            row = state.children[row, (band >> (rules.depth - level - 1)) & 1]
            level += 1
    correct_test(rules, test, 0, kind, index, new_kind, new_index)
    row = known_row(test, slots)
    if row >= 0:
        correct_test(rules, test, row, kind, index, new_kind, new_index)


@inlined
def correct_test(
    rules: LawRules,
    test: TestState,
    row: int,
    kind: int,
    index: int,
    new_kind: int,
    new_index: int,
) -> None:
    """Move one round of a stratum; what was compared before, or waits for it, stays."""
    old, new = column_of(rules, kind, index), column_of(rules, new_kind, new_index)
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


@inlined
def move(
    rules: LawRules,
    state: LawState,
    row: int,
    unit: float,
    kind: int,
    index: int,
    new_kind: int,
    new_index: int,
) -> None:
    """Move what one round counts now from an outcome to another, as far as it is there."""
    old, new = column_of(rules, kind, index), column_of(rules, new_kind, new_index)
    if is_told(rules, kind):
        taken = min(unit, state.told[row, old])
        state.told[row, old] -= taken
    else:
        taken = min(unit, state.hidden[row, old])
        state.hidden[row, old] -= taken
    if is_told(rules, new_kind):
        state.told[row, new] += taken
    else:
        state.hidden[row, new] += taken


@inlined
def reweigh(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    kind: int,
    index: int,
    new_kind: int,
    new_index: int,
) -> None:
    """Give the experts weight by the new outcome instead of the old one, under the laws of now."""
    experts = state.weights.size
    if experts == 1:
        return
    even = rules.share / experts
    for e in range(experts):
        state.weights[e] = max(state.weights[e] - even, _TINY)
    for step in range(2):
        at, about = (kind, index) if step == 0 else (new_kind, new_index)
        order, column = at, column_of(rules, at, about)
        if rules.mirrored and at != TOLD:
            order = AT_MOST if at == ABOVE else ABOVE
        laws_near(rules, state, scratch, column)
        for e in range(experts):
            chance = max(likelihood(scratch.chances[e], order, column), _TINY)
            state.weights[e] *= chance if step == 1 else 1.0 / chance
    total = 0.0
    for e in range(experts):
        total += state.weights[e]
    for e in range(experts):
        state.weights[e] = (1.0 - rules.share) * state.weights[e] / total + even
