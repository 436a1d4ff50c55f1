"""Compute the law at a context: find its nodes, compute each expert's law, and mix them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from crossbandit.kernels.compilation import inlined
from crossbandit.kernels.feedback import WON_LOST
from crossbandit.kernels.laws.nodes import root_of
from crossbandit.kernels.laws.state import ABOVE, AT_MOST, CERTAIN, MATURE, SPLIT, TINY

if TYPE_CHECKING:
    from crossbandit.kernels.laws.state import LawRules, LawState, Scratch
    from crossbandit.types import Floats, Integers


@inlined
def band_of(rules: LawRules, context: float) -> int:
    """Return the number of the finest band in which a context lies."""
    low, high = 0, rules.cuts.size
    while low < high:
        middle = (low + high) >> 1
        if context < rules.cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_row(rules: LawRules, memory: int) -> int:
    """Return the root of a memory's tree."""
    if memory == 0:
        return 0
    return (1 << (rules.depth + 1)) - 1 + (memory - 1) * ((1 << (rules.recent_depth + 1)) - 1)


@inlined
def node_of(rules: LawRules, band: int, depth: int) -> int:
    """Return the pool's node of a band at a depth. It is also the place in any full tree."""
    return (1 << depth) - 1 + (band >> (rules.depth - depth))


@inlined
def find_rows(rules: LawRules, state: LawState, band: int, slots: Integers, rows: Integers) -> None:
    """Set rows[i] to the deepest node in use of memory or class i, and the pool's at that depth.

    slots: (features + 1,) or more, -1 for none. rows: (M + features + 1, 2).
    """
    memories = rules.growth.size
    pool_depth = 0
    for m in range(memories):
        start = first_row(rules, m)
        limit = rules.depth if m == 0 else min(rules.recent_depth, pool_depth)
        depth = 0
        while depth < limit:
            child = start + node_of(rules, band, depth + 1)
            least = MATURE * state.scale[m]
            parent = start + node_of(rules, band, depth)
            if state.visits[parent] < SPLIT * state.scale[m] or state.visits[child] < least:
                break
            depth += 1
        if m == 0:
            pool_depth = depth
        rows[m, 0] = start + node_of(rules, band, depth)
        rows[m, 1] = node_of(rules, band, depth)
    for f in range(rows.shape[0] - memories):
        rows[memories + f, 0] = -1
        rows[memories + f, 1] = 0
        row, depth = root_of(state, slots, f), 0
        if row < 0 or state.visits[row] < MATURE:
            continue
        while depth < pool_depth and state.children[row, 0] >= 0:
            child = state.children[row, (band >> (rules.depth - depth - 1)) & 1]
            if state.visits[child] < MATURE:
                break
            row = child
            depth += 1
        rows[memories + f, 0] = row
        rows[memories + f, 1] = node_of(rules, band, depth)


@inlined
def expert_laws(
    rules: LawRules,
    state: LawState,
    scratch: Scratch,
    low: int,
    high: int,
    with_spreads: bool,  # noqa: FBT001
) -> None:
    """Set the chance of each expert that an amount reaches the number, in risk order.

    The first experts are the memories. With features, the memories with classes follow. With two or
    more features, the memories with the combination of classes follow. Only the columns from `low`
    to `high` are needed; others may or may not be set. spreads: set only if `with_spreads`, which
    needs `low` = 0.
    """
    memories, rows = rules.growth.size, scratch.rows
    for expert in range(state.weights.size):
        memory, mode = expert % memories, expert // memories
        first, last = memories, memories + rules.features - 1
        if mode == 2:
            first = last = memories + rules.features
        if mode == 0:
            first, last = 1, 0
        chances, spreads = scratch.chances[expert], scratch.spreads[expert]
        if rules.feedback == WON_LOST:
            _add_odds(state, rows, memory, first, last, low, high, chances, spreads, with_spreads)
            continue
        _set_hazards(state.law, rows, memory, first, last, low, chances[low:])
        if with_spreads:
            _set_variances(state.spread, rows, memory, first, last, chances, spreads)
    if rules.feedback != WON_LOST:
        _multiply_up(scratch.chances, state.weights.size, low)
        if with_spreads:
            _add_up(scratch.spreads, state.weights.size)


@inlined
def _set_hazards(
    laws: Floats, rows: Integers, memory: int, first: int, last: int, low: int, out: Floats
) -> None:
    """Set 1 minus the hazard at each column from `low` on, by one expert's law.

    out: (K - low,). Loops run over views that start at 0, because only these are vectorised.
    """
    pool = laws[rows[0, 0], low + 1 :]
    own, other = laws[rows[memory, 0], low + 1 :], laws[rows[memory, 1], low + 1 :]
    if memory == 0:
        for k in range(out.size):
            out[k] = pool[k]
    else:
        for k in range(out.size):
            out[k] = pool[k] * ((own[k] + TINY) / (other[k] + TINY))
    for i in range(first, last + 1):
        if rows[i, 0] >= 0:
            own, other = laws[rows[i, 0], low + 1 :], laws[rows[i, 1], low + 1 :]
            for k in range(out.size):
                out[k] *= (own[k] + TINY) / (other[k] + TINY)
    for k in range(out.size):
        out[k] = 1.0 - min(out[k], CERTAIN)


@inlined
def _set_variances(
    variances: Floats,
    rows: Integers,
    memory: int,
    first: int,
    last: int,
    chances: Floats,
    out: Floats,
) -> None:
    """Set what each column adds to the variance of one expert's law.

    chances, out: (K,). chances: what `_set_hazards` has set.
    """
    own = variances[rows[memory, 0], 1:]
    for k in range(out.size):
        out[k] = own[k]
    for i in range(first, last + 1):
        if rows[i, 0] >= 0:
            own = variances[rows[i, 0], 1:]
            for k in range(out.size):
                out[k] = max(out[k], own[k])
    for k in range(out.size):
        out[k] *= (1.0 - chances[k]) / chances[k]


@inlined
def _multiply_up(parts: Floats, experts: int, low: int) -> None:
    """Replace each number of a row by the product of all numbers from there on; (experts, K).

    Three rows are done at a time: each product depends on the one before, but rows do not.
    """
    size, e = parts.shape[1], 0
    while e + 3 <= experts:
        a, b, c = parts[e], parts[e + 1], parts[e + 2]
        first, second, third = 1.0, 1.0, 1.0
        for k in range(size - 1, low - 1, -1):
            first *= a[k]
            second *= b[k]
            third *= c[k]
            a[k], b[k], c[k] = first, second, third
        e += 3
    for row in range(e, experts):
        one = 1.0
        for k in range(size - 1, low - 1, -1):
            one *= parts[row, k]
            parts[row, k] = one


@inlined
def _add_up(parts: Floats, experts: int) -> None:
    """Replace each number of a row by the sum of all from there on; see `_multiply_up`."""
    size, e = parts.shape[1], 0
    while e + 3 <= experts:
        a, b, c = parts[e], parts[e + 1], parts[e + 2]
        first, second, third = 0.0, 0.0, 0.0
        for k in range(size - 1, -1, -1):
            first += a[k]
            second += b[k]
            third += c[k]
            a[k], b[k], c[k] = first, second, third
        e += 3
    for row in range(e, experts):
        one = 0.0
        for k in range(size - 1, -1, -1):
            one += parts[row, k]
            parts[row, k] = one


@inlined
def _add_odds(
    state: LawState,
    rows: Integers,
    memory: int,
    first: int,
    last: int,
    low: int,
    high: int,
    chances: Floats,
    spreads: Floats,
    with_spreads: bool,  # noqa: FBT001
) -> None:
    """Set chances and variances from sums of log odds."""
    pool, own, other = rows[0, 0], rows[memory, 0], rows[memory, 1]
    for k in range(high + 1):
        chances[k] = state.law[pool, k] + state.law[own, k] - state.law[other, k]
    for i in range(first, last + 1):
        row, base = rows[i, 0], rows[i, 1]
        if row < 0:
            continue
        for k in range(high + 1):
            chances[k] += state.law[row, k] - state.law[base, k]
    if with_spreads:
        for k in range(chances.size):
            spreads[k] = state.spread[own, k]
            for i in range(first, last + 1):
                if rows[i, 0] >= 0:
                    spreads[k] = max(spreads[k], state.spread[rows[i, 0], k])
    highest = -30.0
    for k in range(high + 1):
        highest = max(highest, chances[k])
        if k >= low:
            chances[k] = 1.0 / (1.0 + math.exp(-highest))


@inlined
def mixed_law(rules: LawRules, state: LawState, scratch: Scratch) -> None:
    """Set the last row of `chances` and `spreads` to the mixture of all experts' rows."""
    experts, size = state.weights.size, rules.amounts.size
    expert_laws(rules, state, scratch, 0, size - 1, True)  # noqa: FBT003
    for k in range(size):
        scratch.chances[experts, k] = 0.0
        scratch.spreads[experts, k] = 0.0
    for e in range(experts):
        weight = state.weights[e]
        for k in range(size):
            scratch.chances[experts, k] += weight * scratch.chances[e, k]
            scratch.spreads[experts, k] += weight * scratch.spreads[e, k]


@inlined
def laws_near(rules: LawRules, state: LawState, scratch: Scratch, column: int) -> None:
    """Set each expert's chances at one column and the one below it, as `mixed_law` would."""
    size = rules.amounts.size
    low, high = max(min(column, size) - 1, 0), min(column, size - 1)
    expert_laws(rules, state, scratch, low, high, False)  # noqa: FBT003


@inlined
def likelihood(rules: LawRules, chances: Floats, kind: int, column: int) -> float:
    """Return the probability of an outcome. chances: (K,). `column` is in risk order."""
    upper = chances[column] if column < chances.size else 1.0
    lower = chances[column - 1] if column > 0 else 0.0
    chance: float = upper - lower
    if kind == (ABOVE if rules.mirrored else AT_MOST):
        chance = upper
    if kind == (AT_MOST if rules.mirrored else ABOVE):
        chance = 1.0 - upper
    return chance
