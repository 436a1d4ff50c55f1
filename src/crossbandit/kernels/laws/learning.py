"""Learn from an outcome: update the counts and laws of its nodes, and the weights of experts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import compiled, inlined
from crossbandit.kernels.feedback import WON_LOST
from crossbandit.kernels.laws.nodes import add_children, root_for
from crossbandit.kernels.laws.reading import (
    band_of,
    find_rows,
    first_row,
    laws_near,
    likelihood,
    node_of,
)
from crossbandit.kernels.laws.shrinkage import shrink_hazards, shrink_odds
from crossbandit.kernels.laws.state import (
    AT_MOST,
    BROAD,
    CERTAIN,
    FRESH,
    LEVELS,
    MATURE,
    SPLIT,
    TINY,
    TOLD,
    TRIED,
)

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers

_LARGE = 1e15  # a larger scale is reset to 1
_DEEPEST = 5  # the largest depth of the tree of a class


@compiled
def learn(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    context: float,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
) -> None:
    """Count an outcome: the cell was TOLD, or it is known to be AT_MOST or ABOVE an amount.

    index: that cell or amount. amount: the one played, -1 if none. slots: (features + 1,), the
    numbers of the classes; a class without a node is given one.
    """
    learn_at(rules, state, scratch, band_of(rules, context), slots, kind, index, amount)


@inlined
def learn_at(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    band: int,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
) -> None:
    """Do what `learn` does, inlined into its callers: passing a law to a function is slow."""
    find_rows(rules, state, band, slots, scratch.rows)
    laws_near(rules, state, scratch, column_of(rules, kind, index))
    absorb(rules, state, scratch, band, slots, kind, index, amount)


@inlined
def column_of(rules: LawRules, kind: int, index: int) -> int:
    """Return the column, in risk order, of a cell that was told or of an amount."""
    if rules.mirrored:
        return rules.amounts.size - (0 if kind == TOLD else 1) - index
    return index


@inlined
def is_told(rules: LawRules, kind: int) -> bool:
    """Return whether an outcome is counted in `told`."""
    return kind == (AT_MOST if rules.feedback == WON_LOST else TOLD)


@inlined
def reaches(kind: int, index: int, amount: int) -> bool:
    """Return whether an outcome says that an amount reaches the number; see `learn`."""
    return kind in (TOLD, AT_MOST) and index <= amount


@inlined
def absorb(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    band: int,
    slots: Integers,
    kind: int,
    index: int,
    amount: int,
) -> None:
    """Do what `learn` does, if `scratch` already holds the laws at the context."""
    size = rules.amounts.size
    column, told = column_of(rules, kind, index), is_told(rules, kind)
    weigh(rules, state, scratch, kind, column)
    state.rounds[0] += 1.0
    for m in range(rules.growth.size):
        grow(rules, state, m)
        start = first_row(rules, m)
        depth = rules.depth if m == 0 else rules.recent_depth
        for level in range(depth + 1):
            place = node_of(rules, band, level)
            count(state, start + place, column, told, state.scale[m])
            if m == 0 and place < BROAD and amount >= 0:
                asked = size - 1 - amount if rules.mirrored else amount
                ask(state, place, asked)
                state.reached[place, asked] += reaches(kind, index, amount)
            parent = -1 if level == 0 else start + node_of(rules, band, level - 1)
            if due(state, start + place, parent, state.scale[m]):
                refresh(rules, state, scratch, m, start + place, parent, place, level)
    for f in range(scratch.rows.shape[0] - rules.growth.size):
        if f < slots.size and slots[f] >= 0:
            learn_class(rules, state, scratch, f, slots[f], band, column, told)


@inlined
def weigh(rules: LawRules, state: LawState, scratch: Scratch, kind: int, column: int) -> None:
    """Multiply the weight of each expert by the likelihood of the outcome under its law."""
    if state.weights.size == 1:
        return
    for e in range(state.weights.size):
        state.weights[e] *= max(likelihood(rules, scratch.chances[e], kind, column), TINY)
    share_out(rules, state)


@inlined
def share_out(rules: LawRules, state: LawState) -> None:
    """Normalise the weights of the experts; a small share is spread evenly over all of them."""
    total, even = 0.0, rules.share / state.weights.size
    for e in range(state.weights.size):
        total += state.weights[e]
    for e in range(state.weights.size):
        state.weights[e] = (1.0 - rules.share) * state.weights[e] / total + even


@inlined
def grow(rules: LawRules, state: LawState, memory: int) -> None:
    """Let a new round count more than the last one: this discounts the past."""
    state.scale[memory] *= rules.growth[memory]
    if state.scale[memory] <= _LARGE:
        return
    start = first_row(rules, memory)
    for row in range(start, start + (1 << (rules.recent_depth + 1)) - 1):
        state.visits[row] /= state.scale[memory]
        for j in range(state.told.shape[1]):
            state.told[row, j] /= state.scale[memory]
            state.hidden[row, j] /= state.scale[memory]
    state.scale[memory] = 1.0


@inlined
def count(state: LawState, row: int, column: int, told: bool, unit: float) -> None:  # noqa: FBT001
    """Count one outcome in one node."""
    if told:
        state.told[row, column] += unit
    else:
        state.hidden[row, column] += unit
    state.visits[row] += unit
    state.since[row] += 1.0


@inlined
def ask(state: LawState, row: int, column: int) -> None:
    """Count an amount that was played, and find the lowest amount with enough rounds."""
    state.asked[row, column] += 1.0
    if column > state.untried[row]:
        return
    total, lowest = 0.0, 0
    while lowest < state.asked.shape[1]:
        total += state.asked[row, lowest]
        if total >= TRIED:
            break
        lowest += 1
    state.untried[row] = lowest + 1.0


@inlined
def due(state: LawState, row: int, parent: int, unit: float) -> bool:
    """Return whether a node's law is in use and has enough new rounds to be computed again."""
    visits = state.visits[row]
    if parent >= 0 and (state.visits[parent] < SPLIT * unit or visits < MATURE * unit):
        return False
    is_due: bool = state.since[row] >= FRESH * visits / unit
    return is_due


@inlined
def refresh(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    group: int,
    row: int,
    parent: int,
    place: int,
    level: int,
) -> None:
    """Compute a node's law from its counts and its parent's law.

    group: the memory, or M + the feature. place: the pool's node of the same band. For a node of
    recent rounds or of a class, the parent's law is first changed by as much as the pool's law
    changes from the parent's band to this one.
    """
    state.since[row] = 0.0
    law, spread = state.law[row], state.spread[row]
    memories = rules.growth.size
    root = group == 0 and parent < 0
    if root:
        flat_law(rules.feedback, law, spread)
    else:
        above = max(parent, 0)
        for j in range(law.size):
            law[j] = state.law[above, j]
            spread[j] = state.spread[above, j]
    if group > 0 and parent >= 0 and state.visits[place] >= MATURE:
        base = (place - 1) >> 1
        for j in range(law.size):
            if rules.feedback == WON_LOST:
                law[j] += state.law[place, j] - state.law[base, j]
            else:
                ratio = (state.law[place, j] + TINY) / (state.law[base, j] + TINY)
                law[j] = min(CERTAIN, law[j] * ratio)
    unit, noise = 1.0, 1.0
    if group < memories:
        unit = 1.0 / state.scale[group]
        # After many rounds, the variance of a discounted count is half of its mean.
        noise = 1.0 - 0.5 * min(1.0, state.rounds[0] * math.log(2.0) / rules.half_lives[group])
    evidence, totals = state.evidence[row], state.totals[group * LEVELS + level]
    told, hidden = state.told[row], state.hidden[row]
    work = scratch.work
    if rules.feedback == WON_LOST:
        shrink_odds(told, hidden, unit, noise, root, law, spread, work, evidence, totals)
    else:
        shrink_hazards(told, hidden, unit, noise, root, law, spread, work, evidence, totals)


@inlined
def flat_law(feedback: int, law: Floats, spread: Floats) -> None:
    """Set the law that is assumed before anything is seen: all cells are equally likely."""
    size = law.size - 1
    for j in range(size + 1):
        if feedback == WON_LOST:
            law[j] = math.log((j + 1.0) / max(size - j, 1))
        else:
            law[j] = 1.0 / (j + 1.0)
        spread[j] = 1.0


@inlined
def learn_class(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    feature: int,
    slot: int,
    band: int,
    column: int,
    told: bool,  # noqa: FBT001
) -> None:
    """Count an outcome in a class's tree, from its root down."""
    group = rules.growth.size + feature
    row, parent, level = root_for(state, slot), -1, 0
    if row < 0:
        return
    while True:
        place = node_of(rules, band, level)
        count(state, row, column, told, 1.0)
        used = parent < 0 or state.visits[row] >= MATURE
        if used and state.since[row] >= FRESH * state.visits[row]:
            refresh(rules, state, scratch, group, row, parent, place, level)
        if state.children[row, 0] < 0:
            if state.visits[row] >= SPLIT and level < min(_DEEPEST, rules.depth):
                add_children(state, first_row(rules, rules.growth.size), row)
            return
        parent = row
        row = state.children[row, (band >> (rules.depth - level - 1)) & 1]
        level += 1


@compiled
def rebuild(rules: LawRules, state: LawState, scratch: Scratch, table: Integers) -> None:
    """Compute the laws of all nodes in use, parents first.

    table: (nodes, 5): row, parent or -1, place in the pool, depth, and group.
    """
    memories = rules.growth.size
    for i in range(table.shape[0]):
        row, parent, place, level, group = (
            table[i, 0],
            table[i, 1],
            table[i, 2],
            table[i, 3],
            table[i, 4],
        )
        unit = state.scale[group] if group < memories else 1.0
        if state.visits[row] <= 0.0:
            continue
        if parent >= 0 and state.visits[row] < MATURE * unit:
            continue
        if parent >= 0 and group < memories and state.visits[parent] < SPLIT * unit:
            continue
        refresh(rules, state, scratch, group, row, parent, place, level)
